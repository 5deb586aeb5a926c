//! A compiled program as an object of Python.

use std::collections::BTreeMap;

use dastac::formats::Tensor;
use dastac::loops::Index;
use dastac::runtime::program::TensorInfo;
use dastac::runtime::{Role, TensorFacts, TensorId};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::Value;
use crate::buffer::Array;
use crate::errors;
use crate::made::{Made, Wanted};
use crate::pool::Pool;
use crate::results;
use crate::run::{self, Fault, Target};

/// A compiled program.
#[pyclass(frozen, module = "dastac._dastac")]
pub struct Program {
    wanted: Wanted,
    made: Made,
    inputs: Vec<TensorId>,
    outputs: Vec<TensorId>,
    /// Of each tensor and dimension the symbol that the extent is, if it is one.
    extents: Vec<Vec<Option<usize>>>,
    pool: Pool,
}

/// The symbol that an extent is, if it is one.
fn symbol(extent: &Index) -> Option<usize> {
    match extent {
        Index::Symbol(symbol) => Some(symbol.0 as usize),
        Index::Max(one, other) => match (&**one, &**other) {
            (Index::Const(..=0), extent) | (extent, Index::Const(..=0)) => symbol(extent),
            _ => None,
        },
        _ => None,
    }
}

/// A tensor's name, role, element type, format, and the formula of its packed index.
type Known = (String, &'static str, &'static str, Option<String>, String);

/// A tensor's name, shape, stored elements, bytes of its packed buffer, and bytes of its dense array.
type Measured = (String, Vec<i64>, i64, u128, u128);

