//! MKL's products of sparse matrices and its conversions, whose results are sparse.

use std::ffi::{c_double, c_int, c_void};

use libloading::os::unix::Library;

use super::{Error, Result, symbol};

const ZERO_BASED: c_int = 0;
const PLAIN: c_int = 10;
const TRANSPOSED: c_int = 11;
const BY_ROWS: c_int = 101;

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
/// As [`Create`], of entries: how many they are, rows, columns, values.
type CreateEntries = unsafe extern "C" fn(
    *mut Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    *mut c_int,
    *mut c_int,
    *mut c_double,
) -> c_int;
type Multiply = unsafe extern "C" fn(c_int, Handle, Handle, *mut Handle) -> c_int;
type Convert = unsafe extern "C" fn(Handle, c_int, *mut Handle) -> c_int;
type ConvertBlocks = unsafe extern "C" fn(Handle, c_int, c_int, c_int, *mut Handle) -> c_int;
type Of = unsafe extern "C" fn(Handle) -> c_int;
type Export = unsafe extern "C" fn(
    Handle,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut *mut c_int,
    *mut *mut c_int,
    *mut *mut c_int,
    *mut *mut c_double,
) -> c_int;

/// MKL's routines whose results are sparse matrices.
#[derive(Clone, Copy)]
pub struct Routines {
    rows: Create,
    columns: Create,
    entries: CreateEntries,
    blocks: ConvertBlocks,
    multiply: Multiply,
    convert: Convert,
    order: Of,
    destroy: Of,
    export: Export,
    free: unsafe extern "C" fn(),
}

/// The arrays of a matrix, in rows or in columns: where they begin, coordinates, values.
pub struct Arrays {
    /// Rows and columns.
    pub shape: [usize; 2],
    /// Whether these are columns.
    pub columns: bool,
    /// Where rows (or columns) begin, and where the last one ends.
    pub positions: Vec<c_int>,
    /// The columns (or rows) of the entries.
    pub coordinates: Vec<c_int>,
    /// Their values.
    pub values: Vec<c_double>,
}

/// A matrix of MKL's, with the arrays that it points into if these are ours.
pub struct Sparse {
    routines: Routines,
    handle: Handle,
    _arrays: Option<Arrays>,
}

impl Routines {
    pub(super) fn load(library: &Library) -> Option<Routines> {
        // SAFETY (of every symbol below): these names have these types in MKL's headers, with 32-bit sizes.
        Some(Routines {
            rows: symbol(library, "mkl_sparse_d_create_csr")?,
            columns: symbol(library, "mkl_sparse_d_create_csc")?,
            entries: symbol(library, "mkl_sparse_d_create_coo")?,
            blocks: symbol(library, "mkl_sparse_convert_bsr")?,
            multiply: symbol(library, "mkl_sparse_spmm")?,
            convert: symbol(library, "mkl_sparse_convert_csr")?,
            order: symbol(library, "mkl_sparse_order")?,
            destroy: symbol(library, "mkl_sparse_destroy")?,
            export: symbol(library, "mkl_sparse_d_export_csr")?,
            free: symbol(library, "MKL_Free_Buffers")?,
        })
    }

    /// A matrix of these arrays.
    ///
    /// # Errors
    /// Arrays that are no matrix of this shape; whatever MKL reports.
    pub fn matrix(&self, mut arrays: Arrays) -> Result<Sparse> {
        let [mut outer, mut inner] = arrays.shape;
        if arrays.columns {
            (outer, inner) = (inner, outer);
        }
        let ends = arrays.positions.last().map(|end| usize::try_from(*end).unwrap_or(usize::MAX));
        let inside = |at: &c_int| usize::try_from(*at).is_ok_and(|at| at < inner);
        let fits = arrays.positions.len() == outer + 1
            && arrays.positions.first() == Some(&0)
            && arrays.positions.is_sorted()
            && ends == Some(arrays.values.len())
            && arrays.coordinates.len() == arrays.values.len()
            && arrays.coordinates.iter().all(inside);
        if !fits {
            return Err(Error::Invalid("these arrays are no sparse matrix of this shape".into()));
        }
        let [rows, width] = super::sizes(arrays.shape)?;
        let create = if arrays.columns { self.columns } else { self.rows };
        let mut handle = std::ptr::null_mut();
        let starts = arrays.positions.as_mut_ptr();
        // SAFETY: the arrays are a matrix of this shape, checked above; they live as long as the handle, beside which
        // they are kept.
        let status = unsafe {
            let (at, values) = (arrays.coordinates.as_mut_ptr(), arrays.values.as_mut_ptr());
            create(&raw mut handle, ZERO_BASED, rows, width, starts, starts.add(1), at, values)
        };
        done("create", status)?;
        Ok(Sparse { routines: *self, handle, _arrays: Some(arrays) })
    }

