//! The values that elements hold, as numbers.

use crate::element::Kind;
use crate::{Element, Native, Number, Scalar};

impl Element {
    /// The value that an element, or each part of a complex one, holds after `value` is stored to it: rounded to
    /// shorter floats (to those of 16 bits by way of 32), wrapped around to integers, and true if it is not 0. Exact
    /// for integers up to 2^53.
    pub fn round(self, value: f64) -> f64 {
        let bits = 8 * self.bytes() as i32;
        match self.kind() {
            Kind::Float => with_type!(self, T => rounded::<T>(value)),
            Kind::Complex => self.part().round(value),
            Kind::Signed => wrapped(value.trunc(), -2f64.powi(bits - 1), 2f64.powi(bits)),
            Kind::Unsigned => wrapped(value.trunc(), 0.0, 2f64.powi(bits)),
            Kind::Truth => f64::from(u8::from(value != 0.0)),
        }
    }

    /// The distance from 1 to the next larger number of a float type; 0 for integers, which do not round.
    pub fn epsilon(self) -> f64 {
        with_type!(self, T => <T as Native>::EPSILON)
    }
}

impl Scalar {
    /// As a 64-bit float: [`Number::to_f64`].
    pub fn to_f64(self) -> f64 {
        self.number().to_f64()
    }

    /// The same number, whatever it is stored as.
    pub fn number(self) -> Number {
        with_scalar!(self, value => value.number())
    }
}

/// A float as this type holds it; all float types hold the nearest one.
fn rounded<T: Native>(value: f64) -> f64 {
    T::from_number(Number::Float(value)).map_or(value, |stored| stored.number().to_f64())
}

/// An integer within the `count` integers from `least` on.
fn wrapped(value: f64, least: f64, count: f64) -> f64 {
    match value >= least && value < least + count {
        true => value,
        false => (value - least).rem_euclid(count) + least,
    }
}
