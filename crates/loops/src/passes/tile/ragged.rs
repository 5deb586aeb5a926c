//! Columns that fill no tile: those that only some rows of a tile have, and what is left behind the last full one.
//!
//! Side by side they are computed as fast as others, if they are computed for all rows of a tile, into memory of their
//! own, from which each row takes what it has. The last columns are computed together with some before them, so that
//! they fill a vector.
//!
//! Before -> after, with rows `t` to `t + 4` that end at column `i + 1`, and vectors of 4:
//! ```text
//! unroll i = t to t + 4 { for k = 4 * ((t + 1) / 4) to i + 1 { C[..] = sum(x) A[N * i + x] * B[N * x + k] } }
//! ```
//! becomes
//! ```text
//! for kr = 4 * ((t + 1) / 4) to t + 4 step 4 { for s = min(kr, t) to min(kr, t) + 1 { with W of 16 {
//!   unroll i = t to t + 4 { unroll k = s to s + 4 { W[4 * (i - t) + k - s] = sum(x) A[N * i + x] * B[N * x + k] } }
//!   for i = t to t + 4 { for k = kr to min(i + 1, kr + 4) { C[..] = W[4 * (i - t) + k - s] } }
//! } } }
//! ```
//!
//! That is possible where each load depends on the row or on the column alone: some row has the column, and some column
//! the row, so both are there. It is done where all rows have a column in common, so that there are no columns between
//! theirs, and where there are enough columns for a vector.

use super::nest::{Level, Nest};
use super::pieces::{Side, simplified};
use super::walk::Walk;
use crate::ir::*;

/// The columns of a tile of rows.
pub(super) struct Ragged<'n> {
    nest: &'n Nest,
    rows: Side,
    inner: &'n Level,
    /// Columns of a vector.
    lanes: i64,
    /// Where the first row begins and the last one ends.
    first: Index,
    last: Index,
    /// The columns that all rows have.
    begin: Index,
    end: Index,
}

impl<'n> Ragged<'n> {
    /// Those of the innermost loop of a nest, if columns are in lanes, and these columns are what all rows have.
    pub(super) fn of(
        nest: &'n Nest,
        rows: &Side,
        inner: &'n Level,
        lanes: i64,
        (begin, end): (&[Index], &[Index]),
    ) -> Option<Ragged<'n>> {
        if rows.count < 2 || !separable(&nest.store.value, rows.var, inner.var) {
            return None;
        }
        let first = outermost(rows, &inner.lower, false)?.reduce(Index::max)?;
        let last = outermost(rows, &inner.upper, true)?.reduce(Index::min)?;
        let begin = begin.iter().cloned().reduce(Index::max)?;
        let end = end.iter().cloned().reduce(Index::min)?;
        let rows = rows.clone();
        Some(Ragged { nest, rows, inner, lanes, first, last, begin, end })
    }

    /// Whether it is possible for this tile.
    pub(super) fn possible(&self) -> Condition {
        let wide = (self.first.clone() + self.lanes).at_most(self.last.clone());
        let same = self.first == self.begin && self.last == self.end;
        let shared = (!same).then(|| self.begin.clone().less(self.end.clone()));
        Condition::all(shared.into_iter().chain([wide]))
    }

    /// The columns before those that all rows have.
    pub(super) fn before(&self, walk: &mut Walk<'_>) -> Option<Stmt> {
        if self.first == self.begin {
            return None;
        }
        self.computed(walk, self.first.clone(), self.begin.clone())
    }

    /// Those behind the last full vector.
    pub(super) fn behind(&self, walk: &mut Walk<'_>) -> Option<Stmt> {
        let full = (self.end.clone() - self.begin.clone()).floor_div(self.lanes) * self.lanes;
        self.computed(walk, simplified(self.begin.clone() + full), self.last.clone())
    }

    /// The columns of a range.
    fn computed(&self, walk: &mut Walk<'_>, from: Index, to: Index) -> Option<Stmt> {
        let Ragged { nest, rows, inner, lanes, .. } = self;
        let store = &nest.store;
        let buffer = walk.buffers.get(store.buffer.0 as usize)?;
        let (name, element) = (format!("{}.rim", buffer.name), buffer.element);
        let size = Index::Const(rows.count * lanes);
        let workspace = walk.workspace(name, element, size.clone())?;
        let (block, start) = (walk.fresh(inner.var, "r"), walk.fresh(inner.var, "s"));
        let (row, column) = (Index::Var(rows.var), Index::Var(inner.var));
        let place = (row - rows.start.clone()) * *lanes + (column - Index::Var(start));
        let value = store.value.clone();
        let all = vec![Stmt::set(workspace, place.clone(), value)];
        let columns = Side { var: inner.var, start: Index::Var(start), count: *lanes };
        let mut body = rows.execute(columns.execute(all));

        let kept = |mode: StoreMode| {
            let value = Value::load(workspace, place.clone());
            let kept = Store { value, mode, stream: None, ..store.clone() };
            let mut lower = inner.lower.clone();
            lower.push(Index::Var(block));
            let mut upper = inner.upper.clone();
            upper.extend([to.clone(), Index::Var(block) + *lanes]);
            let body = vec![Stmt::Store(kept)];
            let mark = Mark::Sequential;
            let columns = For { var: inner.var, lower, upper, step: 1, mark, body };
            vec![row_by_row(rows, vec![Stmt::For(columns)])]
        };
        body.extend(match &nest.first {
            Some(first) => {
                let (then, otherwise) = (kept(StoreMode::Set), kept(store.mode));
                vec![Stmt::If(If { condition: first.clone(), then, otherwise })]
            }
            None => kept(store.mode),
        });
        let (zero, instead) = (false, None);
        let with = Stmt::Workspace(Workspace { buffer: workspace, size, zero, instead, body });
        // A block that begins with less than a vector's columns before the last one.
        let first = Index::Var(block).min(self.last.clone() - *lanes);
        let once = Stmt::For(For::new(start, first.clone(), first + 1, vec![with]));
        let mark = Mark::Sequential;
        let (lower, upper) = (vec![from], vec![to]);
        Some(Stmt::For(For { var: block, lower, upper, step: *lanes, mark, body: vec![once] }))
    }
}

