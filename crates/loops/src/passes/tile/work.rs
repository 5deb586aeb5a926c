//! How much work the iterations of a loop are, for parts of equal work.
//!
//! The work of a nest is its number of innermost terms: sums of sums, each over a range that depends on the loops
//! outside. Where a range does not depend on them it is a factor; where it does, Simpson's rule takes the sum for what
//! it is: a polynomial, of the third degree at most in nearly all nests. It does not have to be exact, because it only
//! says where a part ends.
//!
//! Before -> after, of `i = 0 to N { j = i to N { .. } }` before `e`: `e * ((N - 0) + 4 * (N - e / 2) + (N - e)) / 6`.

use super::nest::Level;
use crate::ir::*;
use crate::machine::Machine;
use crate::passes::polyhedra::scan::Range;

/// An expression of more parts is not made three times as long, but taken at the middle of the range.
const LONG: usize = 300;

/// The work of `levels` with `value` inside, where the first of them ends before `end`.
pub(super) fn before(levels: &[Level], value: &Value, end: VarId, machine: &Machine) -> Index {
    let Some((first, rest)) = levels.split_first() else { return Index::Const(0) };
    total(first.var, (&first.lower, &[Index::Var(end)]), &of_levels(rest, value, machine))
}

/// The work of the points of nested ranges, of which the first ends before `end`.
pub(crate) fn of_ranges(
    vars: &[VarId],
    ranges: Vec<Range>,
    end: VarId,
    machine: &Machine,
) -> Index {
    let level = |(var, Range { lower, upper }): (&VarId, Range)| Level { var: *var, lower, upper };
    let levels: Vec<Level> = vars.iter().zip(ranges).map(level).collect();
    let two = Value::Load(BufferId(0), 0.into()) * Value::Load(BufferId(0), 0.into());
    before(&levels, &two, end, machine)
}

/// The number of points of nested ranges.
pub(crate) fn points(vars: &[VarId], ranges: Vec<Range>) -> Index {
    let level = |(var, Range { lower, upper }): (&VarId, Range)| Level { var: *var, lower, upper };
    iterations(&vars.iter().zip(ranges).map(level).collect::<Vec<_>>())
}

/// The number of innermost iterations.
pub(super) fn iterations(levels: &[Level]) -> Index {
    let Some((first, rest)) = levels.split_first() else { return Index::Const(1) };
    total(first.var, (&first.lower, &first.upper), &iterations(rest))
}

fn of_levels(levels: &[Level], value: &Value, machine: &Machine) -> Index {
    let Some((first, rest)) = levels.split_first() else { return of_value(value, machine) };
    total(first.var, (&first.lower, &first.upper), &of_levels(rest, value, machine))
}

/// Of one element: its loads, and its functions as so many loads.
pub(crate) fn of_value(value: &Value, machine: &Machine) -> Index {
    let own = match value {
        Value::Load(..) => 1,
        Value::Apply(function, _) => machine.cost(*function),
        Value::Sum(sum) => {
            let body = of_value(&sum.body, machine);
            return total(sum.var, (&sum.lower, &sum.upper), &body) + 1;
        }
        _ => 0,
    };
    let parts = value.parts().into_iter();
    parts.fold(Index::Const(own), |sum, part| sum + of_value(part, machine))
}

/// The sum of `inside` over a range of `var`.
pub(crate) fn total(var: VarId, (lower, upper): (&[Index], &[Index]), inside: &Index) -> Index {
    let first = lower.iter().cloned().reduce(Index::max).unwrap_or(Index::Const(0));
    let last = upper.iter().cloned().reduce(Index::min).unwrap_or(Index::Const(0));
    let length = (last.clone() - first.clone()).max(Index::Const(0));
    if !inside.mentions(var) {
        return length * inside.clone();
    }
    if loads(inside, var) {
        return telescoped(var, (&first, &last), inside, &length).unwrap_or(length);
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

/// Whether `var` decides about what an expression loads.
fn loads(index: &Index, var: VarId) -> bool {
    let mut found = false;
    index.visit(&mut |part| found |= matches!(part, Index::Load(..)) && part.mentions(var));
    found
}

/// The sum over a range of `a * x + b`, where `x` is the length of a segment of positions: `pos[var + 1] - pos[var]`.
///
/// Before -> after, of `i` from `f` to `l`: `2 * max(pos[i + 1] - pos[i], 0) + 1` -> `2 * (pos[l] - pos[f]) + (l - f)`.
fn telescoped(
    var: VarId,
    (first, last): (&Index, &Index),
    inside: &Index,
    length: &Index,
) -> Option<Index> {
    let mut segment: Option<(&Index, BufferId, &Index)> = None;
    inside.visit(&mut |part| {
        if let Some((buffer, start)) = segment_of(part)
            && start.constant_stride(var) == Some(1)
        {
            segment = segment.or(Some((part, buffer, start)));
        }
    });
    let (segment, buffer, start) = segment?;
    let with = |value: i64| replaced(inside, segment, &Index::Const(value));
    let (one, rest) = (with(1), with(0));
    if one.mentions(var) || rest.mentions(var) {
        return None;
    }
    let at = |index: &Index| Index::Load(buffer, Box::new(start.substitute(var, index)));
    let all = (at(last) - at(first)).max(Index::Const(0));
    Some((one - rest.clone()) * all + rest * length.clone())
}

/// The buffer and the place of the first position of a segment, if this is a segment's length.
pub(crate) fn segment_of(index: &Index) -> Option<(BufferId, &Index)> {
    let Index::Max(difference, zero) = index else { return None };
    let (Index::Sub(end, start), Index::Const(0)) = (&**difference, &**zero) else { return None };
    let (Index::Load(one, next), Index::Load(other, this)) = (&**end, &**start) else {
        return None;
    };
    (one == other && next.constant_difference(this) == Some(1)).then_some((*one, &**this))
}

/// An expression with another in place of a part of it; sums and products are looked into, which is what work is made
/// of.
fn replaced(index: &Index, part: &Index, by: &Index) -> Index {
    let go = |index: &Index| replaced(index, part, by);
    match index {
        _ if index == part => by.clone(),
        Index::Add(left, right) => go(left) + go(right),
        Index::Sub(left, right) => go(left) - go(right),
        Index::Mul(left, right) => go(left) * go(right),
        _ => index.clone(),
    }
}
