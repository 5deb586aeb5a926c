//! What can be seen of a tensor without computing with it: how full it is, its symmetry and bandwidth, and a picture of
//! its pattern.

mod choose;
mod groups;
mod spy;
#[cfg(test)]
mod tests;
pub mod tree;

pub use choose::{Choice, choose};
pub use groups::{Answer, Group, NoOrder, groups};
pub use spy::{Picture, Spy};

use rayon::prelude::*;

use crate::format::Format;
use crate::storage::{Build, Entries, StorageError, Tensor};
use dastac_elements::{Element, Storage};

/// Whether a matrix is its own mirror image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// Its values are.
    Symmetric,
    /// They are after a change of sign.
    Skew,
    /// Only its pattern is.
    Pattern,
    /// Not even that.
    None,
}

/// What only matrices have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixFacts {
    /// Of square ones.
    pub symmetry: Option<Symmetry>,
    /// How far below the diagonal entries stand at most.
    pub lower_bandwidth: u64,
    /// How far above the diagonal entries stand at most.
    pub upper_bandwidth: u64,
}

/// How entries are spread over the slices of one dimension: over rows, say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The number of slices, empty ones included.
    pub extent: u64,
    /// How many of them are not empty.
    pub used: u64,
    /// The entries of the emptiest slice.
    pub least: u64,
    /// The entries of the slice in the middle when all are sorted by their number.
    pub median: u64,
    /// The entries of the fullest slice.
    pub most: u64,
    /// How many slices have from `2^k` to `2^(k+1) - 1` entries.
    pub powers: Vec<u64>,
}

/// What is known of the values; of complex ones, of their magnitudes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueFacts {
    /// The least that is a number.
    pub least: f64,
    /// The largest that is a number.
    pub largest: f64,
    /// How many entries are zero.
    pub zeros: u64,
    /// How many are infinite or no number.
    pub not_finite: u64,
}

/// All that is known of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The number of entries.
    pub entries: u64,
    /// Entries over elements; nothing for a tensor without elements.
    pub density: Option<f64>,
    /// Of the values; nothing without entries, and for patterns.
    pub values: Option<ValueFacts>,
    /// By dimension.
    pub spreads: Vec<Spread>,
    /// Of matrices.
    pub matrix: Option<MatrixFacts>,
}

impl Facts {
    /// Finds them.
    pub fn of(tensor: &Tensor) -> Result<Facts, StorageError> {
        let entries = tensor.to_entries()?;
        let shape = tensor.shape();
        let count = entries.len() as u64;
        // Shown, not computed with.
        #[allow(clippy::cast_precision_loss)]
        let elements: f64 = shape.iter().map(|extent| *extent as f64).product();
        #[allow(clippy::cast_precision_loss)]
        let density = (elements > 0.0).then(|| count as f64 / elements);
        let spreads = (0..shape.len()).map(|dimension| Spread::of(&entries, dimension)).collect();
        let matrix = match shape {
            [_, _] => Some(MatrixFacts::of(&entries)?),
            _ => None,
        };
        Ok(Facts {
            entries: count,
            density,
            values: ValueFacts::of(entries.values()),
            spreads,
            matrix,
        })
    }
}

impl ValueFacts {
    fn of(values: &Storage) -> Option<ValueFacts> {
        if values.is_empty() || values.element() == Element::Bool {
            return None;
        }
        let mut facts = ValueFacts {
            least: f64::INFINITY,
            largest: f64::NEG_INFINITY,
            zeros: 0,
            not_finite: 0,
        };
        let numbers: Vec<f64> = match values.element().is_complex() {
            true => values.numbers().map(|number| number.to_complex().norm()).collect(),
            false => values.to_f64(),
        };
        for number in numbers {
            facts.zeros += u64::from(number == 0.0);
            if number.is_finite() {
                (facts.least, facts.largest) = (facts.least.min(number), facts.largest.max(number));
            } else {
                facts.not_finite += 1;
            }
        }
        Some(facts)
    }
}

impl Spread {
    fn of(entries: &Entries, dimension: usize) -> Spread {
        let mut slices: Vec<u64> =
            (0..entries.len()).map(|entry| entries.at(entry)[dimension]).collect();
        slices.par_sort_unstable();
        let mut counts: Vec<u64> =
            slices.chunk_by(|one, other| one == other).map(|slice| slice.len() as u64).collect();
        counts.sort_unstable();
        let extent = entries.shape()[dimension];
        let used = counts.len() as u64;
        let empty = extent - used;
        let mut powers = Vec::new();
        for count in &counts {
            let power = count.ilog2() as usize;
            powers.resize(powers.len().max(power + 1), 0);
            powers[power] += 1;
        }
        // Empty slices come first; the middle one may be among them.
        let middle = extent / 2;
        let median = middle.checked_sub(empty).and_then(|at| counts.get(usize::try_from(at).ok()?));
        Spread {
            extent,
            used,
            least: if empty > 0 { 0 } else { counts.first().copied().unwrap_or(0) },
            median: median.copied().unwrap_or(0),
            most: counts.last().copied().unwrap_or(0),
            powers,
        }
    }
}

impl MatrixFacts {
    fn of(entries: &Entries) -> Result<MatrixFacts, StorageError> {
        let far = |from: usize, to: usize| {
            let distances = (0..entries.len()).map(|entry| {
                let element = entries.at(entry);
                element[to].saturating_sub(element[from])
            });
            distances.max().unwrap_or(0)
        };
        let square = entries.shape()[0] == entries.shape()[1];
        Ok(MatrixFacts {
            symmetry: if square { Some(symmetry(entries)?) } else { None },
            lower_bandwidth: far(1, 0),
            upper_bandwidth: far(0, 1),
        })
    }
}

/// Compares a matrix with its transpose, which is the same arrays in another format.
fn symmetry(entries: &Entries) -> Result<Symmetry, StorageError> {
    let by_rows = Format::csf(2);
    let by_columns = by_rows.with_order(vec![1, 0]).unwrap_or(Format::csc());
    let rows = Tensor::from_entries(entries, &by_rows, Build::default())?;
    let columns = Tensor::from_entries(entries, &by_columns, Build::default())?;
    if rows.levels() != columns.levels() {
        return Ok(Symmetry::None);
    }
    if rows.values() == columns.values() {
        return Ok(Symmetry::Symmetric);
    }
    let skew = rows.values().are_negatives_of(columns.values());
    Ok(if skew { Symmetry::Skew } else { Symmetry::Pattern })
}
