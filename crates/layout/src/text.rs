//! Piecewise polynomials for people: conditions in the notation of the language, with `/` and `%`, never in isl's.

use dastac_poly::Set;
use dastac_stur::TensorId;
use dastac_stur::infer::{Inferred, set_to_stur};

use crate::Piecewise;

/// A piece as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PieceText {
    /// Its polynomial.
    pub polynomial: String,
    /// Where it holds; `None` if it is the only piece.
    pub condition: Option<String>,
}

/// The pieces of a polynomial over the dimensions of a tensor, or over symbols alone.
pub fn pieces(inferred: &Inferred, tensor: TensorId, value: &Piecewise) -> Vec<PieceText> {
    let several = value.pieces.len() > 1;
    let text = |piece: &crate::Piece| PieceText {
        polynomial: piece.polynomial.to_string(),
        condition: several.then(|| condition(inferred, tensor, &piece.domain)),
    };
    value.pieces.iter().map(text).collect()
}

/// A polynomial on one line: `{ i if (i < 3); 2*i - 3 if (3 <= i) }`.
pub fn position(inferred: &Inferred, tensor: TensorId, value: &Piecewise) -> String {
    let pieces: Vec<String> = pieces(inferred, tensor, value)
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

/// A set of elements, or of sizes, as a sum of products of comparisons.
pub fn condition(inferred: &Inferred, tensor: TensorId, set: &Set) -> String {
    let all = &inferred.tensors[tensor.0].iterators;
    let iterators = if set.rank() == all.len() { all.as_slice() } else { &[] };
    // isl may give up on a set. What is shown is no result that something else is computed from.
    let text = if set.rank() == iterators.len() {
        set_to_stur(&inferred.sets, set, iterators).ok()
    } else {
        None
    };
    text.unwrap_or_else(|| "a condition too complex to write".into())
}
