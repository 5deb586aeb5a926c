//! Runs of a program that was just compiled: an instance of the run time, beside what the compiler knows.
//!
//! A [`Runner`] makes the code that packs and unpacks dense arrays when it is first needed, draws inputs that have the
//! declared structure, and compares results with the reference evaluator.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dastac_elements::{Storage, View};
use dastac_formats::Tensor;
use dastac_runtime::{Argument, Code, Instance, TensorFacts};
use dastac_stur::TensorId;
use dastac_stur::reference::Array;

use crate::Error;
use crate::counters::Counters;
use crate::describe::{self, id};
use crate::driver::{Built, Laid};
use crate::verify::{Reference, Verification};

/// Facts of every tensor at given sizes; also proves that no index and no expression overflows 64 bits.
///
/// # Errors
/// An overflow that is possible, naming the tensor or the expression; a divisor that is not positive.
pub fn facts(laid: &Laid, symbols: &[i64]) -> Result<Vec<TensorFacts>, Error> {
    Ok(describe::sizes(laid)?.at(symbols)?)
}

/// A compiled program with its memory.
pub struct Runner {
    built: Built,
    instance: Instance<'static>,
    /// How long it took to make the code that moves tensors, if it was needed.
    movement: Option<Duration>,
    /// Code that counts, once it was asked for.
    pub(crate) counters: Option<Counters>,
}

impl Runner {
    /// Allocates packed buffers (zero) for the given sizes.
    ///
    /// # Errors
    /// Missing or negative symbols, overflow, not enough memory.
    pub fn new(
        built: Built,
        symbols: &BTreeMap<String, i64>,
        threads: usize,
    ) -> Result<Runner, Error> {
        let instance = Instance::new(Arc::new(built.load()?), symbols, threads)?;
        Ok(Runner { built, instance, movement: None, counters: None })
    }

    /// Allocates packed buffers (zero) for other sizes; the code is the same for all.
    ///
    /// # Errors
    /// As [`Runner::new`]; the runner keeps its old sizes then.
    pub fn resize(&mut self, symbols: &BTreeMap<String, i64>) -> Result<(), Error> {
        Ok(self.instance.resize(symbols)?)
    }

    /// The program.
    pub fn built(&self) -> &Built {
        &self.built
    }

