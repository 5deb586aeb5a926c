//! Sorting entries by key in linear time, in parallel: a stable radix sort, the lowest digit first.
//!
//! Each pass cuts the entries into one part for each thread, counts digits in every part, and hands every part the
//! places that its entries go to, digit by digit: slices that do not overlap, so the compiler sees that threads do not
//! meet.

use rayon::prelude::*;

use super::key::Key;
use dastac_elements::Word;

/// Fewer entries are sorted by comparing, in one thread.
const SMALL: usize = 1 << 12;

/// Digits of more bits would have more destinations than the first-level cache has lines.
const MAX_DIGIT: u32 = 10;

/// Sorts by the bits of the keys from `low` to `high`, keeping the order of those that are equal there.
pub fn sort<K: Key, W: Word>(records: Vec<(K, W)>, low: u32, high: u32) -> Vec<(K, W)> {
    if low >= high || is_sorted(&records, low) {
        return records;
    }
    let mut records = records;
    if records.len() <= SMALL {
        records.sort_by_key(|(key, _)| key.above(low));
        return records;
    }
    let passes = (high - low).div_ceil(MAX_DIGIT);
    let digit = (high - low).div_ceil(passes);
    let mut other = vec![(K::default(), W::default()); records.len()];
    for pass in 0..passes {
        let shift = low + pass * digit;
        scatter(&records, &mut other, shift, digit.min(high - shift));
        std::mem::swap(&mut records, &mut other);
    }
    records
}

/// A stable sort of so many items by one of so many slots: calls back with the place of each item, item by item.
pub fn by_slot(
    (items, slots): (usize, usize),
    slot: impl Fn(usize) -> usize,
    mut put: impl FnMut(usize, usize),
) {
    let mut begins = vec![0; slots];
    (0..items).for_each(|item| begins[slot(item)] += 1);
    let mut sum = 0;
    for begin in &mut begins {
        (*begin, sum) = (sum, sum + *begin);
    }
    for item in 0..items {
        let begin = &mut begins[slot(item)];
        put(*begin, item);
        *begin += 1;
    }
}

fn is_sorted<K: Key, W: Word>(records: &[(K, W)], low: u32) -> bool {
    let grows = |at: usize| records[at - 1].0.above(low) <= records[at].0.above(low);
    (1..records.len()).into_par_iter().with_min_len(SMALL).all(grows)
}

/// One pass: from one array to the other, by one digit.
fn scatter<K: Key, W: Word>(from: &[(K, W)], to: &mut [(K, W)], shift: u32, bits: u32) {
    let buckets = 1usize << bits;
    // At most `MAX_DIGIT` bits are left.
    #[allow(clippy::cast_possible_truncation)]
    let digit = |key: K| key.above(shift).low() as usize & (buckets - 1);
    let part = from.len().div_ceil(rayon::current_num_threads()).max(SMALL);
    let counts: Vec<Vec<usize>> = from
        .par_chunks(part)
        .map(|records| {
            let mut counts = vec![0; buckets];
            for (key, _) in records {
                counts[digit(*key)] += 1;
            }
            counts
        })
        .collect();
    let mut places: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(buckets)).collect();
    let mut rest = to;
    for bucket in 0..buckets {
        for (places, counts) in places.iter_mut().zip(&counts) {
            let (mine, others) = rest.split_at_mut(counts[bucket]);
            places.push(mine.iter_mut());
            rest = others;
        }
    }
    from.par_chunks(part).zip(places).for_each(|(records, mut places)| {
        for record in records {
            // As many places as were counted.
            if let Some(place) = places[digit(record.0)].next() {
                *place = *record;
            }
        }
    });
}
