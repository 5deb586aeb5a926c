//! The elements of a tensor up to known equalities: which elements are kept, and how the others follow from them.
//!
//! At first every element of the support is kept. [`Quotient::symmetric`] keeps the lexicographically least element of
//! each orbit of a group, and [`Quotient::merge`] uses one more relation `T(x) = c * T(m(x))`. Invariants: the kept
//! elements and the domains of the pieces are disjoint and cover the support; every piece is single-valued and leads to
//! kept elements. Any sound relation may be merged, in any order; a relation that cannot be used is left out.

use dastac_poly::{Map, Set};

use super::group::{Factor, Group, Signed};
use super::{InferError, Redundancy};
use crate::ast::CompareOp;
use crate::coefficient::Coefficient;
use crate::sets::{Affine, Relation, Sets};

/// A relation that has more affine pieces than this after all intersections is left out.
const MAX_BASIC_MAPS: usize = 48;

/// Elements that are kept, and elements that follow from kept ones.
#[derive(Clone)]
pub(crate) struct Quotient {
    /// All elements that may be non-zero.
    pub support: Set,
    /// The kept elements, which have values of their own.
    pub unique: Set,
    /// `T(x) = coefficient * T(map(x))`.
    pieces: Vec<(Map, Coefficient)>,
    /// Positions whose subscripts are sorted. If there are any, there are no pieces.
    sorted: Vec<Vec<usize>>,
}

/// One way to move elements of a factor's orbits to the least one of their orbit.
struct Move {
    element: Signed,
    /// The elements that are moved in this way, over the factor's positions.
    domain: Set,
}

impl Quotient {
    /// Keeps every element.
    pub fn trivial(support: &Set) -> Quotient {
        Quotient {
            support: support.clone(),
            unique: support.clone(),
            pieces: Vec::new(),
            sorted: Vec::new(),
        }
    }

    /// Keeps the least element of each orbit, and removes elements that are their own negatives from the support. Uses
    /// as much of the group as `max_pieces` redundancy pieces can express.
    pub fn symmetric(
        sets: &Sets,
        iterators: &[String],
        support: &Set,
        group: &Group,
        max_pieces: usize,
    ) -> Result<Quotient, InferError> {
        if group.vanishes() {
            let nothing = support.empty_like()?;
            return Ok(Quotient::trivial(&nothing));
        }
        let (factors, sort) = within_limit(group, max_pieces);
        if factors.is_empty() {
            return Ok(Quotient::trivial(support));
        }
        if sort {
            let mut unique = support.clone();
            for factor in &factors {
                unique = unique.intersect(&ascending(sets, iterators, &factor.positions)?)?;
            }
            return Ok(Quotient {
                support: support.clone(),
                unique: unique.simplify()?,
                pieces: Vec::new(),
                sorted: factors.into_iter().map(|factor| factor.positions).collect(),
            });
        }
        let mut support = support.clone();
        let mut combined = vec![Move {
            element: Signed::identity(iterators.len()),
            domain: sets.universe(iterators)?,
        }];
        for factor in &factors {
            let (zeros, moves) = moves(sets, iterators, factor)?;
            if let Some(zeros) = zeros {
                support = support.subtract(&zeros)?;
            }
            let mut next = Vec::new();
            for first in &combined {
                for second in &moves {
                    next.push(Move {
                        element: first.element.times(&second.element),
                        domain: first.domain.intersect(&second.domain)?,
                    });
                }
            }
            combined = next;
        }
        let support = support.simplify()?;
        let mut combined = combined.into_iter();
        let mut unique = support.clone();
        if let Some(least) = combined.next() {
            unique = unique.intersect(&least.domain)?.simplify()?;
        }
        let mut pieces = Vec::new();
        for Move { element, domain } in combined {
            let map = rearranged(sets, iterators, &element)?.intersect_domain(&domain)?;
            let map = map.intersect_domain(&support)?.simplify()?;
            if !map.is_empty()? {
                pieces.push((map, Coefficient::sign(element.negative)));
            }
        }
        Ok(Quotient { support, unique, pieces, sorted: Vec::new() })
    }

