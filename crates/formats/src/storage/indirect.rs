//! The values of functions that are computed from entries, for each entry of a tensor that is built.

use super::Entries;
use super::number::real;
use crate::format::indirect::Direction;
use crate::format::{Aggregate, Indirect, LevelExpr};

/// The values of one function, by entry. No element has several entries.
pub(super) fn values(function: &Indirect, entries: &Entries) -> Vec<u64> {
    match function {
        Indirect::Enumerate { group, along } => enumerated(entries, group, along),
        Indirect::Balance { rows, buckets, order } => {
            let rows = Rows::new(entries, rows);
            let buckets = rows.scheduled(buckets.unsigned_abs(), *order);
            rows.of.iter().map(|row| buckets[*row]).collect()
        }
        Indirect::Reorder { rows, by, direction, window } => {
            let rows = Rows::new(entries, rows);
            let asked = rows.asked(entries, *by);
            let window =
                window.map_or(usize::MAX, |window| usize::try_from(window).unwrap_or(usize::MAX));
            let places = sorted(&asked, *direction, window);
            rows.of.iter().map(|row| places[*row]).collect()
        }
    }
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
struct Rows {
    count: usize,
    /// The row of each entry.
    of: Vec<usize>,
}

impl Rows {
    fn new(entries: &Entries, rows: &LevelExpr) -> Rows {
        let shape = entries.shape();
        let (low, high) = rows.range(&|dimension: usize| i128::from(shape[dimension]) - 1);
        let number = |number: i128| usize::try_from(number).unwrap_or_default();
        let of =
            (0..entries.len()).map(|entry| number(value(entries, entry, rows) - low)).collect();
        Rows { count: number(high - low + 1), of }
    }

    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.count];
        self.of.iter().for_each(|row| counts[*row] += 1);
        counts
    }

    /// The bucket of each row.
    fn scheduled(&self, buckets: u64, order: Option<Direction>) -> Vec<u64> {
        let counts = self.counts();
        let mut rows: Vec<usize> = (0..self.count).collect();
        match order {
            None => {}
            Some(Direction::Ascending) => rows.sort_by_key(|row| counts[*row]),
            Some(Direction::Descending) => rows.sort_by_key(|row| std::cmp::Reverse(counts[*row])),
        }
        // More buckets than rows stay empty.
        let used = buckets.min(self.count as u64);
        let free = (0..used).map(|bucket| std::cmp::Reverse((0u64, bucket)));
        let mut free: std::collections::BinaryHeap<_> = free.collect();
        let mut found = vec![0; self.count];
        for row in rows {
            let Some(std::cmp::Reverse((load, bucket))) = free.pop() else { break };
            found[row] = bucket;
            free.push(std::cmp::Reverse((load + counts[row], bucket)));
        }
        found
    }

    /// What is asked of each row; of one without entries 0.
    fn asked(&self, entries: &Entries, by: Aggregate) -> Vec<f64> {
        if by == Aggregate::Count {
            return self.counts().into_iter().map(|count| count as f64).collect();
        }
        let mut all: Vec<Option<f64>> = vec![None; self.count];
        for (row, number) in self.of.iter().zip(entries.values().numbers()) {
            let number = real(number);
            let so_far = &mut all[*row];
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

/// The place of each row among `window` that follow each other, sorted.
fn sorted(asked: &[f64], direction: Direction, window: usize) -> Vec<u64> {
    let mut order: Vec<usize> = (0..asked.len()).collect();
    for rows in order.chunks_mut(window.max(1)) {
        rows.sort_by(|one, other| match direction {
            Direction::Ascending => asked[*one].total_cmp(&asked[*other]),
            Direction::Descending => asked[*other].total_cmp(&asked[*one]),
        });
    }
    let mut places = vec![0; asked.len()];
    for (place, row) in order.into_iter().enumerate() {
        places[row] = place as u64;
    }
    places
}
