//! Exact polynomials over numbered columns, and their sums between linear bounds.
//!
//! Invariants: no term has the coefficient 0; the factors of a monomial are sorted by column and have exponents
//! above 0.
//! Numbers are fractions of 128-bit integers, and everything that could overflow is an error, never a wrong number.

use super::form::Form;
use crate::{Error, Result};
use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedMul, Zero};
use std::collections::BTreeMap;

pub(super) type Number = Ratio<i128>;

/// Columns with their exponents.
pub(super) type Monomial = Vec<(usize, u32)>;

/// A sum of terms. The derived order is only there to make collections deterministic.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Polynomial {
    terms: BTreeMap<Monomial, Number>,
}

fn overflow() -> Error {
    Error::Overflow { value: "a coefficient of a count".into() }
}

fn times(a: &Number, b: &Number) -> Result<Number> {
    a.checked_mul(b).ok_or_else(overflow)
}

impl Polynomial {
    pub(super) fn constant(value: Number) -> Polynomial {
        let mut constant = Polynomial::default();
        if !value.is_zero() {
            constant.terms.insert(Vec::new(), value);
        }
        constant
    }

    pub(super) fn linear(form: &Form) -> Polynomial {
        let mut linear = Polynomial::constant(i128::from(form.constant).into());
        for (column, coefficient) in form.nonzero() {
            linear.terms.insert(vec![(column, 1)], i128::from(coefficient).into());
        }
        linear
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = (&Monomial, &Number)> {
        self.terms.iter()
    }

    pub(super) fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    pub(super) fn mentions(&self, column: usize) -> bool {
        self.terms.keys().flatten().any(|(found, _)| *found == column)
    }

    fn add_term(&mut self, monomial: Monomial, coefficient: &Number) -> Result<()> {
        use std::collections::btree_map::Entry;
        match self.terms.entry(monomial) {
            Entry::Vacant(entry) => {
                if !coefficient.is_zero() {
                    entry.insert(*coefficient);
                }
            }
            Entry::Occupied(mut entry) => {
                let sum = entry.get().checked_add(coefficient).ok_or_else(overflow)?;
                if sum.is_zero() {
                    entry.remove();
                } else {
                    entry.insert(sum);
                }
            }
        }
        Ok(())
    }

    /// Adds `factor * other`.
    pub(super) fn add_scaled(&mut self, other: &Polynomial, factor: &Number) -> Result<()> {
        for (monomial, coefficient) in &other.terms {
            self.add_term(monomial.clone(), &times(coefficient, factor)?)?;
        }
        Ok(())
    }

    pub(super) fn add(&mut self, other: &Polynomial) -> Result<()> {
        self.add_scaled(other, &Number::from_integer(1))
    }

    pub(super) fn multiply(&self, other: &Polynomial) -> Result<Polynomial> {
        let mut product = Polynomial::default();
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                product.add_term(joined(left, right), &times(a, b)?)?;
            }
        }
        Ok(product)
    }

    /// The coefficients of the powers of a column, from the power 0 on.
    fn by_power(&self, column: usize) -> Vec<Polynomial> {
        let mut powers = vec![Polynomial::default()];
        for (monomial, coefficient) in &self.terms {
            let power = monomial.iter().find(|(found, _)| *found == column).map_or(0, |(_, e)| *e);
            let rest = monomial.iter().filter(|(found, _)| *found != column).copied().collect();
            let power = power as usize;
            if powers.len() <= power {
                powers.resize(power + 1, Polynomial::default());
            }
            powers[power].terms.insert(rest, *coefficient);
        }
        powers
    }

    /// `sum of powers[k] * value^k`, by Horner's rule.
    fn evaluate(powers: &[Polynomial], value: &Polynomial) -> Result<Polynomial> {
        let mut result = Polynomial::default();
        for power in powers.iter().rev() {
            result = result.multiply(value)?;
            result.add(power)?;
        }
        Ok(result)
    }

    /// Replaces a column by a linear form (which may mention the column itself).
    pub(super) fn substitute(&self, column: usize, value: &Form) -> Result<Polynomial> {
        if !self.mentions(column) {
            return Ok(self.clone());
        }
        Polynomial::evaluate(&self.by_power(column), &Polynomial::linear(value))
    }

    /// The sum for `column` from `below + 1` to `high`, which do not mention it: right wherever `high >= below`, so
    /// also for no summand.
    ///
    /// `1` from `-1 + 1` to `i` -> `i + 1`
    pub(super) fn sum(
        &self,
        column: usize,
        below: &Polynomial,
        high: &Polynomial,
    ) -> Result<Polynomial> {
        // With S_k(n) = 1^k + .. + n^k, a polynomial without a constant term: sum of c_k * x^k = sum of c_k *
        // (S_k(high) - S_k(below)).
        let powers = self.by_power(column);
        let mut total = vec![Polynomial::default(); powers.len() + 1];
        for (k, coefficient) in powers.iter().enumerate() {
            for (m, number) in power_sum(k)?.iter().enumerate() {
                total[m].add_scaled(coefficient, number)?;
            }
        }
        let mut sum = Polynomial::evaluate(&total, high)?;
        let subtracted = Polynomial::evaluate(&total, below)?;
        sum.add_scaled(&subtracted, &Number::from_integer(-1))?;
        Ok(sum)
    }
}

