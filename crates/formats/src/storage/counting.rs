//! Conversions by counting, in time linear in entries and extents: to dense levels with one compressed level below
//! them (`csr`, `csc`), or to two compressed ones, from any order of coordinates.
//!
//! A *row* here is a position of the dense levels. Entries of each row are counted, which says where the row begins,
//! and every entry goes to the next place of its row. Entries of a row keep their order, so it must be that of the
//! last level already.
//!
//! Where the result is larger than a cache, and entries that follow each other go to rows far from each other, that
//! would be a miss for each entry. So entries go to buckets of neighbouring rows first, as records that are written one
//! behind the other, and then each bucket is counted by itself, in a cache. Threads share both steps: the first one by
//! parts of the entries, the second one by buckets.

use std::ops::Range;

use rayon::prelude::*;

use super::build::{Build, Left, zeroed};
use super::key::Packing;
use super::{Indices, LevelData, StorageError, Tensor};
use crate::format::Format;
use crate::level::Role;
use dastac_elements::{Element, Native, Storage, with_type};

/// What is near.
#[derive(Clone, Copy)]
pub(super) struct Near {
    /// Bytes of the records of a bucket: what is near in a cache of the second level.
    pub(super) bucket: usize,
    /// Bytes of a result without buckets: about what the last cache has.
    pub(super) result: usize,
    /// Rows in groups of so many: a line of positions.
    pub(super) rows: u32,
}

impl Default for Near {
    fn default() -> Near {
        Near { bucket: 1 << 18, result: 1 << 24, rows: 16 }
    }
}

/// So many samples of so many entries that follow each other tell whether these go to rows that are near each other.
const SAMPLE: usize = 48;

/// More buckets would have more destinations than the first cache has lines.
const MOST_BUCKETS: usize = 1 << 9;

/// Rows are counted by so many bins, of which buckets of about the same number of entries are made.
const BINS: u32 = 1 << 12;

/// How many rows without entries may come on each entry, where rows without entries are left out afterwards.
const SPARSE: u64 = 4;

/// The entries of a tensor: below each position of its levels but the last, a segment of coordinates.
struct Entries<'a> {
    /// What the coordinates above say of row and column, by position.
    above: Vec<[u32; 2]>,
    /// Where the segments begin; nothing if each is one coordinate.
    positions: Option<&'a [u32]>,
    coordinates: &'a [u32],
    /// What a coordinate adds to row and column.
    step: [u32; 2],
    /// Whether rows follow from the coordinates alone.
    flat: bool,
}

impl Entries<'_> {
    fn segment(&self, position: usize) -> Range<usize> {
        match self.positions {
            Some(positions) => positions[position] as usize..positions[position + 1] as usize,
            None => position..position + 1,
        }
    }

    /// Positions in parts that have about the same number of entries.
    fn parts(&self, count: usize) -> Vec<Range<usize>> {
        let (above, entries) = (self.above.len(), self.coordinates.len());
        let cut = |part: usize| if part == count { above } else { self.at(part * entries / count) };
        (0..count).map(|part| cut(part)..cut(part + 1)).collect()
    }

    /// The first position that begins with this entry or one behind it.
    fn at(&self, entry: usize) -> usize {
        match self.positions {
            Some(all) => all[..self.above.len()].partition_point(|at| (*at as usize) < entry),
            None => entry,
        }
    }

    /// Whether most entries go to rows far from those of the entries around them.
    fn are_scattered(&self, near: u32) -> bool {
        let entries = self.coordinates.len();
        let (mut all, mut apart) = (0, 0);
        for number in 0..SAMPLE.min(entries) {
            let mut groups = Vec::with_capacity(SAMPLE);
            for position in self.at(number * (entries / SAMPLE))..self.above.len() {
                let [row, _] = self.above[position];
                let segment = self.coordinates[self.segment(position)].iter();
                let room = SAMPLE - groups.len();
                groups.extend(segment.take(room).map(|at| (row + at * self.step[0]) / near));
                if groups.len() == SAMPLE {
                    break;
                }
            }
            all += groups.len();
            groups.sort_unstable();
            groups.dedup();
            apart += groups.len();
        }
        2 * apart > all
    }

    /// Calls back with row, column and value of the entries below some positions, in their order.
    fn each<V: Copy>(
        &self,
        positions: Range<usize>,
        values: &[V],
        mut call: impl FnMut(u32, u32, V),
    ) {
        for position in positions {
            let ([row, column], segment) = (self.above[position], self.segment(position));
            for (at, value) in self.coordinates[segment.clone()].iter().zip(&values[segment]) {
                call(row + at * self.step[0], column + at * self.step[1], *value);
            }
        }
    }

    /// Calls back with the rows of these.
    fn rows(&self, positions: Range<usize>, mut call: impl FnMut(u32)) {
        if self.flat && !positions.is_empty() {
            let begin = self.segment(positions.start).start;
            for at in &self.coordinates[begin..self.segment(positions.end - 1).end] {
                call(at * self.step[0]);
            }
            return;
        }
        for position in positions {
            let [row, _] = self.above[position];
            for at in &self.coordinates[self.segment(position)] {
                call(row + at * self.step[0]);
            }
        }
    }
}

