//! The only place that orders the stages: from text to a compiled program, and its runs.
//!
//! - [`driver`]: the stages, each a type of its own, from [`driver::Analysis`] to [`driver::Built`].
//! - [`contract`]: in which steps products are computed.
//! - [`run`]: runs of a program that was just compiled; [`verify`]: its results beside those of the reference
//!   evaluator.
//! - [`export`]: programs as libraries for C; [`package`]: as files that run without the compiler.
//! - [`cached`]: compiled programs that processes keep for each other on disk.
//! - [`schedule`] and [`tune`]: schedules in files, and the search for them.
//! - [`machine`]: what passes decide by on this computer, measured once.
//! - [`trips`]: how often every loop runs.
//! - [`targets`]: the kinds of machines that there are code generators for.
//!
//! Conventions: dense arrays are 64-bit floats in C order and have the shape of the tensor's box; a scalar has the
//! shape `[]`. Sizes of memory are bytes; times are those of the computation alone, without packing. An [`Error`] about
//! the program carries diagnostics with places in its text; one about a run names the tensor or symbol that is at
//! fault.

pub mod build;
pub mod cached;
pub mod contract;
mod counters;
mod describe;
pub mod driver;
mod error;
pub mod export;
mod flops;
mod load;
pub mod machine;
pub mod package;
pub mod run;
pub mod schedule;
mod side;
pub mod targets;
pub mod trips;
pub mod tune;
pub mod verify;
pub mod workspaces;

pub use dastac_runtime::human;
pub use error::Error;
pub use side::Side;
