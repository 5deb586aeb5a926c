//! Tensors of entries whose coordinates stand in one array for each dimension, as other programs keep them.
//!
//! Entries in the order of some levels are read where they stand. Those of a matrix in any order are counted twice: by
//! the inner dimension first, then by the outer one, which keeps the order of the inner one. Each time the entries go
//! to their places in time linear in entries and rows. All others are sorted.

use std::borrow::Cow;

use super::build::{Build, Duplicates, zeroed};
use super::convert::PARALLEL;
use super::counting::{Counting, Entries as Counted, Near, Rows};
use super::scan::{self, Numbers};
use super::{Entries, IndexView, Indices, LevelData, Place, StorageError, Tensor, TensorView};
use crate::format::Format;
use dastac_elements::{Native, Storage, View, with_type};

/// How many rows may come on each entry where entries are counted by rows.
const SPARSE: u64 = 4;

impl Tensor {
    /// A tensor of entries in any order, `lists[d]` with the coordinates of all of them in dimension `d`; several
    /// entries of one element become one as `build` says.
    ///
    /// # Errors
    /// Arrays of several lengths; coordinates outside of the box; as [`Tensor::from_entries`].
    pub fn from_lists(
        shape: &[u64],
        lists: &[IndexView<'_>],
        values: View<'_>,
        (format, build): (&Format, Build),
    ) -> Result<Tensor, StorageError> {
        let (rank, count) = (shape.len(), values.len());
        let long = lists.iter().map(|list| list.len()).sum();
        if lists.len() != rank || lists.iter().any(|list| list.len() != count) {
            return Err(StorageError::Lengths { coordinates: long, values: count, rank });
        }
        if let Some(own) = narrow(shape, lists) {
            let own: Vec<&[u32]> = own.iter().map(|list| &**list).collect();
            let ends = [0, u32::try_from(count).map_err(|_| full(long * 8))?];
            if let Some(found) = in_order(shape, (&own, &ends), values)? {
                return found.convert(format, build);
            }
            if let [one, other] = own[..]
                && let Some(found) = twice(shape, [one, other], values, (format, build))?
            {
                return if found.format == *format {
                    Ok(found)
                } else {
                    found.convert(format, build)
                };
            }
        }
        let mut all = Vec::new();
        all.try_reserve_exact(long).map_err(|_| full(long * 8))?;
        for entry in 0..count {
            all.extend(lists.iter().map(|list| list.number(entry)));
        }
        let values = Storage::copy_of(values).map_err(|found| full(found.bytes))?;
        Tensor::from_entries(&Entries::new(shape.to_vec(), all, values)?, format, build)
    }
}

fn full(bytes: usize) -> StorageError {
    StorageError::Memory { what: "the entries".into(), bytes: bytes as u128 }
}

/// The coordinates in 32 bits, if these are coordinates of the box.
fn narrow<'a>(shape: &[u64], lists: &[IndexView<'a>]) -> Option<Vec<Cow<'a, [u32]>>> {
    let inside = |(list, extent): (&IndexView<'a>, &u64)| {
        let fits = u32::try_from(extent.saturating_sub(1)).is_ok() && list.are_below(*extent);
        fits.then(|| list.narrow()).flatten()
    };
    u32::try_from(lists.first()?.len()).ok()?;
    lists.iter().zip(shape).map(inside).collect()
}

/// The orders of dimensions in which entries are likely to come.
fn orders(rank: usize) -> Vec<Vec<usize>> {
    let own: Vec<usize> = (0..rank).collect();
    let reverse = own.iter().rev().copied().collect();
    if rank > 1 { vec![own, reverse] } else { vec![own] }
}

/// The entries where they stand, if they come in an order of levels, each once.
fn in_order<'a>(
    shape: &[u64],
    (lists, ends): (&[&'a [u32]], &'a [u32]),
    values: View<'a>,
) -> Result<Option<TensorView<'a>>, StorageError> {
    let grow = |order: &Vec<usize>| {
        let ordered: Vec<&[u32]> = order.iter().map(|dimension| lists[*dimension]).collect();
        scan::grow_as_tuples(&ordered)
    };
    let Some(order) = orders(shape.len()).into_iter().find(grow) else { return Ok(None) };
    let Ok(format) = Format::coo(shape.len()).with_order(order.clone()) else { return Ok(None) };
    let levels = format.levels().iter().zip(order).map(|(level, dimension)| {
        let coordinates = IndexView::U32(lists[dimension]);
        let arrays = match level.kind.arrays().len() {
            1 => vec![coordinates],
            _ => vec![IndexView::U32(ends), coordinates],
        };
        LevelData::new(level.kind, arrays)
    });
    let levels = levels.collect();
    TensorView::known(shape.to_vec(), format, levels, values).map(Some)
}

