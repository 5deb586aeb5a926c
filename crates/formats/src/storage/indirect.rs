//! The values of functions that are computed from entries, for each entry of a tensor that is built.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::build::Left;
use super::index::Index;
use super::number::real;
use super::sort::by_slot;
use super::walk::place;
use super::{Entries, StorageError};
use crate::format::indirect::Direction;
use crate::format::{Aggregate, Indirect, LevelExpr};
use dastac_elements::Number;

/// Counts up to so many times as many as there are rows are sorted by counting.
const SPARSE: u64 = 4;

/// What is known of a row while rows are sorted or given to buckets, in numbers of 64 bits.
const OF_ROW: u64 = 4;

/// The values of one function, by entry. No element has several entries.
///
/// # Errors
/// Rows that do not fit into `memory`.
pub(super) fn values(
    function: &Indirect,
    entries: &Entries,
    memory: u64,
) -> Result<Vec<u64>, StorageError> {
    Ok(match function {
        Indirect::Enumerate { group, along } => enumerated(entries, group, along),
        Indirect::Balance { rows, buckets, order } => {
            let rows = Rows::new(entries, rows, memory)?;
            let buckets = rows.scheduled(buckets.unsigned_abs(), *order);
            rows.of.iter().map(|row| buckets[place(*row)]).collect()
        }
        Indirect::Reorder { rows, by, direction, window } => {
            let rows = Rows::new(entries, rows, memory)?;
            let all = entries.values();
            let number =
                |entry: usize| all.get(entry).map_or(Number::Integer(0), |value| value.number());
            let places = rows.sorted(&number, *by, *direction, *window);
            rows.of.iter().map(|row| places[place(*row)]).collect()
        }
    })
}

/// The value of an expression of an entry.
fn value(entries: &Entries, entry: usize, expr: &LevelExpr) -> i128 {
    let coordinates = entries.at(entry);
    match expr.as_dimension() {
        Some(dimension) => coordinates[dimension].into(),
        None => expr.value(&|dimension| coordinates[dimension].into()),
    }
}

/// The number of each entry's value among the different ones of its group, in ascending order.
fn enumerated(entries: &Entries, group: &[LevelExpr], along: &LevelExpr) -> Vec<u64> {
    let width = group.len() + 1;
    let exprs = || group.iter().chain([along]);
    let keys =
        (0..entries.len()).flat_map(|entry| exprs().map(move |expr| value(entries, entry, expr)));
    let keys: Vec<i128> = keys.collect();
    let key = |entry: usize| &keys[entry * width..][..width];
    let mut order: Vec<usize> = (0..entries.len()).collect();
    if !order.is_sorted_by(|one, other| key(*one) <= key(*other)) {
        order.sort_by(|one, other| key(*one).cmp(key(*other)));
    }
    let mut numbers = vec![0; entries.len()];
    for pair in order.windows(2) {
        let (before, own) = (key(pair[0]), key(pair[1]));
        numbers[pair[1]] = match before[..width - 1] == own[..width - 1] {
            true => numbers[pair[0]] + u64::from(before != own),
            false => 0,
        };
    }
    numbers
}

/// The rows of entries: all values of an expression in the tensor's box, from the smallest on.
pub(super) struct Rows<I> {
    pub(super) count: usize,
    /// The row of each entry.
    pub(super) of: Vec<I>,
}

impl Rows<u64> {
    fn new(entries: &Entries, rows: &LevelExpr, memory: u64) -> Result<Rows<u64>, StorageError> {
        let shape = entries.shape();
        let (low, high) = rows.range(&|dimension: usize| i128::from(shape[dimension]) - 1);
        let number = |number: i128| u64::try_from(number).unwrap_or_default();
        let count = number(high - low + 1);
        rows_fit(count, memory)?;
        let of =
            (0..entries.len()).map(|entry| number(value(entries, entry, rows) - low)).collect();
        Ok(Rows { count: place(count), of })
    }
}

/// Whether there is memory for what is known of so many rows.
///
/// # Errors
/// There is not.
pub(super) fn rows_fit(count: u64, memory: u64) -> Result<(), StorageError> {
    Left(memory).take("the rows that the format sorts", count.saturating_mul(OF_ROW), 8)
}

