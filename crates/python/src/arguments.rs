//! What Python passes for tensors, borrowed.

use dastac::elements::{Storage, View};
use dastac::formats::format::{self, default_names};
use dastac::formats::storage::{IndexView, Indices, LevelData};
use dastac::formats::{Build, Format, Tensor, TensorView};
use dastac::runtime::program::TensorInfo;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyString, PyTuple};

use crate::buffer::Array;
use crate::errors;

/// A value of an input.
pub enum Value {
    /// A dense array.
    Dense(Array),
    /// The packed buffer.
    Packed(Array),
    /// The arrays of a matrix of SciPy, which seem to be those of its format; they are looked at later.
    Matrix {
        /// The format.
        format: Format,
        /// Its extents.
        shape: Vec<u64>,
        /// Positions and coordinates.
        arrays: Vec<Numbers>,
        /// The values.
        values: Array,
    },
    /// The arrays of a tensor in a format.
    Stored {
        /// Its format.
        format: Format,
        /// Its extents.
        shape: Vec<u64>,
        /// The arrays of all levels, in order.
        arrays: Vec<Array>,
        /// The values.
        values: Array,
    },
    /// Entries in any order.
    Entries {
        /// The extents.
        shape: Vec<u64>,
        /// The coordinates of all entries, by dimension.
        lists: Vec<Array>,
        /// The values.
        values: Array,
    },
}

/// Positions or coordinates.
pub enum Numbers {
    /// In the caller's memory.
    Lent(Array),
    /// In memory of their own: 64 bits became 32, or there are none in the caller's array.
    Own(Vec<u32>),
}

impl Numbers {
    /// In 32 bits, if they fit.
    fn of(array: Array) -> Option<Numbers> {
        match array.indices()? {
            IndexView::U32(_) => Some(Numbers::Lent(array)),
            other @ (IndexView::U8(_) | IndexView::U16(_) | IndexView::I64(_)) => {
                Some(Numbers::Own(other.narrow()?.into_owned()))
            }
        }
    }

    fn view(&self) -> Option<IndexView<'_>> {
        match self {
            Numbers::Lent(array) => array.indices(),
            Numbers::Own(all) => Some(IndexView::U32(all)),
        }
    }
}

impl Value {
    /// Borrows what is passed for a tensor: an array that is as the program reads it at once, and, if `direct`, the
    /// arrays of a matrix of SciPy in the tensor's format; all else after `dastac._values.parts` made arrays of it.
    pub fn of(tensor: &TensorInfo, object: &Bound<'_, PyAny>, direct: bool) -> PyResult<Value> {
        if tensor.format.is_none()
            && let Some(array) = Array::borrow(object)
            && array.element() == tensor.element
        {
            return Ok(Value::Dense(array));
        }
        if direct && let Some(matrix) = Value::matrix(tensor, object) {
            return Ok(matrix);
        }
        let py = object.py();
        let helper = py.import("dastac._values")?.getattr("parts")?;
        let format = tensor.format.as_ref().map(ToString::to_string);
        let rank = tensor.extents.len();
        let made = helper.call1((object, &tensor.name, tensor.element.name(), rank, format))?;
        Value::of_parts(tensor, &made.cast_into::<PyTuple>()?)
    }

