//! Cache blocking: cuts sums into blocks and columns into panels, so that elements that several tiles of a block use
//! stay in a cache.
//!
//! Before -> after, with blocks of 256: `A[..] = sum(x = 0 to M) v` -> `for b = 0 to M step 256 { if b <= 0 { A[..] =
//! 0.0 } A[..] += sum(x = b to min(b + 256, M)) v }`. The loop over blocks stands outside of all loops that its range
//! does not depend on and across which the tiles load the same elements.

use super::nest::Nest;
use super::walk::{Walk, each_nest};
use crate::ir::*;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_nest(module, context, |walk, nest| walk.blocks(nest));
}

impl Walk<'_> {
    /// A nest of tiles with its sum in blocks.
    fn blocks(&mut self, nest: &Nest) -> Option<Vec<Stmt>> {
        let hints = &self.function.hints;
        let factors = nest.factors(hints);
        if !nest.begins(hints) || factors.len() != 2 || nest.first.is_some() {
            return None;
        }
        let (outside, sum) = cut(&nest.store.value)?;
        let inner = nest.levels.len() - factors.len();
        let tiled: Vec<VarId> = nest.levels[inner..].iter().map(|level| level.var).collect();
        let depends = |var: VarId| sum.lower.iter().chain(&sum.upper).any(|b| b.mentions(var));
        if hints.get(sum.var).block.is_some() || tiled.iter().any(|var| depends(*var)) {
            return None;
        }
        // Outside of the loops across which the tiles load the same.
        let around = nest.levels[..inner].iter().rev();
        let across =
            around.take_while(|level| !depends(level.var) && same(&sum.body, level.var, &tiled));
        let place = inner - across.count();
        let size = block_size(self, &nest.store, &factors);
        let first = sum.lower.iter().cloned().reduce(Index::max).unwrap_or(Index::Const(0));
        let last = sum.upper.iter().cloned().reduce(Index::min).unwrap_or(Index::Const(0));
        let block = self.fresh(sum.var, "b");
        let start = Index::Var(block);
        let mut upper = sum.upper.clone();
        upper.push(start.clone() + size);
        let part = Value::Sum(Box::new(Sum { lower: vec![start.clone()], upper, ..sum.clone() }));
        let value = Value::product(outside.into_iter().chain([part]));
        // What a block sets, the next one reads.
        let store = Store { value, mode: StoreMode::Add, stream: None, ..nest.store.clone() };
        let sets = nest.store.mode == StoreMode::Set;
        // A sum without terms is a block without terms: its elements are set all the same.
        let upper = if sets { vec![last.max(first.clone() + 1)] } else { sum.upper.clone() };
        let first = sets.then(|| start.at_most(first));
        let body = self.panels(Nest { levels: nest.levels[place..].to_vec(), first, store }, size);
        self.function.hints.update(block, |hint| hint.blocks = Some(size));
        let (lower, mark) = (sum.lower, Mark::Sequential);
        let blocks = Stmt::For(For { var: block, lower, upper, step: size, mark, body });
        Some(Nest::wrapped(&nest.levels[..place], vec![blocks]))
    }

    /// The columns cut into panels, so that the block of a panel stays in the second cache for all rows.
    ///
    /// Before -> after, with panels of 256: `i { k = 0 to P { .. } }` -> `kb = 0 to P step 256 { i { k = kb to min(P,
    /// kb + 256) { .. } } }`.
    fn panels(&mut self, mut nest: Nest, size: i64) -> Vec<Stmt> {
        let Some((columns, around)) = nest.levels.split_last() else { return Vec::new() };
        let (var, lower, upper) = (columns.var, columns.lower.clone(), columns.upper.clone());
        let varies = |outer: VarId| lower.iter().chain(&upper).any(|bound| bound.mentions(outer));
        let hint = self.hint(var);
        let Some(factor) = hint.tile else { return nest.statements() };
        // A triangle's panels would each have a rim.
        if hint.block.is_some() || around.iter().any(|outer| varies(outer.var)) {
            return nest.statements();
        }
        let bytes = self.element_bytes(&nest.store);
        let width = (self.machine.l2 / 2 / bytes / size / factor).max(1) * factor;
        let panel = self.fresh(var, "p");
        self.function.hints.update(panel, |hint| hint.blocks = Some(width));
        if let Some(columns) = nest.levels.last_mut() {
            columns.lower = vec![Index::Var(panel)];
            columns.upper.push(Index::Var(panel) + width);
        }
        let (mark, body) = (Mark::Sequential, nest.statements());
        vec![Stmt::For(For { var: panel, lower, upper, step: width, mark, body })]
    }
}

/// A value as factors and one sum, if adding up parts of the sum adds up the value.
pub(super) fn cut(value: &Value) -> Option<(Vec<Value>, Sum)> {
    match value {
        Value::Sum(sum) => {
            let plain = sum.kind == Reduction::Sum && sum.condition.is_none();
            (plain && sum.step == 1).then(|| (Vec::new(), (**sum).clone()))
        }
        Value::Mul(left, right) => {
            let with = |factor: &Value, sum: &Value| {
                let (mut factors, sum) = cut(sum)?;
                factors.insert(0, factor.clone());
                Some((factors, sum))
            };
            with(left, right).or_else(|| with(right, left))
        }
        _ => None,
    }
}

/// Whether the loads that vary with a tile do not vary with `var`.
fn same(body: &Value, var: VarId, tiled: &[VarId]) -> bool {
    let mut same = true;
    body.visit(&mut |value| {
        if let Value::Load(_, index) = value {
            let varies = tiled.iter().any(|tiled| index.mentions(*tiled));
            same &= !varies || !index.mentions(var);
        }
    });
    same
}

/// Terms of a block: a piece of a row for each of the tile's rows and columns fits the nearest cache, and is no shorter
/// than pays for adding up its lanes.
pub(super) fn block_size(walk: &Walk<'_>, store: &Store, factors: &[i64]) -> i64 {
    let bytes = walk.element_bytes(store);
    let rows: i64 = factors.iter().sum();
    let most = (walk.machine.l1 / bytes / rows.max(1)).max(1);
    // A power of two.
    let size = 1 << (63 - most.leading_zeros());
    size.clamp(128, 2048)
}
