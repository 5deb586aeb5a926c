//! A format chosen by what a tensor's entries are like (`A:F := auto`).
//!
//! Products with sparse tensors wait for memory, so the cost of a format is the bytes of its arrays, which statistics
//! of the entries give without building any. Rows (`csr`), or a tree (`csf`) for tensors that are no matrices, are
//! taken unless another format needs much less.

use crate::format::{Format, default_names, parse};
use crate::storage::{Build, Entries};
use crate::storage::{Indices, StorageError, Tensor};

/// What a format other than rows may take of their bytes.
const MOST: f64 = 0.85;
/// Sizes of square blocks that are tried.
const BLOCKS: [u64; 5] = [2, 3, 4, 6, 8];

/// A format that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The format.
    pub format: Format,
    /// What its arrays take.
    pub bytes: u64,
    /// What is taken where nothing else is better, and the bytes of its arrays.
    pub plain: (Format, u64),
}

/// The format for a tensor.
///
/// # Errors
/// Not enough memory to sort the entries.
pub fn choose(tensor: &Tensor) -> Result<Choice, StorageError> {
    let rank = tensor.shape().len();
    let build = Build { padding: None, ..Build::default() };
    let sorted = tensor.convert(&Format::csf(rank), build)?;
    let &[rows, columns] = sorted.shape() else {
        let (format, bytes) = (Format::csf(rank), sorted.bytes());
        return Ok(Choice { format: format.clone(), bytes, plain: (format, bytes) });
    };
    let entries = sorted.to_entries()?;
    let value = entries.values().element().bytes() as u64;
    let width = Indices::width_for(rows.max(columns).max(entries.len() as u64));
    let count = entries.len() as u64;
    let plain = width * (rows + 1) + count * (width + value);
    let mut best = (plain as f64 * MOST, Format::csr(), plain);
    let filled = blocks(&entries, [1, columns.max(1)]);
    let mut tried = vec![("dcsr".to_owned(), width * (2 * filled + 3) + count * (width + value))];
    for size in BLOCKS {
        let stored = blocks(&entries, [size, size]);
        let bytes = width * (rows.div_ceil(size) + 1) + stored * (width + size * size * value);
        tried.push((format!("bcsr({size}, {size})"), bytes));
    }
    for (name, bytes) in tried {
        if (bytes as f64) < best.0
            && let Ok(format) = parse(&name, &default_names(2))
        {
            best = (bytes as f64, format, bytes);
        }
    }
    Ok(Choice { format: best.1, bytes: best.2, plain: (Format::csr(), plain) })
}

/// How many blocks of a matrix, whose entries come row by row, have entries.
fn blocks(entries: &Entries, [height, width]: [u64; 2]) -> u64 {
    let columns = entries.shape()[1].div_ceil(width);
    let mut seen = vec![u64::MAX; usize::try_from(columns).unwrap_or_default()];
    let mut count = 0;
    for entry in 0..entries.len() {
        let at = entries.at(entry);
        let (row, column) = (at[0] / height, usize::try_from(at[1] / width).unwrap_or_default());
        if std::mem::replace(&mut seen[column], row) != row {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use dastac_elements::Storage;

    fn chosen(shape: [u64; 2], at: impl Iterator<Item = [u64; 2]>) -> String {
        let coordinates: Vec<u64> = at.flatten().collect();
        let values = Storage::from(vec![1.0; coordinates.len() / 2]);
        let entries = Entries::new(shape.to_vec(), coordinates, values).unwrap();
        let tensor = Tensor::from_entries(&entries, &Format::coo(2), Build::default()).unwrap();
        let choice = choose(&tensor).unwrap();
        let built = tensor.convert(&choice.format, Build::default()).unwrap();
        let wide = u64::from(choice.format == Format::csr()) * 4;
        assert!(built.bytes().abs_diff(choice.bytes) <= 16 + wide, "{built:?}, {choice:?}");
        choice.format.to_string()
    }

    #[test]
    fn statistics_choose() {
        let block = |size: u64| {
            (0..12u64).flat_map(move |block| {
                (0..size * size).map(move |at| [block * size + at / size, block * size + at % size])
            })
        };
        assert_eq!(chosen([48, 48], block(4)), "bcsr(4, 4)");
        assert_eq!(chosen([48, 96], block(2)), "bcsr(2, 2)");
        assert_eq!(chosen([40, 40], (0..40).map(|at| [at, at * 7 % 40])), "csr");
        assert_eq!(chosen([4000, 9], (0..9).map(|at| [at * 400, at])), "dcsr");
        assert_eq!(chosen([0, 3], std::iter::empty()), "csr");
    }
}
