//! Candidates that move iterators by steps, such as `(i, j, k) -> (i - 1, j - 1, k - 1)`.

use dastac_poly::{Map, Set};

use super::super::InferError;
use crate::program::Rule;
use crate::sets::{Affine, Extent, Sets};

use super::candidate::{Candidate, Way};
use super::operands::{Move, Operands, single};
use super::shape::{Shape, dot};

/// Ways to move the reduction iterators of one product that are tried for one direction.
const MAX_WAYS: usize = 4;

/// A direction in which the head may repeat.
pub(super) struct Shift {
    /// The steps of the head's iterators; the first that is not 0 is positive.
    pub head: Vec<i64>,
    /// The steps of all iterators, for each product in several ways.
    steps: Vec<Vec<Vec<i64>>>,
}

/// All directions with steps of at most one along which no operand changes, the fewest moved iterators first.
pub(super) fn shifts(
    operands: &Operands<'_, '_>,
    rule: &Rule,
    shapes: &[Shape<'_>],
) -> Result<Vec<Shift>, InferError> {
    let mut found: Vec<Shift> = Vec::new();
    for (k, shape) in shapes.iter().enumerate() {
        let mut next: Vec<Shift> = Vec::new();
        for steps in directions(operands, shape)? {
            let head: Vec<i64> = shape.head.iter().map(|at| steps[*at]).collect();
            match next.iter_mut().find(|shift| shift.head == head) {
                Some(shift) => shift.steps[k].push(steps),
                None if k == 0 => {
                    let mut all = vec![Vec::new(); shapes.len()];
                    all[0].push(steps);
                    next.push(Shift { head, steps: all });
                }
                None => {
                    if let Some(at) = found.iter().position(|shift| shift.head == head) {
                        let mut shift = found.swap_remove(at);
                        shift.steps[k].push(steps);
                        next.push(shift);
                    }
                }
            }
        }
        found = next;
        if found.is_empty() {
            return Ok(found);
        }
    }
    for steps in found.iter_mut().flat_map(|shift| &mut shift.steps) {
        steps.sort_by_key(|steps| steps.iter().filter(|step| **step != 0).count());
        steps.truncate(MAX_WAYS);
    }
    let moved = |shift: &Shift| shift.head.iter().filter(|step| **step != 0).count();
    found.sort_by_key(|shift| (moved(shift), shift.head.clone()));
    debug_assert!(found.iter().all(|shift| shift.head.len() == rule.iterators.len()));
    Ok(found)
}

/// Steps of a product's iterators along which all of its operands stay the same.
fn directions(operands: &Operands<'_, '_>, shape: &Shape<'_>) -> Result<Vec<Vec<i64>>, InferError> {
    let count = shape.product.iterators.len();
    let order: Vec<usize> = shape.head.iter().chain(&shape.reductions).copied().collect();
    let mut found = Vec::new();
    'steps: for code in 0..3usize.pow(count as u32) {
        let mut steps = vec![0i64; count];
        let mut rest = code;
        for at in order.iter().rev() {
            steps[*at] = [0, 1, -1][rest % 3];
            rest /= 3;
        }
        let first = shape.head.iter().map(|at| steps[*at]).find(|step| *step != 0);
        if first != Some(1) {
            continue;
        }
        let mut moves = Vec::new();
        for access in &shape.accesses {
            let step: Vec<i64> = access.rows.iter().map(|row| dot(row, &steps)).collect();
            let still = step.iter().all(|step| *step == 0);
            if !still && !operands.relations.contains_key(&access.tensor) {
                continue 'steps;
            }
            if !still {
                moves.push((access.tensor, Move::shift(step)));
            }
        }
        for (tensor, step) in moves {
            if !operands.stays(tensor, &step)? {
                continue 'steps;
            }
        }
        found.push(steps);
    }
    Ok(found)
}

