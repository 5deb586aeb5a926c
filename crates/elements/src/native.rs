//! Rust's types for elements.

use crate::Number;
use crate::element::Named;
use half::{bf16, f16};
use num_complex::Complex;
use std::fmt::{Debug, Display};

/// A Rust type that elements have. Its default, the value of all zero bits, is zero.
pub trait Native:
    Named + Copy + Debug + Default + Display + PartialEq + Send + Sync + 'static
{
    /// The distance from 1 to the next larger number; 0 for integers.
    const EPSILON: f64;

    /// The sum of two entries of one element, if there is one: integers can overflow. Truth values are joined by `or`.
    fn plus(self, other: Self) -> Option<Self>;

    /// The negated value, if there is one.
    fn negated(self) -> Option<Self>;

    /// The same number, whatever it is stored as.
    fn number(self) -> Number;

    /// A number as this type holds it. Floats are rounded to shorter ones; there is none for a number that an integer
    /// type cannot hold, for an integer that a float type would round, or for a complex number that is not real where
    /// the type is. Truth values become 0 and 1; what is not 0 is
    /// true.
    fn from_number(number: Number) -> Option<Self>;

    /// Of a number that this type holds, as [`Element::round`](crate::Element::round) makes them. Integers from 2^53 on
    /// are exact too.
    fn from_rounded(value: f64) -> Self;

    /// In the lowest bits of a word.
    fn to_word(self) -> u128;

    /// The inverse of [`Native::to_word`].
    fn from_word(word: u128) -> Self;

    /// Of its bytes, the lowest first; there must be as many as an element has.
    fn of_bytes(bytes: &[u8]) -> Self {
        let mut word = [0; 16];
        word[..bytes.len()].copy_from_slice(bytes);
        Self::from_word(u128::from_le_bytes(word))
    }

    /// Whether it is this number.
    fn is(self, number: f64) -> bool {
        self.number().is(number)
    }
}

/// Room for the word of an element, see [`Native::to_word`].
pub trait Word: Copy + Default + Send + Sync + 'static {
    /// The lowest bits of a longer word.
    fn of(word: u128) -> Self;

    /// With zeros above.
    fn long(self) -> u128;
}

impl Word for u64 {
    #[allow(clippy::cast_possible_truncation)]
    fn of(word: u128) -> u64 {
        word as u64
    }

    fn long(self) -> u128 {
        self.into()
    }
}

impl Word for u128 {
    fn of(word: u128) -> u128 {
        word
    }

    fn long(self) -> u128 {
        self
    }
}

macro_rules! float {
    ($type:ty, $word:ty, $epsilon:expr, $narrow:expr) => {
        impl Native for $type {
            const EPSILON: f64 = $epsilon;

            fn plus(self, other: Self) -> Option<Self> {
                Some(self + other)
            }

            fn negated(self) -> Option<Self> {
                Some(-self)
            }

            fn number(self) -> Number {
                Number::Float(self.into())
            }

            #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
            fn from_number(number: Number) -> Option<Self> {
                let value = Self::from_rounded(number.to_f64());
                match number {
                    // Beyond 2^53 the conversion to a 64-bit float may have rounded already.
                    Number::Integer(integer) => {
                        let held = f64::from(value);
                        let exact = held.is_finite() && held as i128 == i128::from(integer);
                        exact.then_some(value)
                    }
                    Number::Float(_) | Number::Truth(_) => Some(value),
                    Number::Complex(number) => (number.im == 0.0).then_some(value),
                }
            }

            #[allow(clippy::cast_possible_truncation)]
            fn from_rounded(value: f64) -> Self {
                $narrow(value)
            }

            fn to_word(self) -> u128 {
                self.to_bits().into()
            }

            #[allow(clippy::cast_possible_truncation)]
            fn from_word(word: u128) -> Self {
                Self::from_bits(word as $word)
            }
        }
    };
}

macro_rules! integer {
    ($type:ty, $word:ty) => {
        impl Native for $type {
            const EPSILON: f64 = 0.0;

            fn plus(self, other: Self) -> Option<Self> {
                self.checked_add(other)
            }

            fn negated(self) -> Option<Self> {
                self.checked_neg()
            }

            fn number(self) -> Number {
                Number::Integer(self.into())
            }

            fn from_number(number: Number) -> Option<Self> {
                number.to_i64()?.try_into().ok()
            }

            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            fn from_rounded(value: f64) -> Self {
                value as $type
            }

            #[allow(clippy::cast_sign_loss)]
            fn to_word(self) -> u128 {
                u128::from(self as $word)
            }

            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
            fn from_word(word: u128) -> Self {
                word as $word as $type
            }
        }
    };
}

macro_rules! complex {
    ($part:ty) => {
        impl Native for Complex<$part> {
            const EPSILON: f64 = <$part as Native>::EPSILON;

            fn plus(self, other: Self) -> Option<Self> {
                Some(self + other)
            }

            fn negated(self) -> Option<Self> {
                Some(-self)
            }

            fn number(self) -> Number {
                Number::Complex(Complex::new(self.re.into(), self.im.into()))
            }

            fn from_number(number: Number) -> Option<Self> {
                let part = <$part>::from_rounded;
                match number {
                    Number::Complex(Complex { re, im }) => Some(Complex::new(part(re), part(im))),
                    real => Some(Complex::new(<$part>::from_number(real)?, 0.0)),
                }
            }

            fn from_rounded(value: f64) -> Self {
                Complex::new(<$part>::from_rounded(value), 0.0)
            }

            fn to_word(self) -> u128 {
                self.re.to_word() | self.im.to_word() << (8 * size_of::<$part>())
            }

            fn from_word(word: u128) -> Self {
                let part = <$part>::from_word;
                Complex::new(part(word), part(word >> (8 * size_of::<$part>())))
            }
        }
    };
}

float!(f64, u64, f64::EPSILON, |value| value);
float!(f32, u32, f32::EPSILON as f64, |value| value as f32);
// By way of 32 bits: numbers of these types are computed in them.
float!(f16, u16, 1.0 / 1024.0, |value| f16::from_f32(value as f32));
float!(bf16, u16, 1.0 / 128.0, |value| bf16::from_f32(value as f32));
complex!(f64);
complex!(f32);
integer!(i8, u8);
integer!(i16, u16);
integer!(u8, u8);
integer!(u16, u16);
integer!(i32, u32);
integer!(i64, u64);
integer!(u32, u32);

impl Native for bool {
    const EPSILON: f64 = 0.0;

    fn plus(self, other: Self) -> Option<Self> {
        Some(self || other)
    }

    fn negated(self) -> Option<Self> {
        None
    }

    fn number(self) -> Number {
        Number::Truth(self)
    }

    fn from_number(number: Number) -> Option<Self> {
        Some(match number {
            Number::Float(value) => value != 0.0,
            Number::Integer(value) => value != 0,
            Number::Truth(value) => value,
            Number::Complex(_) => !number.is(0.0),
        })
    }

    fn from_rounded(value: f64) -> Self {
        value != 0.0
    }

    fn to_word(self) -> u128 {
        self.into()
    }

    fn from_word(word: u128) -> Self {
        word != 0
    }
}
