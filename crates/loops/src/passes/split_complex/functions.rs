//! Functions of complex numbers, as functions of their two parts.

use super::parts::{Parts, negated, product, selected};
use crate::ir::*;

/// A function of values in two parts.
pub(super) fn applied(function: MathFunction, mut of: Vec<Parts>) -> Parts {
    let is_complex = of.iter().any(|one| one.imaginary.is_some());
    match (function, &mut of[..]) {
        (MathFunction::Complex, [x, y]) => {
            Parts { real: x.real.clone(), imaginary: Some(y.real.clone()) }
        }
        (MathFunction::Pow, [z, by]) if is_complex => power(z, by),
        (function, [Parts { real, imaginary: Some(imaginary) }]) => {
            of_both(function, real.clone(), imaginary.clone())
        }
        (MathFunction::Imag, [_]) => real(constant(0.0)),
        (MathFunction::Conj | MathFunction::Real, [x]) => real(x.real.clone()),
        (function, _) => real(of_reals(function, of.into_iter().map(|one| one.real).collect())),
    }
}

fn real(real: Value) -> Parts {
    Parts { real, imaginary: None }
}

fn constant(number: f64) -> Value {
    Value::constant(number)
}

fn of_reals(function: MathFunction, of: Vec<Value>) -> Value {
    Value::apply(function, of)
}

fn of_one(function: MathFunction, x: &Value) -> Value {
    of_reals(function, vec![x.clone()])
}

/// The distance from 0.
fn norm(a: &Value, b: &Value) -> Value {
    of_reals(MathFunction::Hypot, vec![a.clone(), b.clone()])
}

/// A function of `a + b i`.
fn of_both(function: MathFunction, a: Value, b: Value) -> Parts {
    use MathFunction::{Abs, Conj, Cos, Cosh, Exp, Imag, Log, Real, Sin, Sinh, Sqrt};
    let parts = |real: Value, imaginary: Value| Parts { real, imaginary: Some(imaginary) };
    // The hyperbolic functions of one part, times the circular ones of the other.
    let products = |[f, g, h, k]: [MathFunction; 4]| {
        (of_one(f, &a) * of_one(g, &b), of_one(h, &a) * of_one(k, &b))
    };
    match function {
        Conj => parts(a, negated(b)),
        Real => real(a),
        Imag => real(b),
        Abs => real(norm(&a, &b)),
        Exp => parts(of_one(Exp, &a) * of_one(Cos, &b), of_one(Exp, &a) * of_one(Sin, &b)),
        Log => log(&a, &b),
        Sqrt => root(a, b),
        Sin => {
            let (real, imaginary) = products([Sin, Cosh, Cos, Sinh]);
            parts(real, imaginary)
        }
        Cos => {
            let (real, imaginary) = products([Cos, Cosh, Sin, Sinh]);
            parts(real, negated(imaginary))
        }
        Sinh => {
            let (real, imaginary) = products([Sinh, Cos, Cosh, Sin]);
            parts(real, imaginary)
        }
        Cosh => {
            let (real, imaginary) = products([Cosh, Cos, Sinh, Sin]);
            parts(real, imaginary)
        }
        // Nothing else is defined on them.
        function => real(of_reals(function, vec![a])),
    }
}

/// The logarithm: that of the distance from 0, and the angle.
fn log(a: &Value, b: &Value) -> Parts {
    let angle = of_reals(MathFunction::Atan2, vec![b.clone(), a.clone()]);
    Parts { real: of_one(MathFunction::Log, &norm(a, b)), imaginary: Some(angle) }
}

/// The square root whose real part is not negative. With `t = sqrt((|a| + |z|) / 2)` it is `t + b / (2 t) i` where `a`
/// is not negative, else `|b| / (2 t)` and `t` with the sign of `b`, also that of a zero.
fn root(a: Value, b: Value) -> Parts {
    let zero = || constant(0.0);
    let less = |value: Value| Value::compare(Compare::Lt, value, zero());
    let sum = of_one(MathFunction::Abs, &a) + norm(&a, &b);
    let t = of_one(MathFunction::Sqrt, &(constant(0.5) * sum));
    let is_zero = Value::compare(Compare::Eq, t.clone(), zero());
    let half = Value::select(is_zero, b.clone(), b.clone() / (constant(2.0) * t.clone()));
    let is_left = less(a);
    let below = less(b.clone()).max(less(constant(1.0) / b));
    let upright = Value::select(below, negated(t.clone()), t.clone());
    Parts {
        real: Value::select(is_left.clone(), of_one(MathFunction::Abs, &half), t),
        imaginary: Some(Value::select(is_left, upright, half)),
    }
}

/// `exp(by * log(z))`; of 0, 0 where the real part of `by` is positive, 1 where it is 0 in both parts, else no number.
fn power(z: &Parts, by: &Parts) -> Parts {
    let zero = || constant(0.0);
    let is_zero = |value: &Value| Value::compare(Compare::Eq, value.clone(), zero());
    let both = |parts: &Parts| match &parts.imaginary {
        Some(imaginary) => is_zero(&parts.real) * is_zero(imaginary),
        None => is_zero(&parts.real),
    };
    let imaginary = z.imaginary.clone().unwrap_or_else(zero);
    let Parts { real: a, imaginary: b } = product(by.clone(), log(&z.real, &imaginary));
    let general = of_both(MathFunction::Exp, a, b.unwrap_or_else(zero));
    let nan = || constant(f64::NAN);
    let is_positive = Value::compare(Compare::Gt, by.real.clone(), zero());
    let of_zero = selected(
        real(is_positive),
        real(zero()),
        selected(
            real(both(by)),
            real(constant(1.0)),
            Parts { real: nan(), imaginary: Some(nan()) },
        ),
    );
    selected(real(both(z)), of_zero, general)
}
