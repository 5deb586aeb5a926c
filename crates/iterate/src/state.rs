//! Where a product is on the way to its elements.

use std::collections::BTreeSet;

use dastac_loops::{BufferId, Condition, Index};

use super::kernel::Kernel;

/// A product on the way to its elements.
#[derive(Clone)]
pub(super) struct State {
    pub(super) product: usize,
    /// Of each factor, how far it is.
    pub(super) places: Vec<Place>,
    /// What holds where the coordinates that were located are stored, and is not tested yet.
    pub(super) untested: Vec<Condition>,
    /// What holds where these coordinates are within their levels' extents.
    pub(super) within: Vec<Condition>,
    /// The product's conditions that are known to hold.
    pub(super) tested: BTreeSet<usize>,
    /// Those of its absent elements that are known not to be stored.
    pub(super) absent: BTreeSet<usize>,
}

/// How far the way through a tensor's levels is gone.
#[derive(Clone)]
pub(super) struct Place {
    /// Levels that are behind.
    pub(super) level: usize,
    /// Where in the last of them.
    pub(super) at: At,
    /// Positions in the root and in each of these levels.
    pub(super) path: Vec<Index>,
    /// Of the next level, what loops around have reduced it to.
    pub(super) window: Option<Window>,
    /// Of levels that come later, what loops around have reduced them to.
    pub(super) window_starts: Vec<WindowStarts>,
}

/// Positions of a level.
#[derive(Clone)]
pub(super) enum At {
    /// One.
    Position(Index),
    /// Those of one coordinate, from the first to the second.
    Segment(Index, Index),
}

/// Positions that a window begins with on its side, and those behind it.
#[derive(Clone)]
pub(super) struct Window {
    pub(super) start: Index,
    pub(super) end: Index,
    /// The coordinate within reach that it begins with: the smallest, or the largest.
    pub(super) near: Index,
    /// Whether it begins with the last position.
    pub(super) reversed: bool,
}

/// First positions of windows on the segments of a level, in memory.
#[derive(Clone)]
pub(super) struct WindowStarts {
    /// The level.
    pub(super) level: usize,
    /// One for each segment.
    pub(super) starts: BufferId,
    /// The smallest coordinate within reach.
    pub(super) low: Index,
    /// What segments are numbered by, outermost first.
    pub(super) ancestors: Vec<Ancestor>,
}

/// A level above segments.
#[derive(Clone)]
pub(super) struct Ancestor {
    pub(super) level: usize,
    /// The place that has number 0.
    pub(super) origin: Origin,
    /// More than the largest number.
    pub(super) size: Index,
}

/// What places of a level are counted from.
#[derive(Clone)]
pub(super) enum Origin {
    /// A coordinate of a dense level.
    Coordinate(Index),
    /// A position.
    Position(Index),
    /// The first position behind the level before.
    First,
    /// The position at which a window begins, which stands in memory.
    Stored(WindowStarts),
}

impl State {
    /// A product in front of all levels.
    pub(super) fn new(kernel: &Kernel, product: usize) -> State {
        let root = Place {
            level: 0,
            at: At::Position(Index::Const(0)),
            path: vec![Index::Const(0)],
            window: None,
            window_starts: Vec::new(),
        };
        let places = kernel.products[product].factors.iter().map(|_| root.clone()).collect();
        State {
            product,
            places,
            untested: Vec::new(),
            within: Vec::new(),
            tested: BTreeSet::new(),
            absent: BTreeSet::new(),
        }
    }
}

impl Place {
    /// Goes one level down.
    pub(super) fn found(&mut self, at: At) {
        self.level += 1;
        self.window = None;
        match &at {
            At::Position(position) => self.path.push(position.clone()),
            // Below there is no window that could ask for it.
            At::Segment(start, _) => self.path.push(start.clone()),
        }
        self.at = at;
    }
}
