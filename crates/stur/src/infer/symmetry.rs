//! Symmetry of a tensor: the permutations of its positions under which its values are unchanged, or change sign.
//!
//! The symmetry of a computed tensor consists of the automorphisms of its sum of products: permutations of the head's
//! iterators that, with the reduction iterators renamed, map the products onto each other, where operands match up to
//! their own symmetry. `X(x,i)*X(x,j)` summed over `x` matches itself under `i <-> j`, `Y(i,k)*Y(j,l)` under
//! `(i,k) <-> (j,l)`, and `A(i,j)*A(j,k)*A(k,i)` under rotations. A match counts only if isl confirms that the renamed
//! iteration spaces are equal.
//!
//! The group is found from the last position to the first. For each `k < j` not yet in one orbit, the search looks for
//! an automorphism that fixes the positions before `k` and takes `k` to `j`, by matching one product and checking the
//! others. After at most `n * (n - 1) / 2` searches these automorphisms generate the whole group (they are a strong
//! generating set). Each search, and all of them together, are bounded: a symmetry may be missed, but never invented.

use dastac_poly::Map;

use super::group::{Group, Signed};
use super::matching::{Known, MAX_COMPARISONS, Search};
use super::{InferError, Redundancy, Space, Structured};
use crate::coefficient::Coefficient;
use crate::program::Rule;
use crate::sets::{Affine, Sets};

/// The symmetry of a rule's head. Without `signs`, only permutations that leave the values unchanged.
pub(crate) fn automorphisms<'a>(
    sets: &Sets,
    known: Known<'a, '_>,
    rule: &Rule,
    spaces: &[Space],
    signs: bool,
) -> Result<Group, InferError> {
    let rank = rule.iterators.len();
    let mut group = Group::trivial(rank);
    let Some(mut search) = Search::new(sets, known, rule, spaces, signs) else { return Ok(group) };
    for level in (0..rank).rev() {
        for to in level + 1..rank {
            if group.representatives(level).contains_key(&to) {
                continue;
            }
            let mut fixed: Vec<Option<usize>> =
                (0..rank).map(|k| (k < level).then_some(k)).collect();
            fixed[level] = Some(to);
            if let Some(found) = search.find(&fixed)? {
                group.insert(found);
            }
        }
    }
    if signs {
        // The sum is its own negative, as `A(i) + (-1) * A(i)` is.
        search.only_negative = true;
        let fixed: Vec<Option<usize>> = (0..rank).map(Some).collect();
        if let Some(found) = search.find(&fixed)? {
            group.insert(found);
        }
    }
    Ok(group)
}

/// The symmetry that follows from a declared redundancy map: permutations under which every element keeps its unique
/// element, and its coefficient up to the sign.
pub(crate) fn of_redundancy(sets: &Sets, structured: &Structured) -> Result<Group, InferError> {
    let rank = structured.iterators.len();
    let mut group = Group::trivial(rank);
    if structured.redundancy.is_empty() || rank < 2 {
        return Ok(group);
    }
    // Where each element's value comes from, by coefficient.
    let mut sources: Vec<(Coefficient, Map)> =
        vec![(Coefficient::one(), structured.unique.identity()?)];
    for piece in &structured.redundancy {
        let Redundancy::Affine { map, coefficient } = piece else { return Ok(group) };
        match sources.iter_mut().find(|(c, _)| c == coefficient) {
            Some((_, union)) => *union = union.union(map)?,
            None => sources.push((coefficient.clone(), map.clone())),
        }
    }
    let minus = Coefficient::sign(true);
    let holds = |candidate: &Signed| -> Result<bool, InferError> {
        let images: Vec<Affine> =
            candidate.image.iter().map(|&k| Affine::name(&structured.iterators[k])).collect();
        let moved = sets.access(&structured.iterators, &images)?;
        for (coefficient, source) in &sources {
            let through = moved.apply_range(source)?;
            let wanted = if candidate.negative {
                minus.times(coefficient)
            } else {
                Some(coefficient.clone())
            };
            let equal = match sources.iter().find(|(c, _)| Some(c) == wanted.as_ref()) {
                Some((_, other)) => through.is_equal(other)?,
                None => through.is_empty()?,
            };
            if !equal {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let mut comparisons = MAX_COMPARISONS / 10;
    for level in (0..rank).rev() {
        for to in level + 1..rank {
            if group.representatives(level).contains_key(&to) {
                continue;
            }
            let mut image: Vec<usize> = (0..level).chain([to]).collect();
            complete(rank, &mut image, &mut |image| {
                for negative in [false, true] {
                    if comparisons == 0 {
                        return Ok(true);
                    }
                    comparisons -= 1;
                    let candidate = Signed { image: image.to_vec(), negative };
                    if holds(&candidate)? {
                        group.insert(candidate);
                        return Ok(true);
                    }
                }
                Ok(false)
            })?;
        }
    }
    Ok(group)
}

/// Calls `accept` with each permutation that begins with `prefix`, transpositions first, until it says true.
fn complete(
    rank: usize,
    prefix: &mut Vec<usize>,
    accept: &mut dyn FnMut(&[usize]) -> Result<bool, InferError>,
) -> Result<bool, InferError> {
    if prefix.len() == rank {
        return accept(prefix);
    }
    // A transposition takes the next position back; otherwise it is not known where it goes.
    let here = prefix.len();
    let back = prefix.iter().position(|&to| to == here);
    let first = back.unwrap_or(here);
    for to in [first].into_iter().chain((0..rank).filter(|&to| to != first)) {
        if prefix.contains(&to) {
            continue;
        }
        prefix.push(to);
        if complete(rank, prefix, accept)? {
            return Ok(true);
        }
        prefix.pop();
    }
    Ok(false)
}