/// The product of two monomials.
fn joined(left: &Monomial, right: &Monomial) -> Monomial {
    let mut product = Vec::with_capacity(left.len() + right.len());
    let (mut a, mut b) = (left.iter().peekable(), right.iter().peekable());
    loop {
        match (a.peek(), b.peek()) {
            (Some((x, e)), Some((y, f))) if x == y => {
                product.push((*x, e + f));
                a.next();
                b.next();
            }
            (Some(x), Some(y)) if x.0 > y.0 => product.extend(b.next()),
            (Some(_), _) => product.extend(a.next()),
            (None, Some(_)) => product.extend(b.next()),
            (None, None) => return product,
        }
    }
}

/// Faulhaber's formula: the coefficients of `1^k + .. + n^k` by power of n, from the power 0 (whose coefficient is 0)
/// to k + 1.
fn power_sum(k: usize) -> Result<Vec<Number>> {
    // (n + 1)^(k+1) - 1 = sum over j <= k of C(k+1, j) S_j(n), solved for S_k.
    let mut known: Vec<Vec<Number>> = Vec::new();
    for degree in 0..=k {
        let binomials = binomials(degree + 1)?;
        let mut sum = binomials.clone();
        sum[0] = Number::zero();
        for (j, lower) in known.iter().enumerate() {
            for (m, number) in lower.iter().enumerate() {
                let part = times(&-binomials[j], number)?;
                sum[m] = sum[m].checked_add(&part).ok_or_else(overflow)?;
            }
        }
        let scale = Number::new(1, degree as i128 + 1);
        known.push(sum.iter().map(|number| times(number, &scale)).collect::<Result<_>>()?);
    }
    Ok(known.pop().unwrap_or_default())
}

/// `C(n, 0) ..= C(n, n)`
fn binomials(n: usize) -> Result<Vec<Number>> {
    let mut row = vec![Number::from_integer(1)];
    for k in 0..n {
        let factor = Number::new((n - k) as i128, k as i128 + 1);
        row.push(times(&row[k], &factor)?);
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(polynomial: &Polynomial, values: &[i128]) -> Number {
        let terms = polynomial.terms.iter().map(|(monomial, coefficient)| {
            monomial.iter().fold(*coefficient, |product, (column, exponent)| {
                product * Number::from_integer(values[*column].pow(*exponent))
            })
        });
        terms.fold(Number::zero(), |a, b| a + b)
    }

    #[test]
    fn sums_of_powers_are_faulhabers() {
        for k in 0..12 {
            let sum = power_sum(k).unwrap();
            assert_eq!(sum[0], Number::zero());
            for n in 0..9i128 {
                let expected: i128 = (1..=n).map(|x| x.pow(k as u32)).sum();
                let found = sum.iter().enumerate().fold(Number::zero(), |total, (m, number)| {
                    total + number * Number::from_integer(n.pow(m as u32))
                });
                assert_eq!(found, Number::from_integer(expected), "k = {k}, n = {n}");
            }
        }
    }

    #[test]
    fn sums_between_forms_are_right_down_to_no_summand() {
        // x^2 * y + 3 x, for x from y - 2 to 2 y
        let (x, y) = (Form::column(0), Form::column(1));
        let mut summand = Polynomial::linear(&x).multiply(&Polynomial::linear(&x)).unwrap();
        summand = summand.multiply(&Polynomial::linear(&y)).unwrap();
        summand.add_scaled(&Polynomial::linear(&x), &Number::from_integer(3)).unwrap();
        let below = Polynomial::linear(&y.plus_constant(-3).unwrap());
        let high = Polynomial::linear(&y.scaled(2).unwrap());
        let sum = summand.sum(0, &below, &high).unwrap();
        assert!(!sum.mentions(0));
        for y in -3..6i128 {
            let expected: i128 = (y - 2..=2 * y).map(|x| x * x * y + 3 * x).sum();
            assert_eq!(value(&sum, &[0, y]), Number::from_integer(expected), "y = {y}");
        }
    }

    #[test]
    fn a_column_can_be_replaced_by_a_form_of_itself() {
        let x = Polynomial::linear(&Form::column(0));
        let square = x.multiply(&x).unwrap();
        let form = Form::column(0).scaled(2).unwrap().plus_constant(1).unwrap();
        assert_eq!(value(&square.substitute(0, &form).unwrap(), &[5]), Number::from_integer(121));
    }

    #[test]
    fn overflow_is_an_error() {
        let big = Polynomial::constant(Number::from_integer(i128::MAX));
        assert!(matches!(big.multiply(&big), Err(Error::Overflow { .. })));
        let mut sum = big.clone();
        assert!(matches!(sum.add(&big), Err(Error::Overflow { .. })));
    }
}
