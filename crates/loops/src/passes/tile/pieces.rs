//! Ranges in pieces, and what all iterations of a piece have.

use crate::ir::*;
use crate::linear::Linear;

/// One piece of a loop: `var` runs from `start` over `size` iterations.
pub(super) struct Piece {
    /// Where the pieces start: the loop over them.
    pub(super) lower: Vec<Index>,
    pub(super) upper: Vec<Index>,
    /// Iterations of a piece.
    pub(super) size: i64,
}

/// A range in pieces of these sizes, each a divisor of the one before, the last of them 1. Each is code of its own.
pub(super) fn pieces(lower: &[Index], upper: &[Index], sizes: &[i64]) -> Vec<Piece> {
    let (Some(first), Some(last)) =
        (lower.iter().cloned().reduce(Index::max), upper.iter().cloned().reduce(Index::min))
    else {
        return Vec::new();
    };
    let mut pieces = Vec::new();
    let mut start = lower.to_vec();
    for &size in sizes {
        let upper = upper.iter().map(|bound| bound.clone() - (size - 1)).collect();
        pieces.push(Piece { lower: start, upper, size });
        // A range that is empty stays so: its end may lie before its start.
        let done = (last.clone() - first.clone()).floor_div(size) * size;
        let done = simplified(first.clone() + done);
        start = lower.to_vec();
        start.push(done);
    }
    pieces
}

/// The same expression with its sums collected.
pub(super) fn simplified(index: Index) -> Index {
    Linear::of(&index).map_or(index, |linear| linear.to_index())
}

/// Iterations of a loop side by side: `var` in `start..start + count`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Side {
    pub(super) var: VarId,
    pub(super) start: Index,
    pub(super) count: i64,
}

impl Side {
    /// What a bound is at most (`largest`) or at least; `None` if it is not monotonic in a known direction.
    pub(super) fn extreme(&self, bound: &Index, largest: bool) -> Option<Index> {
        let direction = bound.direction(self.var)?;
        let at = if (direction > 0) == largest { self.count - 1 } else { 0 };
        Some(simplified(bound.substitute(self.var, &(self.start.clone() + at))))
    }

    /// The part of a range that all iterations have: where it begins and ends.
    pub(super) fn common(
        &self,
        lower: &[Index],
        upper: &[Index],
    ) -> Option<(Vec<Index>, Vec<Index>)> {
        let lower = lower.iter().map(|bound| self.extreme(bound, true));
        let upper = upper.iter().map(|bound| self.extreme(bound, false));
        Some((lower.collect::<Option<_>>()?, upper.collect::<Option<_>>()?))
    }

    /// The iterations, each of which executes these statements.
    pub(super) fn execute(&self, body: Vec<Stmt>) -> Vec<Stmt> {
        let Side { var, start, count } = self;
        if *count == 1 {
            return body.into_iter().map(|stmt| stmt.substitute(*var, start)).collect();
        }
        vec![Stmt::For(For::new(*var, start.clone(), start.clone() + *count, body).unrolled())]
    }
}
