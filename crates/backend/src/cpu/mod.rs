//! The CPU that code is made for.

use crate::llvm::{self, Spec};
use crate::{Error, Result};
use dastac_loops::machine::Machine;

/// The CPU to compile for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cpu {
    /// The one that this process runs on, with all of its features.
    #[default]
    Host,
    /// A CPU by LLVM's name, such as `x86-64-v3` or `znver4`. Code for more than the host has cannot be
    /// loaded here.
    Named {
        /// LLVM's name.
        name: String,
        /// Features to add or leave out, each `+name` or `-name`.
        features: Vec<String>,
    },
}

/// LLVM warns on standard error about a CPU that it does not know, and goes on: so names are checked against
/// this list.
const KNOWN: &[&str] = if cfg!(target_arch = "x86_64") {
    &[
        "x86-64",
        "x86-64-v2",
        "x86-64-v3",
        "x86-64-v4",
        "haswell",
        "broadwell",
        "skylake",
        "skylake-avx512",
        "cascadelake",
        "icelake-client",
        "icelake-server",
        "alderlake",
        "sapphirerapids",
        "graniterapids",
        "znver1",
        "znver2",
        "znver3",
        "znver4",
        "znver5",
    ]
} else {
    &["generic"]
};

/// Bytes of a cache of the first core, as Linux numbers them: 0 is the first level's for data, 2 the second level.
fn cache(index: usize) -> Option<i64> {
    let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
    let text = std::fs::read_to_string(path).ok()?;
    let kilobytes: i64 = text.trim().strip_suffix('K')?.parse().ok()?;
    (8..1 << 20).contains(&kilobytes).then_some(kilobytes << 10)
}

/// CPUs by name that have AVX-512.
const AVX512: &[&str] = &[
    "x86-64-v4",
    "skylake-avx512",
    "cascadelake",
    "icelake-client",
    "icelake-server",
    "sapphirerapids",
    "graniterapids",
    "znver4",
    "znver5",
];

/// CPUs by name that have AVX2 and not AVX-512.
const AVX2: &[&str] =
    &["x86-64-v3", "haswell", "broadwell", "skylake", "alderlake", "znver1", "znver2", "znver3"];

impl Cpu {
    /// Resolves names, so that LLVM sees only what it knows.
    pub(crate) fn spec(&self) -> Result<Spec> {
        let triple = llvm::default_triple();
        let (host, host_features) = llvm::host_cpu();
        match self {
            Cpu::Host => Ok(Spec { triple, cpu: host, features: host_features }),
            Cpu::Named { name, features } => {
                if !KNOWN.contains(&name.as_str()) && *name != host {
                    let known = KNOWN.join(", ");
                    return Err(Error::UnknownCpu { name: name.clone(), known });
                }
                // LLVM lists every feature that it could have found on the host, present or not.
                let known: Vec<&str> =
                    host_features.split(',').map(|f| &f[1.min(f.len())..]).collect();
                for feature in features {
                    let bare = feature.strip_prefix(['+', '-']);
                    if !bare.is_some_and(|bare| known.contains(&bare)) {
                        return Err(Error::UnknownFeature(feature.clone()));
                    }
                }
                Ok(Spec { triple, cpu: name.clone(), features: features.join(",") })
            }
        }
    }

    /// Bytes of a vector register: 64 with AVX-512, 32 with AVX2, else 16.
    ///
    /// # Errors
    /// A CPU or feature that LLVM does not know.
    pub fn vector_bytes(&self) -> Result<usize> {
        let spec = self.spec()?;
        let listed = |feature| spec.lists(feature);
        let among = |names: &[&str]| names.contains(&spec.cpu.as_str());
        Ok(if listed("avx512f").unwrap_or(among(AVX512)) {
            64
        } else if listed("avx2").unwrap_or(among(AVX512) || among(AVX2)) {
            32
        } else {
            16
        })
    }

    /// Whether it multiplies and adds in one instruction.
    ///
    /// # Errors
    /// A CPU or feature that LLVM does not know.
    pub(crate) fn fuses(&self) -> Result<bool> {
        let spec = self.spec()?;
        let known = [AVX512, AVX2].concat().contains(&spec.cpu.as_str());
        Ok(!cfg!(target_arch = "x86_64") || spec.lists("fma").unwrap_or(known))
    }

    /// Whether it loads elements at any places into the lanes of a vector, in one instruction under a mask: with AVX-512. (On many CPUs without it, LLVM
    /// makes branches of that.)
    ///
    /// # Errors
    /// A CPU or feature that LLVM does not know.
    pub(crate) fn gathers(&self) -> Result<bool> {
        Ok(self.vector_bytes()? == 64)
    }

    /// What passes may know of this CPU, with `threads` or not: its registers, and its caches if it is the host (else
    /// those of most CPUs).
    ///
    /// # Errors
    /// A CPU or feature that LLVM does not know.
    pub fn machine(&self, threads: bool) -> Result<Machine> {
        let vector_bytes = self.vector_bytes()?;
        let cache = |index: usize, usual: i64| match self {
            Cpu::Host => cache(index).unwrap_or(usual),
            Cpu::Named { .. } => usual,
        };
        let few = if cfg!(target_arch = "x86_64") { vector_bytes < 64 } else { vector_bytes == 32 };
        let machine = Machine {
            vector_bytes: vector_bytes as i64,
            // 32 with AVX-512 and on other architectures.
            registers: if few { 16 } else { 32 },
            fuses: self.fuses()?,
            gathers: self.gathers()?,
            l1: cache(0, 32 << 10),
            l2: cache(2, 512 << 10),
            memories: Vec::new(),
            levels: Vec::new(),
        };
        Ok(machine.with_threads(threads))
    }

    /// Whether `feature` (LLVM's name, such as `avx512f`) is one of the host's.
    pub fn host_has(feature: &str) -> bool {
        llvm::host_cpu().1.split(',').any(|known| known.strip_prefix('+') == Some(feature))
    }
}
