//! Runs of a program that was just compiled: an instance of the run time, beside what the compiler knows.
//!
//! A [`Runner`] makes the code that packs and unpacks dense arrays when it is first needed, draws inputs that have the
//! declared structure, and compares results with the reference evaluator.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dastac_elements::{Storage, View};
use dastac_formats::Tensor;
use dastac_runtime::{Argument, Code, Executable, Instance, Movement, Moves, TensorFacts, stream};
use dastac_stur::reference::{Dense, Evaluator};
use dastac_stur::{Role, TensorId};
use dastac_target::Artifact;

use crate::Error;
use crate::describe::{self, id};
use crate::driver::{Built, Laid};
use crate::trips::Counters;
use crate::verify::MAX_REFERENCE_CELLS;

/// Facts of every tensor at given sizes; also proves that no index and no expression overflows 64 bits.
///
/// # Errors
/// An overflow that is possible, naming the tensor or the expression; a divisor that is not positive.
pub fn facts(laid: &Laid, symbols: &[i64]) -> Result<Vec<TensorFacts>, Error> {
    Ok(describe::sizes(laid)?.at(symbols)?)
}

/// Machine code in this process.
pub(crate) fn load(artifact: &Artifact) -> Result<Code, Error> {
    Ok(Code::load(artifact.abi.clone(), &artifact.code.bytes)?)
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

impl Built {
    /// Loads the code for runs at any sizes, by any number of threads at once. Dense arrays cannot be packed until
    /// [`Built::load_movement`] was called.
    ///
    /// # Errors
    /// Code that cannot be loaded.
    pub fn load(&self) -> Result<Executable, Error> {
        Ok(Executable::new(describe::program(&self.lowered)?, load(&self.code)?))
    }

    /// Makes the code that packs and unpacks dense arrays, and adds it to what was loaded; how long that took.
    ///
    /// # Errors
    /// Code that cannot be made or loaded.
    pub fn load_movement(&self, executable: &Executable) -> Result<Duration, Error> {
        let start = Instant::now();
        let (code, functions) = self.movement()?;
        executable.add_movement(Movement { code: load(&code)?, functions });
        Ok(start.elapsed())
    }

    /// The code that moves tensors, and its functions.
    pub(crate) fn movement(&self) -> Result<(Artifact, Vec<Moves>), Error> {
        let movement = self.lowered.movement()?;
        // Copies are bound by memory: LLVM's whole effort would only delay them.
        let options = &self.options;
        let code = options.generate(movement.module, &options.plain_code())?.artifact;
        Ok((code, describe::moves(movement.functions)))
    }
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

    /// Makes the code that moves tensors, if it is not there.
    fn moves(&mut self) -> Result<(), Error> {
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

    /// What is bound for a dynamic input; nothing for another tensor.
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
            self.moves()?;
        }
        Ok(self.instance.set_input(id(tensor), dense, shape)?)
    }

    /// A tensor as a dense array: redundant elements restored, zeros elsewhere. Of an input only what the computation
    /// uses.
    ///
    /// # Errors
    /// Not enough memory for the tensor's box.
    pub fn dense(&mut self, tensor: TensorId) -> Result<Vec<f64>, Error> {
        Ok(self.unpacked(tensor)?.to_f64())
    }

    /// As [`Runner::dense`], with elements of the tensor's type.
    ///
    /// # Errors
    /// As [`Runner::dense`].
    pub fn unpacked(&mut self, tensor: TensorId) -> Result<Storage, Error> {
        if self.facts()[tensor.0].format.is_none() {
            self.moves()?;
        }
        Ok(self.instance.unpacked(id(tensor))?)
    }

    /// The stored elements of a dense array of any tensor: [`Instance::pack`].
    ///
    /// # Errors
    /// As [`Instance::pack`].
    pub fn pack(&mut self, tensor: TensorId, dense: View<'_>) -> Result<Storage, Error> {
        self.moves()?;
        Ok(self.instance.pack(id(tensor), dense)?)
    }

    /// Draws the inputs that are not among `given` at random on their structure, dynamic ones with
    /// [`Runner::set_density`]: dense while the box is small (and returned, for [`Runner::verify`]), else directly in
    /// packed form.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn random_inputs(
        &mut self,
        seed: u64,
        given: &BTreeMap<TensorId, Dense>,
    ) -> Result<BTreeMap<TensorId, Dense>, Error> {
        let mut drawn = BTreeMap::new();
        let program = self.built.program().clone();
        for tensor in program.tensor_ids() {
            if program.tensor(tensor).role != Role::Input || given.contains_key(&tensor) {
                continue;
            }
            let mut rng = stream(seed, id(tensor));
            let small = self.facts()[tensor.0].cells() <= MAX_REFERENCE_CELLS;
            if self.bound(tensor).is_some() || !small {
                self.instance.draw(id(tensor), &mut rng)?;
                continue;
            }
            let dense = self.evaluator(&program)?.random_input(tensor, &mut rng);
            let dense = dense.map_err(|error| Error::Reference(error.to_string()))?;
            let dense = dense.resized(&self.shape(tensor)?);
            self.set_input(tensor, &dense.data, &dense.shape)?;
            drawn.insert(tensor, dense);
        }
        Ok(drawn)
    }

    pub(crate) fn evaluator<'a>(
        &self,
        program: &'a dastac_stur::Program,
    ) -> Result<Evaluator<'a>, Error> {
        Evaluator::new(program, self.symbols()).map_err(|error| Error::Reference(error.to_string()))
    }

    /// Runs the rules of preprocess blocks, if there are any; how long that took.
    ///
    /// # Errors
    /// As [`Instance::prepare`].
    pub fn prepare(&mut self) -> Result<Duration, Error> {
        Ok(self.instance.prepare()?)
    }

    /// Runs the computation once; how long that took. Preprocess rules run before it where an input changed, and do not
    /// count.
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

    /// What elements of a computed tensor are that nothing is added up for.
    pub(crate) fn zero(&self, tensor: TensorId) -> f64 {
        self.instance.zero(id(tensor))
    }

    /// The values of a computed tensor: of its packed buffer, or those that are stored of one with `:F`.
    pub fn values(&self, tensor: TensorId) -> Vec<f64> {
        self.instance.values(id(tensor))
    }

    /// Runs other code for the same program and layouts from now on; what ran so far.
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
