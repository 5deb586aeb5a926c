//! Processors by name, and what each can do.

use dastac_loops::machine::Machine;
use dastac_target::TargetError;

use super::caches::Caches;
use super::libmvec;
use crate::Result;
use crate::llvm::{self, Spec};

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

/// CPUs by name whose gathers with AVX-512 are faster than loads that put one element each into a vector: Intel's.
/// Those of AMD are sequences of such loads, and take longer than they do one by one (Zen 4: 1.3 to 3 times).
const FAST_GATHERS: &[&str] = &[
    "skylake-avx512",
    "cascadelake",
    "cooperlake",
    "icelake-client",
    "icelake-server",
    "tigerlake",
    "rocketlake",
    "sapphirerapids",
    "emeraldrapids",
    "graniterapids",
    "graniterapids-d",
    "diamondrapids",
];

/// CPUs by name that have AVX2 and not AVX-512.
const AVX2: &[&str] =
    &["x86-64-v3", "haswell", "broadwell", "skylake", "alderlake", "znver1", "znver2", "znver3"];

/// A processor of this computer's architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    /// How LLVM names it.
    pub(crate) spec: Spec,
    /// Whether it is the one that this process runs on.
    host: bool,
}

impl Processor {
    /// The one that this process runs on, with all of its features.
    pub fn host() -> Processor {
        let (cpu, features) = llvm::host_cpu();
        Processor {
            spec: Spec { triple: llvm::default_triple(), cpu, features, embedded: false },
            host: true,
        }
    }

    /// One by LLVM's name, with features to add or leave out, each `+name` or `-name`.
    ///
    /// # Errors
    /// A name or feature that LLVM does not know.
    pub fn named(name: &str, features: &[&str]) -> Result<Processor> {
        let Processor { spec: host, .. } = Processor::host();
        if !KNOWN.contains(&name) && name != host.cpu {
            let (name, known) = (name.to_owned(), KNOWN.join(", "));
            return Err(TargetError::UnknownCpu { name, known });
        }
        // LLVM lists every feature that it could have found on the host, present or not.
        let known: Vec<&str> = host.features.split(',').map(|f| &f[1.min(f.len())..]).collect();
        for feature in features {
            let bare = feature.strip_prefix(['+', '-']);
            if !bare.is_some_and(|bare| known.contains(&bare)) {
                return Err(TargetError::UnknownFeature((*feature).to_owned()));
            }
        }
        let spec = Spec {
            triple: host.triple,
            cpu: name.to_owned(),
            features: features.join(","),
            embedded: false,
        };
        Ok(Processor { spec, host: false })
    }

    /// Whether `feature` (LLVM's name, such as `avx512f`) is one of the host's.
    pub fn host_has(feature: &str) -> bool {
        llvm::host_cpu().1.split(',').any(|known| known.strip_prefix('+') == Some(feature))
    }

    /// The features that code for it may use, as LLVM names them: what another machine must have to run the code.
    pub(crate) fn features(&self) -> Vec<String> {
        let listed = self.spec.features.split(',').filter_map(|feature| feature.strip_prefix('+'));
        let wide: &[&str] = match self.vector_bytes() {
            64 => &["avx2", "fma", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"],
            32 => &["avx2", "fma"],
            _ => &[],
        };
        // The host's are all listed.
        let wide = wide.iter().copied().filter(|_| !self.host);
        listed.chain(wide).map(str::to_owned).collect()
    }

    /// Bytes of a vector register: 64 with AVX-512, 32 with AVX2, else 16.
    fn vector_bytes(&self) -> i64 {
        let listed = |feature| self.spec.lists(feature);
        let among = |names: &[&str]| names.contains(&self.spec.cpu.as_str());
        if listed("avx512f").unwrap_or(among(AVX512)) {
            64
        } else if listed("avx2").unwrap_or(among(AVX512) || among(AVX2)) {
            32
        } else {
            16
        }
    }

    /// Whether it multiplies and adds in one instruction.
    fn fuses(&self) -> bool {
        let known = [AVX512, AVX2].concat().contains(&self.spec.cpu.as_str());
        !cfg!(target_arch = "x86_64") || self.spec.lists("fma").unwrap_or(known)
    }

    /// Whether a gather takes less time than as many loads. The mitigation of CVE-2022-40982 makes it slow.
    fn gathers_fast(&self) -> bool {
        let mitigated = || {
            let path = "/sys/devices/system/cpu/vulnerabilities/gather_data_sampling";
            std::fs::read_to_string(path).is_ok_and(|text| text.starts_with("Mitigation"))
        };
        let known = FAST_GATHERS.contains(&self.spec.cpu.as_str());
        known && self.vector_bytes() == 64 && !(self.host && mitigated())
    }

    /// Vector registers: 32 with AVX-512 and on other architectures.
    fn registers(&self) -> i64 {
        let bytes = self.vector_bytes();
        let few = if cfg!(target_arch = "x86_64") { bytes < 64 } else { bytes == 32 };
        if few { 16 } else { 32 }
    }

    /// What passes may know of it without a measurement: caches are those of most processors, unless it is the host.
    ///
    /// It gathers where one instruction does so under a mask, which is with AVX-512. (On many processors without it,
    /// LLVM makes branches of that.)
    pub fn machine(&self) -> Machine {
        let Caches { l1, l2, last } = if self.host { Caches::of_host() } else { Caches::USUAL };
        Machine {
            vector_bytes: self.vector_bytes(),
            registers: self.registers(),
            fuses: self.fuses(),
            gathers: self.vector_bytes() == 64,
            packs: if self.gathers_fast() { 1 } else { Machine::PLAIN.packs },
            l1,
            l2,
            last,
            // Three streams of half a cache each do not stay in it.
            stream: l2 / 2 * 3,
            multiply_adds: self.vector_bytes() / 4,
            read_l1: self.vector_bytes(),
            read_l2: 32,
            read_last: 16,
            read_memory: 8,
            vector_functions: libmvec::functions().to_vec(),
            // Lines, pages and latencies are alike on all of them.
            ..Machine::PLAIN
        }
    }
}
