//! From sorted entries to the arrays of a format, level by level, in time linear in what is written.
//!
//! Going down the levels, the entries that share all coordinates so far are one *node*, a range of the sorted entries.
//! A dense level has a position for every coordinate, so nodes stand at some of its positions; the positions of all
//! other levels are their nodes.

use rayon::prelude::*;

use super::columns::Tables;
use super::entries::Entries;
use super::key::{Key, Packing};
use super::sort::sort;
use super::{Indices, LevelData, Place, StorageError, Tensor, indirect, narrow};
use crate::format::Format;
use dastac_elements::{Element, Native, Storage, Word, with_type};

/// What several entries of one element become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Their sum; of truth values, whether any is true.
    #[default]
    Sum,
    /// The last one.
    Last,
    /// An error.
    Refuse,
}

/// How tensors are built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Build {
    /// What several entries of one element become.
    pub duplicates: Duplicates,
    /// What stands in blocks (dense levels at the end of a format) where there is no entry: an element of that value is
    /// none. Without it all elements of blocks are entries, and a block that is built has zeros where it has none.
    pub padding: Option<f64>,
    /// The bytes that the arrays of the result may take: more is an error, found before they are allocated.
    pub memory: u64,
}

impl Default for Build {
    fn default() -> Build {
        Build { duplicates: Duplicates::default(), padding: Some(0.0), memory: u64::MAX }
    }
}

impl Tensor {
    /// A tensor of entries in any order.
    pub fn from_entries(
        entries: &Entries,
        format: &Format,
        build: Build,
    ) -> Result<Tensor, StorageError> {
        if let Some(plain) = format.plain() {
            narrow::fits(entries.shape(), format)?;
            return Ok(Tensor::from_entries(entries, &plain, build)?.in_widths_of(format));
        }
        let packing = Packing::new(entries.shape(), format)?;
        let shape = entries.shape();
        let once = format.levels().last().is_some_and(|level| level.unique);
        if !packing.space().is_exact() && once {
            // Functions are those of the elements, so several entries of one are added up before. Of other expressions
            // values are computed for many entries at once.
            let plain = Format::csf(shape.len());
            let sorted = Build { memory: u64::MAX, ..build };
            return Tensor::from_entries(entries, &plain, sorted)?.convert(format, build);
        }
        let element = entries.values().element();
        let assembly = Assembly { shape, format, packing: &packing, build, element };
        match (packing.bits <= 64, element.bytes() <= 8) {
            (true, true) => assembly.unsorted::<u64, u64>(entries.records(&packing), 0),
            (false, true) => assembly.unsorted::<u128, u64>(entries.records(&packing), 0),
            (true, false) => assembly.unsorted::<u64, u128>(entries.records(&packing), 0),
            (false, false) => assembly.unsorted::<u128, u128>(entries.records(&packing), 0),
        }
    }

    /// The same tensor in another format. Entries go there directly: they are sorted only by the levels whose order
    /// changes.
    pub fn convert(&self, format: &Format, build: Build) -> Result<Tensor, StorageError> {
        if self.format == *format {
            return Ok(self.clone());
        }
        if let Some(plain) = format.plain() {
            narrow::fits(&self.shape, format)?;
            return Ok(self.convert(&plain, build)?.in_widths_of(format));
        }
        if let Some(plain) = self.format.plain() {
            return self.clone().in_widths_of(&plain).convert(format, build);
        }
        let packing = Packing::new(&self.shape, format)?;
        if packing.space().functions().is_empty()
            && let Some(view) = self.as_view()
            && let Some(found) = view.converted(format, build)?
        {
            return Ok(found);
        }
        if let Some(found) = self.placed((&packing, format), build, Tables::default())? {
            return Ok(found);
        }
        self.sorted((&packing, format), build)
    }

