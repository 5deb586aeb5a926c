//! Candidates that exchange iterators and count them from the other end, such as
//! `(i, j, k) -> (n - 1 - j, n - 1 - i, n - 1 - k)`. Factors may change places, and so may products.

use dastac_poly::{Map, Set};

use super::super::InferError;
use crate::program::Rule;
use crate::sets::{Affine, Extent};

use super::candidate::{Candidate, Way};
use super::operands::{Move, Operands, moved, single};
use super::shape::Shape;

/// Steps of the search for one rule.
const MAX_STEPS: usize = 50_000;
/// Heads and reductions of more positions are not permuted.
const MAX_POSITIONS: usize = 4;
/// Ways to move the reduction iterators of one product that are tried for one candidate.
const MAX_WAYS: usize = 4;

/// For each position, the position that it takes its value from, and whether it is counted from the other end.
type Signed = Vec<(usize, bool)>;

struct Search<'s, 'a, 'b> {
    operands: &'s Operands<'a, 'b>,
    shapes: &'s [Shape<'b>],
    steps: usize,
}

/// All candidates for which the operands stay the same.
pub(super) fn signed(
    operands: &Operands<'_, '_>,
    rule: &Rule,
    shapes: &[Shape<'_>],
    extents: &[Extent],
    support: &Set,
) -> Result<Vec<Candidate>, InferError> {
    let rank = rule.iterators.len();
    let reads = |shape: &Shape<'_>| {
        shape.accesses.iter().any(|access| operands.relations.contains_key(&access.tensor))
    };
    let sizes = shapes.iter().map(|shape| shape.reductions.len()).chain([rank]);
    if !shapes.iter().any(reads) || sizes.max() > Some(MAX_POSITIONS) {
        return Ok(Vec::new());
    }
    let mut search = Search { operands, shapes, steps: 0 };
    let mut found = Vec::new();
    for head in all(rank) {
        if head.iter().enumerate().all(|(k, source)| *source == (k, false)) {
            continue;
        }
        let Some(map) = images(&rule.iterators, &head, &|k| single(&extents[k])) else { continue };
        let mut ways = Vec::new();
        let mut plain = head.iter().all(|(_, negated)| !negated);
        for product in 0..shapes.len() {
            let (own, only_plain) = search.ways(product, &head)?;
            plain &= only_plain;
            if own.is_empty() {
                break;
            }
            ways.push(own);
        }
        // Permutations alone are found elsewhere.
        if ways.len() == shapes.len() && !plain {
            let map = operands.sets.access(&rule.iterators, &map)?;
            let map = map.intersect_domain(support)?.intersect_range(support)?;
            found.push(Candidate { map, ways });
        }
    }
    Ok(found)
}

