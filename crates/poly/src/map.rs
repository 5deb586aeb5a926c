//! Relations between integer tuples: access maps, redundancy maps, schedules of one statement.

use crate::context::c_string;
use crate::handle::pieces;
use crate::space::{IN, OUT, PARAM, Space, check_len};
use crate::{Aff, Error, Map, Result, Set};
use isl_vendor as sys;

impl Map {
    methods! {
        /// The pairs in both.
        intersect(other: Map) -> Map = isl_map_intersect;
        /// The pairs in either.
        union(other: Map) -> Map = isl_map_union;
        /// The pairs that are not in `other`.
        subtract(other: Map) -> Map = isl_map_subtract;
        /// The pairs whose first is in the set.
        intersect_domain(domain: Set) -> Map = isl_map_intersect_domain;
        /// The pairs whose second is in the set.
        intersect_range(range: Set) -> Map = isl_map_intersect_range;
        /// Restricts the parameters to those of a parameter domain.
        intersect_params(params: Set) -> Map = isl_map_intersect_params;
        /// The set of firsts.
        domain() -> Set = isl_map_domain;
        /// The set of seconds.
        range() -> Set = isl_map_range;
        /// Seconds to firsts.
        reverse() -> Map = isl_map_reverse;
        /// First this map, then the other on its results.
        apply_range(then: Map) -> Map = isl_map_apply_range;
        /// The other map on the firsts.
        apply_domain(on_domain: Map) -> Map = isl_map_apply_domain;

        /// Whether it has no pairs.
        is_empty(?) = isl_map_is_empty;
        /// Whether both have the same pairs.
        is_equal(? other: Map) = isl_map_is_equal;
        /// Whether every pair is in `other`.
        is_subset(? other: Map) = isl_map_is_subset;
        /// Whether no two firsts share a second.
        is_injective(?) = isl_map_is_injective;
        /// Whether each first has one second, and each second one first.
        is_bijective(?) = isl_map_is_bijective;
        /// Whether each first has one second.
        is_single_valued(?) = isl_map_is_single_valued;

        /// The same pairs in fewer basic maps, where they fit together.
        coalesce(same) -> Map = isl_map_coalesce;
        /// The same pairs, with implicit equalities made explicit.
        detect_equalities() -> Map = isl_map_detect_equalities;
        /// The same pairs, without constraints that follow from others.
        remove_redundancies() -> Map = isl_map_remove_redundancies;
        /// A map that has the same pairs for firsts in `context`.
        gist_domain(context: Set) -> Map = isl_map_gist_domain;
        /// A map that has the same pairs for seconds in `context`.
        gist_range(context: Set) -> Map = isl_map_gist_range;
        /// The pairs as a set of wrapped tuples `[A[i] -> B[j]]`.
        wrap() -> Set = isl_map_wrap;
        /// From each first to the seconds of both maps, in one flat tuple.
        flat_range_product(other: Map) -> Map = isl_map_flat_range_product;
    }

    pub(crate) fn space(&self) -> Result<Space> {
        isl!(self.context(), isl_map_get_space(self.0.keep()))
    }

    /// All pairs of a first in `domain` and a second in `range`.
    pub fn from_domain_and_range(domain: &Set, range: &Set) -> Result<Map> {
        domain.0.same(&range.0)?;
        isl!(domain.context(), isl_map_from_domain_and_range(domain.0.take(), range.0.take()))
            .map(Map)
    }

    /// The map from each point of the set to itself.
    pub fn identity(set: &Set) -> Result<Map> {
        set.identity()
    }

    /// The names of the parameters.
    pub fn params(&self) -> Result<Vec<String>> {
        self.space()?.names(PARAM)
    }

    /// The names of the input dimensions, "" where one has none.
    pub fn in_dims(&self) -> Result<Vec<String>> {
        self.space()?.names(IN)
    }

    /// The names of the output dimensions, "" where one has none.
    pub fn out_dims(&self) -> Result<Vec<String>> {
        self.space()?.names(OUT)
    }

    /// The number of input dimensions.
    pub fn in_rank(&self) -> usize {
        self.space().map_or(0, |space| space.dim(IN))
    }

    /// The number of output dimensions.
    pub fn out_rank(&self) -> usize {
        self.space().map_or(0, |space| space.dim(OUT))
    }

    /// The name of the input tuple.
    pub fn in_tuple_name(&self) -> Option<String> {
        self.space().ok()?.tuple_name(IN)
    }

    /// The name of the output tuple.
    pub fn out_tuple_name(&self) -> Option<String> {
        self.space().ok()?.tuple_name(OUT)
    }

    fn with_tuple_name(&self, kind: sys::isl_dim_type, name: Option<&str>) -> Result<Map> {
        match name {
            Some(name) => {
                let id = self.context().id(name)?;
                isl!(self.context(), isl_map_set_tuple_id(self.0.take(), kind, id.take())).map(Map)
            }
            None if self.space()?.tuple_name(kind).is_none() => Ok(self.clone()),
            None => isl!(self.context(), isl_map_reset_tuple_id(self.0.take(), kind)).map(Map),
        }
    }

