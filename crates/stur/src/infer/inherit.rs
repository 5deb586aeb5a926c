//! Finds equalities between a head's elements that follow from the redundancy of its operands, or from subscripts that
//! do not tell elements apart.
//!
//! A *candidate* is a single-valued map `m` on the head's elements, guessed from the accesses: it consists of pairs
//! `x -> x'` for which some access at `x'` reads the element that it reads at `x`, or a known multiple of it. [`sound`]
//! then keeps the part of the candidate on which every product agrees: the reduction iterators range over the same
//! points at `x` and at `m(x)`, and each factor changes by a known coefficient, with the same total for every product.
//!
//! For example, `V(i,j)*W(k,l)` has the redundancy of both operands, `A(i,j) := T(i,j)*S(i,j)` is Toeplitz if `T` and
//! `S` are, `A(i,j) := f(j-i)` is Toeplitz even if `f` has no structure, `A(i,j) := f(i)*(0<=j<N)` has constant rows,
//! and `V(i,j)*x(j)` inherits nothing from `V`.

use std::collections::{BTreeMap, BTreeSet};

use dastac_poly::{Map, Set};

use super::parity::parity;
use super::quotient::Quotient;
use super::relations::Relations;
use super::transforms::{self, Searched};
use super::{InferError, Space, Structured};
use crate::coefficient::Coefficient;
use crate::program::{Product, Rule, TensorId};
use crate::semiring::Semiring;
use crate::sets::{Affine, Atom, Extent, Sets};

/// At most this many candidates are tried for one rule.
const MAX_CANDIDATES: usize = 16;
/// Different accesses up to which pairs are sought on which all of them agree.
const MAX_ACCESSES: usize = 16;
/// Affine pieces of a candidate, and of the pairs that it is taken from.
const MAX_PIECES: usize = 16;

type Known<'a, 'b> = &'b dyn Fn(TensorId) -> Option<&'a Structured>;

/// A rule, the spaces of its products, and what is known about the operands.
struct Inherit<'a, 'b> {
    sets: &'b Sets,
    rule: &'b Rule,
    spaces: &'b [Space],
    support: &'b Set,
    known: Known<'a, 'b>,
    relations: BTreeMap<TensorId, Relations>,
}

/// Merges all equalities that are found into the head's quotient.
pub(crate) fn inherit<'a>(
    sets: &Sets,
    known: Known<'a, '_>,
    rule: &Rule,
    spaces: &[Space],
    extents: &[Extent],
    quotient: &mut Quotient,
) -> Result<(), InferError> {
    if rule.iterators.is_empty() || rule.products.is_empty() {
        return Ok(());
    }
    let support = quotient.support.clone();
    let mut inherit =
        Inherit { sets, rule, spaces, support: &support, known, relations: BTreeMap::new() };
    for access in rule.products.iter().flat_map(|product| &product.accesses) {
        if let Some(operand) = known(access.tensor)
            && !operand.redundancy.is_empty()
            && !inherit.relations.contains_key(&access.tensor)
        {
            let relations = Relations::of(operand)?;
            if !relations.is_trivial(operand) {
                inherit.relations.insert(access.tensor, relations);
            }
        }
    }
    if !inherit.relations.is_empty() || !inherit.tells_apart() {
        for candidate in inherit.candidates()? {
            for (map, coefficient) in inherit.sound(&candidate)? {
                // A multiple of all values is one of their sum: the least of `-x` is not that of `x`, negated.
                if coefficient.is_one() || rule.semiring == Semiring::SumTimes {
                    quotient.merge(&map, &coefficient)?;
                }
            }
        }
    }
    let relations = inherit.relations;
    let searched = Searched { sets, known, rule, spaces, extents, relations: &relations };
    transforms::merge(&searched, quotient)
}

impl Inherit<'_, '_> {
    /// What the accesses reveal about the head's iterators: the part of each subscript that depends on these only.
    fn keys(&self, all: bool) -> BTreeSet<Affine> {
        let mut keys = BTreeSet::new();
        for (product, space) in self.rule.products.iter().zip(self.spaces) {
            for (access, subscripts) in product.accesses.iter().zip(&space.subscripts) {
                if all || !self.relations.contains_key(&access.tensor) {
                    subscripts.iter().for_each(|subscript| self.add_keys(subscript, &mut keys));
                }
            }
        }
        keys
    }

