//! Names and codes of formats.

use super::{Format, Kind, Level};

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

impl FormatName {
    /// The format of tensors of a rank.
    pub(super) fn format(&self, rank: usize) -> Format {
        (self.build)(rank)
    }
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
        build: |_| Format::csf(2).transposed(),
    },
    FormatName {
        name: "dia",
        about: "diagonals that are not empty, with all their elements",
        rank: Some(2),
        build: |_| Format::dia(),
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

/// Names for the dimensions of a tensor that has none: `i, j, k, l, m, n`, or `i1, i2, ..` if these are too few.
pub fn default_names(rank: usize) -> Vec<String> {
    if rank <= 6 {
        return "ijklmn".chars().take(rank).map(String::from).collect();
    }
    (1..=rank).map(|at| format!("i{at}")).collect()
}

/// The levels of a code such as `DCC`: what stands before a singleton is not unique.
pub fn levels_of_code(code: &str) -> Option<Vec<Level>> {
    let kinds: Option<Vec<Kind>> = code.chars().map(Kind::lettered).collect();
    let kinds = kinds?;
    if kinds.iter().any(|kind| kind.is_derived()) {
        return None; // a code says of no level what it follows from
    }
    let levels = kinds.iter().enumerate().map(|(at, kind)| {
        let entries = kinds.get(at + 1).is_some_and(|next| next.follows_entries());
        Level { kind: *kind, ordered: true, unique: !kind.is_flexible() || !entries }
    });
    Some(levels.collect())
}