    /// What runs.
    pub fn instance(&self) -> &Instance<'static> {
        &self.instance
    }

    /// What runs.
    pub fn instance_mut(&mut self) -> &mut Instance<'static> {
        &mut self.instance
    }

    /// Time to generate the data movement, if it was needed.
    pub fn movement_compile_time(&self) -> Option<Duration> {
        self.movement
    }

    /// Makes the code that moves tensors between dense arrays and packed buffers, if it is not there.
    ///
    /// # Errors
    /// Code that cannot be made or loaded.
    pub fn make_movement(&mut self) -> Result<(), Error> {
        let executable = self.instance.executable();
        if executable.movement().is_none() {
            self.movement = Some(self.built.load_movement(executable)?);
        }
        Ok(())
    }

    /// Binds a dynamic input: [`Instance::bind`].
    ///
    /// # Errors
    /// As [`Instance::bind`].
    pub fn bind(&mut self, tensor: TensorId, value: Tensor) -> Result<(), Error> {
        Ok(self.instance.bind(id(tensor), value)?)
    }

    /// The tensor that is bound for a dynamic input; `None` for other tensors.
    pub fn bound(&self, tensor: TensorId) -> Option<&Tensor> {
        self.instance.bound(id(tensor))
    }

    /// Sets which part of the elements random dynamic inputs have from now on, between 0 and 1.
    pub fn set_density(&mut self, density: f64) {
        self.instance.set_density(density);
    }

    /// What is known of each tensor, indexed by [`TensorId`].
    pub fn facts(&self) -> &[TensorFacts] {
        self.instance.facts()
    }

    /// Values of the symbols in declaration order.
    pub fn symbols(&self) -> &[i64] {
        self.instance.symbols()
    }

    /// The shape of a tensor's dense array.
    ///
    /// # Errors
    /// An extent that memory cannot have.
    pub fn shape(&self, tensor: TensorId) -> Result<Vec<usize>, Error> {
        Ok(self.instance.shape(id(tensor))?)
    }

    /// A packed buffer.
    pub fn packed(&self, tensor: TensorId) -> View<'_> {
        self.instance.packed(id(tensor))
    }

    /// Sets every element of a packed buffer by its place, as the element type holds it.
    pub fn fill_packed(&mut self, tensor: TensorId, value: impl FnMut(usize) -> f64) {
        if let Some(mut packed) = self.instance.packed_mut(id(tensor)) {
            packed.fill(value);
        }
    }

    /// Checks a dense array against the declared structure of an input and packs it: [`Instance::set_input`].
    ///
    /// # Errors
    /// As [`Instance::set_input`].
    pub fn set_input(
        &mut self,
        tensor: TensorId,
        dense: &[f64],
        shape: &[usize],
    ) -> Result<(), Error> {
        let fact = &self.facts()[tensor.0];
        if fact.role == dastac_runtime::Role::Input && fact.format.is_none() {
            self.make_movement()?;
        }
        Ok(self.instance.set_input(id(tensor), dense, shape)?)
    }

    /// A tensor as a dense array: redundant elements restored, zeros elsewhere. Of an input only what the computation
    /// uses.
    ///
    /// # Errors
    /// Not enough memory for the tensor's box.
    pub fn dense(&mut self, tensor: TensorId) -> Result<Vec<f64>, Error> {
        if self.facts()[tensor.0].format.is_none() {
            self.make_movement()?;
        }
        Ok(self.instance.dense(id(tensor))?)
    }

    /// As [`Runner::dense`], with elements of the tensor's type.
    ///
    /// # Errors
    /// As [`Runner::dense`].
    pub fn unpacked(&mut self, tensor: TensorId) -> Result<Storage, Error> {
        if self.facts()[tensor.0].format.is_none() {
            self.make_movement()?;
        }
        Ok(self.instance.unpacked(id(tensor))?)
    }

    /// The stored elements of a dense array of any tensor: [`Instance::pack`].
    ///
    /// # Errors
    /// As [`Instance::pack`].
    pub fn pack(&mut self, tensor: TensorId, dense: View<'_>) -> Result<Storage, Error> {
        self.make_movement()?;
        Ok(self.instance.pack(id(tensor), dense)?)
    }

    /// Draws the inputs that are not among `given` at random: [`Reference::draw_inputs`].
    ///
    /// # Errors
    /// As [`Reference::draw_inputs`].
    pub fn random_inputs(
        &mut self,
        seed: u64,
        given: &BTreeMap<TensorId, Array>,
    ) -> Result<BTreeMap<TensorId, Array>, Error> {
        if Reference::of(self.built.written()).draws_arrays(&self.instance, given) {
            self.make_movement()?;
        }
        Reference::of(self.built.written()).draw_inputs(&mut self.instance, seed, given)
    }

    /// Compares all computed tensors with the reference evaluator on the given inputs: [`Reference::compare`].
    ///
    /// # Errors
    /// As [`Reference::compare`].
    pub fn verify(&mut self, inputs: &BTreeMap<TensorId, Array>) -> Result<Verification, Error> {
        if Reference::of(self.built.written()).compares_arrays() {
            self.make_movement()?;
        }
        Reference::of(self.built.written()).compare(&self.instance, inputs)
    }

    /// Runs the rules of preprocess blocks, if there are any, and returns how long that took.
    ///
    /// # Errors
    /// As [`Instance::prepare`].
    pub fn prepare(&mut self) -> Result<Duration, Error> {
        Ok(self.instance.prepare()?)
    }

    /// Runs the computation once and returns how long that took. If an input changed, preprocess rules run before it,
    /// which does not count.
    ///
    /// # Errors
    /// As [`Instance::execute`].
    pub fn execute(&mut self) -> Result<Duration, Error> {
        Ok(self.instance.execute()?)
    }

    /// A computed tensor with `:F`, in that format.
    ///
    /// # Errors
    /// As [`Instance::result`].
    pub fn result(&self, tensor: TensorId) -> Result<Tensor, Error> {
        Ok(self.instance.result(id(tensor))?)
    }

    /// A computed tensor with `:F` for a file: [`Instance::result_entries`].
    ///
    /// # Errors
    /// As [`Instance::result`].
    pub fn result_entries(&self, tensor: TensorId) -> Result<Tensor, Error> {
        Ok(self.instance.result_entries(id(tensor))?)
    }

    /// The values of a computed tensor: of its packed buffer, or those that are stored of one with `:F`.
    pub fn values(&self, tensor: TensorId) -> Vec<f64> {
        self.instance.values(id(tensor))
    }

    /// Runs other code for the same program and layouts from now on, and returns the code that ran so far.
    pub(crate) fn exchange(&mut self, code: Arc<Code>) -> Arc<Code> {
        self.instance.exchange(code)
    }

    /// Makes computed tensors not-a-number, so that what is not computed again shows.
    pub(crate) fn forget_results(&mut self) {
        self.instance.forget_results();
    }

    /// Runs `code` on what a function of the computation takes: [`Instance::call_with`].
    ///
    /// # Errors
    /// What the code reports.
    pub fn call_with(
        &mut self,
        name: &str,
        code: impl FnOnce(&Code, &[i64], Vec<Argument<'_>>) -> dastac_runtime::Result<()>,
    ) -> Result<Duration, Error> {
        Ok(self.instance.call_with(name, code)?)
    }
}
