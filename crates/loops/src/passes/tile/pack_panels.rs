//! Copies panels of an operand, so that tiles read neighbouring elements.
//!
//! Where elements are in lanes, a tile reads a few neighbours of an operand for each term, and the terms stand a row of
//! it apart. If that is a page or more, a block of terms is more pages than the processor has addresses of at hand, and
//! its lines share a few places of the cache. So a panel that many rows use is copied first, tile by tile and term by
//! term. Whether it is worth it is known when the kernel runs; the code is the same for both.
//!
//! Before -> after, with blocks of 128 terms from `b` and tiles of 32 columns from `kt`, in a panel from `kp`: `A[i, k]
//! += sum(l = b to b + 128) B[i, l] * C[P * l + k]` -> `for f = 0 or 1 { with W of .. or C if f <= 0 { .. A[i, k] +=
//! sum(l = b to b + 128) B[i, l] * W[base + term * (l - b) + panel * (kt - kp) + (k - kt)] } }` with `base = 0`, `term
//! = 32`, `panel = 128` for a copy, else `base = P * b + kp`, `term = P`, `panel = 1`.

use super::block_sums::cut;
use super::nest::{Level, Nest};
use super::walk::{Walk, each_function};
use super::work;
use crate::hints::Hint;
use crate::ir::*;
use crate::passes::Context;

/// So many rows use a panel that is worth copying.
const ROWS: i64 = if cfg!(test) { 4 } else { 256 };

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_function(module, context, |walk, body| {
        // Functions of many statements share code between them instead.
        if !walk.function.hints.compact {
            walk.pack(body);
        }
    });
}

/// The part of a panel that can be copied.
struct Panel {
    /// What the store loads.
    load: PanelLoad,
    /// The block of terms.
    terms: Block,
    /// The columns.
    columns: Block,
    /// Columns of a tile.
    tile: i64,
    /// 1 where it is worth it, else 0.
    worth: Index,
}

/// Values of a loop or a sum that are in a block.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// The variable.
    pub(super) var: VarId,
    /// The variable for where the block begins.
    pub(super) start: VarId,
    /// How many values it has at most.
    pub(super) size: i64,
}

/// A load that is the same for all rows, of neighbours for neighbouring columns.
pub(super) struct PanelLoad {
    pub(super) buffer: BufferId,
    pub(super) index: Index,
    /// How far terms are apart.
    pub(super) stride: Index,
}

impl PanelLoad {
    /// The first such load of a sum.
    pub(super) fn of(
        sum: &Sum,
        column: VarId,
        is_row: &dyn Fn(VarId) -> bool,
    ) -> Option<PanelLoad> {
        let moves =
            |index: &Index| index.free_vars().into_iter().any(|var| is_row(var) || var == column);
        // What varies with a sum inside has no value where a panel is copied.
        let inside = sum.body.summed_vars();
        let mut found: Option<PanelLoad> = None;
        sum.body.visit(&mut |value| {
            if let Value::Load(buffer, index) = value
                && found.is_none()
                && index.constant_stride(column) == Some(1)
                && index.free_vars().into_iter().all(|var| !is_row(var) && !inside.contains(&var))
                && let Some(stride) = index.stride(sum.var)
                && !moves(&stride)
                && plain(&stride)
                && stride != Index::Const(0)
            {
                found = Some(PanelLoad { buffer: *buffer, index: index.clone(), stride });
            }
        });
        found
    }
}

/// Whether a bound may say it.
fn plain(index: &Index) -> bool {
    !index.has_selections() && !index.has_loads()
}

