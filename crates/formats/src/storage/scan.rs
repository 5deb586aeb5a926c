//! Whole arrays of positions and coordinates, looked at without a branch for each number, so that processors take
//! many at once: tensors that callers lend are checked at each run. Which number does not fit is looked for only
//! where one does not.

use std::cmp::Ordering;
use std::ops::Range;

use rayon::prelude::*;

/// As many numbers are looked at at once.
const CHUNK: usize = 1 << 14;

/// So many tuples are looked at one after the other before all are.
const SOON: usize = 64;

/// Arrays of more chunks are looked at by several threads.
const PARALLEL: usize = 16;

/// How a number follows the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is less.
    Down,
    /// It is less, or the same.
    DownOrSame,
}

/// Positions or coordinates, wherever they stand.
pub(super) trait Numbers: Sync {
    /// How many.
    fn count(&self) -> usize;

    /// The number that stands there. Panics beyond the end, as slices do.
    fn number(&self, at: usize) -> u64;

    /// Whether all are below a limit.
    fn are_below(&self, limit: u64) -> bool;

    /// All of them, if they stand in 32 bits.
    fn as_narrow(&self) -> Option<&[u32]>;

    /// How many follow the one before them in this way.
    fn steps(&self, step: Step) -> usize;

    /// Bytes of one.
    fn width_of_one(&self) -> u64;
}

/// Numbers as they stand in memory. A negative one counts as very large.
pub(super) trait Word: Copy + Ord + Send + Sync {
    /// The largest number that is below a limit greater than 0, or the largest of the type.
    fn last_below(limit: u64) -> Self;

    /// Whether the number is negative, or above one that is not.
    fn is_above(self, last: Self) -> bool;

    /// Whether it is less than another one.
    fn is_less(self, other: Self) -> bool;
}

macro_rules! words {
    ($($word:ty as $unsigned:ty;)*) => {$(
        impl Word for $word {
            fn last_below(limit: u64) -> Self {
                Self::try_from(limit - 1).unwrap_or(Self::MAX)
            }

            fn is_above(self, last: Self) -> bool {
                self as $unsigned > last as $unsigned
            }

            fn is_less(self, other: Self) -> bool {
                (self as $unsigned) < other as $unsigned
            }
        }
    )*};
}

words! {
    u8 as u8;
    u16 as u16;
    u32 as u32;
    u64 as u64;
    i64 as u64;
}

/// The sum of what a function counts in ranges that cover `0..length`, each of at most [`CHUNK`] numbers: these are
/// counted in 32 bits, so that as many fit a vector as there are indices in it.
fn counted(length: usize, count: impl Fn(Range<usize>) -> u32 + Sync) -> usize {
    let in_chunk = |chunk: usize| count(chunk * CHUNK..length.min((chunk + 1) * CHUNK)) as usize;
    let chunks = length.div_ceil(CHUNK);
    if chunks <= PARALLEL {
        (0..chunks).map(in_chunk).sum()
    } else {
        (0..chunks).into_par_iter().map(in_chunk).sum()
    }
}

/// Whether all numbers are below a limit, and none is negative.
pub(super) fn are_below<W: Word>(all: &[W], limit: u64) -> bool {
    if limit == 0 {
        return all.is_empty();
    }
    let last = W::last_below(limit);
    let above =
        |range: Range<usize>| all[range].iter().map(|at| u32::from(at.is_above(last))).sum();
    counted(all.len(), above) == 0
}

/// How many numbers follow the one before them in this way.
pub(super) fn steps<W: Word>(all: &[W], step: Step) -> usize {
    if all.len() < 2 {
        return 0;
    }
    let pairs = |range: Range<usize>| {
        let (one, other) = (&all[range.start..range.end], &all[range.start + 1..=range.end]);
        let pairs = one.iter().zip(other);
        match step {
            Step::Down => pairs.map(|(one, other)| u32::from(other.is_less(*one))).sum::<u32>(),
            Step::DownOrSame => pairs.map(|(one, other)| u32::from(!one.is_less(*other))).sum(),
        }
    };
    counted(all.len() - 1, pairs)
}

