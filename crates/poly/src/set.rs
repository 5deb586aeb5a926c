//! Sets of integer points, described by affine constraints with parameters.

use crate::context::{Context, Handle, c_string, collect, to_i64};
use crate::space::{OUT, PARAM, Space, check_len};
use crate::{Error, Map, PwAff, Result};
use isl_vendor as sys;
use std::ffi::c_void;

/// A set of integer points: a union of basic sets, in one space. Displays in isl's notation.
#[derive(Clone)]
pub struct Set(pub(crate) Handle<sys::isl_set>);

/// An integer point, with the parameter values at which it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Name and value of each parameter.
    pub params: Vec<(String, i64)>,
    /// The coordinates.
    pub coords: Vec<i64>,
}

wrapper!(Set);
parsed!(Set, isl_set_read_from_str);

/// Sets of at most so many basic sets are coalesced pair by pair,
const MAX_PAIRED: usize = 64;

/// and others so many basic sets at a time.
const NEIGHBOURS: usize = 16;

impl Set {
    methods! {
        /// The points in both.
        intersect(other: Set) -> Set = isl_set_intersect;
        /// The points in either.
        union(other: Set) -> Set = isl_set_union;
        /// The points that are not in `other`.
        subtract(other: Set) -> Set = isl_set_subtract;
        /// The points of the space that are not in the set.
        complement() -> Set = isl_set_complement;
        /// Restricts the parameters to those of a parameter domain.
        intersect_params(params: Set) -> Set = isl_set_intersect_params;
        /// The parameters for which the set has points.
        params_set() -> Set = isl_set_params;

        /// Whether it has no points, for any parameters.
        is_empty(?) = isl_set_is_empty;
        /// Whether both have the same points.
        is_equal(? other: Set) = isl_set_is_equal;
        /// Whether every point is in `other`.
        is_subset(? other: Set) = isl_set_is_subset;
        /// Whether they have no point in common.
        is_disjoint(? other: Set) = isl_set_is_disjoint;
        /// Whether it has exactly one point for each of the parameters for which it has any.
        is_singleton(?) = isl_set_is_singleton;

        /// [`Set::coalesce`] of all basic sets at once.
        coalesce_pairs(same) -> Set = isl_set_coalesce;
        /// The same points, with implicit equalities made explicit.
        detect_equalities() -> Set = isl_set_detect_equalities;
        /// The same points, without constraints that follow from others.
        remove_redundancies() -> Set = isl_set_remove_redundancies;
        /// A set that has the same points within `context`, in as few constraints as possible.
        gist(context: Set) -> Set = isl_set_gist;
        /// The same without the constraints on parameters that follow from `params`.
        gist_params(params: Set) -> Set = isl_set_gist_params;
        /// The same points in basic sets that do not overlap.
        make_disjoint() -> Set = isl_set_make_disjoint;
        /// The same points, with every existential dimension as an explicit floor.
        compute_divs() -> Set = isl_set_compute_divs;

        /// The image under a map.
        apply(map: Map) -> Set = isl_set_apply;
        /// The map from each point to itself.
        identity() -> Map = isl_set_identity;
        /// All pairs, as points of one flat tuple.
        flat_product(other: Set) -> Set = isl_set_flat_product;
        /// The map that a set of wrapped pairs stands for ([`Map::wrap`]).
        unwrap_map() -> Map = isl_set_unwrap;
        /// The same set with its dimensions as a flat, unnamed tuple.
        flatten() -> Set = isl_set_flatten;
        /// Without the parameters that no constraint mentions.
        drop_unused_params() -> Set = isl_set_drop_unused_params;
    }

    pub(crate) fn space(&self) -> Result<Space> {
        isl!(self.context(), isl_set_get_space(self.0.keep()))
    }

    /// All points of the set's space.
    pub fn universe_like(&self) -> Result<Set> {
        let space = self.space()?;
        isl!(self.context(), isl_set_universe(space.take())).map(Set)
    }

    /// The empty set of the set's space.
    pub fn empty_like(&self) -> Result<Set> {
        let space = self.space()?;
        isl!(self.context(), isl_set_empty(space.take())).map(Set)
    }

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

    fn check_dim(&self, idx: usize) -> Result<()> {
        if idx < self.rank() {
            return Ok(());
        }
        let expected = format!("a position below {}", self.rank());
        Err(Error::Shape { expected, found: idx.to_string() })
    }

    /// Whether it has finitely many points, for each of the parameters.
    pub fn is_bounded(&self) -> Result<bool> {
        let bounded = |set: &Set| -> Result<bool> {
            Ok(isl!(self.context(), isl_set_is_bounded(set.0.keep()))? != 0)
        };
        // Existential dimensions count as dimensions; written as floors they are bounded.
        Ok(bounded(self)? || bounded(&self.compute_divs()?.detect_equalities()?)?)
    }

