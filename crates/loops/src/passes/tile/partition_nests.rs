//! Partitions loop nests into ranges of equal work, one for each thread.
//!
//! Before -> after: `parallel i = 0 to N { parallel j = i to N { s } }` ->
//! `partition ib, ie = 0 to N by (work of all i before ie) { parallel i = ib to ie { parallel j = i to N { s } } }`.
//!
//! Only nests that are tiled are partitioned, and those whose rows are stored elements: as many rows are not as much
//! work there. For others, parts of equally many iterations do.

use super::nest::Nest;
use super::walk::{Walk, each_nest};
use super::work;
use crate::ir::*;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    if context.machine.has_threads() {
        each_nest(module, context, |walk, nest| Some(vec![walk.partition(nest)?]));
    }
}

impl Walk<'_> {
    /// The nest in parts, if it is one that threads share.
    fn partition(&mut self, nest: &Nest) -> Option<Stmt> {
        let hints = &self.function.hints;
        let wanted = nest.levels.iter().position(|level| hints.get(level.var).threads);
        let worth = nest.begins(hints) || nest.store.value.has_stored_ranges();
        if self.inside || !worth || wanted.is_some_and(|place| place > 0) || nest.first.is_some() {
            return None;
        }
        let outer = nest.levels.first()?.clone();
        // Tiles of rows begin where parts do.
        let factors = nest.factors(hints);
        let step = if nest.levels.len() == factors.len() { factors[0] } else { 1 };
        let (begin, end) = (self.fresh(outer.var, "b"), self.fresh(outer.var, "e"));
        let work = Some(work::before(&nest.levels, &nest.store.value, end, self.machine));
        let mut part = nest.clone();
        part.levels[0].lower = vec![Index::Var(begin)];
        part.levels[0].upper = vec![Index::Var(end)];
        let (lower, upper, body) = (outer.lower, outer.upper, part.statements());
        Some(Stmt::Partitioned(PartitionedRange { begin, end, lower, upper, step, work, body }))
    }
}
