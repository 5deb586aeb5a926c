//! Reading tensors: all entries in the order of storage, or the positions of one element.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::build::{Build, zeroed};
use super::entries::Entries;
use super::index::{Index, with_indices};
use super::key::{Key, Packing};
use super::{Indices, StorageError, Tensor};
use crate::format::Format;
use dastac_elements::{Native, Scalar, Storage, Word, with_type};

impl Tensor {
    /// Whether entries stand in the order of their coordinates, level by level.
    pub(super) fn is_sorted(&self) -> bool {
        self.format.levels().iter().all(|level| level.ordered)
    }

    /// All entries in the order of storage.
    pub fn to_entries(&self) -> Result<Entries, StorageError> {
        let packing = Packing::of(self.space.clone())?;
        match (packing.bits <= 64, self.values.element().bytes() <= 8) {
            (true, true) => self.entries_of::<u64, u64>(&packing),
            (false, true) => self.entries_of::<u128, u64>(&packing),
            (true, false) => self.entries_of::<u64, u128>(&packing),
            (false, false) => self.entries_of::<u128, u128>(&packing),
        }
    }

    fn entries_of<K: Key, W: Word>(&self, packing: &Packing) -> Result<Entries, StorageError> {
        // Values of functions are not asked for.
        let plain = Packing::new(&self.shape, &Format::dense(self.shape.len()))?;
        let to = if packing.space().functions().is_empty() { packing } else { &plain };
        let records = self.records::<K, W>((packing, to), Build::default().padding)?;
        let rank = self.shape.len();
        let mut coordinates: Vec<u64> =
            zeroed("the coordinates of all entries", (records.len() * rank) as u64)?;
        if rank > 0 {
            let each = coordinates.par_chunks_exact_mut(rank).zip(&records);
            each.for_each(|(coordinates, (key, _))| {
                to.unpack(*key, coordinates);
            });
        }
        let values = with_type!(self.values.element(), V => {
            let values = records.into_par_iter().map(|(_, word)| V::from_word(word.long()));
            Storage::from(values.collect::<Vec<V>>())
        });
        Entries::new(self.shape.clone(), coordinates, values)
    }

    /// Calls back with the coordinates, in order of dimensions, and the position of every entry, in the order of
    /// storage.
    pub fn for_each(&self, mut call: impl FnMut(&[u64], usize)) {
        let blocks = self.format.has_blocks();
        self.for_each_place(|coordinates, position| {
            if !(blocks && self.values.is(position, 0.0)) {
                call(coordinates, position);
            }
        });
    }

    /// As [`Tensor::for_each`], for every element that has a position: zeros in blocks too.
    pub fn for_each_place(&self, mut call: impl FnMut(&[u64], usize)) {
        let mut place = Place {
            levels: vec![0; self.levels.len()],
            element: vec![0; self.shape.len()],
            position: 0,
        };
        self.descend(0, &mut place, &mut call);
    }

    fn descend(&self, level: usize, at: &mut Place, call: &mut dyn FnMut(&[u64], usize)) {
        let Some(data) = self.levels.get(level) else {
            if self.space.element(&at.levels, &mut at.element) {
                call(&at.element, place(at.position));
            }
            return;
        };
        let (arrays, parent) = (self.arrays(level), at.position);
        for position in data.kind().pos_bounds(arrays, parent) {
            let Some(coordinate) = data.kind().pos_access(arrays, parent, position) else {
                continue;
            };
            (at.levels[level], at.position) = (coordinate, position);
            self.descend(level + 1, at, call);
        }
        at.position = parent;
    }

    /// Calls back with the number of its level, the value of the level's expression and the position of everything
    /// that is stored of levels, each before what is below it, as long as it gives true.
    pub fn for_each_node(&self, call: &mut dyn FnMut(usize, i128, u64) -> bool) {
        self.nodes(0, 0, call);
    }

    fn nodes(
        &self,
        level: usize,
        parent: u64,
        call: &mut dyn FnMut(usize, i128, u64) -> bool,
    ) -> bool {
        let Some(data) = self.levels.get(level) else { return true };
        let arrays = self.arrays(level);
        data.kind().pos_bounds(arrays, parent).all(|position| {
            match data.kind().pos_access(arrays, parent, position) {
                Some(coordinate) => {
                    let value = self.space.value(level, coordinate);
                    call(level, value, position) && self.nodes(level + 1, position, call)
                }
                None => true,
            }
        })
    }

