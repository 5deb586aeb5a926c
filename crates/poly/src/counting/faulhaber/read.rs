//! Basic sets and quasi-polynomials of isl as rows and polynomials over columns.

use super::columns::Columns;
use super::form::Form;
use super::polynomial::{Number, Polynomial};
use super::rows::{Rows, elements};
use crate::handle::Handle;
use crate::{Aff, Atom, Error, Floor, LinearExpr, QPolynomial, Result, Set, Term};
use isl_vendor as sys;
use std::collections::BTreeMap;

/// The constraints of a basic set of `set`, and the summand (1 if there is none), with a variable for each dimension
/// and for each floor of dimensions.
pub(super) fn read(
    set: &Set,
    basic: &Handle<sys::isl_basic_set>,
    summand: Option<&QPolynomial>,
) -> Result<(Columns, Rows, Polynomial)> {
    let context = set.context();
    let params = set.params()?;
    let divs = isl!(context, isl_basic_set_dim(basic.keep(), sys::isl_dim_div))?;
    let divs: Vec<Floor> = (0..divs)
        .map(|pos| {
            let div = isl!(context, isl_basic_set_get_div(basic.keep(), pos)).map(Aff)?;
            div.expr().map(to_floor)
        })
        .collect::<Result<_>>()?;
    let terms = summand.map(QPolynomial::terms).transpose()?;

    let mut reader = Reader {
        columns: Columns::new(params.clone(), set.rank()),
        rows: Rows::default(),
        floors: BTreeMap::new(),
    };
    // Floors of variables get their columns first: those of parameters stand behind all variables.
    divs.iter().for_each(|floor| reader.add_floor(floor));
    for (atom, _) in terms.iter().flatten().flat_map(|term| &term.factors) {
        if let Atom::Floor(inner) = atom {
            reader.add_floor(&to_floor((**inner).clone()));
        }
    }
    for (floor, column) in reader.floors.clone() {
        let numerator = reader.form(&floor.numerator)?;
        let remainder = numerator.plus(&Form::column(column).scaled(floor.denominator)?, -1)?;
        let slack = Form::constant(floor.denominator - 1).plus(&remainder, -1)?;
        reader.rows.inequalities.extend([remainder, slack]);
    }

    let mut values: Vec<Form> =
        (0..set.rank()).map(|pos| Form::column(reader.columns.variable(pos))).collect();
    values.extend((0..params.len()).map(Form::column));
    for floor in &divs {
        values.push(reader.floor(floor)?);
    }
    values.push(Form::constant(1));
    let form = |row: &Vec<i64>| {
        row.iter().zip(&values).try_fold(Form::default(), |sum, (&n, value)| sum.plus(value, n))
    };
    let (equalities, inequalities) = elements(basic)?;
    for row in &equalities {
        reader.rows.equalities.push(form(row)?);
    }
    for row in &inequalities {
        reader.rows.inequalities.push(form(row)?);
    }
    let polynomial = match terms {
        None => Polynomial::constant(Number::from_integer(1)),
        Some(terms) => reader.polynomial(&terms)?,
    };
    Ok((reader.columns, reader.rows, polynomial))
}

struct Reader {
    columns: Columns,
    rows: Rows,
    /// The variables that stand for floors of variables.
    floors: BTreeMap<Floor, usize>,
}

impl Reader {
    /// Gives a column to a floor and to the floors in it, where they are of variables.
    fn add_floor(&mut self, floor: &Floor) {
        floor.numerator.floors.iter().for_each(|(_, inner)| self.add_floor(inner));
        if has_dims(&floor.numerator) && !self.floors.contains_key(floor) {
            let column = self.columns.add_variable();
            self.floors.insert(floor.clone(), column);
        }
    }

    fn floor(&mut self, floor: &Floor) -> Result<Form> {
        if let Some(&column) = self.floors.get(floor) {
            return Ok(Form::column(column));
        }
        let numerator = self.form(&floor.numerator)?;
        let (value, definition) = self.columns.floor(&numerator, floor.denominator)?;
        self.rows.inequalities.extend(definition);
        Ok(value)
    }

    fn param(&self, name: &str) -> Result<usize> {
        let found = self.columns.param(name);
        found.ok_or_else(|| Error::MissingParameter { name: name.to_owned() })
    }

    /// The numerator of an expression.
    fn form(&mut self, expr: &LinearExpr) -> Result<Form> {
        let mut form = Form::constant(expr.constant);
        for (name, coefficient) in &expr.params {
            form = form.plus(&Form::column(self.param(name)?), *coefficient)?;
        }
        for &(dim, coefficient) in &expr.dims {
            form = form.plus(&Form::column(self.columns.variable(dim)), coefficient)?;
        }
        for (coefficient, floor) in &expr.floors {
            form = form.plus(&self.floor(floor)?, *coefficient)?;
        }
        Ok(form)
    }

    fn polynomial(&mut self, terms: &[Term]) -> Result<Polynomial> {
        let mut sum = Polynomial::default();
        for term in terms {
            let mut product = Polynomial::constant(term.coefficient);
            for (atom, exponent) in &term.factors {
                let factor = match atom {
                    Atom::Param(name) => Form::column(self.param(name)?),
                    Atom::Dim(dim) => Form::column(self.columns.variable(*dim)),
                    Atom::Floor(inner) => self.floor(&to_floor((**inner).clone()))?,
                };
                let factor = Polynomial::linear(&factor);
                for _ in 0..*exponent {
                    product = product.multiply(&factor)?;
                }
            }
            sum.add(&product)?;
        }
        Ok(sum)
    }
}

/// The floor of an expression.
fn to_floor(mut expr: LinearExpr) -> Floor {
    let denominator = std::mem::replace(&mut expr.denominator, 1);
    Floor { numerator: Box::new(expr), denominator }
}

fn has_dims(expr: &LinearExpr) -> bool {
    !expr.dims.is_empty() || expr.floors.iter().any(|(_, floor)| has_dims(&floor.numerator))
}
