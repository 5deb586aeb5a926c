//! How much work the iterations of a loop are, for parts of equal work.
//!
//! The work of a nest is its number of innermost terms: sums of sums, each over a range that depends on the loops outside. Where a range
//! does not depend on them it is a factor; where it does, Simpson's rule takes the sum for what it is: a polynomial, of the third degree at most in
//! nearly all nests. It does not have to be exact, because it only says where a part ends.
//!
//! Before -> after, of `i = 0 to N { j = i to N { .. } }` before `e`: `e * ((N - 0) + 4 * (N - e / 2) + (N - e)) / 6`.

use super::Level;
use crate::ir::*;

/// An expression of more parts is not made three times as long, but taken at the middle of the range.
const LONG: usize = 300;

/// The work of `levels` with `value` inside, where the first of them ends before `end`.
pub(super) fn before(levels: &[Level], value: &Value, end: VarId) -> Index {
    let Some((first, rest)) = levels.split_first() else { return Index::Const(0) };
    total(first.var, (&first.lower, &[Index::Var(end)]), &of_levels(rest, value))
}

fn of_levels(levels: &[Level], value: &Value) -> Index {
    let Some((first, rest)) = levels.split_first() else { return of_value(value) };
    total(first.var, (&first.lower, &first.upper), &of_levels(rest, value))
}

/// Of one element: its loads.
fn of_value(value: &Value) -> Index {
    match value {
        Value::Const(_) | Value::FromIndex(_) => Index::Const(0),
        Value::Load(..) => Index::Const(1),
        Value::Add(left, right) | Value::Mul(left, right) | Value::Div(left, right) => {
            of_value(left) + of_value(right)
        }
        Value::Sum(sum) => total(sum.var, (&sum.lower, &sum.upper), &of_value(&sum.body)) + 1,
    }
}

/// The sum of `inside` over a range of `var`.
fn total(var: VarId, (lower, upper): (&[Index], &[Index]), inside: &Index) -> Index {
    let first = lower.iter().cloned().reduce(Index::max).unwrap_or(Index::Const(0));
    let last = upper.iter().cloned().reduce(Index::min).unwrap_or(Index::Const(0));
    let length = (last.clone() - first.clone()).max(Index::Const(0));
    if !inside.mentions(var) {
        return length * inside.clone();
    }
    let middle = (first.clone() + last.clone()).floor_div(2);
    let at = |index: &Index| inside.substitute(var, index);
    let mut size = 0;
    inside.visit(&mut |_| size += 1);
    if size > LONG {
        return length * at(&middle);
    }
    length * (at(&first) + at(&middle) * 4 + at(&last)).floor_div(6)
}
