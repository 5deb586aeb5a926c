//! Piecewise polynomials for people: conditions in the notation of the language, with `/` and `%`, never in isl's.

use dastac_poly::Set;
use dastac_stur::TensorId;
use dastac_stur::infer::{InferError, Inferred, condition_to_stur, set_to_stur};

use crate::fusion::fuse;
use crate::index::symbols_of;
use crate::{Layout, LayoutError, Piece, Piecewise};

/// A piece as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PieceText {
    /// Its polynomial.
    pub polynomial: String,
    /// Where it holds; `None` if it is the only piece.
    pub condition: Option<String>,
}

/// The pieces of the index of a layout.
pub fn index(
    inferred: &Inferred,
    tensor: TensorId,
    layout: &Layout,
    value: &Piecewise,
) -> Vec<PieceText> {
    let several = value.pieces.len() > 1;
    let text = |piece: &Piece| PieceText {
        polynomial: piece.polynomial.to_string(),
        condition: several.then(|| within(inferred, tensor, &piece.domain, &layout.stored)),
    };
    value.pieces.iter().map(text).collect()
}

/// The pieces of a polynomial over symbols alone.
pub fn size(inferred: &Inferred, value: &Piecewise) -> Vec<PieceText> {
    let several = value.pieces.len() > 1;
    let text = |piece: &Piece| PieceText {
        polynomial: piece.polynomial.to_string(),
        condition: several.then(|| of_symbols(inferred, &piece.domain)),
    };
    value.pieces.iter().map(text).collect()
}

/// How many points a set has.
///
/// # Errors
/// A failure of isl, counting that is not there, a number that takes long to simplify.
pub fn count(inferred: &Inferred, points: &Set) -> Result<Vec<PieceText>, LayoutError> {
    let value = points
        .context()
        .budgeted(MOST_STEPS, || fuse(&points.card()?, &symbols_of(points)?, &[]))?;
    Ok(size(inferred, &value.for_positive_symbols()?))
}

/// Steps of isl that a number of points is worth.
const MOST_STEPS: u64 = 200_000;

/// The index of a layout on one line: `{ i if (i < 3); 2*i - 3 if (3 <= i) }`.
pub fn position(inferred: &Inferred, tensor: TensorId, layout: &Layout) -> String {
    let pieces: Vec<String> = index(inferred, tensor, layout, &layout.index)
        .into_iter()
        .map(|piece| match piece.condition {
            Some(condition) => format!("{} if {condition}", piece.polynomial),
            None => piece.polynomial,
        })
        .collect();
    match pieces.as_slice() {
        [] => "0".into(),
        [only] => only.clone(),
        pieces => format!("{{ {} }}", pieces.join("; ")),
    }
}

/// The elements of a part, as a sum of products of comparisons.
pub fn elements(inferred: &Inferred, tensor: TensorId, layout: &Layout, set: &Set) -> String {
    within(inferred, tensor, set, &layout.stored)
}

/// What is shown is no result that something else is computed from, so isl may give up on it.
fn or_words<E>(text: Result<String, E>) -> String {
    text.unwrap_or_else(|_| "a condition too complex to write".into())
}

fn within(inferred: &Inferred, tensor: TensorId, set: &Set, all: &Set) -> String {
    let iterators = &inferred.tensors[tensor.0].iterators;
    or_words(condition_to_stur(&inferred.sets, set, all, iterators))
}

fn of_symbols(inferred: &Inferred, set: &Set) -> String {
    let text = || -> Result<String, InferError> {
        let sizes = inferred.sets.universe(&[])?.intersect_params(&set.params_set()?)?;
        set_to_stur(&inferred.sets, &sizes, &[])
    };
    or_words(text())
}
