//! Panels of an operand copied, so that tiles read neighbours.
//!
//! Where elements are in lanes, a tile reads a few neighbours of an operand for each term, and the terms stand a row of it apart. If that is a page or more, a block of terms is
//! more pages than the processor has addresses of at hand, and its lines share a few places of the cache. So a panel that many rows use is
//! copied first, tile by tile and term by term. Whether it is worth it is known when the kernel runs; the code is the same for both.
//!
//! Before -> after, with blocks of 128 terms from `b` and tiles of 32 columns from `kt`, in a panel from `kp`:
//! `A[i, k] += sum(l = b to b + 128) B[i, l] * C[P * l + k]` ->
//! `for f = 0 or 1 { with W of .. or C if f <= 0 { .. A[i, k] += sum(l = b to b + 128) B[i, l] * W[base + term * (l - b) + panel * (kt - kp) + (k - kt)] } }` with
//! `base = 0`, `term = 32`, `panel = 128` for a copy, else `base = P * b + kp`, `term = P`, `panel = 1`.

use super::choose::Choice;
use super::{Level, Tiler, block, work};
use crate::ir::*;

/// Terms this far apart, in bytes, are in pages of their own.
const PAGE: i64 = if cfg!(test) { 64 } else { 4096 };

/// So many rows use a panel that is worth copying.
const ROWS: i64 = if cfg!(test) { 4 } else { 256 };

/// Functions of more statements share code between them instead.
const MOST: usize = 6;

/// What is read from a panel's copy, or from where it was.
#[derive(Clone)]
pub(super) struct Packed {
    /// What the store loads.
    load: (BufferId, Index),
    /// The sum's variable, and where its block begins.
    term: (VarId, Index),
    /// The variable of columns, where their panel begins, and how many a tile has.
    column: (VarId, Index, i64),
    workspace: BufferId,
    /// 1 where there is a copy, else 0.
    copied: VarId,
    /// How far terms are apart where they were.
    stride: Index,
    /// Terms of a block.
    size: i64,
}

impl Packed {
    /// The element in the workspace's or the operand's memory, where `tile` is the first column of its tile.
    fn element(&self, tile: &Index) -> Index {
        let ((term, block), (column, panel, columns)) = (&self.term, &self.column);
        let copied = || Index::Var(self.copied);
        let first = self.load.1.substitute(*term, block).substitute(*column, panel);
        let base = first * (Index::Const(1) - copied());
        let stride =
            self.stride.clone() + copied() * (Index::Const(*columns) - self.stride.clone());
        let panels = copied() * (self.size - 1) + 1;
        let terms = (Index::Var(*term) - block.clone()) * stride;
        let tiles = (tile.clone() - panel.clone()) * panels;
        base + terms + tiles + (Index::Var(*column) - tile.clone())
    }

    /// The store of a full tile.
    pub(super) fn store(&self, store: &Store, tile: &Index) -> Store {
        let value = store.value.map_elements(&|buffer, index| {
            if (buffer, index) == (self.load.0, &self.load.1) {
                return (self.workspace, self.element(tile));
            }
            (buffer, index.clone())
        });
        Store { value, ..store.clone() }
    }
}

