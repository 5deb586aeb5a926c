//! Sets of integer points, described by affine constraints with parameters.

use crate::space::Space;
use crate::{Error, Map, Result, Set};

/// Sets of at most so many basic sets are coalesced pair by pair.
const MAX_PAIRED: usize = 64;

/// Larger sets are coalesced in groups of so many neighbouring basic sets.
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

        /// A set that has all points, without existential dimensions: what they say is left out.
        remove_divs() -> Set = isl_set_remove_divs;

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
            false => Err(Error::Incomplete { operation }),
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

    /// The points in any of the sets; `None` if there are none. In halves: a union copies its sides.
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
}
