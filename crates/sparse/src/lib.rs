//! Dynamically sparse tensors: those whose pattern is known only when they are read.
//!
//! - [`format`](mod@format): how a tensor is stored, level by level (`:F` in a program).

pub mod format;

pub use format::{Format, FormatError, Kind, Level};
