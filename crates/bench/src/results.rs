//! Results as JSON. The file is written after every case, so that a run that was stopped can be continued.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use dastac_runtime::pim::Report;

use super::machine::Machine;
use super::stats::Summary;

/// The form of the file; another one is not read.
const FORMAT: u32 = 1;

/// All results of one binary on one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// `FORMAT`.
    pub format: u32,
    /// The identity of the binary.
    pub binary: String,
    /// The machine.
    pub machine: Machine,
    /// The command that was given last.
    pub command: String,
    /// Versions of peers.
    pub peers: BTreeMap<String, String>,
    /// Keys of the cases that the table shows.
    #[serde(default)]
    pub table: Vec<String>,
    /// Cases, by [`super::Job::key`].
    pub cases: BTreeMap<String, CaseResults>,
}

/// A program at one size, with one number of threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseResults {
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
    /// A fingerprint of its loops.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub loops: String,
    /// Stages of the compiler, in nanoseconds.
    pub stages: Vec<(String, u64)>,
    /// Bytes of machine code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u64>,
    /// Bytes of elements that the points read: one element of each operand at each point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<f64>,
    /// What came out of the comparisons with the dense evaluator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Checked>,
    /// The program, where it is checked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Values of its symbols, where it is checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<(String, i64)>,
    /// What was simulated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pim: Vec<Simulated>,
    /// Systems.
    pub systems: Vec<Measured>,
}

/// A run on simulated cores inside of memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// What is stored how, or which core has what.
    pub way: String,
    /// Cores that there are.
    pub cores: usize,
    /// Why it did not run, if it did not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failed: String,
    /// Cores that have work.
    pub used: usize,
    /// Cycles of the slowest core, of all programs one after the other.
    pub cycles: u64,
    /// The largest over the mean number of stored elements of a core, where rows are handed out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imbalance: Option<f64>,
    /// Bytes to banks and from them.
    pub moved: u64,
    /// Bytes that cores read from their banks, and that they write to them.
    pub accessed: u64,
    /// Seconds, transfers included.
    pub seconds: f64,
}

impl Simulated {
    /// What a run took on so many cores.
    pub fn of(way: &str, report: &Report) -> Simulated {
        let launches = report.launches.iter();
        Simulated {
            way: way.to_owned(),
            cores: report.cores,
            used: launches.clone().map(|one| one.cores).max().unwrap_or(0),
            cycles: launches.clone().map(|one| one.counters.cycles).sum(),
            moved: launches.clone().flat_map(|one| &one.transfers).map(|one| one.bytes).sum(),
            accessed: launches.map(|one| one.counters.read + one.counters.written).sum(),
            seconds: report.seconds.total(),
            ..Simulated::default()
        }
    }
}

/// A comparison of results with the dense evaluator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Whether they agree but for rounding.
    pub agrees: bool,
    /// The largest difference, relative.
    pub error: f64,
    /// Where it is, if they do not agree, and at which sizes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
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
    /// Bytes that it took at a time while it computed, beyond those that were there before: only for sparse results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<f64>,
    /// Nanoseconds that it took to bring its inputs into a form of its own, if that is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepared: Option<f64>,
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

impl CaseResults {
    /// The times of a system whose results are right.
    pub fn time(&self, system: &str) -> Option<&Summary> {
        self.systems.iter().find(|measured| measured.system == system)?.time()
    }

    /// What was simulated in this way on so many cores, if it ran.
    pub fn simulated(&self, way: &str, cores: usize) -> Option<&Simulated> {
        let ran = self.pim.iter().filter(|one| one.failed.is_empty());
        ran.into_iter().find(|one| one.way == way && one.cores == cores)
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
    /// Whether it ran, whatever came out.
    pub fn ran(&self) -> bool {
        !matches!(self.outcome, Outcome::Gap { .. })
    }

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

    /// The cases of the table: by type of elements, threads, kernel and size.
    pub fn table_cases(&self) -> Vec<&CaseResults> {
        let mut cases: Vec<&CaseResults> =
            self.table.iter().filter_map(|key| self.cases.get(key)).collect();
        let place =
            |case: &CaseResults| super::kernels::KERNELS.iter().position(|k| k.name == case.kernel);
        cases.sort_by_key(|case| (case.single, case.threads, place(case), case.n));
        cases
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::machine::Rates;

    /// One kernel at two sizes, on a machine of round numbers.
    pub(crate) fn sample() -> Results {
        let read = vec![(1 << 20, 50e9), (1 << 30, 10e9)];
        let machine = Machine {
            cpu: "a processor".into(),
            cores: 2,
            time: 86_400,
            rates: vec![Rates { threads: 1, fma64: 50e9, fma32: 100e9, read }],
            ..Machine::default()
        };
        let mut results = Results::new("binary".into(), machine);
        results.command = "dastac bench".into();
        let time = |ns: f64| Outcome::Time {
            time: Summary {
                median_ns: ns,
                mad_ns: ns / 50.0,
                min_ns: ns * 0.9,
                samples: 5,
                disturbed: 1,
            },
            error: 1e-15,
        };
        for (n, scale) in [(192, 0.4), (256, 1.0)] {
            let measured = |system: &str, outcome: Outcome| Measured {
                system: system.into(),
                detail: if system == "mkl" { "gemm".into() } else { String::new() },
                peak: None,
                prepared: None,
                outcome,
            };
            let case = CaseResults {
                kernel: "ttm_ut".into(),
                title: "TTM_UT".into(),
                n,
                threads: 1,
                points: Some(2e9 * scale),
                flops: Some(4e9 * scale),
                bytes: 1e8,
                stages: vec![("parse".into(), 1_000_000), ("codegen".into(), 20_000_000)],
                systems: vec![
                    measured("dastac", time(5e7 * scale)),
                    measured("c-packed", time(3e8 * scale)),
                    measured("mkl", time(6e7 * scale)),
                    measured("openblas", Outcome::Gap { reason: "not <installed>".into() }),
                    measured(
                        "numpy",
                        Outcome::Wrong {
                            time: Summary {
                                median_ns: 1e6,
                                mad_ns: 0.0,
                                min_ns: 1e6,
                                samples: 3,
                                disturbed: 0,
                            },
                            error: 0.5,
                        },
                    ),
                ],
                ..CaseResults::default()
            };
            results.cases.insert(format!("ttm_ut/{n}/f64/1"), case);
            results.table.push(format!("ttm_ut/{n}/f64/1"));
        }
        results
    }

    #[test]
    fn results_are_read_back_for_the_same_binary_and_machine_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.json");
        let results = sample();
        results.save(&path).unwrap();
        assert_eq!(Results::load(&path, "binary", &results.machine), Some(results.clone()));
        assert_eq!(Results::read(&path), Some(results.clone()));
        assert_eq!(Results::load(&path, "other", &results.machine), None);
        let other = Machine { cores: 4, ..results.machine.clone() };
        assert_eq!(Results::load(&path, "binary", &other), None);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(Results::load(&path, "binary", &results.machine), None);
    }

    #[test]
    fn wrong_results_and_gaps_have_no_time() {
        let results = sample();
        let case = &results.cases["ttm_ut/256/f64/1"];
        assert_eq!(case.best(&["mkl", "openblas", "numpy", "c-packed"]).unwrap().0, "mkl");
        assert!(case.time("numpy").is_none() && case.time("openblas").is_none());
        // 2e9 multiply-adds at 50e9 each second; 1e8 bytes take less.
        assert_eq!(case.bound(&results.machine), Some((4e7, false)));
    }
}