impl Walk<'_> {
    fn pack(&mut self, body: &mut [Stmt]) {
        for stmt in body {
            if let Stmt::For(inner) = stmt
                && let Some(packed) = self.packed(inner)
            {
                inner.body = packed;
                continue;
            }
            stmt.bodies_mut().into_iter().for_each(|body| self.pack(body));
        }
    }

    /// What a loop over panels does, with a panel of an operand copied first where that is worth it.
    fn packed(&mut self, panels: &For) -> Option<Vec<Stmt>> {
        let [only] = &panels.body[..] else { return None };
        let nest = Nest::of(only)?;
        let panel = self.panel(panels.var, &nest)?;
        let operand = self.buffers.get(panel.load.buffer.0 as usize)?;
        let (name, element) = (format!("{}.panel", operand.name), operand.element);
        let size = Index::Const(panel.columns.size * panel.terms.size);
        let workspace = self.workspace(name, element, size.clone())?;
        let copied = self.fresh(panel.columns.var, "c");
        let flag = Index::Var(copied);
        let copy = self.copy(nest.levels.last()?, &nest, &panel, workspace);
        let mut body = vec![Stmt::when(Index::Const(1).at_most(flag.clone()), copy)];
        body.extend(nest.statements());
        let instead = Some((panel.load.buffer, flag.at_most(Index::Const(0))));
        let with =
            Stmt::Workspace(Workspace { buffer: workspace, size, zero: false, instead, body });
        let worth = panel.worth;
        Some(vec![Stmt::For(For::new(copied, worth.clone(), worth + 1, vec![with]))])
    }

    /// What of a panel can be copied, if anything can.
    fn panel(&self, start: VarId, nest: &Nest) -> Option<Panel> {
        let hints = &self.function.hints;
        let width = self.hint(start).blocks?;
        let (columns, rows) = nest.levels.split_last()?;
        let (_, sum) = cut(&nest.store.value)?;
        let (&[Index::Var(block)], &[Index::Var(panel)]) = (&sum.lower[..], &columns.lower[..])
        else {
            return None;
        };
        let size = self.hint(block).blocks?;
        let Hint { tile, lanes, .. } = self.hint(columns.var);
        let factor = tile.filter(|_| lanes.is_some())?;
        if panel != start || nest.is_scheduled(hints) {
            return None;
        }
        let is_row = |var: VarId| rows.iter().any(|row| row.var == var);
        let load = PanelLoad::of(&sum, columns.var, &is_row)?;
        let bytes = self.buffers.get(load.buffer.0 as usize)?.element.bytes() as i64;
        // Terms a page apart are in pages of their own.
        let apart = (load.stride.clone() * bytes).floor_div(self.machine.page);
        let many = work::iterations(rows).floor_div(ROWS);
        let worth = many.min(apart).min(Index::Const(1)).max(Index::Const(0));
        let terms = Block { var: sum.var, start: block, size };
        let columns = Block { var: columns.var, start: panel, size: width };
        (worth != Index::Const(0)).then_some(Panel { load, terms, columns, tile: factor, worth })
    }

    /// Copies the full tiles of a panel.
    fn copy(
        &mut self,
        columns: &Level,
        nest: &Nest,
        panel: &Panel,
        workspace: BufferId,
    ) -> Vec<Stmt> {
        let Some((_, sum)) = cut(&nest.store.value) else { return Vec::new() };
        let Panel { terms, columns: Block { var: column, start: first, .. }, tile: factor, .. } =
            *panel;
        let tile = self.fresh(column, "t");
        let start = Index::Var(tile);
        let place = (start.clone() - Index::Var(first)) * terms.size
            + (Index::Var(terms.var) - Index::Var(terms.start)) * factor
            + (Index::Var(column) - start.clone());
        let load = Value::Load(panel.load.buffer, panel.load.index.clone());
        let all = vec![Stmt::set(workspace, place, load)];
        let tiles = For::new(column, start.clone(), start + factor, all).unrolled();
        let mark = Mark::Sequential;
        let (lower, upper, body) = (sum.lower, sum.upper, vec![Stmt::For(tiles)]);
        let copied = For { var: terms.var, lower, upper, step: 1, mark, body };
        let lower = columns.lower.clone();
        let upper = columns.upper.iter().map(|bound| bound.clone() - (factor - 1)).collect();
        let body = vec![Stmt::For(copied)];
        vec![Stmt::For(For { var: tile, lower, upper, step: factor, mark, body })]
    }
}
