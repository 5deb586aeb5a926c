//! Systems of linear constraints over numbered columns; isl finds what is redundant, implicitly equal or impossible in
//! them.

use super::form::Form;
use crate::handle::{Handle, to_i64};
use crate::{Context, Result};
use isl_vendor as sys;
use num_integer::Integer;
use std::collections::{BTreeMap, BTreeSet};

/// Each of `equalities` is 0, each of `inequalities` is not negative.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rows {
    pub(super) equalities: Vec<Form>,
    pub(super) inequalities: Vec<Form>,
}

impl Rows {
    /// Replaces a column by a form.
    pub(super) fn substitute(&self, column: usize, value: &Form) -> Result<Rows> {
        let all = |forms: &[Form]| {
            forms.iter().map(|form| form.substitute(column, value)).collect::<Result<Vec<_>>>()
        };
        Ok(Rows { equalities: all(&self.equalities)?, inequalities: all(&self.inequalities)? })
    }

    /// The same integer points in as few constraints as possible, or `None` if there are none (a rational point without
    /// an integer one can go unnoticed).
    pub(super) fn simplified(&self, context: &Context) -> Result<Option<Rows>> {
        let Some(rows) = self.normalized()? else { return Ok(None) };
        if rows.equalities.is_empty() && rows.inequalities.len() <= 1 {
            return Ok(Some(rows));
        }
        let used: BTreeSet<usize> = rows
            .equalities
            .iter()
            .chain(&rows.inequalities)
            .flat_map(|form| form.nonzero().map(|(column, _)| column))
            .collect();
        let used: Vec<usize> = used.into_iter().collect();
        let space = isl!(context, isl_space_set_alloc(context.raw(), 0, used.len() as u32))?;
        let equalities = to_matrix(context, &rows.equalities, &used)?;
        let inequalities = to_matrix(context, &rows.inequalities, &used)?;
        let set = isl!(
            context,
            isl_basic_set_from_constraint_matrices(
                space.take(),
                equalities.take(),
                inequalities.take(),
                sys::isl_dim_set,
                sys::isl_dim_param,
                sys::isl_dim_div,
                sys::isl_dim_cst,
            )
        )?;
        let set = isl!(context, isl_basic_set_remove_redundancies(set.take()))?;
        if isl!(context, isl_basic_set_plain_is_empty(set.keep()))? != 0 {
            return Ok(None);
        }
        let (equalities, inequalities) = elements(&set)?;
        let forms = |rows: Numbers| rows.iter().map(|row| to_form(row, &used)).collect();
        Rows { equalities: forms(equalities), inequalities: forms(inequalities) }.normalized()
    }

    /// Without common divisors, rows that say nothing, and rows beside stricter ones; sorted. `None` for an obvious
    /// contradiction.
    fn normalized(&self) -> Result<Option<Rows>> {
        let mut equalities = BTreeSet::new();
        for form in &self.equalities {
            let divisor = form.nonzero().fold(0, |divisor: i64, (_, c)| divisor.gcd(&c));
            if divisor == 0 {
                if form.constant != 0 {
                    return Ok(None);
                }
                continue;
            }
            if form.constant % divisor != 0 {
                return Ok(None);
            }
            let (mut form, _) = form.divided(divisor);
            if form.nonzero().next().is_some_and(|(_, first)| first < 0) {
                form = form.scaled(-1)?;
            }
            equalities.insert(form);
        }
        let mut constants: BTreeMap<Form, i64> = BTreeMap::new();
        for form in &self.inequalities {
            let divisor = form.nonzero().fold(0, |divisor: i64, (_, c)| divisor.gcd(&c));
            if divisor == 0 {
                if form.constant < 0 {
                    return Ok(None);
                }
                continue;
            }
            // Only multiples of the divisor are reached: the constant rounds down.
            let (mut form, _) = form.divided(divisor);
            let constant = std::mem::take(&mut form.constant);
            let known = constants.entry(form).or_insert(constant);
            *known = constant.min(*known);
        }
        let inequalities = constants.into_iter().map(|(mut form, constant)| {
            form.constant = constant;
            form
        });
        Ok(Some(Rows {
            equalities: equalities.into_iter().collect(),
            inequalities: inequalities.collect(),
        }))
    }
}

/// The rows of a matrix.
pub(super) type Numbers = Vec<Vec<i64>>;

/// The numbers of the equalities and of the inequalities of a basic set: of dimensions, parameters, floors, and the
/// constant.
pub(super) fn elements(set: &Handle<sys::isl_basic_set>) -> Result<(Numbers, Numbers)> {
    let context = set.context();
    use sys::{isl_dim_cst as cst, isl_dim_div as div, isl_dim_param as param, isl_dim_set as dim};
    let equalities =
        isl!(context, isl_basic_set_equalities_matrix(set.keep(), dim, param, div, cst))?;
    let inequalities =
        isl!(context, isl_basic_set_inequalities_matrix(set.keep(), dim, param, div, cst))?;
    Ok((numbers(&equalities)?, numbers(&inequalities)?))
}

fn numbers(matrix: &Handle<sys::isl_mat>) -> Result<Numbers> {
    let context = matrix.context();
    let (height, width) =
        (isl!(context, isl_mat_rows(matrix.keep()))?, isl!(context, isl_mat_cols(matrix.keep()))?);
    let element =
        |row, column| to_i64(&isl!(context, isl_mat_get_element_val(matrix.keep(), row, column))?);
    (0..height).map(|row| (0..width).map(|column| element(row, column)).collect()).collect()
}

fn to_matrix(context: &Context, forms: &[Form], columns: &[usize]) -> Result<Handle<sys::isl_mat>> {
    let (height, width) = (forms.len() as u32, columns.len() as u32 + 1);
    let mut matrix = isl!(context, isl_mat_alloc(context.raw(), height, width))?;
    for (row, form) in forms.iter().enumerate() {
        let values = columns.iter().map(|&column| form.coefficient(column)).chain([form.constant]);
        for (column, value) in values.enumerate() {
            let value = context.integer(value)?;
            // The matrix has one owner: passing it on and taking it back changes it in place.
            matrix = isl!(
                context,
                isl_mat_set_element_val(matrix.pass(), row as i32, column as i32, value.pass())
            )?;
        }
    }
    Ok(matrix)
}

/// A row of numbers for these columns and the constant.
fn to_form(row: &[i64], columns: &[usize]) -> Form {
    let mut form = Form::constant(row[columns.len()]);
    for (&column, &number) in columns.iter().zip(row) {
        form.set(column, number);
    }
    form
}