    /// A matrix of SciPy for a tensor with a format, if it is one of rows, columns or a list of entries with elements
    /// of the type that code reads.
    fn matrix(tensor: &TensorInfo, object: &Bound<'_, PyAny>) -> Option<Value> {
        let py = object.py();
        tensor.format.as_ref()?;
        let found = object.getattr(intern!(py, "format")).ok()?;
        let borrow = |name| Numbers::of(Array::borrow(&object.getattr(name).ok()?)?);
        let values = Array::borrow(&object.getattr(intern!(py, "data")).ok()?)?;
        if values.element() != tensor.element {
            return None;
        }
        let shape: Vec<u64> = object.getattr(intern!(py, "shape")).ok()?.extract().ok()?;
        let (format, arrays) = match found.cast::<PyString>().ok()?.to_str().ok()? {
            rows @ ("csr" | "csc") if shape.len() == 2 => {
                let format = if rows == "csr" { Format::csr() } else { Format::csc() };
                let positions = borrow(intern!(py, "indptr"))?;
                (format, vec![positions, borrow(intern!(py, "indices"))?])
            }
            "coo" => {
                let lists: Vec<Bound<'_, PyAny>> = match object.getattr(intern!(py, "coords")) {
                    Ok(lists) => lists.extract().ok()?,
                    Err(_) => vec![
                        object.getattr(intern!(py, "row")).ok()?,
                        object.getattr(intern!(py, "col")).ok()?,
                    ],
                };
                let lists = lists.iter().map(|list| Numbers::of(Array::borrow(list)?));
                let ends = Numbers::Own(vec![0, u32::try_from(values.len()).ok()?]);
                let arrays =
                    std::iter::once(Some(ends)).chain(lists).collect::<Option<Vec<_>>>()?;
                (Format::coo(shape.len()), arrays)
            }
            _ => return None,
        };
        Some(Value::Matrix { format, shape, arrays, values })
    }

    /// Of `(kind, shape, arrays, values)`; the kind is `dense`, `packed`, `entries`, or a format.
    fn of_parts(tensor: &TensorInfo, made: &Bound<'_, PyTuple>) -> PyResult<Value> {
        let (kind, shape, arrays, values): (
            String,
            Vec<u64>,
            Vec<Bound<'_, PyAny>>,
            Bound<'_, PyAny>,
        ) = made.extract()?;
        let borrow = |object: &Bound<'_, PyAny>| {
            let not =
                || errors::input(&format!("`{}`: these are no arrays to be read", tensor.name));
            Array::borrow(object).ok_or_else(not)
        };
        let values = borrow(&values)?;
        let arrays = arrays.iter().map(borrow).collect::<PyResult<Vec<Array>>>()?;
        match kind.as_str() {
            "dense" => Ok(Value::Dense(values)),
            "packed" => Ok(Value::Packed(values)),
            "entries" => Ok(Value::Entries { shape, lists: arrays, values }),
            text => {
                let format = format::parse(text, &default_names(shape.len()));
                let format = format.map_err(|error| errors::input(&error.to_string()))?;
                Ok(Value::Stored { format, shape, arrays, values })
            }
        }
    }

    /// The extents, where the value has any; `rank` is the tensor's. A scalar stands in an array of one element, since
    /// the buffer protocol has no shape for arrays without dimensions.
    pub fn extents(&self, rank: usize) -> Option<Vec<i64>> {
        let number = |extent: u64| i64::try_from(extent).unwrap_or(i64::MAX);
        match self {
            Value::Dense(array) => {
                let shape = dense_shape(array, rank);
                Some(shape.iter().map(|n| number(*n as u64)).collect())
            }
            Value::Packed(_) => None,
            Value::Matrix { shape, .. }
            | Value::Stored { shape, .. }
            | Value::Entries { shape, .. } => Some(shape.iter().map(|n| number(*n)).collect()),
        }
    }

    /// All arrays.
    pub fn arrays(&self) -> Vec<&Array> {
        match self {
            Value::Dense(array) | Value::Packed(array) => vec![array],
            Value::Matrix { arrays, values, .. } => {
                let lent = arrays.iter().filter_map(|one| match one {
                    Numbers::Lent(array) => Some(array),
                    Numbers::Own(_) => None,
                });
                lent.chain([values]).collect()
            }
            Value::Stored { arrays, values, .. } | Value::Entries { lists: arrays, values, .. } => {
                arrays.iter().chain([values]).collect()
            }
        }
    }
}