/// The entries of a matrix by rows, each coordinate of the first level of a format a row, after they were counted by
/// columns; nothing where rows or columns are many more than entries, or where several entries of an element stay.
fn twice(
    shape: &[u64],
    lists: [&[u32]; 2],
    values: View<'_>,
    (format, build): (&Format, Build),
) -> Result<Option<Tensor>, StorageError> {
    let order = format.order().unwrap_or_else(|| vec![0, 1]);
    let [outer, inner] = [order[0], order[1]];
    let few = SPARSE * (values.len() as u64 + SPARSE);
    let extents = [shape[outer], shape[inner]].map(|extent| u32::try_from(extent).ok());
    let ([Some(rows), Some(columns)], true) = (extents, shape.iter().all(|one| *one <= few)) else {
        return Ok(None);
    };
    let keeps = format.levels().last().is_some_and(|level| !level.unique);
    let Ok(rows_first) = Format::csr().with_order(order) else { return Ok(None) };
    let step = [1, 0];
    let by_column = Counted {
        above: lists[outer].iter().map(|row| [0, *row]).collect(),
        positions: None,
        coordinates: lists[inner],
        step,
        flat: true,
    };
    with_type!(values.element(), V => {
        let values = values.typed::<V>();
        let found = Segments::<V>::of(&by_column, values, columns)?;
        let by_row = Counted {
            above: (0..columns).map(|column| [0, column]).collect(),
            positions: Some(&found.starts),
            coordinates: &found.coordinates,
            step,
            flat: true,
        };
        let mut found = Segments::<V>::of(&by_row, &found.values, rows)?;
        if found.repeats() {
            if keeps || build.duplicates != Duplicates::Sum {
                return Ok(None);
            }
            if let Some([row, column]) = found.add_up() {
                let mut coordinates = vec![0; 2];
                (coordinates[outer], coordinates[inner]) = (row, column);
                return Err(StorageError::Overflow { place: Place::new(coordinates) });
            }
        }
        let Segments { starts, coordinates, values } = found;
        let compressed = LevelData::compressed(Indices::U32(starts), Indices::U32(coordinates));
        let levels = vec![LevelData::dense(), compressed];
        Tensor::known(shape.to_vec(), rows_first, levels, Storage::from(values)).map(Some)
    })
}

/// Entries by rows: where each row begins, and the end; columns and values.
struct Segments<V> {
    starts: Vec<u32>,
    coordinates: Vec<u32>,
    values: Vec<V>,
}

impl<V: Native> Segments<V> {
    /// Entries counted by rows.
    fn of(entries: &Counted<'_>, values: &[V], rows: u32) -> Result<Segments<V>, StorageError> {
        let count = values.len() as u64;
        let mut found = Segments {
            starts: zeroed("the positions", u64::from(rows) + 1)?,
            coordinates: zeroed("the coordinates", count)?,
            values: zeroed("the values", count)?,
        };
        let threads = match values.len() < PARALLEL {
            true => 1,
            false => rayon::current_num_threads(),
        };
        let counting = Counting { entries, rows, threads, near: Near::default() };
        let to = Rows {
            ends: &mut found.starts[1..],
            coordinates: &mut found.coordinates,
            values: &mut found.values,
        };
        counting.fill(values, to)?;
        Ok(found)
    }

    /// Whether an element has several entries, which stand side by side.
    fn repeats(&self) -> bool {
        self.starts.windows(2).any(|row| {
            let own = &self.coordinates[row[0] as usize..row[1] as usize];
            own.windows(2).any(|pair| pair[0] == pair[1])
        })
    }

    /// Adds up the entries of each element; the element whose sum its type does not hold, if there is one.
    fn add_up(&mut self) -> Option<[u64; 2]> {
        let (mut kept, mut begin) = (0usize, 0usize);
        for row in 0..self.starts.len() - 1 {
            let (first, end) = (kept, self.starts[row + 1] as usize);
            for at in begin..end {
                let (column, value) = (self.coordinates[at], self.values[at]);
                if kept > first && self.coordinates[kept - 1] == column {
                    match self.values[kept - 1].plus(value) {
                        Some(sum) => self.values[kept - 1] = sum,
                        None => return Some([row as u64, column.into()]),
                    }
                } else {
                    (self.coordinates[kept], self.values[kept]) = (column, value);
                    kept += 1;
                }
            }
            begin = end;
            // There are not more elements than entries.
            #[allow(clippy::cast_possible_truncation)]
            let next = kept as u32;
            self.starts[row + 1] = next;
        }
        self.coordinates.truncate(kept);
        self.values.truncate(kept);
        None
    }
}
