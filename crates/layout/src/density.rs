//! How many of the places around some elements are elements, as far as random points show.

use dastac_poly::Set;

use crate::LayoutError;

/// The share of the places that elements must have: one in so many.
const SHARE: usize = 4;

/// Of nearly all places, one in so many may have no element.
const NEARLY: usize = 20;

/// So many points are looked at, of a box with about so many places, and at least so many must be places.
const SAMPLES: usize = 1024;
const PLACES: f64 = 16_777_216.0;
const FEWEST: usize = 8;

/// Whether a good part of the places around some elements are elements, as far as random points show at sizes that are
/// usual for this number of dimensions.
pub(crate) fn is_dense(stored: &Set, around: &Set) -> Result<bool, LayoutError> {
    is_share(stored, around, 1, SHARE)
}

/// Whether nearly all of the places around some elements are elements, as far as random points show.
pub(crate) fn is_nearly_all(stored: &Set, around: &Set) -> Result<bool, LayoutError> {
    is_share(stored, around, NEARLY - 1, NEARLY)
}

/// Whether at least `part` of `of` places around some elements are elements.
fn is_share(stored: &Set, around: &Set, part: usize, of: usize) -> Result<bool, LayoutError> {
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
    Ok(places >= FEWEST && elements * of >= places * part)
}
