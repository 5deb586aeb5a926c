//! A format chosen by what a tensor's entries are like (`A:F := auto`).
//!
//! Products with sparse tensors wait for memory, so the cost of a format is the bytes of its arrays, which statistics
//! of the entries give without building any. Rows (`csr`), or a tree (`csf`) for tensors that are no matrices, are
//! taken unless another format costs much less.
//!
//! Along diagonals nothing is gathered, and elements are in the lanes of vectors: there an element of a block costs
//! half of what one in a row does, also where it is padding (figure 6 of UniSparse takes blocks that are half full).

use std::collections::BTreeMap;

use crate::format::Format;
use crate::storage::{Build, Entries};
use crate::storage::{Indices, StorageError, Tensor};

/// What a format other than rows may take of their bytes.
const MOST: f64 = 0.85;
/// Sizes of square blocks that are tried.
const BLOCKS: [u64; 5] = [2, 3, 4, 6, 8];
/// Lengths of blocks of diagonals that are tried.
const DIAGONALS: [u64; 2] = [64, 512];
/// What an element of a block of a diagonal costs, of what one in a row does.
const ALONG: f64 = 0.5;
/// What a block of a diagonal costs beside its elements, in elements of rows.
const EACH: f64 = 4.0;
/// What a row costs beside its elements, in elements.
const ROW: f64 = 2.0;

/// A format that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The format, as in programs; perhaps a hybrid one.
    pub format: String,
    /// What its arrays take.
    pub bytes: u64,
    /// What is taken where nothing else is better, and the bytes of its arrays.
    pub plain: (Format, u64),
}

/// A format that is tried: what it costs, its text, its bytes.
type Tried = (f64, String, u64);

/// The format for a tensor. Blocks and diagonals are tried where loops go `along` them: over nothing but the tensor's
/// elements, into a result without a format. (Times a matrix of many columns, rows are faster.)
///
/// # Errors
/// Not enough memory to sort the entries.
pub fn choose(tensor: &Tensor, along: bool) -> Result<Choice, StorageError> {
    let rank = tensor.shape().len();
    let build = Build { padding: None, ..Build::default() };
    let sorted = tensor.convert(&Format::csf(rank), build)?;
    let &[rows, columns] = sorted.shape() else {
        let (format, bytes) = (Format::csf(rank), sorted.bytes());
        return Ok(Choice { format: format.to_string(), bytes, plain: (format, bytes) });
    };
    let entries = sorted.to_entries()?;
    let value = entries.values().element().bytes() as u64;
    let width = Indices::width_for(rows.max(columns).max(entries.len() as u64));
    let count = entries.len() as u64;
    let plain = width * (rows + 1) + count * (width + value);
    let row = ROW * (width + value) as f64;
    let filled = blocks(&entries, [1, columns.max(1)]);
    let coordinates = width * (2 * filled + 3) + count * (width + value);
    let mut tried: Vec<Tried> =
        vec![(coordinates as f64 + filled as f64 * row, "dcsr".to_owned(), coordinates)];
    if along {
        for size in BLOCKS {
            let (stored, rows) = (blocks(&entries, [size, size]), rows.div_ceil(size));
            let bytes = width * (rows + 1) + stored * (width + size * size * value);
            tried.push((bytes as f64 + rows as f64 * row, format!("bcsr({size}, {size})"), bytes));
        }
        let sizes = (width, value);
        let each = DIAGONALS.iter().flat_map(|length| in_diagonals(&entries, *length, sizes));
        tried.extend(each);
    }
    let most = MOST * (plain as f64 + rows as f64 * row);
    let mut best: Tried = (most, Format::csr().to_string(), plain);
    for one in tried {
        if one.0 < best.0 {
            best = one;
        }
    }
    Ok(Choice { format: best.1, bytes: best.2, plain: (Format::csr(), plain) })
}

