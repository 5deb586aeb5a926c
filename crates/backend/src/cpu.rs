//! The CPU that code is made for.

use crate::llvm;
use crate::{Error, Result};

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

/// What LLVM is told about the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub triple: String,
    pub cpu: String,
    pub features: String,
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

impl Cpu {
    /// Resolves names, so that LLVM sees only what it knows.
    pub(crate) fn target(&self) -> Result<Target> {
        let triple = llvm::default_triple();
        let (host, host_features) = llvm::host_cpu();
        match self {
            Cpu::Host => Ok(Target { triple, cpu: host, features: host_features }),
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
                Ok(Target { triple, cpu: name.clone(), features: features.join(",") })
            }
        }
    }

    /// Whether `feature` (LLVM's name, such as `avx512f`) is one of the host's.
    pub fn host_has(feature: &str) -> bool {
        llvm::host_cpu().1.split(',').any(|known| known.strip_prefix('+') == Some(feature))
    }
}
