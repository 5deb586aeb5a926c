//! Formats: how a tensor is stored, level by level, after the format abstraction of Chou, Kjolstad and Amarasinghe (OOPSLA'18).
//!
//! A format of a tensor of rank r has r levels. Level k stores the coordinates of one dimension, `order[k]`, below every position of level
//! k-1. Its [`Kind`] says how, and its [`Capabilities`] say what may be assumed of it.
//!
//! Invariants of a [`Format`]: `order` is a permutation of the dimensions; a singleton stands behind a level that is not unique, and a level
//! that is not unique is the last or stands before a singleton; a dense level is ordered and unique.

mod parse;

use std::fmt;
use std::ops::Range;

pub use parse::default_names;

/// How a level stores its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// All coordinates of the dimension, none of them written down: position `p * n + i`.
    Dense,
    /// Those that are there: of position `p`, the coordinates from `positions[p]` to `positions[p + 1]`.
    Compressed,
    /// One for each position of the level before.
    Singleton,
}

/// As in programs: `dense`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Dense => "dense",
            Kind::Compressed => "compressed",
            Kind::Singleton => "singleton",
        })
    }
}

/// What may be assumed of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Holds every coordinate of its dimension.
    pub full: bool,
    /// Coordinates below one position grow.
    pub ordered: bool,
    /// No coordinate stands twice below one position.
    pub unique: bool,
    /// There is exactly one coordinate below every position.
    pub branchless: bool,
    /// Positions have no gaps: none stands between two coordinates without belonging to one.
    pub compact: bool,
}

impl Capabilities {
    /// None of them.
    pub const NONE: Capabilities = Capabilities {
        full: false,
        ordered: false,
        unique: false,
        branchless: false,
        compact: false,
    };
}

/// One level of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    /// How its coordinates are stored.
    pub kind: Kind,
    /// Whether coordinates below one position grow.
    pub ordered: bool,
    /// Whether no coordinate stands twice below one position.
    pub unique: bool,
}

impl Level {
    /// All coordinates.
    pub const DENSE: Level = Level { kind: Kind::Dense, ordered: true, unique: true };
    /// Sorted coordinates, each once.
    pub const COMPRESSED: Level = Level { kind: Kind::Compressed, ordered: true, unique: true };
    /// Sorted coordinates, one for each entry below.
    pub const COMPRESSED_NONUNIQUE: Level = Level { unique: false, ..Level::COMPRESSED };
    /// One coordinate each.
    pub const SINGLETON: Level = Level { kind: Kind::Singleton, ordered: true, unique: true };
    /// One coordinate each, one for each entry below.
    pub const SINGLETON_NONUNIQUE: Level = Level { unique: false, ..Level::SINGLETON };

    /// What may be assumed of it.
    pub fn capabilities(self) -> Capabilities {
        Capabilities {
            full: self.kind == Kind::Dense,
            ordered: self.ordered,
            unique: self.unique,
            branchless: self.kind == Kind::Singleton,
            compact: true,
        }
    }

    fn letter(self) -> char {
        match self.kind {
            Kind::Dense => 'D',
            Kind::Compressed => 'C',
            Kind::Singleton => 'S',
        }
    }
}

/// What is wrong with a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FormatError {
    /// One line.
    pub message: String,
    /// The part of the text that it is about, in bytes.
    pub span: Range<usize>,
    /// What to write instead.
    pub hint: Option<String>,
}

/// How a tensor is stored; see the [module](self).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    levels: Vec<Level>,
    order: Vec<usize>,
}

/// A name, what it stands for, and for which rank.
pub struct Name {
    /// The name.
    pub name: &'static str,
    /// What is stored.
    pub about: &'static str,
    /// The rank that it needs, if only one.
    pub rank: Option<usize>,
    build: fn(usize) -> Format,
}

/// The formats with names. A format with several is printed with the first.
pub const NAMES: &[Name] = &[
    Name {
        name: "csr",
        about: "rows, all of them, with the columns of their entries",
        rank: Some(2),
        build: |_| Format::csr(),
    },
    Name {
        name: "csc",
        about: "columns, all of them, with the rows of their entries",
        rank: Some(2),
        build: |_| Format::csc(),
    },
    Name {
        name: "dcsr",
        about: "rows that are not empty, with the columns of their entries",
        rank: Some(2),
        build: |_| Format::csf(2),
    },
    Name {
        name: "dcsc",
        about: "columns that are not empty, with the rows of their entries",
        rank: Some(2),
        build: |_| Format { order: vec![1, 0], ..Format::csf(2) },
    },
    Name {
        name: "dense",
        about: "every element, in row-major order",
        rank: None,
        build: Format::dense,
    },
    Name {
        name: "csf",
        about: "a tree of the coordinates that are there, all levels compressed",
        rank: None,
        build: Format::csf,
    },
    Name {
        name: "coo",
        about: "a sorted list of entries, each with all its coordinates",
        rank: None,
        build: Format::coo,
    },
];

