//! The command line, and where things are.

use std::ffi::OsString;
use std::path::PathBuf;

use dastac_cli::texts;
use pyo3::prelude::*;

use crate::errors;

/// Says where isl, OpenMP's library and the command are; all may be unknown.
#[pyfunction]
pub fn configure(
    isl: Option<PathBuf>,
    openmp: Option<PathBuf>,
    command: Option<PathBuf>,
) -> PyResult<()> {
    if let Some(folder) = isl {
        dastac::poly::look_in(folder);
    }
    if let Some(file) = openmp {
        dastac::runtime::openmp::try_first(file.into_os_string());
    }
    texts::configure(command).map_err(errors::of_why)
}

/// Runs the command line; its exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<OsString>, command: Option<PathBuf>) -> u8 {
    py.detach(|| dastac_cli::code(arguments, command))
}

/// Whether OpenMP's library is there, which code for several threads calls.
#[pyfunction]
pub fn has_openmp() -> bool {
    dastac::runtime::openmp::load().is_ok()
}
