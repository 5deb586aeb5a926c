//! Long sums for few elements: parts of the terms with results of their own, so that threads read different terms, not
//! the same ones.
//!
//! Before -> after, `parallel i, j { A[i, j] = sum(x = 0 to M) v }` with far more terms than rows `i`: `partial b, e =
//! 0 to M in 16 if M >= 16 * N with A as W at s { parallel i, j { W[i, j, s] = sum(x = b to e) v } } then { i, j { A[i,
//! j] = sum(p) W[i, j, p] } }`.
//!
//! A sum without loops around it, a dot product, is of this kind too.

use super::block_sums::{block_size, cut};
use super::nest::Nest;
use super::walk::{Walk, each_nest};
use crate::ir::*;
use crate::passes::Context;

/// Parts: more than most machines have cores, few enough to be added up in no time.
const PARTS: i64 = 16;

/// Terms of a part are a multiple of so many where sums are not in blocks.
const STEP: i64 = 1024;

/// A part has at least so many steps.
const STEPS: i64 = 2;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_nest(module, context, |walk, nest| Some(vec![Stmt::Partial(walk.partial(nest)?)]));
}

impl Walk<'_> {
    /// A nest in parts; `None` where the sum cannot be cut, or its terms or the elements depend on
    /// loops around.
    fn partial(&mut self, nest: &Nest) -> Option<Partial> {
        let store = &nest.store;
        let hints = &self.function.hints;
        if store.mode != StoreMode::Set || self.inside {
            return None;
        }
        // Functions of many statements share code between them, and keep their sums as they are.
        if hints.compact || nest.is_scheduled(hints) {
            return None;
        }
        let (factors, sum) = cut(&store.value)?;
        let symbolic = |index: &Index| index.free_vars().is_empty();
        let ranges = nest.levels.iter().flat_map(|level| level.lower.iter().chain(&level.upper));
        let around = |index: &Index| {
            index.free_vars().iter().all(|var| nest.levels.iter().any(|level| level.var == *var))
        };
        let used = store.value.free_vars().into_iter().chain(store.index.free_vars());
        let closed = used.into_iter().all(|var| nest.levels.iter().any(|level| level.var == var));
        if !closed
            || !sum.lower.iter().chain(&sum.upper).all(symbolic)
            || !ranges.into_iter().all(around)
        {
            return None;
        }
        // In loops that are empty, what bounds loads may not be there.
        if !nest.levels.is_empty() && sum.lower.iter().chain(&sum.upper).any(Index::has_loads) {
            return None;
        }
        let buffer = self.buffers.get(store.buffer.0 as usize)?.clone();
        let bytes = self.element_bytes(store);
        let (base, extent) = match nest.levels.is_empty() {
            true => (store.index.clone(), Index::Const(1)),
            false => (Index::Const(0), buffer.size.clone()),
        };
        let first = sum.lower.iter().cloned().reduce(Index::max)?;
        let last = sum.upper.iter().cloned().reduce(Index::min)?;
        let terms = last - first;
        let step = match &nest.factors(&self.function.hints)[..] {
            factors @ [_, _] if nest.begins(&self.function.hints) => {
                block_size(self, store, factors)
            }
            _ => STEP,
        };
        let rows = match nest.levels.first() {
            Some(level) => {
                let low = level.lower.iter().cloned().reduce(Index::max)?;
                level.upper.iter().cloned().reduce(Index::min)? - low
            }
            None => Index::Const(1),
        };
        // Parts of few terms would each read the same few; results that do not stay in a cache would be read and
        // written again and again.
        let condition = Condition::all(vec![
            Index::Const(PARTS * STEPS * step).at_most(terms.clone()),
            (rows * PARTS).at_most(terms),
            largest(&extent)?.at_most(Index::Const(self.machine.l2 / 2 / bytes)),
        ]);
        if condition.as_bool() == Some(false) {
            return None;
        }
        // The buffer itself may stand for it.
        let size = (extent.clone() * PARTS).max(buffer.size);
        let workspace = self.workspace(format!("{}.parts", buffer.name), buffer.element, size)?;
        let (begin, end) = (self.fresh(sum.var, "b"), self.fresh(sum.var, "e"));
        let shift = self.fresh(sum.var, "s");
        let part = self.fresh(sum.var, "p");
        // The parts' results, one after the other.
        let position = store.index.clone() - base.clone() + Index::Var(part) * extent.clone();
        let total = Value::sum(
            part,
            Index::Const(0),
            Index::Const(PARTS),
            Value::load(workspace, position),
        );
        let all = Stmt::set(store.buffer, store.index.clone(), total);
        let finish = nest.levels.iter().rev().fold(vec![all], |body, level| {
            let (lower, upper) = (level.lower.clone(), level.upper.clone());
            let mark = Mark::Sequential;
            vec![Stmt::For(For { var: level.var, lower, upper, step: 1, mark, body })]
        });
        let of_part = Value::Sum(Box::new(Sum {
            lower: vec![Index::Var(begin)],
            upper: vec![Index::Var(end)],
            ..sum.clone()
        }));
        let part = Store {
            buffer: workspace,
            index: store.index.clone() + Index::Var(shift),
            value: Value::product(factors.into_iter().chain([of_part])),
            mode: StoreMode::Set,
            stream: None,
        };
        Some(Partial {
            begin,
            end,
            lower: sum.lower,
            upper: sum.upper,
            step,
            parts: PARTS,
            condition,
            buffer: store.buffer,
            workspace,
            shift,
            base,
            extent,
            body: Nest { store: part, ..nest.clone() }.statements(),
            finish,
        })
    }
}

/// An expression without selections that is at least as large, if there is one.
pub(super) fn largest(index: &Index) -> Option<Index> {
    match index {
        Index::Select(_, one, other) => Some(largest(one)?.max(largest(other)?)),
        index => {
            let mut selects = false;
            index.visit(&mut |index| selects |= matches!(index, Index::Select(..)));
            (!selects).then(|| index.clone())
        }
    }
}