    fn add_keys(&self, subscript: &Affine, keys: &mut BTreeSet<Affine>) {
        let is_head = |name: &String| self.rule.iterators.contains(name);
        let mut part = Affine::constant(0);
        for (atom, factor) in &subscript.terms {
            let (names, here) = match atom {
                Atom::Name(name) => ([name.clone()].into(), is_head(name)),
                Atom::Floor(inner, _) => {
                    let names = inner.names();
                    // A floor of reduction iterators too: then all that it holds must stay.
                    let mixed = names.iter().any(|name| !is_head(name) && !self.is_symbol(name));
                    (names, !mixed)
                }
            };
            if !names.iter().any(is_head) {
                continue;
            }
            if here {
                part.terms.insert(atom.clone(), *factor);
            } else {
                keys.extend(names.iter().filter(|name| is_head(name)).map(|n| Affine::name(n)));
            }
        }
        if !part.terms.is_empty() {
            keys.insert(part);
        }
    }

    fn is_symbol(&self, name: &str) -> bool {
        self.sets.names.is_symbol(name)
    }

    /// Whether the accesses' subscripts determine the head's iterators, by what is linear in them.
    fn tells_apart(&self) -> bool {
        let mut rows: Vec<Vec<i128>> = Vec::new();
        for key in self.keys(true) {
            let linear = key.terms.keys().all(|atom| matches!(atom, Atom::Name(_)));
            let row =
                self.rule.iterators.iter().map(|name| {
                    key.terms.get(&Atom::Name(name.clone())).copied().unwrap_or(0).into()
                });
            if linear {
                rows.push(row.collect());
            }
        }
        full_rank(rows, self.rule.iterators.len())
    }

    /// Maps on the head's elements that may be equalities.
    fn candidates(&self) -> Result<Vec<Map>, InferError> {
        let mut found = Vec::new();
        let mut accesses: Vec<(&Product, &Space, &[Affine], &Relations)> = Vec::new();
        let mut seen = BTreeSet::new();
        for (product, space) in self.rule.products.iter().zip(self.spaces) {
            for (access, subscripts) in product.accesses.iter().zip(&space.subscripts) {
                if let Some(relations) = self.relations.get(&access.tensor)
                    && seen.insert((access.tensor, subscripts))
                    && accesses.len() <= MAX_ACCESSES
                {
                    accesses.push((product, space, subscripts, relations));
                }
            }
        }
        let same = |keys: BTreeSet<Affine>| -> Result<Map, InferError> {
            let keys: Vec<Affine> = keys.into_iter().collect();
            let map = self.sets.access(&self.rule.iterators, &keys)?;
            Ok(map.apply_range(&map.reverse()?)?)
        };
        // Pairs on which no factor changes.
        let many = accesses.len() > MAX_ACCESSES;
        let mut unchanged = same(self.keys(many))?;
        for (product, space, subscripts, relations) in accesses.iter().filter(|_| !many) {
            for (_, pairs) in relations.0.iter().filter(|(c, _)| c.is_one()) {
                let lifted = self.lift(product, space, subscripts, pairs, false)?;
                unchanged = unchanged.intersect(&lifted)?.coalesce()?;
            }
            if unchanged.basic_maps()?.len() > MAX_PIECES {
                break; // the last candidate may not hold for the other accesses: what does not is left out later
            }
        }
        self.add_candidate(&mut found, &unchanged)?;
        // Pairs on which one factor changes, the iterators that it does not depend on unchanged.
        for (product, space, subscripts, relations) in &accesses {
            for (_, pairs) in relations.0.iter().filter(|(c, _)| !c.is_one()) {
                if found.len() < MAX_CANDIDATES {
                    let lifted = self.lift(product, space, subscripts, pairs, true)?;
                    self.add_candidate(&mut found, &lifted)?;
                }
            }
        }
        Ok(found)
    }

    /// Maps each element to its least partner, if that says anything new.
    fn add_candidate(&self, found: &mut Vec<Map>, pairs: &Map) -> Result<(), InferError> {
        let pairs =
            pairs.intersect_domain(self.support)?.intersect_range(self.support)?.coalesce()?;
        // The least partners of a union of many cases take long to find, and have many cases.
        if pairs.basic_maps()?.len() > MAX_PIECES {
            return Ok(());
        }
        if pairs.is_subset(&self.support.identity()?)? {
            return Ok(());
        }
        // A partner that isl does not find is redundancy that is not used.
        let map = match pairs.lexmin() {
            Err(dastac_poly::Error::Incomplete { .. }) => return Ok(()),
            map => map?.coalesce()?,
        };
        let mut new = map.basic_maps()?.len() <= MAX_PIECES;
        for other in found.iter() {
            new &= !map.is_equal(other)?;
        }
        if new {
            found.push(map);
        }
        Ok(())
    }