/// Where entries go.
struct Rows<'a, V> {
    /// Where each row ends.
    ends: &'a mut [u32],
    coordinates: &'a mut [u32],
    values: &'a mut [V],
}

impl<'a, V: Copy> Rows<'a, V> {
    /// From how many entries rows have to where they begin, given how many are before all of them.
    fn begin(&mut self, before: u32) {
        let mut sum = before;
        for end in &mut *self.ends {
            (*end, sum) = (sum, sum + *end);
        }
    }

    /// Puts an entry behind the others of its row.
    fn put(&mut self, (row, before): (u32, u32), column: u32, value: V) {
        let end = &mut self.ends[row as usize];
        let at = (*end - before) as usize;
        *end += 1;
        (self.coordinates[at], self.values[at]) = (column, value);
    }

    fn split(self, (rows, entries): (usize, usize)) -> [Rows<'a, V>; 2] {
        let (ends, ends_behind) = self.ends.split_at_mut(rows);
        let (coordinates, coordinates_behind) = self.coordinates.split_at_mut(entries);
        let (values, values_behind) = self.values.split_at_mut(entries);
        let behind =
            Rows { ends: ends_behind, coordinates: coordinates_behind, values: values_behind };
        [Rows { ends, coordinates, values }, behind]
    }
}

/// Neighbouring rows.
struct Bucket {
    rows: Range<u32>,
    /// How many entries each part of the entries has there.
    counts: Vec<u32>,
}

impl Bucket {
    fn entries(&self) -> usize {
        self.counts.iter().map(|count| *count as usize).sum()
    }
}

/// What is done, in one of two ways.
struct Counting<'a> {
    entries: &'a Entries<'a>,
    rows: u32,
    threads: usize,
    near: Near,
}

