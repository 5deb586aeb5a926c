//! What can go wrong between compiled code and its results.

use std::path::PathBuf;

use dastac_elements::{Element, NoMemory};
use dastac_loops::EvalError;

use crate::load_error::LoadError;

/// An error of the run time.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Code cannot be loaded.
    #[error("cannot load the code: {0}")]
    Load(#[from] LoadError),
    /// A shared library cannot be loaded.
    #[error("cannot load {}: {message}", .path.display())]
    Library {
        /// The file.
        path: PathBuf,
        /// What the system's loader said.
        message: String,
    },
    /// OpenMP's run-time library is not installed.
    #[error(
        "parallel code needs the OpenMP library libomp, which was not found (tried {tried}); install libomp-22-dev, \
         name \
         its file in DASTAC_OMP, or compile for one thread"
    )]
    OpenMp {
        /// Where it was looked for.
        tried: String,
    },
    /// No function of that name was compiled.
    #[error("no function `{name}`; there are {known}")]
    UnknownFunction {
        /// The name given.
        name: String,
        /// The functions that exist.
        known: String,
    },
    /// An interface names buffers that it does not have.
    #[error("`{function}` takes a buffer that its interface does not have")]
    Interface {
        /// The function called.
        function: String,
    },
    /// A call has the wrong number of parameters.
    #[error("`{function}` takes {expected} parameters, {found} given")]
    ParameterCount {
        /// The function called.
        function: String,
        /// How many it takes.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// A call has the wrong number of buffers.
    #[error("`{function}` takes {expected} buffers, {found} given")]
    BufferCount {
        /// The function called.
        function: String,
        /// How many it takes.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// A buffer has the wrong element type.
    #[error("buffer `{buffer}` has elements of type {expected}, {found} given")]
    ElementType {
        /// The buffer.
        buffer: String,
        /// Its element type.
        expected: Element,
        /// The element type given.
        found: Element,
    },
    /// A read-only slice was given for a buffer that is stored to.
    #[error("buffer `{buffer}` is stored to by `{function}`, a read-only slice was given")]
    ReadOnly {
        /// The function called.
        function: String,
        /// The buffer.
        buffer: String,
    },
    /// A buffer has too few elements.
    #[error("buffer `{buffer}` needs {expected} elements, {found} given")]
    TooShort {
        /// The buffer.
        buffer: String,
        /// How many elements it needs for these parameters.
        expected: i64,
        /// How many were given.
        found: usize,
    },
    /// A buffer's size has no value for these parameters.
    #[error("the size of buffer `{buffer}` has no value: {source}")]
    Size {
        /// The buffer.
        buffer: String,
        /// Why.
        source: EvalError,
    },
    /// A buffer's size is negative for these parameters.
    #[error("the size of buffer `{buffer}` would be {size}")]
    NegativeSize {
        /// The buffer.
        buffer: String,
        /// Its size.
        size: i64,
    },
    /// Memory for a buffer could not be had.
    #[error(transparent)]
    Memory(#[from] NoMemory),
}

/// The result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;