/// What a call says.
struct Call<'py> {
    inputs: Vec<(TensorId, Bound<'py, PyAny>)>,
    sizes: BTreeMap<String, i64>,
    outs: Vec<(TensorId, Bound<'py, PyAny>)>,
    packed: Vec<String>,
    threads: usize,
}

impl Program {
    /// A program that was compiled.
    pub fn new(wanted: Wanted, made: Made) -> Program {
        let tensors = &made.executable.program().sizes.tensors;
        let with = |role: Role| {
            let all = tensors.iter().enumerate();
            let all = all.filter(move |(_, tensor)| tensor.role == role);
            all.map(|(at, _)| TensorId(at)).collect::<Vec<_>>()
        };
        let extents = tensors.iter().map(|tensor| tensor.extents.iter().map(symbol).collect());
        let (inputs, outputs, extents) = (with(Role::Input), with(Role::Output), extents.collect());
        Program { wanted, made, inputs, outputs, extents, pool: Pool::default() }
    }

    fn tensors(&self) -> &[TensorInfo] {
        &self.made.executable.program().sizes.tensors
    }

    fn symbols(&self) -> &[String] {
        &self.made.executable.program().sizes.symbols
    }

    fn name(&self, id: TensorId) -> &str {
        &self.tensors()[id.0].name
    }

    fn named(&self, ids: &[TensorId], name: &str) -> Option<TensorId> {
        ids.iter().copied().find(|id| self.name(*id) == name)
    }

    fn names(&self, ids: &[TensorId]) -> String {
        let names = ids.iter().map(|id| format!("`{}`", self.name(*id)));
        names.collect::<Vec<_>>().join(", ")
    }

    /// The values of all symbols: those of the call, of `compile`, and what inputs' shapes say.
    fn sizes(
        &self,
        given: &BTreeMap<String, i64>,
        inputs: &[(TensorId, Value)],
    ) -> PyResult<Vec<i64>> {
        let names = self.symbols();
        let unknown = given.keys().find(|name| !names.contains(name));
        if let Some(unknown) = unknown {
            return Err(errors::input(&format!("the program has no symbol `{unknown}`")));
        }
        let known =
            |name: &String| given.get(name).or_else(|| self.wanted.sizes.get(name)).copied();
        let mut values: Vec<Option<i64>> = names.iter().map(known).collect();
        for (id, value) in inputs {
            let symbols = &self.extents[id.0];
            let Some(shape) = value.extents(symbols.len()) else { continue };
            if shape.len() != symbols.len() {
                let (own, found) = (symbols.len(), shape.len());
                let name = self.name(*id);
                let text = format!("`{name}` has {own} dimensions, but the array has {found}");
                return Err(errors::input(&text));
            }
            for (symbol, extent) in symbols.iter().zip(shape) {
                if let Some(symbol) = symbol {
                    values[*symbol].get_or_insert(extent);
                }
            }
        }
        let missing: Vec<&str> = names
            .iter()
            .zip(&values)
            .filter(|(_, v)| v.is_none())
            .map(|(n, _)| n.as_str())
            .collect();
        if !missing.is_empty() {
            let text = format!(
                "no array's shape says the size `{}`: pass it, as in `{}=100`",
                missing.join("`, `"),
                missing[0]
            );
            return Err(errors::input(&text));
        }
        if let Some((name, value)) =
            names.iter().zip(&values).find(|(_, v)| v.is_some_and(|v| v < 0))
        {
            let value = value.unwrap_or_default();
            return Err(errors::input(&format!(
                "the size `{name}` is {value}; sizes are not negative"
            )));
        }
        Ok(values.into_iter().flatten().collect())
    }

    fn run<'py>(&self, py: Python<'py>, call: Call<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let tensors = self.tensors();
        let mut inputs = Vec::with_capacity(call.inputs.len());
        for (id, object) in &call.inputs {
            inputs.push((*id, Value::of(&tensors[id.0], object)?));
        }
        let missing: Vec<TensorId> = self
            .inputs
            .iter()
            .copied()
            .filter(|id| inputs.iter().all(|(given, _)| given != id))
            .collect();
        if !missing.is_empty() {
            let text = format!("missing inputs: {}", self.names(&missing));
            return Err(PyTypeError::new_err(text));
        }
        let symbols = self.sizes(&call.sizes, &inputs)?;
        let threads = if self.wanted.parallel { call.threads } else { 1 };
        let executable = &self.made.executable;
        let instance = self.pool.take(executable, &symbols, threads).map_err(errors::of_run)?;

        // Dense results: where they go, and what is copied from there afterwards.
        let mut made: Vec<Option<Bound<'py, PyAny>>> = vec![None; self.outputs.len()];
        let mut copies = Vec::new();
        let mut memory: Vec<(TensorId, Array, bool)> = Vec::new();
        let mut stored = Vec::new();
        let mut scalars = Vec::new();
        for (at, id) in self.outputs.iter().enumerate() {
            let tensor = &tensors[id.0];
            let out = call.outs.iter().find(|(given, _)| given == id).map(|(_, out)| out);
            if tensor.format.is_some() {
                if out.is_some() {
                    let name = &tensor.name;
                    let text = format!("`{name}` has a format: it cannot be written to `out`");
                    return Err(errors::input(&text));
                }
                stored.push((at, *id));
                continue;
            }
            let as_packed = call.packed.contains(&tensor.name);
            let shape = match as_packed {
                true => vec![usize::try_from(instance.facts()[id.0].unique)?],
                false => instance.shape(*id).map_err(errors::of_run)?,
            };
            let direct = as_packed || tensor.whole;
            if let Some(out) = out {
                let borrowed = Array::borrow(out).filter(|array| {
                    array.element() == tensor.element
                        && array.shape() == shape
                        && !array.is_read_only()
                        && inputs
                            .iter()
                            .flat_map(|(_, value)| value.arrays())
                            .all(|one| !one.overlaps(array))
                        && memory.iter().all(|(_, one, _)| !one.overlaps(array))
                });
                if let Some(array) = borrowed {
                    made[at] = Some(out.clone());
                    memory.push((*id, array, direct));
                    continue;
                }
            }
            let scalar = shape.is_empty();
            let one = [1];
            let new = if scalar { &one[..] } else { &shape };
            let array = results::array(py, new, tensor.element, !direct)?;
            let gone = || errors::input("a new array is not as it was asked for");
            memory.push((*id, Array::borrow(&array).ok_or_else(gone)?, direct));
            match out {
                Some(out) => copies.push((out.clone(), array, scalar, at)),
                None => {
                    made[at] = Some(array);
                    scalars.extend(scalar.then_some(at));
                }
            }
        }

        let (inputs, stored) = (&inputs, &stored);
        let borrowed = &mut memory;
        let outcome = py.detach(|| {
            let mut targets = Vec::new();
            for (tensor, array, packed) in borrowed.iter_mut() {
                let (tensor, packed) = (*tensor, *packed);
                let memory = array.view_mut();
                let read_only = || Fault::Value("an array to write to is read-only".into());
                targets.push(Target { tensor, memory: memory.ok_or_else(read_only)?, packed });
            }
            run::run(instance, tensors, inputs, targets, |instance| {
                let all = stored.iter().map(|(at, id)| {
                    let found: Tensor = match tensors[id.0].zero == 0.0 {
                        true => instance.result(*id)?,
                        // What is not stored is not zero: all elements are needed to say so.
                        false => {
                            let shape = instance.shape(*id)?.iter().map(|n| *n as u64).collect();
                            let made = Tensor::from_dense(shape, instance.unpacked(*id)?);
                            let failed = |source| dastac::runtime::Error::Storage {
                                tensor: tensors[id.0].name.clone(),
                                source,
                            };
                            made.map_err(failed)?
                        }
                    };
                    Ok((*at, found))
                });
                all.collect::<Result<Vec<_>, dastac::runtime::Error>>()
            })
        });
        let (instance, found) = outcome.map_err(|fault| match fault {
            Fault::Run(error) => errors::of_run(error),
            Fault::Value(text) => errors::input(&text),
        })?;
        self.pool.put(instance);
        drop(memory);
        for (out, array, scalar, at) in copies {
            let array = if scalar { array.get_item(0)? } else { array };
            py.import("numpy")?.getattr("copyto")?.call1((&out, array))?;
            made[at] = Some(out);
        }
        for at in scalars {
            let item = made[at].as_ref().map(|array| array.get_item(0)).transpose()?;
            made[at] = item;
        }
        for (at, tensor) in found {
            let parts = results::parts(py, tensor)?;
            made[at] = Some(py.import("dastac._values")?.getattr("sparse")?.call1(parts)?);
        }
        Ok(made.into_iter().flatten().collect())
    }

    /// What a call's arguments say.
    fn call<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Call<'py>> {
        let mut call = Call {
            inputs: Vec::with_capacity(self.inputs.len()),
            sizes: BTreeMap::new(),
            outs: Vec::new(),
            packed: Vec::new(),
            threads: 0,
        };
        if args.len() > self.inputs.len() {
            let text = format!(
                "the program has {} inputs, but {} are given",
                self.inputs.len(),
                args.len()
            );
            return Err(PyTypeError::new_err(text));
        }
        call.inputs.extend(self.inputs.iter().copied().zip(args.iter()));
        let Some(kwargs) = kwargs else { return Ok(call) };
        for (key, value) in kwargs.iter() {
            let key: String = key.extract()?;
            if let Some(id) = self.named(&self.inputs, &key) {
                if call.inputs.iter().any(|(given, _)| *given == id) {
                    let text = format!("`{key}` is given twice");
                    return Err(PyTypeError::new_err(text));
                }
                call.inputs.push((id, value));
            } else if self.symbols().contains(&key) {
                call.sizes.insert(key, value.extract()?);
            } else if key == "out" {
                call.outs = self.outs(&value)?;
            } else if key == "packed" {
                call.packed = value.extract()?;
            } else if key == "threads" {
                call.threads = value.extract()?;
            } else {
                let text = format!(
                    "the program has no input and no size `{key}`; inputs are {}",
                    self.names(&self.inputs)
                );
                return Err(PyTypeError::new_err(text));
            }
        }
        Ok(call)
    }

    /// Arrays to write to: one for a program with one result, or by name.
    fn outs<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Vec<(TensorId, Bound<'py, PyAny>)>> {
        if value.is_none() {
            return Ok(Vec::new());
        }
        let Ok(by_name) = value.cast::<PyDict>() else {
            return match &self.outputs[..] {
                [one] => Ok(vec![(*one, value.clone())]),
                _ => Err(PyTypeError::new_err(
                    "the program has several results: pass `out` as a dict",
                )),
            };
        };
        let mut outs = Vec::new();
        for (name, array) in by_name.iter() {
            let name: String = name.extract()?;
            let none = || PyTypeError::new_err(format!("the program has no result `{name}`"));
            outs.push((self.named(&self.outputs, &name).ok_or_else(none)?, array));
        }
        Ok(outs)
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
        let call = self.call(args, kwargs)?;
        let mut found = self.run(py, call)?;
        if let [_] = found[..] {
            return Ok(found.remove(0));
        }
        let names: Vec<&str> = self.outputs.iter().map(|id| self.name(*id)).collect();
        py.import("dastac._values")?.getattr("Results")?.call1((names, found))
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
