//! Spaces: the names and numbers of parameters and tuple dimensions. Internal; sets and maps show
//! their space by methods of their own.

use crate::context::c_string;
use crate::handle::Handle;
use crate::{Error, Result};
use isl_vendor as sys;

pub(crate) const PARAM: sys::isl_dim_type = sys::isl_dim_param;
pub(crate) const IN: sys::isl_dim_type = sys::isl_dim_in;
/// The dimensions of a set, or the output of a map.
pub(crate) const OUT: sys::isl_dim_type = sys::isl_dim_out;

pub(crate) type Space = Handle<sys::isl_space>;

impl Space {
    pub(crate) fn dim(&self, kind: sys::isl_dim_type) -> usize {
        // A live space knows its dimensions: the call cannot fail.
        isl!(self.context(), isl_space_dim(self.keep(), kind)).map_or(0, |n| n as usize)
    }

    /// The names of the dimensions, "" where one has none.
    pub(crate) fn names(&self, kind: sys::isl_dim_type) -> Result<Vec<String>> {
        (0..self.dim(kind) as u32)
            .map(|pos| {
                let name = isl!(self.context(), isl_space_get_dim_name(self.keep(), kind, pos));
                Ok(name?.unwrap_or_default())
            })
            .collect()
    }

    pub(crate) fn find(&self, kind: sys::isl_dim_type, name: &str) -> Result<Option<usize>> {
        let name = c_string(name)?;
        // SAFETY: both are live. -1 means that there is none, which is not an error here.
        let found = unsafe {
            let isl = self.context().isl();
            isl.isl_space_find_dim_by_name(self.keep(), kind, name.as_ptr())
        };
        Ok(usize::try_from(found).ok())
    }

    pub(crate) fn tuple_name(&self, kind: sys::isl_dim_type) -> Option<String> {
        let context = self.context();
        let has = isl!(context, isl_space_has_tuple_name(self.keep(), kind)).unwrap_or(0);
        if has == 0 {
            return None;
        }
        isl!(context, isl_space_get_tuple_name(self.keep(), kind)).ok().flatten()
    }

    pub(crate) fn is_params(&self) -> Result<bool> {
        Ok(isl!(self.context(), isl_space_is_params(self.keep()))? != 0)
    }

    /// The point with these coordinates in this (set or parameter) space.
    pub(crate) fn point(
        &self,
        params: &[(String, i64)],
        coords: &[i64],
    ) -> Result<Handle<sys::isl_point>> {
        let context = self.context();
        let rank = if self.is_params()? { 0 } else { self.dim(OUT) };
        check_len("coordinates", rank, coords.len())?;
        let mut point = isl!(context, isl_point_zero(self.take()))?;
        let mut set = |kind, pos: usize, value: i64| -> Result<()> {
            let value = context.integer(value)?;
            point = isl!(
                context,
                isl_point_set_coordinate_val(point.take(), kind, pos as i32, value.take())
            )?;
            Ok(())
        };
        for (pos, name) in self.names(PARAM)?.into_iter().enumerate() {
            let value = params.iter().find(|(param, _)| *param == name);
            let value = value.ok_or(Error::MissingParameter { name })?.1;
            set(PARAM, pos, value)?;
        }
        for (pos, &value) in coords.iter().enumerate() {
            set(OUT, pos, value)?;
        }
        Ok(point)
    }
}

/// An error unless `found` is what the object has.
pub(crate) fn check_len(what: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::Shape { expected: format!("{expected} {what}"), found: found.to_string() })
}
