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

/// What a bound is at most (`largest`) or at least, over a piece: `var` in `start..start + size`; `None` if it is not
/// monotonic in a known direction.
pub(super) fn extreme(
    bound: &Index,
    var: VarId,
    start: &Index,
    size: i64,
    largest: bool,
) -> Option<Index> {
    let stride = bound.constant_stride(var)?;
    let at = if (stride > 0) == largest { size - 1 } else { 0 };
    Some(simplified(bound.substitute(var, &(start.clone() + at))))
}

/// The part of a range that all iterations of a piece have: where it begins and ends.
pub(super) fn common(
    (lower, upper): (&[Index], &[Index]),
    (var, start, size): (VarId, &Index, i64),
) -> Option<(Vec<Index>, Vec<Index>)> {
    let lower = lower.iter().map(|bound| extreme(bound, var, start, size, true));
    let upper = upper.iter().map(|bound| extreme(bound, var, start, size, false));
    Some((lower.collect::<Option<_>>()?, upper.collect::<Option<_>>()?))
}

/// `var` over a piece, side by side.
pub(super) fn side_by_side(var: VarId, start: &Index, size: i64, body: Vec<Stmt>) -> Vec<Stmt> {
    if size == 1 {
        return body.into_iter().map(|stmt| stmt.substitute(var, start)).collect();
    }
    vec![Stmt::For(For::new(var, start.clone(), start.clone() + size, body).unrolled())]
}
