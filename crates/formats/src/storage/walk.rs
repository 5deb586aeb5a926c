//! Reading tensors: all entries in the order of storage, or the positions of one element.

use rayon::prelude::*;

use super::build::{Build, zeroed};
use super::entries::Entries;
use super::index::{Index, with_indices};
use super::key::{Key, Packing};
use super::{LevelData, StorageError, Tensor};
use dastac_elements::{Native, Scalar, Storage, with_type};

impl Tensor {
    /// Whether entries stand in the order of their coordinates, level by level.
    pub(super) fn is_sorted(&self) -> bool {
        self.format.levels().iter().all(|level| level.ordered)
    }

    /// All entries in the order of storage.
    pub fn to_entries(&self) -> Result<Entries, StorageError> {
        let packing = Packing::new(&self.shape, &self.format)?;
        if packing.bits <= 64 {
            self.entries_of::<u64>(&packing)
        } else {
            self.entries_of::<u128>(&packing)
        }
    }

    fn entries_of<K: Key>(&self, packing: &Packing) -> Result<Entries, StorageError> {
        let records = self.records::<K>(packing, Build::default().padding)?;
        let rank = self.shape.len();
        let mut coordinates: Vec<u64> =
            zeroed("the coordinates of all entries", (records.len() * rank) as u64)?;
        if rank > 0 {
            let each = coordinates.par_chunks_exact_mut(rank).zip(&records);
            each.for_each(|(coordinates, (key, _))| packing.unpack(*key, coordinates));
        }
        let values = with_type!(self.values.element(), V => {
            let values = records.into_par_iter().map(|(_, word)| V::from_word(word));
            Storage::from(values.collect::<Vec<V>>())
        });
        Entries::new(self.shape.clone(), coordinates, values)
    }

    /// Calls back with the coordinates, in order of dimensions, and the position of every entry, in the order of storage.
    pub fn for_each(&self, mut call: impl FnMut(&[u64], usize)) {
        let blocks = self.has_blocks();
        self.for_each_place(|coordinates, position| {
            if !(blocks && self.values.is(position, 0.0)) {
                call(coordinates, position);
            }
        });
    }

    /// As [`Tensor::for_each`], for every element that has a position: zeros in blocks too.
    pub fn for_each_place(&self, mut call: impl FnMut(&[u64], usize)) {
        self.descend(0, 0, &mut vec![0; self.shape.len()], &mut call);
    }

    fn descend(
        &self,
        level: usize,
        position: u64,
        coordinates: &mut [u64],
        call: &mut dyn FnMut(&[u64], usize),
    ) {
        let Some(data) = self.levels.get(level) else {
            return call(coordinates, place(position));
        };
        let dimension = self.format.order()[level];
        match data {
            LevelData::Dense => {
                for coordinate in 0..self.shape[dimension] {
                    coordinates[dimension] = coordinate;
                    let child = position * self.shape[dimension] + coordinate;
                    self.descend(level + 1, child, coordinates, call);
                }
            }
            LevelData::Compressed { positions, coordinates: stored } => {
                for child in positions.at(place(position))..positions.at(place(position) + 1) {
                    coordinates[dimension] = stored.at(place(child));
                    self.descend(level + 1, child, coordinates, call);
                }
            }
            LevelData::Singleton { coordinates: stored } => {
                coordinates[dimension] = stored.at(place(position));
                self.descend(level + 1, position, coordinates, call);
            }
        }
    }

    /// The positions where an element is stored: at most one, unless the format keeps duplicates. Panics if there are not as many coordinates as
    /// dimensions.
    pub fn positions_of(&self, element: &[u64]) -> Vec<usize> {
        assert_eq!(element.len(), self.shape.len(), "coordinates of another rank");
        if element.iter().zip(&self.shape).any(|(coordinate, extent)| coordinate >= extent) {
            return Vec::new();
        }
        let mut found = vec![0u64];
        for (level, data) in self.levels.iter().enumerate() {
            let wanted = element[self.format.order()[level]];
            match data {
                LevelData::Dense => {
                    let extent = self.extent(level);
                    found.iter_mut().for_each(|position| *position = *position * extent + wanted);
                }
                LevelData::Compressed { positions, coordinates } => {
                    let ordered = self.format.levels()[level].ordered;
                    let below = |position: u64| {
                        let at = place(position);
                        let (begin, end) = (place(positions.at(at)), place(positions.at(at + 1)));
                        with_indices!(coordinates, all => equal(&all[begin..end], wanted, ordered))
                            .into_iter()
                            .map(move |child| (begin + child) as u64)
                    };
                    found = found.into_iter().flat_map(below).collect();
                }
                LevelData::Singleton { coordinates } => {
                    found.retain(|position| coordinates.at(place(*position)) == wanted);
                }
            }
        }
        found.into_iter().map(place).collect()
    }