    /// Pairs of head elements at which an access reads a pair of elements out of `pairs`. The reduction iterators are
    /// the same for both; with `keep`, so are the head's iterators that the access does not depend on.
    fn lift(
        &self,
        product: &Product,
        space: &Space,
        subscripts: &[Affine],
        pairs: &Map,
        keep: bool,
    ) -> Result<Map, InferError> {
        let head = &self.rule.iterators;
        let used: BTreeSet<String> = subscripts.iter().flat_map(Affine::names).collect();
        let reduces = |name: &&String| !head.contains(name);
        let with_reduction = product.iterators.iter().filter(reduces).any(|it| used.contains(it));
        let iterators = if with_reduction { &product.iterators } else { head };
        let read = self.sets.access(iterators, subscripts)?;
        let mut lifted = read.apply_range(pairs)?.apply_range(&read.reverse()?)?;
        let fixed: Vec<Affine> = iterators
            .iter()
            .filter(|name| reduces(name) || keep && !used.contains(*name))
            .map(|name| Affine::name(name))
            .collect();
        if !fixed.is_empty() {
            let coordinates = self.sets.access(iterators, &fixed)?;
            lifted = lifted.intersect(&coordinates.apply_range(&coordinates.reverse()?)?)?;
        }
        if with_reduction {
            lifted = lifted.intersect_domain(&space.domain)?.intersect_range(&space.domain)?;
            let to_head = self.to_head(product)?;
            lifted = to_head.reverse()?.apply_range(&lifted)?.apply_range(&to_head)?;
        }
        Ok(lifted)
    }

    fn to_head(&self, product: &Product) -> Result<Map, InferError> {
        let head = self.rule.subscripts();
        Ok(self.sets.access(&product.iterators, &head)?)
    }

    /// The parts of a candidate that hold, by coefficient.
    fn sound(&self, candidate: &Map) -> Result<Vec<(Map, Coefficient)>, InferError> {
        // Where the products so far agree on a coefficient; none yet where they have no term.
        let mut agreed: Vec<(Option<Coefficient>, Set)> = vec![(None, candidate.domain()?)];
        for (product, space) in self.rule.products.iter().zip(self.spaces) {
            let changes = self.changes(product, space, candidate)?;
            let mut next: Vec<(Option<Coefficient>, Set)> = Vec::new();
            for (so_far, points) in &agreed {
                for (change, at) in &changes {
                    let total = match (so_far, change) {
                        (so_far, None) => so_far,
                        (None, change) => change,
                        (so_far, change) if so_far == change => so_far,
                        _ => continue,
                    };
                    let both = points.intersect(at)?;
                    if both.is_empty()? {
                        continue;
                    }
                    match next.iter_mut().find(|(c, _)| c == total) {
                        Some((_, union)) => *union = union.union(&both)?.coalesce()?,
                        None => next.push((total.clone(), both)),
                    }
                }
            }
            agreed = next;
            if agreed.is_empty() {
                break;
            }
        }
        let mut parts = Vec::new();
        for (coefficient, points) in agreed {
            if let Some(coefficient) = coefficient {
                parts.push((candidate.intersect_domain(&points)?, coefficient));
            }
        }
        Ok(parts)
    }

