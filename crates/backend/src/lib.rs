//! Loop IR to machine code, through MLIR and LLVM.
//!
//! [`CpuTarget`] is the target of this computer's processor, [`PimTarget`] that of cores inside of memory.
//!
//! Data flows one way: `emit` prints a [`dastac_loops::Module`] as MLIR in the `affine`, `scf`, `arith` and `memref`
//! dialects, `mlir` lowers that to MLIR's LLVM dialect, `llvm` makes optimised machine code of it for one processor.
//! From the artifact
//! - the run time (`dastac-runtime`) loads the object into a process and calls its functions,
//! - [`link::shared_library`] makes a shared library, which [`header::c_header`] declares to C.
//!
//! Invariants:
//! - Equal modules and options give equal text and code on one machine.
//! - Nothing is printed: MLIR's and LLVM's diagnostics come back inside [`TargetError`](dastac_target::TargetError).
//! - A module whose accesses stay within its buffers' sizes (an invariant of the loop IR) never touches
//!   memory that the caller did not pass: the run time checks every buffer against the artifact's interface.
//!
//! # Calling convention
//!
//! Function `f` of the module becomes two exported C functions, named with
//! [`CodeOptions::prefix`](dastac_target::CodeOptions::prefix) in front:
//! - `void f(const int64_t *params, T0 *b0, T1 *b1, ...)`: the module's symbols in order, then `f`'s buffers
//!   in order. Buffers must not overlap.
//! - `void f__packed(const int64_t *params, void *const *buffers)`: the same for callers that know the number
//!   of buffers only at run time.

// LLVM's C interface has no safe form.
#![allow(unsafe_code)]

mod affine;
pub mod cpu;
mod emit;
pub mod gpu;
pub mod header;
pub mod link;
mod llvm;
mod mlir;
pub mod pim;

#[cfg(test)]
mod tests;

pub use cpu::{CpuTarget, Processor, warm_up};
pub use gpu::{CudaTarget, GridTarget};
pub use llvm::llvm_version;
pub use pim::PimTarget;

/// Ends the process at once: no destructors, no `atexit` handlers. For a thread that must stop the process while
/// another is inside of a library whose destructors would then pull the ground away.
pub fn exit_now(code: i32) -> ! {
    unsafe extern "C" {
        fn _exit(code: std::ffi::c_int) -> !;
    }
    // SAFETY: POSIX's `_exit` takes any code and has no preconditions.
    unsafe { _exit(code) }
}

/// The result of generating code.
type Result<T> = std::result::Result<T, dastac_target::TargetError>;
