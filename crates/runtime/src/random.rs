//! Random data: entries of tensors with formats, and single elements.

use dastac_elements::{Element, Storage};
use dastac_formats::Entries;
use rand::Rng;

use crate::error::{Error, Result};
use crate::memory::check_memory;

/// Boxes of up to this many elements are drawn element by element; in larger ones, entries are put at random places.
const MAX_CELLS: u128 = 1 << 24;

/// The tensor that random entries are drawn for.
#[derive(Clone, Copy, Debug)]
pub struct Drawing<'a> {
    /// The tensor's name, for errors.
    pub name: &'a str,
    /// Its extents.
    pub shape: &'a [u64],
    /// The type of its elements.
    pub element: Element,
    /// Which part of its elements is stored, between 0 and 1.
    pub density: f64,
}

/// About a part of all elements, at random places, with values as [`sample`] makes them.
///
/// # Errors
/// Not enough memory.
pub fn entries(drawing: Drawing<'_>, rng: &mut impl Rng) -> Result<Entries> {
    let Drawing { name, shape, element, density } = drawing;
    let cells = shape.iter().fold(1u128, |all, extent| all.saturating_mul(u128::from(*extent)));
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let wanted = (cells as f64 * density).round() as u128;
    let parts = element.parts();
    let bytes = wanted.saturating_mul(8 * (shape.len() + parts) as u128);
    check_memory(&format!("the random entries of `{name}`"), bytes)?;
    let mut coordinates = Vec::new();
    let mut values = Vec::new();
    if cells <= MAX_CELLS {
        let density = density.clamp(0.0, 1.0);
        for_each_element(shape, cells, |at| {
            if rng.random_bool(density) {
                coordinates.extend(at);
                values.extend((0..parts).map(|_| stored(element, rng)));
            }
        });
    } else {
        for _ in 0..wanted {
            coordinates.extend(shape.iter().map(|extent| rng.random_range(0..*extent)));
            values.extend((0..parts).map(|_| stored(element, rng)));
        }
    }
    let values = match element.is_complex() {
        true => Storage::of_numbers(Element::C128, &values)?,
        false => Storage::from(values),
    };
    let failed = |source| Error::Storage { tensor: name.into(), source };
    Entries::new(shape.to_vec(), coordinates, values).map_err(failed)
}

/// Calls with the coordinates of each of `cells` elements, in row-major order.
fn for_each_element(shape: &[u64], cells: u128, mut call: impl FnMut(&[u64])) {
    let mut at = vec![0; shape.len()];
    for _ in 0..cells {
        call(&at);
        for (place, extent) in at.iter_mut().zip(shape).rev() {
            *place += 1;
            if *place < *extent {
                break;
            }
            *place = 0;
        }
    }
}

/// An element that is not 0, or a part of one.
fn stored(element: Element, rng: &mut impl Rng) -> f64 {
    if element == Element::Bool { 1.0 } else { sample(element, rng) }
}

/// An element of a type, or a part of it: a number that is not near 0, a small integer, or a truth value.
pub fn sample(element: Element, rng: &mut impl Rng) -> f64 {
    match element.is_integer() {
        true => element.sample(rng.random(), rng.random()),
        false => magnitude(rng),
    }
}

/// A number of either sign that is not near 0.
pub fn magnitude(rng: &mut impl Rng) -> f64 {
    let magnitude: f64 = rng.random_range(0.25..1.0);
    if rng.random() { magnitude } else { -magnitude }
}
