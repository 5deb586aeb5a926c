//! Formats: how a tensor is stored, as an index map and levels.
//!
//! The map leads from a tensor's coordinates to those of the levels ([`IndexMap`]); each level stores its coordinates
//! below every position of the level before (the format abstraction of Chou, Kjolstad and Amarasinghe, OOPSLA'18; see
//! [`crate::level`]).
//!
//! Invariants of a [`Format`] that [`Format::with_map`] made: the map has one expression for each level; a level whose
//! coordinate follows from those before is an offset level, and no other is one; a padded level's follows from them by
//! a function that is computed from entries; a singleton stands behind a level that
//! is not unique, and a level that is not unique is the last or stands before a singleton; levels without arrays of
//! coordinates are ordered and unique.

mod arithmetic;
pub(crate) mod column;
pub mod definition;
mod expression;
pub mod hybrid;
pub mod indirect;
mod library;
mod map;
mod names;
mod parse;
mod query;

use std::fmt;
use std::ops::Range;

pub use crate::level::{KINDS, Kind, Level, Properties, Width};
pub use arithmetic::{Arithmetic, LinearFunction};
pub use definition::{Definition, NotOne};
pub use expression::{Atom, LevelExpr};
pub use hybrid::Hybrid;
pub use indirect::Indirect;
pub use library::{Definitions, library};
pub use map::{IndexMap, NotInvertible};
pub use names::{default_names, levels_of_code};
pub use parse::{definition as read_definition, hybrid as read_hybrid};
pub use parse::{is_automatic, is_hybrid};
pub use parse::{parse, parse_with, query as read_query};
pub use query::{Aggregate, Query};

/// What is wrong with a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FormatError {
    /// One line.
    pub message: String,
    /// The part of the text that it is about, in bytes.
    pub span: Range<usize>,
    /// A few words about that part.
    pub label: &'static str,
    /// What to write instead.
    pub hint: Option<String>,
    /// The map that is at fault: it is not known to tell elements apart.
    pub map: Option<NotOne>,
}

/// How a tensor is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    levels: Vec<Level>,
    map: IndexMap,
}

/// A format that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// The level that is at fault, from 0.
    pub level: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The coordinate of a dimension does not follow from those of the levels.
    Missing {
        /// The dimension.
        dimension: usize,
    },
    /// There are not as many levels as expressions of the map.
    Order,
    /// The coordinate of the level follows from those of the levels before it.
    Repeated,
    /// A level with one coordinate below each position of the level before, where there may be several.
    Several,
    /// An offset level whose coordinate does not follow from those of the levels before it.
    NotDerived,
    /// A level without coordinates that is not ordered, or not unique.
    Fixed,
    /// A width for the coordinates of a level that stores none.
    Width,
    /// A singleton behind a level that is unique.
    Singleton,
    /// A level that is not unique, with no singleton behind it.
    NotUnique,
}

impl Format {
    /// A format of levels over dimensions: level k stores dimension `order[k]`.
    ///
    /// # Errors
    /// An order that is no permutation of the dimensions; levels that cannot follow each other.
    pub fn new(levels: Vec<Level>, order: Vec<usize>) -> Result<Format, Impossible> {
        let wrong = |_| Impossible { level: 0, reason: Reason::Order };
        if order.iter().any(|dimension| *dimension >= levels.len()) {
            return Err(Impossible { level: 0, reason: Reason::Order });
        }
        Format::with_map(levels, IndexMap::permutation(&order).map_err(wrong)?)
    }

