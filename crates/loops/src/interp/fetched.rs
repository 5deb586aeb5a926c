//! Elements that lanes of a grid copy while they go on.

use std::collections::{BTreeMap, VecDeque};

use crate::ir::BufferId;

/// An element that is on its way: where it goes, and its value.
pub(super) type Copied = (BufferId, i64, f64);

/// What the lanes of a block have fetched and not waited for.
#[derive(Default)]
pub(super) struct Fetched {
    /// The lane that is executed.
    pub lane: i64,
    of_lanes: BTreeMap<i64, Groups>,
}

#[derive(Default)]
struct Groups {
    open: Vec<Copied>,
    closed: VecDeque<Vec<Copied>>,
}

impl Fetched {
    /// The lane begins to copy an element.
    pub fn begin(&mut self, copied: Copied) {
        self.of_lanes.entry(self.lane).or_default().open.push(copied);
    }

    /// What the lane began to copy is a group. Gives all that is there when no more than so many groups are on their
    /// way.
    pub fn arrive(&mut self, left: i64) -> Vec<Copied> {
        let groups = self.of_lanes.entry(self.lane).or_default();
        groups.closed.push_back(std::mem::take(&mut groups.open));
        let mut there = Vec::new();
        while groups.closed.len() as i64 > left {
            there.extend(groups.closed.pop_front().into_iter().flatten());
        }
        there
    }
}
