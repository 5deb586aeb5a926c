//! What can go wrong with a measurement.

use std::path::PathBuf;

/// An error of a measurement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// dastac itself failed.
    #[error(transparent)]
    Driver(#[from] dastac_driver::Error),
    /// Code could not be run.
    #[error(transparent)]
    Runtime(#[from] dastac_runtime::Error),
    /// More memory than there is.
    #[error(transparent)]
    Memory(#[from] dastac_elements::NoMemory),
    /// A library of linear algebra could not be called.
    #[error(transparent)]
    Blas(#[from] crate::bindings::blas::Error),
    /// A system that dastac is compared with failed.
    #[error("{0}")]
    Peer(String),
    /// A module for another compiler breaks an invariant of the loop IR.
    #[error("invalid loop module: {0}")]
    Invalid(String),
    /// The file that describes the machine is wrong.
    #[error("{0}")]
    Machine(String),
    /// A compiler could not be started.
    #[error("comparing needs a C compiler: could not run `{program}`: {source}")]
    CompilerMissing {
        /// What was run; `CC` in the environment overrides it.
        program: String,
        /// Why it failed.
        source: std::io::Error,
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
    /// Another compiler, for comparison, failed.
    #[error("`{program}` failed with {}: {message}", .path.display())]
    Tool {
        /// What was run.
        program: String,
        /// What it was given.
        path: PathBuf,
        /// What it said.
        message: String,
    },
}
