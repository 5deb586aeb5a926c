//! What code needs of a processor.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The processor that code is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    /// Its architecture, in Rust's words: `x86_64`.
    pub architecture: String,
    /// Features beyond those that each processor of the architecture has, in LLVM's words: `avx2`.
    pub features: Vec<String>,
}

/// Makes a function that says whether this processor has a feature; nothing for one that code is not generated for.
macro_rules! features {
    ($($name:literal => $detected:tt,)*) => {
        /// Features that generated code uses, each in LLVM's words and in Rust's.
        #[cfg(target_arch = "x86_64")]
        fn has(feature: &str) -> Option<bool> {
            match feature {
                $($name => Some(std::arch::is_x86_feature_detected!($detected)),)*
                _ => None,
            }
        }
    };
}

features! {
    "sse3" => "sse3",
    "ssse3" => "ssse3",
    "sse4.1" => "sse4.1",
    "sse4.2" => "sse4.2",
    "popcnt" => "popcnt",
    "avx" => "avx",
    "avx2" => "avx2",
    "fma" => "fma",
    "f16c" => "f16c",
    "bmi" => "bmi1",
    "bmi2" => "bmi2",
    "lzcnt" => "lzcnt",
    "movbe" => "movbe",
    "avx512f" => "avx512f",
    "avx512bw" => "avx512bw",
    "avx512cd" => "avx512cd",
    "avx512dq" => "avx512dq",
    "avx512vl" => "avx512vl",
    "avx512vbmi" => "avx512vbmi",
    "avx512vbmi2" => "avx512vbmi2",
    "avx512vnni" => "avx512vnni",
    "avx512ifma" => "avx512ifma",
    "avx512bitalg" => "avx512bitalg",
    "avx512vpopcntdq" => "avx512vpopcntdq",
    "avx512bf16" => "avx512bf16",
    "avx512fp16" => "avx512fp16",
    "gfni" => "gfni",
}

#[cfg(not(target_arch = "x86_64"))]
fn has(_: &str) -> Option<bool> {
    None
}

impl Processor {
    /// Fails where this machine is not such a processor. Features that only a system's kernel uses are not looked at.
    ///
    /// # Errors
    /// Another architecture; features that this processor lacks.
    pub fn check(&self) -> Result<()> {
        let here = std::env::consts::ARCH;
        if self.architecture != here {
            let needed = self.architecture.clone();
            return Err(Error::Processor { needed, here: here.to_owned() });
        }
        let missing = self.features.iter().filter(|feature| has(feature) == Some(false));
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        match missing.is_empty() {
            true => Ok(()),
            false => {
                let needed = missing.join(", ");
                Err(Error::Processor { needed, here: format!("{here} without it") })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_is_refused() {
        let own = std::env::consts::ARCH.to_owned();
        assert!(Processor { architecture: own.clone(), features: vec![] }.check().is_ok());
        let unknown = vec!["cldemote".to_owned()];
        assert!(Processor { architecture: own, features: unknown }.check().is_ok());
        let other = Processor { architecture: "riscv32".into(), features: vec![] };
        assert!(matches!(other.check(), Err(Error::Processor { .. })));
    }
}
