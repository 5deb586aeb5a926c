//! Routines for dense matrices with a structure: a triangle times a matrix, and updates of rank 2k.

use std::ffi::c_int;

use libloading::os::unix::Library;

use super::call::{
    NON_UNIT, PLAIN, ROW_MAJOR, Result, TRANSPOSED, UPPER, leading, long_enough, sizes, symbol,
};

const LEFT: c_int = 141;
const LOWER: c_int = 122;

type Trmm = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    f64,
    *const f64,
    c_int,
    *mut f64,
    c_int,
);
type Syr2k = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    f64,
    *const f64,
    c_int,
    *const f64,
    c_int,
    f64,
    *mut f64,
    c_int,
);

/// The routines, for 64-bit numbers.
pub struct Routines {
    trmm: Trmm,
    syr2k: Syr2k,
}

impl Routines {
    pub(super) fn load(library: &Library) -> Option<Routines> {
        // SAFETY (of both symbols): these names have these types in the C interface of BLAS with 32-bit sizes.
        Some(Routines {
            trmm: symbol(library, "cblas_dtrmm")?,
            syr2k: symbol(library, "cblas_dsyr2k")?,
        })
    }

    /// `b = a b`, `a` a triangle of `m x m`, the lower one if so said, which may be given transposed; `b` of `m x n`.
    ///
    /// # Errors
    /// Slices that are too short, sizes beyond 31 bits.
    pub fn trmm(
        &self,
        [m, n]: [usize; 2],
        (a, lower, transposed): (&[f64], bool, bool),
        b: &mut [f64],
    ) -> Result<()> {
        long_enough("a", a.len(), m * m)?;
        long_enough("b", b.len(), m * n)?;
        let [m, n] = sizes([m, n])?;
        let form = if transposed { TRANSPOSED } else { PLAIN };
        let part = if lower { LOWER } else { UPPER };
        let (lda, ldb) = (leading(m), leading(n));
        let (a, b) = (a.as_ptr(), b.as_mut_ptr());
        // SAFETY: the function is `cblas_dtrmm`; the slices hold the matrices of these sizes.
        unsafe { (self.trmm)(ROW_MAJOR, LEFT, part, form, NON_UNIT, m, n, 1.0, a, lda, b, ldb) };
        Ok(())
    }

    /// The upper triangle of `c = a b' + b a'`, both of `n x k`; they may be given transposed.
    ///
    /// # Errors
    /// As [`Routines::trmm`].
    pub fn syr2k(
        &self,
        [n, k]: [usize; 2],
        (a, b, transposed): (&[f64], &[f64], bool),
        c: &mut [f64],
    ) -> Result<()> {
        long_enough("a", a.len(), n * k)?;
        long_enough("b", b.len(), n * k)?;
        long_enough("c", c.len(), n * n)?;
        let [n, k] = sizes([n, k])?;
        let (form, ld) = if transposed { (TRANSPOSED, n) } else { (PLAIN, k) };
        let (ld, ldc) = (leading(ld), leading(n));
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        // SAFETY: the function is `cblas_dsyr2k`; the slices hold the matrices of these sizes.
        unsafe {
            (self.syr2k)(ROW_MAJOR, UPPER, form, n, k, 1.0, a, ld, b, ld, 0.0, c, ldc);
        }
        Ok(())
    }
}
