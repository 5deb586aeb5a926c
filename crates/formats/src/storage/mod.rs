//! Storage: a tensor in a format, as arrays.
//!
//! Invariants of a [`Tensor`], which [`Tensor::from_parts`] checks and all else keeps: see [`check`](mod@check).
//!
//! **Entries and zeros.** An *entry* is an element that is stored. Where the last levels are dense, elements stand in
//! blocks, and one that is zero is no entry: it cannot be told from padding. Elsewhere a stored zero is an entry like
//! all others and stays one in every conversion, except through a format with dense levels at its end. What computes
//! with a tensor takes whole blocks, and converts them so ([`Build::padding`]).
//!
//! **Duplicates.** Several entries of one element become one by the rule of [`Duplicates`], in the order in which they
//! were given. A format whose last level is not unique keeps them.

mod build;
pub mod check;
mod columns;
mod convert;
mod counting;
mod dense;
mod entries;
mod hybrid;
mod index;
mod indirect;
mod key;
mod level;
mod lists;
mod narrow;
mod number;
mod place;
mod scan;
mod sort;
mod space;
mod view;
mod walk;

#[cfg(test)]
pub(crate) mod tests;

pub use build::{Build, Building, Duplicates};
pub use check::Invalid;
pub use convert::{Moved, Room, is_moved};
pub use entries::Entries;
pub(crate) use index::with_indices;
pub use index::{Index, Indices};
pub use level::LevelData;
pub use place::Place;

use space::LevelSpace;
pub use view::{IndexView, TensorView};
pub use walk::Keys;
pub(crate) use walk::places_of;

use crate::format::{Format, Level, Width};
use crate::level::Arrays;
use dastac_elements::{CastError, Element, Storage};

/// What cannot be stored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StorageError {
    /// A format of another rank.
    #[error("a format of rank {format} cannot store a tensor of rank {tensor}")]
    Rank {
        /// The tensor's.
        tensor: usize,
        /// The format's.
        format: usize,
    },
    /// Coordinates that do not belong to the values.
    #[error(
        "{} for {} of a tensor of rank {rank}",
        dastac_elements::count(*coordinates, "coordinate"),
        dastac_elements::count(*values, "value")
    )]
    Lengths {
        /// How many coordinates.
        coordinates: usize,
        /// How many values.
        values: usize,
        /// Coordinates of each value.
        rank: usize,
    },
    /// An entry outside of the box.
    #[error("entry {entry} at {} is outside of the shape {}", tuple(coordinates), product(shape))]
    OutOfRange {
        /// Which one, from 0.
        entry: usize,
        /// Where it stands.
        coordinates: Vec<u64>,
        /// The box.
        shape: Vec<u64>,
    },
    /// A box with another number of elements.
    #[error("a tensor of shape {} does not fill the shape {}", product(from), product(to))]
    Reshape {
        /// The tensor's.
        from: Vec<u64>,
        /// What was asked for.
        to: Vec<u64>,
    },
    /// Two entries of one element, where that is refused.
    #[error("there are two entries of {place}")]
    Duplicate {
        /// The element.
        place: Place,
    },
    /// Entries of one element whose sum does not fit.
    #[error("the sum of the entries of {place}, overflows")]
    Overflow {
        /// The element.
        place: Place,
    },
    /// More than memory holds, or than is allowed.
    #[error("{what} would take {bytes} bytes")]
    Memory {
        /// Which array.
        what: String,
        /// How much, at least.
        bytes: u128,
    },
    /// Coordinates that may be larger than the width of their level holds.
    #[error(
        "the coordinates of {level}, are up to {largest}: `{}` holds no more than {}",
        width.word(),
        width.largest()
    )]
    Width {
        /// Which level.
        level: String,
        /// The largest coordinate that there may be.
        largest: u64,
        /// In what they would be stored.
        width: Width,
    },
    /// Extents whose product is beyond what keys hold.
    #[error("a shape whose coordinates take {bits} bits: at most 128 are supported")]
    Box {
        /// How many.
        bits: u32,
    },
    /// A value that the wanted type cannot hold.
    #[error(transparent)]
    Cast(#[from] CastError),
    /// The value of an element that the wanted type cannot hold.
    #[error("{}{error}", place.before_value())]
    Value {
        /// The element.
        place: Place,
        /// Its value.
        error: Box<CastError>,
    },
    /// Arrays that are no tensor of their format.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl StorageError {
    /// The same, for readers who count coordinates from another number than 0.
    pub fn counting_from(self, first: u64) -> StorageError {
        match self {
            StorageError::Duplicate { place } => {
                StorageError::Duplicate { place: place.counting_from(first) }
            }
            StorageError::Overflow { place } => {
                StorageError::Overflow { place: place.counting_from(first) }
            }
            StorageError::Value { place, error } => {
                StorageError::Value { place: place.counting_from(first), error }
            }
            other => other,
        }
    }
}

