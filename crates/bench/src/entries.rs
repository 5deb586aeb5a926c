//! Sparse results in a form in which those of all systems can be compared: sorted entries.

use std::hash::Hasher;

use dastac_driver::run::Runner;
use dastac_elements::Storage;
use dastac_formats::Tensor;
use dastac_stur::program::{Element, TensorId};

use crate::Error;

/// The values of a tensor's entries, ordered by their coordinates, and a number that stands for the coordinates.
///
/// # Errors
/// Not enough memory.
pub(crate) fn of_tensor(tensor: &Tensor) -> Result<Storage, Error> {
    let mut entries = Vec::new();
    tensor.for_each(|coordinates, at| {
        entries.push((place(tensor.shape(), coordinates), tensor.values().number(at)));
    });
    comparable(entries)
}

/// As [`of_tensor`], of the rows of a matrix, each with its columns in any order.
///
/// # Errors
/// Arrays that are no rows; not enough memory.
pub(crate) fn of_rows(
    positions: &[i64],
    coordinates: &[i64],
    values: &[f64],
    columns: u64,
) -> Result<Storage, Error> {
    of_lines([positions, coordinates], values, &|row, column| [row, column], columns)
}

/// As [`of_rows`], of the columns of a matrix, which has so many.
///
/// # Errors
/// Arrays that are no columns; not enough memory.
pub(crate) fn of_columns(
    positions: &[i64],
    coordinates: &[i64],
    values: &[f64],
    columns: u64,
) -> Result<Storage, Error> {
    of_lines([positions, coordinates], values, &|column, row| [row, column], columns)
}

/// Of rows or columns; `at` gives the row and the column of an entry of such a line.
fn of_lines(
    [positions, coordinates]: [&[i64]; 2],
    values: &[f64],
    at: &dyn Fn(u64, u64) -> [u64; 2],
    columns: u64,
) -> Result<Storage, Error> {
    let failed = || Error::Peer("its result is no matrix in rows or columns".into());
    if coordinates.len() != values.len() {
        return Err(failed());
    }
    let mut entries = Vec::with_capacity(values.len());
    for (line, bounds) in positions.windows(2).enumerate() {
        let [from, to] = [bounds[0], bounds[1]].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        let of_line = coordinates.get(from..to).ok_or_else(failed)?.iter();
        for (inner, value) in of_line.zip(&values[from..to]) {
            let [row, column] = at(line as u64, inner.cast_unsigned()).map(u128::from);
            entries.push((row * u128::from(columns) + column, *value));
        }
    }
    comparable(entries)
}

/// The place of an element in the box of its tensor.
fn place(shape: &[u64], coordinates: &[u64]) -> u128 {
    let all = shape.iter().zip(coordinates);
    all.fold(0, |place, (extent, at)| place * u128::from(*extent) + u128::from(*at))
}

/// The number for the coordinates is between 1 and 2, as large as values are, so that differences of values still
/// show beside it; for other coordinates it is another one. Zeros that are stored are left out: formats and libraries
/// differ in which of them they store.
fn comparable(mut entries: Vec<(u128, f64)>) -> Result<Storage, Error> {
    entries.retain(|(_, value)| *value != 0.0);
    if !entries.is_sorted_by_key(|(place, _)| *place) {
        entries.sort_unstable_by_key(|(place, _)| *place);
    }
    let mut hasher = std::hash::DefaultHasher::new();
    entries.iter().for_each(|(place, _)| hasher.write_u128(*place));
    let pattern = 1.0 + (hasher.finish() >> 12) as f64 / (1u64 << 52) as f64;
    let mut numbers = Storage::zeroed(Element::F64, entries.len() + 1)?;
    numbers.fill(|at| entries.get(at).map_or(pattern, |(_, value)| *value));
    Ok(numbers)
}

/// The inputs that rules read in another format than the declared one.
pub(crate) fn converted(runner: &Runner) -> Vec<TensorId> {
    let stored = &runner.built().lowered.kernel.stored;
    let ids = (0..runner.facts().len()).map(TensorId);
    ids.filter(|id| {
        runner.bound(*id).is_some() && stored.iter().filter(|one| one.tensor == *id).count() > 1
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(positions: &[i64], coordinates: &[i64], values: &[f64]) -> Vec<f64> {
        of_rows(positions, coordinates, values, 4).unwrap().to_f64()
    }

    #[test]
    fn rows_are_compared_in_order_with_their_columns() {
        let sorted = numbers(&[0, 2, 3], &[1, 3, 0], &[5.0, 6.0, 7.0]);
        assert_eq!(sorted, numbers(&[0, 2, 3], &[3, 1, 0], &[6.0, 5.0, 7.0]));
        let other = numbers(&[0, 2, 3], &[1, 2, 0], &[5.0, 6.0, 7.0]);
        assert_eq!((&sorted[..3], &other[..3]), (&[5.0, 6.0, 7.0][..], &[5.0, 6.0, 7.0][..]));
        assert!((1.0..2.0).contains(&sorted[3]) && sorted[3] != other[3]);
        assert!(of_rows(&[0, 9], &[1], &[1.0], 4).is_err());
        // The same matrix in columns, and a zero in its last one.
        let columns = of_columns(&[0, 1, 2, 2, 4], &[1, 0, 0, 1], &[7.0, 5.0, 6.0, 0.0], 4);
        assert_eq!(columns.unwrap().to_f64(), sorted);
    }
}
