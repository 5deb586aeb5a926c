//! Measurements beside other systems: `dastac bench`.
//!
//! [`kernels`] lists the programs that are measured, and [`figures`] their sizes and the systems that they are compared
//! with. Each [`Job`] (a program at one size, with one number of threads) runs in a process of its own
//! ([`worker::serve`]). A process that crashes or takes too long leaves a gap in the results, and does not disturb the
//! next one. [`measure`] takes turns between the systems; [`peers`] are the systems of others. [`machine`] measures the
//! highest rates of the machine. [`results`] are kept as JSON; [`table`], [`summary`] and [`page`] show them.
//!
//! Invariants: every system computes on the same random data, and its results are compared with dastac's before its
//! times count. Operations and bytes are counted from the inferred structure, so that they are the same for all
//! systems. If something could not be measured, the results say why.

pub mod affinity;
pub mod bindings;
pub mod chart;
pub mod charts;
mod entries;
mod error;
pub mod figures;
mod fill;
pub mod goal;
pub mod goals;
pub mod gpu;
pub mod job;
pub mod kernels;
pub mod machine;
pub mod measure;
mod memory;
pub mod page;
pub mod patterns;
pub mod peers;
pub mod pim;
pub mod probe;
pub mod results;
pub mod scope;
pub mod sparse;
pub mod stats;
pub mod structured;
pub mod summary;
pub mod svg;
pub mod system;
pub mod table;
mod turns;
pub mod worker;
pub mod workspaces;

pub use error::Error;
pub use job::Job;
pub use results::{CaseResults, Measured, Outcome, Results};
