//! Libraries with the C interface of BLAS, loaded at run time: what to compare generated code with.
//!
//! Matrices are contiguous and in C order. Every call checks that its slices are as long as its sizes say.

mod call;
pub mod dense;
pub mod products;
pub mod sparse;

use std::ffi::{CStr, c_char, c_int};
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

pub use call::Error;
use call::{
    NON_UNIT, PLAIN, ROW_MAJOR, Result, TRANSPOSED, UPPER, leading, long_enough, sizes, symbol,
};

/// A loaded library. It is never unloaded: its threads outlive every call.
pub struct Blas {
    /// Its name and version, as the library reports them.
    pub version: String,
    /// Routines for 64-bit numbers.
    pub f64: Routines<f64>,
    /// Routines for 32-bit numbers.
    pub f32: Routines<f32>,
    /// Routines for sparse matrices: only MKL has them.
    pub sparse: Option<sparse::Routines>,
    /// Routines for dense matrices with a structure.
    pub dense: Option<dense::Routines>,
    /// Routines whose results are sparse matrices: only MKL has them.
    pub products: Option<products::Routines>,
    set_threads: Option<unsafe extern "C" fn(c_int)>,
}

type Gemm<T> = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    T,
    *const T,
    c_int,
    *const T,
    c_int,
    T,
    *mut T,
    c_int,
);
type Syrk<T> =
    unsafe extern "C" fn(c_int, c_int, c_int, c_int, c_int, T, *const T, c_int, T, *mut T, c_int);
type Gemv<T> = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    c_int,
    T,
    *const T,
    c_int,
    *const T,
    c_int,
    T,
    *mut T,
    c_int,
);
type Dot<T> = unsafe extern "C" fn(c_int, *const T, c_int, *const T, c_int) -> T;
type Tpmv<T> = unsafe extern "C" fn(c_int, c_int, c_int, c_int, c_int, *const T, *mut T, c_int);
type Multiply<T> = unsafe extern "C" fn(c_int, *const T, *const T, *mut T);

/// The routines for one type of numbers.
pub struct Routines<T> {
    gemm: Gemm<T>,
    syrk: Syrk<T>,
    gemv: Gemv<T>,
    dot: Dot<T>,
    tpmv: Tpmv<T>,
    multiply: Option<Multiply<T>>,
    numbers: [T; 2],
}

impl<T: Copy> Routines<T> {
    fn load(library: &Library, letter: char, numbers: [T; 2]) -> Option<Routines<T>> {
        // SAFETY (of every symbol below): these names have these types in the C interface of BLAS with 32-bit sizes.
        Some(Routines {
            gemm: symbol(library, &format!("cblas_{letter}gemm"))?,
            syrk: symbol(library, &format!("cblas_{letter}syrk"))?,
            gemv: symbol(library, &format!("cblas_{letter}gemv"))?,
            dot: symbol(library, &format!("cblas_{letter}dot"))?,
            tpmv: symbol(library, &format!("cblas_{letter}tpmv"))?,
            multiply: symbol(library, &format!("v{letter}Mul")),
            numbers,
        })
    }

    /// `c = a b`, `c` of `m x n`, the sum over `k`; `a` and `b` may be given transposed.
    ///
    /// # Errors
    /// Slices that are too short, sizes beyond 31 bits.
    pub fn gemm(
        &self,
        [m, n, k]: [usize; 3],
        (a, a_transposed): (&[T], bool),
        (b, b_transposed): (&[T], bool),
        c: &mut [T],
    ) -> Result<()> {
        long_enough("a", a.len(), m * k)?;
        long_enough("b", b.len(), k * n)?;
        long_enough("c", c.len(), m * n)?;
        let [m, n, k] = sizes([m, n, k])?;
        let [zero, one] = self.numbers;
        let form = |transposed| if transposed { TRANSPOSED } else { PLAIN };
        let (lda, ldb) = (if a_transposed { m } else { k }, if b_transposed { k } else { n });
        let (a_form, b_form) = (form(a_transposed), form(b_transposed));
        // SAFETY: the function is `cblas_?gemm`; the slices hold the matrices of these sizes.
        unsafe {
            (self.gemm)(
                ROW_MAJOR,
                a_form,
                b_form,
                m,
                n,
                k,
                one,
                a.as_ptr(),
                leading(lda),
                b.as_ptr(),
                leading(ldb),
                zero,
                c.as_mut_ptr(),
                leading(n),
            );
        }
        Ok(())
    }

