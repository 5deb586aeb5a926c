//! Tiles: the micro-kernel, and how its results come to the elements.
//!
//! Before -> after, of 8 rows and 16 columns: `C[M * i + j] += sum(k) S[..] * B[..]` ->
//! `unroll r { unroll c { C.tile[16 * r + c] = sum(k) S.rows[8 * (k - kb) + r] * B.columns[16 * (k - kb) + c] } }`,
//! then `unroll i { unroll j { C[M * i + j] += C.tile[..] } }` where all rows and columns are elements, else loops over
//! those that are.

use super::blocks::{Blocks, Place};
use super::pieces::{pieces, visit};
use super::ranges::{everywhere, first, range};
use crate::ir::*;

impl Blocks<'_> {
    /// All about a tile.
    pub(super) fn tile(&mut self, place: Place) -> Option<Vec<Stmt>> {
        let mut result = vec![self.kernel(place)?];
        result.extend(self.written(place)?);
        Some(result)
    }

    /// The products of a slice of rows and a slice of columns.
    fn kernel(&mut self, place: Place) -> Option<Stmt> {
        let (rows, columns, terms) = (self.sizes.rows, self.sizes.columns, self.sizes.terms);
        let deep = self.group.deep();
        let (r, c) = (
            self.function.fresh_like(self.contraction.row, "r"),
            self.function.fresh_like(self.contraction.column, "r"),
        );
        let range = self.terms()?;
        let term = Index::Var(deep) - Index::Var(place.terms);
        let at = |slice: VarId, from: VarId, size: i64, lane: VarId| {
            (Index::Var(slice) - Index::Var(from)) * terms + term.clone() * size + Index::Var(lane)
        };
        let row = Value::load(self.panels.rows, at(place.row, place.high, rows, r));
        let column = Value::load(self.panels.columns, at(place.column, place.wide, columns, c));
        let sum = Value::Sum(Box::new(Sum {
            kind: Reduction::Sum,
            var: deep,
            lower: range.lower,
            upper: range.upper,
            step: 1,
            unroll: None,
            condition: None,
            fetch: Vec::new(),
            body: row * column,
        }));
        let index = Index::Var(r) * columns + Index::Var(c);
        let store = Stmt::set(self.panels.tile, index, sum);
        let body = For::new(c, 0.into(), columns.into(), vec![store]).unrolled();
        let body = For::new(r, 0.into(), rows.into(), vec![Stmt::For(body)]).unrolled();
        Some(Stmt::For(body))
    }

    /// What adds a tile to the elements, or sets them.
    fn written(&mut self, place: Place) -> Option<Vec<Stmt>> {
        let (row, column, deep) =
            (self.contraction.row, self.contraction.column, self.group.deep());
        let (rows, columns) = (self.sizes.rows, self.sizes.columns);
        let (top, left) = (Index::Var(place.row), Index::Var(place.column));
        let (buffer, index) = (self.contraction.buffer, self.contraction.index.clone());
        let lane = (Index::Var(row) - top.clone()) * columns + (Index::Var(column) - left.clone());
        let value = Value::load(self.panels.tile, lane);
        let sides = [row, column];
        let about = |one: &&Index| sides.iter().any(|side| one.mentions(*side));
        let mut domain = self.group.elements.clone();
        domain.extend(self.given.iter().filter(about).filter(|one| !one.mentions(deep)).cloned());
        let corners = [
            (row, top.clone(), top.clone() + (rows - 1)),
            (column, left.clone(), left.clone() + (columns - 1)),
        ];
        let full = everywhere(&domain, &sides, &corners, &self.facts);
        // Neighbours that are not neighbours in memory are not written as vectors.
        let full = full.filter(|_| index.constant_stride(column) == Some(1));
        // The first block of terms is the one with the first term of any element of the tile.
        let first_block = match self.sets {
            true => {
                let terms = range(&self.domain_of_elements(place), deep, &sides, &self.facts)?;
                let begin = first(&terms);
                let from = Index::Var(place.terms);
                let known =
                    self.facts.imply(&Condition::Compare(Compare::Le, from.clone(), begin.clone()));
                Some(if known { true.into() } else { from.at_most(begin) })
            }
            false => None,
        };
        let unrolled = |mode: StoreMode| {
            let (buffer, index, value) = (buffer, index.clone(), value.clone());
            let store = Stmt::Store(Store { buffer, index, value, mode, stream: None });
            let wide = For::new(column, left.clone(), left.clone() + columns, vec![store]);
            let high =
                For::new(row, top.clone(), top.clone() + rows, vec![Stmt::For(wide.unrolled())]);
            vec![Stmt::For(high.unrolled())]
        };
        // Where the places of elements are told by selections, each piece is written for itself.
        let place = Value::load(buffer, index.clone());
        let parts = pieces(&place, &domain, &self.facts);
        let known = self.facts.clone();
        let mut loops = |mode: StoreMode, value: Value| {
            let mut all = Vec::new();
            for part in &parts {
                let value = value.clone();
                let store = |place: Value| {
                    let index = match place {
                        Value::Load(_, index) => index,
                        _ => index.clone(),
                    };
                    Store { buffer, index, value: value.clone(), mode, stream: None }
                };
                all.extend(visit(part, (row, column, None), self.function, &known, store)?);
            }
            Some(all)
        };
        let (whole, mut cut) = match &first_block {
            Some(first) if first.as_bool() == Some(true) => {
                (unrolled(StoreMode::Set), loops(StoreMode::Set, value.clone())?)
            }
            Some(first) => {
                let (condition, then) = (first.clone(), unrolled(StoreMode::Set));
                let otherwise = unrolled(StoreMode::Add);
                let zero = loops(StoreMode::Set, Value::Const(0.0))?;
                let mut cut = vec![Stmt::when(first.clone(), zero)];
                cut.extend(loops(StoreMode::Add, value.clone())?);
                (vec![Stmt::If(If { condition, then, otherwise })], cut)
            }
            None => (unrolled(StoreMode::Add), loops(StoreMode::Add, value.clone())?),
        };
        Some(match full {
            Some(full) if full.as_bool() == Some(true) => whole,
            Some(condition) => vec![Stmt::If(If { condition, then: whole, otherwise: cut })],
            None => std::mem::take(&mut cut),
        })
    }

    /// The points of the first term in a tile, for all blocks of terms.
    fn domain_of_elements(&self, _: Place) -> Vec<Index> {
        let deep = self.group.deep();
        let terms = self.group.terms.first().map_or(&[][..], |term| &term.domain);
        let given = self.given.iter().filter(|one| !one.mentions(deep)).cloned();
        terms.iter().cloned().chain(given).collect()
    }
}