    /// The same, of sorted records.
    pub(super) fn sorted(
        &self,
        (packing, format): (&Packing, &Format),
        build: Build,
    ) -> Result<Tensor, StorageError> {
        if !packing.space().functions().is_empty() {
            return self.computed(packing, format, build);
        }
        let own = Packing::of(self.space.clone())?;
        let low = if self.is_sorted() { packing.lowest_unsorted(&own) } else { 0 };
        let element = self.values.element();
        let assembly = Assembly { shape: &self.shape, format, packing, build, element };
        let (both, padding) = ((&own, packing), build.padding);
        match (packing.bits <= 64, element.bytes() <= 8) {
            (true, true) => assembly.unsorted::<u64, u64>(self.records(both, padding)?, low),
            (false, true) => assembly.unsorted::<u128, u64>(self.records(both, padding)?, low),
            (true, false) => assembly.unsorted::<u64, u128>(self.records(both, padding)?, low),
            (false, false) => assembly.unsorted::<u128, u128>(self.records(both, padding)?, low),
        }
    }

    /// The same tensor in a format with functions that are computed from its entries.
    fn computed(
        &self,
        packing: &Packing,
        format: &Format,
        build: Build,
    ) -> Result<Tensor, StorageError> {
        let plain = self.convert(&Format::csf(self.shape.len()), build)?;
        let entries = plain.to_entries()?;
        let functions = packing.space().functions().iter();
        let values = functions.map(|function| indirect::values(function, &entries, build.memory));
        let values: Vec<Vec<u64>> = values.collect::<Result<_, _>>()?;
        let element = self.values.element();
        let assembly = Assembly { shape: &self.shape, format, packing, build, element };
        let both = (packing, &values[..]);
        match (packing.bits <= 64, element.bytes() <= 8) {
            (true, true) => assembly.unsorted::<u64, u64>(entries.computed(both), 0),
            (false, true) => assembly.unsorted::<u128, u64>(entries.computed(both), 0),
            (true, false) => assembly.unsorted::<u64, u128>(entries.computed(both), 0),
            (false, false) => assembly.unsorted::<u128, u128>(entries.computed(both), 0),
        }
    }
}

/// Which level it is, counted from 1, and of what.
pub(super) fn describe(level: usize, shape: &[u64]) -> String {
    format!("level {} of a tensor of shape {}", level + 1, super::product(shape))
}

/// Room for `count` elements, or an error.
pub(super) fn zeroed<T: Copy + Default>(what: &str, count: u64) -> Result<Vec<T>, StorageError> {
    let full = || StorageError::Memory {
        what: what.into(),
        bytes: u128::from(count) * size_of::<T>() as u128,
    };
    let count = usize::try_from(count).map_err(|_| full())?;
    // Memory that comes zeroed is not touched before threads write to it.
    let mut all: Vec<T> = Vec::new();
    all.try_reserve_exact(count).map_err(|_| full())?;
    drop(all);
    Ok(vec![T::default(); count])
}

/// Where entries become a tensor.
struct Assembly<'a> {
    shape: &'a [u64],
    format: &'a Format,
    packing: &'a Packing,
    build: Build,
    element: Element,
}

/// Nodes of a level, in the order of their entries.
struct Nodes {
    /// The first entry of each; nothing if every entry is a node.
    starts: Option<Vec<usize>>,
    /// The position of each; nothing if they are numbered.
    at: Option<Vec<u64>>,
    /// All positions of the level, with and without a node.
    positions: u64,
    entries: usize,
}

impl Nodes {
    fn len(&self) -> usize {
        self.starts.as_ref().map_or(self.entries, Vec::len)
    }

    /// The first entry of a node; of the one behind the last, the end.
    fn start(&self, node: usize) -> usize {
        match &self.starts {
            None => node,
            Some(starts) => starts.get(node).copied().unwrap_or(self.entries),
        }
    }

    fn position(&self, node: usize) -> u64 {
        self.at.as_ref().map_or(node as u64, |at| at[node])
    }

    /// Calls back with the position of each of these nodes and the range of its children.
    fn each(&self, children: &Nodes, mut call: impl FnMut(u64, std::ops::Range<usize>)) {
        let mut child = 0;
        for node in 0..self.len() {
            let (first, end) = (child, self.start(node + 1));
            child = match &children.starts {
                None => end,
                Some(starts) => {
                    let mut next = child;
                    while starts.get(next).is_some_and(|start| *start < end) {
                        next += 1;
                    }
                    next
                }
            };
            call(self.position(node), first..child);
        }
    }
}

