//! Decides which integer expressions are quasi-affine, that is, which ones isl sets can express (dastac paper, section
//! 2).

use std::collections::BTreeSet;

use crate::ast::{BinaryOp, Expr, ExprKind, Span};

/// The value of an expression without names. `None` if it has a name, overflows, or divides by zero.
pub fn constant(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Int(value) => Some(*value),
        ExprKind::Name(_) => None,
        ExprKind::Neg(inner) => constant(inner)?.checked_neg(),
        ExprKind::Binary(op, left, right) => apply(*op, constant(left)?, constant(right)?),
    }
}

/// Applies an operator to 64-bit integers. Floor division and its remainder need a positive divisor. `None` on
/// overflow.
pub fn apply(op: BinaryOp, left: i64, right: i64) -> Option<i64> {
    match op {
        BinaryOp::Add => left.checked_add(right),
        BinaryOp::Sub => left.checked_sub(right),
        BinaryOp::Mul => left.checked_mul(right),
        // For a positive divisor, Euclidean division is floor division.
        BinaryOp::Div if right > 0 => left.checked_div_euclid(right),
        BinaryOp::Mod if right > 0 => left.checked_rem_euclid(right),
        BinaryOp::Div | BinaryOp::Mod => None,
    }
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Leaves the range of 64-bit integers.
    #[error("`{0}` is beyond 64 bits")]
    Overflow(String),
    /// A divisor is not positive.
    #[error("`{text}`, which is divided by, is {value}; divisors are positive")]
    Divisor {
        /// As it is written.
        text: String,
        /// Its value.
        value: i64,
    },
    /// A name without a value.
    #[error("`{0}` has no value")]
    Unknown(String),
}

/// The value of an expression, with checked arithmetic.
///
/// # Errors
/// Overflow, a divisor that is not positive, a name that `value_of` does not know.
pub fn value(expr: &Expr, value_of: &dyn Fn(&str) -> Option<i64>) -> Result<i64, ValueError> {
    let overflow = || ValueError::Overflow(expr.to_string());
    match &expr.kind {
        ExprKind::Int(value) => Ok(*value),
        ExprKind::Name(name) => value_of(name).ok_or_else(|| ValueError::Unknown(name.clone())),
        ExprKind::Neg(inner) => value(inner, value_of)?.checked_neg().ok_or_else(overflow),
        ExprKind::Binary(op, left, right) => {
            let (a, b) = (value(left, value_of)?, value(right, value_of)?);
            if matches!(op, BinaryOp::Div | BinaryOp::Mod) && b <= 0 {
                return Err(ValueError::Divisor { text: right.to_string(), value: b });
            }
            apply(*op, a, b).ok_or_else(overflow)
        }
    }
}

/// Whether an expression is quasi-affine in its names: sums, multiples by integer constants, and division or remainder
/// by positive integer constants. Symbols are names: `N * i` is not affine, `2 * N` is.
///
/// # Errors
/// The span of the smallest subexpression that is not.
pub fn is_affine(expr: &Expr) -> Result<(), Span> {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Name(_) => Ok(()),
        ExprKind::Neg(inner) => is_affine(inner),
        ExprKind::Binary(op, left, right) => {
            is_affine(left)?;
            is_affine(right)?;
            let fits = match op {
                BinaryOp::Add | BinaryOp::Sub => true,
                BinaryOp::Mul => constant(left).is_some() || constant(right).is_some(),
                BinaryOp::Div | BinaryOp::Mod => constant(right).is_some_and(|c| c > 0),
            };
            if fits { Ok(()) } else { Err(expr.span) }
        }
    }
}

/// All names in an expression.
pub fn names(expr: &Expr) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    visit_names(expr, &mut |name, _| {
        found.insert(name);
    });
    found
}

/// The names that the value of an expression bounds: those that are not only in a remainder, as `i` is in `i % 7`.
pub fn bounded_names(expr: &Expr) -> BTreeSet<&str> {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Mod, ..) => BTreeSet::new(),
        ExprKind::Neg(inner) => bounded_names(inner),
        ExprKind::Binary(_, left, right) => {
            bounded_names(left).into_iter().chain(bounded_names(right)).collect()
        }
        ExprKind::Int(_) | ExprKind::Name(_) => names(expr),
    }
}

/// Calls `visit` for each occurrence of a name, left to right.
pub fn visit_names<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a str, Span)) {
    match &expr.kind {
        ExprKind::Int(_) => {}
        ExprKind::Name(name) => visit(name, expr.span),
        ExprKind::Neg(inner) => visit_names(inner, visit),
        ExprKind::Binary(_, left, right) => {
            visit_names(left, visit);
            visit_names(right, visit);
        }
    }
}