    fn with_dim_names(&self, kind: sys::isl_dim_type, names: &[impl AsRef<str>]) -> Result<Map> {
        check_len("names", self.space()?.dim(kind), names.len())?;
        let mut map = self.clone();
        for (pos, name) in names.iter().enumerate() {
            let name = c_string(name.as_ref())?;
            let pos = pos as u32;
            map =
                isl!(self.context(), isl_map_set_dim_name(map.0.take(), kind, pos, name.as_ptr()))
                    .map(Map)?;
        }
        Ok(map)
    }

    /// The same pairs with this name of the input tuple.
    pub fn with_in_tuple_name(&self, name: Option<&str>) -> Result<Map> {
        self.with_tuple_name(IN, name)
    }

    /// The same pairs with this name of the output tuple.
    pub fn with_out_tuple_name(&self, name: Option<&str>) -> Result<Map> {
        self.with_tuple_name(OUT, name)
    }

    /// The same pairs with these names of the input dimensions.
    pub fn with_in_dim_names(&self, names: &[impl AsRef<str>]) -> Result<Map> {
        self.with_dim_names(IN, names)
    }

    /// The same pairs with these names of the output dimensions.
    pub fn with_out_dim_names(&self, names: &[impl AsRef<str>]) -> Result<Map> {
        self.with_dim_names(OUT, names)
    }

    /// For each first the lexicographically smallest second.
    ///
    /// # Errors
    /// A failure of isl, or an answer that leaves out some firsts.
    pub fn lexmin(&self) -> Result<Map> {
        // isl 0.27 takes some basic maps whose constraints follow from each other for empty here.
        let plain = self.remove_redundancies()?;
        let least = isl!(self.context(), isl_map_lexmin(plain.0.take())).map(Map)?;
        self.with_all_firsts("isl_map_lexmin", least)
    }

    /// For each first the lexicographically largest second.
    ///
    /// # Errors
    /// As [`Map::lexmin`].
    pub fn lexmax(&self) -> Result<Map> {
        let plain = self.remove_redundancies()?;
        let greatest = isl!(self.context(), isl_map_lexmax(plain.0.take())).map(Map)?;
        self.with_all_firsts("isl_map_lexmax", greatest)
    }

    fn with_all_firsts(&self, operation: &'static str, chosen: Map) -> Result<Map> {
        match self.domain()?.is_equal(&chosen.domain()?)? {
            true => Ok(chosen),
            false => Err(Error::Incomplete { operation }),
        }
    }

    /// The same pairs, described as simply as isl can.
    pub fn simplify(&self) -> Result<Map> {
        self.detect_equalities()?.coalesce()?.remove_redundancies()?.coalesce()
    }

    /// Replaces parameters by values; those that the map does not have are ignored.
    pub fn fix_params(&self, params: &[(String, i64)]) -> Result<Map> {
        let mut map = self.clone();
        for (name, value) in params {
            let Some(pos) = map.space()?.find(PARAM, name)? else { continue };
            let (pos, value) = (pos as u32, self.context().integer(*value)?);
            let fixed =
                isl!(self.context(), isl_map_fix_val(map.0.take(), PARAM, pos, value.take()))?;
            map =
                isl!(self.context(), isl_map_project_out(fixed.take(), PARAM, pos, 1)).map(Map)?;
        }
        Ok(map)
    }

    /// The basic maps, each as a map. They may overlap.
    pub fn basic_maps(&self) -> Result<Vec<Map>> {
        let context = self.context();
        let list = isl!(context, isl_map_get_basic_map_list(self.0.keep()))?;
        let count = isl!(context, isl_basic_map_list_size(list.keep()))?;
        (0..count)
            .map(|pos| {
                let basic = isl!(context, isl_basic_map_list_get_at(list.keep(), pos))?;
                isl!(context, isl_map_from_basic_map(basic.take())).map(Map)
            })
            .collect()
    }

    /// What one point is mapped to.
    pub fn image_of_point(&self, params: &[(String, i64)], point: &[i64]) -> Result<Set> {
        let map = self.fix_params(params)?;
        let space = map.domain()?.space()?;
        let point = space.point(params, point)?;
        let point = isl!(self.context(), isl_set_from_point(point.take())).map(Set)?;
        point.apply(&map)
    }

    /// A single-valued map as pieces: a domain, and an affine expression for each output
    /// dimension. The domains do not overlap. An error if the map is not single-valued.
    pub fn as_pieces(&self) -> Result<Vec<(Set, Vec<Aff>)>> {
        let context = self.context();
        let function = isl!(context, isl_pw_multi_aff_from_map(self.0.take()))?;
        let found = pieces::<sys::isl_set, sys::isl_multi_aff>(
            context,
            "isl_pw_multi_aff_foreach_piece",
            // SAFETY: `function` is live, and the callback matches the vector behind `user`.
            |isl, user| unsafe {
                isl.isl_pw_multi_aff_foreach_piece(
                    function.keep(),
                    Some(crate::handle::collect_pair),
                    user,
                )
            },
        )?;
        let rank = self.out_rank();
        found
            .into_iter()
            .map(|(domain, outputs)| {
                let outputs = (0..rank as i32)
                    .map(|pos| isl!(context, isl_multi_aff_get_at(outputs.keep(), pos)).map(Aff))
                    .collect::<Result<_>>()?;
                Ok((Set(domain), outputs))
            })
            .collect()
    }
}
