//! Arithmetic that numbers and expressions of the loop IR have in common, and linear functions in it.

use dastac_loops::Index;

/// An operation of an expression on its atoms' values, so that numbers and expressions of the loop IR are computed
/// alike.
pub trait Arithmetic: Clone {
    /// An integer.
    fn constant(value: i64) -> Self;
    /// A sum.
    fn plus(self, other: Self) -> Self;
    /// A multiple.
    fn times(self, factor: i64) -> Self;
    /// A quotient, rounded toward minus infinity.
    fn quotient(self, by: i64) -> Self;
    /// The remainder of that quotient.
    fn remainder(self, by: i64) -> Self;
}

impl Arithmetic for i128 {
    fn constant(value: i64) -> i128 {
        i128::from(value)
    }

    fn plus(self, other: i128) -> i128 {
        self.saturating_add(other)
    }

    fn times(self, factor: i64) -> i128 {
        self.saturating_mul(i128::from(factor))
    }

    fn quotient(self, by: i64) -> i128 {
        self.div_euclid(i128::from(by))
    }

    fn remainder(self, by: i64) -> i128 {
        self.rem_euclid(i128::from(by))
    }
}

impl Arithmetic for Index {
    fn constant(value: i64) -> Index {
        Index::Const(value)
    }

    fn plus(self, other: Index) -> Index {
        self + other
    }

    fn times(self, factor: i64) -> Index {
        if factor == 1 { self } else { self * factor }
    }

    fn quotient(self, by: i64) -> Index {
        self.floor_div(by)
    }

    fn remainder(self, by: i64) -> Index {
        self.modulo(by)
    }
}

/// A linear function of numbered variables: of the dimensions of a tensor, or, in the inverse of a map, of the values
/// of the levels' expressions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinearFunction {
    /// Variables, ascending, with factors that are not 0.
    pub terms: Vec<(usize, i64)>,
    /// The rest.
    pub constant: i64,
}

impl LinearFunction {
    pub(super) fn level(level: usize) -> LinearFunction {
        LinearFunction { terms: vec![(level, 1)], constant: 0 }
    }

    pub(super) fn plus(&self, other: &LinearFunction, times: i64) -> Option<LinearFunction> {
        let mut terms = self.terms.clone();
        for (level, factor) in &other.terms {
            let factor = factor.checked_mul(times)?;
            match terms.iter_mut().find(|(known, _)| known == level) {
                Some((_, sum)) => *sum = sum.checked_add(factor)?,
                None => terms.push((*level, factor)),
            }
        }
        terms.retain(|(_, factor)| *factor != 0);
        terms.sort_unstable();
        Some(LinearFunction {
            terms,
            constant: self.constant.checked_add(other.constant.checked_mul(times)?)?,
        })
    }

    /// Its value, given those of the levels' expressions.
    pub fn value<A: Arithmetic>(&self, level: &dyn Fn(usize) -> A) -> A {
        let terms = self.terms.iter().map(|(at, factor)| level(*at).times(*factor));
        terms.fold(A::constant(self.constant), A::plus)
    }
}
