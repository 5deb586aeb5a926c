//! What all calls of a library need: its symbols, its sizes, and errors for arguments that it refuses.

use std::ffi::c_int;

use libloading::os::unix::Library;

pub(super) const ROW_MAJOR: c_int = 101;
pub(super) const PLAIN: c_int = 111;
pub(super) const TRANSPOSED: c_int = 112;
pub(super) const UPPER: c_int = 121;
pub(super) const NON_UNIT: c_int = 131;

/// What a BLAS library cannot do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be loaded.
    #[error("cannot load {}: {message}", .path.display())]
    Library {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        message: String,
    },
    /// A size that it cannot take.
    #[error("{0} elements are more than the library can count")]
    TooLarge(usize),
    /// An array is too short.
    #[error("`{buffer}` needs {expected} elements, {found} given")]
    TooShort {
        /// Its name.
        buffer: String,
        /// How many elements are needed.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// Arrays or a call that the library refuses.
    #[error("{0}")]
    Invalid(String),
}

pub(super) type Result<T> = std::result::Result<T, Error>;

/// Sizes as the library takes them.
pub(super) fn sizes<const N: usize>(sizes: [usize; N]) -> Result<[c_int; N]> {
    let mut result = [0; N];
    for (to, from) in result.iter_mut().zip(sizes) {
        let too_large = || Error::TooLarge(from);
        *to = c_int::try_from(from).map_err(|_| too_large())?;
    }
    Ok(result)
}

/// Refuses an array that is too short.
pub(super) fn long_enough(name: &str, found: usize, expected: usize) -> Result<()> {
    if found >= expected {
        return Ok(());
    }
    Err(Error::TooShort { buffer: name.into(), expected, found })
}

/// A function of a library, under its name or with a distribution's prefix.
pub(super) fn symbol<F: Copy>(library: &Library, name: &str) -> Option<F> {
    ["", "scipy_"].iter().find_map(|prefix| {
        // SAFETY: the caller names a function of this type, and keeps the library loaded.
        unsafe { library.get::<F>(format!("{prefix}{name}\0").as_bytes()).ok().map(|found| *found) }
    })
}

/// BLAS wants a positive distance between rows, even if they are empty.
pub(super) fn leading(columns: c_int) -> c_int {
    columns.max(1)
}
