//! Cuts loops into full tiles, rims and rests.
//!
//! A loop is cut into pieces of its factor, the iterations that are left into pieces of 1. Where the range of the inner
//! loop (or of a sum) varies within a piece of the outer one, what is common to the piece is a rectangle; what only
//! some of its rows have is the rim, a triangle.

use super::nest::{Level, Nest};
use super::pieces::{Side, pieces, simplified};
use super::ragged::{Ragged, row_by_row};
use super::vectorize_streams::has_sums;
use super::walk::{Walk, each_nest};
use crate::ir::*;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_nest(module, context, |walk, nest| {
        let factors = nest.factors(&walk.function.hints);
        (!factors.is_empty()).then(|| Tiler::new(walk, nest).nested(&factors))
    });
}

/// Cuts a nest into tiles.
struct Tiler<'w, 'a> {
    walk: &'w mut Walk<'a>,
    nest: &'w Nest,
    /// The loop whose elements are in lanes, and their number.
    lanes: Option<(VarId, i64)>,
}

/// What the pieces of a loop are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PieceOf {
    /// Rows of tiles, which have columns.
    Rows,
    Columns,
    /// The only loop that is unrolled.
    Elements,
}

/// A store at so many iterations side by side: only vectors go past the caches.
fn apart(store: &Store, size: i64) -> Store {
    Store { stream: store.stream.clone().filter(|_| size > 1), ..store.clone() }
}

/// A loop over blocks with the loops that were around it inside.
fn outside(blocks: Stmt, around: &[Level]) -> Stmt {
    match blocks {
        Stmt::For(blocks) => {
            let body = Nest::wrapped(around, blocks.body);
            Stmt::For(For { body, ..blocks })
        }
        other => other,
    }
}

impl<'w, 'a> Tiler<'w, 'a> {
    fn new(walk: &'w mut Walk<'a>, nest: &'w Nest) -> Tiler<'w, 'a> {
        let lanes = nest.lanes(&walk.function.hints);
        Tiler { walk, nest, lanes }
    }

    /// The loops as they are around tiles.
    fn nested(&mut self, factors: &[i64]) -> Vec<Stmt> {
        let levels = &self.nest.levels;
        let (around, tiled) = levels.split_at(levels.len() - factors.len());
        let len = self.walk.facts.len();
        for level in around {
            self.walk.facts.assume_range(level.var, &level.lower, &level.upper);
        }
        let body = self.tiles(tiled, factors, &self.nest.store);
        self.walk.facts.truncate(len);
        let columns = |level: &Level| {
            let bounds = level.lower.iter().chain(&level.upper);
            let mut rows = around.iter().map(|row| row.var);
            let varies = rows.any(|row| bounds.clone().any(|bound| bound.mentions(row)));
            !varies && self.walk.function.hints.get(level.var).columns
        };
        if let [level] = tiled
            && columns(level)
        {
            return body.into_iter().map(|blocks| outside(blocks, around)).collect();
        }
        // That a schedule wants them unrolled is done.
        let hints = &mut self.walk.function.hints;
        tiled.iter().for_each(|level| hints.update(level.var, |hint| hint.unroll = None));
        Nest::wrapped(around, body)
    }

    /// Where the elements of a line begin, at or after the beginning of a loop without sums; `None` if that is not
    /// known.
    fn aligned(&self, level: &Level, store: &Store) -> Option<Index> {
        if has_sums(&store.value) || self.lanes.is_none_or(|(var, _)| var != level.var) {
            return None;
        }
        let element = self.walk.buffers.get(store.buffer.0 as usize)?.element;
        let first = level.lower.iter().cloned().reduce(Index::max)?;
        let place = store.index.substitute(level.var, &first);
        let plain = !place.has_selections() && !place.has_loads();
        let line = self.walk.machine.line / element.bytes() as i64;
        plain.then(|| first + (Index::Const(0) - place).modulo(line))
    }

    /// The innermost loops of a nest in tiles; `levels` as many as `factors`.
    fn tiles(&mut self, levels: &[Level], factors: &[i64], store: &Store) -> Vec<Stmt> {
        let ([outer, inner @ ..], [factor, rest @ ..]) = (levels, factors) else {
            return self.nest.element(store);
        };
        let mut result = Vec::new();
        let aligned = self.aligned(outer, store).filter(|_| inner.is_empty());
        let of = match (&aligned, inner) {
            (Some(_), _) => PieceOf::Columns,
            (None, []) => PieceOf::Elements,
            _ => PieceOf::Rows,
        };
        let sizes = self.sizes(outer.var, *factor, of);
        let mut lower = outer.lower.clone();
        if let Some(aligned) = aligned {
            let mut before = outer.clone();
            before.upper.push(aligned.clone());
            result.push(self.plain(&before, &apart(store, 1)));
            lower = vec![aligned];
        }
        for piece in pieces(&lower, &outer.upper, &sizes) {
            let start = match piece.size {
                1 => outer.var,
                _ => self.walk.fresh(outer.var, "t"),
            };
            let len = self.walk.facts.len();
            self.walk.facts.assume_range(start, &piece.lower, &piece.upper);
            let rows = Side { var: outer.var, start: Index::Var(start), count: piece.size };
            let body = match inner {
                [inner] => self.columns(&rows, inner, rest[0]),
                _ => rows.execute(self.nest.element(&apart(store, rows.count))),
            };
            self.walk.facts.truncate(len);
            let (lower, upper, step) = (piece.lower, piece.upper, piece.size);
            let mark = Mark::THREADS;
            result.push(Stmt::For(For { var: start, lower, upper, step, mark, body }));
        }
        result
    }

