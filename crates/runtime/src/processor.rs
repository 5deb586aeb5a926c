//! Whether this machine's processor is what code needs.

use dastac_target::Requirements;

use crate::error::{Error, Result};

/// Makes a function that says whether this processor has a feature, or `None` if generated code never uses it.
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

/// Fails where this machine lacks what code needs. Features that only a system's kernel uses are not looked at.
///
/// # Errors
/// Another architecture; features that this processor lacks.
pub(crate) fn check(requires: &Requirements) -> Result<()> {
    let here = std::env::consts::ARCH;
    if requires.architecture != here {
        let needed = requires.architecture.clone();
        return Err(Error::Architecture { needed, here });
    }
    let missing = requires.features.iter().filter(|feature| has(feature) == Some(false));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Error::Features(missing.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_is_refused() {
        let of = |architecture: &str, features: &[&str]| Requirements {
            architecture: architecture.to_owned(),
            features: features.iter().map(|feature| (*feature).to_owned()).collect(),
        };
        let own = std::env::consts::ARCH;
        assert!(check(&of(own, &[])).is_ok());
        assert!(check(&of(own, &["cldemote"])).is_ok(), "a feature that code is not generated for");
        assert!(matches!(check(&of("riscv32", &[])), Err(Error::Architecture { .. })));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_missing_feature_is_named() {
        let requires = Requirements {
            architecture: std::env::consts::ARCH.to_owned(),
            features: ["avx512fp16", "sse3"].map(str::to_owned).into(),
        };
        match check(&requires) {
            Ok(()) => assert_eq!(has("avx512fp16"), Some(true)),
            Err(error) => {
                let text = "the code uses features that this processor lacks: avx512fp16";
                assert_eq!(error.to_string(), text);
            }
        }
    }
}
