//! Entries on their way to a level that stores coordinates.

use super::number::{Level, Numbered};
use super::order;
use super::walk::{Stored, Walk};

/// To a level that stores the coordinates that there are below each position; gives where these begin, and the end.
/// Entries may get another order.
pub(super) fn stored(walk: &mut Walk, level: &Stored) -> Vec<u32> {
    let Numbered { at, count, begins } = numbered(walk, level);
    walk.go(at, count);
    begins
}

fn numbered(walk: &mut Walk, stored: &Stored) -> Numbered {
    let (tables, count) = (walk.tables, walk.columns.count);
    loop {
        let level = Level { walk, stored };
        if let Some(found) = level.in_runs() {
            return found;
        }
        if order::is_counted(walk.positions, count)
            && let Some(found) = level.in_turns()
        {
            return found;
        }
        let slots = u64::from(walk.positions).saturating_mul(stored.extent);
        if slots <= tables.of_all(count) {
            return level.in_table(usize::try_from(slots).unwrap_or_default());
        }
        let above = walk.all();
        let order = match above.is_sorted() {
            true if stored.extent <= tables.of_one(count) => return level.in_groups(&above),
            // Entries of each position keep their order, which may be that of their coordinates.
            false if order::is_counted(walk.positions, count) => {
                order::by_position(&above, walk.positions)
            }
            _ => order::by_coordinate((&above, walk.positions), &stored.all(&walk.columns)),
        };
        walk.reorder(&order);
    }
}
