//! What a set's description says about strides, blocks and equalities.

use std::collections::BTreeSet;

use crate::handle::{Handle, to_i64};
use crate::space::OUT;
use crate::{Result, Set};
use isl_vendor as sys;
use num_integer::Integer;

/// `sum of params + sum of dims + constant = 0`, or a multiple of `modulus`. Invariant: the first coefficient that is
/// not 0, of `dims` and then of `params`, is positive; modulo `m` all numbers lie between `-m/2` and `m/2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equality {
    /// Coefficient of each dimension.
    pub dims: Vec<i64>,
    /// Coefficients of parameters, sorted by name, none 0.
    pub params: Vec<(String, i64)>,
    /// The constant.
    pub constant: i64,
    /// 0 for an equality, above 1 for a congruence.
    pub modulus: i64,
}

/// `sum of params + sum of dims + constant >= 0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inequality {
    /// Coefficient of each dimension.
    pub dims: Vec<i64>,
    /// Coefficients of parameters, in the set's order, none 0.
    pub params: Vec<(String, i64)>,
    /// The constant.
    pub constant: i64,
}

impl Set {
    /// The inequalities of a set of one basic set without existential dimensions; `None` for other sets.
    ///
    /// `{ [i] : 0 <= i < N }` -> `[i >= 0, N - i - 1 >= 0]`
    ///
    /// # Errors
    /// Numbers beyond 64 bits, a failure of isl.
    pub fn inequalities(&self) -> Result<Option<Vec<Inequality>>> {
        if self.basic_set_count()? != 1 || self.existentials()? > 0 {
            return Ok(None);
        }
        let (context, rank, names) = (self.context(), self.rank(), self.params()?);
        let list = isl!(context, isl_set_get_basic_set_list(self.0.keep()))?;
        let basic = isl!(context, isl_basic_set_list_get_at(list.keep(), 0))?;
        let (c1, c2, c3, c4) = (OUT, sys::isl_dim_param, sys::isl_dim_cst, sys::isl_dim_div);
        let matrix =
            isl!(context, isl_basic_set_inequalities_matrix(basic.keep(), c1, c2, c3, c4))?;
        let mut found = Vec::new();
        for row in 0..isl!(context, isl_mat_rows(matrix.keep()))? {
            let columns = 0..(rank + names.len() + 1) as i32;
            let values: Vec<i64> =
                columns.map(|column| entry(&matrix, row, column)).collect::<Result<_>>()?;
            let (dims, rest) = values.split_at(rank);
            let params = names.iter().cloned().zip(rest.iter().copied());
            found.push(Inequality {
                dims: dims.to_vec(),
                params: params.filter(|(_, c)| *c != 0).collect(),
                constant: rest.last().copied().unwrap_or(0),
            });
        }
        Ok(Some(found))
    }

    /// The equalities and congruences that the description of each basic set has, for sets with few numbers beyond 64
    /// bits; others are left out.
    ///
    /// `{ [i, j] : j = i + 3 or (i + j) mod 2 = 0 }` -> `[[i - j + 3 = 0], [i + j = 0 modulo 2]]`
    pub fn equalities(&self) -> Result<Vec<Vec<Equality>>> {
        let context = self.context();
        let params = self.params()?;
        let rank = self.rank();
        let list = isl!(context, isl_set_get_basic_set_list(self.0.keep()))?;
        let mut all = Vec::new();
        for pos in 0..isl!(context, isl_basic_set_list_size(list.keep()))? {
            let basic = isl!(context, isl_basic_set_list_get_at(list.keep(), pos))?;
            let divs = isl!(context, isl_basic_set_dim(basic.keep(), sys::isl_dim_div))?;
            let (c1, c2, c3, c4) = (OUT, sys::isl_dim_param, sys::isl_dim_cst, sys::isl_dim_div);
            let matrix =
                isl!(context, isl_basic_set_equalities_matrix(basic.keep(), c1, c2, c3, c4))?;
            let mut equalities = Vec::new();
            for row in 0..isl!(context, isl_mat_rows(matrix.keep()))? {
                let columns = 0..(rank + params.len() + 1) as i32 + divs;
                let values: Result<Vec<i64>> =
                    columns.map(|column| entry(&matrix, row, column)).collect();
                // A number beyond 64 bits: the equality is true, but nothing is said about it.
                if let Ok(values) = values
                    && let Some(equality) = equality(&values, rank, &params)
                {
                    equalities.push(equality);
                }
            }
            all.push(equalities);
        }
        Ok(all)
    }

