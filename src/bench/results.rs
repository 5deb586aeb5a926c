//! What was measured, as JSON: written after every case, so that a run that is stopped can go on.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::stats::Summary;

/// The form of the file; another one is not read.
const FORMAT: u32 = 1;

/// All results of one binary on one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`FORMAT`].
    pub format: u32,
    /// What tells the binary from others.
    pub binary: String,
    /// The machine.
    pub machine: Machine,
    /// The command that was given last.
    pub command: String,
    /// Versions of peers.
    pub peers: BTreeMap<String, String>,
    /// Cases, by [`super::Job::key`].
    pub cases: BTreeMap<String, Case>,
}

/// A program at one size, with one number of threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The kernel's name.
    pub kernel: String,
    /// Its name in tables.
    pub title: String,
    /// Its size.
    pub n: i64,
    /// Elements of 32 bits.
    pub single: bool,
    /// Threads.
    pub threads: usize,
    /// Points of iteration domains: each takes one multiply-add at least.
    pub points: Option<f64>,
    /// Floating-point operations as the program writes them.
    pub flops: Option<f64>,
    /// Bytes of all inputs and outputs, packed: each is read or written once at least.
    pub bytes: f64,
    /// What tensors take.
    pub tensors: Vec<Footprint>,
    /// Stages of the compiler, in nanoseconds.
    pub stages: Vec<(String, u64)>,
    /// Systems.
    pub systems: Vec<Measured>,
}

/// What a tensor takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Footprint {
    /// Its name.
    pub name: String,
    /// Whether it is an input.
    pub input: bool,
    /// Packed bytes.
    pub packed: f64,
    /// Bytes of the unique elements that its declaration alone tells of.
    pub declared: f64,
    /// Bytes of its box.
    pub dense: f64,
}

/// A system's part in a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Its name.
    pub system: String,
    /// What it did, such as the routine called.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What came out.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// Right results in this time.
    Time {
        /// Nanoseconds.
        #[serde(flatten)]
        time: Summary,
        /// The largest difference from dastac's results, relative.
        error: f64,
    },
    /// Other results than dastac's.
    Wrong {
        /// Nanoseconds.
        #[serde(flatten)]
        time: Summary,
        /// The largest difference, relative.
        error: f64,
    },
    /// Not measured.
    Gap {
        /// Why, and what to do about it.
        reason: String,
    },
}

impl Case {
    /// The times of a system whose results are right.
    pub fn time(&self, system: &str) -> Option<&Summary> {
        self.systems.iter().find(|measured| measured.system == system)?.time()
    }

    /// A system's part.
    pub fn system(&self, system: &str) -> Option<&Measured> {
        self.systems.iter().find(|measured| measured.system == system)
    }

    /// The shortest time in nanoseconds that this machine allows, and whether reading decides.
    pub fn bound(&self, machine: &Machine) -> Option<(f64, bool)> {
        Some(machine.rates(self.threads)?.bound(self.points?, self.bytes, self.single))
    }

    /// The fastest of these systems, with its time.
    pub fn best<'a>(&'a self, systems: &[&str]) -> Option<(&'a str, &'a Summary)> {
        let measured =
            self.systems.iter().filter(|measured| systems.contains(&measured.system.as_str()));
        measured
            .filter_map(|measured| Some((measured.system.as_str(), measured.time()?)))
            .min_by(|(_, one), (_, other)| one.median_ns.total_cmp(&other.median_ns))
    }
}

impl Measured {
    /// Its times, if its results are right.
    pub fn time(&self) -> Option<&Summary> {
        match &self.outcome {
            Outcome::Time { time, .. } => Some(time),
            Outcome::Wrong { .. } | Outcome::Gap { .. } => None,
        }
    }
}

impl Results {
    /// None yet.
    pub fn new(binary: String, machine: Machine) -> Results {
        Results { format: FORMAT, binary, machine, ..Results::default() }
    }

    /// Those of a file, if they are of this binary on this machine.
    pub fn load(path: &Path, binary: &str, machine: &Machine) -> Option<Results> {
        let text = std::fs::read_to_string(path).ok()?;
        let results: Results = serde_json::from_str(&text).ok()?;
        let fits = results.format == FORMAT
            && results.binary == binary
            && results.machine.is_like(machine);
        fits.then_some(results)
    }

    /// Those of a file, whatever they are of.
    pub fn read(path: &Path) -> Option<Results> {
        serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
    }

    /// Writes them, whole or not at all.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        let temporary = path.with_extension("json.new");
        std::fs::write(&temporary, text + "\n")?;
        std::fs::rename(temporary, path)
    }
}
