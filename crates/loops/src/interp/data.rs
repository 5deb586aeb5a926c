//! What the interpreter takes and what it says: contents of buffers, and errors.

use crate::eval::EvalError;
use crate::ir::Element;

/// The contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Of a buffer of floats, rounded when stored; of one of complex numbers, the two parts of each element.
    Float(Vec<f64>),
    /// Of a buffer of integers.
    Int(Vec<i64>),
}

impl Data {
    /// Zeros for a buffer of `len` elements.
    pub fn zeros(element: Element, len: usize) -> Data {
        match element {
            element if element.is_integer() => Data::Int(vec![0; len]),
            element => Data::Float(vec![0.0; len * element.parts()]),
        }
    }

    /// Number of elements, complex ones counted twice.
    pub fn len(&self) -> usize {
        match self {
            Data::Float(data) => data.len(),
            Data::Int(data) => data.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of a floating-point buffer.
    pub fn as_float(&self) -> Option<&[f64]> {
        match self {
            Data::Float(data) => Some(data),
            Data::Int(_) => None,
        }
    }

    /// The elements of an integer buffer.
    pub fn as_int(&self) -> Option<&[i64]> {
        match self {
            Data::Float(_) => None,
            Data::Int(data) => Some(data),
        }
    }
}

/// Why a function could not be run to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterpError {
    /// No such function.
    #[error("there is no function `{0}`")]
    Function(String),
    /// Not one value for each symbol.
    #[error("{expected} symbols, {found} values")]
    Symbols {
        /// Symbols of the module.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// Not one content for each argument.
    #[error("{expected} arguments, {found} buffers")]
    Buffers {
        /// Arguments of the function.
        expected: usize,
        /// Buffers given.
        found: usize,
    },
    /// Integers for a floating-point buffer, or the other way round.
    #[error("buffer `{0}` holds elements of another kind")]
    Kind(String),
    /// A buffer is shorter than its size.
    #[error("buffer `{buffer}` has {found} of {expected} elements")]
    Length {
        /// The buffer's name.
        buffer: String,
        /// Its size.
        expected: i64,
        /// Elements given.
        found: usize,
    },
    /// A buffer's size is negative.
    #[error("the size of buffer `{buffer}` is {size}")]
    Size {
        /// The buffer's name.
        buffer: String,
        /// Its size.
        size: i64,
    },
    /// A subscript is outside the buffer.
    #[error("{buffer}[{index}] is outside its {size} elements")]
    Bounds {
        /// The buffer's name.
        buffer: String,
        /// The subscript.
        index: i64,
        /// Its size.
        size: usize,
    },
    /// An integer expression has no value.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// Two iterations of a parallel loop touch an element, and one writes it.
    #[error("iterations of a parallel loop collide at {buffer}[{index}]")]
    Race {
        /// The buffer's name.
        buffer: String,
        /// The subscript.
        index: usize,
    },
    /// An element of shared memory is read before it is written.
    #[error("{buffer}[{index}] is shared memory that nothing was written to")]
    Unset {
        /// The buffer's name.
        buffer: String,
        /// The subscript.
        index: usize,
    },
    /// More statements and terms than allowed.
    #[error("more than {0} steps")]
    Steps(u64),
    /// The function violates an invariant.
    #[error("the function is not valid: {0}")]
    Invalid(&'static str),
}
