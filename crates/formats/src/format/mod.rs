//! Formats: how a tensor is stored, level by level, after the format abstraction of Chou, Kjolstad and Amarasinghe (OOPSLA'18).
//!
//! They are those of the language's `:F` ([`dastac_stur::format`]). A level's positions in memory are: of a dense one, `p * n + i` below position `p`; of
//! a compressed one, those from `positions[p]` to `positions[p + 1]`; of a singleton, `p` itself.

mod parse;

use std::ops::Range;

pub use dastac_stur::format::{
    Capabilities, Format, FormatName, Impossible, Kind, Level, NAMES, Reason, default_names,
};
pub use parse::parse;

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

#[cfg(test)]
pub(crate) mod tests;
