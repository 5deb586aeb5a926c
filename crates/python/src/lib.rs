//! The Python package's part in Rust: the module `dastac._dastac`.
//!
//! Invariants:
//! - Arrays of Python are borrowed through the buffer protocol for the time of a call, which keeps them alive and in
//!   place; what they say of themselves (type, shape, strides, alignment) is compared before it is believed.
//! - Compilation and runs release the interpreter's lock; what they touch is plain memory.
//! - No argument ends the process: everything that does not fit is an exception.

// Borrowed buffers have no safe form.
#![allow(unsafe_code)]

mod arguments;
mod buffer;
mod call;
mod code;
mod command;
mod compile;
mod errors;
mod made;
mod memory;
mod outcome;
mod pool;
mod results;
mod run;

use pyo3::prelude::*;

#[pymodule]
mod _dastac {
    #[pymodule_export]
    use crate::code::Program;
    #[pymodule_export]
    use crate::command::{configure, has_openmp, main};
    #[pymodule_export]
    use crate::compile::{compile, describe};
    #[pymodule_export]
    use crate::memory::Block;
}
