//! Conditions and located levels: what holds where iterators have values.

use std::collections::BTreeSet;

use dastac_loops::{Condition, Index};

use super::builder::{Builder, Range};
use super::state::{At, State};

impl Builder<'_> {
    /// The range of an iterator's loop: its extent, and the conditions that it is the last iterator of. Of products
    /// that differ in these it is the smallest range around, and they keep them as tests.
    pub(super) fn range(&self, iterator: usize, states: &mut [State]) -> Range {
        let mut ranges: Vec<(Range, BTreeSet<usize>)> = Vec::new();
        for state in &*states {
            ranges.push(self.own_range(iterator, state));
        }
        let Some((first, _)) = ranges.first() else {
            return Range { lower: Vec::new(), upper: Vec::new() };
        };
        let same = |(range, _): &(Range, BTreeSet<usize>)| {
            range.lower == first.lower && range.upper == first.upper
        };
        if ranges.iter().all(same) {
            for (state, (_, used)) in states.iter_mut().zip(&ranges) {
                state.tested.extend(used);
            }
            return ranges.swap_remove(0).0;
        }
        let one = |indices: Option<Index>| indices.into_iter().collect();
        Range {
            lower: one(ranges.iter().map(|(range, _)| range.first()).reduce(Index::min)),
            upper: one(ranges.iter().map(|(range, _)| range.end()).reduce(Index::max)),
        }
    }

    /// The range of an iterator in one product, and the conditions that say it.
    pub(super) fn own_range(&self, iterator: usize, state: &State) -> (Range, BTreeSet<usize>) {
        let mut lower = vec![Index::Const(0)];
        let mut upper = vec![self.kernel.iterators[iterator].1.clone()];
        let mut used = BTreeSet::new();
        for (at, condition) in self.conditions[state.product].iter().enumerate() {
            let coefficient = condition.coefficient(iterator);
            let Some(rest) = self.value_but(condition, iterator) else { continue };
            if state.tested.contains(&at) || coefficient == 0 {
                continue;
            }
            match coefficient {
                // c * i + rest >= 0
                1.. => lower.push((Index::Const(coefficient - 1) - rest).floor_div(coefficient)),
                _ => upper.push(rest.floor_div(-coefficient) + 1),
            }
            used.insert(at);
        }
        (Range { lower, upper }, used)
    }

    /// Conditions of a product, of those that `which` wants, that can be decided now, and were not.
    pub(super) fn tests(
        &self,
        state: &mut State,
        which: &dyn Fn(usize, usize) -> bool,
    ) -> Vec<Condition> {
        let mut tests = Vec::new();
        for (at, condition) in self.conditions[state.product].iter().enumerate() {
            if !which(state.product, at) {
                continue;
            }
            let Some(value) = self.value(condition) else { continue };
            let test = Index::Const(0).at_most(value);
            if state.tested.insert(at) && !self.facts.imply(&test) {
                tests.push(test);
            }
        }
        tests
    }

    /// Goes down levels that can be located, whose iterators have values.
    pub(super) fn locate(&self, state: &mut State) {
        let State { product, places, untested, within, .. } = state;
        let factors = &self.kernel.products[*product].factors;
        for (factor, place) in factors.iter().zip(places) {
            let operand = &self.kernel.operands[factor.operand];
            while let (Some(level), At::Position(at)) = (operand.levels.get(place.level), &place.at)
            {
                if !level.kind.can_locate() {
                    break;
                }
                let Some(value) = self.value(&factor.subscripts[place.level]) else { break };
                let extent = &operand.extents[place.level];
                let Some(found) = level.locate(at, &value, extent) else { break };
                if found.condition.is_some() {
                    within.push(Index::Const(0).at_most(value.clone()));
                    within.push(value.less(extent.clone()));
                }
                untested.extend(found.condition);
                place.found(At::Position(found.position));
            }
        }
    }
}
