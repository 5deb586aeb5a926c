//! Unions of sets and maps of different spaces: the statements of a program, and their schedule.

use crate::{Map, Result, Set, UnionMap, UnionSet};

impl UnionSet {
    methods! {
        /// The points in either.
        union(other: UnionSet) -> UnionSet = isl_union_set_union;
        /// The points in both.
        intersect(other: UnionSet) -> UnionSet = isl_union_set_intersect;
        /// The points that are not in `other`.
        subtract(other: UnionSet) -> UnionSet = isl_union_set_subtract;
        /// The image under a map.
        apply(map: UnionMap) -> UnionSet = isl_union_set_apply;
        /// The same points in fewer basic sets, where they fit together.
        coalesce(same) -> UnionSet = isl_union_set_coalesce;
        /// Whether it has no points.
        is_empty(?) = isl_union_set_is_empty;
        /// Whether both have the same points.
        is_equal(? other: UnionSet) = isl_union_set_is_equal;
        /// Whether every point is in `other`.
        is_subset(? other: UnionSet) = isl_union_set_is_subset;
    }

    /// A set, as a union of one.
    pub fn from_set(set: &Set) -> Result<UnionSet> {
        isl!(set.context(), isl_union_set_from_set(set.0.take())).map(UnionSet)
    }

    /// The sets, one for each space.
    pub fn sets(&self) -> Result<Vec<Set>> {
        let context = self.context();
        let list = isl!(context, isl_union_set_get_set_list(self.0.keep()))?;
        let count = isl!(context, isl_set_list_size(list.keep()))?;
        (0..count)
            .map(|pos| isl!(context, isl_set_list_get_at(list.keep(), pos)).map(Set))
            .collect()
    }
}

impl UnionMap {
    methods! {
        /// The pairs in either.
        union(other: UnionMap) -> UnionMap = isl_union_map_union;
        /// The pairs in both.
        intersect(other: UnionMap) -> UnionMap = isl_union_map_intersect;
        /// The pairs that are not in `other`.
        subtract(other: UnionMap) -> UnionMap = isl_union_map_subtract;
        /// The pairs whose first is in the set.
        intersect_domain(domain: UnionSet) -> UnionMap = isl_union_map_intersect_domain;
        /// The pairs whose second is in the set.
        intersect_range(range: UnionSet) -> UnionMap = isl_union_map_intersect_range;
        /// First this map, then the other on its results.
        apply_range(then: UnionMap) -> UnionMap = isl_union_map_apply_range;
        /// The set of firsts.
        domain() -> UnionSet = isl_union_map_domain;
        /// The set of seconds.
        range() -> UnionSet = isl_union_map_range;
        /// Seconds to firsts.
        reverse() -> UnionMap = isl_union_map_reverse;
        /// The same pairs in fewer basic maps, where they fit together.
        coalesce(same) -> UnionMap = isl_union_map_coalesce;
        /// Whether it has no pairs.
        is_empty(?) = isl_union_map_is_empty;
        /// Whether both have the same pairs.
        is_equal(? other: UnionMap) = isl_union_map_is_equal;
    }

    /// A map, as a union of one.
    pub fn from_map(map: &Map) -> Result<UnionMap> {
        isl!(map.context(), isl_union_map_from_map(map.0.take())).map(UnionMap)
    }

    /// The maps, one for each pair of spaces.
    pub fn maps(&self) -> Result<Vec<Map>> {
        let context = self.context();
        let list = isl!(context, isl_union_map_get_map_list(self.0.keep()))?;
        let count = isl!(context, isl_map_list_size(list.keep()))?;
        (0..count)
            .map(|pos| isl!(context, isl_map_list_get_at(list.keep(), pos)).map(Map))
            .collect()
    }
}
