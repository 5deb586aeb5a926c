//! Hybrid formats: a tensor as several parts, each in a format of its own (UniSparse, section III-C: `decompose`).
//!
//! ```text
//! hybrid(bdia(50) where count(i / 50, j - i) >= 25, csr)
//! ```
//!
//! Each part but the last takes, of the entries that those before have left, the ones for which its condition holds;
//! the last one takes what remains. So the parts are disjoint and together they are the tensor. Any of them may be
//! empty.

use std::fmt;

use super::expression::LevelExpr;
use super::indirect::Indirect;
use super::query::Aggregate;
use super::{Format, default_names};

/// A tensor in several formats.
#[derive(Clone, Debug, PartialEq)]
pub struct Hybrid {
    /// At least two; all but the last have conditions.
    pub parts: Vec<Part>,
}

/// One part.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// How it is stored.
    pub format: Format,
    /// Which entries it takes; nothing of the last one, which takes the rest.
    pub condition: Option<Condition>,
}

/// What holds of the entries of a part.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What is compared.
    pub measure: Measure,
    /// How.
    pub comparison: Comparison,
    /// With what; with what makes the parts smallest if there is nothing.
    pub threshold: Option<f64>,
}

/// A number for each entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// What a query answers for the group that the entry is in.
    Query {
        /// What is asked.
        aggregate: Aggregate,
        /// Entries for which all of these have the same values are one group.
        groups: Vec<LevelExpr>,
    },
    /// An expression of its coordinates and of functions that are computed from entries, which are dimensions behind
    /// the tensor's.
    Value {
        /// The expression.
        expr: LevelExpr,
        /// The functions.
        functions: Vec<Indirect>,
    },
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

/// Thresholds are finite numbers.
impl Eq for Hybrid {}

impl Comparison {
    /// Whether it holds.
    pub fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Comparison::Less => value < threshold,
            Comparison::AtMost => value <= threshold,
            Comparison::More => value > threshold,
            Comparison::AtLeast => value >= threshold,
        }
    }

    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Comparison::Less => "<",
            Comparison::AtMost => "<=",
            Comparison::More => ">",
            Comparison::AtLeast => ">=",
        }
    }
}

impl Hybrid {
    /// How many dimensions the tensor has.
    pub fn rank(&self) -> usize {
        self.parts.first().map_or(0, |part| part.format.rank())
    }

    /// The format in which the whole tensor is kept for rules that cannot go over the parts.
    pub fn whole(&self) -> Format {
        match self.rank() {
            2 => Format::csr(),
            rank => Format::csf(rank),
        }
    }

    /// As in programs, with names for the dimensions.
    pub fn text(&self, names: &[impl AsRef<str>]) -> String {
        let parts = self.parts.iter().map(|part| {
            let format = match part.format.named_text() {
                Some(name) => name,
                None => format!("({})", part.format.spelled(names)),
            };
            match &part.condition {
                Some(condition) => format!("{format} where {}", condition.text(names)),
                None => format,
            }
        });
        format!("hybrid({})", parts.collect::<Vec<_>>().join(", "))
    }
}

impl Condition {
    fn text(&self, names: &[impl AsRef<str>]) -> String {
        let measure = match &self.measure {
            Measure::Query { aggregate, groups } => {
                let groups: Vec<String> = groups.iter().map(|expr| expr.text(names)).collect();
                format!("{}({})", aggregate.word(), groups.join(", "))
            }
            Measure::Value { expr, functions } => {
                let own = names.iter().map(|name| name.as_ref().to_owned());
                let functions = functions.iter().map(|function| function.text(names));
                expr.text(&own.chain(functions).collect::<Vec<_>>())
            }
        };
        let threshold = self.threshold.map_or("auto".into(), |threshold| threshold.to_string());
        format!("{measure} {} {threshold}", self.comparison.sign())
    }
}

impl fmt::Display for Hybrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&default_names(self.rank())))
    }
}
