//! The meaning of the columns of linear forms: first parameters, then the variables that are summed over, then floors
//! of parameters, which are added during counting.

use super::form::{Form, fits};
use crate::{Atom, Floor, LinearExpr, Result, Term};
use num_integer::Integer;
use std::fmt::Write;

/// The columns of one basic set. Invariant: a floor is of parameters and of floors before it, with coefficients and a
/// constant in `0..denominator` that have no common divisor with the denominator.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    params: Vec<String>,
    variables: usize,
    floors: Vec<(Form, i64)>,
}

impl Columns {
    pub(super) fn new(params: Vec<String>, variables: usize) -> Columns {
        Columns { params, variables, floors: Vec::new() }
    }

    /// The column of a parameter.
    pub(super) fn param(&self, name: &str) -> Option<usize> {
        self.params.iter().position(|param| param == name)
    }

    /// The column of the variable at a position.
    pub(super) fn variable(&self, position: usize) -> usize {
        self.params.len() + position
    }

    /// The columns of all variables.
    pub(super) fn variables(&self) -> std::ops::Range<usize> {
        self.params.len()..self.params.len() + self.variables
    }

    /// Adds a variable; there must not be a floor yet.
    pub(super) fn add_variable(&mut self) -> usize {
        debug_assert!(self.floors.is_empty(), "columns of floors stand behind those of variables");
        self.variables += 1;
        self.params.len() + self.variables - 1
    }

    pub(super) fn is_variable(&self, column: usize) -> bool {
        self.variables().contains(&column)
    }

    /// The part of a form that mentions variables.
    pub(super) fn variable_part<'f>(
        &'f self,
        form: &'f Form,
    ) -> impl Iterator<Item = (usize, i64)> + 'f {
        form.nonzero().filter(|(column, _)| self.is_variable(*column))
    }

    /// `floor(numerator / denominator)` as a form, for a numerator without variables; and the constraints that define
    /// what column this adds, if it adds one.
    ///
    /// `floor((5 N + 7) / 2)` -> `2 N + 3 + q`, with `q = floor((N + 1) / 2)`
    pub(super) fn floor(
        &mut self,
        numerator: &Form,
        denominator: i64,
    ) -> Result<(Form, Vec<Form>)> {
        let (whole, rest) = numerator.divided(denominator);
        if rest.is_constant() {
            return Ok((whole, Vec::new()));
        }
        let divisor = rest.nonzero().fold(denominator, |divisor, (_, c)| divisor.gcd(&c));
        let (rest, _) = rest.divided(divisor);
        let definition = (rest, denominator / divisor);
        let first = self.params.len() + self.variables;
        let column = match self.floors.iter().position(|known| *known == definition) {
            Some(known) => first + known,
            None => {
                self.floors.push(definition.clone());
                first + self.floors.len() - 1
            }
        };
        let (rest, denominator) = definition;
        let remainder = rest.plus(&Form::column(column), fits(-i128::from(denominator))?)?;
        let slack = Form::constant(denominator - 1).plus(&remainder, -1)?;
        Ok((whole.plus(&Form::column(column), 1)?, vec![remainder, slack]))
    }

    /// The numerator and the denominator of a floor.
    fn definition(&self, column: usize) -> &(Form, i64) {
        &self.floors[column - self.params.len() - self.variables]
    }

    /// A column without a variable, in isl's notation.
    pub(super) fn text(&self, column: usize) -> String {
        if let Some(param) = self.params.get(column) {
            return param.clone();
        }
        let (numerator, denominator) = self.definition(column);
        format!("floor(({})/{denominator})", self.form_text(numerator))
    }

    /// A form without variables, in isl's notation.
    pub(super) fn form_text(&self, form: &Form) -> String {
        let mut text = form.constant.to_string();
        for (column, coefficient) in form.nonzero() {
            let sign = if coefficient < 0 { '-' } else { '+' };
            let factor = coefficient.unsigned_abs();
            // Writing to a string does not fail.
            let _ = write!(text, " {sign} {factor}*{}", self.text(column));
        }
        text
    }

    /// A form without variables, as an expression.
    fn expr(&self, form: &Form) -> LinearExpr {
        let mut expr = LinearExpr {
            constant: form.constant,
            params: Vec::new(),
            dims: Vec::new(),
            floors: Vec::new(),
            denominator: 1,
        };
        for (column, coefficient) in form.nonzero() {
            match self.params.get(column) {
                Some(param) => expr.params.push((param.clone(), coefficient)),
                None => {
                    let (numerator, denominator) = self.definition(column);
                    let numerator = Box::new(self.expr(numerator));
                    let floor = Floor { numerator, denominator: *denominator };
                    expr.floors.push((coefficient, floor));
                }
            }
        }
        expr
    }

    fn atom(&self, column: usize) -> Atom {
        if let Some(param) = self.params.get(column) {
            return Atom::Param(param.clone());
        }
        let (numerator, denominator) = self.definition(column);
        Atom::Floor(Box::new(LinearExpr { denominator: *denominator, ..self.expr(numerator) }))
    }

    /// The terms of a polynomial without variables.
    pub(super) fn terms(&self, polynomial: &super::polynomial::Polynomial) -> Vec<Term> {
        let factors =
            |(column, exponent): &(usize, u32)| -> (Atom, u32) { (self.atom(*column), *exponent) };
        polynomial
            .terms()
            .map(|(monomial, coefficient)| Term {
                coefficient: *coefficient,
                factors: monomial.iter().map(factors).collect(),
            })
            .collect()
    }
}