    /// Sizes of pieces of a loop.
    fn sizes(&self, var: VarId, factor: i64, of: PieceOf) -> Vec<i64> {
        let columns = self.walk.function.hints.get(var).columns;
        let between = match self.lanes.filter(|(lane, _)| *lane == var) {
            // All loops around are executed again for each size: few of them are for single vectors.
            Some((_, count)) if columns => {
                let halves = std::iter::successors(Some(factor / 2), |size| Some(size / 2));
                halves.take_while(|size| *size > count).chain([count]).collect()
            }
            // Half of them where there is nothing else to wait for, and one vector.
            Some((_, count)) if of == PieceOf::Elements => vec![factor / 2, count],
            Some((_, count)) => vec![count],
            // Where there are columns, a row alone has few products for a load.
            None if of == PieceOf::Rows => vec![2],
            None => vec![],
        };
        let mut sizes = vec![factor];
        for size in between.into_iter().chain([1]) {
            if sizes.last().is_some_and(|last| size > 0 && last % size == 0) {
                sizes.push(size);
            }
        }
        sizes.dedup();
        sizes
    }

    /// The inner loop of two, for a piece of the outer one.
    fn columns(&mut self, rows: &Side, inner: &Level, factor: i64) -> Vec<Stmt> {
        let varies = inner.lower.iter().chain(&inner.upper).any(|bound| bound.mentions(rows.var));
        if let Some(ragged) = self.ragged(rows, inner, factor) {
            return ragged;
        }
        let mut result = Vec::new();
        let (mut lower, mut upper) = (inner.lower.clone(), inner.upper.clone());
        if varies && rows.count == 1 {
            let here = |bound: &Index| simplified(bound.substitute(rows.var, &rows.start));
            (lower, upper) =
                (inner.lower.iter().map(here).collect(), inner.upper.iter().map(here).collect());
        } else if varies {
            let Some(common) = rows.common(&inner.lower, &inner.upper) else {
                // Each row on its own.
                return rows.execute(vec![self.plain(inner, &self.nest.store)]);
            };
            result = self.rims(rows, inner, &common);
            (lower, upper) = common;
        }
        let sizes = self.sizes(inner.var, factor, PieceOf::Columns);
        result.extend(self.rectangles(rows, inner.var, (&lower, &upper), &sizes));
        result
    }

    /// The columns that all rows have, in pieces of these sizes.
    fn rectangles(
        &mut self,
        rows: &Side,
        var: VarId,
        (lower, upper): (&[Index], &[Index]),
        sizes: &[i64],
    ) -> Vec<Stmt> {
        let mut result = Vec::new();
        for piece in pieces(lower, upper, sizes) {
            let start = match piece.size {
                1 => var,
                _ => self.walk.fresh(var, "t"),
            };
            let columns = Side { var, start: Index::Var(start), count: piece.size };
            let store = apart(&self.nest.store, rows.count * piece.size);
            let body = rows.execute(columns.execute(self.nest.element(&store)));
            let (lower, upper, step) = (piece.lower, piece.upper, piece.size);
            let mark = Mark::THREADS;
            result.push(Stmt::For(For { var: start, lower, upper, step, mark, body }));
        }
        result
    }

    /// The inner loop of two, where columns that fill no vector may be computed side by side.
    fn ragged(&mut self, rows: &Side, inner: &Level, factor: i64) -> Option<Vec<Stmt>> {
        let (_, lanes) =
            self.lanes.filter(|(var, lanes)| *var == inner.var && factor % lanes == 0)?;
        let (begin, end) = rows.common(&inner.lower, &inner.upper)?;
        let ragged = Ragged::of(self.nest, rows, inner, lanes, (&begin, &end))?;
        let sizes: Vec<i64> = self.sizes(inner.var, factor, PieceOf::Columns);
        let sizes: Vec<i64> = sizes.into_iter().filter(|size| size % lanes == 0).collect();
        let mut then: Vec<Stmt> = ragged.before(self.walk).into_iter().collect();
        then.extend(self.rectangles(rows, inner.var, (&begin, &end), &sizes));
        then.extend(ragged.behind(self.walk));
        let otherwise = vec![row_by_row(rows, vec![self.plain(inner, &self.nest.store)])];
        Some(vec![Stmt::If(If { condition: ragged.possible(), then, otherwise })])
    }

    /// The columns before and behind those that all rows have.
    fn rims(
        &self,
        rows: &Side,
        inner: &Level,
        (begin, end): &(Vec<Index>, Vec<Index>),
    ) -> Vec<Stmt> {
        let Level { var, lower, upper } = inner.clone();
        let mut result = Vec::new();
        if *begin != lower {
            let upper = self.walk.clipped(begin, &upper, rows);
            let columns = Level { var, lower: lower.clone(), upper };
            result.extend(self.walk.rim(rows, columns, self.nest));
        }
        if *end != upper {
            let others = lower.iter().chain(begin).cloned();
            let lower = match end.iter().cloned().reduce(Index::min) {
                Some(last) => self.walk.beyond(last, others),
                None => others.collect(),
            };
            result.extend(self.walk.rim(rows, Level { var, lower, upper }, self.nest));
        }
        result
    }

    fn plain(&self, level: &Level, store: &Store) -> Stmt {
        let Level { var, lower, upper } = level.clone();
        let body = self.nest.element(store);
        Stmt::For(For { var, lower, upper, step: 1, mark: Mark::THREADS, body })
    }
}
