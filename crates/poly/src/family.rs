//! Families: sets that differ in numbers only, as one set with parameters in the place of these numbers.
//!
//! A program with a thousand summands of one kind asks the same question a thousand times, about `j = i + 3`,
//! `j = i + 7`, and so on. Asked once, about `j = i + 3 + c`, it is answered for all.

use std::collections::BTreeMap;

use crate::handle::{Handle, to_i64};
use crate::space::OUT;
use crate::{Result, Set};
use isl_vendor as sys;

/// Sets that are one set for different values of some parameters.
#[derive(Clone, Debug)]
pub struct Family {
    /// The set, with [`Family::params`] after its own parameters, each restricted to the range of the members' values.
    pub set: Set,
    /// The parameters; their values are not negative.
    pub params: Vec<String>,
    /// The ranges of the parameters, as a set of parameters.
    pub range: Set,
    /// The members: position in the list that the family was made of, and the parameters' values, for which
    /// [`Family::set`] has just the member's points.
    pub members: Vec<(usize, Vec<(String, i64)>)>,
}

/// A description without its constants.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    params: Vec<String>,
    dims: Vec<String>,
    divs: usize,
    /// Coefficients of dimensions, parameters, and existential dimensions.
    equalities: Vec<Vec<i64>>,
    inequalities: Vec<Vec<i64>>,
}

/// Finds families of at least `least` sets. Sets of several basic sets, or with numbers beyond 64 bits, are in none.
///
/// # Errors
/// A failure of isl.
pub fn families(sets: &[Set], least: usize) -> Result<Vec<Family>> {
    let mut groups: BTreeMap<Shape, Vec<(usize, Vec<i64>)>> = BTreeMap::new();
    for (position, set) in sets.iter().enumerate() {
        if let Some((shape, constants)) = taken_apart(set)? {
            groups.entry(shape).or_default().push((position, constants));
        }
    }
    let mut families = Vec::new();
    for (shape, members) in groups {
        if members.len() >= least.max(1)
            && let Some(family) = shape.family(sets, &members)?
            && family.members.len() >= least
        {
            families.push(family);
        }
    }
    Ok(families)
}

/// A set's shape and its constants, equalities first.
fn taken_apart(set: &Set) -> Result<Option<(Shape, Vec<i64>)>> {
    let context = set.context();
    let list = isl!(context, isl_set_get_basic_set_list(set.0.keep()))?;
    if isl!(context, isl_basic_set_list_size(list.keep()))? != 1 {
        return Ok(None);
    }
    let basic = isl!(context, isl_basic_set_list_get_at(list.keep(), 0))?;
    let divs = isl!(context, isl_basic_set_dim(basic.keep(), sys::isl_dim_div))? as usize;
    let (params, dims) = (set.params()?, set.dims()?);
    if dims.iter().any(String::is_empty) {
        return Ok(None);
    }
    let columns = dims.len() + params.len() + divs;
    let (c1, c2, c3, c4) = (OUT, sys::isl_dim_param, sys::isl_dim_div, sys::isl_dim_cst);
    let mut constants = Vec::new();
    let mut rows = |matrix: Handle<sys::isl_mat>| -> Result<Option<Vec<Vec<i64>>>> {
        let mut rows = Vec::new();
        for row in 0..isl!(context, isl_mat_rows(matrix.keep()))? {
            let entry = |column: usize| {
                let value =
                    isl!(context, isl_mat_get_element_val(matrix.keep(), row, column as i32));
                value.and_then(|value| to_i64(&value))
            };
            let Ok(row) = (0..columns).map(entry).collect::<Result<Vec<i64>>>() else {
                return Ok(None);
            };
            let Ok(constant) = entry(columns) else { return Ok(None) };
            constants.push(constant);
            rows.push(row);
        }
        Ok(Some(rows))
    };
    let equalities =
        rows(isl!(context, isl_basic_set_equalities_matrix(basic.keep(), c1, c2, c3, c4))?)?;
    let inequalities =
        rows(isl!(context, isl_basic_set_inequalities_matrix(basic.keep(), c1, c2, c3, c4))?)?;
    Ok(match (equalities, inequalities) {
        (Some(equalities), Some(inequalities)) => {
            Some((Shape { params, dims, divs, equalities, inequalities }, constants))
        }
        _ => None,
    })
}

/// `base`, or `base + factor * parameter`.
struct Constant {
    base: i64,
    parameter: Option<(usize, i64)>,
}