impl Tiler<'_> {
    /// Loops around tiles, inside of what copies the panel of an operand that they read, if there is one. `levels` end with the panel's columns.
    pub(super) fn panel(
        &mut self,
        levels: &[Level],
        choice: &Choice,
        (store, size): (&Store, i64),
        width: i64,
        inside: impl FnOnce(&mut Self) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let Some((packed, worth)) = self.packed(levels, choice, (store, size), width) else {
            return inside(self);
        };
        let (flag, workspace) = (Index::Var(packed.copied), packed.workspace);
        let copy = self.copy(levels, store, &packed);
        let other = packed.load.0;
        let outer = self.packed.replace(packed);
        let mut body = vec![Stmt::when(Index::Const(1).at_most(flag.clone()), copy)];
        body.extend(inside(self));
        let packed = std::mem::replace(&mut self.packed, outer);
        let Some(copied) = packed.map(|packed| packed.copied) else { return body };
        let with = Stmt::Workspace(Workspace {
            buffer: workspace,
            size: Index::Const(width * size),
            zero: false,
            instead: Some((other, flag.at_most(Index::Const(0)))),
            body,
        });
        vec![Stmt::For(For::new(copied, worth.clone(), worth + 1, vec![with]))]
    }

    /// What can be copied, and 1 where it is worth it, else 0.
    fn packed(
        &mut self,
        levels: &[Level],
        choice: &Choice,
        (store, size): (&Store, i64),
        width: i64,
    ) -> Option<(Packed, Index)> {
        let (columns, rows) = levels.split_last()?;
        let (_, sum) = block::cut(&store.value)?;
        let &[.., factor] = &choice.factors[..] else { return None };
        let lanes = choice.lanes.is_some_and(|(var, _)| var == columns.var);
        let planned = self.plans.contains_key(&store.buffer);
        if !lanes || planned || self.statements > MOST {
            return None;
        }
        let inner = |index: &Index| {
            rows.iter().any(|row| index.mentions(row.var)) || index.mentions(columns.var)
        };
        let mut found: Option<((BufferId, Index), Index)> = None;
        sum.body.visit(&mut |value| {
            if let Value::Load(buffer, index) = value
                && found.is_none()
                && index.constant_stride(columns.var) == Some(1)
                && rows.iter().all(|row| !index.mentions(row.var))
                && let Some(stride) = index.stride(sum.var)
                && !inner(&stride)
                && plain(&stride)
                && stride != Index::Const(0)
            {
                found = Some(((*buffer, index.clone()), stride));
            }
        });
        let (load, stride) = found?;
        let buffer = self.buffers.get(load.0.0 as usize)?;
        let (element, bytes) = (buffer.element, buffer.element.bytes() as i64);
        let name = format!("{}.panel", buffer.name);
        let apart = (stride.clone() * bytes).floor_div(PAGE);
        let many = work::iterations(rows).floor_div(ROWS);
        let worth = many.min(apart).min(Index::Const(1)).max(Index::Const(0));
        if worth == Index::Const(0) {
            return None;
        }
        let workspace = self.workspace(name, element, Index::Const(width * size))?;
        let [Index::Var(block)] = sum.lower[..] else { return None };
        let [Index::Var(panel)] = columns.lower[..] else { return None };
        let packed = Packed {
            load,
            term: (sum.var, Index::Var(block)),
            column: (columns.var, Index::Var(panel), factor),
            workspace,
            copied: self.fresh(columns.var, "c"),
            stride,
            size,
        };
        Some((packed, worth))
    }

    /// Copies the full tiles of a panel.
    fn copy(&mut self, levels: &[Level], store: &Store, packed: &Packed) -> Vec<Stmt> {
        let (Some(columns), Some((_, sum))) = (levels.last(), block::cut(&store.value)) else {
            return Vec::new();
        };
        let (column, panel, factor) = packed.column.clone();
        let (term, block) = packed.term.clone();
        let tile = self.fresh(column, "t");
        let start = Index::Var(tile);
        let place = (start.clone() - panel) * packed.size
            + (Index::Var(term) - block) * factor
            + (Index::Var(column) - start.clone());
        let load = Value::Load(packed.load.0, packed.load.1.clone());
        let all = vec![Stmt::set(packed.workspace, place, load)];
        let tiles = For::new(column, start.clone(), start + factor, all).unrolled();
        let mark = Mark::Sequential;
        let (lower, upper, body) = (sum.lower.clone(), sum.upper.clone(), vec![Stmt::For(tiles)]);
        let terms = For { var: term, lower, upper, step: 1, mark, body };
        let lower = columns.lower.clone();
        let upper = columns.upper.iter().map(|bound| bound.clone() - (factor - 1)).collect();
        let body = vec![Stmt::For(terms)];
        vec![Stmt::For(For { var: tile, lower, upper, step: factor, mark, body })]
    }
}

/// Whether a bound may say it.
fn plain(index: &Index) -> bool {
    !index.has_selections() && !index.has_loads()
}
