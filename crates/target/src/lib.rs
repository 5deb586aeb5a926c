//! The boundary between loops and machines: what a target is.
//!
//! A [`Target`] describes its machine, names the passes that make loops fit it, refuses what it cannot take, and
//! generates code. Loops come in as the loop IR, an [`Artifact`] goes out: code, the interface of its functions and the
//! libraries that it calls, as plain data. `docs/targets.md` says what a new target has to bring.
//!
//! - [`Target`]: the trait. [`CodeOptions`]: what a user may ask of every target.
//! - [`Artifact`]: generated code. [`legal`]: checks that targets share. [`mod@file`]: machines in text files.
//! - [`launch`]: what a host does for kernels on a device.
//! - [`TargetError`], [`Illegal`]: what can go wrong.
//!
//! Invariants:
//! - Nothing here depends on a code generator: a target for another machine needs neither LLVM nor MLIR.
//! - A target sees loops only. It never hears of tensors, formats, polynomials or sets.
//! - Equal modules and options give equal artifacts on one machine.

mod artifact;
mod error;
pub mod launch;
pub mod legal;
mod target;

pub use artifact::{Artifact, Code, CodeKind, Generated, Library, Requirements};
pub use dastac_loops::abi::{Abi, Signature};
pub use dastac_loops::machine_file as file;
pub use error::{Illegal, TargetError};
pub use target::{CodeOptions, OptLevel, Stage, Target};
