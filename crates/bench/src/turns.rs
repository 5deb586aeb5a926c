//! Systems that are measured take turns, and agree with dastac before their times count.

use std::time::{Duration, Instant};

use dastac_elements::Storage;
use dastac_stur::program::{Element, TensorId};

use super::entries::converted;
use super::job::{Job, tell};
use super::memory::Watch;
use super::results::{Measured, Outcome};
use super::stats::{Sample, Summary};
use super::system::{System, forget_packed, outputs, packed_result, sparse_results};
use crate::Error;
use crate::affinity;
use dastac_driver::run::Runner;

/// One system runs for so long before the next one does, so that the caches hold its own data.
const TURN: Duration = Duration::from_millis(8);

/// At most this many samples of a system are taken.
const MOST: usize = 200;

/// At most this many turns are taken.
const TURNS: usize = 24;

/// dastac's own kernels, packed, on the shared buffers.
pub(super) struct Packed;

impl System for Packed {
    fn name(&self) -> &str {
        "dastac"
    }

    /// A sparse result is allocated anew by every run, and copies of inputs in other formats are made anew, as
    /// libraries do it: both take time.
    fn run(&mut self, shared: &mut Runner) -> Result<Duration, Error> {
        if !sparse_results(shared) {
            return Ok(shared.execute()?);
        }
        shared.instance_mut().forget_results();
        let mut taken = Duration::ZERO;
        for id in converted(shared) {
            let Some(input) = shared.bound(id).cloned() else { continue };
            let start = Instant::now();
            shared.bind(id, input)?;
            taken += start.elapsed();
        }
        Ok(taken + shared.execute()?)
    }

    fn forget(&mut self, shared: &mut Runner) {
        forget_packed(shared);
    }

    fn result(&mut self, shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
        packed_result(shared, tensor)
    }
}

/// A system and its samples.
pub(super) struct Candidate {
    name: String,
    detail: String,
    system: Result<Box<dyn System>, String>,
    error: f64,
    right: bool,
    first: Duration,
    peak: Option<f64>,
    prepared: Option<Duration>,
    samples: Vec<Sample>,
}

impl Candidate {
    pub(super) fn new(name: String, made: Result<Box<dyn System>, String>) -> Candidate {
        let detail = made.as_ref().map(|system| system.detail()).unwrap_or_default();
        let prepared = made.as_ref().ok().and_then(|system| system.prepared());
        Candidate {
            name,
            detail,
            system: made,
            error: 0.0,
            right: true,
            first: Duration::ZERO,
            peak: None,
            prepared,
            samples: Vec::new(),
        }
    }

    /// One run.
    fn sample(&mut self, shared: &mut Runner) -> Option<Sample> {
        let system = self.system.as_mut().ok()?;
        let before = affinity::used();
        match system.run(shared) {
            Ok(time) => {
                let disturbed = affinity::used().preemptions > before.preemptions;
                let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                Some(Sample { ns, disturbed })
            }
            Err(error) => {
                self.system = Err(error.to_string());
                None
            }
        }
    }

    fn spent(&self) -> Duration {
        Duration::from_nanos(self.samples.iter().map(|sample| sample.ns).sum())
    }

    pub(super) fn measured(self) -> Measured {
        let outcome = match (self.system, Summary::of(&self.samples)) {
            (Err(reason), _) => Outcome::Gap { reason: short(&reason) },
            (Ok(_), None) => Outcome::Gap { reason: "it was not run".into() },
            (Ok(_), Some(time)) if self.right => Outcome::Time { time, error: self.error },
            (Ok(_), Some(time)) => Outcome::Wrong { time, error: self.error },
        };
        let prepared = self.prepared.map(|time| time.as_nanos() as f64);
        Measured { system: self.name, detail: self.detail, peak: self.peak, prepared, outcome }
    }
}

/// The beginning of a message, because a compiler's may have hundreds of lines.
fn short(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default();
    let mut text: String = line.chars().take(240).collect();
    if text.len() < reason.len() {
        text += " ..";
    }
    text
}

