//! Makes full tiles read the copy of a panel that `pack-panels` made.
//!
//! Before -> after, inside of `with W of .. or C if c <= 0`, in tiles of 32 columns from `kt`, blocks of 128 terms from
//! `b` and panels from `kp`: `A[i, k] += sum(l = b to b + 128) B[i, l] * C[P * l + k]` -> `A[i, k] += sum(l = b to b +
//! 128) B[i, l] * W[base + term * (l - b) + panel * (kt - kp) + (k - kt)]`, where `base`, `term` and `panel` follow
//! from `c`. Columns that fill no tile read the operand.

use super::pack_panels::{Block, PanelLoad};
use super::walk::{Walk, each_function};
use crate::ir::*;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_function(module, context, |walk, body| read(walk, body, &mut Around::default()));
}

/// What is around a place.
#[derive(Clone, Default)]
struct Around {
    /// The loop over panels, if there is one.
    panel: Option<VarId>,
    /// The copy of a panel.
    packed: Option<Packed>,
    /// Loops between the panel and the place.
    rows: Vec<VarId>,
}

/// A panel's copy, or where it was.
#[derive(Clone)]
struct Packed {
    workspace: BufferId,
    operand: BufferId,
    /// 1 where there is a copy, else 0.
    copied: VarId,
    /// Where the panel begins.
    panel: VarId,
}

fn read(walk: &Walk<'_>, body: &mut [Stmt], around: &mut Around) {
    for stmt in body {
        let outer = around.clone();
        match stmt {
            Stmt::For(tile) if tile.mark == Mark::Unrolled && around.packed.is_some() => {
                let var = tile.var;
                let columns = walk.full_tile(tile).filter(|_| walk.hint(var).lanes.is_some());
                if let (Some((start, columns)), Some(packed)) = (columns, &around.packed) {
                    let tile = Tile { column: var, start, columns };
                    stmt.bodies_mut().into_iter().flatten().for_each(|stmt| {
                        packed.store(walk, stmt, &tile, &around.rows);
                    });
                    continue;
                }
                around.rows.push(var);
            }
            Stmt::For(inner) => {
                around.rows.push(inner.var);
                if walk.hint(inner.var).blocks.is_some() {
                    *around = Around { panel: Some(inner.var), ..Around::default() };
                }
            }
            Stmt::Workspace(inner) => {
                if let (Some((operand, when)), Some(panel)) = (&inner.instead, around.panel) {
                    let copied = when.free_vars().into_iter().next();
                    let (workspace, operand) = (inner.buffer, *operand);
                    around.packed =
                        copied.map(|copied| Packed { workspace, operand, copied, panel });
                    around.rows.clear();
                }
            }
            _ => {}
        }
        stmt.bodies_mut().into_iter().for_each(|body| read(walk, body, around));
        *around = outer;
    }
}

/// The columns of a full tile.
struct Tile {
    column: VarId,
    start: Index,
    columns: i64,
}

impl Packed {
    /// Has a store of a full tile read the copy.
    fn store(&self, walk: &Walk<'_>, stmt: &mut Stmt, tile: &Tile, rows: &[VarId]) {
        let Stmt::Store(store) = stmt else { return };
        store.value = store.value.map_sums(&|sum| {
            let is_row = |var: VarId| rows.contains(&var);
            let load = PanelLoad::of(&sum, tile.column, &is_row);
            let (Some(load), [Index::Var(block)]) = (load, &sum.lower[..]) else {
                return Value::Sum(Box::new(sum));
            };
            let Some(size) = walk.hint(*block).blocks.filter(|_| load.buffer == self.operand)
            else {
                return Value::Sum(Box::new(sum));
            };
            let terms = Block { var: sum.var, start: *block, size };
            let place = self.element(&load, terms, tile);
            let body = sum.body.map_elements(&|buffer, index| {
                if (buffer, index) == (load.buffer, &load.index) {
                    return (self.workspace, place.clone());
                }
                (buffer, index.clone())
            });
            Value::Sum(Box::new(Sum { body, ..sum }))
        });
    }

    /// The element in the workspace's or the operand's memory, of a term.
    fn element(&self, load: &PanelLoad, terms: Block, tile: &Tile) -> Index {
        let (block, panel) = (Index::Var(terms.start), Index::Var(self.panel));
        let copied = || Index::Var(self.copied);
        let first = load.index.substitute(terms.var, &block).substitute(tile.column, &panel);
        let base = first * (Index::Const(1) - copied());
        let stride =
            load.stride.clone() + copied() * (Index::Const(tile.columns) - load.stride.clone());
        let panels = copied() * (terms.size - 1) + 1;
        let within = (Index::Var(terms.var) - block) * stride;
        let tiles = (tile.start.clone() - panel) * panels;
        base + within + tiles + (Index::Var(tile.column) - tile.start.clone())
    }
}
