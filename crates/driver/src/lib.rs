//! The only place that orders the stages: from text to a compiled program, and its runs.
//!
//! - [`driver`]: the stages, each a type of its own, from [`driver::Analysis`] to [`driver::Built`].
//! - [`run`]: runs of a program that was just compiled; [`verify`]: its results beside those of the reference
//!   evaluator.
//! - [`export`]: programs as libraries for C; [`package`]: as files that run without the compiler.
//! - [`schedule`] and [`tune`]: schedules in files, and the search for them.
//! - [`trips`]: how often every loop runs.

pub mod build;
mod counters;
mod describe;
pub mod driver;
mod error;
pub mod export;
mod flops;
mod load;
pub mod package;
pub mod run;
pub mod schedule;
pub mod targets;
pub mod trips;
pub mod tune;
pub mod verify;

pub use dastac_runtime::human;
pub use error::Error;