/// Runs every system once, and compares its results with dastac's.
pub(super) fn agree(systems: &mut [Candidate], shared: &mut Runner) {
    let outputs = outputs(shared);
    tell("dastac");
    Packed.forget(shared);
    let mut expected: Vec<Storage> = Vec::new();
    if shared.execute().is_ok() {
        let results = outputs.iter().map(|id| Packed.result(shared, *id));
        expected = results.collect::<Result<_, _>>().unwrap_or_default();
    }
    let sparse = sparse_results(shared);
    for candidate in systems {
        tell(&candidate.name);
        if sparse {
            // The memory of what others computed does not count.
            shared.instance_mut().forget_results();
        }
        if let Ok(system) = &mut candidate.system {
            system.forget(shared);
        }
        let process = candidate.system.as_ref().map(|system| system.process());
        let watch = process.ok().filter(|_| sparse).and_then(Watch::of);
        let Some(first) = candidate.sample(shared) else { continue };
        candidate.peak = watch.and_then(|watch| watch.peak());
        candidate.first = Duration::from_nanos(first.ns);
        let Ok(system) = &mut candidate.system else { continue };
        for (id, expected) in outputs.iter().zip(&expected) {
            match system.result(shared, *id) {
                Ok(found) => {
                    let element = shared.facts()[id.0].element;
                    let error = difference(expected, &found);
                    candidate.error = candidate.error.max(error);
                    candidate.right &= error <= tolerance(element);
                }
                Err(error) => {
                    candidate.system = Err(error.to_string());
                    break;
                }
            }
        }
        if expected.len() < outputs.len() {
            candidate.right = false; // nothing to compare with
        }
    }
}

/// Differences up to this are rounding.
fn tolerance(element: Element) -> f64 {
    match element.part() {
        Element::F64 => 1e-9,
        shorter => 8192.0 * shorter.epsilon(),
    }
}

/// The largest difference, relative to the element or to what elements are on average, whichever is larger.
fn difference(expected: &Storage, found: &Storage) -> f64 {
    let (expected, found) = (expected.view().parts(), found.view().parts());
    if expected.len() != found.len() {
        return f64::MAX;
    }
    let squares: f64 = (0..expected.len()).map(|at| expected.number(at).powi(2)).sum();
    let usual = (squares / expected.len().max(1) as f64).sqrt().max(f64::MIN_POSITIVE);
    (0..expected.len())
        .map(|at| {
            let (wanted, found) = (expected.number(at), found.number(at));
            let error = (wanted - found).abs() / wanted.abs().max(usual);
            // JSON has no infinity, and what is no number must not pass as small.
            if error.is_finite() { error } else { f64::MAX }
        })
        .fold(0.0, f64::max)
}

/// Samples in turns, until time is up.
pub(super) fn turns(systems: &mut [Candidate], shared: &mut Runner, job: &Job) {
    let running = systems.iter().filter(|candidate| candidate.system.is_ok()).count().max(1);
    let share = Duration::from_secs_f64(job.budget / running as f64);
    let patience = Duration::from_secs_f64(job.patience);
    let end = Instant::now() + Duration::from_secs_f64(job.budget * 4.0) + patience;
    for turn in 0..TURNS {
        for at in 0..systems.len() {
            // The order is reversed in every turn, so that no system always runs after the same one.
            let at = if turn % 2 == 0 { at } else { systems.len() - 1 - at };
            let candidate = &mut systems[at];
            if candidate.system.is_err() {
                continue;
            }
            if candidate.first > patience {
                let ns = u64::try_from(candidate.first.as_nanos()).unwrap_or(u64::MAX);
                candidate.samples = vec![Sample { ns, disturbed: false }];
                continue;
            }
            let enough = turn > 0 && candidate.spent() + candidate.first > share && turn > 2;
            let over = Instant::now() > end && turn > 0;
            if enough || over || candidate.samples.len() > MOST {
                continue;
            }
            tell(&candidate.name);
            if job.threads > 1 {
                // Threads of the one before fall asleep.
                std::thread::sleep(Duration::from_millis(3));
            }
            if candidate.first < Duration::from_millis(60) {
                // One run that does not count brings the data into the caches.
                candidate.sample(shared);
            }
            let start = Instant::now();
            while let Some(sample) = candidate.sample(shared) {
                candidate.samples.push(sample);
                if start.elapsed() > TURN || candidate.samples.len() > MOST {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_relative() {
        let of = |values: &[f64]| Storage::of_numbers(Element::F64, values).unwrap();
        assert_eq!(difference(&of(&[1.0, -2.0]), &of(&[1.0, -2.0])), 0.0);
        assert!(difference(&of(&[100.0, 1e-3]), &of(&[100.0, 2e-3])) < 1e-4);
        assert!(difference(&of(&[100.0, 100.0]), &of(&[100.0, 101.0])) > 9e-3);
        assert_eq!(difference(&of(&[1.0]), &of(&[f64::NAN])), f64::MAX);
        assert_eq!(difference(&of(&[1.0]), &of(&[])), f64::MAX);
        assert_eq!(difference(&of(&[1.0, f64::NAN]), &of(&[1.0, f64::NAN])), f64::MAX);
        assert_eq!(difference(&of(&[1.0, f64::NAN]), &of(&[1.0, 0.0])), f64::MAX);
        assert_eq!(difference(&of(&[1.0, f64::NAN]), &of(&[1.0, 2.0])), f64::MAX);
        assert_eq!(difference(&of(&[f64::NAN]), &of(&[f64::NAN])), f64::MAX);
    }
}
