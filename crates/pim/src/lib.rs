//! A machine of cores inside of memory, simulated: RV32IMF programs on many light cores, each beside a bank.
//!
//! - [`Profile`]: a machine as a file of text: clocks, sizes, and what everything costs.
//! - [`isa`]: instructions; [`core`]: one core with its threads, cycle by cycle; [`bank`]: its memory; [`system`]: many
//!   cores, some simulated at a time.
//! - [`link()`] makes an [`Image`] of an object file; [`routines`] are what programs may call by name.
//! - [`plan::Plan`]: what a host does to run a function: which programs on which parts of loops ([`work`]), with
//!   integers of which width ([`width`]). [`Device`]: a plan with its programs, loaded; its [`Report`] says where time
//!   went.
//!
//! Invariants:
//! - Results and counts are the same in every run, however many threads simulate.
//! - A program that errs ends in a [`Fault`] with its place: it never touches the host's memory.
//! - Nothing here depends on a code generator.

mod address;
pub mod bank;
pub mod core;
mod counters;
mod device;
mod error;
mod fault;
pub mod host;
mod image;
pub mod isa;
mod link;
pub mod outline;
pub mod plan;
pub mod profile;
mod registers;
mod report;
pub mod routines;
pub mod system;
mod timing;
mod transfer;
pub mod width;
pub mod work;

pub use address::{BANK, SCRATCHPAD, TEXT};
pub use counters::Counters;
pub use device::{Device, Operand, PLAN, WIDE};
pub use error::PimError;
pub use fault::{Cause, Fault};
pub use image::Image;
pub use link::{LinkError, link};
pub use profile::{Profile, ProfileError};
pub use report::{LaunchReport, Report, Seconds, Transfer};
