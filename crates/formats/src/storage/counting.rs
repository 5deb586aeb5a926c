//! Entries into rows by counting, in time linear in entries and rows.
//!
//! A *row* here is a position of the dense levels. Entries of each row are counted, which says where the row begins,
//! and every entry goes to the next place of its row. Entries of a row keep their order, so it must be that of the
//! last level already. Each thread counts and moves a part of the entries, which has places of its own in each row.
//!
//! Where the result is larger than a cache, and entries that follow each other go to rows far from each other, that
//! would be a miss for each entry. So entries go to buckets of neighbouring rows first, as records that are written one
//! behind the other, and then each bucket is counted by itself, in a cache. Threads share both steps: the first one by
//! parts of the entries, the second one by buckets.

use std::ops::Range;

use rayon::prelude::*;

use super::StorageError;
use dastac_elements::{Element, Native, Shared, Storage};

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

/// The entries of a tensor: below each position of its levels but the last, a segment of coordinates.
pub(super) struct Entries<'a> {
    /// What the coordinates above say of row and column, by position.
    pub(super) above: Vec<[u32; 2]>,
    /// Where the segments begin; nothing if each is one coordinate.
    pub(super) positions: Option<&'a [u32]>,
    pub(super) coordinates: &'a [u32],
    /// What a coordinate adds to row and column.
    pub(super) step: [u32; 2],
    /// Whether rows follow from the coordinates alone.
    pub(super) flat: bool,
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
pub(super) struct Rows<'a, V> {
    /// Where each row ends.
    pub(super) ends: &'a mut [u32],
    pub(super) coordinates: &'a mut [u32],
    pub(super) values: &'a mut [V],
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
pub(super) struct Counting<'a> {
    pub(super) entries: &'a Entries<'a>,
    pub(super) rows: u32,
    pub(super) threads: usize,
    pub(super) near: Near,
}

impl Counting<'_> {
    pub(super) fn fill<V: Native>(
        &self,
        values: &[V],
        to: Rows<'_, V>,
    ) -> Result<(), StorageError> {
        let bytes = to.ends.len() * 4 + values.len() * (size_of::<V>() + 4);
        match bytes > self.near.result && self.entries.are_scattered(self.near.rows) {
            true if size_of::<V>() <= 8 => self.in_buckets::<V, 2>(values, to)?,
            true => self.in_buckets::<V, 3>(values, to)?,
            false if self.in_parts() => self.by_parts(values, to),
            false => self.at_once(values, to),
        }
        Ok(())
    }

    /// Without buckets, on one thread.
    fn at_once<V: Native>(&self, values: &[V], mut to: Rows<'_, V>) {
        to.ends.fill(0);
        let all = 0..self.entries.above.len();
        self.entries.rows(all.clone(), |row| to.ends[row as usize] += 1);
        to.begin(0);
        self.entries.each(all, values, |row, column, value| to.put((row, 0), column, value));
    }

    /// Whether threads can have counts of their own, which must not be many more than there are entries.
    fn in_parts(&self) -> bool {
        self.threads > 1 && self.rows as usize * self.threads <= 4 * self.entries.coordinates.len()
    }

    /// Without buckets, each thread with a part of the entries.
    fn by_parts<V: Native>(&self, values: &[V], to: Rows<'_, V>) {
        let parts = self.entries.parts(self.threads);
        let count = |part: &Range<usize>| {
            let mut counts = vec![0u32; self.rows as usize];
            self.entries.rows(part.clone(), |row| counts[row as usize] += 1);
            counts
        };
        let mut counts: Vec<Vec<u32>> = parts.par_iter().with_max_len(1).map(count).collect();
        // From how many entries each part has in a row to where they begin.
        let mut sum = 0;
        for (row, end) in to.ends.iter_mut().enumerate() {
            for counts in &mut counts {
                (counts[row], sum) = (sum, sum + counts[row]);
            }
            *end = sum;
        }
        let (coordinates, moved) = (Shared::of(to.coordinates), Shared::of(to.values));
        parts.par_iter().with_max_len(1).zip(counts).for_each(|(part, mut next)| {
            self.entries.each(part.clone(), values, |row, column, value| {
                let place = &mut next[row as usize];
                coordinates.set(*place as usize, column);
                moved.set(*place as usize, value);
                *place += 1;
            });
        });
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
        to.ends.fill(0);
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