    /// The positions where an element is stored: at most one, unless the format keeps duplicates. Panics if there are
    /// not as many coordinates as dimensions.
    pub fn positions_of(&self, element: &[u64]) -> Vec<usize> {
        assert_eq!(element.len(), self.shape.len(), "coordinates of another rank");
        if element.iter().zip(&self.shape).any(|(coordinate, extent)| coordinate >= extent) {
            return Vec::new();
        }
        if !self.space.functions().is_empty() {
            return self.places_of(0, 0, element);
        }
        let mut found = vec![0u64];
        for (level, data) in self.levels.iter().enumerate() {
            let (wanted, arrays) = (self.space.coordinate(level, element), self.arrays(level));
            let below = |parent: u64| data.kind().locate(arrays, parent, wanted);
            found = found.into_iter().flat_map(below).collect();
        }
        found.into_iter().map(place).collect()
    }

    /// The positions of an element below one of the level before, where coordinates of levels that are computed from
    /// entries are not known: all of theirs are tried.
    fn places_of(&self, level: usize, parent: u64, element: &[u64]) -> Vec<usize> {
        let Some(data) = self.levels.get(level) else { return vec![place(parent)] };
        let arrays = self.arrays(level);
        let below: Vec<u64> = match self.space.is_direct(level) {
            true => data.kind().locate(arrays, parent, self.space.coordinate(level, element)),
            false => data.kind().pos_bounds(arrays, parent).collect(),
        };
        let there = |position: &u64| data.kind().pos_access(arrays, parent, *position).is_some();
        let below = below.into_iter().filter(there);
        below.flat_map(|position| self.places_of(level + 1, position, element)).collect()
    }

    /// The value of an element that is stored.
    pub fn get(&self, element: &[u64]) -> Option<Scalar> {
        self.values.get(*self.positions_of(element).first()?)
    }

    /// Keys of the positions of the first levels, given where in a key their coordinates stand; and which of these
    /// positions hold nothing, if any may.
    pub(super) fn keys<K: Key>(
        &self,
        shifts: impl IntoIterator<Item = u32>,
    ) -> Result<(Vec<K>, Option<Vec<bool>>), StorageError> {
        let mut all = Positions { keys: vec![K::default()], absent: None, shift: 0 };
        for ((level, data), shift) in self.levels.iter().enumerate().zip(shifts) {
            all.shift = shift;
            data.kind().walk(self.arrays(level), &mut all)?;
        }
        Ok((all.keys, all.absent))
    }

    /// Keys in the second packing, given the tensor's own first, and values as words, of all entries in the order of
    /// storage; elements of blocks are entries where they are not `padding`.
    pub(super) fn records<K: Key, W: Word>(
        &self,
        (own, packing): (&Packing, &Packing),
        padding: Option<f64>,
    ) -> Result<Vec<(K, W)>, StorageError> {
        // Where both store dimensions, coordinates go to their places at once.
        let shifts = match (own.space().order(), packing.space().order()) {
            (Some(order), Some(_)) => order.iter().map(|at| packing.shift_of(*at)).collect(),
            _ => (0..self.levels.len()).map(|level| own.shift(level)).collect::<Vec<u32>>(),
        };
        let direct = self.space.is_exact() && packing.space().is_exact();
        let (keys, absent) = self.keys::<K>(shifts)?;
        let padding = padding.filter(|_| self.format.has_blocks());
        let is_entry = |at: usize| {
            let present = absent.as_ref().is_none_or(|absent| !absent[at]);
            present && padding.is_none_or(|padding| !self.values.is(at, padding))
        };
        let pairs = keys.into_par_iter().zip(self.values.words::<W>()).enumerate();
        if direct && padding.is_none() && absent.is_none() {
            return Ok(pairs.map(|(_, pair)| pair).collect());
        }
        let entries = pairs.filter(|(at, _)| is_entry(*at)).map(|(_, pair)| pair);
        if direct {
            return Ok(entries.collect());
        }
        let moved = entries.filter_map(|(key, word)| {
            let mut element = vec![0; self.shape.len()];
            own.unpack(key, &mut element).then(|| (packing.pack(&element), word))
        });
        Ok(moved.collect())
    }
}

/// A place on the way down the levels.
struct Place {
    /// Coordinates in the levels.
    levels: Vec<u64>,
    element: Vec<u64>,
    position: u64,
}