    /// Uses `T(x) = coefficient * T(relation(x))`, where the relation is single-valued and the equality holds wherever
    /// it is defined. Returns whether this changed anything.
    pub fn merge(&mut self, relation: &Map, coefficient: &Coefficient) -> Result<bool, InferError> {
        if !self.sorted.is_empty() {
            return Ok(false); // a sorted element's target would have to be moved again
        }
        // Follow the pieces to kept elements, and leave out elements that lead to themselves.
        let relation = relation.intersect_domain(&self.unique)?;
        let mut new: Vec<(Map, Coefficient)> = Vec::new();
        let direct = relation.intersect_range(&self.unique)?;
        push(&mut new, direct.subtract(&self.unique.identity()?)?, coefficient)?;
        for (map, next) in &self.pieces {
            let Some(total) = coefficient.times(next) else { continue };
            let through = relation.apply_range(map)?.subtract(&self.unique.identity()?)?;
            push(&mut new, through, &total)?;
        }
        if new.is_empty() {
            return Ok(false);
        }
        // No piece may lead to an element that is no longer kept.
        let mut leaving = sources(&self.unique, &new)?;
        let mut targets = self.unique.empty_like()?;
        for (map, _) in &new {
            targets = targets.union(&map.range()?)?;
        }
        if !targets.is_disjoint(&leaving)? {
            // Of two elements that lead to each other the lesser one is kept.
            let mut all = new[0].0.clone();
            for (map, _) in &new[1..] {
                all = all.union(map)?;
            }
            let both = all.intersect(&all.reverse()?)?;
            let dropped = both.intersect(&decreasing(&self.unique)?.reverse()?)?;
            for (map, _) in &mut new {
                *map = map.subtract(&dropped)?;
            }
            leaving = sources(&self.unique, &new)?;
            let staying = self.unique.subtract(&leaving)?;
            for (map, _) in &mut new {
                *map = map.intersect_range(&staying)?;
            }
            leaving = sources(&self.unique, &new)?;
        }
        let unique = self.unique.subtract(&leaving)?.simplify()?;
        let mut pieces: Vec<(Map, Coefficient)> = Vec::new();
        for (map, first) in &self.pieces {
            push(&mut pieces, map.intersect_range(&unique)?, first)?;
            for (next, second) in &new {
                let through = map.apply_range(next)?;
                match first.times(second) {
                    Some(total) => push(&mut pieces, through, &total)?,
                    None if through.is_empty()? => {}
                    None => return Ok(false),
                }
            }
        }
        for (map, coefficient) in new {
            push(&mut pieces, map, &coefficient)?;
        }
        let mut parts = unique.basic_set_count()?;
        for (map, _) in &pieces {
            parts += map.basic_maps()?.len();
        }
        if pieces.is_empty() || parts > MAX_BASIC_MAPS {
            return Ok(false);
        }
        self.unique = unique;
        self.pieces = pieces;
        Ok(true)
    }

    /// The redundancy map.
    pub fn redundancy(&self) -> Result<Vec<Redundancy>, InferError> {
        if !self.sorted.is_empty() {
            let domain = self.support.subtract(&self.unique)?.simplify()?;
            return Ok(vec![Redundancy::Sorted { domain, classes: self.sorted.clone() }]);
        }
        let piece = |(map, coefficient): &(Map, Coefficient)| Redundancy::Affine {
            map: map.clone(),
            coefficient: coefficient.clone(),
        };
        Ok(self.pieces.iter().map(piece).collect())
    }
}

/// Adds a piece unless it is empty. It is joined to a piece with the same coefficient if both together are simpler.
fn push(
    pieces: &mut Vec<(Map, Coefficient)>,
    map: Map,
    coefficient: &Coefficient,
) -> Result<(), InferError> {
    let map = map.simplify()?;
    if map.is_empty()? {
        return Ok(());
    }
    let alone = map.basic_maps()?.len();
    for (other, c) in pieces.iter_mut().filter(|(_, c)| c == coefficient) {
        debug_assert!(c == coefficient);
        let joined = other.union(&map)?.simplify()?;
        if joined.basic_maps()?.len() < other.basic_maps()?.len() + alone {
            *other = joined;
            return Ok(());
        }
    }
    pieces.push((map, coefficient.clone()));
    Ok(())
}

/// Pairs of points of which the second comes lexicographically before the first.
fn decreasing(space: &Set) -> Result<Map, InferError> {
    let names =
        |letter: char| (0..space.rank()).map(|k| format!("{letter}{k}")).collect::<Vec<_>>();
    let (from, to) = (names('x'), names('y'));
    let equal = |k: usize| format!("{} = {}", to[k], from[k]);
    let cases: Vec<String> = (0..space.rank())
        .map(|k| {
            let before = (0..k).map(equal).chain([format!("{} < {}", to[k], from[k])]);
            before.collect::<Vec<_>>().join(" and ")
        })
        .collect();
    let text =
        format!("{{ [{}] -> [{}] : {} }}", from.join(", "), to.join(", "), cases.join(" or "));
    Ok(Map::parse(space.context(), &text)?)
}

fn sources(space: &Set, pieces: &[(Map, Coefficient)]) -> Result<Set, InferError> {
    let mut all = space.empty_like()?;
    for (map, _) in pieces {
        all = all.union(&map.domain()?)?;
    }
    Ok(all)
}

/// The factors to use, and whether by sorting (true) or by one piece an element. A group that is too large is replaced
/// by the permutations that swap two positions and leave all others; where these are too many and may change the sign,
/// by part of them.
fn within_limit(group: &Group, max_pieces: usize) -> (Vec<Factor>, bool) {
    let order = |factors: &[Factor]| {
        factors.iter().fold(1usize, |order, factor| order.saturating_mul(factor.group.order()))
    };
    let mut factors = group.factors();
    // Sorting beats pieces from four interchangeable positions on.
    let sortable = |factors: &[Factor]| factors.iter().all(|factor| factor.full == Some(false));
    if sortable(&factors) {
        let sort = order(&factors) > 6;
        return (factors, sort);
    }
    if order(&factors) <= max_pieces {
        return (factors, false);
    }
    factors = factors.iter().flat_map(|factor| swaps(group.degree(), factor)).collect();
    if order(&factors) > max_pieces && factors.iter().any(|factor| factor.full == Some(false)) {
        factors.retain(|factor| factor.full == Some(false));
    }
    if sortable(&factors) {
        let sort = order(&factors) > 6;
        return (factors, sort);
    }
    while order(&factors) > max_pieces {
        factors.pop();
    }
    (factors, false)
}

