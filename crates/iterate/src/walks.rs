//! What the loops of a kernel go over, for those who count how often they run.

use std::collections::{BTreeMap, BTreeSet};

use dastac_loops::{BufferId, VarId};

/// What loops go over, by their variables; a walk's variable is the one of its coordinates, and of its cursors'
/// positions.
pub type Walks = BTreeMap<VarId, Walk>;

/// What a loop goes over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The iterator whose values it finds; nothing where it looks for one value.
    pub iterator: Option<usize>,
    /// Iterators of loops around it that became one with it, ascending.
    pub joined: BTreeSet<usize>,
    /// Which values.
    pub over: Over,
    /// The operands whose levels say so, ascending.
    pub operands: BTreeSet<usize>,
}

/// Which values of an iterator a loop finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Over {
    /// The position of one coordinate.
    Search,
    /// Those at which something is stored.
    Elements,
    /// Those at which something within reach is stored: non-empty subsections (sparse convolutions, section 3.1).
    Subsections,
    /// All of a range.
    Range,
}

/// The work of a loop on a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Points come into a container: places are looked at for a key.
    Insertion,
    /// Equal points are joined and merged with those that were there before.
    Contraction,
    /// Points are put into the order of their keys.
    Sort,
    /// What was touched is looked for, or appended to the result.
    Scan,
}

/// What loops that store to a workspace do; where they store to several of its buffers, the first one says it.
pub type Works = Vec<(BufferId, Work)>;

impl Walk {
    /// A walk over levels of some operands.
    pub fn new(
        iterator: Option<usize>,
        over: Over,
        operands: impl IntoIterator<Item = usize>,
    ) -> Walk {
        let joined = BTreeSet::new();
        Walk { iterator, joined, over, operands: operands.into_iter().collect() }
    }

    /// The iterators whose values it finds.
    pub fn iterators(&self) -> impl Iterator<Item = usize> + '_ {
        self.joined.iter().copied().chain(self.iterator)
    }

    /// What a loop with several variables goes over: where one of them finds more values than another, so does the
    /// loop.
    pub fn join(self, other: &Walk) -> Walk {
        Walk {
            iterator: self.iterator.or(other.iterator),
            joined: &self.joined | &other.joined,
            over: self.over.max(other.over),
            operands: &self.operands | &other.operands,
        }
    }
}