    /// The upper triangle of `c = a' a`, `a` of `k x n`; it may be given transposed.
    ///
    /// # Errors
    /// As [`Routines::gemm`].
    pub fn syrk(
        &self,
        [n, k]: [usize; 2],
        (a, transposed): (&[T], bool),
        c: &mut [T],
    ) -> Result<()> {
        long_enough("a", a.len(), k * n)?;
        long_enough("c", c.len(), n * n)?;
        let [n, k] = sizes([n, k])?;
        let [zero, one] = self.numbers;
        let (form, lda) = if transposed { (PLAIN, k) } else { (TRANSPOSED, n) };
        let (lda, ldc) = (leading(lda), leading(n));
        let (a, c) = (a.as_ptr(), c.as_mut_ptr());
        // SAFETY: the function is `cblas_?syrk`; the slices hold the matrices of these sizes.
        unsafe { (self.syrk)(ROW_MAJOR, UPPER, form, n, k, one, a, lda, zero, c, ldc) };
        Ok(())
    }

    /// `y = a x`, `a` of `m x n`; of its transpose if asked for.
    ///
    /// # Errors
    /// As [`Routines::gemm`].
    pub fn gemv(
        &self,
        [m, n]: [usize; 2],
        (a, transposed): (&[T], bool),
        x: &[T],
        y: &mut [T],
    ) -> Result<()> {
        let (from, to) = if transposed { (m, n) } else { (n, m) };
        long_enough("a", a.len(), m * n)?;
        long_enough("x", x.len(), from)?;
        long_enough("y", y.len(), to)?;
        let [m, n] = sizes([m, n])?;
        let [zero, one] = self.numbers;
        let form = if transposed { TRANSPOSED } else { PLAIN };
        let (a, x, y) = (a.as_ptr(), x.as_ptr(), y.as_mut_ptr());
        // SAFETY: the function is `cblas_?gemv`; the slices hold matrix and vectors of these sizes.
        unsafe { (self.gemv)(ROW_MAJOR, form, m, n, one, a, leading(n), x, 1, zero, y, 1) };
        Ok(())
    }

    /// The sum of products of two vectors of one length.
    ///
    /// # Errors
    /// As [`Routines::gemm`].
    pub fn dot(&self, x: &[T], y: &[T]) -> Result<T> {
        long_enough("y", y.len(), x.len())?;
        let [n] = sizes([x.len()])?;
        // SAFETY: the function is `cblas_?dot`; both slices hold `n` elements.
        Ok(unsafe { (self.dot)(n, x.as_ptr(), 1, y.as_ptr(), 1) })
    }

    /// `x = a x`, the upper triangle of `a` stored row after row.
    ///
    /// # Errors
    /// As [`Routines::gemm`].
    pub fn tpmv(&self, a: &[T], x: &mut [T]) -> Result<()> {
        long_enough("a", a.len(), x.len() * (x.len() + 1) / 2)?;
        let [n] = sizes([x.len()])?;
        let (a, x) = (a.as_ptr(), x.as_mut_ptr());
        // SAFETY: the function is `cblas_?tpmv`; the slices hold triangle and vector of this size.
        unsafe { (self.tpmv)(ROW_MAJOR, UPPER, PLAIN, NON_UNIT, n, a, x, 1) };
        Ok(())
    }

    /// Whether [`Routines::multiply`] is there: only MKL has it.
    pub fn multiplies(&self) -> bool {
        self.multiply.is_some()
    }