/// `(1, 2)`.
pub fn tuple(coordinates: &[u64]) -> String {
    let numbers: Vec<String> = coordinates.iter().map(u64::to_string).collect();
    format!("({})", numbers.join(", "))
}

/// `3 x 4`.
pub fn product(shape: &[u64]) -> String {
    if shape.is_empty() {
        return "scalar".into();
    }
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
}

/// A tensor in a format.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Vec<u64>,
    format: Format,
    /// Where elements are among the coordinates of the levels.
    space: LevelSpace,
    levels: Vec<LevelData>,
    values: Storage,
}

impl Tensor {
    /// A tensor of arrays that were made elsewhere; they are checked.
    pub fn from_parts(
        shape: Vec<u64>,
        format: Format,
        levels: Vec<LevelData>,
        values: Storage,
    ) -> Result<Tensor, StorageError> {
        if shape.len() != format.rank() {
            return Err(StorageError::Rank { tensor: shape.len(), format: format.rank() });
        }
        let space = LevelSpace::new(&shape, &format)?;
        let levels = match levels.len() == format.levels().len() {
            true => narrow::fitted(levels, &format),
            false => levels,
        };
        let tensor = Tensor { shape, format, space, levels, values };
        tensor.check()?;
        Ok(tensor)
    }

    /// A tensor of arrays that are known to be those of one.
    fn known(
        shape: Vec<u64>,
        format: Format,
        levels: Vec<LevelData>,
        values: Storage,
    ) -> Result<Tensor, StorageError> {
        let space = LevelSpace::new(&shape, &format)?;
        let tensor = Tensor { shape, format, space, levels, values };
        debug_assert_eq!(tensor.check(), Ok(()));
        Ok(tensor)
    }

    /// A tensor with all its elements, in row-major order.
    pub fn from_dense(shape: Vec<u64>, values: Storage) -> Result<Tensor, StorageError> {
        let format = Format::dense(shape.len());
        let levels = vec![LevelData::dense(); shape.len()];
        Tensor::from_parts(shape, format, levels, values)
    }

    /// All elements in row-major order.
    pub fn to_dense(&self, build: Build) -> Result<Storage, StorageError> {
        Ok(self.convert(&Format::dense(self.shape.len()), build)?.values)
    }

    /// Extents, by dimension.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// How it is stored.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The arrays of its levels.
    pub fn levels(&self) -> &[LevelData] {
        &self.levels
    }

    /// Its values, by position of the last level.
    pub fn values(&self) -> &Storage {
        &self.values
    }

    /// How many entries it has.
    pub fn entry_count(&self) -> u64 {
        match (self.is_compact(), self.format.has_blocks()) {
            (true, false) => self.values.len() as u64,
            (true, true) => self.values.nonzeros(),
            (false, _) => {
                let mut count = 0;
                self.for_each(|_, _| count += 1);
                count
            }
        }
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> u64 {
        let arrays = self.levels.iter().flat_map(LevelData::arrays);
        let levels = arrays.map(|array| array.len() as u64 * array.width());
        levels.sum::<u64>() + self.values.len() as u64 * self.values.element().bytes() as u64
    }

    /// The same tensor with values of another type.
    pub fn cast(mut self, to: Element) -> Result<Tensor, StorageError> {
        let values = std::mem::replace(&mut self.values, Storage::empty(to));
        match values.cast(to) {
            Ok(values) => Ok(Tensor { values, ..self }),
            Err(error) => Err(self.misfit(error)),
        }
    }

    /// Which element has a value that a type cannot hold.
    fn misfit(&self, error: CastError) -> StorageError {
        let mut found = None;
        self.for_each_place(|coordinates, position| {
            if position == error.at {
                found = Some(Place::new(coordinates.to_vec()));
            }
        });
        match found {
            Some(place) => StorageError::Value { place, error: error.into() },
            None => error.into(),
        }
    }

    /// How many coordinates a level has.
    fn extent(&self, level: usize) -> u64 {
        self.space.extent(level)
    }

    /// What a level's functions work on.
    fn arrays(&self, level: usize) -> Arrays<'_> {
        let Level { ordered, .. } = self.format.levels()[level];
        Arrays { data: &self.levels[level], extent: self.extent(level), ordered }
    }

    /// Whether every position of the last level is an element of the tensor that is stored.
    fn is_compact(&self) -> bool {
        let levels = self.format.levels();
        self.space.is_exact() && levels.iter().all(|level| level.properties().compact)
    }
}
