//! The process that measures one job.

use std::io::{Read, Write};

use super::job::Job;
use super::measure::measure;

/// Reads a job from standard input, measures it, and writes its case to standard output. Returns whether that
/// succeeded.
pub fn serve() -> bool {
    let mut text = String::new();
    let job: Option<Job> = match std::io::stdin().read_to_string(&mut text) {
        Ok(_) => serde_json::from_str(&text).ok(),
        Err(_) => None,
    };
    let Some(job) = job else { return false };
    let case = measure(&job).unwrap_or_else(|error| job.failed(&error.to_string()));
    let Ok(text) = serde_json::to_string(&case) else { return false };
    std::io::stdout().write_all((text + "\n").as_bytes()).is_ok()
}
