//! Queries: what a tensor's entries are like, group by group.

use super::LevelExpr;

/// Groups of entries and what is asked of each, as in UniSparse (section III-A): `count (i, j) -> (i / 50, j - i)` is
/// how many entries stand on each diagonal of each 50 rows. Unlike an index map, a reduction map need not tell elements
/// apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// What is asked.
    pub aggregate: Aggregate,
    /// Names for the tensor's dimensions.
    pub names: Vec<String>,
    /// Entries for which all of these have the same values are one group.
    pub groups: Vec<LevelExpr>,
}

/// What is asked of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// How many entries it has.
    Count,
    /// The largest value.
    Max,
    /// The smallest value.
    Min,
    /// The sum of the values; of truth values, how many are true.
    Sum,
    /// Whether a value is not zero.
    Any,
}

impl Aggregate {
    /// All of them.
    pub const ALL: [Aggregate; 5] =
        [Aggregate::Count, Aggregate::Max, Aggregate::Min, Aggregate::Sum, Aggregate::Any];

    /// Its name in queries.
    pub fn word(self) -> &'static str {
        match self {
            Aggregate::Count => "count",
            Aggregate::Max => "max",
            Aggregate::Min => "min",
            Aggregate::Sum => "sum",
            Aggregate::Any => "any",
        }
    }
}