    /// A format of levels over the expressions of a map.
    ///
    /// # Errors
    /// Levels that cannot follow each other, or that store what follows from the levels before.
    pub fn with_map(levels: Vec<Level>, map: IndexMap) -> Result<Format, Impossible> {
        if levels.len() != map.levels().len() {
            return Err(Impossible { level: 0, reason: Reason::Order });
        }
        for (at, level) in levels.iter().enumerate() {
            let next = levels.get(at + 1);
            let unique_before = at == 0 || levels[at - 1].unique;
            let reason = if !(level.kind.is_flexible() || level.unique && level.ordered) {
                Reason::Fixed
            } else if level.width.is_some() && !level.has_coordinates() {
                Reason::Width
            } else if level.kind.follows_entries() && unique_before {
                Reason::Singleton
            } else if !level.unique && next.is_some_and(|next| !next.kind.follows_entries()) {
                Reason::NotUnique
            } else if level.kind.is_found() && !map.is_found(at) {
                Reason::Several
            } else if map.is_derived(at) && !level.kind.is_derived() {
                Reason::Repeated
            } else if level.kind.is_derived() && !map.is_derived(at) {
                Reason::NotDerived
            } else {
                continue;
            };
            return Err(Impossible { level: at, reason });
        }
        Ok(Format { levels, map })
    }

    /// Every element, in row-major order.
    pub fn dense(rank: usize) -> Format {
        Format { levels: vec![Level::DENSE; rank], map: IndexMap::identity(rank) }
    }

    /// Whether all of its levels have all coordinates, so that it stores every element.
    pub fn is_full(&self) -> bool {
        self.levels.iter().all(|level| level.is_full())
    }

    /// Rows, all of them, with the columns of their entries.
    pub fn csr() -> Format {
        Format { levels: vec![Level::DENSE, Level::COMPRESSED], map: IndexMap::identity(2) }
    }

    /// Columns, all of them, with the rows of their entries.
    pub fn csc() -> Format {
        Format::csr().transposed()
    }

    /// All levels compressed.
    pub fn csf(rank: usize) -> Format {
        Format { levels: vec![Level::COMPRESSED; rank], map: IndexMap::identity(rank) }
    }

    /// A sorted list of entries.
    pub fn coo(rank: usize) -> Format {
        let levels = (0..rank).map(|at| match (at, at + 1 == rank) {
            (0, true) => Level::COMPRESSED,
            (0, false) => Level::COMPRESSED_NONUNIQUE,
            (_, true) => Level::SINGLETON,
            (_, false) => Level::SINGLETON_NONUNIQUE,
        });
        Format { levels: levels.collect(), map: IndexMap::identity(rank) }
    }

    /// A matrix by diagonals: those that are not empty, each from the first row to the last.
    pub fn dia() -> Format {
        Format::named("dia", 2).unwrap_or_else(Format::csr)
    }

    /// Height and width of the dense blocks of a matrix that stores rows of blocks (`bsr`).
    pub fn blocks_of_rows(&self) -> Option<[u64; 2]> {
        let [_, _, row, column] = self.map.levels() else { return None };
        let size = |expr: &LevelExpr| match expr.range(&|_| i128::from(u64::MAX)) {
            (0, largest) => u64::try_from(largest).ok()?.checked_add(1),
            _ => None,
        };
        let (height, width) = (size(row)?, size(column)?);
        let blocks = parse(&format!("bcsr({height}, {width})"), &["i", "j"]).ok()?;
        (blocks == *self).then_some([height, width])
    }

    /// The same levels of a matrix with its dimensions in the other order.
    fn transposed(self) -> Format {
        let columns_first = IndexMap::permutation(&[1, 0]);
        Format { map: columns_first.unwrap_or(self.map), ..self }
    }

    /// The number of dimensions of the tensor. There may be more levels.
    pub fn rank(&self) -> usize {
        self.map.rank()
    }

    /// The levels, outermost first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// From a tensor's coordinates to those of the levels.
    pub fn map(&self) -> &IndexMap {
        &self.map
    }

    /// The dimension that each level stores; nothing where levels store anything else than dimensions.
    pub fn order(&self) -> Option<Vec<usize>> {
        self.map.order()
    }

    /// The same levels over dimensions in another order: level k stores dimension `order[k]`.
    ///
    /// # Errors
    /// An order that is no permutation of the dimensions.
    pub fn with_order(&self, order: Vec<usize>) -> Result<Format, Impossible> {
        Format::new(self.levels.clone(), order)
    }

