//! Loop nests over integer points: every combination of iterator values at which all relations hold, found by plain
//! nested loops.
//!
//! A relation that gives a bound on the loop's own iterator narrows the loop; every other one is tested as soon as all
//! its names have values. Both only skip points at which a relation is false.

use crate::ast::CompareOp;

use super::EvalError;
use super::code::{Code, Relation};
use super::interval::{Interval, narrow};

/// One loop.
#[derive(Debug)]
struct Level {
    slot: usize,
    range: (i64, i64),
    /// A relation `slot operator code`, where the names in the code are bound outside.
    bounds: Vec<(CompareOp, Code)>,
    /// Relations whose last name is bound here.
    checks: Vec<Relation>,
}

/// Nested loops over all slots but the first `fixed`.
#[derive(Debug)]
pub(crate) struct Nest {
    slots: usize,
    /// Whether there is no point at all.
    empty: bool,
    /// Relations between fixed slots.
    checks: Vec<Relation>,
    levels: Vec<Level>,
}

impl Nest {
    /// Plans the loops. `ranges` are the known ranges of the slots.
    pub fn new(
        slots: &[String],
        fixed: usize,
        mut ranges: Vec<Interval>,
        relations: Vec<Relation>,
    ) -> Result<Nest, EvalError> {
        narrow(&mut ranges, &relations);
        let empty = ranges.iter().any(|range| range.is_empty());
        let mut bound: Vec<bool> = (0..slots.len()).map(|slot| slot < fixed).collect();
        let mut waiting = relations;
        let mut nest = Nest { slots: slots.len(), empty, checks: Vec::new(), levels: Vec::new() };
        let take = |waiting: &mut Vec<Relation>, bound: &[bool]| {
            let (ready, rest) = waiting
                .drain(..)
                .partition::<Vec<_>, _>(|relation| !relation.mentions(&|s| !bound[s]));
            *waiting = rest;
            ready
        };
        nest.checks = take(&mut waiting, &bound);
        while let Some(slot) = next(&bound, &waiting) {
            let Some(range) = (if empty { Some((0, -1)) } else { ranges[slot].finite() }) else {
                return Err(EvalError::Unbounded { iterator: slots[slot].clone() });
            };
            let mut level = Level { slot, range, bounds: Vec::new(), checks: Vec::new() };
            bound[slot] = true;
            for relation in take(&mut waiting, &bound) {
                match relation.about(slot) {
                    Some((operator, code)) if operator != CompareOp::Ne => {
                        level.bounds.push((operator, code.clone()));
                    }
                    _ => level.checks.push(relation),
                }
            }
            nest.levels.push(level);
        }
        Ok(nest)
    }

    /// How many points the loops may visit: an upper bound.
    pub fn count(&self) -> u128 {
        let trips = self.levels.iter().map(|level| match level.range {
            _ if level.bounds.iter().any(|(operator, _)| *operator == CompareOp::Eq) => 1,
            (low, high) => u128::try_from(i128::from(high) - i128::from(low) + 1).unwrap_or(0),
        });
        if self.empty { 0 } else { trips.fold(1, u128::saturating_mul) }
    }

    /// Calls `visit` with all slots' values, at every point. `fixed` are the values of the first slots.
    pub fn for_each(
        &self,
        fixed: &[i64],
        visit: &mut dyn FnMut(&[i64]) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let mut visit = |values: &[i64]| visit(values).map(|()| false);
        self.any(fixed, &mut visit).map(|_| ())
    }

    /// Whether something is true of some point; those after the first such point are not visited.
    pub fn any(
        &self,
        fixed: &[i64],
        test: &mut dyn FnMut(&[i64]) -> Result<bool, EvalError>,
    ) -> Result<bool, EvalError> {
        if self.empty {
            return Ok(false);
        }
        let mut values = vec![0; self.slots];
        values[..fixed.len()].copy_from_slice(fixed);
        for check in &self.checks {
            if !check.holds(&values)? {
                return Ok(false);
            }
        }
        run(&self.levels, &mut values, test)
    }
}

