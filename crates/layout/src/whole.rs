//! A place for every element of a tensor's box: for structures that say so much that storing less costs more.
//!
//! The sum of a block diagonal matrix and one with zeros behind a column has elements in half of its box, in a union of
//! sets with strides; the number of elements before one of them has dozens of pieces, each with floors. Its place in
//! the box has one, without.

use dastac_poly::Set;

use crate::LayoutError;
use crate::coordinates::Coordinates;
use crate::density::{is_dense, is_nearly_all};
use crate::part::{Candidate, Part};

/// A union of more sets than this is tangled.
const SETS: usize = 5;

/// The same limit for more than two dimensions.
const SETS_OF_TENSORS: usize = 2;

/// The same limit for sets with strides.
const STRIDED_SETS: usize = 1;

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

/// Whether elements of a vector that are not one run or stride are nearly all of it: rows of a matrix that have an
/// element in an even column, of which there are fewer where there is only one column.
pub(crate) fn is_nearly_full(stored: &Set, whole: &Set) -> Result<bool, LayoutError> {
    let is_run = || -> Result<bool, LayoutError> {
        Ok(stored.basic_set_count()? <= 1 && stored.existentials()? == 0)
    };
    Ok(stored.rank() == 1 && !is_run()? && is_nearly_all(stored, whole)?)
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