/// The building blocks of reading a level: the keys of all positions of one level become those of the next one's.
pub trait Keys<'a> {
    /// Every coordinate below every position.
    ///
    /// # Errors
    /// More positions than memory holds.
    fn full(&mut self, extent: u64) -> Result<(), StorageError>;

    /// Of position `p`, the coordinates from `positions[p]` to `positions[p + 1]`.
    ///
    /// # Errors
    /// As [`Keys::full`].
    fn segments(
        &mut self,
        positions: &'a Indices,
        coordinates: &'a Indices,
    ) -> Result<(), StorageError>;

    /// One coordinate for each position.
    fn attach(&mut self, coordinates: &'a Indices);

    /// One coordinate for each position; those that hold the extent or more hold nothing.
    fn attach_below(&mut self, coordinates: &'a Indices, extent: u64);

    /// Of position `p`, the coordinates from 0 on, as many as there are positions from `positions[p]` to
    /// `positions[p + 1]`.
    ///
    /// # Errors
    /// As [`Keys::full`].
    fn ragged(&mut self, positions: &'a Indices) -> Result<(), StorageError>;

    /// Positions whose number is not 0 hold something; the others do not.
    fn keep(&mut self, present: Cow<'a, Indices>);
}

/// The positions of a level.
struct Positions<K> {
    keys: Vec<K>,
    /// Which of them hold nothing, if any may.
    absent: Option<Vec<bool>>,
    /// Where the coordinates of the next level stand in keys.
    shift: u32,
}

impl<K: Key> Positions<K> {
    /// As [`Keys::segments`].
    fn segmented(
        &mut self,
        positions: &Indices,
        coordinates: &Indices,
    ) -> Result<(), StorageError> {
        let mut below = zeroed("entries", coordinates.len() as u64)?;
        with_indices!(positions, positions => with_indices!(coordinates, coordinates =>
            compressed(&self.keys, positions, coordinates, self.shift, &mut below)));
        self.keys = below;
        if let Some(absent) = &mut self.absent {
            let count = |at: usize| place(positions.at(at + 1) - positions.at(at));
            let each = absent.iter().enumerate();
            *absent = each.flat_map(|(at, one)| std::iter::repeat_n(*one, count(at))).collect();
        }
        Ok(())
    }
}

impl<'a, K: Key> Keys<'a> for Positions<K> {
    fn full(&mut self, extent: u64) -> Result<(), StorageError> {
        self.keys = dense(&self.keys, extent, self.shift)?;
        if let Some(absent) = &mut self.absent {
            let each = absent.iter().flat_map(|one| std::iter::repeat_n(*one, place(extent)));
            *absent = each.collect();
        }
        Ok(())
    }

    fn segments(
        &mut self,
        positions: &'a Indices,
        coordinates: &'a Indices,
    ) -> Result<(), StorageError> {
        self.segmented(positions, coordinates)
    }

    fn attach(&mut self, coordinates: &'a Indices) {
        let shift = self.shift;
        with_indices!(coordinates, all => self.keys.par_iter_mut().zip(all).for_each(
            |(key, coordinate)| *key = key.with(K::field(coordinate.widen(), shift))
        ));
    }

    fn attach_below(&mut self, coordinates: &'a Indices, extent: u64) {
        let before = self.absent.take().unwrap_or_else(|| vec![false; coordinates.len()]);
        let both = before.into_iter().zip(coordinates.iter());
        self.absent = Some(both.map(|(absent, at)| absent || at >= extent).collect());
        let shift = self.shift;
        with_indices!(coordinates, all => self.keys.par_iter_mut().zip(all).for_each(
            |(key, coordinate)| {
                if coordinate.widen() < extent {
                    *key = key.with(K::field(coordinate.widen(), shift));
                }
            }
        ));
    }

    fn ragged(&mut self, positions: &'a Indices) -> Result<(), StorageError> {
        let count = positions.iter().last().unwrap_or(0);
        let mut coordinates: Vec<u64> = zeroed("the elements of a ragged level", count)?;
        for parent in 0..self.keys.len() {
            let range = place(positions.at(parent))..place(positions.at(parent + 1));
            let own = coordinates[range].iter_mut().zip(0..);
            own.for_each(|(coordinate, number)| *coordinate = number);
        }
        self.segmented(positions, &Indices::U64(coordinates))
    }

    fn keep(&mut self, present: Cow<'a, Indices>) {
        let before = self.absent.take().unwrap_or_else(|| vec![false; present.len()]);
        let both = before.into_iter().zip(present.iter());
        self.absent = Some(both.map(|(absent, present)| absent || present == 0).collect());
    }
}

/// The positions in a range that have a coordinate.
pub(crate) fn places_of(
    stored: &Indices,
    range: Range<u64>,
    wanted: u64,
    ordered: bool,
) -> Vec<u64> {
    let (begin, end) = (place(range.start), place(range.end));
    let found = with_indices!(stored, all => equal(&all[begin..end], wanted, ordered));
    found.into_iter().map(|at| (begin + at) as u64).collect()
}

/// A position is the place of something that is in memory.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn place(position: u64) -> usize {
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