    /// `c = a * b`, element by element; false where the library has no such routine.
    ///
    /// # Errors
    /// As [`Routines::gemm`].
    pub fn multiply(&self, a: &[T], b: &[T], c: &mut [T]) -> Result<bool> {
        long_enough("b", b.len(), a.len())?;
        long_enough("c", c.len(), a.len())?;
        let [n] = sizes([a.len()])?;
        let Some(multiply) = self.multiply else { return Ok(false) };
        // SAFETY: the function is MKL's `v?Mul`; the slices hold `n` elements each.
        unsafe { multiply(n, a.as_ptr(), b.as_ptr(), c.as_mut_ptr()) };
        Ok(true)
    }
}

impl Blas {
    /// Loads a library by its path or name. MKL is told to run on Intel's OpenMP, or on that of LLVM if this process
    /// has it under Intel's name.
    ///
    /// # Errors
    /// A library that cannot be loaded, or lacks routines.
    pub fn load(path: &Path) -> Result<Blas> {
        let error = |message: String| Error::Library { path: path.to_owned(), message };
        // SAFETY: the initialisers of a BLAS are sound to run at any time.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|failure| error(failure.to_string()))?;
        if let Some(layer) =
            symbol::<unsafe extern "C" fn(c_int) -> c_int>(&library, "MKL_Set_Threading_Layer")
        {
            // SAFETY: MKL's function, of this type; 0 is Intel's OpenMP. It is called before any other.
            unsafe { layer(0) };
        }
        let missing = || error("routines are missing: it has no C interface of BLAS".into());
        let f64 = Routines::load(&library, 'd', [0.0, 1.0]).ok_or_else(missing)?;
        let f32 = Routines::load(&library, 's', [0.0, 1.0]).ok_or_else(missing)?;
        let set_threads = symbol(&library, "MKL_Set_Num_Threads")
            .or_else(|| symbol(&library, "openblas_set_num_threads"));
        let version = version(&library);
        let sparse = sparse::Routines::load(&library);
        let products = products::Routines::load(&library);
        let dense = dense::Routines::load(&library);
        // Never unloaded.
        std::mem::forget(library);
        Ok(Blas { version, f64, f32, sparse, dense, products, set_threads })
    }

    /// Makes routines run on so many threads from now on. Returns whether the library has a function for that.
    pub fn set_threads(&self, threads: usize) -> bool {
        let threads = c_int::try_from(threads.max(1)).unwrap_or(c_int::MAX);
        if let Some(set) = self.set_threads {
            // SAFETY: MKL's and OpenBLAS's functions take any positive number.
            unsafe { set(threads) };
        }
        self.set_threads.is_some()
    }
}

fn version(library: &Library) -> String {
    if let Some(get) =
        symbol::<unsafe extern "C" fn(*mut c_char, c_int)>(library, "MKL_Get_Version_String")
    {
        let mut text = [0u8; 256];
        // SAFETY: MKL writes a C string of at most the given length.
        unsafe { get(text.as_mut_ptr().cast(), 255) };
        let text = CStr::from_bytes_until_nul(&text).map(|text| text.to_string_lossy());
        return text.map(|text| text.trim().to_string()).unwrap_or_default();
    }
    match symbol::<unsafe extern "C" fn() -> *const c_char>(library, "openblas_get_config") {
        // SAFETY: OpenBLAS returns a C string that lives as long as the library.
        Some(get) => unsafe { CStr::from_ptr(get()) }.to_string_lossy().trim().to_string(),
        None => "unknown version".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_blas_is_an_error() {
        assert!(Blas::load(Path::new("/nonexistent/libblas.so")).is_err());
        assert!(Blas::load(Path::new("libm.so.6")).is_err());
    }

    #[test]
    fn lengths_are_checked() {
        assert!(long_enough("a", 3, 4).is_err());
        assert!(sizes([usize::MAX]).is_err());
        assert_eq!(sizes([3, 0]).unwrap(), [3, 0]);
    }
}
