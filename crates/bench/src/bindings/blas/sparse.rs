//! MKL's sparse matrices.

use std::ffi::{c_double, c_int, c_void};

use libloading::os::unix::Library;

use super::{Error, Result, symbol};

const ZERO_BASED: c_int = 0;
const PLAIN: c_int = 10;
const ROW_MAJOR: c_int = 101;
/// MKL is told to expect so many calls, which is enough to make any preparation worth its time.
const CALLS: c_int = 100_000;

/// `matrix_descr`: a general matrix, of which all is stored.
#[repr(C)]
#[derive(Clone, Copy)]
struct Description {
    kind: c_int,
    mode: c_int,
    diagonal: c_int,
}

const GENERAL: Description = Description { kind: 20, mode: 40, diagonal: 50 };

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Handle,
    c_int,
    c_int,
    c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_double,
) -> c_int;
type Hint = unsafe extern "C" fn(Handle, c_int, Description, c_int) -> c_int;
type HintMany = unsafe extern "C" fn(Handle, c_int, Description, c_int, c_int, c_int) -> c_int;
type Optimize = unsafe extern "C" fn(Handle) -> c_int;
type Vector = unsafe extern "C" fn(
    c_int,
    c_double,
    Handle,
    Description,
    *const c_double,
    c_double,
    *mut c_double,
) -> c_int;
type Many = unsafe extern "C" fn(
    c_int,
    c_double,
    Handle,
    Description,
    c_int,
    *const c_double,
    c_int,
    c_int,
    c_double,
    *mut c_double,
    c_int,
) -> c_int;

/// MKL's routines for sparse matrices.
#[derive(Clone, Copy)]
pub struct Routines {
    create: Create,
    hint: Hint,
    hint_many: HintMany,
    optimize: Optimize,
    destroy: Optimize,
    vector: Vector,
    many: Many,
}

/// A matrix whose rows stand one after the other, with its arrays.
pub struct Matrix {
    routines: Routines,
    handle: Handle,
    shape: [usize; 2],
    /// MKL points into these.
    _positions: Vec<c_int>,
    _coordinates: Vec<c_int>,
    _values: Vec<c_double>,
}

impl Routines {
    pub(super) fn load(library: &Library) -> Option<Routines> {
        // SAFETY (of every symbol below): these names have these types in MKL's headers, with 32-bit sizes.
        Some(Routines {
            create: symbol(library, "mkl_sparse_d_create_csr")?,
            hint: symbol(library, "mkl_sparse_set_mv_hint")?,
            hint_many: symbol(library, "mkl_sparse_set_mm_hint")?,
            optimize: symbol(library, "mkl_sparse_optimize")?,
            destroy: symbol(library, "mkl_sparse_destroy")?,
            vector: symbol(library, "mkl_sparse_d_mv")?,
            many: symbol(library, "mkl_sparse_d_mm")?,
        })
    }

    /// A matrix; the coordinates of row `i` are those from `positions[i]` to `positions[i + 1]`. If `columns` are
    /// given, it is prepared for products with matrices of so many columns, or with vectors if there is one column: MKL
    /// may store it anew in a form of its own. Else its rows are used as they stand.
    ///
    /// # Errors
    /// Arrays that are no matrix of this shape; whatever MKL reports.
    pub fn matrix(
        &self,
        shape: [usize; 2],
        mut positions: Vec<c_int>,
        mut coordinates: Vec<c_int>,
        mut values: Vec<c_double>,
        columns: Option<usize>,
    ) -> Result<Matrix> {
        let ends = positions.last().map(|end| usize::try_from(*end).unwrap_or(usize::MAX));
        let inside = |at: &c_int| usize::try_from(*at).is_ok_and(|at| at < shape[1]);
        let fits = positions.len() == shape[0] + 1
            && positions.first() == Some(&0)
            && positions.is_sorted()
            && ends == Some(values.len())
            && coordinates.len() == values.len()
            && coordinates.iter().all(inside);
        if !fits {
            return Err(Error::Invalid("these arrays are no sparse matrix of this shape".into()));
        }
        let [rows, width] = super::sizes(shape)?;
        let mut handle = std::ptr::null_mut();
        let starts = positions.as_mut_ptr();
        // SAFETY: the arrays are a matrix of this shape, checked above; they live as long as the handle, beside which
        // they are kept.
        let status = unsafe {
            let ends = starts.add(1);
            let (at, values) = (coordinates.as_mut_ptr(), values.as_mut_ptr());
            (self.create)(&raw mut handle, ZERO_BASED, rows, width, starts, ends, at, values)
        };
        done("create_csr", status)?;
        let matrix = Matrix {
            routines: *self,
            handle,
            shape,
            _positions: positions,
            _coordinates: coordinates,
            _values: values,
        };
        if let Some(columns) = columns {
            let [columns] = super::sizes([columns])?;
            // SAFETY: the handle is that of a matrix. That MKL does not follow a hint is no error.
            let status = unsafe {
                match columns {
                    1 => (self.hint)(handle, PLAIN, GENERAL, CALLS),
                    _ => (self.hint_many)(handle, PLAIN, GENERAL, ROW_MAJOR, columns, CALLS),
                };
                (self.optimize)(handle)
            };
            done("optimize", status)?;
        }
        Ok(matrix)
    }
}

impl Matrix {
    /// `y = a x`; with more than one column, of matrices in C order.
    ///
    /// # Errors
    /// Slices that are too short; whatever MKL reports.
    pub fn multiply(&self, x: &[f64], y: &mut [f64], columns: usize) -> Result<()> {
        super::long_enough("x", x.len(), self.shape[1] * columns)?;
        super::long_enough("y", y.len(), self.shape[0] * columns)?;
        let [count] = super::sizes([columns])?;
        let (x, y) = (x.as_ptr(), y.as_mut_ptr());
        let Routines { vector, many, .. } = self.routines;
        // SAFETY: the handle is that of a matrix of this shape; the slices are long enough for it.
        let status = unsafe {
            match count {
                1 => vector(PLAIN, 1.0, self.handle, GENERAL, x, 0.0, y),
                _ => many(
                    PLAIN,
                    1.0,
                    self.handle,
                    GENERAL,
                    ROW_MAJOR,
                    x,
                    count,
                    count,
                    0.0,
                    y,
                    count,
                ),
            }
        };
        done("multiplication", status)
    }
}

impl Drop for Matrix {
    fn drop(&mut self) {
        // SAFETY: the handle is that of a matrix, and not used any more.
        unsafe { (self.routines.destroy)(self.handle) };
    }
}

fn done(what: &str, status: c_int) -> Result<()> {
    match status {
        0 => Ok(()),
        code => Err(Error::Invalid(format!("MKL's {what} of a sparse matrix reports {code}"))),
    }
}
