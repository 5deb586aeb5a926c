//! A place for every element of a tensor's box: for structures that say so much that storing less costs more.
//!
//! The sum of a block diagonal matrix and one with zeros behind a column has elements in half of its box, in a union of
//! sets with strides; the number of elements before one of them has dozens of pieces, each with floors. Its place in
//! the box has one, without.

use dastac_poly::Set;

use crate::LayoutError;
use crate::coordinates::Coordinates;
use crate::part::{Candidate, Part};

/// A union of more sets than this is tangled.
const SETS: usize = 5;

/// The same limit for more than two dimensions.
const SETS_OF_TENSORS: usize = 2;

/// The same limit for sets with strides.
const STRIDED_SETS: usize = 1;

/// The share of the places that elements must have: one in so many.
const SHARE: usize = 4;

/// So many points are looked at, of a box with about so many places, and at least so many must be places.
const SAMPLES: usize = 1024;
const PLACES: f64 = 16_777_216.0;
const FEWEST: usize = 8;

/// The part of these elements in their box, if they are tangled and many; `None` otherwise.
pub(crate) fn in_box(
    stored: &Set,
    plain: &Coordinates,
    whole: &Set,
) -> Result<Option<Part>, LayoutError> {
    let most = match (stored.existentials()?, stored.rank()) {
        (1.., _) => STRIDED_SETS,
        (0, 0..=2) => SETS,
        (0, _) => SETS_OF_TENSORS,
    };
    if stored.rank() < 2 || stored.basic_set_count()? <= most || !is_dense(stored, whole)? {
        return Ok(None);
    }
    in_places(stored, plain, whole)
}

/// The part of these elements in a set that contains them; `None` if that has no simple index.
pub(crate) fn in_places(
    stored: &Set,
    plain: &Coordinates,
    whole: &Set,
) -> Result<Option<Part>, LayoutError> {
    let names: Vec<String> = plain.names();
    let image = plain.map(&stored.universe_like()?)?;
    let span = whole.with_dim_names(&stored.dims()?)?.apply(&image)?;
    let span = span.intersect_params(&stored.params_set()?)?.with_dim_names(&names)?;
    if !plain.image(stored)?.is_subset(&span)? {
        return Ok(None);
    }
    Candidate::within(stored, plain, span).summed()
}

/// Whether a good part of the places around some elements are elements, as far as random points show at sizes that are
/// usual for this number of dimensions.
pub(crate) fn is_dense(stored: &Set, around: &Set) -> Result<bool, LayoutError> {
    let rank = i32::try_from(stored.rank()).unwrap_or(1).max(1);
    let size = PLACES.powf(1.0 / f64::from(rank)) as i64;
    let mut symbols: Vec<(String, i64)> = Vec::new();
    for name in around.params()?.into_iter().chain(stored.params()?) {
        if !symbols.iter().any(|(known, _)| *known == name) {
            let more = i64::try_from(symbols.len()).unwrap_or(0);
            symbols.push((name, size + more));
        }
    }
    let fixed = |set: &Set| -> Result<Set, LayoutError> {
        let params = set.params()?;
        let known: Vec<(String, i64)> =
            symbols.iter().filter(|(name, _)| params.contains(name)).cloned().collect();
        Ok(set.fix_params(&known)?)
    };
    let (stored, around) = (fixed(stored)?, fixed(around)?);
    if around.is_empty()? {
        return Ok(false);
    }
    let mut extents = Vec::new();
    for k in 0..around.rank() {
        if !around.has_dim_upper_bound(k)? {
            return Ok(false);
        }
        let most = around.dim_max(k)?.eval(&[], &[])?;
        let Some(most) = most.and_then(|most| i64::try_from(most.to_integer()).ok()) else {
            return Ok(false);
        };
        extents.push(most.max(0) + 1);
    }
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut places, mut elements) = (0, 0);
    for _ in 0..SAMPLES {
        let point: Vec<i64> = extents
            .iter()
            .map(|extent| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                i64::try_from(state >> 33).unwrap_or(0) % extent
            })
            .collect();
        places += usize::from(around.contains(&[], &point)?);
        elements += usize::from(stored.contains(&[], &point)?);
    }
    Ok(places >= FEWEST && elements * SHARE >= places)
}