    /// For each of the parameters the lexicographically first point.
    ///
    /// # Errors
    /// A failure of isl, or an answer that leaves out some of the parameters.
    pub fn lexmin(&self) -> Result<Set> {
        // As in `Map::lexmin`.
        let plain = self.remove_redundancies()?;
        let first = isl!(self.context(), isl_set_lexmin(plain.0.take())).map(Set)?;
        self.with_all_params("isl_set_lexmin", first)
    }

    /// For each of the parameters the lexicographically last point.
    ///
    /// # Errors
    /// As [`Set::lexmin`].
    pub fn lexmax(&self) -> Result<Set> {
        let plain = self.remove_redundancies()?;
        let last = isl!(self.context(), isl_set_lexmax(plain.0.take())).map(Set)?;
        self.with_all_params("isl_set_lexmax", last)
    }

    fn with_all_params(&self, operation: &'static str, chosen: Set) -> Result<Set> {
        match self.params_set()?.is_equal(&chosen.params_set()?)? {
            true => Ok(chosen),
            false => Err(Error::Isl { operation, message: "its answer is incomplete".into() }),
        }
    }

    /// The same points in fewer basic sets, where they fit together. isl tries every pair of basic sets; where there
    /// are very many, only neighbours are tried, so that the time is in proportion to their number.
    pub fn coalesce(&self) -> Result<Set> {
        if self.basic_set_count()? <= MAX_PAIRED {
            return self.coalesce_pairs();
        }
        let mut basics = self.basic_sets()?;
        while basics.len() > MAX_PAIRED {
            let mut fewer = Vec::new();
            for neighbours in basics.chunks(NEIGHBOURS) {
                if let Some(joined) = Set::union_of(neighbours)? {
                    fewer.extend(joined.coalesce_pairs()?.basic_sets()?);
                }
            }
            let gain = basics.len().saturating_sub(fewer.len());
            basics = fewer;
            if gain < basics.len() / 4 {
                break;
            }
        }
        let joined = Set::union_of(&basics)?.map_or_else(|| self.empty_like(), Ok)?;
        if basics.len() <= MAX_PAIRED { joined.coalesce_pairs() } else { Ok(joined) }
    }

    /// The points in any of the sets; nothing if there are none. In halves: a union copies its sides.
    pub fn union_of(sets: &[Set]) -> Result<Option<Set>> {
        match sets {
            [] => Ok(None),
            [only] => Ok(Some(only.clone())),
            _ => {
                let (left, right) = sets.split_at(sets.len() / 2);
                match (Set::union_of(left)?, Set::union_of(right)?) {
                    (Some(left), Some(right)) => left.union(&right).map(Some),
                    (left, right) => Ok(left.or(right)),
                }
            }
        }
    }

    /// Number of basic sets of the description.
    pub fn basic_set_count(&self) -> Result<usize> {
        let list = isl!(self.context(), isl_set_get_basic_set_list(self.0.keep()))?;
        Ok(isl!(self.context(), isl_basic_set_list_size(list.keep()))? as usize)
    }

    /// The same points, described as simply as isl can.
    pub fn simplify(&self) -> Result<Set> {
        self.detect_equalities()?.coalesce()?.remove_redundancies()?.coalesce()
    }

    /// The smallest affine subspace (with strides) that has all points.
    pub fn affine_hull(&self) -> Result<Set> {
        let hull = isl!(self.context(), isl_set_affine_hull(self.0.take()))?;
        isl!(self.context(), isl_set_from_basic_set(hull.take())).map(Set)
    }

    /// A basic set that has all points, made of constraints of the set.
    pub fn simple_hull(&self) -> Result<Set> {
        let hull = isl!(self.context(), isl_set_simple_hull(self.0.take()))?;
        isl!(self.context(), isl_set_from_basic_set(hull.take())).map(Set)
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

    /// The basic sets, each as a set. They may overlap ([`Set::make_disjoint`]).
    pub fn basic_sets(&self) -> Result<Vec<Set>> {
        let context = self.context();
        let list = isl!(context, isl_set_get_basic_set_list(self.0.keep()))?;
        let count = isl!(context, isl_basic_set_list_size(list.keep()))?;
        (0..count)
            .map(|pos| {
                let basic = isl!(context, isl_basic_set_list_get_at(list.keep(), pos))?;
                isl!(context, isl_set_from_basic_set(basic.take())).map(Set)
            })
            .collect()
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
