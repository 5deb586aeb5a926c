//! The loop IR of dastac, where structured and sparse compilation meet.
//!
//! - [`ir`]: the data types and their invariants, re-exported here.
//! - [`place`]: memory spaces and levels of parallelism.
//! - [`machine`]: what passes know of the machine.
//! - [`abi`]: what callers of compiled functions must know.
//! - [`build`], [`elementwise`]: constructors that fold constants. [`computed`]: the types of values. [`visit`]:
//!   traversal and substitution. [`eval`]: values of integer expressions.
//! - [`print`](mod@print) and [`parse`](mod@parse): the text form, `parse(print(m)) == m.canonical()`.
//! - [`verify`](mod@verify): the invariants. [`interp`]: the reference interpreter. [`count`]: operations executed.
//!   [`trips`]: functions that count their loops' iterations.
//! - [`json`]: parts of it as data in files.
//! - [`hints`]: what schedules and passes say about loops.
//! - [`passes`]: rewrites of a module, in one registry.

pub mod abi;
pub mod build;
pub mod canonical;
pub mod computed;
pub mod count;
pub mod elementwise;
pub mod eval;
mod fixed;
pub mod hints;
pub mod ids;
pub mod interp;
pub mod ir;
pub mod json;
pub mod lanes;
mod lex;
pub mod linear;
pub mod machine;
pub mod machine_file;
pub mod parse;
pub mod passes;
pub mod place;
pub mod polynomial;
pub mod print;
mod range;
pub mod reduction;
pub mod rename;
pub mod trips;
pub mod unroll;
pub mod verify;
pub mod visit;

#[cfg(test)]
mod random;

pub use eval::EvalError;
pub use hints::{Hint, Hints};
pub use interp::{Data, InterpError};
pub use ir::*;
pub use parse::{ParseError, parse};
pub use passes::{Context, PASSES, Pass};
pub use verify::{VerifyError, Violation, verify};
