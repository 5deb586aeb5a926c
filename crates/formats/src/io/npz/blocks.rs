//! Dense blocks and diagonals: the elements that are not zero become entries.

use super::super::Fault;
use super::compressed;
use crate::storage::{Entries, product};
use dastac_elements::Storage;

/// The elements of dense blocks; `extents` are those of the array of all blocks.
pub fn bsr(
    [rows, columns]: [u64; 2],
    extents: &[u64],
    (indptr, indices): (&[u64], &[u64]),
    values: &Storage,
) -> Result<Entries, Fault> {
    let &[blocks, height, width] = extents else {
        return Err(Fault::new("`data` of a bsr matrix has three extents"));
    };
    if height == 0 || width == 0 || rows % height != 0 || columns % width != 0 {
        return Err(Fault::new(format!(
            "blocks of {height} x {width} do not tile {rows} x {columns}"
        )));
    }
    if blocks != indices.len() as u64 {
        return Err(Fault::new(format!("{blocks} blocks, but {} indices", indices.len())));
    }
    let pairs = compressed(indptr, indices, rows / height, columns / width)?;
    // As many values were read, so a block fits memory.
    let size = usize::try_from(height.saturating_mul(width)).unwrap_or(usize::MAX);
    let place = |at: usize| {
        let ((row, column), inside) = (pairs[at / size], (at % size) as u64);
        Some([row * height + inside / width, column * width + inside % width])
    };
    kept([rows, columns], values, place)
}

/// The elements of diagonals. Each row of `data` holds the diagonal whose columns are larger than its rows by an
/// offset, by columns; what is outside of the matrix is ignored.
pub fn dia(
    [rows, columns]: [u64; 2],
    extents: &[u64],
    offsets: &[i64],
    values: &Storage,
) -> Result<Entries, Fault> {
    let &[diagonals, length] = extents else {
        return Err(Fault::new("`data` of a dia matrix has two extents"));
    };
    if diagonals != offsets.len() as u64 {
        return Err(Fault::new(format!(
            "`data` has shape {}, but there are {} offsets",
            product(extents),
            offsets.len()
        )));
    }
    let mut sorted = offsets.to_vec();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Fault::new(format!("`offsets` holds {} twice", pair[0])));
    }
    let length = usize::try_from(length).unwrap_or(usize::MAX).max(1);
    let place = |at: usize| {
        let column = (at % length) as u64;
        let row = i128::from(column) - i128::from(offsets[at / length]);
        let row = u64::try_from(row).ok()?;
        (row < rows && column < columns).then_some([row, column])
    };
    kept([rows, columns], values, place)
}

/// The values that are not zero and have a place.
fn kept(
    shape: [u64; 2],
    values: &Storage,
    place: impl Fn(usize) -> Option<[u64; 2]>,
) -> Result<Entries, Fault> {
    let (mut coordinates, mut kept) = (Vec::new(), Vec::new());
    for at in (0..values.len()).filter(|at| !values.is(*at, 0.0)) {
        if let Some(element) = place(at) {
            coordinates.extend(element);
            kept.push(at);
        }
    }
    Ok(Entries::new(shape.to_vec(), coordinates, values.select(&kept))?)
}
