//! Indirect index functions: level coordinates that are computed from a tensor's entries when it is built (UniSparse,
//! section III-A).
//!
//! Each function of a map is one more dimension of the tensor: entry `(i, j)` of a tensor in `ell` has the coordinates
//! `(i, j, k)`, where `k` is its number among the entries of row `i`. Levels store these dimensions as they store all
//! others, so a kernel walks them as loops of their own. Since every entry has just one value of each function, a sum
//! over all of their values comes to each entry once.

use super::arithmetic::Arithmetic;
use super::expression::LevelExpr;
use super::query::Aggregate;

/// A function of a tensor's coordinates and entries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Indirect {
    /// `enumerate(i; j)`: how many different values of `along` below the entry's own are among the entries of its
    /// group.
    Enumerate {
        /// Entries with the same values of these are one group.
        group: Vec<LevelExpr>,
        /// What is counted within a group, in ascending order.
        along: LevelExpr,
    },
    /// `balance(count(i), p)`: on which of `p` buckets the rows are scheduled: each goes to the one with the fewest
    /// entries so far.
    Balance {
        /// The rows.
        rows: LevelExpr,
        /// How many buckets there are.
        buckets: i64,
        /// Rows come in the order of their counts, or in their own.
        order: Option<Direction>,
    },
    /// `reorder(count(i), descending, w)`: the place of a row where rows are sorted by a query; of equals the first
    /// comes first.
    Reorder {
        /// The rows.
        rows: LevelExpr,
        /// What is asked of the entries of each row.
        by: Aggregate,
        /// Which rows come first.
        direction: Direction,
        /// Rows are sorted among so many that follow each other, or among all.
        window: Option<i64>,
    },
}

/// An order by a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Small ones first.
    Ascending,
    /// Large ones first.
    Descending,
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::Ascending, Direction::Descending];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Direction::Ascending => "ascending",
            Direction::Descending => "descending",
        }
    }
}

impl Indirect {
    /// Its name.
    pub fn word(&self) -> &'static str {
        match self {
            Indirect::Enumerate { .. } => "enumerate",
            Indirect::Balance { .. } => "balance",
            Indirect::Reorder { .. } => "reorder",
        }
    }

    /// The largest value that it may have, given the largest coordinate of each dimension.
    pub fn largest<A: Arithmetic>(&self, largest: &dyn Fn(usize) -> A) -> A {
        match self {
            Indirect::Balance { buckets, .. } => A::constant(buckets - 1),
            Indirect::Enumerate { along: of, .. } | Indirect::Reorder { rows: of, .. } => {
                let (low, high) = of.range(largest);
                high.plus(low.times(-1))
            }
        }
    }

    /// What an entry's value follows from.
    pub(crate) fn inputs(&self) -> Vec<&LevelExpr> {
        match self {
            Indirect::Enumerate { group, along } => group.iter().chain([along]).collect(),
            Indirect::Balance { rows, .. } | Indirect::Reorder { rows, .. } => vec![rows],
        }
    }

    /// What follows from its value where some expressions have theirs.
    pub(super) fn found(&self, known: &dyn Fn(&LevelExpr) -> bool) -> Option<&LevelExpr> {
        match self {
            Indirect::Enumerate { group, along } => group.iter().all(known).then_some(along),
            Indirect::Reorder { rows, .. } => Some(rows),
            Indirect::Balance { .. } => None,
        }
    }

    /// Whether the values below a place are all numbers from 0 up to the largest, so that a trimmed level need not
    /// store them: those of `enumerate` always are, and places of rows sorted with the longest first mostly.
    pub(super) fn is_ragged(&self) -> bool {
        match self {
            Indirect::Enumerate { .. } => true,
            Indirect::Reorder { direction, .. } => *direction == Direction::Descending,
            Indirect::Balance { .. } => false,
        }
    }

    /// The numbers that it was given.
    pub(super) fn numbers(&self) -> Vec<i64> {
        match self {
            Indirect::Enumerate { .. } => Vec::new(),
            Indirect::Balance { buckets, .. } => vec![*buckets],
            Indirect::Reorder { window, .. } => window.iter().copied().collect(),
        }
    }

    /// As text, with names for the dimensions: `enumerate(i; j)`.
    pub fn text(&self, names: &[impl AsRef<str>]) -> String {
        match self {
            Indirect::Enumerate { group, along } => {
                let group: Vec<String> = group.iter().map(|expr| expr.text(names)).collect();
                format!("enumerate({}; {})", group.join(", "), along.text(names))
            }
            Indirect::Balance { rows, buckets, order } => {
                let order = order.map_or(String::new(), |order| format!(", {}", order.word()));
                format!("balance(count({}), {buckets}{order})", rows.text(names))
            }
            Indirect::Reorder { rows, by, direction, window } => {
                let window = window.map_or(String::new(), |window| format!(", {window}"));
                let (by, rows, order) = (by.word(), rows.text(names), direction.word());
                format!("reorder({by}({rows}), {order}{window})")
            }
        }
    }
}