/// Statements for each of some rows: once in code.
pub(super) fn row_by_row(rows: &Side, body: Vec<Stmt>) -> Stmt {
    Stmt::For(For::new(rows.var, rows.start.clone(), rows.start.clone() + rows.count, body))
}

/// What the bounds of a range are at most or at least in any of some rows; `None` where one row has not all of these.
fn outermost(rows: &Side, bounds: &[Index], largest: bool) -> Option<impl Iterator<Item = Index>> {
    let mut directions = Vec::new();
    for bound in bounds {
        directions.push(bound.direction(rows.var)?);
    }
    if directions.contains(&1) && directions.contains(&-1) {
        return None;
    }
    let all: Option<Vec<Index>> = bounds.iter().map(|bound| rows.extreme(bound, largest)).collect();
    all.map(Vec::into_iter)
}

/// Whether a value is made of sums whose ranges all elements have, and no load depends on both the row and the column.
fn separable(value: &Value, row: VarId, column: VarId) -> bool {
    let (mut sums, mut apart) = (false, true);
    value.visit(&mut |value| match value {
        Value::Sum(sum) => {
            sums = true;
            apart &= sum.condition.is_none();
        }
        Value::Load(_, index) => {
            let both = index.mentions(row) && index.mentions(column);
            apart &= !both && !index.has_loads();
        }
        _ => {}
    });
    sums && apart && !value.mentions_in_ranges(row) && !value.mentions_in_ranges(column)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{HEAD, SMALL, compare, tiled};

    #[test]
    fn rows_end_where_they_like() {
        // Rows of a triangle, of bands to either side, of trapezoids, and of all columns; elements that are added to.
        let ranges = [
            ("0", "i + 1", true),
            ("i", "M", true),
            ("max(0, i - 6)", "min(M, i + 1)", true),
            ("max(0, i - 1)", "min(M, i + 2)", true),
            ("max(0, M - 2 * i)", "M", true),
            ("3", "min(M, N - i + 4)", true),
            ("0", "M", true),
            // Some row may have no column of another one, or more columns than either of its bounds says.
            ("5 * i", "min(M, 5 * i + 9)", true),
            ("9 * i", "min(M, 9 * i + 9)", true),
            ("0", "min(i + 5, 19 - i)", false),
            // Rows that end at quotients, and such that begin there.
            ("0", "i / 2 + 1", true),
            ("0", "i - (i + 1) / 3 + 2", true),
            ("(2 * i + 1) / 3", "min(M, (3 * i + M) / 2)", true),
            ("max(0, (N - 5 * i + 3) / 4)", "M", true),
        ];
        for (lower, upper, side_by_side) in ranges {
            for mode in ["=", "+="] {
                let text = format!(
                    "func f(inout A, in B, in C) {{ parallel i = 0 to N {{ parallel k = {lower} to {upper} {{ \
                     A[40 * i + k] {mode} sum(x = 0 to 17) B[17 * i + x] * C[23 * x + k] }} }} }}"
                );
                let (before, after) = tiled(&format!("{HEAD}{text}"), &SMALL);
                assert_eq!(after.to_string().contains("A.rim"), side_by_side, "{after}");
                let sizes = [0, 1, 2, 3, 4, 5, 7, 8, 11, 17, 23];
                for n in sizes {
                    for m in sizes {
                        // The columns of a triangle are as many as its rows.
                        let m = if upper.contains('M') { m } else { 23 };
                        compare(&before, &after, &[n, m]);
                    }
                }
            }
        }
    }

    #[test]
    fn what_depends_on_rows_and_columns_is_not_read_elsewhere() {
        for value in [
            "sum(x = 0 to 17) B[17 * i + x] * C[i + k]",
            "sum(x = 0 to k) B[17 * i + x] * C[23 * x + k]",
            "sum(x = 0 to 17 if i < k + x) B[17 * i + x] * C[23 * x + k]",
            "B[i] * C[k]",
        ] {
            let text = format!(
                "func f(inout A, in B, in C) {{ parallel i = 0 to N {{ parallel k = 0 to i + 1 {{ \
                 A[40 * i + k] = {value} }} }} }}"
            );
            let (before, after) = tiled(&format!("{HEAD}{text}"), &SMALL);
            assert!(!after.to_string().contains("A.rim"), "{after}");
            compare(&before, &after, &[13, 13]);
        }
    }
}
