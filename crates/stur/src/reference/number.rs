//! Numbers of the evaluator: integers of 64 bits that wrap around, 64-bit floats, and complex numbers of these.
//!
//! The head of a rule decides what it computes with ([`Kind`]). An operand of another kind is converted when it is
//! read.

use dastac_elements::{Complex, Element, Number as Held, Storage};

use crate::semiring::Semiring;

/// What a rule, or a part of it, computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Integers modulo 2^64.
    Integers,
    /// 64-bit floats.
    Reals,
    /// Complex numbers of two of these.
    Complex,
}

impl Kind {
    /// What values are computed with that are stored as such elements.
    pub fn of(element: Element) -> Kind {
        match element {
            one if one.is_integer() => Kind::Integers,
            one if one.is_complex() => Kind::Complex,
            _ => Kind::Reals,
        }
    }
}

/// A number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Integer(i64),
    Real(f64),
    Complex(Complex<f64>),
}

impl Number {
    /// A number of a program, in a computation of this kind. Rules of integers have no fractions.
    pub fn of(kind: Kind, value: f64) -> Number {
        match kind {
            Kind::Integers => Number::Integer(value as i64),
            Kind::Reals | Kind::Complex => Number::Real(value),
        }
    }

    /// An iterator or symbol.
    pub fn of_index(kind: Kind, value: i64) -> Number {
        Number::Integer(value).as_kind(kind)
    }

    /// The value in a computation of another kind: integers beyond 2^53 are rounded to floats, and floats are cut off
    /// toward 0.
    pub fn as_kind(self, kind: Kind) -> Number {
        match (kind, self) {
            (Kind::Integers, Number::Integer(_)) => self,
            (Kind::Integers, other) => Number::Integer(other.real() as i64),
            (_, Number::Integer(value)) => Number::Real(value as f64),
            (_, other) => other,
        }
    }

    /// As a 64-bit float; of a complex number the real part.
    pub fn real(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Real(value) => value,
            Number::Complex(value) => value.re,
        }
    }

    /// As a complex number.
    pub(super) fn complex(self) -> Complex<f64> {
        match self {
            Number::Complex(value) => value,
            other => other.real().into(),
        }
    }

    /// The real and the imaginary part.
    pub fn parts(self) -> [f64; 2] {
        let Complex { re, im } = self.complex();
        [re, im]
    }

    pub fn is_zero(self) -> bool {
        match self {
            Number::Integer(value) => value == 0,
            Number::Real(value) => value == 0.0,
            Number::Complex(value) => value.re == 0.0 && value.im == 0.0,
        }
    }

    /// What an element holds after the number was stored to it: rounded to shorter floats, wrapped around to integers.
    pub fn stored(self, element: Element) -> Number {
        match (Kind::of(element), self) {
            (Kind::Integers, Number::Integer(value)) => Number::Integer(element.wrapped(value)),
            (Kind::Integers, _) if element == Element::Bool => {
                Number::Integer((!self.is_zero()).into())
            }
            (Kind::Integers, _) => self.as_kind(Kind::Integers).stored(element),
            (Kind::Reals, _) => Number::Real(element.round(self.real())),
            (Kind::Complex, _) => {
                let [re, im] = self.parts().map(|part| element.round(part));
                Number::Complex(Complex::new(re, im))
            }
        }
    }

    /// `coefficient` times an element, as a redundant element has it.
    pub fn scaled(self, coefficient: f64, element: Element) -> Number {
        match self {
            Number::Integer(value) => {
                Number::Integer(element.wrapped(value.wrapping_mul(coefficient as i64)))
            }
            Number::Real(value) => Number::Real(coefficient * value),
            Number::Complex(value) => Number::Complex(value * coefficient),
        }
    }

    /// One divided by a number.
    pub fn reciprocal(self) -> Number {
        match self {
            Number::Complex(value) if value.im != 0.0 => Number::Complex(value.inv()),
            other => Number::Real(other.real().recip()),
        }
    }

    /// As a number of an array.
    pub fn held(self) -> Held {
        match self {
            Number::Integer(value) => Held::Integer(value),
            Number::Real(value) => Held::Float(value),
            Number::Complex(value) => Held::Complex(value),
        }
    }

    /// A number of an array.
    pub fn read(array: &Storage, at: usize) -> Option<Number> {
        Some(match array.get(at)?.number() {
            Held::Float(value) => Number::Real(value),
            Held::Integer(value) => Number::Integer(value),
            Held::Truth(value) => Number::Integer(value.into()),
            Held::Complex(value) => Number::Complex(value),
        })
    }
}

/// Adds two products of a semiring. Complex numbers have one only, that of sums and products.
pub(super) fn add(semiring: Semiring, left: Number, right: Number) -> Number {
    match (left, right) {
        (Number::Integer(a), Number::Integer(b)) => Number::Integer(match semiring {
            Semiring::SumTimes => a.wrapping_add(b),
            Semiring::Prod => a.wrapping_mul(b),
            Semiring::MinPlus | Semiring::Min => a.min(b),
            Semiring::MaxPlus | Semiring::MaxTimes | Semiring::Max => a.max(b),
            Semiring::OrAnd => (a != 0 || b != 0).into(),
        }),
        (a, b) if is_real(a) && is_real(b) => Number::Real(semiring.add(a.real(), b.real())),
        (a, b) => Number::Complex(a.complex() + b.complex()),
    }
}

/// Joins two factors of a semiring.
pub(super) fn multiply(semiring: Semiring, left: Number, right: Number) -> Number {
    match (left, right) {
        (Number::Integer(a), Number::Integer(b)) => Number::Integer(match semiring {
            Semiring::MinPlus | Semiring::MaxPlus => a.wrapping_add(b),
            Semiring::OrAnd => (a != 0 && b != 0).into(),
            _ => a.wrapping_mul(b),
        }),
        (a, b) if is_real(a) && is_real(b) => Number::Real(semiring.multiply(a.real(), b.real())),
        (a, b) => Number::Complex(a.complex() * b.complex()),
    }
}

fn is_real(number: Number) -> bool {
    !matches!(number, Number::Complex(value) if value.im != 0.0)
}

/// Numbers as elements of a type, which all of them are values of.
pub(super) fn elements(element: Element, numbers: impl Iterator<Item = Number>) -> Option<Storage> {
    match Kind::of(element) {
        Kind::Integers => {
            let all: Vec<i64> = numbers
                .map(|number| match number {
                    Number::Integer(value) => value,
                    other => other.real() as i64,
                })
                .collect();
            Storage::from(all).cast(element).ok()
        }
        Kind::Reals => {
            let all: Vec<f64> = numbers.map(Number::real).collect();
            Storage::of_numbers(element, &all).ok()
        }
        Kind::Complex => {
            let all: Vec<f64> = numbers.flat_map(Number::parts).collect();
            Storage::of_numbers(element, &all).ok()
        }
    }
}