impl Shift {
    /// One step back, from elements of `within` to any.
    pub fn step(
        &self,
        sets: &Sets,
        rule: &Rule,
        shapes: &[Shape<'_>],
        operands: &Operands<'_, '_>,
        within: &Set,
    ) -> Result<Candidate, InferError> {
        let images: Option<Vec<Affine>> = (rule.iterators.iter().zip(&self.head))
            .map(|(name, step)| Affine::name(name).add_scaled(&Affine::constant(*step), -1))
            .collect();
        let map = sets.access(&rule.iterators, &images.unwrap_or_default())?;
        let map = map.intersect_domain(within)?.intersect_range(within)?;
        Ok(Candidate { map, ways: self.ways(sets, shapes, operands)? })
    }

    /// One step back that goes on at the other end of a dimension. `None` if the dimensions are not known.
    pub fn around(
        &self,
        sets: &Sets,
        rule: &Rule,
        shapes: &[Shape<'_>],
        operands: &Operands<'_, '_>,
        extents: &[Extent],
        support: &Set,
    ) -> Result<Option<Candidate>, InferError> {
        let mut map =
            support.identity()?.apply_range(&sets.universe(&rule.iterators)?.identity()?)?;
        map = Map::from_domain_and_range(&map.domain()?, support)?;
        for (k, step) in self.head.iter().enumerate() {
            let Some(bound) = single(&extents[k]) else { return Ok(None) };
            let bound = (*step != 0).then_some(bound);
            let name = &rule.iterators[k];
            let relation =
                wrapped(sets, (&rule.iterators, name), (&rule.iterators, name), *step, bound)?;
            map = map.intersect(&relation)?;
        }
        let plain = self.step(sets, rule, shapes, operands, support)?.map;
        let map = map.subtract(&plain)?.coalesce()?;
        if map.is_empty()? {
            return Ok(None);
        }
        Ok(Some(Candidate { map, ways: self.ways(sets, shapes, operands)? }))
    }

    fn ways(
        &self,
        sets: &Sets,
        shapes: &[Shape<'_>],
        operands: &Operands<'_, '_>,
    ) -> Result<Vec<Vec<Way>>, InferError> {
        let mut all = Vec::new();
        for (k, (shape, steps)) in shapes.iter().zip(&self.steps).enumerate() {
            let mut ways = Vec::new();
            for steps in steps {
                let iterators = &shape.product.iterators;
                let whole = sets.universe(iterators)?;
                let mut reductions = Map::from_domain_and_range(&whole, &whole)?;
                for at in &shape.reductions {
                    let bound = operands.extent(shape, *at).filter(|_| steps[*at] != 0);
                    let name = &iterators[*at];
                    let relation =
                        wrapped(sets, (iterators, name), (iterators, name), steps[*at], bound)?;
                    reductions = reductions.intersect(&relation)?;
                }
                let pairing = (0..shape.accesses.len()).collect();
                ways.push(Way { to: k, pairing, reductions });
            }
            all.push(ways);
        }
        Ok(all)
    }
}

/// Pairs of points over some iterators of which one is `step` before the other in one iterator, or with a bound, at
/// the other end.
fn wrapped(
    sets: &Sets,
    (from, name): (&[String], &String),
    (to, other): (&[String], &String),
    step: i64,
    bound: Option<Affine>,
) -> Result<Map, InferError> {
    let back = sets.access(to, &[Affine::name(other)])?.reverse()?;
    let start = Affine::name(name).add_scaled(&Affine::constant(step), -1);
    let mut places: Vec<Affine> = start.into_iter().collect();
    if let Some(bound) = bound {
        for sign in [1, -1] {
            places.extend(places[0].add_scaled(&bound, sign));
        }
    }
    let mut all: Option<Map> = None;
    for place in places {
        let one = sets.access(from, &[place])?.apply_range(&back)?;
        all = Some(match all {
            None => one,
            Some(all) => all.union(&one)?,
        });
    }
    match all {
        Some(all) => Ok(all),
        None => Ok(Map::from_domain_and_range(&sets.empty(from)?, &sets.empty(to)?)?),
    }
}
