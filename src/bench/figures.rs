//! What each figure of the paper needs to be measured.

use super::job::{Job, Places};
use super::kernels::{KERNELS, Kernel};

/// A figure or table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// All kernels at large sizes beside the best that libraries do, with bounds.
    Table,
}

/// All of them, with the names by which they are asked for.
pub const FIGURES: &[(&str, Figure)] = &[("table", Figure::Table)];

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Little, fast.
    pub quick: bool,
    /// Numbers of threads, ascending.
    pub threads: Vec<usize>,
    /// Only kernels whose name contains one of these; all if there are none.
    pub kernels: Vec<String>,
    /// Only these systems beside dastac; all if there are none.
    pub systems: Vec<String>,
    /// Of the random data.
    pub seed: u64,
    /// Seconds for each case; what is usual if 0.
    pub budget: f64,
    /// Where things are.
    pub places: Places,
}

impl Scope {
    fn has(&self, kernel: &Kernel) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(|text| kernel.name.contains(&text[..]))
    }

    fn job(&self, kernel: &Kernel, n: i64, threads: usize, systems: &[&str]) -> Job {
        let asked = |system: &&str| {
            *system == "dastac"
                || self.systems.is_empty()
                || self.systems.iter().any(|wanted| wanted == system)
        };
        let systems: Vec<&str> = systems.iter().copied().filter(asked).collect();
        let usual = if self.quick { 0.7 } else { 4.0 };
        Job {
            seed: self.seed,
            places: self.places.clone(),
            budget: if self.budget > 0.0 { self.budget } else { usual },
            patience: if self.quick { 0.7 } else { 10.0 },
            ..Job::of(kernel, n, threads, &systems)
        }
    }
}

/// The systems of the table.
pub fn table_systems(quick: bool) -> &'static [&'static str] {
    match quick {
        true => &["dastac", "c-packed", "mkl", "openblas"],
        false => &[
            "dastac", "untiled", "c-packed", "c-dense", "mkl", "openblas", "numpy", "torch", "taco",
        ],
    }
}

/// Kernels measured with 32-bit elements even when there is little time.
const SINGLE: &[(&str, i64)] = &[("ttm_ut", 256), ("spmv_ut", 8192), ("pr2", 64)];

/// The jobs that a figure needs, in the order in which they are shown.
pub fn jobs(figure: Figure, scope: &Scope) -> Vec<Job> {
    match figure {
        Figure::Table => table(scope),
    }
}

fn table(scope: &Scope) -> Vec<Job> {
    let mut jobs = Vec::new();
    let systems = table_systems(scope.quick);
    let kernels: Vec<&Kernel> = KERNELS.iter().filter(|kernel| scope.has(kernel)).collect();
    for &threads in &scope.threads {
        for kernel in &kernels {
            jobs.extend(kernel.table.iter().map(|n| scope.job(kernel, *n, threads, systems)));
        }
    }
    let single = |kernel: &Kernel, n: i64| !scope.quick || SINGLE.contains(&(kernel.name, n));
    for kernel in &kernels {
        for n in kernel.table.iter().filter(|n| single(kernel, **n)) {
            let threads = scope.threads.first().copied().unwrap_or(1);
            let job = scope.job(kernel, *n, threads, &["dastac", "mkl"]);
            jobs.push(Job { single: true, ..job });
        }
    }
    jobs
}

/// The jobs of several figures, each once, with the systems of all.
pub fn merged(jobs: Vec<Job>) -> Vec<Job> {
    let mut merged: Vec<Job> = Vec::new();
    for job in jobs {
        match merged.iter_mut().find(|known| known.key() == job.key()) {
            None => merged.push(job),
            Some(known) => {
                let new = job.systems.into_iter().filter(|name| !known.systems.contains(name));
                let new: Vec<String> = new.collect();
                known.systems.extend(new);
            }
        }
    }
    merged
}
