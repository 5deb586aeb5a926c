//! Which iterators comparisons bound, as far as their text says.

use std::collections::BTreeSet;

use crate::affine::names;
use crate::ast::{BinaryOp, CompareOp, Comparison, Expr, ExprKind};

/// The iterators that comparisons bound from both sides, by numbers, symbols and iterators that are bounded: those of
/// `known`, and those that follow. Before -> after, of `(i = j + 1) * (k <= i)`: `j` -> `i`, `j`.
pub(crate) fn bounded<'p>(
    comparisons: &[Comparison],
    iterators: &'p [String],
    mut known: BTreeSet<&'p str>,
) -> BTreeSet<&'p str> {
    loop {
        let is_known =
            |name: &str| known.contains(name) || iterators.iter().all(|iterator| iterator != name);
        let next = iterators.iter().map(String::as_str).find(|name| {
            !known.contains(name) && sides(comparisons, name, &is_known) == (true, true)
        });
        match next {
            Some(name) => known.insert(name),
            None => return known,
        };
    }
}

/// Whether comparisons bound a name from below, and from above: pairs whose other names are all `known`.
pub(crate) fn sides(
    comparisons: &[Comparison],
    name: &str,
    known: &dyn Fn(&str) -> bool,
) -> (bool, bool) {
    let (mut below, mut above) = (false, false);
    for comparison in comparisons {
        for (pair, operator) in comparison.operands.windows(2).zip(&comparison.operators) {
            let mut others = names(&pair[0]);
            others.extend(names(&pair[1]));
            if others.iter().any(|other| *other != name && !known(other)) {
                continue;
            }
            let (left, right) = (signs(&pair[0], name), signs(&pair[1], name));
            let (up, down) = (left.0 || right.1, left.1 || right.0);
            let (low, high) = match operator {
                CompareOp::Eq => (up || down, up || down),
                CompareOp::Lt | CompareOp::Le => (down, up),
                CompareOp::Gt | CompareOp::Ge => (up, down),
                CompareOp::Ne => (false, false),
            };
            (below, above) = (below || low, above || high);
        }
    }
    (below, above)
}

/// Whether an expression may grow, and whether it may shrink, when a name grows.
fn signs(expr: &Expr, name: &str) -> (bool, bool) {
    match &expr.kind {
        ExprKind::Int(_) => (false, false),
        ExprKind::Name(other) => (other == name, false),
        ExprKind::Neg(inner) => {
            let (up, down) = signs(inner, name);
            (down, up)
        }
        ExprKind::Binary(op, left, right) => {
            let (left, right) = (signs(left, name), signs(right, name));
            match op {
                BinaryOp::Add => (left.0 || right.0, left.1 || right.1),
                BinaryOp::Sub => (left.0 || right.1, left.1 || right.0),
                // A product or quotient may do anything that the name's sign allows.
                BinaryOp::Mul | BinaryOp::Div => {
                    let any = left.0 || left.1 || right.0 || right.1;
                    (any, any)
                }
                // A remainder bounds nothing, but a typing error does not stand there: let later stages judge.
                BinaryOp::Mod => {
                    let any = left.0 || left.1;
                    (any, any)
                }
            }
        }
    }
}
