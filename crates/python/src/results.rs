//! Results as objects of Python.

use dastac::elements::Element;
use dastac::formats::storage::{Indices, LevelData};
use dastac::formats::{Format, Tensor};
use dastac::runtime::build;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::errors;
use crate::memory::{Block, Owner};

/// NumPy's name of an element type.
pub fn dtype(element: Element) -> &'static str {
    match element {
        Element::F64 => "float64",
        Element::F32 => "float32",
        Element::F16 => "float16",
        Element::Bf16 => "bfloat16",
        Element::C128 => "complex128",
        Element::C64 => "complex64",
        Element::I8 => "int8",
        Element::I16 => "int16",
        Element::I32 => "int32",
        Element::I64 => "int64",
        Element::U8 => "uint8",
        Element::U32 => "uint32",
        Element::Bool => "bool",
    }
}

/// A new array whose elements are still to be computed, with zeros where `zeros`.
pub fn array<'py>(
    py: Python<'py>,
    shape: &[usize],
    element: Element,
    zeros: bool,
) -> PyResult<Bound<'py, PyAny>> {
    static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static ZEROS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let (place, name) = if zeros { (&ZEROS, "zeros") } else { (&EMPTY, "empty") };
    let make = place.import(py, "numpy", name)?;
    make.call1((PyTuple::new(py, shape)?, dtype(element)))
}

/// Takes a tensor apart: its format, its extents, the arrays of its levels, its values. All arrays are
/// `(Block, dtype)`. Formats that no package has an array of become lists of entries.
pub fn parts(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyTuple>> {
    let known = matches!(tensor.format().name(), Some("csr" | "csc" | "coo" | "dense"));
    let (name, tensor) = match tensor.format().blocks_of_rows() {
        Some([rows, columns]) => (format!("bsr({rows}, {columns})"), tensor),
        None if known => (tensor.format().name().unwrap_or_default().to_owned(), tensor),
        None => {
            let converted = tensor.convert(&Format::coo(tensor.shape().len()), build());
            let converted = converted.map_err(|error| errors::input(&error.to_string()))?;
            ("coo".to_owned(), converted)
        }
    };
    let block =
        |owner, name: &'static str| Ok::<_, PyErr>((Bound::new(py, Block::new(owner))?, name));
    let mut levels = Vec::new();
    for array in tensor.levels().iter().flat_map(LevelData::arrays) {
        levels.push(match array {
            Indices::U32(all) => block(Owner::Narrow(all.clone()), "int32")?,
            Indices::U64(all) => block(Owner::Wide(all.clone()), "int64")?,
        });
    }
    let element = tensor.values().element();
    let values = block(Owner::Elements(tensor.values().clone()), dtype(element))?;
    (name, tensor.shape().to_vec(), levels, values).into_pyobject(py)
}
