//! How large the numbers become that code computes for a position.

use dastac_loops::{EvalError, Index};
use serde::{Deserialize, Serialize};

/// A polynomial with absolute values: a bound on every partial sum and product on the way to a position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Magnitude {
    /// What is added up.
    pub terms: Vec<Monomial>,
}

/// `factor * a^k * b^l * ..`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Monomial {
    /// The absolute value of the coefficient; one beyond 64 bits is the largest.
    pub factor: u64,
    /// Atoms with their exponents.
    pub powers: Vec<(Atom, u32)>,
}

/// What a monomial is a product of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Atom {
    /// An expression of the symbols.
    Symbols(Index),
    /// A subscript, by its dimension.
    Subscript(usize),
    /// `constant + sum of factor * atom`: what is divided in a floor division.
    Sum(u64, Vec<(Atom, u64)>),
}

impl Magnitude {
    /// The bound for values of the symbols, and subscripts up to `largest`; saturates.
    ///
    /// # Errors
    /// An expression of the symbols that has no value.
    pub fn bound(&self, symbols: &[i64], largest: &[u64]) -> Result<u128, EvalError> {
        let mut sum: u128 = 0;
        for Monomial { factor, powers } in &self.terms {
            let mut value = u128::from(*factor);
            for (atom, exponent) in powers {
                let base = atom.bound(symbols, largest)?.max(1);
                value = value.saturating_mul(base.saturating_pow(*exponent));
            }
            sum = sum.saturating_add(value);
        }
        Ok(sum)
    }
}

impl Atom {
    fn bound(&self, symbols: &[i64], largest: &[u64]) -> Result<u128, EvalError> {
        match self {
            Atom::Symbols(index) => Ok(index.eval_symbols(symbols)?.unsigned_abs().into()),
            Atom::Subscript(dimension) => {
                Ok(largest.get(*dimension).copied().unwrap_or(u64::MAX).into())
            }
            Atom::Sum(constant, terms) => {
                let mut sum = u128::from(*constant);
                for (atom, factor) in terms {
                    let value = atom.bound(symbols, largest)?;
                    sum = sum.saturating_add(value.saturating_mul((*factor).into()));
                }
                Ok(sum)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dastac_loops::SymbolId;

    #[test]
    fn terms_are_added_up() {
        // N * i + floor((3 * i + 1) / 2)
        let (n, i) = (Atom::Symbols(Index::Symbol(SymbolId(0))), Atom::Subscript(0));
        let halved = Atom::Sum(1, vec![(i.clone(), 3)]);
        let terms = vec![
            Monomial { factor: 1, powers: vec![(n, 1), (i, 1)] },
            Monomial { factor: 1, powers: vec![(halved, 1)] },
        ];
        let magnitude = Magnitude { terms };
        assert_eq!(magnitude.bound(&[10], &[9]), Ok(10 * 9 + 28));
        assert!(magnitude.bound(&[i64::MAX], &[u64::MAX]).unwrap() > u128::from(u64::MAX));
    }
}