impl Counting<'_> {
    fn fill<V: Native>(&self, values: &[V], to: Rows<'_, V>) -> Result<(), StorageError> {
        let bytes = to.ends.len() * 4 + values.len() * (size_of::<V>() + 4);
        match bytes > self.near.result && self.entries.are_scattered(self.near.rows) {
            true if size_of::<V>() <= 8 => self.in_buckets::<V, 2>(values, to)?,
            true => self.in_buckets::<V, 3>(values, to)?,
            false => self.at_once(values, to)?,
        }
        Ok(())
    }

    /// Without buckets. Indices stand in memory with huge pages first, because they are written far from each other.
    fn at_once<V: Native>(&self, values: &[V], to: Rows<'_, V>) -> Result<(), StorageError> {
        let (rows, entries) = (to.ends.len(), to.coordinates.len());
        let mut memory = scratch(Element::U32, rows + entries)?;
        let Some(indices) = memory.as_mut_slice::<u32>() else { return Ok(()) };
        let (ends, coordinates) = indices.split_at_mut(rows);
        let mut near = Rows { ends, coordinates, values: to.values };
        let all = 0..self.entries.above.len();
        self.entries.rows(all.clone(), |row| near.ends[row as usize] += 1);
        near.begin(0);
        self.entries.each(all, values, |row, column, value| near.put((row, 0), column, value));
        to.ends.copy_from_slice(near.ends);
        to.coordinates.copy_from_slice(near.coordinates);
        Ok(())
    }

    /// Buckets of about the same number of entries, in parts.
    fn buckets(&self, parts: &[Range<usize>], wanted: usize) -> (Vec<Bucket>, Vec<u16>, u32) {
        let shift = (32 - BINS.ilog2()).saturating_sub(self.rows.leading_zeros());
        let bins = self.rows.div_ceil(1 << shift) as usize;
        let count = |part: &Range<usize>| {
            let mut counts = vec![0u32; bins];
            self.entries.rows(part.clone(), |row| counts[(row >> shift) as usize] += 1);
            counts
        };
        let counts: Vec<Vec<u32>> = parts.par_iter().map(count).collect();
        let most = self.entries.coordinates.len().div_ceil(wanted);
        let (mut buckets, mut of_bin): (Vec<Bucket>, Vec<u16>) = (Vec::new(), Vec::new());
        for bin in 0..bins {
            let own: Vec<u32> = counts.iter().map(|counts| counts[bin]).collect();
            let count: usize = own.iter().map(|count| *count as usize).sum();
            let first = (bin as u32) << shift;
            let end = first.saturating_add(1 << shift).min(self.rows);
            match buckets.last_mut() {
                Some(last) if last.entries() + count <= most => {
                    last.rows.end = end;
                    last.counts.iter_mut().zip(own).for_each(|(count, own)| *count += own);
                }
                _ => buckets.push(Bucket { rows: first..end, counts: own }),
            }
            of_bin.push(u16::try_from(buckets.len() - 1).unwrap_or_default());
        }
        (buckets, of_bin, shift)
    }

    fn in_buckets<V: Native, const N: usize>(
        &self,
        values: &[V],
        to: Rows<'_, V>,
    ) -> Result<(), StorageError> {
        let entries = self.entries.coordinates.len();
        let wanted = (entries * 8 * N).div_ceil(self.near.bucket).clamp(self.threads, MOST_BUCKETS);
        let parts = self.entries.parts(self.threads);
        let (buckets, of_bin, shift) = self.buckets(&parts, wanted);
        let mut memory = scratch(Element::I64, entries * N)?;
        let Some(words) = memory.as_mut_slice::<i64>() else { return Ok(()) };
        let (records, _) = words.as_chunks_mut::<N>();
        self.scatter(values, &buckets, (&parts, &of_bin, shift), records);
        let mut rest = (to, &records[..], 0);
        let mut work = Vec::new();
        for bucket in &buckets {
            let (to, records, before) = rest;
            let (rows, count) = ((bucket.rows.end - bucket.rows.start) as usize, bucket.entries());
            let ([own, others], (mine, behind)) =
                (to.split((rows, count)), records.split_at(count));
            work.push((own, mine, bucket.rows.start, before));
            // Fewer than 2^32 entries.
            #[allow(clippy::cast_possible_truncation)]
            let next = before + count as u32;
            rest = (others, behind, next);
        }
        work.into_par_iter().with_max_len(1).for_each(|(mut own, records, first, before)| {
            let row = |record: &[i64; N]| row(record) - first;
            for record in records {
                own.ends[row(record) as usize] += 1;
            }
            own.begin(before);
            for record in records {
                own.put((row(record), before), column(record), value(record));
            }
        });
        Ok(())
    }

    fn scatter<V: Native, const N: usize>(
        &self,
        values: &[V],
        buckets: &[Bucket],
        (parts, of_bin, shift): (&[Range<usize>], &[u16], u32),
        records: &mut [[i64; N]],
    ) {
        let mut places: Vec<Vec<_>> = parts.iter().map(|_| Vec::new()).collect();
        let mut rest = records;
        for bucket in buckets {
            for (places, count) in places.iter_mut().zip(&bucket.counts) {
                let (mine, others) = rest.split_at_mut(*count as usize);
                places.push(mine.iter_mut());
                rest = others;
            }
        }
        parts.par_iter().zip(places).for_each(|(part, mut places)| {
            self.entries.each(part.clone(), values, |row, column, value| {
                let bucket = of_bin[(row >> shift) as usize];
                // As many places as were counted.
                if let Some(place) = places[usize::from(bucket)].next() {
                    *place = record(row, column, value);
                }
            });
        });
    }
}