fn run(
    levels: &[Level],
    values: &mut [i64],
    test: &mut dyn FnMut(&[i64]) -> Result<bool, EvalError>,
) -> Result<bool, EvalError> {
    let Some((level, inner)) = levels.split_first() else { return test(values) };
    let (mut low, mut high) = level.range;
    for (operator, code) in &level.bounds {
        let value = code.eval(values)?;
        match operator {
            CompareOp::Lt => high = high.min(value.saturating_sub(1)),
            CompareOp::Le => high = high.min(value),
            CompareOp::Gt => low = low.max(value.saturating_add(1)),
            CompareOp::Ge => low = low.max(value),
            CompareOp::Eq | CompareOp::Ne => (low, high) = (low.max(value), high.min(value)),
        }
    }
    'points: for value in low..=high {
        values[level.slot] = value;
        for check in &level.checks {
            if !check.holds(values)? {
                continue 'points;
            }
        }
        if run(inner, values, test)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The slot to loop over next: one that an equality already determines. If there is none, the first slot that no
/// equality could determine later (`s` in `s = N * i + j` comes after `i` and `j`), or else the first slot.
fn next(bound: &[bool], waiting: &[Relation]) -> Option<usize> {
    let open: Vec<usize> = (0..bound.len()).filter(|slot| !bound[*slot]).collect();
    let definitions = |slot: usize| {
        waiting
            .iter()
            .filter_map(move |relation| relation.about(slot))
            .filter(|(operator, _)| *operator == CompareOp::Eq)
            .map(|(_, code)| code)
    };
    let determined = |slot: &&usize| definitions(**slot).any(|code| !code.mentions(&|s| !bound[s]));
    let free = |slot: &&usize| definitions(**slot).next().is_none();
    open.iter().find(determined).or_else(|| open.iter().find(free)).or(open.first()).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ast::BinaryOp;

    fn code() -> impl Strategy<Value = Code> {
        let leaf = prop_oneof![(-4i64..5).prop_map(Code::Const), (0usize..3).prop_map(Code::Slot)];
        let ops = vec![BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Mod];
        leaf.prop_recursive(3, 8, 2, move |inner| {
            prop_oneof![
                1 => inner.clone().prop_map(|inner| Code::Neg(Box::new(inner))),
                4 => (prop::sample::select(ops.clone()), inner.clone(), inner)
                    .prop_map(|(op, left, right)| Code::Op(op, Box::new(left), Box::new(right))),
            ]
        })
    }

    fn relation() -> impl Strategy<Value = Relation> {
        let operators = vec![
            CompareOp::Eq,
            CompareOp::Ne,
            CompareOp::Lt,
            CompareOp::Le,
            CompareOp::Gt,
            CompareOp::Ge,
        ];
        (code(), prop::sample::select(operators), code())
            .prop_map(|(left, operator, right)| Relation { left, operator, right })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Narrowing, solving and early tests change nothing but the number of steps.
        #[test]
        fn visits_exactly_the_points_at_which_all_relations_hold(
            relations in prop::collection::vec(relation(), 1..4),
            fixed in 0usize..3,
        ) {
            let slots = ["i", "j", "k"].map(String::from);
            let mut expected = Vec::new();
            for at in 0..512 {
                let point = [at / 64 - 3, at / 8 % 8 - 3, at % 8 - 3];
                let held: Result<Vec<bool>, _> = relations.iter().map(|r| r.holds(&point)).collect();
                let Ok(held) = held else { return Ok(()) }; // division by what is not positive
                if held.iter().all(|held| *held) {
                    expected.push(point.to_vec());
                }
            }
            let mut found = Vec::new();
            for at in 0..8i64.pow(fixed as u32) {
                let point = [at % 8 - 3, at / 8 - 3];
                let mut ranges = vec![Interval::new(-3, 4); 3];
                for (range, value) in ranges.iter_mut().zip(&point[..fixed]) {
                    *range = Interval::new(*value, *value);
                }
                let nest = Nest::new(&slots, fixed, ranges, relations.clone()).unwrap();
                let before = found.len();
                nest.for_each(&point[..fixed], &mut |point| {
                    found.push(point.to_vec());
                    Ok(())
                })
                .unwrap();
                prop_assert!(nest.count() >= (found.len() - before) as u128);
            }
            found.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
