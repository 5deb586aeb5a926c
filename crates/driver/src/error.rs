//! All that can go wrong from text to result.

use dastac_stur::Diagnostic;

/// An error of the driver or a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program is at fault; with spans into its source.
    #[error("{}", .0.first().map_or("the program has errors", |d| &d.message))]
    Program(Vec<Diagnostic>),
    /// isl or Barvinok failed.
    #[error(transparent)]
    Poly(dastac_poly::Error),
    /// A layout could not be found or does not fit.
    #[error(transparent)]
    Layout(dastac_layout::LayoutError),
    /// Loops could not be built.
    #[error(transparent)]
    Sched(dastac_sched::SchedError),
    /// Memory for a tensor could not be had.
    #[error(transparent)]
    NoMemory(#[from] dastac_elements::NoMemory),
    /// There is no code for the target.
    #[error(transparent)]
    Target(#[from] dastac_target::TargetError),
    /// A shared library could not be made.
    #[error(transparent)]
    Link(#[from] dastac_backend::link::LinkError),
    /// Code could not be loaded or called.
    #[error(transparent)]
    Runtime(#[from] dastac_runtime::Error),
    /// A pass left loops that violate the invariants of the loop IR.
    #[error(transparent)]
    Pass(#[from] dastac_loops::passes::PassError),
    /// A name that no pass has.
    #[error(transparent)]
    UnknownPass(#[from] dastac_loops::passes::UnknownPass),
    /// The reference evaluator could not run.
    #[error("the reference evaluator: {0}")]
    Reference(String),
    /// A symbol has no value.
    #[error("symbol `{0}` has no value")]
    MissingSymbol(String),
    /// A value for something that is not a symbol.
    #[error("the program has no symbol `{0}`")]
    UnknownSymbol(String),
    /// A symbol's value is negative.
    #[error("symbol `{name}` is {value}; sizes and positions are not negative")]
    NegativeSymbol {
        /// The symbol.
        name: String,
        /// Its value.
        value: i64,
    },
    /// A tensor that the program does not have.
    #[error("the program has no tensor `{0}`")]
    UnknownTensor(String),
    /// An input for a tensor that a rule computes.
    #[error("`{0}` is computed by a rule and cannot be given as an input")]
    NotAnInput(String),
    /// An output of a tensor that is not computed.
    #[error("`{0}` is an input, not computed: it cannot be asked for as an output")]
    NotComputed(String),
    /// A tensor in a format for one that has none.
    #[error("`{0}` has no `:F`: it is given as an array")]
    NotDynamic(String),
    /// A tensor with positions or coordinates beyond 32 bits, for a program that was built for those of 32 bits.
    #[error(
        "`{0}` has more elements than 32 bits can count: build the program for indices of 64 bits"
    )]
    Wide(String),
    /// A dynamic tensor that cannot be stored.
    #[error("`{tensor}`: {source}")]
    Storage {
        /// The tensor.
        tensor: String,
        /// Why.
        source: dastac_formats::StorageError,
    },
    /// An array of the wrong shape.
    #[error(
        "`{tensor}` must have the shape {expected:?} for these sizes, but the array's is {found:?}"
    )]
    Shape {
        /// The tensor.
        tensor: String,
        /// Its box.
        expected: Vec<usize>,
        /// What was given.
        found: Vec<usize>,
    },
    /// An input whose values are not what its declared structure says.
    #[error(
        "the input contradicts the declared structure of `{tensor}`: at {index:?} it must be {expected}, but it is \
        {found}"
    )]
    Contradiction {
        /// The tensor.
        tensor: String,
        /// The first such index in C order.
        index: Vec<usize>,
        /// What the structure says.
        expected: f64,
        /// What the array has.
        found: f64,
    },
    /// More memory than there is.
    #[error("{what} would take {} of memory, but {} are available", human(*.needed), human(*.available))]
    Memory {
        /// What would.
        what: String,
        /// Bytes needed.
        needed: u128,
        /// Bytes available.
        available: u64,
    },
    /// An expression of symbols without a value at these sizes.
    #[error("at these sizes, {0}")]
    Symbols(#[from] dastac_stur::affine::ValueError),
    /// A number of elements beyond 64 bits.
    #[error("`{0}` has more elements than 64 bits can count for these sizes")]
    TooLarge(String),
}

/// Bytes for people.
pub fn human(bytes: impl Into<u128>) -> String {
    let bytes: u128 = bytes.into();
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut unit = 0;
    let mut scale: u128 = 1;
    while unit + 1 < units.len() && bytes >= scale * 1024 {
        scale *= 1024;
        unit += 1;
    }
    if unit == 0 {
        return format!("{bytes} B");
    }
    let tenths = bytes.saturating_mul(10) / scale;
    format!("{}.{} {}", tenths / 10, tenths % 10, units[unit])
}

impl From<dastac_stur::infer::InferError> for Error {
    fn from(error: dastac_stur::infer::InferError) -> Self {
        match error {
            dastac_stur::infer::InferError::User(diagnostics) => Error::Program(diagnostics),
            dastac_stur::infer::InferError::Poly(error) => Error::Poly(error),
        }
    }
}

impl From<dastac_poly::Error> for Error {
    fn from(error: dastac_poly::Error) -> Self {
        Error::Poly(error)
    }
}

impl From<dastac_layout::LayoutError> for Error {
    fn from(error: dastac_layout::LayoutError) -> Self {
        match error {
            dastac_layout::LayoutError::Poly(error) => Error::Poly(error),
            dastac_layout::LayoutError::Program(diagnostics) => Error::Program(diagnostics),
            error => Error::Layout(error),
        }
    }
}

impl From<dastac_sched::SchedError> for Error {
    fn from(error: dastac_sched::SchedError) -> Self {
        match error {
            dastac_sched::SchedError::Poly(error) => Error::Poly(error),
            dastac_sched::SchedError::Layout(error) => error.into(),
            error => Error::Sched(error),
        }
    }
}