/// All blocks of diagonals in which something is stored; and those in which enough is, with rows for the rest.
fn in_diagonals(entries: &Entries, length: u64, (width, value): (u64, u64)) -> Vec<Tried> {
    let least = (length as f64 * ALONG + EACH).ceil() as u64;
    let (mut all, mut full, mut rest) = (0, 0, 0);
    let mut add = |counts: &BTreeMap<u64, u64>| {
        for count in counts.values() {
            all += 1;
            match *count >= least {
                true => full += 1,
                false => rest += count,
            }
        }
    };
    // Within a block of rows, `j - i` counted from its smallest value; each number of which there are entries once.
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    let mut last = 0;
    for entry in 0..entries.len() {
        let at = entries.at(entry);
        let (block, row) = (at[0] / length, at[0] % length);
        if block != last {
            add(&std::mem::take(&mut counts));
            last = block;
        }
        *counts.entry(at[1] + (length - 1 - row)).or_default() += 1;
    }
    add(&counts);
    let (rows, element) = (entries.shape()[0], width + value);
    let bytes =
        |blocks: u64| width * (rows.div_ceil(length) + 1) + blocks * (width + length * value);
    let cost = |blocks: u64| blocks as f64 * (length as f64 * ALONG + EACH) * element as f64;
    let others = width * (rows + 1) + rest * element;
    let of_rows = others as f64 + rows as f64 * ROW * element as f64;
    let parts = format!("hybrid(bdia({length}) where count(i / {length}, j - i) >= {least}, csr)");
    let mut tried = Vec::new();
    if all > 0 {
        tried.push((cost(all), format!("bdia({length})"), bytes(all)));
    }
    if full > 0 && rest > 0 {
        tried.push((cost(full) + of_rows, parts, bytes(full) + others));
    }
    tried
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
    use crate::format::{Definitions, default_names, parse, read_hybrid};
    use dastac_elements::Storage;

    fn chosen(along: bool, shape: [u64; 2], at: impl Iterator<Item = [u64; 2]>) -> String {
        let coordinates: Vec<u64> = at.flatten().collect();
        let values = Storage::from(vec![1.0; coordinates.len() / 2]);
        let entries = Entries::new(shape.to_vec(), coordinates, values).unwrap();
        let tensor = Tensor::from_entries(&entries, &Format::coo(2), Build::default()).unwrap();
        let choice = choose(&tensor, along).unwrap();
        let bytes = match read_hybrid(&choice.format, &default_names(2), &Definitions::default()) {
            Ok(hybrid) => {
                let parts = tensor.decompose(&hybrid, Build::default()).unwrap();
                parts.iter().map(Tensor::bytes).sum()
            }
            Err(_) => {
                let format = parse(&choice.format, &default_names(2)).unwrap();
                tensor.convert(&format, Build::default()).unwrap().bytes()
            }
        };
        let wide = u64::from(choice.format == "csr") * 4;
        assert!(bytes.abs_diff(choice.bytes) <= 16 + wide, "{bytes}, {choice:?}");
        choice.format
    }

    #[test]
    fn statistics_choose() {
        let block = |size: u64| {
            (0..12u64).flat_map(move |block| {
                (0..size * size).map(move |at| [block * size + at / size, block * size + at % size])
            })
        };
        assert_eq!(chosen(true, [48, 48], block(4)), "bcsr(4, 4)");
        assert_eq!(chosen(true, [48, 96], block(2)), "bcsr(2, 2)");
        assert_eq!(chosen(false, [40, 40], (0..40).map(|at| [at, at * 7 % 40])), "csr");
        assert_eq!(chosen(false, [4000, 9], (0..9).map(|at| [at * 400, at])), "dcsr");
        assert_eq!(chosen(false, [0, 3], std::iter::empty()), "csr");
        assert_eq!(chosen(true, [0, 3], std::iter::empty()), "csr");
        let band = |size: u64| (0..size * 3).map(move |at| [at / 3, (at / 3 + at % 3) % size]);
        assert_eq!(chosen(false, [640, 640], band(640)), "csr");
        assert_eq!(chosen(true, [640, 640], band(640)), "bdia(64)");
        let mixed = (0..3200u64).map(|at| match (at / 5, at % 5) {
            (row, 4) => [row, row * 37 % 640],
            (row, next) => [row, row + next],
        });
        assert_eq!(
            chosen(true, [640, 643], mixed),
            "hybrid(bdia(64) where count(i / 64, j - i) >= 36, csr)"
        );
        let diagonals = (0..1200u64).map(|at| [at / 2, at / 2 + at % 2 * 7]);
        assert_eq!(chosen(true, [600, 607], diagonals), "bdia(64)");
        assert_eq!(chosen(true, [40, 40], (0..40).map(|at| [at, at * 7 % 40])), "csr");
    }
}
