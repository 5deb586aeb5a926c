//! Loops cut into full tiles, rims and rests.
//!
//! A loop is cut into pieces of its factor, the iterations that are left into pieces of 1. Where the range of the inner
//! loop (or of a sum) varies within a piece of the outer one, what is common to the piece is a rectangle; what only
//! some of its rows have is the rim, a triangle.

use super::nest::{Level, Nest};
use super::pieces::{common, extreme, pieces, side_by_side, simplified};
use super::vectorize_streams::has_sums;
use super::walk::{Walk, each_nest};
use crate::ir::*;
use crate::passes::Context;
use crate::unroll::{self, Instance};

/// Bytes of a line of memory.
const LINE: i64 = 64;

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
enum Of {
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
        let line = LINE / element.bytes() as i64;
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
            (Some(_), _) => Of::Columns,
            (None, []) => Of::Elements,
            _ => Of::Rows,
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
            let at = (outer.var, Index::Var(start), piece.size);
            let body = match inner {
                [inner] => self.columns((&at.1, at.0, at.2), inner, rest[0], store),
                _ => {
                    let store = apart(store, at.2);
                    side_by_side(at.0, &at.1, at.2, self.nest.element(&store))
                }
            };
            self.walk.facts.truncate(len);
            let (lower, upper, step) = (piece.lower, piece.upper, piece.size);
            let mark = Mark::THREADS;
            result.push(Stmt::For(For { var: start, lower, upper, step, mark, body }));
        }
        result
    }

    /// Sizes of pieces of a loop.
    fn sizes(&self, var: VarId, factor: i64, of: Of) -> Vec<i64> {
        let between = match self.lanes.filter(|(lane, _)| *lane == var) {
            // Half of them where there is nothing else to wait for, and one vector.
            Some((_, count)) if of == Of::Elements => vec![factor / 2, count],
            Some((_, count)) => vec![count],
            // Where there are columns, a row alone has few products for a load.
            None if of == Of::Rows => vec![2],
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
    fn columns(
        &mut self,
        (row, var, rows): (&Index, VarId, i64),
        inner: &Level,
        factor: i64,
        store: &Store,
    ) -> Vec<Stmt> {
        let varies = inner.lower.iter().chain(&inner.upper).any(|bound| bound.mentions(var));
        let mut result = Vec::new();
        let (mut lower, mut upper) = (inner.lower.clone(), inner.upper.clone());
        if varies && rows == 1 {
            let here = |list: &[Index]| {
                list.iter().map(|bound| simplified(bound.substitute(var, row))).collect::<Vec<_>>()
            };
            (lower, upper) = (here(&inner.lower), here(&inner.upper));
        } else if varies {
            let range = (&inner.lower[..], &inner.upper[..]);
            let Some((begin, end)) = common(range, (var, row, rows)) else {
                // Each row on its own.
                let body = vec![self.plain(inner, store)];
                return side_by_side(var, row, rows, body);
            };
            if begin != inner.lower {
                let rim = Level {
                    var: inner.var,
                    lower: inner.lower.clone(),
                    upper: self.clipped(&begin, &inner.upper, (var, row, rows)),
                };
                result.extend(self.rim((var, row, rows), &rim, store));
            }
            if end != inner.upper {
                let others = inner.lower.iter().chain(&begin).cloned();
                let last = end.iter().cloned().reduce(Index::min);
                let lower = match last {
                    Some(last) => self.walk.beyond(last, others),
                    None => others.collect(),
                };
                let rim = Level { var: inner.var, lower, upper: inner.upper.clone() };
                result.extend(self.rim((var, row, rows), &rim, store));
            }
            (lower, upper) = (begin, end);
        }
        let sizes = self.sizes(inner.var, factor, Of::Columns);
        for piece in pieces(&lower, &upper, &sizes) {
            let start = match piece.size {
                1 => inner.var,
                _ => self.walk.fresh(inner.var, "t"),
            };
            let column = Index::Var(start);
            let store = apart(store, rows * piece.size);
            let body = side_by_side(inner.var, &column, piece.size, self.nest.element(&store));
            let body = side_by_side(var, row, rows, body);
            let (lower, upper, step) = (piece.lower, piece.upper, piece.size);
            let mark = Mark::THREADS;
            result.push(Stmt::For(For { var: start, lower, upper, step, mark, body }));
        }
        result
    }

    /// `begin` as an upper bound, together with the range's own where these may lie before it.
    fn clipped(
        &self,
        begin: &[Index],
        upper: &[Index],
        (var, row, rows): (VarId, &Index, i64),
    ) -> Vec<Index> {
        let Some(begin) = begin.iter().cloned().reduce(Index::max) else { return upper.to_vec() };
        let mut list = Vec::new();
        for bound in upper {
            let lowest = extreme(bound, var, row, rows, false);
            let known =
                lowest.is_some_and(|lowest| self.walk.known(&begin.clone().at_most(lowest)));
            if !known {
                list.push(bound.clone());
            }
        }
        list.push(begin);
        list
    }

    /// The elements that not all rows of a piece have: side by side if they are few, else row by row.
    fn rim(
        &mut self,
        (var, row, rows): (VarId, &Index, i64),
        level: &Level,
        store: &Store,
    ) -> Vec<Stmt> {
        let inner = For {
            var: level.var,
            lower: level.lower.clone(),
            upper: level.upper.clone(),
            step: 1,
            mark: Mark::Unrolled,
            body: self.nest.element(store),
        };
        let around: Vec<Instance> =
            (0..rows).map(|at| Instance::from([(var, row.clone() + at)])).collect();
        let few = unroll::expand(&inner, &around).is_some_and(|all| {
            !all.is_empty() && all.len() <= self.walk.machine.registers as usize
        });
        let column_free =
            !store.value.mentions_in_ranges(var) && !store.value.mentions_in_ranges(level.var);
        let inner = match few && column_free {
            true => Stmt::For(inner),
            false => Stmt::For(For { mark: Mark::THREADS, ..inner }),
        };
        let body = vec![inner];
        if few && column_free {
            return side_by_side(var, row, rows, body);
        }
        // Row by row: nothing is gained side by side.
        vec![Stmt::For(For::new(var, row.clone(), row.clone() + rows, body).parallel())]
    }

    fn plain(&self, level: &Level, store: &Store) -> Stmt {
        let Level { var, lower, upper } = level.clone();
        let body = self.nest.element(store);
        Stmt::For(For { var, lower, upper, step: 1, mark: Mark::THREADS, body })
    }
}