impl Assembly<'_> {
    fn unsorted<K: Key, W: Word>(
        &self,
        records: Vec<(K, W)>,
        low: u32,
    ) -> Result<Tensor, StorageError> {
        let records = sort(records, low, self.packing.bits);
        let records = self.without_duplicates(records)?;
        self.assemble(&records)
    }

    fn keeps_duplicates(&self) -> bool {
        self.format.levels().last().is_some_and(|level| !level.unique)
            && self.build.duplicates == Duplicates::Sum
    }

    fn without_duplicates<K: Key, W: Word>(
        &self,
        mut records: Vec<(K, W)>,
    ) -> Result<Vec<(K, W)>, StorageError> {
        let same = |at: &usize| records[at - 1].0 == records[*at].0;
        if self.keeps_duplicates() {
            return Ok(records);
        }
        let pairs = (1..records.len()).into_par_iter().with_min_len(1 << 14);
        let Some(second) = pairs.find_first(same) else { return Ok(records) };
        let first = second - 1;
        let element = |key| Place::new(self.packing.coordinates(key));
        if self.build.duplicates == Duplicates::Refuse {
            return Err(StorageError::Duplicate { place: element(records[first].0) });
        }
        let mut kept = first;
        for next in first + 1..records.len() {
            let (key, value) = records[next];
            if records[kept].0 != key {
                kept += 1;
                records[kept] = (key, value);
            } else if self.build.duplicates == Duplicates::Last {
                records[kept].1 = value;
            } else {
                let sum = self.plus(records[kept].1, value);
                let overflow = || StorageError::Overflow { place: element(key) };
                records[kept].1 = sum.ok_or_else(overflow)?;
            }
        }
        records.truncate(kept + 1);
        Ok(records)
    }

    fn assemble<K: Key, W: Word>(&self, records: &[(K, W)]) -> Result<Tensor, StorageError> {
        let root = if records.is_empty() { Vec::new() } else { vec![0] };
        let mut nodes =
            Nodes { starts: Some(root), at: None, positions: 1, entries: records.len() };
        let mut left = Left(self.build.memory);
        let mut levels = Vec::new();
        for (level, own) in self.format.levels().iter().enumerate() {
            let mut step =
                Step { assembly: self, level, records, parents: nodes, below: None, left };
            let arrays = own.kind.build(&mut step)?;
            levels.push(LevelData::new(own.kind, arrays));
            left = step.left;
            nodes = step.below.unwrap_or(step.parents);
        }
        left.take("the values", nodes.positions, self.element.bytes() as u64)?;
        let values =
            with_type!(self.element, V => Storage::from(self.values::<V, K, W>(records, &nodes)?));
        let space = self.packing.space().clone();
        let (shape, format) = (self.shape.to_vec(), self.format.clone());
        Ok(Tensor { shape, format, space, levels, values })
    }

    fn values<V: Native, K: Key, W: Word>(
        &self,
        records: &[(K, W)],
        nodes: &Nodes,
    ) -> Result<Vec<V>, StorageError> {
        if nodes.at.is_none() && nodes.positions == nodes.len() as u64 {
            return Ok(records.par_iter().map(|(_, word)| V::from_word(word.long())).collect());
        }
        let mut values: Vec<V> = zeroed("the values", nodes.positions)?;
        if let Some(padding) = self.build.padding.filter(|padding| *padding != 0.0) {
            let padding: Vec<W> = Storage::from(vec![padding]).cast(V::ELEMENT)?.words();
            values.fill(V::from_word(padding[0].long()));
        }
        for (node, (_, word)) in records.iter().enumerate() {
            values[at(nodes.position(node))] = V::from_word(word.long());
        }
        Ok(values)
    }

    fn plus<W: Word>(&self, one: W, other: W) -> Option<W> {
        let (one, other) = (one.long(), other.long());
        let sum = with_type!(self.element, V => {
            V::from_word(one).plus(V::from_word(other)).map(V::to_word)
        });
        sum.map(W::of)
    }

    /// Nodes below which all coordinates down to this level are the same. Where elements are not unique, every entry is
    /// one.
    fn split<K: Key, W: Word>(&self, level: usize, records: &[(K, W)]) -> Nodes {
        let mut levels = self.format.levels().iter().enumerate().skip(level);
        let unique = levels.find(|(_, level)| level.unique).map(|(at, _)| at);
        let shift = match unique {
            Some(unique) => self.packing.shift(unique),
            None => 0,
        };
        let entries = records.len();
        let starts = (shift > 0).then(|| {
            let begins = |at: &usize| {
                *at == 0 || records[at - 1].0.above(shift) != records[*at].0.above(shift)
            };
            (0..entries).into_par_iter().with_min_len(1 << 14).filter(begins).collect::<Vec<_>>()
        });
        let starts = starts.filter(|starts| starts.len() < entries);
        let positions = starts.as_ref().map_or(entries, Vec::len) as u64;
        Nodes { starts, at: None, positions, entries }
    }

    fn extent(&self, level: usize) -> u64 {
        self.packing.space().extent(level)
    }

    fn describe(&self, level: usize) -> String {
        describe(level, self.shape)
    }
}