impl Search<'_, '_, '_> {
    /// The ways in which the terms of a product may move if the head moves so, and whether none of them counts from
    /// another end.
    fn ways(&mut self, product: usize, head: &Signed) -> Result<(Vec<Way>, bool), InferError> {
        let (mut ways, mut plain) = (Vec::new(), true);
        let from = &self.shapes[product];
        for (to, other) in self.shapes.iter().enumerate() {
            if other.kind != from.kind {
                continue;
            }
            for reductions in all(from.reductions.len()) {
                if ways.len() >= MAX_WAYS || self.steps > MAX_STEPS {
                    return Ok((ways, plain));
                }
                // What each iterator of the other product is, in iterators of this one.
                let mut sources = vec![(0, false); other.product.iterators.len()];
                for (k, (source, negated)) in head.iter().enumerate() {
                    sources[other.head[k]] = (from.head[*source], *negated);
                }
                for (k, (source, negated)) in reductions.iter().enumerate() {
                    sources[other.reductions[k]] = (from.reductions[*source], *negated);
                }
                let Some(pairing) = self.pairing(from, other, &sources, &mut Vec::new())? else {
                    continue;
                };
                let Some(reductions) = self.reductions(from, other, &sources)? else { continue };
                plain &= sources.iter().all(|(_, negated)| !negated);
                ways.push(Way { to, pairing, reductions });
            }
        }
        Ok((ways, plain))
    }

    /// For each access one of the other product that reads the same value, if there is one for each.
    fn pairing(
        &mut self,
        from: &Shape<'_>,
        to: &Shape<'_>,
        sources: &Signed,
        chosen: &mut Vec<usize>,
    ) -> Result<Option<Vec<usize>>, InferError> {
        self.steps += 1;
        let Some(access) = from.accesses.get(chosen.len()) else { return Ok(Some(chosen.clone())) };
        for (k, other) in to.accesses.iter().enumerate() {
            let same = other.tensor == access.tensor && other.reciprocal == access.reciprocal;
            if !same || chosen.contains(&k) || self.steps > MAX_STEPS {
                continue;
            }
            let mut source = Vec::new();
            for row in &other.rows {
                let mut image = vec![0; from.product.iterators.len()];
                for (coefficient, (at, negated)) in row.iter().zip(sources) {
                    image[*at] += if *negated { -coefficient } else { *coefficient };
                }
                let negative: Vec<i64> = image.iter().map(|c| -c).collect();
                // A subscript without iterators is itself.
                let next = source.len();
                let own = access.rows.iter().enumerate().find_map(|(k, row)| {
                    let free = !source.iter().any(|(taken, _)| *taken == k);
                    let constant = row.iter().all(|c| *c == 0);
                    let plain = *row == image && (!constant || k == next);
                    let negated = *row == negative && !constant;
                    (free && (plain || negated)).then_some((k, !plain))
                });
                source.extend(own);
            }
            if source.len() < access.rows.len() {
                continue;
            }
            let step = Move { plus: vec![0; source.len()], source };
            if !self.operands.stays(access.tensor, &step)? {
                continue;
            }
            chosen.push(k);
            if let Some(pairing) = self.pairing(from, to, sources, chosen)? {
                return Ok(Some(pairing));
            }
            chosen.pop();
        }
        Ok(None)
    }

    fn reductions(
        &self,
        from: &Shape<'_>,
        to: &Shape<'_>,
        sources: &Signed,
    ) -> Result<Option<Map>, InferError> {
        let sets = self.operands.sets;
        let (own, others) = (&from.product.iterators, &to.product.iterators);
        let mut all = Map::from_domain_and_range(&sets.universe(own)?, &sets.universe(others)?)?;
        for at in &to.reductions {
            let (source, negated) = sources[*at];
            let bound = self.operands.extent(from, source);
            let Some(image) = moved(&own[source], negated, bound) else { return Ok(None) };
            let there = sets.access(others, &[Affine::name(&others[*at])])?;
            all = all.intersect(&sets.access(own, &[image])?.apply_range(&there.reverse()?)?)?;
        }
        Ok(Some(all))
    }
}

fn images(
    iterators: &[String],
    signed: &Signed,
    bound: &dyn Fn(usize) -> Option<Affine>,
) -> Option<Vec<Affine>> {
    let image = |(k, (source, negated)): (usize, &(usize, bool))| {
        moved(&iterators[*source], *negated, bound(k))
    };
    signed.iter().enumerate().map(image).collect()
}

/// All permutations of positions with all signs, those with few signs first.
fn all(count: usize) -> Vec<Signed> {
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..count {
        let mut next = Vec::new();
        for order in orders {
            for k in (0..count).filter(|k| !order.contains(k)) {
                next.push([order.as_slice(), &[k]].concat());
            }
        }
        orders = next;
    }
    let mut all: Vec<Signed> = Vec::new();
    for order in orders {
        for signs in 0..1usize << count {
            let signed = order.iter().enumerate().map(|(k, at)| (*at, signs & (1 << k) != 0));
            all.push(signed.collect());
        }
    }
    all.sort_by_key(|signed| signed.iter().filter(|(_, negated)| *negated).count());
    all
}
