//! Kernels over structured operands, whose rates are compared with that of a dense matrix product: a fixed list of
//! them ([`kernels`]), or random ones ([`random`]).

pub(crate) mod checked;
pub mod kernels;
mod names;
pub mod random;
pub mod report;

use names::PREFIX;

use crate::job::Job;
use crate::scope::{Random, Scope};

/// Whether a job is one of these kernels.
pub fn has(job: &Job) -> bool {
    job.kernel.starts_with(PREFIX)
}

/// The dense matrix product, then all kernels or random programs, for each number of threads.
pub fn jobs(scope: &Scope) -> Vec<Job> {
    let each = match scope.random {
        None => kernels::jobs(scope),
        Some(random) => drawn(scope, random),
    };
    if each.is_empty() {
        return each;
    }
    let each = [kernels::unit(scope)].into_iter().chain(each).collect::<Vec<Job>>();
    let threads = scope.threads.iter();
    threads
        .flat_map(|threads| each.iter().map(|job| Job { threads: *threads, ..job.clone() }))
        .collect()
}

fn drawn(scope: &Scope, random: Random) -> Vec<Job> {
    let limits = scope.size.map_or(random::Limits::USUAL, random::Limits::up_to);
    let jobs = (0..random.count).map(|number| {
        let drawn = random::draw(random.seed, number, limits);
        let kernel = format!("{PREFIX}random-{}-{number}", random.seed);
        let largest = drawn.symbols.iter().map(|(_, value)| *value).max().unwrap_or(0);
        Job {
            title: format!("random {number}"),
            symbols: drawn.symbols,
            checks: drawn.checks,
            budget: if scope.budget > 0.0 { scope.budget } else { 0.2 },
            patience: 0.5,
            ..scope.program(&kernel, largest, drawn.source, &["dastac"])
        }
    });
    jobs.filter(|job| scope.has(&job.kernel)).collect()
}
