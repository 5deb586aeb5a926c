//! Cores inside of memory, simulated: how rows of sparse matrices are handed out to them ([`rows`], [`spmv`]), and what
//! packed tensors save there ([`packed`]). Cycles and bytes are those of the model (`docs/pim.md`), the same in every
//! run; results are checked.

mod names;
pub mod packed;
pub mod report;
pub mod rows;
pub mod spmv;

use crate::Error;
use crate::job::Job;
use crate::results::{CaseResults, Measured, Outcome};
use crate::stats::Summary;

/// Simulates a job.
///
/// # Errors
/// A program that cannot be compiled or computes something else; a matrix that cannot be read.
pub(crate) fn measure(job: &Job) -> Result<CaseResults, Error> {
    let mut case = match job.kernel.starts_with(names::ROWS) {
        true => spmv::measure(job)?,
        false => packed::measure(job)?,
    };
    // The last one on most cores stands for all where one time is asked for.
    let ran = case.pim.iter().rev().find(|one| one.failed.is_empty());
    let outcome = match ran {
        None => Outcome::Gap { reason: "nothing fits the banks".into() },
        Some(ran) => {
            let ns = ran.seconds * 1e9;
            let time = Summary { median_ns: ns, mad_ns: 0.0, min_ns: ns, samples: 1, disturbed: 0 };
            Outcome::Time { time, error: 0.0 }
        }
    };
    let (system, detail) = ("dastac".into(), "simulated".into());
    case.systems.push(Measured { system, detail, peak: None, prepared: None, outcome });
    Ok(case)
}
