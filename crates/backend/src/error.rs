//! What can go wrong between a module and a finished call.

use dastac_loops::EvalError;
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
    /// The OpenMP run time is not installed.
    #[error(
        "parallel code needs the OpenMP library libomp, which was not found (tried {tried}); install libomp-22-dev, name \
         its file in DASTAC_OMP, or compile for one thread (--threads 1)"
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
        expected: &'static str,
        /// The element type given.
        found: &'static str,
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
