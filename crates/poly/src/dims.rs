//! The dimensions and parameters of sets: their names, their order and their bounds.

use crate::context::c_string;
use crate::space::{OUT, PARAM, check_len};
use crate::{Error, Map, PwAff, Result, Set};
use isl_vendor as sys;

impl Set {
    /// The names of the parameters.
    pub fn params(&self) -> Result<Vec<String>> {
        self.space()?.names(PARAM)
    }

    /// The names of the dimensions, "" where one has none.
    pub fn dims(&self) -> Result<Vec<String>> {
        self.space()?.names(OUT)
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.space().map_or(0, |space| space.dim(OUT))
    }

    /// Whether it is a set of parameter values, without a tuple: `[n] -> { : n > 0 }`.
    pub fn is_params(&self) -> Result<bool> {
        self.space()?.is_params()
    }

    /// The name of the tuple: `S` of `{ S[i] }`.
    pub fn tuple_name(&self) -> Option<String> {
        self.space().ok()?.tuple_name(OUT)
    }

    /// The same points in a tuple of this name.
    pub fn with_tuple_name(&self, name: Option<&str>) -> Result<Set> {
        match name {
            Some(name) => {
                let id = self.context().id(name)?;
                isl!(self.context(), isl_set_set_tuple_id(self.0.take(), id.take())).map(Set)
            }
            None if self.tuple_name().is_none() => Ok(self.clone()),
            None => isl!(self.context(), isl_set_reset_tuple_id(self.0.take())).map(Set),
        }
    }

    /// The same points with these names of the dimensions.
    pub fn with_dim_names(&self, names: &[impl AsRef<str>]) -> Result<Set> {
        check_len("names", self.rank(), names.len())?;
        let mut set = self.clone();
        for (pos, name) in names.iter().enumerate() {
            let name = c_string(name.as_ref())?;
            let pos = pos as u32;
            set = isl!(self.context(), isl_set_set_dim_name(set.0.take(), OUT, pos, name.as_ptr()))
                .map(Set)?;
        }
        Ok(set)
    }

    /// A name for each dimension that no parameter has: the prefix and a number.
    pub fn fresh_dims(&self, prefix: &str) -> Result<Vec<String>> {
        let params = self.params()?;
        let names = |prefix: &str| (0..self.rank()).map(|k| format!("{prefix}{k}")).collect();
        let mut prefix = prefix.to_string();
        loop {
            let names: Vec<String> = names(&prefix);
            if !names.iter().any(|name| params.contains(name)) {
                return Ok(names);
            }
            prefix.push('_');
        }
    }

    /// The position of the dimension with this name.
    pub fn find_dim(&self, name: &str) -> Result<usize> {
        self.space()?.find(OUT, name)?.ok_or_else(|| Error::NoSuchDimension {
            name: name.to_owned(),
            object: self.to_string(),
        })
    }

    pub(crate) fn check_dim(&self, idx: usize) -> Result<()> {
        if idx < self.rank() {
            return Ok(());
        }
        let expected = format!("a position below {}", self.rank());
        Err(Error::Shape { expected, found: idx.to_string() })
    }

    /// Removes dimensions: the points that have some value there.
    pub fn project_out_at(&self, first: usize, count: usize) -> Result<Set> {
        if first + count > self.rank() {
            let expected = format!("positions below {}", self.rank());
            return Err(Error::Shape { expected, found: format!("{first}..{}", first + count) });
        }
        isl!(self.context(), isl_set_project_out(self.0.take(), OUT, first as u32, count as u32))
            .map(Set)
    }

    /// Removes dimensions by name. The tuple loses its name.
    pub fn project_out(&self, names: &[&str]) -> Result<Set> {
        let mut set = self.clone();
        for name in names {
            set = set.project_out_at(set.find_dim(name)?, 1)?;
        }
        Ok(set)
    }

    /// Keeps only these dimensions, in their existing order. The tuple loses its name.
    pub fn project_onto(&self, names: &[&str]) -> Result<Set> {
        for name in names {
            self.find_dim(name)?;
        }
        let mut set = self.clone();
        for (pos, name) in self.dims()?.iter().enumerate().rev() {
            if !names.contains(&name.as_str()) {
                set = set.project_out_at(pos, 1)?;
            }
        }
        Ok(set)
    }