/// Whether the tuples that stand side by side in some arrays of one length grow, none twice.
pub(super) fn grow_as_tuples(all: &[&[u32]]) -> bool {
    let length = all.first().map_or(0, |first| first.len());
    if length < 2 {
        return true;
    }
    match *all {
        [one] => steps(one, Step::DownOrSame) == 0,
        [one, other] => {
            let key = |at: usize| u64::from(one[at]) << 32 | u64::from(other[at]);
            let falls = |range: Range<usize>| -> u32 {
                // Slices of one length, so that no bounds are tested in the loop.
                let (begin, end) = (range.start, range.end);
                let before = one[begin..end].iter().zip(&other[begin..end]);
                let after = one[begin + 1..=end].iter().zip(&other[begin + 1..=end]);
                let wide = |(high, low): (&u32, &u32)| u64::from(*high) << 32 | u64::from(*low);
                before.zip(after).map(|(one, other)| u32::from(wide(other) <= wide(one))).sum()
            };
            // Entries in any order fall soon.
            let soon = (1..length.min(SOON)).any(|at| key(at) <= key(at - 1));
            !soon && counted(length - 1, falls) == 0
        }
        _ => (1..length).all(|at| {
            let pairs = all.iter().map(|list| list[at - 1].cmp(&list[at]));
            pairs.into_iter().find(|order| order.is_ne()) == Some(Ordering::Less)
        }),
    }
}

/// Whether coordinates grow within each segment that begins at one of `positions`, which do not fall and lie within the
/// coordinates: no more of them step down than those that begin a segment.
pub(super) fn grow_in_segments<A: Numbers>(coordinates: &A, positions: &A, unique: bool) -> bool {
    let step = if unique { Step::DownOrSame } else { Step::Down };
    let all = coordinates.steps(step);
    if all == 0 {
        return true;
    }
    let (segments, length) = (positions.count().saturating_sub(1), coordinates.count());
    let begins = |range: Range<usize>| {
        let mut before = if range.start == 0 { 0 } else { positions.number(range.start) };
        let mut found = 0u32;
        for segment in range {
            let begin = positions.number(segment + 1);
            let at = usize::try_from(begin).unwrap_or(usize::MAX);
            if begin != before && at < length {
                let (one, other) = (coordinates.number(at - 1), coordinates.number(at));
                found += u32::from(if unique { other <= one } else { other < one });
            }
            before = begin;
        }
        found
    };
    counted(segments, begins) == all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Indices;

    /// Arrays of all small numbers, among them wrong ones, are judged as one number after the other is.
    #[test]
    fn scans_agree_with_their_definitions() {
        let mut state = 7u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for case in 0..2000u64 {
            let length = if case == 0 { (PARALLEL + 3) * CHUNK + 5 } else { draw(9) as usize };
            let numbers: Vec<u64> = (0..length).map(|_| draw(5)).collect();
            let mut positions: Vec<u64> = (0..draw(4)).map(|_| draw(length as u64 + 1)).collect();
            positions.extend([0, length as u64]);
            positions.sort_unstable();
            let narrow = Indices::U32(numbers.iter().map(|at| *at as u32).collect());
            let wide = Indices::U64(numbers.clone());
            let limit = draw(6);
            for all in [&narrow, &wide] {
                assert_eq!(all.are_below(limit), numbers.iter().all(|at| *at < limit));
                let down = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
                assert_eq!(all.steps(Step::Down), down);
            }
            for unique in [false, true] {
                let grows = positions.windows(2).all(|ends| {
                    let own = &numbers[ends[0] as usize..ends[1] as usize];
                    own.windows(2).all(|pair| pair[0] < pair[1] || (!unique && pair[0] == pair[1]))
                });
                let positions = Indices::U64(positions.clone());
                assert_eq!(
                    grow_in_segments(&wide, &positions, unique),
                    grows,
                    "{numbers:?} {positions:?}"
                );
            }
        }
        assert!(!are_below(&[1i64, -1], 5) && are_below(&[1i64, 4], 5));
        assert!(are_below::<u32>(&[u32::MAX], u64::MAX) && are_below::<u32>(&[], 0));
    }
}
