//! An order of entries in which those of each position stand side by side, with their coordinates ascending.

use super::super::sort::sort;
use super::walk::{Stored, Walk};
use super::{collected, small};
use crate::format::column::BLOCK;

/// How many positions may come on each entry where these are counted by position.
const SPARSE: usize = 4;

/// Which entry comes at each place, where entries do not have positions of their own. Those of each position come in
/// the order that they had, if positions did not ascend; else in that of their coordinates.
pub(super) fn sorted(walk: &Walk, level: &Stored) -> Vec<u32> {
    let count = walk.columns.count;
    let mut above = vec![0u32; count];
    for (block, to) in above.chunks_mut(BLOCK).enumerate() {
        walk.block(block * BLOCK, to);
    }
    if walk.positions as usize <= SPARSE * count && !above.is_sorted() {
        return counted(&above, walk.positions);
    }
    let own = level.all(&walk.columns);
    let key = |entry: usize| u64::from(above[entry]) << 32 | u64::from(own[entry]);
    let records = (0..count).map(|entry| (key(entry), entry as u64)).collect();
    let records: Vec<(u64, u64)> = sort(records, 0, 64 - walk.positions.leading_zeros());
    // Entries are fewer than 2^32.
    #[allow(clippy::cast_possible_truncation)]
    collected(count, |at| records[at].1 as u32)
}

/// Entries by position, each behind those of its position that come before it.
fn counted(above: &[u32], positions: u32) -> Vec<u32> {
    let mut ends = vec![0u32; positions as usize];
    let mut sum = 0;
    above.iter().for_each(|at| ends[*at as usize] += 1);
    for end in &mut ends {
        (*end, sum) = (sum, sum + *end);
    }
    let mut order = vec![0; above.len()];
    for (entry, at) in above.iter().enumerate() {
        let end = &mut ends[*at as usize];
        order[*end as usize] = small(entry);
        *end += 1;
    }
    order
}