/// The shape of a dense array for a tensor of that rank.
pub fn dense_shape(array: &Array, rank: usize) -> &[usize] {
    match (rank, array.shape()) {
        (0, [1]) => &[],
        (_, shape) => shape,
    }
}

/// The arrays of the levels of a format.
fn levels<'a, A>(
    name: &str,
    format: &Format,
    mut rest: impl Iterator<Item = Option<IndexView<'a>>>,
    take: impl Fn(IndexView<'a>) -> A,
) -> Result<Vec<LevelData<A>>, String> {
    let mut levels = Vec::new();
    for level in format.levels() {
        let mut own = Vec::new();
        for _ in level.kind.arrays() {
            let array = rest.next().flatten();
            let array = array.ok_or_else(|| {
                format!("`{name}`: {format} has other arrays of positions and coordinates")
            })?;
            own.push(take(array));
        }
        levels.push(LevelData::new(level.kind, own));
    }
    match rest.next() {
        None => Ok(levels),
        Some(_) => Err(format!("`{name}`: {format} has fewer arrays of positions and coordinates")),
    }
}

/// The arrays of a matrix of SciPy, where they stand.
///
/// # Errors
/// Arrays that are no matrix of the format.
pub fn matrix<'a>(
    name: &str,
    format: &Format,
    shape: &[u64],
    arrays: &'a [Numbers],
    values: &'a Array,
) -> Result<TensorView<'a>, String> {
    let levels = levels(name, format, arrays.iter().map(Numbers::view), |view| view)?;
    let made = TensorView::from_parts(shape.to_vec(), format.clone(), levels, values.view());
    made.map_err(|error| format!("`{name}`: {error}"))
}

/// The arrays of a tensor, where they stand.
///
/// # Errors
/// Arrays that are no tensor of the format.
pub fn lent<'a>(
    name: &str,
    format: &Format,
    shape: &[u64],
    arrays: &'a [Array],
    values: &'a Array,
) -> Result<TensorView<'a>, String> {
    let levels = levels(name, format, arrays.iter().map(Array::indices), |view| view)?;
    let made = TensorView::from_parts(shape.to_vec(), format.clone(), levels, values.view());
    made.map_err(|error| format!("`{name}`: {error}"))
}

/// A copy of the arrays of a tensor.
///
/// # Errors
/// Arrays that are no tensor of the format; not enough memory.
pub fn copied(
    name: &str,
    format: &Format,
    shape: &[u64],
    arrays: &[Array],
    values: &Array,
) -> Result<Tensor, String> {
    let levels = levels(name, format, arrays.iter().map(Array::indices), |view| match view {
        IndexView::U8(all) => Indices::U8(all.to_vec()),
        IndexView::U16(all) => Indices::U16(all.to_vec()),
        IndexView::U32(all) => Indices::U32(all.to_vec()),
        IndexView::I64(all) => {
            let all: Vec<u64> = all.iter().map(|at| at.cast_unsigned()).collect();
            Indices::of(&all, 0)
        }
    })?;
    let values = copy(name, values.view())?;
    let made = Tensor::from_parts(shape.to_vec(), format.clone(), levels, values);
    made.map_err(|error| format!("`{name}`: {error}"))
}

/// A tensor of entries, several of one element added up.
///
/// # Errors
/// Entries that are none; not enough memory.
pub fn gathered(
    name: &str,
    format: &Format,
    shape: &[u64],
    lists: &[Array],
    values: &Array,
    build: Build,
) -> Result<Tensor, String> {
    let own = lists.iter().map(Array::indices).collect::<Option<Vec<IndexView<'_>>>>();
    let own = own.ok_or_else(|| format!("`{name}`: coordinates must be integers"))?;
    let made = Tensor::from_lists(shape, &own, values.view(), (format, build));
    made.map_err(|error| format!("`{name}`: {error}"))
}

fn copy(name: &str, view: View<'_>) -> Result<Storage, String> {
    Storage::copy_of(view).map_err(|error| format!("`{name}`: {error}"))
}
