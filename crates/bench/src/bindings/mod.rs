//! The libraries and tools of others that measurements call: BLAS, TACO, MLIR's sparse compiler, C compilers.

// Libraries of others have no safe form.
#![allow(unsafe_code)]

use std::ffi::c_int;

pub mod blas;
pub mod c;
pub mod sparsifier;
pub mod taco;

#[cfg(test)]
mod tests;

/// Gives memory that the C library's allocator keeps for later back to the system, where it can.
pub fn trim() {
    let this = libloading::os::unix::Library::this();
    // SAFETY: glibc's function has this type.
    let found = unsafe { this.get::<unsafe extern "C" fn(usize) -> c_int>(b"malloc_trim\0") };
    if let Ok(trim) = found {
        // SAFETY: it may be called at any time.
        unsafe { trim(0) };
    }
}
