//! Generated code as plain data: nothing in it refers to the compiler or to the machine that it was made on.

use std::time::Duration;

use dastac_loops::abi::Abi;
use serde::{Deserialize, Serialize};

/// Code with all that a caller or a loader must know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    /// The name of the target that it was generated for.
    pub target: String,
    /// The code.
    pub code: Code,
    /// The interface of its functions.
    pub abi: Abi,
    /// Libraries that the code calls and that must be loaded first.
    pub libraries: Vec<Library>,
    /// What the code needs of the machine that runs it.
    pub requires: Requirements,
}

/// Code in some form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// Which form.
    pub kind: CodeKind,
    /// The contents of the file that it would be. They are not part of the serialised description: a file keeps them
    /// as they are, behind it.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// The forms that code has; each needs another loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CodeKind {
    /// A relocatable object file for the processor and system of the target.
    Object,
    /// The text of a program, which another compiler translates.
    Text,
    /// An executable for cores inside of memory, with the plan of a host that runs it.
    Cores,
    /// Kernels for NVIDIA's devices and what the host does for them: a [`Grid`](crate::launch::Grid) as JSON.
    Cuda,
}

/// A library that generated code may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Library {
    /// OpenMP's run-time library, with the interface of LLVM's.
    OpenMp,
    /// Mathematical functions of the C library, and those for vectors that glibc has on x86-64 (libmvec).
    Math,
}

/// What code needs of the machine that runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirements {
    /// The architecture of its processor, in Rust's words: `x86_64`.
    pub architecture: String,
    /// Features beyond those that every processor of the architecture has, in the code generator's words: `avx2`.
    pub features: Vec<String>,
}

impl Artifact {
    /// Whether the code calls a library.
    pub fn needs(&self, library: Library) -> bool {
        self.libraries.contains(&library)
    }
}

/// An artifact, and how it came about.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The artifact.
    pub artifact: Artifact,
    /// How long each step took, in order.
    pub timings: Vec<(&'static str, Duration)>,
}
