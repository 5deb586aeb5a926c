//! Entries on their way to a level that stores coordinates.

use super::number::Level;
use super::order;
use super::walk::{Stored, Walk};

/// To a level that stores the coordinates that there are below each position; gives where these begin, and the end.
/// Entries may get another order.
pub(super) fn stored(walk: &mut Walk, level: &Stored) -> Vec<u32> {
    loop {
        if let Some(found) = (Level { walk, stored: level }).numbered() {
            walk.go(found.at, found.count);
            return found.begins;
        }
        let order = order::sorted(walk, level);
        walk.reorder(&order);
    }
}
