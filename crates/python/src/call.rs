//! What the arguments of a call say.

use std::collections::BTreeMap;

use dastac::runtime::TensorId;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::Value;
use crate::code::Program;
use crate::errors;

/// What a call says.
pub struct Call<'py> {
    /// What is passed for inputs.
    pub inputs: Vec<(TensorId, Bound<'py, PyAny>)>,
    /// Values of symbols.
    pub sizes: BTreeMap<String, i64>,
    /// Arrays to write results to.
    pub outs: Vec<(TensorId, Bound<'py, PyAny>)>,
    /// The names of results that stay packed.
    pub packed: Vec<String>,
    /// How many threads parallel loops run on; 0 for as many as there are.
    pub threads: usize,
}

impl Program {
    /// The values of all symbols: those of the call, of `compile`, and what inputs' shapes say.
    pub(crate) fn sizes(
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
        let mut derived: Vec<(usize, i64)> = Vec::new();
        for (id, value) in inputs {
            let sides = &self.extents[id.0];
            let Some(shape) = value.extents(sides.len()) else { continue };
            if shape.len() != sides.len() {
                let (own, found) = (sides.len(), shape.len());
                let name = self.name(*id);
                let text = format!("`{name}` has {own} dimensions, but the array has {found}");
                return Err(errors::input(&text));
            }
            for (side, extent) in sides.iter().zip(shape) {
                match side {
                    Some(side) if side.is_plain() => _ = values[side.symbol].get_or_insert(extent),
                    Some(side) => derived.push((side.symbol, side.value(extent))),
                    None => {}
                }
            }
        }
        // Where a side is `2 * N`, it decides only if none is `N`.
        for (symbol, value) in derived {
            values[symbol].get_or_insert(value);
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

    /// What a call's arguments say.
    pub(crate) fn call<'py>(
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
}
