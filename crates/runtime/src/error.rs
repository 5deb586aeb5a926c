//! What can go wrong between compiled code and its results.

use std::path::PathBuf;

use dastac_elements::{Element, NoMemory};
use dastac_loops::EvalError;

use crate::cuda::CudaError;
use crate::file_error::FileError;
use crate::human::human;
use crate::load_error::LoadError;

/// An error of the run time.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Code cannot be loaded.
    #[error("cannot load the code: {0}")]
    Load(#[from] LoadError),
    /// A program for cores inside of memory cannot be run.
    #[error(transparent)]
    Cores(#[from] dastac_pim::PimError),
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
         name its file in DASTAC_OMP, or compile for one thread"
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
    #[error("`{function}` takes {}, {found} given", dastac_elements::count(*expected, "parameter"))]
    ParameterCount {
        /// The function called.
        function: String,
        /// How many it takes.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// A call has the wrong number of buffers.
    #[error("`{function}` takes {}, {found} given", dastac_elements::count(*expected, "buffer"))]
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
    #[error("buffer `{buffer}` needs {}, {found} given", dastac_elements::count(*expected, "element"))]
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
    /// A file that is no compiled program of this version.
    #[error("not a compiled program that can be run: {0}")]
    File(#[from] FileError),
    /// Code for another architecture.
    #[error("the code is for {needed} processors, and this machine has one of {here}")]
    Architecture {
        /// The architecture that it is for.
        needed: String,
        /// This machine's.
        here: &'static str,
    },
    /// Code that uses features which this machine's processor lacks.
    #[error("the code uses features that this processor lacks: {0}")]
    Features(String),
    /// Code in a form that cannot be loaded.
    #[error(
        "code for the target `{target}` is no object for this processor: it can be neither loaded nor linked"
    )]
    NotLoadable {
        /// The target that it was generated for.
        target: String,
    },
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
    /// Sizes that the code is not for.
    #[error("the code was made for {0} alone")]
    OtherSizes(String),
    /// A divisor is not positive.
    #[error("at these sizes, `{text}`, which is divided by, is {value}; divisors are positive")]
    Divisor {
        /// The expression as the program writes it.
        text: String,
        /// Its value.
        value: i64,
    },
    /// An expression of symbols leaves the range of 64-bit integers.
    #[error("at these sizes, `{0}` is beyond 64 bits")]
    Beyond(String),
    /// An expression that is computed at every point of a loop nest may leave the range of 64-bit integers.
    #[error("`{text}` may overflow at these sizes")]
    Computed {
        /// The expression as the program writes it.
        text: String,
        /// Where it stands in the program's text: the first byte and the end.
        span: (usize, usize),
    },
    /// Positions do not fit 64 bits for these values of the symbols.
    #[error("the packed index of `{tensor}` overflows 64 bits for these sizes")]
    Overflow {
        /// The tensor.
        tensor: String,
    },
    /// Coordinates that a workspace keeps as one number, which leaves the range of 64-bit integers.
    #[error(
        "`{tensor}` comes together in a workspace over `{iterators}`, whose coordinates are one number there: at these \
        sizes it is beyond 64 bits"
    )]
    Keys {
        /// The result.
        tensor: String,
        /// The iterators of the levels in the workspace.
        iterators: String,
    },
    /// A number of elements beyond 64 bits.
    #[error("`{0}` has more elements than 64 bits can count for these sizes")]
    TooLarge(String),
    /// More memory than there is.
    #[error("{what} would take {} of memory, but {} are available", human(*.needed), human(*.available))]
    TooMuch {
        /// What would.
        what: String,
        /// Bytes needed.
        needed: u128,
        /// Bytes available.
        available: u64,
    },
    /// An input for a tensor that a rule computes.
    #[error("`{0}` is computed by a rule and cannot be given as an input")]
    NotAnInput(String),
    /// An output of a tensor that is not computed.
    #[error("`{0}` is an input, not computed: it cannot be asked for as an output")]
    NotComputed(String),
    /// A tensor in a format for one that has none.
    #[error("`{0}` has no `:F`: it is given as an array")]
    NotDynamic(String),
    /// A packed buffer for a tensor that has none.
    #[error("`{0}` has `:F`: it has no packed buffer")]
    Dynamic(String),
    /// A tensor with positions or coordinates beyond 32 bits, for a program that was built for those of 32 bits.
    #[error(
        "`{0}` has more elements than 32 bits can count: build the program for indices of 64 bits"
    )]
    Wide(String),
    /// Arrays of another format, for a tensor that is read where they stand.
    #[error("`{tensor}` is read in the format {expected}, but the arrays are of {found}")]
    Format {
        /// The tensor.
        tensor: String,
        /// The format that the program declares.
        expected: String,
        /// The arrays' format.
        found: String,
    },
    /// Positions or coordinates of another width, for a tensor that is read where it stands.
    #[error("`{tensor}` is read with indices of {expected} bits, but the arrays have {found}")]
    IndexWidth {
        /// The tensor.
        tensor: String,
        /// The width that the program takes.
        expected: u64,
        /// The width of the arrays.
        found: u64,
    },
    /// A hybrid format that is none.
    #[error("the parts of `{tensor}`: {error}")]
    Hybrid {
        /// The tensor.
        tensor: String,
        /// What is wrong with it.
        error: String,
    },
    /// A tensor that cannot be stored.
    #[error("`{tensor}`: {source}")]
    Storage {
        /// The tensor.
        tensor: String,
        /// Why.
        source: dastac_formats::StorageError,
    },
    /// A tensor that cannot be stored in the format in which a rule reads it.
    #[error("a rule reads a copy of `{tensor}` in {format}, which is not made: {source}")]
    Copy {
        /// The tensor.
        tensor: String,
        /// The copy's format.
        format: String,
        /// Why.
        source: Box<dastac_formats::StorageError>,
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
        "the input contradicts the declared structure of `{tensor}`: at {index:?} it must be {}, but it is {}",
        dastac_elements::Decimal(*expected), dastac_elements::Decimal(*found)
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
    /// The code that moves tensors between dense arrays and packed buffers was not loaded.
    #[error("the program was loaded without the code that packs and unpacks dense arrays")]
    NoMovement,
    /// A device cannot do what it is asked for.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// Memory for a buffer could not be had.
    #[error(transparent)]
    Memory(#[from] NoMemory),
}

/// The result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;