/// The subgroup of a factor that its transpositions generate.
fn swaps(degree: usize, factor: &Factor) -> Vec<Factor> {
    if factor.full.is_some() {
        return vec![factor.clone()];
    }
    let mut group = Group::trivial(degree);
    for (k, &a) in factor.positions.iter().enumerate() {
        for &b in &factor.positions[k + 1..] {
            let mut swap = Signed::identity(degree);
            swap.image.swap(a, b);
            if let Some(negative) = factor.group.sign_of(&swap.image) {
                group.insert(Signed { negative, ..swap });
            }
        }
    }
    group.factors()
}

/// A factor's structural zeros, if any, and the moves to the least element of each orbit: the identity first, domains
/// disjoint and covering the rest.
fn moves(
    sets: &Sets,
    iterators: &[String],
    factor: &Factor,
) -> Result<(Option<Set>, Vec<Move>), InferError> {
    let elements = factor.group.elements();
    let mut zeros: Option<Set> = None;
    for element in elements.iter().filter(|element| element.negative) {
        let mut fixed = sets.universe(iterators)?;
        for (k, &from) in element.image.iter().enumerate().filter(|(k, from)| **from != *k) {
            fixed = fixed.intersect(&compared(sets, iterators, k, from, CompareOp::Eq)?)?;
        }
        zeros = Some(match zeros {
            None => fixed,
            Some(zeros) => zeros.union(&fixed)?,
        });
    }
    let zeros = zeros.map(|zeros| zeros.simplify()).transpose()?;
    let mut moves = Vec::new();
    if let Some(skew) = factor.full {
        for element in elements {
            let mut domain = sets.universe(iterators)?;
            for pair in factor.positions.windows(2) {
                let (a, b) = (element.image[pair[0]], element.image[pair[1]]);
                // Strict where the order is inverted (a stable sort), or where equal subscripts are structurally zero.
                let how = if a > b || skew { CompareOp::Lt } else { CompareOp::Le };
                domain = domain.intersect(&compared(sets, iterators, a, b, how)?)?;
            }
            moves.push(Move { element, domain });
        }
        return Ok((zeros, moves));
    }
    let mut least = sets.universe(iterators)?;
    for element in elements.iter().skip(1) {
        least = least.intersect(&not_after(sets, iterators, element)?)?.simplify()?;
    }
    if let Some(zeros) = &zeros {
        least = least.subtract(zeros)?.simplify()?;
    }
    let mut covered = least.clone();
    for element in elements {
        if element.fixes_all() {
            moves.push(Move { element, domain: least.clone() });
            continue;
        }
        let map = rearranged(sets, iterators, &element)?;
        let domain = map.intersect_range(&least)?.domain()?.subtract(&covered)?.simplify()?;
        covered = covered.union(&domain)?;
        moves.push(Move { element, domain });
    }
    Ok((zeros, moves))
}

/// `x -> x[image]`.
fn rearranged(sets: &Sets, iterators: &[String], element: &Signed) -> Result<Map, InferError> {
    let targets: Vec<Affine> =
        element.image.iter().map(|&from| Affine::name(&iterators[from])).collect();
    Ok(sets.access(iterators, &targets)?)
}

/// Points that do not come lexicographically after their image.
fn not_after(sets: &Sets, iterators: &[String], element: &Signed) -> Result<Set, InferError> {
    let mut equal = sets.universe(iterators)?;
    let mut result = sets.empty(iterators)?;
    for (k, &from) in element.image.iter().enumerate().filter(|(k, from)| *k != **from) {
        let less = compared(sets, iterators, k, from, CompareOp::Lt)?;
        result = result.union(&equal.intersect(&less)?)?;
        equal = equal.intersect(&compared(sets, iterators, k, from, CompareOp::Eq)?)?;
    }
    Ok(result.union(&equal)?.coalesce()?)
}

/// Points that ascend over some positions.
fn ascending(sets: &Sets, iterators: &[String], positions: &[usize]) -> Result<Set, InferError> {
    let mut set = sets.universe(iterators)?;
    for pair in positions.windows(2) {
        set = set.intersect(&compared(sets, iterators, pair[0], pair[1], CompareOp::Le)?)?;
    }
    Ok(set)
}

/// Points whose subscripts at two positions compare so.
fn compared(
    sets: &Sets,
    iterators: &[String],
    a: usize,
    b: usize,
    operator: CompareOp,
) -> Result<Set, InferError> {
    let [left, right] = [a, b].map(|position| Affine::name(&iterators[position]));
    Ok(sets.holds(iterators, &Relation { left, operator, right })?)
}
