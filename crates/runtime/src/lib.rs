//! Loads compiled programs and runs them. No part of the compiler is here, and none is needed: neither isl nor MLIR nor
//! LLVM.
//!
//! - [`package::Package`]: a program with its code, as it stands in a file. It is loaded as an [`Executable`], which
//!   any number of threads share.
//! - [`Instance`]: an executable at given sizes, with its memory: inputs are set, bound or lent, the computation is
//!   run, results are read. Each thread has its own.
//! - [`Program`]: what code must be given, as plain data: tensors, sizes and formats as expressions of symbols.
//! - [`Code`]: machine code in this process, from a generated artifact ([`Code::load`]) or a shared library
//!   ([`Code::open`]). Its functions are called with [`Argument`]s, slices that are borrowed from the caller for the
//!   time of the call. [`openmp`] finds the library that parallel loops call.
//! - [`measure`]: the programs of a folder, run and compared with expected results.
//! - [`cuda`]: kernels on devices of NVIDIA's, through their driver.
//! - [`cache::Cache`]: a folder of compiled programs, which processes keep for each other.
//!
//! Conventions: dense arrays are in C order and have the shape of the tensor's box; a scalar has the shape `[]`.
//! Elements have the tensor's type, or are 64-bit floats where a function says so. Sizes of memory are bytes; times are
//! those of the computation alone, without packing. An [`Error`] names the tensor, buffer or symbol that is at fault.
//!
//! Invariants:
//! - Many threads may call one [`Code`] at the same time; how many threads parallel loops run on is each call's own
//!   business.
//! - Code that keeps within its buffers' sizes (an invariant of the loop IR) never touches memory that the caller did
//!   not pass: each call compares its buffers with the interface.
//! - What a file says about itself is checked before it is believed; its code is trusted.

// The loader maps memory and patches code, and calls of that code have no safe form.
#![allow(unsafe_code)]

mod argument;
mod bound;
pub mod cache;
mod code;
pub mod cuda;
mod error;
mod executable;
mod file_error;
mod human;
mod instance;
mod load_error;
mod loader;
pub mod measure;
mod memory;
pub mod openmp;
pub mod package;
mod processor;
pub mod program;
pub mod random;

pub use argument::Argument;
pub use bound::{Conversion, build, is_wide};
pub use code::{Code, Threads};
pub use dastac_loops::abi::{Abi, Signature};
pub use dastac_pim as pim;
pub use error::{Error, Result};
pub use executable::{Executable, Movement, Moves};
pub use file_error::FileError;
pub use human::human;
pub use instance::{
    DEFAULT_DENSITY, Deviation, Instance, Substitute, TakenResult, stream, unflatten,
};
pub use load_error::LoadError;
pub use memory::{available_memory, check_memory};
pub use program::{Program, Role, TensorFacts, TensorId, symbol_values};