/// Memory for the time of a conversion.
fn scratch(element: Element, count: usize) -> Result<Storage, StorageError> {
    let what = "the entries of a conversion";
    Storage::zeroed(element, count)
        .map_err(|found| StorageError::Memory { what: what.into(), bytes: found.bytes as u128 })
}

/// Row, column and value, the value from its lowest bits on.
fn record<V: Native, const N: usize>(row: u32, column: u32, value: V) -> [i64; N] {
    let word = value.to_word();
    // The word is cut into 64 bits each.
    #[allow(clippy::cast_possible_truncation)]
    std::array::from_fn(|at| match at {
        0 => (u64::from(row) << 32 | u64::from(column)).cast_signed(),
        _ => (word >> (64 * (at - 1))) as i64,
    })
}

#[allow(clippy::cast_possible_truncation)]
fn row<const N: usize>(record: &[i64; N]) -> u32 {
    (record[0].cast_unsigned() >> 32) as u32
}

#[allow(clippy::cast_possible_truncation)]
fn column<const N: usize>(record: &[i64; N]) -> u32 {
    record[0] as u32
}

fn value<V: Native, const N: usize>(record: &[i64; N]) -> V {
    let high = record.get(2).map_or(0, |high| u128::from(high.cast_unsigned()) << 64);
    V::from_word(u128::from(record[1].cast_unsigned()) | high)
}

/// What the levels of a target are to this way of conversion.
struct Target {
    /// Positions of all levels but the last, as if they were dense.
    rows: u32,
    /// By level: what its coordinate adds to the row; of the last one, nothing.
    strides: Vec<u32>,
    /// Whether rows without entries are left out.
    squeezed: bool,
}

impl Target {
    fn new(format: &Format, packing: &Packing, entries: usize) -> Option<Target> {
        let (last, above) = format.levels().split_last()?;
        let squeezed = matches!(above, [one] if one.is_segmented());
        let dense = |level: &crate::level::Level| level.is_full() && level.kind.arrays().is_empty();
        if !last.is_segmented() || above.is_empty() || !(squeezed || above.iter().all(dense)) {
            return None;
        }
        let space = packing.space();
        u32::try_from(space.extent(above.len()).saturating_sub(1)).ok()?;
        let mut rows = 1u32;
        let mut strides = vec![0; above.len()];
        for level in (0..above.len()).rev() {
            strides[level] = rows;
            rows = rows.checked_mul(u32::try_from(space.extent(level)).ok()?)?;
        }
        let few = u64::from(rows) <= SPARSE * entries as u64;
        (!squeezed || few).then_some(Target { rows, strides, squeezed })
    }
}

