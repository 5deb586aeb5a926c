//! A compiled program as an object of Python.

use std::collections::BTreeMap;
use std::sync::Arc;

use dastac::Side;
use dastac::runtime::program::TensorInfo;
use dastac::runtime::{Role, TensorFacts, TensorId};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors;
use crate::made::{Made, Wanted};
use crate::pool::{Pool, Spares};
use crate::results::{self, helper};

/// A compiled program.
#[pyclass(frozen, module = "dastac._dastac")]
pub struct Program {
    pub(crate) wanted: Wanted,
    pub(crate) made: Made,
    pub(crate) inputs: Vec<TensorId>,
    pub(crate) outputs: Vec<TensorId>,
    /// Of each tensor and dimension the symbol that the extent tells, if it tells one.
    pub(crate) extents: Vec<Vec<Option<Side<usize>>>>,
    pub(crate) pool: Pool,
    pub(crate) spares: Arc<Spares>,
}

/// A tensor's name, role, element type, format, and the formula of its packed index.
type Known = (String, &'static str, &'static str, Option<String>, String);

/// A tensor's name, shape, stored elements, bytes of its packed buffer, and bytes of its dense array.
type Measured = (String, Vec<i64>, i64, u128, u128);

impl Program {
    /// A program that was compiled.
    pub fn new(wanted: Wanted, made: Made) -> Program {
        let tensors = &made.executable.program().sizes.tensors;
        let with = |role: Role| {
            let all = tensors.iter().enumerate();
            let all = all.filter(move |(_, tensor)| tensor.role == role);
            all.map(|(at, _)| TensorId(at)).collect::<Vec<_>>()
        };
        let extents =
            tensors.iter().map(|tensor| tensor.extents.iter().map(Side::of_index).collect());
        let (inputs, outputs, extents) = (with(Role::Input), with(Role::Output), extents.collect());
        Program {
            wanted,
            made,
            inputs,
            outputs,
            extents,
            pool: Pool::default(),
            spares: Arc::default(),
        }
    }

    pub(crate) fn tensors(&self) -> &[TensorInfo] {
        &self.made.executable.program().sizes.tensors
    }

    pub(crate) fn symbols(&self) -> &[String] {
        &self.made.executable.program().sizes.symbols
    }

    pub(crate) fn name(&self, id: TensorId) -> &str {
        &self.tensors()[id.0].name
    }

    pub(crate) fn named(&self, ids: &[TensorId], name: &str) -> Option<TensorId> {
        ids.iter().copied().find(|id| self.name(*id) == name)
    }

    pub(crate) fn names(&self, ids: &[TensorId]) -> String {
        let names = ids.iter().map(|id| format!("`{}`", self.name(*id)));
        names.collect::<Vec<_>>().join(", ")
    }

    fn facts(&self, sizes: &BTreeMap<String, i64>) -> PyResult<Vec<TensorFacts>> {
        let all = &self.made.executable.program().sizes;
        let mut given = self.wanted.sizes.clone();
        given.extend(sizes.iter().map(|(name, value)| (name.clone(), *value)));
        let values = all.symbol_values(&given).map_err(errors::of_run)?;
        all.at(&values).map_err(errors::of_run)
    }
}

#[pymethods]
impl Program {
    /// Runs the program: see `dastac.Program`.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut found = self.run(py, &self.call(args, kwargs)?)?;
        if let [_] = found[..] {
            return Ok(found.remove(0));
        }
        let names: Vec<&str> = self.outputs.iter().map(|id| self.name(*id)).collect();
        helper(py, "Results")?.call1((names, found))
    }

    /// The program's text.
    #[getter]
    fn text(&self) -> &str {
        &self.wanted.text
    }

    /// What messages call the program.
    #[getter]
    fn name_of_text(&self) -> &str {
        &self.wanted.name
    }

    /// Values of symbols that were given when it was compiled.
    #[getter]
    fn given_sizes(&self) -> BTreeMap<String, i64> {
        self.wanted.sizes.clone()
    }

    /// Whether loops run on several threads.
    #[getter]
    fn parallel(&self) -> bool {
        self.wanted.parallel
    }

    /// Whether its code was in the cache on disk.
    #[getter(from_cache)]
    fn is_kept(&self) -> bool {
        self.made.kept
    }

    /// Warnings of the compiler, as text.
    #[getter]
    fn warnings(&self) -> &str {
        &self.made.warnings
    }

    /// The names of the symbols.
    #[getter]
    fn symbols_of(&self) -> Vec<String> {
        self.symbols().to_vec()
    }

    /// The names of the inputs, in the order in which a call takes them.
    #[getter]
    fn input_names(&self) -> Vec<&str> {
        self.inputs.iter().map(|id| self.name(*id)).collect()
    }

    /// The names of the results.
    #[getter]
    fn output_names(&self) -> Vec<&str> {
        self.outputs.iter().map(|id| self.name(*id)).collect()
    }

    /// Of each tensor its name, role, element type, format, and the formula of its packed index.
    #[getter]
    fn tensor_facts(&self) -> Vec<Known> {
        let all = self.tensors().iter().map(|tensor| {
            let format = tensor.format.as_ref().map(ToString::to_string);
            let (role, dtype) = (tensor.role.name(), results::dtype(tensor.element));
            (tensor.name.clone(), role, dtype, format, tensor.index.clone())
        });
        all.collect()
    }

    /// Of each tensor its name, shape, stored elements, bytes of its packed buffer, and bytes of its dense array.
    #[pyo3(signature = (**sizes))]
    fn sizes_at(&self, sizes: Option<BTreeMap<String, i64>>) -> PyResult<Vec<Measured>> {
        let facts = self.facts(&sizes.unwrap_or_default())?;
        let all = facts.into_iter();
        Ok(all.map(|f| (f.name, f.shape, f.unique, f.packed_bytes, f.dense_bytes)).collect())
    }
}