    /// The largest number of existential dimensions that a basic set has.
    pub fn existentials(&self) -> Result<usize> {
        let context = self.context();
        let list = isl!(context, isl_set_get_basic_set_list(self.0.keep()))?;
        let mut most = 0;
        for pos in 0..isl!(context, isl_basic_set_list_size(list.keep()))? {
            let basic = isl!(context, isl_basic_set_list_get_at(list.keep(), pos))?;
            most = most.max(isl!(context, isl_basic_set_dim(basic.keep(), sys::isl_dim_div))?);
        }
        Ok(most as usize)
    }

    /// For each dimension the moduli and block sizes that the description gives it: the absolute values above 1 of the
    /// coefficients of existential dimensions in constraints that also mention the dimension.
    ///
    /// `{ [i, j] : i mod 6 = 0 and 0 <= j < 4 }` -> `[{6}, {}]`
    pub fn moduli(&self) -> Result<Vec<BTreeSet<i64>>> {
        let context = self.context();
        let mut moduli = vec![BTreeSet::new(); self.rank()];
        let list = isl!(context, isl_set_get_basic_set_list(self.0.keep()))?;
        for pos in 0..isl!(context, isl_basic_set_list_size(list.keep()))? {
            let basic = isl!(context, isl_basic_set_list_get_at(list.keep(), pos))?;
            let divs = isl!(context, isl_basic_set_dim(basic.keep(), sys::isl_dim_div))?;
            if divs == 0 {
                continue;
            }
            let (c1, c2, c3, c4) = (sys::isl_dim_div, OUT, sys::isl_dim_param, sys::isl_dim_cst);
            for matrix in [
                isl!(context, isl_basic_set_equalities_matrix(basic.keep(), c1, c2, c3, c4))?,
                isl!(context, isl_basic_set_inequalities_matrix(basic.keep(), c1, c2, c3, c4))?,
            ] {
                for row in 0..isl!(context, isl_mat_rows(matrix.keep()))? {
                    let mut found = BTreeSet::new();
                    for div in 0..divs {
                        found.insert(entry(&matrix, row, div)?.saturating_abs());
                    }
                    found.retain(|modulus| *modulus > 1);
                    for (dim, moduli) in (divs..).zip(&mut moduli) {
                        if !found.is_empty() && entry(&matrix, row, dim)? != 0 {
                            moduli.extend(&found);
                        }
                    }
                }
            }
        }
        Ok(moduli)
    }
}

pub(crate) fn entry(matrix: &Handle<sys::isl_mat>, row: i32, column: i32) -> Result<i64> {
    to_i64(&isl!(matrix.context(), isl_mat_get_element_val(matrix.keep(), row, column))?)
}

/// From a row: dimensions, parameters, the constant, existential dimensions. `None` if it says nothing.
fn equality(row: &[i64], rank: usize, names: &[String]) -> Option<Equality> {
    let (dims, rest) = row.split_at(rank);
    let (params, rest) = rest.split_at(names.len());
    let (constant, divs) = rest.split_first()?;
    let modulus = divs.iter().try_fold(0i64, |m, c| Some(m.gcd(&c.checked_abs()?)))?;
    if modulus == 1 {
        return None;
    }
    // The residue of least magnitude: `i + 15k` and `i - k` are one form modulo 16.
    let reduced = |c: &i64| match modulus {
        0 => *c,
        _ => {
            let residue = c.rem_euclid(modulus);
            if residue > modulus / 2 { residue - modulus } else { residue }
        }
    };
    let first = dims.iter().chain(params).map(reduced).find(|c| *c != 0)?;
    // A number's negative may be beyond 64 bits as well.
    let sign = if first < 0 { -1 } else { 1 };
    let times = |c: &i64| reduced(c).checked_mul(sign);
    let mut named = Vec::new();
    for (name, c) in names.iter().zip(params).filter(|(_, c)| reduced(c) != 0) {
        named.push((name.clone(), times(c)?));
    }
    named.sort();
    Some(Equality {
        dims: dims.iter().map(times).collect::<Option<_>>()?,
        params: named,
        constant: times(constant)?,
        modulus,
    })
}
