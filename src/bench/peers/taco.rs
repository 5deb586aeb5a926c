//! TACO: not measured yet.

use crate::bench::job::Job;
use crate::bench::measure::System;
use crate::run::Runner;

pub(super) fn system(job: &Job, _shared: &mut Runner) -> Result<Box<dyn System>, String> {
    match &job.places.taco {
        None => Err("not installed: build it, and name its binary with `--taco PATH`".into()),
        Some(_) => Err("not supported yet".into()),
    }
}
