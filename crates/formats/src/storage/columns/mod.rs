//! Conversions by way of columns: the coordinates of all entries stand in one array for each dimension, and every entry
//! goes down the levels of the new format, from its position in one to its position in the next ([`Walk`]). Entries are
//! put in another order only where a level stores coordinates of which no table can be made.
//!
//! All numbers have 32 bits; where one would not, tensors are made of sorted records instead
//! ([`build`](super::build)).

mod blocks;
mod build;
mod functions;
mod number;
mod order;
mod read;
mod store;
mod tables;
mod walk;

use super::key::Packing;
use super::space::LevelSpace;
use super::{Build, StorageError, Tensor};
use crate::format::{Aggregate, Format, Indirect};
use blocks::collected;
pub(super) use tables::Tables;
use walk::Walk;

/// The entries of a tensor, each element once.
#[derive(Default)]
struct Columns {
    /// The coordinates of all entries, by dimension; values of functions behind them.
    dimensions: Vec<Vec<u32>>,
    /// Where the value of each stands; nothing if values stand in their order.
    values: Option<Vec<u32>>,
    /// How many there are.
    count: usize,
}

impl Tensor {
    /// The tensor in a format whose packing is given, if all numbers have 32 bits.
    pub(super) fn placed(
        &self,
        (packing, format): (&Packing, &Format),
        build: Build,
        tables: Tables,
    ) -> Result<Option<Tensor>, StorageError> {
        let space = packing.space();
        let once = |format: &Format| format.levels().last().is_some_and(|level| level.unique);
        if !once(&self.format) || format.levels().is_empty() || !is_narrow(space) {
            return Ok(None);
        }
        // Sums are those of entries in row-major order: these are read so elsewhere.
        let sums =
            |function: &Indirect| matches!(function, Indirect::Reorder { by: Aggregate::Sum, .. });
        if space.functions().iter().any(sums) {
            return Ok(None);
        }
        let Some(mut columns) = Columns::of(self, build.padding) else { return Ok(None) };
        for function in space.functions() {
            let limits = (tables, build.memory);
            let values = functions::values(function, &mut columns, self, limits)?;
            columns.dimensions.push(values);
        }
        let walk = Walk::new(columns, tables);
        build::assembled(walk, self, (space, format), build)
    }
}

/// Whether coordinates of dimensions and of levels have 32 bits, and all sums on the way to these 64.
fn is_narrow(space: &LevelSpace) -> bool {
    let largest = |dimension: usize| i128::from(space.shape()[dimension]);
    let inputs = space.functions().iter().flat_map(Indirect::inputs);
    let mut extents = space.shape().iter().chain(space.extents());
    extents.all(|extent| *extent <= u32::MAX.into())
        && space.map().levels().iter().chain(inputs).all(|expr| expr.is_small(&largest))
}

impl Columns {
    /// Puts entries in another order: which one comes at each place.
    fn reorder(&mut self, order: &[u32]) {
        let moved = |from: &[u32]| collected(order.len(), |at| from[order[at] as usize]);
        self.dimensions.iter_mut().for_each(|all| *all = moved(all));
        self.values = Some(match &self.values {
            Some(all) => moved(all),
            None => order.to_vec(),
        });
    }
}

/// A number of entries or positions, of which there are fewer than 2^32.
#[allow(clippy::cast_possible_truncation)]
fn small(number: usize) -> u32 {
    number as u32
}