impl<I: Index> Rows<I> {
    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.count];
        self.of.iter().for_each(|row| counts[place(row.widen())] += 1);
        counts
    }

    /// The bucket of each row.
    pub(super) fn scheduled(&self, buckets: u64, order: Option<Direction>) -> Vec<u64> {
        let counts = self.counts();
        let rows = match order {
            None => (0..self.count).collect(),
            Some(direction) => in_order_of(&counts, direction, self.count),
        };
        // More buckets than rows stay empty.
        let used = buckets.min(self.count as u64);
        let free = (0..used).map(|bucket| Reverse((0u64, bucket)));
        let mut free: BinaryHeap<_> = free.collect();
        let mut found = vec![0; self.count];
        for row in rows {
            let Some(mut first) = free.peek_mut() else { break };
            let Reverse((load, bucket)) = *first;
            found[row] = bucket;
            *first = Reverse((load + counts[row], bucket));
        }
        found
    }

    /// The place of each row where those among `window` that follow each other are sorted by a query.
    pub(super) fn sorted(
        &self,
        value: &dyn Fn(usize) -> Number,
        by: Aggregate,
        direction: Direction,
        window: Option<i64>,
    ) -> Vec<u64> {
        let window = window.map_or(usize::MAX, |window| place(window.unsigned_abs()));
        let order = match by {
            Aggregate::Count => in_order_of(&self.counts(), direction, window),
            _ => in_order(&self.asked(value, by), direction, window),
        };
        let mut places = vec![0; self.count];
        for (place, row) in order.into_iter().enumerate() {
            places[row] = place as u64;
        }
        places
    }

    /// What is asked of the values of each row's entries; of one without entries 0.
    fn asked(&self, value: &dyn Fn(usize) -> Number, by: Aggregate) -> Vec<f64> {
        let mut all: Vec<Option<f64>> = vec![None; self.count];
        for (entry, row) in self.of.iter().enumerate() {
            let number = real(value(entry));
            let so_far = &mut all[place(row.widen())];
            *so_far = Some(match (*so_far, by) {
                (before, Aggregate::Any) => {
                    f64::from(u8::from(number != 0.0)).max(before.unwrap_or(0.0))
                }
                (None, _) => number,
                (Some(before), Aggregate::Max) => before.max(number),
                (Some(before), Aggregate::Min) => before.min(number),
                (Some(before), Aggregate::Sum | Aggregate::Count) => before + number,
            });
        }
        all.into_iter().map(|one| one.unwrap_or(0.0)).collect()
    }
}

/// All rows, those among `window` that follow each other sorted by numbers; of equals the first comes first.
fn in_order(asked: &[f64], direction: Direction, window: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..asked.len()).collect();
    for rows in order.chunks_mut(window.max(1)) {
        rows.sort_by(|one, other| match direction {
            Direction::Ascending => asked[*one].total_cmp(&asked[*other]),
            Direction::Descending => asked[*other].total_cmp(&asked[*one]),
        });
    }
    order
}

/// The same by counts, which are counted in turn where they are not many more than rows.
fn in_order_of(counts: &[u64], direction: Direction, window: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    for (rows, counts) in order.chunks_mut(window.max(1)).zip(counts.chunks(window.max(1))) {
        let most = counts.iter().copied().max().unwrap_or(0);
        let slot = |count: u64| match direction {
            Direction::Ascending => place(count),
            Direction::Descending => place(most - count),
        };
        let first = rows[0];
        if most > SPARSE * counts.len() as u64 {
            rows.sort_by_key(|row| slot(counts[row - first]));
            continue;
        }
        let slots = (counts.len(), place(most) + 1);
        by_slot(slots, |row| slot(counts[row]), |place, row| rows[place] = first + row);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_sorted_as_numbers_are() {
        for seed in 0..200u64 {
            let digit = |at: u64| (seed * 31 + at * at * 7 + at * seed) % (1 + seed % 9);
            let wide = u64::from(seed % 3 == 0) * 1000;
            let counts: Vec<u64> = (0..seed % 23).map(|at| digit(at) * (1 + wide)).collect();
            let numbers: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
            for direction in Direction::ALL {
                for window in [1, 2, 5, usize::MAX] {
                    let wanted = in_order(&numbers, direction, window);
                    assert_eq!(in_order_of(&counts, direction, window), wanted, "{counts:?}");
                }
            }
        }
    }
}
