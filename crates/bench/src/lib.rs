//! Measurements beside other systems: `dastac bench`.
//!
//! [`kernels`] says what is measured, [`figures`] at which sizes and beside what. Each [`Job`] (a program at one size,
//! with one number of threads) runs in a process of its own ([`worker::serve`]): what crashes or takes too long is a
//! gap in the results, and nothing one leaves behind disturbs the next. [`measure`] takes turns between the systems,
//! [`peers`] are the others, [`machine`] measures what the machine can do at most. [`results`] are kept as JSON;
//! [`table`], [`summary`] and [`page`] show them.
//!
//! Invariants: every system computes on the same random data, and its results are compared with dastac's before its
//! times count; operations and bytes are counted from the inferred structure, so they are the same for all; what could
//! not be measured says why.

pub mod affinity;
pub mod bindings;
pub mod chart;
pub mod charts;
mod error;
pub mod figures;
pub mod goal;
pub mod goals;
pub mod job;
pub mod kernels;
pub mod machine;
pub mod measure;
pub mod page;
pub mod patterns;
pub mod peers;
pub mod probe;
pub mod results;
pub mod scope;
pub mod sparse;
pub mod stats;
pub mod summary;
pub mod svg;
pub mod system;
pub mod table;
pub mod worker;

pub use error::Error;
pub use job::Job;
pub use results::{CaseResults, Measured, Outcome, Results};
