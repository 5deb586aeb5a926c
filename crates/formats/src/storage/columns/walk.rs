//! Entries on their way down the levels of a format.

use super::blocks::{each, filled};
use super::tables::Tables;
use super::{Columns, collected, small};
use crate::format::LevelExpr;
use crate::format::column::{BLOCK, Lane};

/// The positions of entries in a level.
pub(super) enum At {
    /// All of them at the one position above the first level.
    Root,
    /// Each at a position of its own, in their order.
    Own,
    /// By entry.
    Each(Vec<u32>),
}

/// What levels store: the values of an expression, less the lowest.
#[derive(Clone)]
pub(super) struct Stored {
    expr: LevelExpr,
    lowest: i64,
    /// Whether its values are computed in 32 bits.
    narrow: bool,
    /// How many values there may be.
    pub(super) extent: u64,
}

impl Stored {
    /// The values of an expression in a box of this shape, of which the range is given. They have 32 bits.
    pub(super) fn new(expr: &LevelExpr, shape: &[u64], lowest: i128, extent: u64) -> Stored {
        let narrow = expr.is_narrow(&|dimension: usize| i128::from(shape[dimension]));
        let lowest = i64::try_from(lowest).unwrap_or_default();
        Stored { expr: expr.clone(), lowest, narrow, extent }
    }

    /// Coordinates of a block of entries.
    pub(super) fn block(&self, columns: &Columns, first: usize, to: &mut [u32]) {
        if let (Some(dimension), 0) = (self.expr.as_dimension(), self.lowest) {
            to.copy_from_slice(&columns.dimensions[dimension][first..][..to.len()]);
            return;
        }
        if self.narrow {
            let own = |dimension: usize, to: &mut [u32]| {
                to.copy_from_slice(&columns.dimensions[dimension][first..][..to.len()]);
            };
            to.fill(u32::of(-self.lowest));
            self.expr.add(1, &own, to);
            return;
        }
        let mut memory = [-self.lowest; BLOCK];
        let values = &mut memory[..to.len()];
        let own = |dimension: usize, to: &mut [i64]| {
            let from = &columns.dimensions[dimension][first..];
            to.iter_mut().zip(from).for_each(|(to, from)| *to = i64::from(*from));
        };
        self.expr.add(1, &own, values);
        // Entries lie in the box, where values have 32 bits.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        to.iter_mut().zip(values).for_each(|(to, value)| *to = *value as u32);
    }

    /// Coordinates of all entries.
    pub(super) fn all(&self, columns: &Columns) -> Vec<u32> {
        filled(columns.count, |first, to| self.block(columns, first, to))
    }
}

/// Entries, and where they are.
pub(super) struct Walk {
    pub(super) columns: Columns,
    /// In the last level before those that follow.
    pub(super) at: At,
    /// Levels behind it that have a position for every coordinate below each one.
    full: Vec<Stored>,
    /// How many positions the last level has.
    pub(super) positions: u32,
    pub(super) tables: Tables,
}

impl Walk {
    /// Above all levels.
    pub(super) fn new(columns: Columns, tables: Tables) -> Walk {
        Walk { columns, at: At::Root, full: Vec::new(), positions: 1, tables }
    }

    /// Positions of a block of entries.
    pub(super) fn block(&self, first: usize, to: &mut [u32]) {
        match &self.at {
            At::Root => to.fill(0),
            At::Own => to.iter_mut().zip(small(first)..).for_each(|(to, at)| *to = at),
            At::Each(all) => to.copy_from_slice(&all[first..][..to.len()]),
        }
        for level in &self.full {
            let mut memory = [0; BLOCK];
            let own = &mut memory[..to.len()];
            level.block(&self.columns, first, own);
            // Positions have 32 bits, and so have extents of levels with entries.
            #[allow(clippy::cast_possible_truncation)]
            let extent = level.extent as u32;
            to.iter_mut().zip(own).for_each(|(to, own)| *to = *to * extent + *own);
        }
    }

    /// Positions of all entries.
    pub(super) fn all(&self) -> Vec<u32> {
        filled(self.columns.count, |first, to| self.block(first, to))
    }

    /// Calls back with the first entry of each block and the positions of its entries.
    pub(super) fn each(&self, call: impl Fn(usize, &[u32]) + Sync) {
        each(self.columns.count, |first, count| {
            let mut memory = [0; BLOCK];
            let block = &mut memory[..count];
            self.block(first, block);
            call(first, block);
        });
    }

    /// Whether each entry has a position of its own, in their order.
    pub(super) fn is_own(&self) -> bool {
        matches!(self.at, At::Own) && self.full.is_empty()
    }

    /// To a level with a position for every coordinate below each one. Gives whether its positions have 32 bits.
    pub(super) fn full(&mut self, level: Stored) -> bool {
        let positions = u64::from(self.positions).saturating_mul(level.extent);
        let Ok(positions) = u32::try_from(positions) else { return false };
        self.positions = positions;
        self.full.push(level);
        true
    }

    /// Puts entries in another order: which one comes at each place.
    pub(super) fn reorder(&mut self, order: &[u32]) {
        self.columns.reorder(order);
        if let At::Each(all) = &self.at {
            self.at = At::Each(collected(order.len(), |at| all[order[at] as usize]));
        }
    }

    /// To positions that are given by entry.
    pub(super) fn go(&mut self, at: At, positions: u32) {
        self.full.clear();
        (self.at, self.positions) = (at, positions);
    }
}
