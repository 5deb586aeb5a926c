//! Arrays of positions and coordinates, in 32 or 64 bits, or in fewer where a format says so.

use rayon::prelude::*;

/// Positions or coordinates. Which width is taken depends on the format and on the largest number that may stand there,
/// never on chance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indices {
    /// In 8 bits: coordinates of levels that say so, and bits of bitmaps.
    U8(Vec<u8>),
    /// In 16 bits: coordinates of levels that say so.
    U16(Vec<u16>),
    /// In 32 bits.
    U32(Vec<u32>),
    /// In 64 bits.
    U64(Vec<u64>),
}

/// A type of indices.
pub trait Index: Copy + Ord + Send + Sync + 'static {
    /// As a number that indexes memory.
    fn widen(self) -> u64;
}

macro_rules! index {
    ($($word:ty)*) => {$(
        impl Index for $word {
            fn widen(self) -> u64 {
                self.into()
            }
        }
    )*};
}

index! { u8 u16 u32 u64 }

/// Does the same with indices of all widths.
macro_rules! with_indices {
    ($indices:expr, $name:ident => $body:expr) => {
        match $indices {
            $crate::storage::Indices::U8($name) => $body,
            $crate::storage::Indices::U16($name) => $body,
            $crate::storage::Indices::U32($name) => $body,
            $crate::storage::Indices::U64($name) => $body,
        }
    };
}
pub(crate) use with_indices;

impl Indices {
    /// Bytes of one index where `largest` may occur.
    pub fn width_for(largest: u64) -> u64 {
        if u32::try_from(largest).is_ok() { 4 } else { 8 }
    }

    /// The values of a function, none greater than `largest`.
    pub(crate) fn collect(
        length: usize,
        largest: u64,
        value: impl Fn(usize) -> u64 + Send + Sync,
    ) -> Indices {
        let all = (0..length).into_par_iter().map(value);
        if Indices::width_for(largest) == 4 {
            // None is greater than `largest`, so none is cut.
            #[allow(clippy::cast_possible_truncation)]
            return Indices::U32(all.map(|value| value as u32).collect());
        }
        Indices::U64(all.collect())
    }

    /// These numbers, in 32 bits if `largest`, which none exceeds, fits them.
    pub fn of(numbers: &[u64], largest: u64) -> Indices {
        let largest = numbers.par_iter().copied().max().unwrap_or(0).max(largest);
        Indices::collect(numbers.len(), largest, |at| numbers[at])
    }

    /// How many.
    pub fn len(&self) -> usize {
        with_indices!(self, all => all.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index that stands there. Panics beyond the end, as slices do.
    pub fn at(&self, at: usize) -> u64 {
        with_indices!(self, all => all[at].widen())
    }

    /// The index that stands there, given as a position. Panics beyond the end, as slices do.
    pub(crate) fn get(&self, position: u64) -> u64 {
        self.at(super::walk::place(position))
    }

    /// All in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|at| self.at(at))
    }

    /// Bytes of one.
    pub fn width(&self) -> u64 {
        match self {
            Indices::U8(_) => 1,
            Indices::U16(_) => 2,
            Indices::U32(_) => 4,
            Indices::U64(_) => 8,
        }
    }
}
