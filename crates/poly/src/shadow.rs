//! Supersets that are simpler: polyhedra without floors.

use num_integer::Integer;

use crate::handle::{Handle, to_i64};
use crate::space::OUT;
use crate::{Result, Set};
use isl_vendor as sys;

/// Inequalities that a shadow may have on the way. Elimination can square their number.
const MAX_ROWS: usize = 200;

impl Set {
    /// The union of the rational shadows of the basic sets: existential dimensions are eliminated as if they were
    /// rational numbers (Fourier and Motzkin), which gives a superset without them. `None` if that takes too many
    /// inequalities, or numbers beyond 64 bits.
    ///
    /// `{ [i] : i mod 3 = 1 and 0 <= i < 9 }` -> `{ [i] : 0 <= i <= 8 }`
    ///
    /// # Errors
    /// A failure of isl.
    pub fn shadow(&self) -> Result<Option<Set>> {
        let (params, names) = (self.params()?, self.fresh_dims("c")?);
        let mut texts = Vec::new();
        for basic in self.compute_divs()?.basic_sets()? {
            let Some(rows) = eliminated(&basic)? else { return Ok(None) };
            let columns: Vec<&String> = names.iter().chain(&params).collect();
            let conditions: Vec<String> = rows.iter().map(|row| text(row, &columns)).collect();
            let conditions =
                if conditions.is_empty() { "true".into() } else { conditions.join(" and ") };
            texts.push(format!("[{}] : {conditions}", names.join(", ")));
        }
        let text = format!("[{}] -> {{ {} }}", params.join(", "), texts.join("; "));
        let whole = Set::parse(self.context(), &text)?;
        if whole.rank() != self.rank() {
            return Ok(None); // no basic sets
        }
        whole.with_dim_names(&self.dims()?).map(Some)
    }
}

/// The inequalities `row >= 0` of a basic set's shadow: columns are dimensions, parameters and the constant.
fn eliminated(basic: &Set) -> Result<Option<Vec<Vec<i64>>>> {
    let context = basic.context();
    let list = isl!(context, isl_set_get_basic_set_list(basic.0.keep()))?;
    if isl!(context, isl_basic_set_list_size(list.keep()))? != 1 {
        return Ok(None);
    }
    let basic = isl!(context, isl_basic_set_list_get_at(list.keep(), 0))?;
    let divs = isl!(context, isl_basic_set_dim(basic.keep(), sys::isl_dim_div))?;
    let (c1, c2, c3, c4) = (sys::isl_dim_div, OUT, sys::isl_dim_param, sys::isl_dim_cst);
    let equal = isl!(context, isl_basic_set_equalities_matrix(basic.keep(), c1, c2, c3, c4))?;
    let at_least = isl!(context, isl_basic_set_inequalities_matrix(basic.keep(), c1, c2, c3, c4))?;
    let Some(equal) = rows(&equal)? else { return Ok(None) };
    let Some(mut all) = rows(&at_least)? else { return Ok(None) };
    for row in equal {
        let Some(negative) = combined(&row, -1, &row, 0) else { return Ok(None) };
        all.extend([row, negative]);
    }
    for div in 0..divs as usize {
        let Some(rest) = without(all, div) else { return Ok(None) };
        all = rest;
    }
    Ok(Some(all.into_iter().map(|row| row[divs as usize..].to_vec()).collect()))
}

/// The rows of a matrix; `None` if a number is beyond 64 bits.
fn rows(matrix: &Handle<sys::isl_mat>) -> Result<Option<Vec<Vec<i64>>>> {
    let context = matrix.context();
    let mut all = Vec::new();
    for row in 0..isl!(context, isl_mat_rows(matrix.keep()))? {
        let columns = 0..isl!(context, isl_mat_cols(matrix.keep()))?;
        let entry =
            |column| to_i64(&isl!(context, isl_mat_get_element_val(matrix.keep(), row, column))?);
        let Ok(values) = columns.map(entry).collect::<Result<Vec<i64>>>() else { return Ok(None) };
        all.push(values);
    }
    Ok(Some(all))
}

/// Eliminates a column: every lower bound is at most every upper bound.
fn without(rows: Vec<Vec<i64>>, column: usize) -> Option<Vec<Vec<i64>>> {
    let (mut found, bounds): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row[column] == 0);
    let (lower, upper): (Vec<_>, Vec<_>) = bounds.into_iter().partition(|row| row[column] > 0);
    for one in &lower {
        for other in &upper {
            let row = combined(one, other[column].checked_neg()?, other, one[column])?;
            let trivial = row.split_last().is_some_and(|(constant, rest)| {
                *constant >= 0 && rest.iter().all(|value| *value == 0)
            });
            if !trivial && !found.contains(&row) {
                found.push(row);
            }
        }
    }
    (found.len() <= MAX_ROWS).then_some(found)
}

/// `a * one + b * other`, divided by the greatest common divisor.
fn combined(one: &[i64], a: i64, other: &[i64], b: i64) -> Option<Vec<i64>> {
    let term = |(x, y): (&i64, &i64)| x.checked_mul(a)?.checked_add(y.checked_mul(b)?);
    let row: Vec<i64> = one.iter().zip(other).map(term).collect::<Option<_>>()?;
    let divisor = row.iter().try_fold(0i64, |gcd, value| Some(gcd.gcd(&value.checked_abs()?)))?;
    Some(row.into_iter().map(|value| value / divisor.max(1)).collect())
}

fn text(row: &[i64], columns: &[&String]) -> String {
    let (constant, values) = row.split_last().expect("there is always a constant");
    let mut text = constant.to_string();
    for (value, name) in values.iter().zip(columns).filter(|(value, _)| **value != 0) {
        text += &format!(" + {value} * {name}");
    }
    text + " >= 0"
}
