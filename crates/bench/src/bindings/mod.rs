//! The libraries and tools of others that measurements call: BLAS, TACO, MLIR's sparse compiler, C compilers.

// Libraries of others have no safe form.
#![allow(unsafe_code)]

pub mod blas;
pub mod c;
pub mod sparsifier;
pub mod taco;

#[cfg(test)]
mod tests;
