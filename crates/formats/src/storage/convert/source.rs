//! The tensor that is converted, and what conversions here know of levels.

use rayon::prelude::*;

use super::super::{IndexView, StorageError, TensorView};
use crate::format::{Format, Level};
use crate::level::Role;
use dastac_elements::{Element, Storage};

/// Where the arrays of a result stand: as many elements of a type, with anything in them. The text says what for.
pub type Room<'m> = dyn FnMut(&str, Element, usize) -> Result<Storage, StorageError> + 'm;

/// A tensor that was converted.
#[derive(Debug)]
pub struct Moved {
    /// The arrays of all levels in order, of integers with 32 bits.
    pub arrays: Vec<Storage>,
    /// The values.
    pub values: Storage,
}

/// Conversions of fewer entries are not worth another thread.
pub(in super::super) const PARALLEL: usize = 1 << 14;

/// What is to be done, by whichever thread comes first.
pub(super) type Task<'t> = Box<dyn FnOnce() + Send + 't>;

/// Does everything that is to be done.
pub(super) fn run(tasks: Vec<Task<'_>>, threads: usize) {
    match threads {
        0 | 1 => tasks.into_iter().for_each(|task| task()),
        _ => tasks.into_par_iter().with_max_len(1).for_each(|task| task()),
    }
}

/// How a level stores its coordinates, as far as conversions here know it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stores {
    /// All of them, none written down.
    All,
    /// One for each node, in segments.
    Nodes,
    /// One for each entry, in segments.
    Entries,
    /// One for each entry, as the level before.
    Follows,
}

impl Stores {
    /// Of an ordered level of a kind that conversions here know.
    fn of(level: &Level) -> Option<Stores> {
        if !level.ordered || level.kind.is_found() || level.kind.is_derived() {
            return None;
        }
        match level.kind.arrays() {
            [] if level.is_full() => Some(Stores::All),
            [Role::Coordinates] if level.kind.follows_entries() => Some(Stores::Follows),
            [Role::Positions, Role::Coordinates] if level.unique => Some(Stores::Nodes),
            [Role::Positions, Role::Coordinates] => Some(Stores::Entries),
            _ => None,
        }
    }

    /// Of all levels of a format with an entry, each once, at each position of the last one.
    pub(super) fn all(format: &Format) -> Option<Vec<Stores>> {
        let last = format.levels().last()?;
        let all: Option<Vec<Stores>> = format.levels().iter().map(Stores::of).collect();
        all.filter(|all| last.unique && all.last() != Some(&Stores::All))
    }
}

/// Where the entries below each position of a level begin; and the end.
#[derive(Clone)]
pub(super) enum Starts<'a> {
    /// Each position is one entry: so many.
    Each(usize),
    Read(&'a [u32]),
    Made(Vec<u32>),
}

impl Starts<'_> {
    /// How many positions there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Starts::Each(count) => *count,
            Starts::Read(all) => all.len() - 1,
            Starts::Made(all) => all.len() - 1,
        }
    }

    pub(super) fn at(&self, position: usize) -> usize {
        match self {
            Starts::Each(_) => position,
            Starts::Read(all) => all[position] as usize,
            Starts::Made(all) => all[position] as usize,
        }
    }
}

/// The tensor that is converted.
pub(super) struct Source<'a> {
    pub(super) stores: Vec<Stores>,
    /// How many coordinates each level has.
    pub(super) extents: &'a [u64],
    /// The dimension of each level.
    pub(super) order: &'a [usize],
    pub(super) levels: Vec<[&'a [u32]; 2]>,
    /// Of each level.
    pub(super) starts: Vec<Starts<'a>>,
    pub(super) entries: usize,
    pub(super) threads: usize,
}

impl<'a> Source<'a> {
    /// Of entries that are sorted, each of which is there once.
    pub(super) fn new(view: &'a TensorView<'a>, threads: usize) -> Option<Source<'a>> {
        let stores = Stores::all(view.format())?;
        let entries = view.values().len();
        u32::try_from(entries).ok()?;
        let mut levels = Vec::new();
        for level in view.levels() {
            let narrow = level.arrays().iter().map(|array| match array {
                IndexView::U32(all) => Some(*all),
                IndexView::U8(_) | IndexView::U16(_) | IndexView::I64(_) => None,
            });
            let narrow: Option<Vec<&[u32]>> = narrow.collect();
            levels.push(match narrow?[..] {
                [positions, coordinates] => [positions, coordinates],
                [coordinates] => [&[], coordinates],
                _ => [&[][..], &[]],
            });
        }
        let (extents, order) = (view.space.extents(), view.space.order()?);
        let threads = if entries < PARALLEL { 1 } else { threads.max(1) };
        let starts = Vec::new();
        let mut source = Source { stores, extents, order, levels, starts, entries, threads };
        source.starts = source.all_starts()?;
        Some(source)
    }

    /// Where entries begin, of all levels, found from the last one on.
    fn all_starts(&self) -> Option<Vec<Starts<'a>>> {
        let mut below = Starts::Each(self.entries);
        let mut all = vec![below.clone()];
        for level in (1..self.levels.len()).rev() {
            let positions = self.levels[level].first().copied().unwrap_or_default();
            below = match (self.stores[level], below) {
                (Stores::Follows, below) => below,
                (Stores::Nodes | Stores::Entries, Starts::Each(_)) => Starts::Read(positions),
                (Stores::Nodes | Stores::Entries, below) => {
                    // No start is greater than the number of entries.
                    #[allow(clippy::cast_possible_truncation)]
                    let start = |at: &u32| below.at(*at as usize) as u32;
                    Starts::Made(positions.iter().map(start).collect())
                }
                (Stores::All, below) => {
                    let step =
                        usize::try_from(self.extents[level]).ok().filter(|step| *step > 0)?;
                    #[allow(clippy::cast_possible_truncation)]
                    let start = |at: usize| below.at(at) as u32;
                    Starts::Made((0..=below.len()).step_by(step).map(start).collect())
                }
            };
            all.push(below.clone());
        }
        all.reverse();
        Some(all)
    }

    /// The coordinate at a position of a level.
    pub(super) fn coordinate(&self, level: usize, position: usize) -> u32 {
        match self.stores[level] {
            // Extents have 32 bits: see `Target`.
            #[allow(clippy::cast_possible_truncation)]
            Stores::All => (position as u64 % self.extents[level]) as u32,
            _ => self.levels[level][1][position],
        }
    }

    /// The positions of a level in parts that have about the same number of entries.
    pub(super) fn parts(&self, level: usize) -> Vec<std::ops::Range<usize>> {
        let starts = &self.starts[level];
        let at = |entry: usize| match starts {
            Starts::Each(_) => entry,
            Starts::Read(all) => all.partition_point(|at| (*at as usize) < entry),
            Starts::Made(all) => all.partition_point(|at| (*at as usize) < entry),
        };
        let (count, threads) = (starts.len(), self.threads);
        let cut = |part: usize| match part {
            0 => 0,
            part if part == threads => count,
            part => at(part * self.entries / threads).min(count),
        };
        (0..threads).map(|part| cut(part)..cut(part + 1)).collect()
    }
}