    /// For the elements in a candidate's domain, the coefficient by which a product changes along it, or `None` if the
    /// product has no term at either end. Elements for which the coefficient is not known are in none of the sets.
    fn changes(
        &self,
        product: &Product,
        space: &Space,
        candidate: &Map,
    ) -> Result<Vec<(Option<Coefficient>, Set)>, InferError> {
        let to_head = self.to_head(product)?;
        let from_heads = to_head.reverse()?;
        // All moves of the head along the candidate, reduction iterators unchanged.
        let mut moves = to_head.apply_range(candidate)?.apply_range(&from_heads)?;
        let reduction: Vec<Affine> = product
            .iterators
            .iter()
            .filter(|iterator| !self.rule.iterators.contains(iterator))
            .map(|iterator| Affine::name(iterator))
            .collect();
        if !reduction.is_empty() {
            let coordinates = self.sets.access(&product.iterators, &reduction)?;
            moves = moves.intersect(&coordinates.apply_range(&coordinates.reverse()?)?)?;
        }
        let forward = moves.intersect_domain(&space.domain)?;
        let backward = moves.intersect_range(&space.domain)?;
        let both = forward.intersect_range(&space.domain)?;
        let heads =
            |moves: &Map| -> Result<Set, InferError> { Ok(moves.domain()?.apply(&to_head)?) };
        let mut unknown =
            heads(&forward.subtract(&both)?)?.union(&heads(&backward.subtract(&both)?)?)?;
        let none = candidate.domain()?.subtract(&heads(&forward)?)?.subtract(&heads(&backward)?)?;
        let mut parts: Vec<(Coefficient, Map)> = vec![(Coefficient::one(), both)];
        for (at, (access, subscripts)) in product.accesses.iter().zip(&space.subscripts).enumerate()
        {
            if (self.known)(access.tensor).is_none() {
                return Ok(Vec::new());
            }
            let read = self.sets.access(&product.iterators, subscripts)?;
            let back = read.reverse()?;
            let mut pairs: Vec<(Coefficient, Map)> = Vec::new();
            match self.relations.get(&access.tensor) {
                None => pairs.push((Coefficient::one(), read.apply_range(&back)?)),
                Some(relations) => {
                    for (change, map) in &relations.0 {
                        let change =
                            if access.reciprocal { change.recip() } else { Some(change.clone()) };
                        let change = match access.argument {
                            false => change,
                            true => change.and_then(|change| sign(product, at, &change)),
                        };
                        if let Some(change) = change {
                            pairs.push((change, read.apply_range(map)?.apply_range(&back)?));
                        }
                    }
                }
            }
            let mut next: Vec<(Coefficient, Map)> = Vec::new();
            for (so_far, mut rest) in parts {
                for (change, pairs) in &pairs {
                    let Some(total) = so_far.times(change) else { continue };
                    let here = rest.intersect(pairs)?;
                    if here.is_empty()? {
                        continue;
                    }
                    rest = rest.subtract(pairs)?;
                    match next.iter_mut().find(|(c, _)| *c == total) {
                        Some((_, union)) => *union = union.union(&here)?,
                        None => next.push((total, here)),
                    }
                    if rest.is_empty()? {
                        break;
                    }
                }
                unknown = unknown.union(&heads(&rest)?)?;
            }
            parts = next;
        }
        let mut changes = vec![(None, none.subtract(&unknown)?)];
        let points: Vec<Set> =
            parts.iter().map(|(_, part)| heads(part)).collect::<Result<_, _>>()?;
        for (k, (change, _)) in parts.into_iter().enumerate() {
            let mut at = points[k].subtract(&unknown)?;
            // Several terms of one element that change differently.
            for (other, others) in points.iter().enumerate() {
                if other != k {
                    at = at.subtract(others)?;
                }
            }
            changes.push((Some(change), at));
        }
        Ok(changes)
    }
}

/// By what a product changes if an argument of its functions changes by a coefficient: nothing if it stays, a sign if
/// the functions are even or odd in it.
fn sign(product: &Product, argument: usize, change: &Coefficient) -> Option<Coefficient> {
    if change.is_one() {
        return Some(Coefficient::one());
    }
    if *change != Coefficient::sign(true) {
        return None;
    }
    let mut negative = false;
    for function in &product.functions {
        negative ^= parity(&function.value, argument)?;
    }
    Some(Coefficient::sign(negative))
}

/// Whether integer rows span a space of the given dimension; false also on overflow.
fn full_rank(mut rows: Vec<Vec<i128>>, dimension: usize) -> bool {
    for rank in 0..dimension {
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][rank] != 0) else {
            return false;
        };
        rows.swap(rank, pivot);
        let (done, rest) = rows.split_at_mut(rank + 1);
        let pivot = &done[rank];
        for row in rest {
            let factor = row[rank];
            for (value, above) in row.iter_mut().zip(pivot) {
                let scaled = value.checked_mul(pivot[rank]);
                let eliminated = above.checked_mul(factor).and_then(|v| scaled?.checked_sub(v));
                let Some(eliminated) = eliminated else { return false };
                *value = eliminated;
            }
        }
    }
    true
}
