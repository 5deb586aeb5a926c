//! A place for every element of a tensor's box: for structures that say so much that storing less costs more.
//!
//! The sum of a block diagonal matrix and one with zeros behind a column has elements in half of its box, in a union of
//! sets with strides; the number of elements before one of them has dozens of pieces, each with floors. Its place in
//! the box has one, without.

use dastac_poly::Set;

use crate::LayoutError;
use crate::coordinates::Coordinates;
use crate::density::{is_dense, is_nearly_all, is_usually_worth_it, is_worth_it};
use crate::part::{Candidate, Part};

/// A union of more sets than this is tangled.
const SETS: usize = 5;

/// The same limit for more than two dimensions.
const SETS_OF_TENSORS: usize = 2;

/// The same limit for sets with strides.
const STRIDED_SETS: usize = 1;

/// Steps of isl for counting a set without strides.
const COUNTED: u64 = 100_000;

/// Such a count has at most so many pieces.
const FEW_PIECES: usize = 5;

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

/// The part of these elements in the smallest set of simple conditions around them, counted in dimensions, steps or
/// digits, or else in their box, if they are a good part of its places, or if they take `long` to count and are not
/// few; `None` otherwise.
pub(crate) fn in_hull(
    stored: &Set,
    (dims, order): (&[String], &[usize]),
    whole: &Set,
    long: bool,
) -> Result<Option<Part>, LayoutError> {
    let plain = Coordinates::plain(dims, order);
    let steps = [
        Coordinates::strided(stored, dims, order, false)?,
        Coordinates::strided(stored, dims, order, true)?,
        Coordinates::digits(stored, dims, order, false)?,
    ];
    let mut sparse = None;
    for coordinates in steps.into_iter().flatten().chain([plain.clone()]) {
        let names = coordinates.names();
        let elements = match coordinates == plain {
            true => plain.image(stored)?,
            false => Candidate::new(stored, &coordinates)?.elements().clone(),
        };
        if elements.rank() != names.len() {
            continue; // a coordinate follows from others
        }
        let span = elements.remove_divs()?.simple_hull()?.with_dim_names(&names)?;
        let dense = is_dense(&elements, &span)?;
        if !dense && (sparse.is_some() || !long || !is_worth_it(&elements, &span)?) {
            continue;
        }
        let candidate = Candidate::within(stored, &coordinates, span);
        let part = match candidate.summed()? {
            Some(part) => Some(part),
            None => candidate.relaxed()?,
        };
        match part {
            Some(part) if dense => return Ok(Some(part)),
            // Without strides, and digits as coordinates, counting is fast.
            None if dense && names.len() <= stored.rank() => {
                let part = stored.context().budgeted(COUNTED, || candidate.counted());
                if let Ok(part) = part
                    && part.rank.pieces.len() <= FEW_PIECES
                {
                    return Ok(Some(part));
                }
            }
            part => sparse = sparse.or(part),
        }
    }
    let enough = if long { is_usually_worth_it } else { is_dense };
    match sparse {
        None if enough(stored, whole)? => in_places(stored, &plain, whole),
        sparse => Ok(sparse),
    }
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
    // The symbols for which there are elements, where that is one condition without existential dimensions.
    let symbols = stored.params_set()?.remove_divs()?.simplify()?;
    let span =
        if symbols.basic_set_count()? <= 1 { span.intersect_params(&symbols)? } else { span };
    let span = span.with_dim_names(&names)?;
    if !plain.image(stored)?.is_subset(&span)? {
        return Ok(None);
    }
    Candidate::within(stored, plain, span).summed()
}
