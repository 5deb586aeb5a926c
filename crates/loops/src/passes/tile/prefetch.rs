//! Prefetches elements that later tiles will need.
//!
//! The columns of a tile stay in the second cache from one row of tiles to the next. What comes from memory is the
//! rows: those of the next row of tiles, and these rows' next block. Each tile of a row fetches a few of them, one
//! element for each step of its sum, so that no step waits.
//!
//! Before -> after, of tiles of 6 x 4: `sum(x = b to b + 512) B[M * i + x] * ..` ->
//! `sum(.. fetch B[M * (it + jt / 4 % 6) + x + 512], B[M * (it + 6 + jt / 4 % 6) + x]) ..`.

use super::pieces::Side;
use super::walk::{Walk, each_function};
use crate::ir::*;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_function(module, context, |walk, body| fetch(walk, body));
}

fn fetch(walk: &Walk<'_>, body: &mut [Stmt]) {
    for stmt in body {
        if let Stmt::For(rows) = stmt
            && let Some(tile) = Tile::of(walk, rows)
        {
            tile.fetch(walk, rows);
            continue;
        }
        stmt.bodies_mut().into_iter().for_each(|body| fetch(walk, body));
    }
}

/// A full tile of several rows.
struct Tile {
    rows: Side,
    columns: Side,
}

impl Tile {
    /// The full tile that two unrolled loops are.
    fn of(walk: &Walk<'_>, rows: &For) -> Option<Tile> {
        let ([start @ Index::Var(_)], [end]) = (&rows.lower[..], &rows.upper[..]) else {
            return None;
        };
        let [Stmt::For(columns)] = &rows.body[..] else { return None };
        let unrolled = rows.mark == Mark::Unrolled && walk.hint(rows.var).tile.is_some();
        let count = end.constant_difference(start).filter(|_| unrolled)?;
        let rows = Side { var: rows.var, start: start.clone(), count };
        let (start, count) = walk.full_tile(columns)?;
        Some(Tile { rows, columns: Side { var: columns.var, start, count } })
    }

    /// Has the sums that are cut into blocks fetch what is to come.
    fn fetch(&self, walk: &Walk<'_>, rows: &mut For) {
        let [Stmt::For(columns)] = &mut rows.body[..] else { return };
        for stmt in &mut columns.body {
            if let Stmt::Store(store) = stmt {
                store.value = store.value.map_sums(&|sum| {
                    let fetch = match &sum.lower[..] {
                        [Index::Var(block)] => walk.hint(*block).blocks,
                        _ => None,
                    };
                    let fetch = fetch.map(|size| self.fetched(walk, &sum, size));
                    let fetch = fetch.unwrap_or_else(|| sum.fetch.clone());
                    Value::Sum(Box::new(Sum { fetch, ..sum }))
                });
            }
        }
    }

    /// What a sum over a block of so many terms fetches.
    fn fetched(&self, walk: &Walk<'_>, sum: &Sum, size: i64) -> Vec<(BufferId, Index)> {
        let Tile { rows, columns } = self;
        // A step of the sum is one vector: it fetches a part of a line, or two. Beside elements in lanes it is one
        // term, and few of them fetch another line: enough for the rows to come.
        let terms = [rows.var, columns.var].iter().all(|var| walk.hint(*var).lanes.is_none());
        let each = if terms && walk.machine.vector_bytes >= 64 { 2 } else { 1 };
        let tile = columns.start.clone().floor_div(columns.count);
        let later = |index: &Index| index.substitute(sum.var, &(Index::Var(sum.var) + size));
        let mut fetch = Vec::new();
        for (buffer, index) in loads(sum, rows.var, columns.var) {
            for nth in 0..each {
                let which = (tile.clone() * each + nth).modulo(rows.count);
                let this = rows.start.clone() + which;
                if terms {
                    fetch.push((buffer, later(index).substitute(rows.var, &this)));
                }
                if nth == 0 {
                    fetch.push((buffer, index.substitute(rows.var, &(this + rows.count))));
                }
            }
        }
        // A part for one of several threads has more columns than rows.
        if walk.machine.has_threads() && terms {
            for (buffer, index) in loads(sum, columns.var, rows.var) {
                let which = rows.start.clone().floor_div(rows.count).modulo(columns.count);
                let this = columns.start.clone() + which;
                fetch.push((buffer, later(index).substitute(columns.var, &this)));
            }
        }
        fetch
    }
}

/// The loads of neighbours for neighbouring terms, each once, that vary with one variable and not with another. Loads
/// that vary with the variable of a sum inside are left out, since that has no value where elements are fetched.
fn loads(sum: &Sum, with: VarId, without: VarId) -> Vec<(BufferId, &Index)> {
    let inside = sum.body.summed_vars();
    let mut loads: Vec<(BufferId, &Index)> = Vec::new();
    sum.body.visit(&mut |value| {
        if let Value::Load(buffer, index) = value {
            let fits = index.constant_stride(sum.var) == Some(1) && index.mentions(with);
            let fits = fits && !inside.iter().any(|var| index.mentions(*var));
            if fits && !index.mentions(without) && !loads.contains(&(*buffer, index)) {
                loads.push((*buffer, index));
            }
        }
    });
    loads
}
