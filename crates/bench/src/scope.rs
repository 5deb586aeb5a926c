//! The scope of a run: how much is measured, and where the files and peers are.

use std::path::PathBuf;

use super::job::{Job, Places};
use super::kernels::{KERNELS, Workload};

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Measure little, but quickly.
    pub quick: bool,
    /// Numbers of threads, ascending.
    pub threads: Vec<usize>,
    /// Only kernels whose name contains one of these; all if there are none.
    pub kernels: Vec<String>,
    /// This size in the table instead of its own.
    pub size: Option<i64>,
    /// Only these systems beside dastac; all if there are none.
    pub systems: Vec<String>,
    /// Of the random data.
    pub seed: u64,
    /// Seconds for each case; what is usual if 0.
    pub budget: f64,
    /// A folder of matrices, if there is one.
    pub matrices: Option<PathBuf>,
    /// A folder of a network's pruned filters, if there is one.
    pub layers: Option<PathBuf>,
    /// Random programs in place of the kernels of [`super::figures::Figure::Structured`].
    pub random: Option<Random>,
    /// Where things are.
    pub places: Places,
}

/// Random programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    /// The same seed gives the same programs.
    pub seed: u64,
    /// How many.
    pub count: u64,
}

impl Scope {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(|text| name.contains(&text[..]))
    }

    /// The sizes of a kernel in the table.
    pub(crate) fn sizes(&self, kernel: &Workload) -> Vec<i64> {
        self.size.map_or_else(|| kernel.table.to_vec(), |size| vec![size])
    }

    pub(crate) fn kernels(&self) -> impl Iterator<Item = &'static Workload> {
        KERNELS.iter().filter(|kernel| self.has(kernel.name))
    }

    pub(crate) fn job(&self, kernel: &Workload, n: i64, threads: usize, systems: &[&str]) -> Job {
        let source = kernel.source.to_string();
        Job {
            title: kernel.title.into(),
            symbols: kernel.values(n),
            call: kernel.call,
            threads,
            ..self.program(kernel.name, n, source, systems)
        }
    }

    /// A program on one thread, without symbols.
    pub(crate) fn program(&self, kernel: &str, n: i64, source: String, systems: &[&str]) -> Job {
        let asked = |system: &&str| {
            *system == "dastac"
                || self.systems.is_empty()
                || self.systems.iter().any(|wanted| wanted == system)
        };
        let systems = systems.iter().copied().filter(asked).map(String::from).collect();
        let usual = if self.quick { 0.5 } else { 3.0 };
        Job {
            kernel: kernel.into(),
            title: kernel.into(),
            n,
            source,
            symbols: Vec::new(),
            inputs: Vec::new(),
            call: None,
            single: false,
            threads: 1,
            systems,
            seed: self.seed,
            budget: if self.budget > 0.0 { self.budget } else { usual },
            patience: if self.quick { 0.7 } else { 10.0 },
            places: self.places.clone(),
            checks: Vec::new(),
            pim: Vec::new(),
        }
    }
}
