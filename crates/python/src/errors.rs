//! Errors as exceptions of the module `dastac.errors`.

use dastac::runtime::Error;
use dastac_cli::texts::{Fault, Why};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyType;

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    Ok(py.import("dastac.errors")?.getattr(name)?.cast_into::<PyType>()?)
}

/// An exception of one of the package's classes.
fn raised(py: Python<'_>, name: &str, text: &str) -> PyErr {
    match class(py, name) {
        Ok(class) => PyErr::from_type(class, text.to_owned()),
        Err(error) => error,
    }
}

/// What the user gave does not fit.
pub fn input(text: &str) -> PyErr {
    Python::attach(|py| raised(py, "InputError", text))
}

/// Why a program cannot be compiled.
pub fn of_why(why: Why) -> PyErr {
    Python::attach(|py| match why.fault {
        Fault::User => raised(py, "InputError", why.text.trim_end()),
        Fault::Defect => raised(py, "Defect", why.text.trim_end()),
        Fault::Program => {
            let all = why.diagnostics.into_iter().map(|one| {
                let labels = one.labels.into_iter();
                let labels: Vec<_> = labels
                    .map(|(span, text)| (span.start, span.end.max(span.start), text))
                    .collect();
                let is_error = one.severity == dastac::stur::Severity::Error;
                (is_error, one.code, one.message, labels, one.hint)
            });
            let all: Vec<_> = all.collect();
            let text = why.text.trim_end().to_owned();
            let made = class(py, "CompileError").and_then(|class| class.call1((text, all)));
            made.map_or_else(|error| error, PyErr::from_value)
        }
    })
}

/// Why a run is not possible.
pub fn of_run(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::TooMuch { .. } | Error::Memory(_) => PyMemoryError::new_err(text),
        Error::Load(_) | Error::Library { .. } | Error::OpenMp { .. } => {
            PyRuntimeError::new_err(text)
        }
        _ => input(&text),
    }
}
