//! Values of complex numbers in two parts, and what is computed with them.

use crate::ir::*;

/// A value in two parts.
#[derive(Clone)]
pub(super) struct Parts {
    pub real: Value,
    /// None of a real number.
    pub imaginary: Option<Value>,
}

pub(super) fn negated(value: Value) -> Value {
    Value::constant(-1.0) * value
}

/// `select(test, then, otherwise)`, where a complex test asks for either of its parts.
pub(super) fn selected(test: Parts, then: Parts, otherwise: Parts) -> Parts {
    let is_not_zero = |part: Value| Value::compare(Compare::Ne, part, Value::constant(0.0));
    let test = match test.imaginary {
        Some(imaginary) => is_not_zero(test.real).max(is_not_zero(imaginary)),
        None => test.real,
    };
    let zero = || Value::constant(0.0);
    let imaginary = match (then.imaginary, otherwise.imaginary) {
        (None, None) => None,
        (then, otherwise) => Some(Value::select(
            test.clone(),
            then.unwrap_or_else(zero),
            otherwise.unwrap_or_else(zero),
        )),
    };
    Parts { real: Value::select(test, then.real, otherwise.real), imaginary }
}

pub(super) fn sum(left: Parts, right: Parts) -> Parts {
    let imaginary = match (left.imaginary, right.imaginary) {
        (Some(left), Some(right)) => Some(left + right),
        (left, right) => left.or(right),
    };
    Parts { real: left.real + right.real, imaginary }
}

pub(super) fn product(left: Parts, right: Parts) -> Parts {
    let (a, c) = (left.real, right.real);
    let (real, imaginary) = match (left.imaginary, right.imaginary) {
        (None, None) => (a * c, None),
        (Some(b), None) => (a * c.clone(), Some(b * c)),
        (None, Some(d)) => (a.clone() * c, Some(a * d)),
        (Some(b), Some(d)) => {
            (a.clone() * c.clone() + negated(b.clone()) * d.clone(), Some(a * d + b * c))
        }
    };
    Parts { real, imaginary }
}

pub(super) fn quotient(left: Parts, right: Parts) -> Parts {
    let (a, c) = (left.real, right.real);
    let Some(d) = right.imaginary else {
        let imaginary = left.imaginary.map(|b| b / c.clone());
        return Parts { real: a / c, imaginary };
    };
    let norm = c.clone() * c.clone() + d.clone() * d.clone();
    let (real, imaginary) = match left.imaginary {
        None => (a.clone() * c, negated(a) * d),
        Some(b) => (a.clone() * c.clone() + b.clone() * d.clone(), b * c + negated(a) * d),
    };
    Parts { real: real / norm.clone(), imaginary: Some(imaginary / norm) }
}
