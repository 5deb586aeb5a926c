//! Entries in any order, possibly several of one element: what files hold, and what tensors are built from.

use rayon::prelude::*;

use super::key::{Key, Packing};
use super::{Place, StorageError};
use dastac_elements::{CastError, Native, Storage, Word, with_type};

/// Entries with all their coordinates, in order of dimensions.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries {
    shape: Vec<u64>,
    coordinates: Vec<u64>,
    values: Storage,
}

impl Entries {
    /// Entries of a box: coordinates of all entries, one after the other. They must lie in the box.
    pub fn new(
        shape: Vec<u64>,
        coordinates: Vec<u64>,
        values: Storage,
    ) -> Result<Entries, StorageError> {
        let rank = shape.len();
        if values.len().checked_mul(rank) != Some(coordinates.len()) {
            return Err(StorageError::Lengths {
                coordinates: coordinates.len(),
                values: values.len(),
                rank,
            });
        }
        let outside = |entry: &[u64]| entry.iter().zip(&shape).any(|(c, extent)| c >= extent);
        let wrong = match rank {
            0 => None,
            _ => coordinates.par_chunks_exact(rank).position_first(outside),
        };
        if let Some(entry) = wrong {
            let coordinates = coordinates[entry * rank..][..rank].to_vec();
            return Err(StorageError::OutOfRange { entry, coordinates, shape });
        }
        Ok(Entries { shape, coordinates, values })
    }

    /// Entries whose coordinates were compared with the box when they were read.
    pub(crate) fn checked(shape: Vec<u64>, coordinates: Vec<u64>, values: Storage) -> Entries {
        debug_assert_eq!(coordinates.len(), values.len() * shape.len());
        Entries { shape, coordinates, values }
    }

    /// Extents of the box.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Coordinates of all entries, one after the other.
    pub fn coordinates(&self) -> &[u64] {
        &self.coordinates
    }

    /// Coordinates of one entry. Panics beyond the end, as slices do.
    pub fn at(&self, entry: usize) -> &[u64] {
        let rank = self.shape.len();
        &self.coordinates[entry * rank..][..rank]
    }

    /// Values of all entries.
    pub fn values(&self) -> &Storage {
        &self.values
    }

    /// The same entries with values of another type.
    pub fn cast(self, to: dastac_elements::Element) -> Result<Entries, StorageError> {
        let Entries { shape, coordinates, values } = self;
        let values = values.cast(to).map_err(|error| misfit(&coordinates, shape.len(), error))?;
        Ok(Entries { shape, coordinates, values })
    }

    /// These entries and, behind them, others of the same box.
    ///
    /// # Errors
    /// Entries outside of it; values of another type.
    pub fn beside(mut self, others: &Entries) -> Result<Entries, StorageError> {
        self.coordinates.extend(&others.coordinates);
        let element = self.values.element();
        let more = others.values.clone().cast(element);
        let more = more.map_err(|error| misfit(&others.coordinates, others.shape.len(), error))?;
        let values = with_type!(element, V => {
            let mut all = self.values.typed::<V>().to_vec();
            all.extend_from_slice(more.typed::<V>());
            Storage::from(all)
        });
        Entries::new(self.shape, self.coordinates, values)
    }

    /// The same entries in another box.
    ///
    /// # Errors
    /// Entries outside of it.
    pub fn widened(self, shape: Vec<u64>) -> Result<Entries, StorageError> {
        match shape.len() == self.shape.len() && shape.iter().zip(&self.shape).all(|(a, b)| a >= b)
        {
            true => Ok(Entries { shape, ..self }),
            false => Entries::new(shape, self.coordinates, self.values),
        }
    }

    /// The same elements, counted in C order, of another box.
    ///
    /// # Errors
    /// Boxes of different numbers of elements, or of more than 128 bits count.
    pub fn reshaped(self, shape: Vec<u64>) -> Result<Entries, StorageError> {
        let count = |shape: &[u64]| {
            let extents = shape.iter().map(|extent| u128::from(*extent));
            extents.clone().try_fold(1u128, u128::checked_mul)
        };
        let both = count(&self.shape).zip(count(&shape));
        if both.is_none_or(|(own, other)| own != other) {
            return Err(StorageError::Reshape { from: self.shape, to: shape });
        }
        let mut coordinates = vec![0; self.len() * shape.len()];
        let entries = coordinates.chunks_exact_mut(shape.len().max(1));
        for (entry, to) in entries.enumerate() {
            let from = self.at(entry).iter().zip(&self.shape);
            let mut number = from
                .fold(0u128, |number, (at, extent)| number * u128::from(*extent) + u128::from(*at));
            for (at, extent) in to.iter_mut().zip(&shape).rev() {
                *at = (number % u128::from(*extent)) as u64;
                number /= u128::from(*extent);
            }
        }
        Ok(Entries { shape, coordinates, values: self.values })
    }

    /// Keys, and values as words.
    pub(super) fn records<K: Key, W: Word>(&self, packing: &Packing) -> Vec<(K, W)> {
        let rank = self.shape.len();
        // Where levels store dimensions, every coordinate goes to its place at once.
        let shifts: Option<Vec<u32>> =
            packing.space().order().map(|_| (0..rank).map(|at| packing.shift_of(at)).collect());
        let key = |entry: usize| -> K {
            let coordinates = &self.coordinates[entry * rank..][..rank];
            match shifts.as_deref() {
                Some([first, second]) => {
                    K::field(coordinates[0], *first).with(K::field(coordinates[1], *second))
                }
                Some(shifts) => {
                    let fields = coordinates.iter().zip(shifts);
                    fields.fold(K::default(), |key, (at, shift)| key.with(K::field(*at, *shift)))
                }
                None => packing.pack(coordinates),
            }
        };
        with_type!(self.values.element(), V => {
            let values = self.values.typed::<V>().par_iter().enumerate();
            values.map(|(entry, value)| (key(entry), W::of(value.to_word()))).collect()
        })
    }

    /// Keys, and values as words, given the values of functions that are computed from entries.
    pub(super) fn computed<K: Key, W: Word>(
        &self,
        (packing, functions): (&Packing, &[Vec<u64>]),
    ) -> Vec<(K, W)> {
        let key = |entry: usize| -> K {
            let own = self.at(entry).iter().copied();
            let values = functions.iter().map(|function| function[entry]);
            packing.pack(&own.chain(values).collect::<Vec<_>>())
        };
        with_type!(self.values.element(), V => {
            let values = self.values.typed::<V>().par_iter().enumerate();
            values.map(|(entry, value)| (key(entry), W::of(value.to_word()))).collect()
        })
    }
}

/// Which entry has a value that a type cannot hold.
fn misfit(coordinates: &[u64], rank: usize, error: CastError) -> StorageError {
    let place = Place::new(coordinates[error.at * rank..][..rank].to_vec());
    StorageError::Value { place, error: error.into() }
}
