//! The semiring of a rule: how it adds products, and how it joins their factors.
//!
//! In a semiring, addition is associative and commutative, multiplication is associative and distributes over it, and
//! the zero of addition annihilates: a product with a factor that is not stored contributes nothing. That is why only
//! stored elements are read. In all of these semirings multiplication is commutative too.

use std::fmt;

use dastac_elements::Element;

use crate::ast::ReduceOp;

/// A semiring of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Semiring {
    /// Sums of products.
    #[default]
    SumTimes,
    /// Minima of sums, of numbers and infinity.
    MinPlus,
    /// Maxima of sums, of numbers and minus infinity.
    MaxPlus,
    /// Maxima of products, of numbers that are not negative.
    MaxTimes,
    /// The least of values, over all points: what is structurally zero is a value like others.
    Min,
    /// The largest of values, over all points.
    Max,
    /// The product of values, over all points.
    Prod,
    /// Whether any product has no zero factor, over truth values: 0 is false, everything else is true.
    OrAnd,
}

impl Semiring {
    /// Those that are semirings, not [of values](Semiring::is_of_values).
    pub const ALL: [Semiring; 5] = [
        Semiring::SumTimes,
        Semiring::MinPlus,
        Semiring::MaxPlus,
        Semiring::MaxTimes,
        Semiring::OrAnd,
    ];

    /// The semiring of a reduction whose factors are joined with `+` or with `*`, if there is one. If there is a single
    /// factor, a minimum is one of sums, and a maximum one of products.
    pub(crate) fn of(operator: ReduceOp, plus: Option<bool>) -> Option<Semiring> {
        match (operator, plus) {
            (ReduceOp::Min, Some(true) | None) => Some(Semiring::MinPlus),
            (ReduceOp::Max, Some(true)) => Some(Semiring::MaxPlus),
            (ReduceOp::Max | ReduceOp::MaxTimes, Some(false) | None) => Some(Semiring::MaxTimes),
            (ReduceOp::Or, Some(false) | None) => Some(Semiring::OrAnd),
            (ReduceOp::Sum, _) => Some(Semiring::SumTimes),
            (ReduceOp::Min, Some(false))
            | (ReduceOp::MaxTimes | ReduceOp::Or, Some(true))
            | (ReduceOp::Prod, _) => None,
        }
    }

    /// Whether products that are zero count, as they do not in semirings: it is about the values of all points.
    pub fn is_of_values(self) -> bool {
        matches!(self, Semiring::Min | Semiring::Max | Semiring::Prod)
    }

    /// Whether adding a number twice is the same as adding it once.
    pub fn is_idempotent(self, number: f64) -> bool {
        match self {
            Semiring::SumTimes => number == 0.0,
            Semiring::Prod => number == 0.0 || number == 1.0,
            _ => true,
        }
    }

    /// The operation that joins factors.
    pub fn is_plus(self) -> bool {
        matches!(self, Semiring::MinPlus | Semiring::MaxPlus)
    }

    /// The zero, which is the value of an element without products, and of elements that are not stored.
    pub fn zero(self) -> f64 {
        match self {
            Semiring::SumTimes | Semiring::MaxTimes | Semiring::OrAnd => 0.0,
            Semiring::MinPlus | Semiring::Min => f64::INFINITY,
            Semiring::MaxPlus | Semiring::Max => f64::NEG_INFINITY,
            Semiring::Prod => 1.0,
        }
    }

    /// The zero among elements of a type: integers are not infinite, so that it is the largest or the least of them.
    pub fn zero_in(self, element: Element) -> f64 {
        let (least, largest) = element.range();
        self.zero().clamp(least, largest)
    }

    /// The value of a product without factors.
    pub fn one(self) -> f64 {
        if self.is_plus() { 0.0 } else { 1.0 }
    }

    /// Adds two products.
    pub fn add(self, a: f64, b: f64) -> f64 {
        match self {
            Semiring::SumTimes => a + b,
            Semiring::Prod => a * b,
            // A result that is not a number stays one, so that it can be noticed.
            _ if a.is_nan() || b.is_nan() => f64::NAN,
            Semiring::MinPlus | Semiring::Min => a.min(b),
            Semiring::MaxPlus | Semiring::MaxTimes | Semiring::Max => a.max(b),
            Semiring::OrAnd => truth(a != 0.0 || b != 0.0),
        }
    }

    /// Joins two factors.
    pub fn multiply(self, a: f64, b: f64) -> f64 {
        match self {
            Semiring::OrAnd => truth(a != 0.0 && b != 0.0),
            Semiring::MinPlus | Semiring::MaxPlus => a + b,
            _ => a * b,
        }
    }
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// `(min, +)`
impl fmt::Display for Semiring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Semiring::SumTimes => "(+, *)",
            Semiring::MinPlus => "(min, +)",
            Semiring::MaxPlus => "(max, +)",
            Semiring::MaxTimes => "(max, *)",
            Semiring::Min => "minima of values",
            Semiring::Max => "maxima of values",
            Semiring::Prod => "products of values",
            Semiring::OrAnd => "(or, and)",
        })
    }
}
