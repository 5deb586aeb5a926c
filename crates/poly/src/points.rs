//! Single points of sets: membership, samples and enumeration.

use crate::context::Context;
use crate::handle::{Handle, collect, to_i64};
use crate::space::{OUT, PARAM};
use crate::{Error, Result, Set};
use isl_vendor as sys;
use std::ffi::c_void;

/// An integer point, with the parameter values at which it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Name and value of each parameter.
    pub params: Vec<(String, i64)>,
    /// The coordinates.
    pub coords: Vec<i64>,
}

impl Set {
    /// Whether the point is in the set. Every parameter of the set needs a value.
    pub fn contains(&self, params: &[(String, i64)], point: &[i64]) -> Result<bool> {
        let point = self.space()?.point(params, point)?;
        let point = isl!(self.context(), isl_set_from_point(point.take())).map(Set)?;
        point.is_subset(self)
    }

    /// Some point, or `None` if there is none.
    pub fn sample(&self) -> Result<Option<Point>> {
        let context = self.context();
        let point = isl!(context, isl_set_sample_point(self.0.take()))?;
        if isl!(context, isl_point_is_void(point.keep()))? != 0 {
            return Ok(None);
        }
        let names = self.params()?;
        let values = coordinates(&point, PARAM, names.len())?;
        let coords = coordinates(&point, OUT, self.rank())?;
        Ok(Some(Point { params: names.into_iter().zip(values).collect(), coords }))
    }

    /// All points in lexicographic order, for a set without parameters ([`Set::fix_params`]).
    pub fn points(&self, limit: usize) -> Result<Vec<Vec<i64>>> {
        let set = self.drop_unused_params()?;
        if let Some(name) = set.params()?.into_iter().next() {
            return Err(Error::MissingParameter { name });
        }
        if !set.is_bounded()? {
            return Err(Error::Infinite { set: self.to_string() });
        }
        let context = self.context();
        let mut found = Limited { points: Vec::new(), limit };
        let user: *mut c_void = (&raw mut found).cast();
        let status =
            isl!(context, isl_set_foreach_point(set.0.keep(), Some(collect_limited), user));
        let rank = set.rank();
        let handles: Vec<Handle<sys::isl_point>> = found
            .points
            .into_iter()
            .map(|point| context.call("isl_set_foreach_point", |_| point))
            .collect::<Result<_>>()?;
        if handles.len() > limit {
            return Err(Error::TooManyPoints { limit });
        }
        status?;
        let mut points = handles
            .iter()
            .map(|point| coordinates(point, OUT, rank))
            .collect::<Result<Vec<_>>>()?;
        points.sort_unstable();
        Ok(points)
    }
}

struct Limited {
    points: Vec<*mut sys::isl_point>,
    limit: usize,
}

/// [`collect`], stopping after one point more than the limit.
unsafe extern "C" fn collect_limited(
    point: *mut sys::isl_point,
    user: *mut c_void,
) -> sys::isl_stat {
    // SAFETY: `user` is the `Limited` of `Set::points`.
    let found = unsafe { &mut *user.cast::<Limited>() };
    // SAFETY: `collect` gets the vector that it expects.
    unsafe { collect(point, (&raw mut found.points).cast()) };
    if found.points.len() > found.limit { sys::isl_stat_error } else { sys::isl_stat_ok }
}

fn coordinates(
    point: &Handle<sys::isl_point>,
    kind: sys::isl_dim_type,
    count: usize,
) -> Result<Vec<i64>> {
    let context: &Context = point.context();
    (0..count)
        .map(|pos| {
            to_i64(&isl!(context, isl_point_get_coordinate_val(point.keep(), kind, pos as i32))?)
        })
        .collect()
}
