//! Whether code is right at small sizes, and how large it is.

use std::collections::BTreeMap;

use dastac_driver::driver::Built;
use dastac_driver::run::Runner;
use object::{Object, ObjectSection, SectionKind};

use crate::Error;
use crate::job::Job;
use crate::results::Checked;

/// Runs the code at every size of [`Job::checks`] on random inputs, and compares its results with the dense evaluator.
///
/// # Errors
/// Code that cannot be run; not enough memory.
pub(crate) fn check(built: &Built, job: &Job) -> Result<Checked, Error> {
    let mut worst = Checked { agrees: true, error: 0.0, at: String::new() };
    for sizes in &job.checks {
        let symbols: BTreeMap<String, i64> = sizes.iter().cloned().collect();
        let mut runner = Runner::new(built.clone(), &symbols, job.threads)?;
        let inputs = runner.random_inputs(job.seed, &BTreeMap::new())?;
        runner.execute()?;
        let found = runner.verify(&inputs)?;
        // JSON has no infinity, and what is no number must not pass as small.
        let error = if found.max_error.is_finite() { found.max_error } else { f64::MAX };
        if found.agrees() && !found.max_error.is_nan() {
            worst.error = worst.error.max(error);
            continue;
        }
        let sizes: Vec<String> =
            sizes.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let element = found.at.map(|at| {
            format!(": {}{:?} is {} instead of {}", at.tensor, at.index, at.found, at.expected)
        });
        let at = format!("{}{}", sizes.join(" "), element.unwrap_or_default());
        return Ok(Checked { agrees: false, error, at });
    }
    Ok(worst)
}

/// Bytes of the instructions in an object file.
pub(crate) fn code_bytes(built: &Built) -> Option<u64> {
    let file = object::File::parse(&built.code.code.bytes[..]).ok()?;
    let text = file.sections().filter(|section| section.kind() == SectionKind::Text);
    Some(text.map(|section| section.size()).sum())
}
