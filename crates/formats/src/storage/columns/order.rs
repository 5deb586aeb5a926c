//! Orders of entries, as which one comes at each place.

use super::super::sort::{by_slot, sort};
use super::{collected, small};

/// How many positions may come on each entry where these are counted by position.
const SPARSE: usize = 4;

/// Whether entries are counted by position, given how many there are of both.
pub(super) fn is_counted(positions: u32, entries: usize) -> bool {
    positions as usize <= SPARSE * entries
}

/// Entries by position, each behind those of its position that come before it.
pub(super) fn by_position(above: &[u32], positions: u32) -> Vec<u32> {
    let mut order = vec![0; above.len()];
    let slot = |entry: usize| above[entry] as usize;
    by_slot((above.len(), positions as usize), slot, |place, entry| order[place] = small(entry));
    order
}

/// Entries by position and coordinate.
pub(super) fn by_coordinate((above, positions): (&[u32], u32), own: &[u32]) -> Vec<u32> {
    let key = |entry: usize| u64::from(above[entry]) << 32 | u64::from(own[entry]);
    let records = (0..own.len()).map(|entry| (key(entry), entry as u64)).collect();
    let records: Vec<(u64, u64)> = sort(records, 0, 64 - positions.leading_zeros());
    // Entries are fewer than 2^32.
    #[allow(clippy::cast_possible_truncation)]
    collected(own.len(), |at| records[at].1 as u32)
}
