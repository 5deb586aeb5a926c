//! What a schedule wants of a nest's loops where they are cut into tiles.

use super::nest::Nest;
use crate::hints::Hints;
use crate::ir::*;

/// Factors that a loop may be unrolled by.
const FACTORS: [i64; 6] = [2, 3, 4, 6, 8, 12];

/// What is wanted of a nest's loops.
pub(super) struct Wishes {
    /// Factors that are given.
    factors: Vec<(VarId, i64)>,
    /// Loops in blocks of so many iterations.
    blocked: Vec<(VarId, i64)>,
    /// Loops with factors of more than 1, the outer of them first.
    pub(super) unrolled: Vec<VarId>,
    /// Other loops stay in their order.
    ordered: bool,
}

impl Wishes {
    pub(super) fn of(hints: &Hints, nest: &Nest) -> Wishes {
        let loops = || nest.levels.iter().map(|level| (level.var, hints.get(level.var)));
        let factors: Vec<(VarId, i64)> =
            loops().filter_map(|(var, hint)| Some((var, hint.unroll?))).collect();
        let blocked = loops().filter_map(|(var, hint)| Some((var, hint.block?))).collect();
        let ordered = loops().any(|(_, hint)| hint.ordered);
        let unrolled = factors.iter().filter(|(_, factor)| *factor > 1);
        let unrolled = unrolled.map(|(var, _)| *var).collect();
        Wishes { factors, blocked, unrolled, ordered }
    }

    pub(super) fn factor(&self, var: VarId) -> Option<i64> {
        self.factors.iter().find(|(other, _)| *other == var).map(|(_, factor)| *factor)
    }

    /// A factor in vectors, if it was not given.
    pub(super) fn times(&self, var: VarId, factor: i64, count: i64) -> i64 {
        if self.factor(var).is_some() { factor } else { factor * count }
    }

    /// How many iterations a loop has at most.
    pub(super) fn most(&self, var: VarId) -> i64 {
        let blocked = self.blocked.iter().find(|(other, _)| *other == var);
        blocked.map_or(i64::MAX, |(_, size)| *size)
    }

    /// The factors that a loop may have.
    pub(super) fn factors(&self, var: VarId) -> Vec<i64> {
        let most = self.most(var);
        let known = FACTORS.into_iter().filter(|factor| *factor <= most);
        self.factor(var).map_or_else(|| known.collect(), |factor| vec![factor])
    }

    /// Whether these loops may be unrolled, and include all that have to be unrolled, in the order that is wanted.
    pub(super) fn allow(&self, vars: &[VarId]) -> bool {
        let free = vars.iter().all(|var| self.factor(*var) != Some(1));
        let given = vars.iter().copied().filter(|var| self.unrolled.contains(var));
        free && given.eq(self.unrolled.iter().copied())
    }

    /// Whether the loops that the schedule does not unroll keep their order.
    pub(super) fn keep(&self, nest: &Nest, ordered: &Nest) -> bool {
        let others = |nest: &Nest| -> Vec<VarId> {
            let vars = nest.levels.iter().map(|level| level.var);
            vars.filter(|var| !self.unrolled.contains(var)).collect()
        };
        !self.ordered || others(nest) == others(ordered)
    }
}
