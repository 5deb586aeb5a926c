//! Formats of dynamically sparse tensors, as `:F` says them: which elements are stored is known only when the tensor is read.
//!
//! A format has one level for each dimension. Level k stores the coordinates of dimension `order[k]` below every position of level k-1
//! (the format abstraction of Chou, Kjolstad and Amarasinghe, OOPSLA'18). The language knows how formats are written; what is stored in
//! memory is not its business.
//!
//! Invariants of a [`Format`] that [`Format::new`] made: `order` is a permutation of the dimensions; a singleton stands behind a level that is
//! not unique, and a level that is not unique is the last or stands before a singleton; a dense level is ordered and unique.

use std::fmt;

/// How a level stores its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// All coordinates of the dimension, none of them written down.
    Dense,
    /// Those that are there.
    Compressed,
    /// One for each position of the level before.
    Singleton,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Dense, Kind::Compressed, Kind::Singleton];

    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Dense => "dense",
            Kind::Compressed => "compressed",
            Kind::Singleton => "singleton",
        }
    }

    /// The letter in codes such as `DCC`.
    fn letter(self) -> char {
        match self {
            Kind::Dense => 'D',
            Kind::Compressed => 'C',
            Kind::Singleton => 'S',
        }
    }
}

/// One level.
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
    /// Sorted coordinates, each once.
    pub fn of(kind: Kind) -> Level {
        Level { kind, ordered: true, unique: true }
    }
}

/// How a tensor is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    levels: Vec<Level>,
    order: Vec<usize>,
}

/// A name, and the rank that it needs, if only one.
#[derive(Clone, Copy, Debug)]
pub struct FormatName {
    /// The name.
    pub name: &'static str,
    /// The rank.
    pub rank: Option<usize>,
    code: fn(usize) -> String,
    /// Columns first.
    columns: bool,
}

/// Formats with names.
pub const NAMES: &[FormatName] = &[
    FormatName { name: "csr", rank: Some(2), code: |_| "DC".into(), columns: false },
    FormatName { name: "csc", rank: Some(2), code: |_| "DC".into(), columns: true },
    FormatName { name: "dcsr", rank: Some(2), code: |_| "CC".into(), columns: false },
    FormatName { name: "dcsc", rank: Some(2), code: |_| "CC".into(), columns: true },
    FormatName { name: "dense", rank: None, code: |rank| "D".repeat(rank), columns: false },
    FormatName { name: "csf", rank: None, code: |rank| "C".repeat(rank), columns: false },
    FormatName { name: "coo", rank: None, code: coo, columns: false },
];

/// `CSS`
fn coo(rank: usize) -> String {
    (0..rank).map(|level| if level == 0 { 'C' } else { 'S' }).collect()
}

/// A format that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// The level that is at fault.
    pub level: usize,
    /// What is wrong with it.
    pub message: String,
    /// What to write instead.
    pub hint: &'static str,
}

impl Format {
    /// A format of levels: level k stores dimension `order[k]`, a permutation.
    ///
    /// # Errors
    /// Levels that cannot follow each other.
    pub fn new(levels: Vec<Level>, order: Vec<usize>) -> Result<Format, Impossible> {
        for (at, level) in levels.iter().enumerate() {
            let fail =
                |message: &str, hint| Err(Impossible { level: at, message: message.into(), hint });
            let next = levels.get(at + 1);
            if level.kind == Kind::Dense && !(level.unique && level.ordered) {
                return fail("a dense level is always ordered and unique", "leave the word out");
            }
            if level.kind == Kind::Singleton && (at == 0 || levels[at - 1].unique) {
                return fail(
                    "a singleton behind a level that is unique",
                    "a singleton holds one coordinate for each entry: `compressed(i, nonunique), singleton(j)`",
                );
            }
            if !level.unique && next.is_some_and(|next| next.kind != Kind::Singleton) {
                return fail(
                    "a level that is not unique, with no singleton behind it",
                    "leave `nonunique` out, or store the next dimension as a singleton",
                );
            }
        }
        Ok(Format { levels, order })
    }

    /// The format of a name, if there is one for the rank.
    pub fn named(name: &str, rank: usize) -> Option<Format> {
        let entry = NAMES.iter().find(|entry| entry.name == name)?;
        if entry.rank.is_some_and(|needed| needed != rank) {
            return None;
        }
        let levels = levels_of_code(&(entry.code)(rank))?;
        let mut order: Vec<usize> = (0..rank).collect();
        if entry.columns {
            order.reverse();
        }
        Some(Format { levels, order })
    }

    /// The same levels over the dimensions in another order.
    pub fn with_order(self, order: Vec<usize>) -> Format {
        Format { order, ..self }
    }

    /// Levels, outermost first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The dimension that each level stores.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Whether every element is stored.
    pub fn is_dense(&self) -> bool {
        self.levels.iter().all(|level| level.kind == Kind::Dense)
    }

    /// `DC`, one letter a level.
    pub fn code(&self) -> String {
        self.levels.iter().map(|level| level.kind.letter()).collect()
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
}

/// The levels of a code such as `DCC`: what stands before a singleton is not unique.
pub fn levels_of_code(code: &str) -> Option<Vec<Level>> {
    let kinds: Option<Vec<Kind>> = code
        .chars()
        .map(|letter| {
            Kind::ALL.into_iter().find(|kind| kind.letter() == letter.to_ascii_uppercase())
        })
        .collect();
    let kinds = kinds?;
    let levels = kinds.iter().enumerate().map(|(at, kind)| Level {
        kind: *kind,
        ordered: true,
        unique: *kind == Kind::Dense || kinds.get(at + 1) != Some(&Kind::Singleton),
    });
    Some(levels.collect())
}

/// As in programs: `dense`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
