//! A description of the machine, and its highest rates, which are measured in the same run as everything else.

use std::time::Duration;

use dastac_backend::Processor;

use crate::{affinity, probe};
use serde::{Deserialize, Serialize};

use crate::Error;

/// A machine and the software that was measured on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// CPUs that this process may use.
    pub cores: usize,
    /// Bytes of main memory.
    pub memory: u64,
    /// Caches of one core, innermost first: name and size, as the system tells them.
    pub caches: Vec<(String, String)>,
    /// The operating system's kernel.
    pub system: String,
    /// Bytes of vector registers.
    pub vector_bytes: usize,
    /// Versions of dastac and what it generates code with.
    pub versions: Vec<(String, String)>,
    /// Seconds since 1970 when it was measured.
    pub time: u64,
    /// Runnable processes on average, when it was measured: above 0 others were at work.
    pub load: f64,
    /// Where the description that programs were compiled for is from: `measured`, `detected`, `file`.
    #[serde(default)]
    pub origin: String,
    /// That description, as text.
    #[serde(default)]
    pub description: String,
    /// Rates, for each number of threads.
    pub rates: Vec<Rates>,
}

/// What so many threads can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Threads.
    pub threads: usize,
    /// Fused multiply-adds of 64-bit numbers each second.
    pub fma64: f64,
    /// Fused multiply-adds of 32-bit numbers each second.
    pub fma32: f64,
    /// Bytes of arrays, ascending, and bytes read each second from arrays of that size.
    pub read: Vec<(u64, f64)>,
}

/// Sizes of arrays that bandwidth is measured at: within caches and beyond.
const ARRAYS: &[usize] = &[
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
    8 << 20,
    16 << 20,
    32 << 20,
    64 << 20,
    128 << 20,
    256 << 20,
    512 << 20,
];

fn file(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_string()
}

/// What `lscpu` calls caches.
fn caches() -> Vec<(String, String)> {
    let folder = "/sys/devices/system/cpu/cpu0/cache";
    let each =
        (0..8).map(|k| ["level", "type", "size"].map(|f| file(&format!("{folder}/index{k}/{f}"))));
    each.filter(|[level, kind, _]| !level.is_empty() && kind != "Instruction")
        .map(|[level, kind, size]| {
            let letter = if kind == "Data" { "d" } else { "" };
            (format!("L{level}{letter}"), size)
        })
        .collect()
}

impl Machine {
    /// This machine, without rates.
    pub fn this() -> Machine {
        let cpu = file("/proc/cpuinfo");
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_string())
        };
        let memory = field(&file("/proc/meminfo"), "MemTotal").unwrap_or_default();
        let kib: u64 = memory.trim_end_matches("kB").trim().parse().unwrap_or(0);
        let family = ["cpu family", "model", "stepping"].map(|name| {
            let line = cpu.lines().find(|line| line.split(':').next().map(str::trim) == Some(name));
            line.and_then(|line| line.split_once(':'))
                .map_or(String::new(), |(_, v)| v.trim().into())
        });
        let name = field(&cpu, "model name").unwrap_or_else(|| "unknown processor".into());
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO);
        let load = file("/proc/loadavg");
        let versions = [
            ("dastac", env!("CARGO_PKG_VERSION").to_string()),
            ("LLVM and MLIR", dastac_backend::llvm_version()),
        ];
        Machine {
            cpu: format!(
                "{name} (family {}, model {}, stepping {})",
                family[0], family[1], family[2]
            ),
            cores: affinity::allowed().len().max(1),
            memory: kib * 1024,
            caches: caches(),
            system: file("/proc/sys/kernel/osrelease"),
            vector_bytes: Processor::host().machine().vector_bytes as usize,
            versions: versions.into_iter().map(|(k, v)| (k.to_string(), v)).collect(),
            time: now.as_secs(),
            load: load.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0),
            ..Machine::default()
        }
    }

    /// Whether results of the other can stand beside results of this one.
    pub fn is_like(&self, other: &Machine) -> bool {
        let same = |machine: &Machine| {
            let Machine { cpu, cores, caches, description, .. } = machine.clone();
            (cpu, cores, caches, description)
        };
        same(self) == same(other)
    }

    /// The numbers of its description that differ between computers with one kind of processor, in one line.
    pub fn chosen_by(&self) -> String {
        let wanted = ["vector_bytes", "packs", "stream", "wake", "multiply_adds"];
        let read = ["read_l1", "read_l2", "read_last", "read_memory"];
        let lines = self.description.lines().filter_map(|line| line.split_once(" = "));
        let known = lines.filter(|(name, _)| wanted.contains(name) || read.contains(name));
        let numbers: Vec<String> = known.map(|(name, value)| format!("{name} {value}")).collect();
        format!("{} description: {}", self.origin, numbers.join(", "))
    }

    /// The rates for so many threads, if they were measured.
    pub fn rates(&self, threads: usize) -> Option<&Rates> {
        self.rates.iter().find(|rates| rates.threads == threads)
    }
}

