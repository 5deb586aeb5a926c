//! Results as objects of Python.

use std::sync::Arc;

use dastac::elements::Element;
use dastac::formats::storage::{Indices, LevelData};
use dastac::formats::{Format, Tensor};
use dastac::runtime::{Instance, TakenResult, TensorId, build};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::errors;
use crate::memory::{Block, Home, Owner};
use crate::pool::Spares;

/// A function or class of the part of the package that knows other packages' arrays.
pub fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("dastac._values")?.getattr(name)
}

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
        Element::U16 => "uint16",
        Element::U32 => "uint32",
        Element::Bool => "bool",
    }
}

/// NumPy's object for an element type, which is made once.
fn dtype_object(py: Python<'_>, element: Element) -> PyResult<&Py<PyAny>> {
    static KNOWN: PyOnceLock<Vec<(Element, Py<PyAny>)>> = PyOnceLock::new();
    let all = KNOWN.get_or_try_init(py, || {
        let make = py.import("numpy")?.getattr("dtype")?;
        // NumPy has no type for `bf16`.
        let named = Element::ALL.iter().copied().filter(|element| *element != Element::Bf16);
        named
            .map(|element| Ok((element, make.call1((dtype(element),))?.unbind())))
            .collect::<PyResult<_>>()
    })?;
    let found = all.iter().find(|(known, _)| *known == element);
    let missing = || errors::input(&format!("NumPy has no type for elements of type {element}"));
    found.map(|(_, object)| object).ok_or_else(missing)
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
    make.call1((PyTuple::new(py, shape)?, dtype_object(py, element)?))
}

/// A result with a format, as a run leaves it.
pub enum Found {
    /// In the memory in which it was computed.
    Taken(TakenResult),
    /// Converted.
    Made(Tensor),
}

impl Found {
    /// The format, if a package has arrays for it.
    fn known(format: &Format) -> Option<String> {
        match (format.blocks_of_rows(), format.name()) {
            (Some([rows, columns]), _) => Some(format!("bsr({rows}, {columns})")),
            (None, Some(name @ ("csr" | "csc" | "coo" | "dense"))) => Some(name.to_owned()),
            (None, _) => None,
        }
    }

    /// A result of an instance: without a copy where that is possible.
    pub fn of(instance: &mut Instance<'_>, id: TensorId) -> Result<Found, dastac::runtime::Error> {
        let tensor = &instance.executable().program().sizes.tensors[id.0];
        if tensor.zero != 0.0 {
            // What is not stored is not zero: all elements are needed to say so.
            let name = tensor.name.clone();
            let shape = instance.shape(id)?.iter().map(|n| *n as u64).collect();
            let made = Tensor::from_dense(shape, instance.unpacked(id)?);
            let failed = |source| dastac::runtime::Error::Storage { tensor: name, source };
            return made.map(Found::Made).map_err(failed);
        }
        if tensor.format.as_ref().and_then(Found::known).is_some()
            && let Some(taken) = instance.take_result(id)
        {
            return Ok(Found::Taken(taken));
        }
        instance.result(id).map(Found::Made)
    }
}

/// The format, the extents, and the arrays of levels and values, each as `(Block, dtype)`.
type Parts<'py> = (String, Vec<u64>, Vec<Part<'py>>, Part<'py>);

/// Memory with the type of its elements.
type Part<'py> = (Bound<'py, Block>, &'static str);

fn part<'py>(
    py: Python<'py>,
    owner: Owner,
    name: &'static str,
    home: Option<Home>,
) -> PyResult<Part<'py>> {
    Ok((Bound::new(py, Block::new(owner, home))?, name))
}

/// Takes a result apart. Formats that no package has an array of become lists of entries. Memory comes back to `spares`
/// when it is not used any more.
pub fn parts<'py>(py: Python<'py>, found: Found, spares: &Arc<Spares>) -> PyResult<Parts<'py>> {
    let tensor = match found {
        Found::Made(tensor) => tensor,
        Found::Taken(TakenResult { format, shape, arrays, values, buffers }) => {
            let mut buffers = buffers.into_iter();
            let mut home = || {
                let buffer = buffers.next().flatten()?;
                Some(Home { spares: Arc::clone(spares), buffer })
            };
            let mut levels = Vec::with_capacity(arrays.len());
            for array in arrays {
                // Positions and coordinates are below 2^31 wherever SciPy takes 32 bits, and it has no unsigned ones.
                let name = if array.element().bytes() == 4 { "int32" } else { "int64" };
                levels.push(part(py, Owner::Elements(array), name, home())?);
            }
            let name = dtype(values.element());
            let format = Found::known(&format).unwrap_or_default();
            return Ok((format, shape, levels, part(py, Owner::Elements(values), name, home())?));
        }
    };
    let (name, tensor) = match Found::known(tensor.format()) {
        Some(name) => (name, tensor),
        None => {
            let converted = tensor.convert(&Format::coo(tensor.shape().len()), build());
            ("coo".to_owned(), converted.map_err(|error| errors::input(&error.to_string()))?)
        }
    };
    let mut levels = Vec::new();
    for array in tensor.levels().iter().flat_map(LevelData::arrays) {
        levels.push(match array {
            Indices::U64(all) => part(py, Owner::Wide(all.clone()), "int64", None)?,
            Indices::U32(all) => part(py, Owner::Narrow(all.clone()), "int32", None)?,
            // SciPy knows no narrower ones.
            Indices::U8(all) => {
                part(py, Owner::Narrow(all.iter().map(|at| (*at).into()).collect()), "int32", None)?
            }
            Indices::U16(all) => {
                part(py, Owner::Narrow(all.iter().map(|at| (*at).into()).collect()), "int32", None)?
            }
        });
    }
    let element = tensor.values().element();
    let values = part(py, Owner::Elements(tensor.values().clone()), dtype(element), None)?;
    Ok((name, tensor.shape().to_vec(), levels, values))
}