    /// Reorders the dimensions: the new dimension `k` is the old dimension `order[k]`. The names
    /// move along, and the tuple keeps its name.
    pub fn permute(&self, order: &[usize]) -> Result<Set> {
        let rank = self.rank();
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..rank) {
            let expected = format!("a permutation of 0..{rank}");
            return Err(Error::Shape { expected, found: format!("{order:?}") });
        }
        let context = self.context();
        let space = self.space()?;
        let space = isl!(context, isl_space_map_from_set(space.take()))?;
        let mut map = isl!(context, isl_map_universe(space.take()))?;
        for (new, &old) in order.iter().enumerate() {
            map = isl!(
                context,
                isl_map_equate(map.take(), sys::isl_dim_in, old as i32, OUT, new as i32)
            )?;
        }
        let dims = self.dims()?;
        let mut set = self.apply(&Map(map))?;
        for (new, &old) in order.iter().enumerate() {
            if !dims[old].is_empty() {
                let name = c_string(&dims[old])?;
                set = isl!(
                    context,
                    isl_set_set_dim_name(set.0.take(), OUT, new as u32, name.as_ptr())
                )
                .map(Set)?;
            }
        }
        set.with_tuple_name(self.tuple_name().as_deref())
    }

    /// Replaces a parameter by a value. Nothing happens if there is no such parameter.
    pub fn fix_param(&self, name: &str, value: i64) -> Result<Set> {
        let Some(pos) = self.space()?.find(PARAM, name)? else { return Ok(self.clone()) };
        let value = self.context().integer(value)?;
        let pos = pos as u32;
        let fixed = isl!(self.context(), isl_set_fix_val(self.0.take(), PARAM, pos, value.take()))?;
        isl!(self.context(), isl_set_project_out(fixed.take(), PARAM, pos, 1)).map(Set)
    }

    /// Replaces parameters by values; those that the set does not have are ignored.
    pub fn fix_params(&self, params: &[(String, i64)]) -> Result<Set> {
        params.iter().try_fold(self.clone(), |set, (name, value)| set.fix_param(name, *value))
    }

    /// Restricts a dimension to one value. The dimension stays.
    pub fn fix_dim_at(&self, idx: usize, value: i64) -> Result<Set> {
        self.check_dim(idx)?;
        let value = self.context().integer(value)?;
        isl!(self.context(), isl_set_fix_val(self.0.take(), OUT, idx as u32, value.take())).map(Set)
    }

    /// The largest value of a dimension, as a function of the parameters.
    pub fn dim_max(&self, idx: usize) -> Result<PwAff> {
        self.check_dim(idx)?;
        isl!(self.context(), isl_set_dim_max(self.0.take(), idx as i32)).map(PwAff)
    }

    /// The smallest value of a dimension, as a function of the parameters.
    pub fn dim_min(&self, idx: usize) -> Result<PwAff> {
        self.check_dim(idx)?;
        isl!(self.context(), isl_set_dim_min(self.0.take(), idx as i32)).map(PwAff)
    }

    /// Whether the dimension has an upper bound in terms of parameters and constants.
    pub fn has_dim_upper_bound(&self, idx: usize) -> Result<bool> {
        self.check_dim(idx)?;
        Ok(isl!(self.context(), isl_set_dim_has_upper_bound(self.0.keep(), OUT, idx as u32))? != 0)
    }

    /// Whether the dimension has a lower bound in terms of parameters and constants.
    pub fn has_dim_lower_bound(&self, idx: usize) -> Result<bool> {
        self.check_dim(idx)?;
        Ok(isl!(self.context(), isl_set_dim_has_lower_bound(self.0.keep(), OUT, idx as u32))? != 0)
    }

    /// Whether some constraint mentions the dimension.
    pub fn involves_dim(&self, idx: usize) -> Result<bool> {
        self.check_dim(idx)?;
        Ok(isl!(self.context(), isl_set_involves_dims(self.0.keep(), OUT, idx as u32, 1))? != 0)
    }

    /// Turns all dimensions into parameters of the same names: `{ [i] : c }` -> `[i] -> { : c }`.
    pub fn dims_to_params(&self) -> Result<Set> {
        if self.is_params()? {
            return Ok(self.clone());
        }
        let names = self.dims()?;
        if names.iter().any(String::is_empty) {
            return Err(Error::Shape {
                expected: "a name for every dimension".into(),
                found: self.to_string(),
            });
        }
        let (params, rank) = (self.params()?.len() as u32, self.rank() as u32);
        let moved =
            isl!(self.context(), isl_set_move_dims(self.0.take(), PARAM, params, OUT, 0, rank))?;
        isl!(self.context(), isl_set_params(moved.take())).map(Set)
    }
}