impl Tensor {
    /// The same tensor in another format, if counting makes it: see the page.
    pub(super) fn counted(
        &self,
        (own, packing): (&Packing, &Packing),
        format: &Format,
        (build, near): (Build, Near),
    ) -> Result<Option<Tensor>, StorageError> {
        let Some(target) = Target::new(format, packing, self.values.len()) else { return Ok(None) };
        let (order, sorted) = (packing.space().order(), self.space.order());
        let (Some(order), Some(sorted)) = (order, sorted) else { return Ok(None) };
        let Some((last, above)) = self.format.levels().split_last() else { return Ok(None) };
        // Entries, each once, in an order that is one of the last level's in each row.
        let in_order = packing.lowest_unsorted(own) >= packing.shift(target.strides.len() - 1);
        let entries = self.is_sorted() && self.is_compact() && last.unique && in_order;
        if !entries || packing.bits > 64 || u32::try_from(self.values.len()).is_err() {
            return Ok(None);
        }
        let data = &self.levels[above.len()];
        let positions = match (last.kind.arrays(), data.positions()) {
            ([Role::Coordinates], None) => None,
            ([Role::Positions, Role::Coordinates], Some(Indices::U32(positions))) => {
                Some(&positions[..])
            }
            _ => return Ok(None),
        };
        let Some(Indices::U32(coordinates)) = data.coordinates() else { return Ok(None) };
        let place_of = |dimension: &usize| order.iter().position(|own| own == dimension);
        let step = match place_of(&sorted[above.len()]) {
            Some(level) if level < target.strides.len() => [target.strides[level], 0],
            _ => [0, 1],
        };
        let shifts = sorted[..above.len()].iter().map(|at| packing.shift_of(*at));
        let keys: Vec<u64> = self.keys(shifts)?.0;
        // Rows and columns have 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let above = keys.into_par_iter().map(|key| {
            let strides = target.strides.iter().enumerate();
            let of = |(at, stride)| packing.coordinate(key, at) as u32 * stride;
            [strides.map(of).sum(), packing.coordinate(key, target.strides.len()) as u32]
        });
        let above: Vec<[u32; 2]> = above.collect();
        let flat = above.iter().all(|[row, _]| *row == 0);
        let entries = Entries { above, positions, coordinates, step, flat };
        self.in_rows(&entries, &target, (packing, format), (build, near)).map(Some)
    }

    fn in_rows(
        &self,
        entries: &Entries<'_>,
        target: &Target,
        (packing, format): (&Packing, &Format),
        (build, near): (Build, Near),
    ) -> Result<Tensor, StorageError> {
        let count = self.values.len() as u64;
        let element = self.values.element();
        let rows = u64::from(target.rows);
        let mut left = Left(build.memory);
        left.take("the coordinates", count, 4)?;
        left.take("the positions", rows + 1, 4)?;
        left.take("the values", count, element.bytes() as u64)?;
        let mut ends: Vec<u32> = zeroed("the positions", rows + 1)?;
        let mut coordinates: Vec<u32> = zeroed("the coordinates", count)?;
        let no_memory = |_| {
            let bytes = u128::from(count) * element.bytes() as u128;
            StorageError::Memory { what: "the values".into(), bytes }
        };
        let mut values = Storage::zeroed(element, self.values.len()).map_err(no_memory)?;
        let threads = rayon::current_num_threads();
        let counting = Counting { entries, rows: target.rows, threads, near };
        with_type!(element, V => {
            if let Some(values) = values.as_mut_slice::<V>() {
                let to =
                    Rows { ends: &mut ends[1..], coordinates: &mut coordinates, values };
                counting.fill::<V>(self.values.typed::<V>(), to)?;
            }
        });
        let (shape, space) = (self.shape.clone(), packing.space().clone());
        let mut levels = Vec::new();
        if target.squeezed {
            levels.push(squeezed(&mut ends, format));
        }
        let dense = format.levels().len() - 1 - levels.len();
        levels.splice(
            0..0,
            format.levels()[..dense].iter().map(|level| LevelData::new(level.kind, Vec::new())),
        );
        let arrays = vec![Indices::U32(ends), Indices::U32(coordinates)];
        levels.push(LevelData::new(format.levels()[dense].kind, arrays));
        Ok(Tensor { shape, format: format.clone(), space, levels, values })
    }
}

/// Leaves out rows without entries; gives the level of those with some.
fn squeezed(ends: &mut Vec<u32>, format: &Format) -> LevelData {
    let mut rows = Vec::new();
    let mut kept = 0;
    for row in 1..ends.len() {
        if ends[row] > ends[kept] {
            kept += 1;
            ends[kept] = ends[row];
            // Fewer than 2^32 rows.
            #[allow(clippy::cast_possible_truncation)]
            rows.push((row - 1) as u32);
        }
    }
    ends.truncate(kept + 1);
    #[allow(clippy::cast_possible_truncation)]
    let positions = Indices::U32(vec![0, rows.len() as u32]);
    LevelData::new(format.levels()[0].kind, vec![positions, Indices::U32(rows)])
}