/// The building blocks of levels: which positions the entries of one level get, and its arrays.
pub trait Building {
    /// Every coordinate below every position has a position.
    ///
    /// # Errors
    /// More positions than 64 bits count.
    fn full(&mut self) -> Result<(), StorageError>;

    /// The coordinates that entries have below each position have positions, which follow each other.
    fn stored(&mut self);

    /// Every position of the level before has one here.
    fn same(&mut self);

    /// The coordinate of each position of this level.
    ///
    /// # Errors
    /// More memory than may be used; of the other arrays too.
    fn coordinates(&mut self) -> Result<Indices, StorageError>;

    /// Where the positions below each position of the level before begin, and the end.
    ///
    /// # Errors
    /// As [`Building::coordinates`].
    fn positions(&mut self) -> Result<Indices, StorageError>;

    /// Below each position of the level before, all coordinates up to the largest that an entry has have positions,
    /// which follow each other. Gives where those below each begin, and the end.
    ///
    /// # Errors
    /// As [`Building::coordinates`], and as [`Building::full`].
    fn ragged(&mut self) -> Result<Indices, StorageError>;

    /// The coordinate of each position, which holds those of one coordinate or none; of one without an entry, the
    /// extent.
    ///
    /// # Errors
    /// As [`Building::coordinates`].
    fn padded(&mut self) -> Result<Indices, StorageError>;

    /// For each position of this level, 1 where an entry is, else 0.
    ///
    /// # Errors
    /// As [`Building::coordinates`].
    fn present(&mut self) -> Result<Indices, StorageError>;
}

/// One level on the way.
struct Step<'a, K, W> {
    assembly: &'a Assembly<'a>,
    level: usize,
    records: &'a [(K, W)],
    parents: Nodes,
    /// The nodes of this level; those of the level before until they are said.
    below: Option<Nodes>,
    left: Left,
}

impl<K, W> Step<'_, K, W> {
    fn nodes(&self) -> &Nodes {
        self.below.as_ref().unwrap_or(&self.parents)
    }
}

