//! Numbers without the type that they are stored as.

use num_complex::Complex;

/// A number that some element holds, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A floating-point number of any length.
    Float(f64),
    /// An integer.
    Integer(i64),
    /// A truth value.
    Truth(bool),
    /// A complex number of any length.
    Complex(Complex<f64>),
}

impl Number {
    /// As a 64-bit float, to which large integers are rounded; not a number for a complex number that is not real.
    #[allow(clippy::cast_precision_loss)]
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Float(value) => value,
            Number::Integer(value) => value as f64,
            Number::Truth(value) => u8::from(value).into(),
            Number::Complex(value) if value.im == 0.0 => value.re,
            Number::Complex(_) => f64::NAN,
        }
    }

    /// As a complex number, to whose parts large integers are rounded.
    pub fn to_complex(self) -> Complex<f64> {
        match self {
            Number::Complex(value) => value,
            real => real.to_f64().into(),
        }
    }

    /// Whether it is this real number.
    pub fn is(self, number: f64) -> bool {
        self.to_f64() == number
    }

    /// As an integer, if it is one of 64 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    pub fn to_i64(self) -> Option<i64> {
        let limit = (1u64 << 63) as f64;
        match self {
            Number::Float(value) => {
                (value.fract() == 0.0 && value >= -limit && value < limit).then_some(value as i64)
            }
            Number::Integer(value) => Some(value),
            Number::Truth(value) => Some(value.into()),
            Number::Complex(_) => Number::Float(self.to_f64()).to_i64(),
        }
    }
}