impl Format {
    /// A format of levels over dimensions: level k stores dimension `order[k]`.
    pub fn new(levels: Vec<Level>, order: Vec<usize>) -> Result<Format, FormatError> {
        let fail = |message: String, hint: Option<&str>| {
            Err(FormatError { message, span: 0..0, hint: hint.map(str::to_string) })
        };
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted.len() != levels.len() || sorted.iter().enumerate().any(|(at, d)| at != *d) {
            return fail("the levels do not store every dimension once".into(), None);
        }
        for (at, level) in levels.iter().enumerate() {
            let next = levels.get(at + 1);
            if level.kind == Kind::Dense && !(level.unique && level.ordered) {
                return fail("a dense level is always ordered and unique".into(), None);
            }
            if level.kind == Kind::Singleton && (at == 0 || levels[at - 1].unique) {
                return fail(
                    format!("level {} is a singleton, but the one before it is unique", at + 1),
                    Some(
                        "a singleton holds one coordinate for each position of the level before, so that one holds a coordinate for each entry: \
                         `compressed(i, nonunique), singleton(j)`",
                    ),
                );
            }
            if !level.unique && next.is_some_and(|next| next.kind != Kind::Singleton) {
                return fail(
                    format!("level {} is not unique, but no singleton follows it", at + 1),
                    Some("leave `nonunique` out, or store the next dimension as a singleton"),
                );
            }
        }
        Ok(Format { levels, order })
    }

    /// Every element, in row-major order.
    pub fn dense(rank: usize) -> Format {
        Format { levels: vec![Level::DENSE; rank], order: (0..rank).collect() }
    }

    /// Rows, all of them, with the columns of their entries.
    pub fn csr() -> Format {
        Format { levels: vec![Level::DENSE, Level::COMPRESSED], order: vec![0, 1] }
    }

    /// Columns, all of them, with the rows of their entries.
    pub fn csc() -> Format {
        Format { order: vec![1, 0], ..Format::csr() }
    }

    /// All levels compressed.
    pub fn csf(rank: usize) -> Format {
        Format { levels: vec![Level::COMPRESSED; rank], order: (0..rank).collect() }
    }

    /// A sorted list of entries.
    pub fn coo(rank: usize) -> Format {
        let levels = (0..rank).map(|at| match (at, at + 1 == rank) {
            (0, true) => Level::COMPRESSED,
            (0, false) => Level::COMPRESSED_NONUNIQUE,
            (_, true) => Level::SINGLETON,
            (_, false) => Level::SINGLETON_NONUNIQUE,
        });
        Format { levels: levels.collect(), order: (0..rank).collect() }
    }

    /// The format of a name, if there is one for the rank.
    pub fn named(name: &str, rank: usize) -> Option<Format> {
        let entry = NAMES.iter().find(|entry| entry.name == name)?;
        entry.rank.is_none_or(|needed| needed == rank).then(|| (entry.build)(rank))
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&'static str> {
        let mut names = NAMES.iter().filter(|_| self.rank() > 0);
        names
            .find(|entry| Format::named(entry.name, self.rank()).as_ref() == Some(self))
            .map(|entry| entry.name)
    }

    /// The number of dimensions, which is that of the levels.
    pub fn rank(&self) -> usize {
        self.levels.len()
    }

    /// The levels, outermost first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The dimension that each level stores.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The same levels over dimensions in another order: level k stores dimension `order[k]`.
    pub fn with_order(&self, order: Vec<usize>) -> Result<Format, FormatError> {
        Format::new(self.levels.clone(), order)
    }

    /// How many of the last levels are dense: their elements are stored as blocks, zeros included.
    pub fn dense_block(&self) -> usize {
        self.levels.iter().rev().take_while(|level| level.kind == Kind::Dense).count()
    }

    /// `DC`, one letter a level: dense, compressed, singleton. Levels before a singleton are not unique, all others are. Nothing if the
    /// format cannot be said like this.
    pub fn code(&self) -> Option<String> {
        let code: String = self.levels.iter().map(|level| level.letter()).collect();
        let same = !code.is_empty() && parse::levels_of_code(&code).as_ref() == Some(&self.levels);
        same.then_some(code)
    }

    /// `dense(i), compressed(j)`, with names for the dimensions.
    pub fn spelled(&self, names: &[impl AsRef<str>]) -> String {
        let levels = self.levels.iter().zip(&self.order).map(|(level, dimension)| {
            let kind = level.kind;
            let name = names.get(*dimension).map_or("?", AsRef::as_ref);
            let nonunique = if level.unique { "" } else { ", nonunique" };
            let unordered = if level.ordered { "" } else { ", unordered" };
            format!("{kind}({name}{nonunique}{unordered})")
        });
        levels.collect::<Vec<_>>().join(", ")
    }

    /// Reads `csr`, `DCC`, `coo(k, i, j)` or `dense(i), compressed(j)` for a tensor with these dimensions.
    pub fn parse(text: &str, names: &[impl AsRef<str>]) -> Result<Format, FormatError> {
        parse::parse(text, names)
    }
}

/// The shortest way to write it, with [`default_names`] for dimensions where they are needed.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name() {
            return f.write_str(name);
        }
        let names = default_names(self.rank());
        match self.code() {
            Some(code) if self.order.is_sorted() => f.write_str(&code),
            Some(code) => {
                let order: Vec<&str> = self.order.iter().map(|d| names[*d].as_str()).collect();
                write!(f, "{code}({})", order.join(", "))
            }
            None => f.write_str(&self.spelled(&names)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
