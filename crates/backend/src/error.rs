//! What can go wrong between a module and its code.

use std::path::PathBuf;

/// An error of the backend.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The module breaks an invariant of the loop IR.
    #[error("invalid loop module: {0}")]
    Invalid(String),
    /// An exported name would not be a C identifier.
    #[error("`{0}` is not a C identifier")]
    Name(String),
    /// LLVM has no such CPU, or it is not one that was asked about.
    #[error("unknown CPU `{name}`; known are {known}")]
    UnknownCpu {
        /// The name given.
        name: String,
        /// The names that are accepted.
        known: String,
    },
    /// LLVM has no such CPU feature.
    #[error("unknown CPU feature `{0}`; features are written `+name` or `-name`")]
    UnknownFeature(String),
    /// MLIR rejected its input. An error of this crate or of the module.
    #[error("MLIR failed to {stage}: {}", .diagnostics.join("; "))]
    Mlir {
        /// What was being done.
        stage: &'static str,
        /// MLIR's diagnostics.
        diagnostics: Vec<String>,
    },
    /// LLVM failed.
    #[error("LLVM failed to {stage}: {message}")]
    Llvm {
        /// What was being done.
        stage: &'static str,
        /// LLVM's message.
        message: String,
    },
    /// Memory for a buffer could not be had.
    #[error("no memory for a buffer of {bytes} bytes")]
    Memory {
        /// How much was asked for; saturated.
        bytes: usize,
    },
    /// The C compiler, needed as a linker, could not be started.
    #[error("linking needs a C compiler: could not run `{program}`: {source}")]
    LinkerMissing {
        /// What was run; `CC` in the environment overrides it.
        program: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The C compiler failed.
    #[error("`{program}` failed to link {}: {message}", .path.display())]
    Linker {
        /// What was run.
        program: String,
        /// The file to be made.
        path: PathBuf,
        /// What it said.
        message: String,
    },
    /// A shared library could not be loaded.
    #[error("cannot load {}: {message}", .path.display())]
    Library {
        /// The file.
        path: PathBuf,
        /// What the loader said.
        message: String,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