    /// The format of the tensor of level coordinates: the same levels, each of which stores a dimension of its own.
    pub fn of_levels(&self) -> Format {
        Format { levels: self.levels.clone(), map: IndexMap::identity(self.levels.len()) }
    }

    /// The same format without widths of its own for coordinates; nothing if no level says one.
    pub fn plain(&self) -> Option<Format> {
        let narrow = self.levels.iter().any(|level| level.width.is_some());
        let levels = || self.levels.iter().map(|level| level.plain()).collect();
        narrow.then(|| Format { levels: levels(), map: self.map.clone() })
    }

    /// The same format, with coordinates in the width that follows from a tensor's shape.
    #[must_use]
    pub fn in_any_width(&self) -> Format {
        self.plain().unwrap_or_else(|| self.clone())
    }

    /// How many of the last levels store no coordinates: below the others, elements are stored as blocks, zeros
    /// included.
    pub fn block_levels(&self) -> usize {
        let whole = |level: &&Level| level.is_full() || level.kind.is_derived();
        self.levels.iter().rev().take_while(whole).count()
    }

    /// The expressions of the levels above the blocks: all elements are stored at whose values of these one is.
    pub fn above_blocks(&self) -> &[LevelExpr] {
        &self.map.levels()[..self.levels.len() - self.block_levels()]
    }

    /// The expressions above the blocks of a computed tensor, if its elements are whole blocks. Where levels store
    /// anything else than dimensions, the elements are those that are computed: blocks are filled up when the tensor is
    /// converted to the format.
    pub fn blocks_of_results(&self) -> Option<&[LevelExpr]> {
        let whole = self.block_levels() > 0 && self.order().is_some();
        whole.then(|| self.above_blocks())
    }

    /// Whether elements are stored as blocks, where a zero is no entry.
    pub fn has_blocks(&self) -> bool {
        self.levels.is_empty() || self.block_levels() > 0
    }

    /// Whether values stand in the order of the elements that are stored, one for each: their positions number the
    /// elements.
    pub fn numbers_elements(&self) -> bool {
        let orderly = |level: &Level| level.ordered && level.properties().compact;
        self.order().is_some() && self.levels.iter().all(orderly)
    }

    /// `DC`, one letter a level. Levels before a singleton are not unique, all others are. Nothing if the
    /// format cannot be said like this.
    pub fn code(&self) -> Option<String> {
        let code: String = self.levels.iter().map(|level| level.kind.letter()).collect();
        let same = !code.is_empty()
            && levels_of_code(&code).as_ref() == Some(&self.levels)
            && self.order().is_some();
        same.then_some(code)
    }

    /// `dense(i), compressed(j)`, with names for the dimensions.
    pub fn spelled(&self, names: &[impl AsRef<str>]) -> String {
        let names = self.map.names(names);
        let levels = self.levels.iter().zip(self.map.levels()).map(|(level, expr)| {
            let (kind, expr) = (level.kind, expr.text(&names));
            let nonunique = if level.unique { "" } else { ", nonunique" };
            let unordered = if level.ordered { "" } else { ", unordered" };
            let width = level.width.map_or(String::new(), |width| format!(", {}", width.word()));
            format!("{kind}({expr}{nonunique}{unordered}{width})")
        });
        levels.collect::<Vec<_>>().join(", ")
    }
}

/// The shortest way to write it, with [`default_names`] for dimensions where they are needed.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.named_text() {
            return f.write_str(&name);
        }
        let names = default_names(self.rank());
        match (self.code(), self.order()) {
            (Some(code), Some(order)) if order.is_sorted() => f.write_str(&code),
            (Some(code), Some(order)) => {
                let order: Vec<&str> = order.iter().map(|d| names[*d].as_str()).collect();
                write!(f, "{code}({})", order.join(", "))
            }
            _ => f.write_str(&self.spelled(&names)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
