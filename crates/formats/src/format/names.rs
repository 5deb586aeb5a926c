//! Names of dimensions, and codes of formats.

use super::{Kind, Level};

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
        Level { unique: !kind.is_flexible() || !entries, ..Level::of(*kind) }
    });
    Some(levels.collect())
}
