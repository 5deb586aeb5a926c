//! Whether a dense array is what its declared structure says.

use dastac_elements::{Element, Storage, View, with_type};

use super::place::unflatten;
use crate::error::{Error, Result};

/// By how much an array differs from its declared structure where that was accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    /// How many elements differ.
    pub elements: u64,
    /// The largest difference, relative to the larger magnitude; of elements that are zero by the structure, to the
    /// largest magnitude of all.
    pub largest: f64,
}

/// What an array is compared with.
pub struct Structure<'a> {
    /// The tensor.
    pub name: &'a str,
    /// Its extents.
    pub shape: &'a [usize],
    /// By which part elements may differ; without it, by rounding.
    pub tolerance: Option<f64>,
}

impl Structure<'_> {
    /// Fails at the first element of an array that is not what its structure says, which is `expanded`.
    pub fn compare(&self, dense: View<'_>, expanded: &Storage) -> Result<Deviation> {
        let element = dense.element();
        let differing = with_type!(element, T => {
            let (found, declared) = (dense.typed::<T>(), expanded.typed::<T>());
            (0..found.len()).filter(|at| found[*at] != declared[*at]).collect::<Vec<usize>>()
        });
        let rounding = match element.part() {
            Element::F64 => 1e-12,
            shorter => 8.0 * shorter.epsilon(),
        };
        let largest = match self.tolerance.is_some() && !differing.is_empty() {
            true => magnitude(dense),
            false => 0.0,
        };
        let parts = element.parts();
        let mut deviation = Deviation::default();
        for at in differing {
            let mut counted = false;
            for place in at * parts..(at + 1) * parts {
                let (found, expected) = (dense.number(place), expanded.number(place));
                let scale = match expected {
                    0.0 => largest.max(found.abs()),
                    _ => found.abs().max(expected.abs()),
                };
                let difference = (found - expected).abs();
                let exact = !element.is_integer() && found == expected;
                if exact || found.is_nan() && expected.is_nan() {
                    continue;
                }
                let rounded = !element.is_integer()
                    && difference <= rounding * found.abs().max(expected.abs());
                if !rounded && !self.tolerance.is_some_and(|part| difference <= part * scale) {
                    return Err(Error::Contradiction {
                        tensor: self.name.to_owned(),
                        index: unflatten(at, self.shape),
                        expected,
                        found,
                    });
                }
                counted = true;
                deviation.largest = deviation.largest.max(difference / scale);
            }
            deviation.elements += u64::from(counted);
        }
        Ok(deviation)
    }
}

/// The largest magnitude of a number that is finite.
fn magnitude(all: View<'_>) -> f64 {
    let numbers = (0..all.len() * all.element().parts()).map(|at| all.number(at).abs());
    numbers.filter(|number| number.is_finite()).fold(0.0, f64::max)
}
