//! A format chosen by what a tensor's entries are like (`A:F := auto`).
//!
//! Products with sparse tensors wait for memory, so the cost of a format is the bytes of its arrays, which statistics
//! of the entries give without building any. Rows (`csr`), or a tree (`csf`) for tensors that are no matrices, are
//! taken unless another format costs much less.
//!
//! Along diagonals nothing is gathered, and elements are in the lanes of vectors: there an element of a block costs
//! half of what one in a row does, also where it is padding (figure 6 of UniSparse takes blocks that are half full).

use rayon::prelude::*;

use crate::format::Format;
use crate::storage::{Build, Index, Indices, StorageError, Tensor, with_indices};

/// What a format other than rows may take of their bytes.
const MOST: f64 = 0.85;
/// How many square blocks of this size have entries.
type Blocks = fn(&Rows<'_>) -> u64;
/// Sizes of square blocks that are tried.
const BLOCKS: [(u64, Blocks); 5] =
    [(2, blocks::<2>), (3, blocks::<3>), (4, blocks::<4>), (6, blocks::<6>), (8, blocks::<8>)];
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
/// Not enough memory to order the entries.
pub fn choose(tensor: &Tensor, along: bool) -> Result<Choice, StorageError> {
    let rank = tensor.shape().len();
    let build = Build { padding: None, ..Build::default() };
    let sorted = tensor.convert(&Format::csf(rank), build)?;
    let Some(stored) = Rows::of(&sorted) else {
        let (format, bytes) = (Format::csf(rank), sorted.bytes());
        return Ok(Choice { format: format.to_string(), bytes, plain: (format, bytes) });
    };
    let [rows, columns] = stored.shape;
    let value = sorted.values().element().bytes() as u64;
    let count = stored.columns.len() as u64;
    let width = Indices::width_for(rows.max(columns).max(count));
    let plain = width * (rows + 1) + count * (width + value);
    // What is computed for each entry elsewhere hides it.
    let row = if along { ROW * (width + value) as f64 } else { 0.0 };
    let filled = stored.rows.len() as u64;
    let coordinates = width * (2 * filled + 3) + count * (width + value);
    let mut tried: Vec<Tried> =
        vec![(coordinates as f64 + filled as f64 * row, "dcsr".to_owned(), coordinates)];
    if along {
        let in_blocks = BLOCKS.par_iter().map(|(size, blocks)| {
            let (blocks, rows) = (blocks(&stored), rows.div_ceil(*size));
            let bytes = width * (rows + 1) + blocks * (width + size * size * value);
            vec![(bytes as f64 + rows as f64 * row, format!("bcsr({size}, {size})"), bytes)]
        });
        let in_diagonals = DIAGONALS.par_iter();
        let in_diagonals =
            in_diagonals.map(|length| in_diagonals_of(&stored, *length, (width, value)));
        let each: Vec<Vec<Tried>> = in_blocks.chain(in_diagonals).collect();
        tried.extend(each.into_iter().flatten());
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
fn in_diagonals_of(stored: &Rows<'_>, length: u64, (width, value): (u64, u64)) -> Vec<Tried> {
    let least = (length as f64 * ALONG + EACH).ceil() as u64;
    let (mut all, mut full, mut rest) = (0, 0, 0);
    // `j - i` within a block of rows, counted from its smallest value.
    let number = |row: u64, column: u64| column + (length - 1 - row % length);
    stored.groups((length, stored.shape[1] + length), number, |count| {
        all += 1;
        match count >= least {
            true => full += 1,
            false => rest += count,
        }
    });
    let (rows, element) = (stored.shape[0], width + value);
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

/// In how many square blocks of so many rows something is stored.
fn blocks<const SIZE: u64>(stored: &Rows<'_>) -> u64 {
    let mut count = 0;
    let extent = stored.shape[1].div_ceil(SIZE);
    stored.groups((SIZE, extent), |_, column| column / SIZE, |_| count += 1);
    count
}

/// The rows of a matrix that have entries.
struct Rows<'a> {
    shape: [u64; 2],
    /// Their numbers.
    rows: &'a Indices,
    /// Where the entries of each begin, and where those of the last one end.
    bounds: &'a Indices,
    /// The columns of the entries.
    columns: &'a Indices,
}

impl Rows<'_> {
    /// Those of a matrix that stands as a tree.
    fn of(sorted: &Tensor) -> Option<Rows<'_>> {
        let ([rows, columns], [outer, inner]) = (sorted.shape(), sorted.levels()) else {
            return None;
        };
        Some(Rows {
            shape: [*rows, *columns],
            rows: outer.coordinates()?,
            bounds: inner.positions()?,
            columns: inner.coordinates()?,
        })
    }

    /// Calls back with how many entries there are in each group that has some: those whose rows are in the same one of
    /// the blocks of `height` rows, and whose numbers, below `extent`, are the same.
    fn groups(
        &self,
        (height, extent): (u64, u64),
        number: impl Fn(u64, u64) -> u64,
        mut call: impl FnMut(u64),
    ) {
        let mut counts = Counts::new(extent, self.columns.len() as u64);
        with_indices!(self.columns, columns => {
            let mut first = 0;
            let mut block = None;
            for (at, row) in self.rows.iter().enumerate() {
                if block.replace(row / height) != Some(row / height) {
                    counts.take(&mut call);
                }
                let last = usize::try_from(self.bounds.at(at + 1)).unwrap_or(usize::MAX);
                columns[first..last].iter().for_each(|column| counts.add(number(row, column.widen())));
                first = last;
            }
        });
        counts.take(&mut call);
    }
}

/// How often there are numbers.
struct Counts {
    /// By number; nothing where there are too many that could be.
    table: Vec<u32>,
    /// Those that there are, each once; without a table, each as often as there is.
    known: Vec<u64>,
}

impl Counts {
    /// Of numbers below `extent`, of which `entries` come.
    fn new(extent: u64, entries: u64) -> Counts {
        let is_small = extent <= entries.saturating_mul(4).saturating_add(1 << 16);
        let length = if is_small { usize::try_from(extent).unwrap_or(0) } else { 0 };
        Counts { table: vec![0; length], known: Vec::new() }
    }

    fn add(&mut self, number: u64) {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(count) = self.table.get_mut(at) {
            *count += 1;
            if *count > 1 {
                return;
            }
        }
        self.known.push(number);
    }

    /// Calls back with how often there was each number, and begins anew.
    fn take(&mut self, call: &mut impl FnMut(u64)) {
        if self.table.is_empty() {
            self.known.sort_unstable();
            self.known.chunk_by(|one, other| one == other).for_each(|same| call(same.len() as u64));
            self.known.clear();
            return;
        }
        for number in self.known.drain(..) {
            let at = usize::try_from(number).unwrap_or(usize::MAX);
            call(std::mem::take(&mut self.table[at]).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Definitions, default_names, parse, read_hybrid};
    use crate::storage::Entries;
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
        // Half of the rows are empty.
        let half = |along| chosen(along, [400, 90], (0..600).map(|at| [at / 3 * 2, at % 90]));
        assert_eq!([half(false), half(true)], ["csr", "dcsr"]);
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
        // Few entries far apart, in blocks that no table has place for.
        let wide = (0..512u64).map(|at| [at / 8, at / 64 * (1 << 28) + at % 8]);
        assert_eq!(chosen(true, [64, u32::MAX.into()], wide), "bcsr(8, 8)");
        let diagonals = (0..1200u64).map(|at| [at / 2, at / 2 + at % 2 * 7]);
        assert_eq!(chosen(true, [600, 607], diagonals), "bdia(64)");
        assert_eq!(chosen(true, [40, 40], (0..40).map(|at| [at, at * 7 % 40])), "csr");
    }
}
