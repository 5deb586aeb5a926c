//! Linear forms over numbered columns with integer coefficients.

use crate::{Error, Result};

/// `constant + sum of coefficients[k] * column k`; columns beyond the end have the coefficient 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Form {
    coefficients: Vec<i64>,
    pub(super) constant: i64,
}

/// A result that does not fit is an error: isl gets its numbers as machine integers.
pub(super) fn fits(value: i128) -> Result<i64> {
    i64::try_from(value).map_err(|_| Error::Overflow { value: value.to_string() })
}

impl Form {
    pub(super) fn new(coefficients: Vec<i64>, constant: i64) -> Form {
        let mut form = Form { coefficients, constant };
        form.trim();
        form
    }

    pub(super) fn constant(constant: i64) -> Form {
        Form { coefficients: Vec::new(), constant }
    }

    pub(super) fn column(column: usize) -> Form {
        let mut form = Form::default();
        form.set(column, 1);
        form
    }

    fn trim(&mut self) {
        while self.coefficients.last() == Some(&0) {
            self.coefficients.pop();
        }
    }

    pub(super) fn coefficient(&self, column: usize) -> i64 {
        self.coefficients.get(column).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, column: usize, value: i64) {
        if self.coefficients.len() <= column {
            self.coefficients.resize(column + 1, 0);
        }
        self.coefficients[column] = value;
        self.trim();
    }

    /// Columns with a coefficient other than 0.
    pub(super) fn nonzero(&self) -> impl Iterator<Item = (usize, i64)> {
        self.coefficients.iter().copied().enumerate().filter(|(_, coefficient)| *coefficient != 0)
    }

    pub(super) fn is_constant(&self) -> bool {
        self.coefficients.is_empty()
    }

    /// `self + factor * other`
    pub(super) fn plus(&self, other: &Form, factor: i64) -> Result<Form> {
        let sum = |a: i64, b: i64| fits(i128::from(a) + i128::from(b) * i128::from(factor));
        let len = self.coefficients.len().max(other.coefficients.len());
        let coefficients = (0..len)
            .map(|column| sum(self.coefficient(column), other.coefficient(column)))
            .collect::<Result<_>>()?;
        Ok(Form::new(coefficients, sum(self.constant, other.constant)?))
    }

    pub(super) fn plus_constant(&self, constant: i64) -> Result<Form> {
        self.plus(&Form::constant(constant), 1)
    }

    pub(super) fn scaled(&self, factor: i64) -> Result<Form> {
        Form::default().plus(self, factor)
    }

    /// Replaces a column by a form (which may mention the column itself).
    pub(super) fn substitute(&self, column: usize, value: &Form) -> Result<Form> {
        let coefficient = self.coefficient(column);
        if coefficient == 0 {
            return Ok(self.clone());
        }
        let mut rest = self.clone();
        rest.set(column, 0);
        rest.plus(value, coefficient)
    }

    /// Every number `v` as `quotient * divisor + remainder`: the forms of the quotients and of the remainders
    /// (`0..divisor`).
    pub(super) fn divided(&self, divisor: i64) -> (Form, Form) {
        let quotients = self.coefficients.iter().map(|c| c.div_euclid(divisor)).collect();
        let remainders = self.coefficients.iter().map(|c| c.rem_euclid(divisor)).collect();
        (
            Form::new(quotients, self.constant.div_euclid(divisor)),
            Form::new(remainders, self.constant.rem_euclid(divisor)),
        )
    }
}
