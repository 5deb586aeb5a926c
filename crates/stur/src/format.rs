//! Formats of dynamically sparse tensors, as `:F` says them: which elements are stored is known only when the tensor is read.
//!
//! A format has one level for each dimension. Level k stores the coordinates of dimension `order[k]` below every position of level k-1
//! (the format abstraction of Chou, Kjolstad and Amarasinghe, OOPSLA'18). What is stored in memory for each level is not
//! the language's business.
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

    /// Sorted coordinates, each once.
    pub fn of(kind: Kind) -> Level {
        Level { kind, ordered: true, unique: true }
    }

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
}

/// How a tensor is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    levels: Vec<Level>,
    order: Vec<usize>,
}

/// A name, what it stands for, and for which rank.
#[derive(Clone, Copy, Debug)]
pub struct FormatName {
    /// The name.
    pub name: &'static str,
    /// What is stored.
    pub about: &'static str,
    /// The rank that it needs, if only one.
    pub rank: Option<usize>,
    build: fn(usize) -> Format,
}

/// The formats with names. A format with several is printed with the first.
pub const NAMES: &[FormatName] = &[
    FormatName {
        name: "csr",
        about: "rows, all of them, with the columns of their entries",
        rank: Some(2),
        build: |_| Format::csr(),
    },
    FormatName {
        name: "csc",
        about: "columns, all of them, with the rows of their entries",
        rank: Some(2),
        build: |_| Format::csc(),
    },
    FormatName {
        name: "dcsr",
        about: "rows that are not empty, with the columns of their entries",
        rank: Some(2),
        build: |_| Format::csf(2),
    },
    FormatName {
        name: "dcsc",
        about: "columns that are not empty, with the rows of their entries",
        rank: Some(2),
        build: |_| Format { order: vec![1, 0], ..Format::csf(2) },
    },
    FormatName {
        name: "dense",
        about: "every element, in row-major order",
        rank: None,
        build: Format::dense,
    },
    FormatName {
        name: "csf",
        about: "a tree of the coordinates that are there, all levels compressed",
        rank: None,
        build: Format::csf,
    },
    FormatName {
        name: "coo",
        about: "a sorted list of entries, each with all its coordinates",
        rank: None,
        build: Format::coo,
    },
];

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
    /// The levels do not store every dimension once.
    Order,
    /// A dense level that is not ordered, or not unique.
    Dense,
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
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted.len() != levels.len() || sorted.iter().enumerate().any(|(at, d)| at != *d) {
            return Err(Impossible { level: 0, reason: Reason::Order });
        }
        for (at, level) in levels.iter().enumerate() {
            let next = levels.get(at + 1);
            let reason = if level.kind == Kind::Dense && !(level.unique && level.ordered) {
                Reason::Dense
            } else if level.kind == Kind::Singleton && (at == 0 || levels[at - 1].unique) {
                Reason::Singleton
            } else if !level.unique && next.is_some_and(|next| next.kind != Kind::Singleton) {
                Reason::NotUnique
            } else {
                continue;
            };
            return Err(Impossible { level: at, reason });
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
    ///
    /// # Errors
    /// An order that is no permutation of the dimensions.
    pub fn with_order(&self, order: Vec<usize>) -> Result<Format, Impossible> {
        Format::new(self.levels.clone(), order)
    }

    /// How many of the last levels are dense: their elements are stored as blocks, zeros included.
    pub fn dense_block(&self) -> usize {
        self.levels.iter().rev().take_while(|level| level.kind == Kind::Dense).count()
    }

    /// `DC`, one letter a level: dense, compressed, singleton. Levels before a singleton are not unique, all others are. Nothing if the
    /// format cannot be said like this.
    pub fn code(&self) -> Option<String> {
        let code: String = self.levels.iter().map(|level| level.kind.letter()).collect();
        let same = !code.is_empty() && levels_of_code(&code).as_ref() == Some(&self.levels);
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

/// Names for the dimensions of a tensor that has none: `i, j, k, l, m, n`, or `i1, i2, ..` if these are too few.
pub fn default_names(rank: usize) -> Vec<String> {
    if rank <= 6 {
        return "ijklmn".chars().take(rank).map(String::from).collect();
    }
    (1..=rank).map(|at| format!("i{at}")).collect()
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