    /// The entries of a matrix in rows as a matrix that stands entry by entry.
    ///
    /// # Errors
    /// Rows that do not fit; whatever MKL reports.
    pub fn listed(&self, arrays: Arrays) -> Result<Sparse> {
        // What is checked of rows is what entries need.
        let mut arrays = self.matrix(arrays)?.arrays()?;
        let mut rows = Vec::with_capacity(arrays.values.len());
        for (row, bounds) in arrays.positions.windows(2).enumerate() {
            let [row] = super::sizes([row])?;
            rows.extend((bounds[0]..bounds[1]).map(|_| row));
        }
        arrays.positions = rows;
        let [height, width] = super::sizes(arrays.shape)?;
        let [count] = super::sizes([arrays.values.len()])?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the three arrays have so many elements, rows and columns within this shape; they live as long as the
        // handle, beside which they are kept.
        let status = unsafe {
            let (row, at) = (arrays.positions.as_mut_ptr(), arrays.coordinates.as_mut_ptr());
            let values = arrays.values.as_mut_ptr();
            (self.entries)(&raw mut handle, ZERO_BASED, height, width, count, row, at, values)
        };
        done("create", status)?;
        Ok(Sparse { routines: *self, handle, _arrays: Some(arrays) })
    }

    /// Gives back the memory that MKL keeps for its next call.
    pub fn free_buffers(&self) {
        // SAFETY: no call of MKL's is running.
        unsafe { (self.free)() };
    }

    fn made(
        &self,
        what: &str,
        make: impl FnOnce(&Routines, *mut Handle) -> c_int,
    ) -> Result<Sparse> {
        let mut handle = std::ptr::null_mut();
        done(what, make(self, &raw mut handle))?;
        Ok(Sparse { routines: *self, handle, _arrays: None })
    }
}

impl Sparse {
    /// The product with another matrix in the same form; the coordinates of a row come in any order.
    ///
    /// # Errors
    /// Whatever MKL reports: also shapes that do not fit.
    pub fn times(&self, other: &Sparse) -> Result<Sparse> {
        self.routines.made("product", |routines, to| {
            // SAFETY: both handles are those of matrices; MKL compares their shapes.
            unsafe { (routines.multiply)(PLAIN, self.handle, other.handle, to) }
        })
    }

    /// The same matrix, or its transpose, in rows.
    ///
    /// # Errors
    /// Whatever MKL reports.
    pub fn rows(&self, transposed: bool) -> Result<Sparse> {
        let operation = if transposed { TRANSPOSED } else { PLAIN };
        self.routines.made("conversion", |routines, to| {
            // SAFETY: the handle is that of a matrix.
            unsafe { (routines.convert)(self.handle, operation, to) }
        })
    }

    /// The same matrix in square blocks of this many rows, which stand in rows.
    ///
    /// # Errors
    /// Whatever MKL reports.
    pub fn blocks(&self, size: usize) -> Result<Sparse> {
        let [size] = super::sizes([size])?;
        self.routines.made("conversion", |routines, to| {
            // SAFETY: the handle is that of a matrix; MKL looks at the size.
            unsafe { (routines.blocks)(self.handle, size, BY_ROWS, PLAIN, to) }
        })
    }

    /// Sorts the coordinates of each row.
    ///
    /// # Errors
    /// Whatever MKL reports.
    pub fn order(&mut self) -> Result<()> {
        // SAFETY: the handle is that of a matrix, which nobody else uses.
        done("order", unsafe { (self.routines.order)(self.handle) })
    }

    /// A copy of a matrix that stands in rows.
    ///
    /// # Errors
    /// Whatever MKL reports.
    pub fn arrays(&self) -> Result<Arrays> {
        let (mut base, mut rows, mut columns) = (0, 0, 0);
        let (mut starts, mut ends, mut at) =
            (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        let mut values = std::ptr::null_mut();
        // SAFETY: the handle is that of a matrix, all others are places for what is known of it.
        let status = unsafe {
            (self.routines.export)(
                self.handle,
                &raw mut base,
                &raw mut rows,
                &raw mut columns,
                &raw mut starts,
                &raw mut ends,
                &raw mut at,
                &raw mut values,
            )
        };
        done("export", status)?;
        let shape = [rows, columns].map(|extent| usize::try_from(extent).unwrap_or(0));
        let (mut positions, mut coordinates, mut numbers) = (vec![0], Vec::new(), Vec::new());
        for row in 0..shape[0] {
            // SAFETY: MKL gives a start and an end for each row, and so many coordinates and values behind the start.
            unsafe {
                let place = |at: c_int| usize::try_from(at - base).unwrap_or(0);
                let (from, to) = (place(*starts.add(row)), place(*ends.add(row)));
                let count = to.saturating_sub(from);
                if count > 0 {
                    let of_row = std::slice::from_raw_parts(at.add(from), count);
                    coordinates.extend(of_row.iter().map(|at: &c_int| at - base));
                    numbers.extend_from_slice(std::slice::from_raw_parts(values.add(from), count));
                }
            }
            let [end] = super::sizes([numbers.len()])?;
            positions.push(end);
        }
        Ok(Arrays { shape, columns: false, positions, coordinates, values: numbers })
    }
}

impl Drop for Sparse {
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