    /// The value of an element that is stored.
    pub fn get(&self, element: &[u64]) -> Option<Scalar> {
        self.values.get(*self.positions_of(element).first()?)
    }

    /// Keys in the order of `packing`, and values as words, of all entries in the order of storage; elements of blocks are entries where they are not `padding`.
    pub(super) fn records<K: Key>(
        &self,
        packing: &Packing,
        padding: Option<f64>,
    ) -> Result<Vec<(K, u64)>, StorageError> {
        let mut keys = vec![K::default()];
        for (level, data) in self.levels.iter().enumerate() {
            let shift = packing.shift_of(self.format.order()[level]);
            keys = match data {
                LevelData::Dense => dense(&keys, self.extent(level), shift)?,
                LevelData::Compressed { positions, coordinates } => {
                    let mut below = zeroed("entries", coordinates.len() as u64)?;
                    with_indices!(positions, positions => with_indices!(coordinates, coordinates =>
                        compressed(&keys, positions, coordinates, shift, &mut below)));
                    below
                }
                LevelData::Singleton { coordinates } => {
                    let mut keys = keys;
                    with_indices!(coordinates, all => keys.par_iter_mut().zip(all).for_each(
                        |(key, coordinate)| *key = key.with(K::field(coordinate.widen(), shift))
                    ));
                    keys
                }
            };
        }
        let pairs = keys.into_par_iter().zip(self.values.words()).enumerate();
        Ok(match padding.filter(|_| self.has_blocks()) {
            Some(padding) => pairs
                .filter(|(at, _)| !self.values.is(*at, padding))
                .map(|(_, pair)| pair)
                .collect(),
            None => pairs.map(|(_, pair)| pair).collect(),
        })
    }
}

/// A position is the place of something that is in memory.
#[allow(clippy::cast_possible_truncation)]
fn place(position: u64) -> usize {
    position as usize
}

/// The places of a coordinate among those below one position.
fn equal<I: Index>(stored: &[I], wanted: u64, ordered: bool) -> Vec<usize> {
    if ordered {
        let begin = stored.partition_point(|coordinate| coordinate.widen() < wanted);
        let end = begin + stored[begin..].partition_point(|c| c.widen() == wanted);
        return (begin..end).collect();
    }
    (0..stored.len()).filter(|at| stored[*at].widen() == wanted).collect()
}

fn dense<K: Key>(parents: &[K], extent: u64, shift: u32) -> Result<Vec<K>, StorageError> {
    let count = (parents.len() as u64).saturating_mul(extent);
    let mut below: Vec<K> = zeroed("the elements of a dense level", count)?;
    if count > 0 {
        below.par_chunks_exact_mut(place(extent)).zip(parents).for_each(|(below, parent)| {
            for (coordinate, key) in below.iter_mut().enumerate() {
                *key = parent.with(K::field(coordinate as u64, shift));
            }
        });
    }
    Ok(below)
}

/// Fewer entries are not worth another thread.
const PART: usize = 1 << 14;

/// The keys below `parents`, whose positions begin at `positions[0]` and have one more element than there are parents.
fn compressed<K: Key, P: Index, C: Index>(
    parents: &[K],
    positions: &[P],
    coordinates: &[C],
    shift: u32,
    below: &mut [K],
) {
    if parents.len() > 1 && parents.len() + below.len() > PART {
        let half = parents.len() / 2;
        let first = place(positions[half].widen() - positions[0].widen());
        let (left, right) = below.split_at_mut(first);
        let (left_coordinates, right_coordinates) = coordinates.split_at(first);
        rayon::join(
            || compressed(&parents[..half], &positions[..=half], left_coordinates, shift, left),
            || compressed(&parents[half..], &positions[half..], right_coordinates, shift, right),
        );
        return;
    }
    let begin = positions[0].widen();
    for (parent, range) in parents.iter().zip(positions.windows(2)) {
        let range = place(range[0].widen() - begin)..place(range[1].widen() - begin);
        for (key, coordinate) in below[range.clone()].iter_mut().zip(&coordinates[range]) {
            *key = parent.with(K::field(coordinate.widen(), shift));
        }
    }
}