impl Shape {
    fn family(&self, sets: &[Set], members: &[(usize, Vec<i64>)]) -> Result<Option<Family>> {
        let Some((first, rest)) = members.split_first() else { return Ok(None) };
        // One parameter for all constants that change alike; its value is how far a constant is above its smallest one.
        let mut values: Vec<Vec<i64>> = Vec::new();
        let mut constants: Vec<Constant> = Vec::new();
        for (k, of_first) in first.1.iter().enumerate() {
            if rest.iter().all(|(_, constants)| constants[k] == *of_first) {
                constants.push(Constant { base: *of_first, parameter: None });
                continue;
            }
            let here: Vec<i64> = members.iter().map(|(_, constants)| constants[k]).collect();
            let (Some(low), Some(high)) = (here.iter().min(), here.iter().max()) else {
                return Ok(None);
            };
            let above: Option<Vec<i64>> = here.iter().map(|v| v.checked_sub(*low)).collect();
            let below: Option<Vec<i64>> = here.iter().map(|v| high.checked_sub(*v)).collect();
            let (Some(above), Some(below)) = (above, below) else { return Ok(None) };
            let known = |wanted: &[i64]| values.iter().position(|values| values == wanted);
            constants.push(if let Some(p) = known(&above) {
                Constant { base: *low, parameter: Some((p, 1)) }
            } else if let Some(p) = known(&below) {
                Constant { base: *high, parameter: Some((p, -1)) }
            } else {
                values.push(above);
                Constant { base: *low, parameter: Some((values.len() - 1, 1)) }
            });
        }
        let params = self.fresh(values.len());
        let position = first.0;
        let ranges: Vec<String> = params
            .iter()
            .zip(&values)
            .map(|(name, values)| format!("0 <= {name} <= {}", values.iter().max().unwrap_or(&0)))
            .collect();
        let context = sets[position].context();
        let text = format!("[{}] -> {{ : {} }}", params.join(", "), all(&ranges));
        let range = Set::parse(context, &text)?;
        let set = Set::parse(context, &self.text(&params, ranges, &constants))?;
        let set = set.with_dim_names(&self.dims)?;
        let mut family = Family { set, params, range, members: Vec::new() };
        for (k, (position, _)) in members.iter().enumerate() {
            let here = values.iter().map(|values| values[k]);
            let here: Vec<(String, i64)> = family.params.iter().cloned().zip(here).collect();
            // A description may leave to its floors' definitions what the matrices do not say.
            if family.set.fix_params(&here)?.is_equal(&sets[*position])? {
                family.members.push((*position, here));
            }
        }
        Ok(Some(family))
    }

    /// Names that neither parameters nor dimensions have.
    fn fresh(&self, count: usize) -> Vec<String> {
        let taken = |name: &String| self.params.contains(name) || self.dims.contains(name);
        let mut prefix = "c".to_string();
        while (0..count).any(|k| taken(&format!("{prefix}{k}"))) {
            prefix.push('_');
        }
        (0..count).map(|k| format!("{prefix}{k}")).collect()
    }

    fn text(&self, fresh: &[String], ranges: Vec<String>, constants: &[Constant]) -> String {
        let dims: Vec<String> = (0..self.dims.len()).map(|k| format!("dim_{k}_")).collect();
        let divs: Vec<String> = (0..self.divs).map(|k| format!("div_{k}_")).collect();
        let columns: Vec<&String> = dims.iter().chain(&self.params).chain(&divs).collect();
        let mut conditions = ranges;
        let rows = self.equalities.iter().map(|row| (row, "="));
        let rows = rows.chain(self.inequalities.iter().map(|row| (row, ">=")));
        for ((row, relation), constant) in rows.zip(constants) {
            let mut terms = vec![constant.base.to_string()];
            if let Some((p, factor)) = constant.parameter {
                terms.push(format!("{factor} * {}", fresh[p]));
            }
            for (coefficient, name) in row.iter().zip(&columns).filter(|(c, _)| **c != 0) {
                terms.push(format!("{coefficient} * {name}"));
            }
            conditions.push(format!("{} {relation} 0", terms.join(" + ")));
        }
        let params: Vec<&str> = self.params.iter().chain(fresh).map(String::as_str).collect();
        let exists = match divs.is_empty() {
            true => String::new(),
            false => format!("exists {}: ", divs.join(", ")),
        };
        let (params, dims, conditions) = (params.join(", "), dims.join(", "), all(&conditions));
        format!("[{params}] -> {{ [{dims}] : {exists}{conditions} }}")
    }
}

fn all(conditions: &[String]) -> String {
    if conditions.is_empty() { "true".into() } else { conditions.join(" and ") }
}
