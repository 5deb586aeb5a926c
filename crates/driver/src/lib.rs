//! The only place that orders the stages: from text to a compiled program, and its runs.
//!
//! - [`driver`]: the stages, each a type of its own, from [`driver::Analysis`] to [`driver::Built`].
//! - [`run`]: runs of a compiled program on arrays and tensors; [`dynamic`] binds tensors with formats.
//! - [`export`]: programs as libraries for C.
//! - [`schedule`] and [`tune`]: schedules in files, and the search for them.
//! - [`trips`]: how often every loop runs.

pub mod build;
pub mod driver;
pub mod dynamic;
mod error;
pub mod export;
mod results;
pub mod run;
pub mod schedule;
pub mod targets;
pub mod trips;
pub mod tune;

pub use error::{Error, human};
