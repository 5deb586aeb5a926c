//! Whether points are in a set, for many points: the set is read once, and each point costs some sums.

use crate::moduli::entry;
use crate::space::OUT;
use crate::{Aff, LinearExpr, Result, Set};
use isl_vendor as sys;

/// The conditions of a set without parameters.
#[derive(Clone, Debug)]
pub struct Members {
    basics: Vec<Basic>,
}

/// The conditions of one basic set, over its dimensions, 1 and its floors.
#[derive(Clone, Debug)]
struct Basic {
    floors: Vec<LinearExpr>,
    equalities: Vec<Vec<i64>>,
    inequalities: Vec<Vec<i64>>,
}

impl Set {
    /// The conditions of a set without parameters ([`Set::fix_params`]), to be asked about many points.
    ///
    /// # Errors
    /// A parameter, numbers beyond 64 bits, a failure of isl.
    pub fn members(&self) -> Result<Members> {
        let set = self.drop_unused_params()?.compute_divs()?;
        if let Some(name) = set.params()?.into_iter().next() {
            return Err(crate::Error::MissingParameter { name });
        }
        let (context, rank) = (set.context(), set.rank());
        let list = isl!(context, isl_set_get_basic_set_list(set.0.keep()))?;
        let mut basics = Vec::new();
        for pos in 0..isl!(context, isl_basic_set_list_size(list.keep()))? {
            let basic = isl!(context, isl_basic_set_list_get_at(list.keep(), pos))?;
            let divs = isl!(context, isl_basic_set_dim(basic.keep(), sys::isl_dim_div))?;
            let mut floors = Vec::new();
            for div in 0..divs {
                let floor = isl!(context, isl_basic_set_get_div(basic.keep(), div)).map(Aff)?;
                floors.push(floor.expr()?);
            }
            let (c1, c2, c3, c4) = (OUT, sys::isl_dim_cst, sys::isl_dim_div, sys::isl_dim_param);
            let equal =
                isl!(context, isl_basic_set_equalities_matrix(basic.keep(), c1, c2, c3, c4))?;
            let least =
                isl!(context, isl_basic_set_inequalities_matrix(basic.keep(), c1, c2, c3, c4))?;
            let columns = rank as i32 + 1 + divs;
            let rows = |matrix| -> Result<Vec<Vec<i64>>> {
                let rows = 0..isl!(context, isl_mat_rows(crate::handle::Handle::keep(matrix)))?;
                rows.map(|row| (0..columns).map(|column| entry(matrix, row, column)).collect())
                    .collect()
            };
            let (equalities, inequalities) = (rows(&equal)?, rows(&least)?);
            basics.push(Basic { floors, equalities, inequalities });
        }
        Ok(Members { basics })
    }
}

impl Members {
    /// Whether a point is in the set.
    ///
    /// # Errors
    /// Coordinates that are fewer than the dimensions, or so large that sums leave 128 bits.
    pub fn contains(&self, point: &[i64]) -> Result<bool> {
        for basic in &self.basics {
            if basic.contains(point)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Basic {
    fn contains(&self, point: &[i64]) -> Result<bool> {
        let mut values: Vec<i128> = point.iter().map(|value| i128::from(*value)).collect();
        values.push(1);
        for floor in &self.floors {
            values.push(floor.eval(&[], point)?.floor().to_integer());
        }
        let sum = |row: &[i64]| -> Result<i128> {
            let overflow = || crate::Error::Overflow { value: format!("a condition at {point:?}") };
            row.iter().zip(&values).try_fold(0i128, |sum, (c, value)| {
                let product = i128::from(*c).checked_mul(*value).ok_or_else(overflow)?;
                sum.checked_add(product).ok_or_else(overflow)
            })
        };
        for row in &self.equalities {
            if sum(row)? != 0 {
                return Ok(false);
            }
        }
        for row in &self.inequalities {
            if sum(row)? < 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
