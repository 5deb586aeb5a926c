//! Sums cut into blocks, and columns into panels, so that what the tiles of a block share stays in a cache.
//!
//! Before -> after, with blocks of 256: `A[..] = sum(x = 0 to M) v` ->
//! `for b = 0 to M step 256 { if b <= 0 { A[..] = 0.0 } A[..] += sum(x = b to min(b + 256, M)) v }`. The loop over blocks stands outside of all loops that its range does not depend on and across which the
//! tiles load the same elements.

use super::choose::Choice;
use super::{Level, Nest, Tiler};
use crate::ir::*;

pub(super) fn blocks(tiler: &mut Tiler<'_>, choice: &Choice) -> Vec<Stmt> {
    let nest = &choice.nest;
    let inner = nest.levels.len() - choice.factors.len();
    let Some((factors, sum)) = cut(&nest.store.value)
        .filter(|_| choice.factors.len() == 2)
        .filter(|(_, sum)| tiler.blocked(nest.store.buffer, sum.var).is_none())
    else {
        return nested(tiler, &nest.levels, inner, choice, &nest.store);
    };
    let tiled: Vec<VarId> = nest.levels[inner..].iter().map(|level| level.var).collect();
    let depends = |var: VarId| sum.lower.iter().chain(&sum.upper).any(|b| b.mentions(var));
    if tiled.iter().any(|var| depends(*var)) {
        return nested(tiler, &nest.levels, inner, choice, &nest.store);
    }
    // Outside of the loops across which the tiles load the same.
    let mut place = inner;
    while place > 0 {
        let var = nest.levels[place - 1].var;
        if depends(var) || !same(&sum.body, var, &tiled) {
            break;
        }
        place -= 1;
    }
    let size = block_size(tiler, choice);
    let first = sum.lower.iter().cloned().reduce(Index::max).unwrap_or(Index::Const(0));
    let last = sum.upper.iter().cloned().reduce(Index::min).unwrap_or(Index::Const(0));
    let block = tiler.fresh(sum.var, "b");
    let start = Index::Var(block);
    let mut upper = sum.upper.clone();
    upper.push(start.clone() + size);
    let part = Value::Sum(Box::new(Sum { lower: vec![start.clone()], upper, ..sum.clone() }));
    let value = Value::product(factors.into_iter().chain([part]));
    // What a block sets, the next one reads.
    let store = Store { value, mode: StoreMode::Add, stream: None, ..nest.store.clone() };
    let sets = nest.store.mode == StoreMode::Set;
    let outer = tiler.first.clone();
    // A sum without terms is a block without terms: its elements are set all the same.
    let upper = if sets { vec![last.max(first.clone() + 1)] } else { sum.upper.clone() };
    if sets {
        tiler.first = Some(start.at_most(first));
    }
    tiler.blocks = Some((sum.var, size));
    let body = panels(tiler, &nest.levels[place..], inner - place, choice, (&store, size));
    tiler.blocks = None;
    tiler.first = outer;
    let (lower, mark) = (sum.lower.clone(), Mark::Sequential);
    let blocks = Stmt::For(For { var: block, lower, upper, step: size, mark, body });
    Nest::wrapped(&nest.levels[..place], vec![blocks])
}

/// The columns cut into panels, so that the block of a panel stays in the second cache for all rows.
///
/// Before -> after, with panels of 256: `i { k = 0 to P { .. } }` -> `kb = 0 to P step 256 { i { k = kb to min(P, kb + 256) { .. } } }`.
fn panels(
    tiler: &mut Tiler<'_>,
    levels: &[Level],
    inner: usize,
    choice: &Choice,
    (store, size): (&Store, i64),
) -> Vec<Stmt> {
    let (Some((columns, around)), Some(factor)) = (levels.split_last(), choice.factors.last())
    else {
        return Vec::new();
    };
    // A triangle's panels would each have a rim.
    let Level { lower, upper, .. } = columns.clone();
    let blocked = tiler.blocked(store.buffer, columns.var).is_some();
    if blocked
        || around.iter().any(|outer| lower.iter().chain(&upper).any(|b| b.mentions(outer.var)))
    {
        return nested(tiler, levels, inner, choice, store);
    }
    let bytes = element_bytes(tiler, store);
    let width = (tiler.tiling.l2 / 2 / bytes / size / factor).max(1) * factor;
    let panel = tiler.fresh(columns.var, "p");
    let start = Index::Var(panel);
    let mut level = columns.clone();
    level.lower = vec![start.clone()];
    level.upper.push(start + width);
    let mut levels = levels.to_vec();
    levels.pop();
    levels.push(level);
    let len = tiler.facts.len();
    tiler.facts.assume_range(panel, &lower, &upper);
    let body = tiler.panel(&levels, choice, (store, size), width, |tiler| {
        nested(tiler, &levels, inner, choice, store)
    });
    tiler.facts.truncate(len);
    vec![Stmt::For(For { var: panel, lower, upper, step: width, mark: Mark::Sequential, body })]
}

/// Loops as they are around tiles.
fn nested(
    tiler: &mut Tiler<'_>,
    levels: &[Level],
    inner: usize,
    choice: &Choice,
    store: &Store,
) -> Vec<Stmt> {
    let len = tiler.facts.len();
    for level in &levels[..inner] {
        tiler.facts.assume_range(level.var, &level.lower, &level.upper);
    }
    let body = tiler.tiles(&levels[inner..], &choice.factors, store);
    tiler.facts.truncate(len);
    Nest::wrapped(&levels[..inner], body)
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

/// Terms of a block: a piece of a row for each of the tile's rows and columns fits the nearest cache, and is no shorter than pays for
/// adding up its lanes.
pub(super) fn block_size(tiler: &Tiler<'_>, choice: &Choice) -> i64 {
    let bytes = element_bytes(tiler, &choice.nest.store);
    let rows: i64 = choice.factors.iter().sum();
    let most = (tiler.tiling.l1 / bytes / rows.max(1)).max(1);
    // A power of two.
    let size = 1 << (63 - most.leading_zeros());
    size.clamp(128, 2048)
}

pub(super) fn element_bytes(tiler: &Tiler<'_>, store: &Store) -> i64 {
    let buffer = tiler.buffers.get(store.buffer.0 as usize);
    buffer.map_or(8, |buffer| buffer.element.bytes() as i64)
}
