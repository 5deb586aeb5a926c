//! Numbers of the evaluator: complex ones. Real ones have no imaginary part, and are computed with as real ones.

use dastac_elements::Complex;

use crate::semiring::Semiring;

/// A number.
pub type Number = Complex<f64>;

/// Adds two products of a semiring. Complex numbers have one only, that of sums and products.
pub fn add(semiring: Semiring, left: Number, right: Number) -> Number {
    match is_real(left) && is_real(right) {
        true => semiring.add(left.re, right.re).into(),
        false => left + right,
    }
}

/// Joins two factors of a semiring.
pub fn multiply(semiring: Semiring, left: Number, right: Number) -> Number {
    match is_real(left) && is_real(right) {
        true => semiring.multiply(left.re, right.re).into(),
        false => left * right,
    }
}

/// One divided by a number.
pub fn reciprocal(number: Number) -> Number {
    if is_real(number) { number.re.recip().into() } else { number.inv() }
}

fn is_real(number: Number) -> bool {
    number.im == 0.0
}
