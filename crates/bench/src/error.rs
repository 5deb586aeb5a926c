//! What can go wrong with a measurement.

use std::path::PathBuf;

/// An error of a measurement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// dastac itself failed.
    #[error(transparent)]
    Driver(#[from] dastac_driver::Error),
    /// Code could not be generated, loaded or called.
    #[error(transparent)]
    Backend(#[from] dastac_backend::Error),
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