impl<K: Key, W: Word> Building for Step<'_, K, W> {
    fn full(&mut self) -> Result<(), StorageError> {
        let (level, assembly, parents) = (self.level, self.assembly, &self.parents);
        let extent = assembly.extent(level);
        let positions = parents.positions.checked_mul(extent).ok_or_else(|| {
            let bytes = u128::from(parents.positions) * u128::from(extent);
            StorageError::Memory { what: assembly.describe(level), bytes }
        })?;
        let children = assembly.split(level, self.records);
        let mut at = Vec::with_capacity(children.len());
        parents.each(&children, |parent, children_of| {
            at.extend(children_of.map(|child| {
                let (key, _) = self.records[children.start(child)];
                parent * extent + assembly.packing.coordinate(key, level)
            }));
        });
        self.below = Some(Nodes { at: Some(at), positions, ..children });
        Ok(())
    }

    fn stored(&mut self) {
        self.below = Some(self.assembly.split(self.level, self.records));
    }

    fn same(&mut self) {
        self.below = None;
    }

    fn coordinates(&mut self) -> Result<Indices, StorageError> {
        let (level, assembly) = (self.level, self.assembly);
        let largest = assembly.extent(level).saturating_sub(1);
        let what = format!("the coordinates of {}", assembly.describe(level));
        let count = self.nodes().len();
        self.left.take(&what, count as u64, Indices::width_for(largest))?;
        let nodes = self.nodes();
        Ok(Indices::collect(count, largest, |node| {
            assembly.packing.coordinate(self.records[nodes.start(node)].0, level)
        }))
    }

    fn positions(&mut self) -> Result<Indices, StorageError> {
        let what = format!("the positions of {}", self.assembly.describe(self.level));
        let width = Indices::width_for(self.nodes().positions);
        let count = self.parents.positions.saturating_add(1);
        self.left.take(&what, count, width)?;
        let (parents, children) = (&self.parents, self.nodes());
        if width == 4 {
            let mut positions = zeroed(&what, count)?;
            // At most as many as there are children, of which there are at most 2^32 here.
            #[allow(clippy::cast_possible_truncation)]
            fill(&mut positions, parents, children, |child| child as u32);
            return Ok(Indices::U32(positions));
        }
        let mut positions = zeroed(&what, count)?;
        fill(&mut positions, parents, children, |child| child as u64);
        Ok(Indices::U64(positions))
    }

    fn ragged(&mut self) -> Result<Indices, StorageError> {
        let (level, assembly, parents) = (self.level, self.assembly, &self.parents);
        let coordinate = |child: usize, children: &Nodes| {
            assembly.packing.coordinate(self.records[children.start(child)].0, level)
        };
        let children = assembly.split(level, self.records);
        let what = format!("the positions of {}", assembly.describe(level));
        let mut begins: Vec<u64> = zeroed(&what, parents.positions.saturating_add(1))?;
        let mut at = Vec::with_capacity(children.len());
        let (mut next, mut end) = (1, 0);
        parents.each(&children, |parent, children_of| {
            begins[next..=self::at(parent)].fill(end);
            next = self::at(parent) + 1;
            let begin = end;
            for child in children_of {
                let coordinate = coordinate(child, &children);
                at.push(begin + coordinate);
                end = begin + coordinate + 1;
            }
        });
        begins[next..].fill(end);
        self.left.take(&what, begins.len() as u64, Indices::width_for(end))?;
        self.below = Some(Nodes { at: Some(at), positions: end, ..children });
        Ok(Indices::of(&begins, end))
    }

    fn padded(&mut self) -> Result<Indices, StorageError> {
        let (level, assembly) = (self.level, self.assembly);
        let what = format!("the coordinates of {}", assembly.describe(level));
        let (extent, count) = (assembly.extent(level), self.nodes().positions);
        self.left.take(&what, count, Indices::width_for(extent))?;
        let mut coordinates: Vec<u64> = zeroed(&what, count)?;
        coordinates.fill(extent);
        let nodes = self.nodes();
        for node in 0..nodes.len() {
            let (key, _) = self.records[nodes.start(node)];
            coordinates[at(nodes.position(node))] = assembly.packing.coordinate(key, level);
        }
        Ok(Indices::of(&coordinates, extent))
    }

    fn present(&mut self) -> Result<Indices, StorageError> {
        let what = format!("the bits of {}", self.assembly.describe(self.level));
        let count = self.nodes().positions;
        self.left.take(&what, count, 1)?;
        let mut present: Vec<u8> = zeroed(&what, count)?;
        let nodes = self.nodes();
        for node in 0..nodes.len() {
            present[at(nodes.position(node))] = 1;
        }
        Ok(Indices::U8(present))
    }
}

/// Positions are below the length of an array that was allocated.
#[allow(clippy::cast_possible_truncation)]
fn at(position: u64) -> usize {
    position as usize
}

fn fill<I: Copy>(
    positions: &mut [I],
    parents: &Nodes,
    children: &Nodes,
    index: impl Fn(usize) -> I,
) {
    let mut next = 1;
    let mut end = 0;
    parents.each(children, |parent, children_of| {
        // Positions without a node have no children.
        positions[next..=at(parent)].fill(index(end));
        next = at(parent) + 1;
        end = children_of.end;
    });
    positions[next..].fill(index(end));
}

/// What is left of the memory that may be used.
pub(super) struct Left(pub(super) u64);

impl Left {
    pub(super) fn take(&mut self, what: &str, count: u64, width: u64) -> Result<(), StorageError> {
        let bytes = count.checked_mul(width);
        match bytes.and_then(|bytes| self.0.checked_sub(bytes)) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => Err(StorageError::Memory {
                what: what.into(),
                bytes: u128::from(count) * u128::from(width),
            }),
        }
    }
}
