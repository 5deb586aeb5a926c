//! Generated code as plain data: nothing in it refers to the compiler or to the machine that it was made on.

use std::time::Duration;

use dastac_loops::abi::Abi;

/// Code with all that a caller or a loader must know.
#[derive(Clone, Debug, PartialEq)]
pub struct Artifact {
    /// The name of the target that it was generated for.
    pub target: String,
    /// The code.
    pub code: Code,
    /// The interface of its functions.
    pub abi: Abi,
    /// Libraries that the code calls and that must be loaded first.
    pub libraries: Vec<Library>,
    /// Features that the code may use beyond those that each machine of its kind has, in the code generator's words.
    pub features: Vec<String>,
}

/// Code in some form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Which form.
    pub kind: CodeKind,
    /// The contents of the file that it would be.
    pub bytes: Vec<u8>,
}

/// The forms that code has; each needs another loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeKind {
    /// A relocatable object file for the processor and system of the target.
    Object,
    /// The text of a program, which another compiler translates.
    Text,
}

/// A library that generated code may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Library {
    /// OpenMP's run-time library, with the interface of LLVM's.
    OpenMp,
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
