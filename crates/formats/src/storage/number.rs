//! Numbers that queries compare.

use dastac_elements::Number;

/// A number, or the real part of a complex one.
pub(super) fn real(number: Number) -> f64 {
    match number {
        Number::Complex(value) => value.re,
        other => other.to_f64(),
    }
}