impl Rates {
    /// Measures.
    ///
    /// # Errors
    /// No memory for the arrays.
    pub fn measure(threads: usize) -> Result<Rates, Error> {
        let largest = usize::try_from(dastac_runtime::available_memory() / 4).unwrap_or(usize::MAX);
        let read: Result<Vec<(u64, f64)>, Error> = ARRAYS
            .iter()
            .filter(|bytes| **bytes <= largest)
            .map(|bytes| Ok((*bytes as u64, probe::read_bandwidth(*bytes, threads)?)))
            .collect();
        let (fma64, fma32) = (probe::fma_rate(false, threads), probe::fma_rate(true, threads));
        Ok(Rates { threads, fma64, fma32, read: read? })
    }

    /// Bytes each second that a computation can read at most whose data takes so many bytes, between the sizes that
    /// were measured.
    pub fn bandwidth(&self, bytes: f64) -> f64 {
        let after = self.read.iter().position(|(size, _)| *size as f64 >= bytes);
        match after {
            Some(0) => self.read[0].1,
            None => self.read.last().map_or(f64::INFINITY, |(_, rate)| *rate),
            Some(after) => {
                let ((small, fast), (large, slow)) = (self.read[after - 1], self.read[after]);
                let (small, large) = ((small as f64).ln(), (large as f64).ln());
                fast + (slow - fast) * (bytes.ln() - small) / (large - small)
            }
        }
    }

    /// The shortest time in nanoseconds for so many multiply-adds and bytes, and whether the bytes decide.
    pub fn bound(&self, multiply_adds: f64, bytes: f64, single: bool) -> (f64, bool) {
        let rate = if single { self.fma32 } else { self.fma64 };
        let (compute, memory) = (multiply_adds / rate * 1e9, bytes / self.bandwidth(bytes) * 1e9);
        (compute.max(memory), memory > compute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_between_sizes() {
        let read = vec![(1 << 10, 100.0), (1 << 20, 20.0)];
        let rates = Rates { threads: 1, fma64: 10.0, fma32: 20.0, read };
        assert_eq!(rates.bandwidth(10.0), 100.0);
        assert_eq!(rates.bandwidth(1024.0), 100.0);
        assert!((rates.bandwidth(32768.0) - 60.0).abs() < 1e-9);
        assert_eq!(rates.bandwidth(1e12), 20.0);
        assert_eq!(rates.bound(50.0, 10.0, false), (5e9, false));
        assert_eq!(rates.bound(50.0, 1000.0, true), (10e9, true));
    }

    #[test]
    fn a_description_in_one_line() {
        let description = "vector_bytes = 64\nline = 64\nstream = 8\nlevel threads\n".to_owned();
        let machine = Machine { description, origin: "measured".into(), ..Machine::default() };
        assert_eq!(machine.chosen_by(), "measured description: vector_bytes 64, stream 8");
        assert!(!machine.is_like(&Machine::default()));
    }

    #[test]
    fn this_machine_is_like_itself() {
        let machine = Machine::this();
        assert!(machine.is_like(&Machine::this()));
        assert!(machine.cores > 0);
    }
}
