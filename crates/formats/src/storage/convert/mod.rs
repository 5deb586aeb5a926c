//! Conversions in which nothing is sorted: what becomes of the arrays follows from the levels of both formats.
//!
//! - Where both store the same dimensions in the same order, entries stay where they are: a level's coordinates are
//!   copied, expanded to one for each entry, or compressed to one for each node ([`order`]).
//! - Where a dimension moves above others, entries are counted by it, and each goes to its place in one pass
//!   ([`rows`]).
//!
//! - A matrix in another order goes by way of rows to all other levels that hold entries in their order.
//!
//! Nothing names a format, and the arrays that are read are borrowed.

mod order;
mod rows;
mod source;

use super::build::Left;
use super::counting::Near;
use super::key::Packing;
use super::space::LevelSpace;
use super::{Build, IndexView, Indices, LevelData, StorageError, Tensor, TensorView};
use crate::format::Format;
use crate::level::Kind;
use dastac_elements::{Element, NoMemory, Storage, with_type};
pub(super) use source::PARALLEL;
pub use source::{Moved, Room};
use source::{Source, Stores};

/// How many rows may come on each entry where a matrix goes by way of rows.
const SPARSE: u64 = 4;

/// Longer arrays stand in pages of their own, in huge ones where the system has them, until they are complete.
const LONG: usize = 1 << 22;

/// Whether a tensor in one format gets into another one without sorting, as far as the formats say: the tensor's
/// extents may still be too large for it.
pub fn is_moved(from: &Format, to: &Format) -> bool {
    let (Some(own), Some(order)) = (from.order(), to.order()) else { return false };
    if from.plain().is_some() || to.plain().is_some() {
        return false;
    }
    let known = |format: &Format| Stores::all(format);
    let Some((_, stores)) = known(from).zip(known(to)) else { return false };
    match own == order {
        true => order::lists(&stores, to),
        false => rows::is_filled(&stores) || by_rows(to).is_some(),
    }
}

/// The levels of rows from which a matrix gets into a format of another order than its own: all coordinates of the
/// first dimension, with those of the second one below.
fn by_rows(to: &Format) -> Option<Format> {
    let order = to.order().filter(|order| order.len() == 2)?;
    let stores = Stores::all(to)?;
    let rows = Format::csr().with_order(order).ok()?;
    order::lists(&stores, to).then_some(rows)
}

impl TensorView<'_> {
    /// The arrays of the same tensor in another format, in the memory that `room` gives, made by at most `threads`
    /// threads; nothing where entries would have to be sorted, or where indices do not fit 32 bits.
    ///
    /// # Errors
    /// What `room` reports.
    pub fn moved_into(
        &self,
        format: &Format,
        threads: usize,
        room: &mut Room<'_>,
    ) -> Result<Option<Moved>, StorageError> {
        let threads = threads.min(rayon::current_num_threads());
        self.moved(format, (threads, Near::default()), room)
    }

    fn moved(
        &self,
        format: &Format,
        (threads, near): (usize, Near),
        room: &mut Room<'_>,
    ) -> Result<Option<Moved>, StorageError> {
        let own = Packing::of(self.space.clone())?;
        let packing = Packing::new(self.shape(), format)?;
        let narrow = packing.space().extents().iter().all(|extent| *extent <= u32::MAX.into());
        let Some(order) = packing.space().order().filter(|_| narrow) else { return Ok(None) };
        let Some(source) = Source::new(self, threads) else { return Ok(None) };
        if source.order == order {
            return order::moved(&source, self.values(), format, room);
        }
        let counted = rows::moved(&source, self.values(), (format, &own, &packing), near, room)?;
        match (counted, by_rows(format)) {
            (None, Some(rows)) if rows != *format => self.by_rows((&rows, format), threads, room),
            (counted, _) => Ok(counted),
        }
    }

    /// A matrix in a format of another order, by way of rows, if these are not many more than its entries.
    fn by_rows(
        &self,
        (rows, format): (&Format, &Format),
        threads: usize,
        room: &mut Room<'_>,
    ) -> Result<Option<Moved>, StorageError> {
        let space = LevelSpace::new(self.shape(), rows)?;
        if space.extent(0) > SPARSE * (self.values().len() as u64 + SPARSE) {
            return Ok(None);
        }
        let mut own = |what: &str, element: Element, count: usize| fresh(what, element, count);
        let Some(middle) = self.moved_into(rows, threads, &mut own)? else { return Ok(None) };
        let arrays = middle.arrays.iter().map(|array| IndexView::U32(array.typed::<u32>()));
        let compressed = LevelData::new(Kind::COMPRESSED, arrays.collect());
        let levels = vec![LevelData::new(Kind::DENSE, Vec::new()), compressed];
        let view =
            TensorView::known(self.shape().to_vec(), rows.clone(), levels, middle.values.view())?;
        view.moved_into(format, threads, room)
    }

    /// The same tensor in another format, if nothing has to be sorted for it and indices have 32 bits.
    pub(super) fn converted(
        &self,
        format: &Format,
        build: Build,
    ) -> Result<Option<Tensor>, StorageError> {
        self.converted_near(format, build, Near::default())
    }

    pub(super) fn converted_near(
        &self,
        format: &Format,
        build: Build,
        near: Near,
    ) -> Result<Option<Tensor>, StorageError> {
        let mut left = Left(build.memory);
        let threads = rayon::current_num_threads();
        let mut room = |what: &str, element: Element, count: usize| {
            left.take(what, count as u64, element.bytes() as u64)?;
            fresh(what, element, count)
        };
        let Some(moved) = self.moved(format, (threads, near), &mut room)? else {
            return Ok(None);
        };
        let Moved { arrays, values } = moved;
        let arrays = arrays.into_iter().filter_map(Storage::into_vec::<u32>);
        let mut arrays = arrays.map(Indices::U32);
        let levels = format.levels().iter().map(|level| {
            let own = arrays.by_ref().take(level.kind.arrays().len());
            LevelData::new(level.kind, own.collect())
        });
        let levels = levels.collect();
        let space = LevelSpace::new(self.shape(), format)?;
        Ok(Some(Tensor {
            shape: self.shape().to_vec(),
            format: format.clone(),
            space,
            levels,
            values,
        }))
    }
}

/// Memory for an array: a vector's, whose pages nothing is written to before it is used, if it is not long.
pub(super) fn fresh(what: &str, element: Element, count: usize) -> Result<Storage, StorageError> {
    let failed =
        |found: NoMemory| StorageError::Memory { what: what.into(), bytes: found.bytes as u128 };
    if count.saturating_mul(element.bytes()) < LONG {
        return Ok(with_type!(element, V => {
            Storage::from(super::build::zeroed::<V>(what, count as u64)?)
        }));
    }
    Storage::zeroed(element, count).map_err(failed)
}
