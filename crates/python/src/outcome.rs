//! One call from arguments to results, as objects of Python.

use dastac::elements::Element;
use dastac::runtime::program::TensorInfo;
use dastac::runtime::{Instance, TensorId};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arguments::Value;
use crate::buffer::Array;
use crate::call::Call;
use crate::code::Program;
use crate::errors;
use crate::results::{self, Found, helper};
use crate::run::{self, Fault, Target};

/// A dense result: memory that is written to, and the object that the caller gets.
struct Dense<'py> {
    /// Which result it is.
    at: usize,
    tensor: TensorId,
    memory: Array,
    /// Whether elements stand there as in the packed buffer.
    direct: bool,
    array: Bound<'py, PyAny>,
    /// The caller's array, if the elements must be copied to it.
    copied_to: Option<Bound<'py, PyAny>>,
    /// Whether the result is a number in an array of one element.
    is_scalar: bool,
}

/// Where a dense result is to go.
struct Place<'a, 'py> {
    at: usize,
    tensor: TensorId,
    /// The caller's array.
    out: Option<&'a Bound<'py, PyAny>>,
    /// Whether it stays packed.
    packed: bool,
}

impl<'py> Dense<'py> {
    /// What the caller gets.
    fn finished(self) -> PyResult<(usize, Bound<'py, PyAny>)> {
        let Dense { at, memory, array, copied_to, is_scalar, .. } = self;
        drop(memory);
        let found = if is_scalar { array.get_item(0)? } else { array };
        let Some(out) = copied_to else { return Ok((at, found)) };
        out.py().import("numpy")?.getattr("copyto")?.call1((&out, found))?;
        Ok((at, out))
    }
}

impl Program {
    /// Runs the program; gives all results in order.
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        call: &Call<'py>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let found = match self.run_on(py, call, true)? {
            Some(found) => Some(found),
            // A matrix is not sorted, or is none: a copy is made, or an error says why not.
            None => self.run_on(py, call, false)?,
        };
        found.ok_or_else(|| errors::input("an array changed while it was read"))
    }

    /// As [`Program::run`]; `None` if the arrays of a matrix, read where they stand, are not those of its format.
    fn run_on<'py>(
        &self,
        py: Python<'py>,
        call: &Call<'py>,
        direct: bool,
    ) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let tensors = self.tensors();
        let mut inputs = Vec::with_capacity(call.inputs.len());
        for (id, object) in &call.inputs {
            inputs.push((*id, Value::of(&tensors[id.0], object, direct)?));
        }
        let given = |id: &&TensorId| inputs.iter().all(|(given, _)| given != *id);
        let missing: Vec<TensorId> = self.inputs.iter().filter(given).copied().collect();
        if !missing.is_empty() {
            let text = format!("missing inputs: {}", self.names(&missing));
            return Err(PyTypeError::new_err(text));
        }
        let symbols = self.sizes(&call.sizes, &inputs)?;
        let threads = if self.wanted.parallel { call.threads } else { 1 };
        let executable = &self.made.executable;
        let mut instance = self.pool.take(executable, &symbols, threads).map_err(errors::of_run)?;
        self.spares.give(&mut instance);
        let mut dense: Vec<Dense<'py>> = Vec::with_capacity(self.outputs.len());
        let mut stored = Vec::new();
        for (at, id) in self.outputs.iter().enumerate() {
            let out = call.outs.iter().find(|(given, _)| given == id).map(|(_, out)| out);
            if tensors[id.0].format.is_none() {
                let packed = call.packed.contains(&tensors[id.0].name);
                let place = Place { at, tensor: *id, out, packed };
                dense.push(self.dense(py, &instance, &place, &inputs, &dense)?);
            } else if out.is_some() {
                let name = &tensors[id.0].name;
                let text = format!("`{name}` has a format: it cannot be written to `out`");
                return Err(errors::input(&text));
            } else {
                stored.push((at, *id));
            }
        }
        let mut memory: Vec<(TensorId, &mut Array, bool)> =
            dense.iter_mut().map(|one| (one.tensor, &mut one.memory, one.direct)).collect();
        let outcome = py.detach(|| compute(instance, tensors, &inputs, &mut memory, &stored));
        let (instance, found) = match outcome {
            Ok(done) => done,
            Err(Fault::Matrix) => return Ok(None),
            Err(Fault::Run(error)) => return Err(errors::of_run(error)),
            Err(Fault::Value(text)) => return Err(errors::input(&text)),
        };
        self.pool.put(instance);
        let mut made: Vec<Option<Bound<'py, PyAny>>> = vec![None; self.outputs.len()];
        for one in dense {
            let (at, object) = one.finished()?;
            made[at] = Some(object);
        }
        for (at, found) in found {
            made[at] =
                Some(helper(py, "sparse")?.call1(results::parts(py, found, &self.spares)?)?);
        }
        Ok(Some(made.into_iter().flatten().collect()))
    }

    /// Where the elements of a dense result go.
    fn dense<'py>(
        &self,
        py: Python<'py>,
        instance: &Instance<'static>,
        place: &Place<'_, 'py>,
        inputs: &[(TensorId, Value)],
        others: &[Dense<'py>],
    ) -> PyResult<Dense<'py>> {
        let Place { at, tensor, out, packed } = *place;
        let TensorInfo { element, .. } = &self.tensors()[tensor.0];
        let shape = match packed {
            true => vec![usize::try_from(instance.facts()[tensor.0].unique)?],
            false => instance.shape(tensor).map_err(errors::of_run)?,
        };
        let direct = packed || instance.is_dense(tensor).map_err(errors::of_run)?;
        if let Some(out) = out {
            let mut read = inputs.iter().flat_map(|(_, value)| value.arrays());
            let borrowed = Array::borrow(out).filter(|array| {
                array.element() == *element
                    && array.shape() == shape
                    && !array.is_read_only()
                    && read.all(|one| !one.overlaps(array))
                    && others.iter().all(|one| !one.memory.overlaps(array))
            });
            if let Some(memory) = borrowed {
                let (array, copied_to, is_scalar) = (out.clone(), None, false);
                return Ok(Dense { at, tensor, memory, direct, array, copied_to, is_scalar });
            }
        }
        let is_scalar = shape.is_empty();
        let new = if is_scalar { &[1][..] } else { &shape };
        // A truth value is 0 or 1, also before it is computed.
        let zeros = !direct || *element == Element::Bool;
        let array = results::array(py, new, *element, zeros)?;
        let gone = || errors::input("a new array is not as it was asked for");
        let memory = Array::borrow(&array).ok_or_else(gone)?;
        Ok(Dense { at, tensor, memory, direct, array, copied_to: out.cloned(), is_scalar })
    }
}

/// An instance that is free again, and results with formats by their places.
type Done = (Instance<'static>, Vec<(usize, Found)>);

/// The part of a call that no other thread waits for.
fn compute(
    instance: Instance<'static>,
    tensors: &[TensorInfo],
    inputs: &[(TensorId, Value)],
    memory: &mut [(TensorId, &mut Array, bool)],
    stored: &[(usize, TensorId)],
) -> Result<Done, Fault> {
    let mut targets = Vec::with_capacity(memory.len());
    for (tensor, array, packed) in memory {
        let (tensor, packed) = (*tensor, *packed);
        let memory = array.view_mut();
        let read_only = || Fault::Value("an array to write to is read-only".into());
        targets.push(Target { tensor, memory: memory.ok_or_else(read_only)?, packed });
    }
    run::run(instance, tensors, inputs, targets, |instance| {
        stored.iter().map(|(at, id)| Ok((*at, Found::of(instance, *id)?))).collect()
    })
}
