//! Running a compiled program: symbols, memory, inputs, data movement, verification.
//!
//! A [`Runner`] owns the packed buffers. Dense arrays (C order, the tensor's box) come in through
//! [`Runner::set_input`], which checks them against the declared structure and packs them, and go out through
//! [`Runner::dense`]. Tensors with `:F` come in through [`Runner::bind`], and go out through [`Runner::result`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use dastac_elements::{Storage, View};
use dastac_formats::level::LevelBuffers;
use dastac_formats::storage::LevelData;
use dastac_formats::{Build, Entries, Format, StorageError, Tensor};
use dastac_iterate::Structure;
use dastac_loops::{BufferId, Mode};
use dastac_runtime::{Argument, Code, Threads};
use dastac_sched::{Phase, Stored};
use dastac_stur::Role;
use dastac_stur::infer::Read;
use dastac_stur::program::{Element, TensorId};
use dastac_stur::reference::{Dense, Evaluator};
use dastac_target::Artifact;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::Error;
use crate::driver::{Built, Indices};
use crate::dynamic::{self, Bound, Conversion, Copy};
use crate::results::{self, Results};
use crate::trips::Counters;

/// The reference evaluator is refused when the dense boxes of all tensors together hold more elements. Up to this size
/// random inputs are drawn dense, as it needs them; beyond, directly in packed form.
pub const MAX_REFERENCE_CELLS: u128 = 1 << 22;

/// The reference evaluator is refused beyond this many iterations.
pub const MAX_REFERENCE_COST: u128 = 1 << 28;

/// The part of the elements that random dynamic inputs have where nothing else is asked for.
pub const DEFAULT_DENSITY: f64 = 0.1;

/// What is known of a tensor at the given sizes.
#[derive(Clone, Debug)]
pub struct TensorFacts {
    /// Its name.
    pub name: String,
    /// Where its values come from.
    pub role: Role,
    /// The type of its elements.
    pub element: Element,
    /// Its box.
    pub shape: Vec<i64>,
    /// Stored elements.
    pub unique: i64,
    /// Bytes of the packed buffer.
    pub packed_bytes: u128,
    /// Bytes of a dense array of its box.
    pub dense_bytes: u128,
    /// The index polynomial.
    pub index: String,
    /// Pieces of the index.
    pub pieces: usize,
    /// The format of a dynamic tensor. Its stored elements and bytes are those of what is bound.
    pub format: Option<String>,
}

/// Values of the symbols in declaration order.
///
/// # Errors
/// Unknown, missing and negative symbols.
pub fn symbol_values(names: &[String], given: &BTreeMap<String, i64>) -> Result<Vec<i64>, Error> {
    if let Some(unknown) = given.keys().find(|name| !names.contains(name)) {
        return Err(Error::UnknownSymbol(unknown.clone()));
    }
    names
        .iter()
        .map(|name| match given.get(name) {
            None => Err(Error::MissingSymbol(name.clone())),
            Some(value) if *value < 0 => {
                Err(Error::NegativeSymbol { name: name.clone(), value: *value })
            }
            Some(value) => Ok(*value),
        })
        .collect()
}

/// Facts of every tensor at given sizes; also proves that no index and no expression overflows 64 bits.
///
/// # Errors
/// An overflow that is possible, naming the tensor or the expression; a divisor that is not positive.
pub fn facts(laid: &crate::driver::Laid, symbols: &[i64]) -> Result<Vec<TensorFacts>, Error> {
    let inferred = &laid.analysis.inferred;
    let values = inferred.parameter_values(symbols)?;
    inferred.check_expressions(&values)?;
    let isl_values: Vec<(String, i64)> = values
        .iter()
        .map(|(name, value)| (inferred.sets.names.isl(name).to_string(), *value))
        .collect();
    let mut facts = Vec::new();
    for (id, layout) in inferred.program.tensor_ids().zip(&laid.layouts) {
        let tensor = inferred.program.tensor(id);
        let too_large = || Error::TooLarge(tensor.name.clone());
        let mut shape = Vec::new();
        for extent in &inferred.tensors[id.0].extents {
            let value = extent.eval(&|name| values.get(name).copied());
            shape.push(value.ok_or_else(too_large)?);
        }
        let elements = shape.iter().try_fold(1u128, |product, extent| {
            product.checked_mul(u128::from(extent.unsigned_abs()))
        });
        let bytes = tensor.element.bytes() as u128;
        let format = tensor.format.as_ref().map(|storage| storage.format.to_string());
        let unique = match format {
            None => layout.check_range(&tensor.name, &isl_values)?,
            Some(_) => 0,
        };
        let dense_bytes = elements.and_then(|e| e.checked_mul(bytes));
        // A sparse tensor may have any box.
        let dense_bytes = dense_bytes.or_else(|| format.is_some().then_some(u128::MAX));
        facts.push(TensorFacts {
            name: tensor.name.clone(),
            role: tensor.role,
            shape,
            unique,
            element: tensor.element,
            packed_bytes: u128::from(unique.unsigned_abs()) * bytes,
            dense_bytes: dense_bytes.ok_or_else(too_large)?,
            index: format.clone().unwrap_or_else(|| layout.index.to_string()),
            pieces: layout.index.pieces.len().max(1),
            format,
        });
    }
    Ok(facts)
}

impl TensorFacts {
    /// Elements of a dense array of its box.
    pub fn cells(&self) -> u128 {
        self.dense_bytes / self.element.bytes() as u128
    }
}

/// Machine code in this process.
pub(crate) fn load(artifact: &Artifact) -> Result<Code, Error> {
    Ok(Code::load(artifact.abi.clone(), &artifact.code.bytes)?)
}

/// A compiled program with its memory.
pub struct Runner {
    built: Built,
    symbols: Vec<i64>,
    facts: Vec<TensorFacts>,
    kernel: Code,
    moves: Option<Moves>,
    packed: Vec<Storage>,
    /// Dynamic inputs.
    bound: BTreeMap<TensorId, Bound>,
    /// Dynamic tensors that are computed.
    results: Results,
    /// What functions take before their buffers: the symbols, then numbers of positions.
    parameters: Vec<i64>,
    /// Of random dynamic inputs.
    density: f64,
    threads: Threads,
    /// The rules of preprocess blocks ran on the inputs that are there.
    prepared: bool,
    /// Code that counts, once it was asked for.
    pub(crate) counters: Option<Counters>,
}

/// Code for a function of a computation, by its name, that takes what the function takes.
pub(crate) type Substitute<'a> =
    dyn FnMut(&str, &[i64], Vec<Argument<'_>>) -> dastac_runtime::Result<()> + 'a;

struct Moves {
    code: Code,
    functions: Vec<(String, String, Option<String>)>,
    compile: Duration,
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
        let kernel = load(&built.code)?;
        let mut runner = Runner {
            built,
            symbols: Vec::new(),
            facts: Vec::new(),
            kernel,
            moves: None,
            packed: Vec::new(),
            bound: BTreeMap::new(),
            results: Results::default(),
            parameters: Vec::new(),
            density: DEFAULT_DENSITY,
            threads: threads.into(),
            prepared: false,
            counters: None,
        };
        runner.resize(symbols)?;
        Ok(runner)
    }

    /// Allocates packed buffers (zero) for other sizes; the code is the same for all.
    ///
    /// # Errors
    /// As [`Runner::new`]; the runner keeps its old sizes then.
    pub fn resize(&mut self, symbols: &BTreeMap<String, i64>) -> Result<(), Error> {
        let laid = &self.built.lowered.laid;
        let names: Vec<String> =
            laid.analysis.inferred.program.symbols.iter().map(|(name, _)| name.clone()).collect();
        let symbols = symbol_values(&names, symbols)?;
        let facts = facts(laid, &symbols)?;
        let lowered = &self.built.lowered;
        if lowered.indices == Indices::Narrow {
            let too_long = |id: TensorId| facts[id.0].shape.iter().any(|n| *n > 1 << 32);
            let mut results = lowered.kernel.results.iter().map(|one| one.tensor);
            if let Some(id) = results.find(|id| too_long(*id)) {
                return Err(Error::Wide(facts[id.0].name.clone()));
            }
        }
        check_memory("the packed tensors", facts.iter().map(|f| f.packed_bytes).sum())?;
        let mut packed = Vec::new();
        for fact in &facts {
            let length =
                usize::try_from(fact.unique).map_err(|_| Error::TooLarge(fact.name.clone()))?;
            packed.push(Storage::zeroed(fact.element, length)?);
        }
        let module = &self.built.lowered.kernel.module;
        self.parameters = symbols.clone();
        self.parameters.resize(module.symbols.len(), 0);
        (self.symbols, self.facts, self.packed) = (symbols, facts, packed);
        self.prepared = false;
        self.bound.clear();
        self.results = Results::default();
        let stored = self.built.lowered.kernel.stored.iter().map(|one| one.tensor);
        let inputs: BTreeSet<TensorId> =
            stored.filter(|id| self.facts[id.0].role == Role::Input).collect();
        for id in inputs {
            let shape = self.box_of(id)?;
            let none = Entries::new(shape, Vec::new(), Storage::empty(Element::F64));
            self.set_entries(id, none)?;
        }
        Ok(())
    }

    /// The formats in which a dynamic tensor is read.
    fn stored(&self, tensor: TensorId) -> Vec<Stored> {
        let stored = &self.built.lowered.kernel.stored;
        stored.iter().filter(|one| one.tensor == tensor).cloned().collect()
    }

    /// Binds a dynamic input, which is converted to the format of its `:F` (and to others where rules cannot walk it in
    /// that one).
    ///
    /// # Errors
    /// A tensor that has no `:F`; another shape; more memory than there is; indices beyond the width that the program
    /// was built for.
    pub fn bind(&mut self, tensor: TensorId, value: Tensor) -> Result<(), Error> {
        let stored = self.stored(tensor);
        let fact = &self.facts[tensor.0];
        if fact.role != Role::Input {
            return Err(Error::NotAnInput(fact.name.clone()));
        }
        if stored.is_empty() {
            return Err(Error::NotDynamic(fact.name.clone()));
        }
        let expected = self.box_of(tensor)?;
        if value.shape() != expected {
            let sizes = |shape: &[u64]| shape.iter().map(|e| *e as usize).collect();
            let (expected, found) = (sizes(&expected), sizes(value.shape()));
            return Err(Error::Shape { tensor: fact.name.clone(), expected, found });
        }
        let wide = self.built.lowered.indices == Indices::Wide;
        let stored: Vec<&Stored> = stored.iter().collect();
        let bound = Bound::new(&fact.name, value, fact.element, &stored, wide)?;
        for (symbol, count) in bound.counts(&stored) {
            self.parameters[symbol.0 as usize] = count;
        }
        let fact = &mut self.facts[tensor.0];
        fact.unique = i64::try_from(bound.tensor().values().len()).unwrap_or(i64::MAX);
        fact.packed_bytes = u128::from(bound.bytes());
        self.bound.insert(tensor, bound);
        self.prepared = false;
        Ok(())
    }

    /// What is bound for a dynamic input; nothing for another tensor.
    pub fn bound(&self, tensor: TensorId) -> Option<&Tensor> {
        self.bound.get(&tensor).map(Bound::tensor)
    }

    /// Copies of dynamic tensors that rules read in place of them, since no order of loops walks these as `:F` says.
    pub fn conversions(&self) -> Vec<Conversion> {
        let all = self.bound.iter().map(|(id, bound)| {
            let stored = self.stored(*id);
            bound.conversions(&stored.iter().collect::<Vec<_>>())
        });
        let stored = &self.built.lowered.kernel.stored;
        let of_results = stored.iter().filter_map(|one| {
            let copy = self.results.copies.get(&one.operand.values)?;
            let first = stored.iter().find(|other| other.tensor == one.tensor)?;
            copy.conversion(one, &first.operand.format)
        });
        all.flatten().chain(of_results).collect()
    }

    /// Sets which part of the elements random dynamic inputs have from now on, between 0 and 1; [`DEFAULT_DENSITY`] at
    /// first.
    pub fn set_density(&mut self, density: f64) {
        self.density = density;
    }

    /// Binds entries.
    fn set_entries(
        &mut self,
        tensor: TensorId,
        entries: Result<Entries, StorageError>,
    ) -> Result<(), Error> {
        let stored = self.stored(tensor);
        let Some(first) = stored.first() else { return Ok(()) };
        let built = entries.and_then(|entries| {
            Tensor::from_entries(&entries, &first.operand.format, dynamic::build())
        });
        let name = &self.facts[tensor.0].name;
        let built = built.map_err(|source| Error::Storage { tensor: name.clone(), source })?;
        self.bind(tensor, built)
    }

    /// The extents of a tensor.
    fn box_of(&self, tensor: TensorId) -> Result<Vec<u64>, Error> {
        Ok(self.shape(tensor)?.into_iter().map(|extent| extent as u64).collect())
    }

    /// What is known of each tensor, indexed by [`TensorId`].
    pub fn facts(&self) -> &[TensorFacts] {
        &self.facts
    }

    /// Values of the symbols in declaration order.
    pub fn symbols(&self) -> &[i64] {
        &self.symbols
    }

    /// What functions take before their buffers.
    pub(crate) fn parameters(&self) -> &[i64] {
        &self.parameters
    }

    /// The program.
    pub fn built(&self) -> &Built {
        &self.built
    }

    /// Time to generate the data movement, if it was needed.
    pub fn movement_compile_time(&self) -> Option<Duration> {
        self.moves.as_ref().map(|moves| moves.compile)
    }

    /// The shape of a tensor's dense array.
    pub fn shape(&self, tensor: TensorId) -> Result<Vec<usize>, Error> {
        let fact = &self.facts[tensor.0];
        let shape: Result<Vec<usize>, _> = fact.shape.iter().map(|e| usize::try_from(*e)).collect();
        shape.map_err(|_| Error::TooLarge(fact.name.clone()))
    }

    /// A packed buffer.
    pub fn packed(&self, tensor: TensorId) -> &Storage {
        &self.packed[tensor.0]
    }

    /// A packed buffer, to fill.
    pub fn packed_mut(&mut self, tensor: TensorId) -> &mut Storage {
        self.prepared = false;
        &mut self.packed[tensor.0]
    }

    fn moves(&mut self) -> Result<(), Error> {
        if self.moves.is_none() {
            let start = Instant::now();
            let movement = self.built.lowered.movement()?;
            // Copies are bound by memory: LLVM's whole effort would only delay them.
            let options = &self.built.options;
            let code = options.generate(movement.module, &options.plain_code())?.artifact;
            let code = load(&code)?;
            self.moves =
                Some(Moves { code, functions: movement.functions, compile: start.elapsed() });
        }
        Ok(())
    }

    /// Checks a dense array against the declared structure of an input and packs it, its values rounded to the tensor's
    /// element type.
    ///
    /// # Errors
    /// A wrong shape; the first element (in C order) that contradicts the structure.
    pub fn set_input(
        &mut self,
        tensor: TensorId,
        dense: &[f64],
        shape: &[usize],
    ) -> Result<(), Error> {
        let fact = self.facts[tensor.0].clone();
        if fact.role != Role::Input {
            return Err(Error::NotAnInput(fact.name));
        }
        let expected = self.shape(tensor)?;
        if shape != expected || dense.len() != expected.iter().product::<usize>() {
            return Err(Error::Shape { tensor: fact.name, expected, found: shape.to_vec() });
        }
        if fact.format.is_some() {
            let values = Storage::from(dense.to_vec());
            let whole = Tensor::from_dense(self.box_of(tensor)?, values);
            let entries =
                whole.and_then(|whole| whole.convert(&Format::coo(shape.len()), dynamic::build()));
            return self.set_entries(tensor, entries.and_then(|tensor| tensor.to_entries()));
        }
        check_memory(&format!("checking the structure of `{}`", fact.name), fact.dense_bytes)?;
        let rounded = match fact.element {
            Element::F64 => None,
            element => Some(Storage::of_numbers(element, dense)?),
        };
        let source = || rounded.as_ref().map_or(View::of(dense), Storage::view);
        self.moves()?;
        self.prepared = false;
        let Some(moves) = &self.moves else { return Ok(()) };
        let (pack, _, expand) = &moves.functions[tensor.0];
        if let Some(expand) = expand {
            let mut expanded = Storage::zeroed(fact.element, dense.len())?;
            moves.code.call_on(
                self.threads,
                expand,
                &self.parameters,
                &mut [Argument::In(source()), Argument::Out(expanded.view_mut())],
            )?;
            let tolerance = match fact.element {
                Element::F64 => 1e-12,
                shorter => 8.0 * shorter.epsilon(),
            };
            let same = |a: f64, b: f64| {
                a == b
                    || (a.is_nan() && b.is_nan())
                    || (a - b).abs() <= tolerance * a.abs().max(b.abs())
            };
            let differs = (0..dense.len())
                .find(|at| !same(fact.element.round(dense[*at]), expanded.number(*at)));
            if let Some(position) = differs {
                return Err(Error::Contradiction {
                    tensor: fact.name,
                    index: unflatten(position, &expected),
                    expected: expanded.number(position),
                    found: dense[position],
                });
            }
        }
        let packed = &mut self.packed[tensor.0];
        moves.code.call_on(
            self.threads,
            pack,
            &self.parameters,
            &mut [Argument::In(source()), Argument::Out(packed.view_mut())],
        )?;
        Ok(())
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
        let fact = &self.facts[tensor.0];
        check_memory(&format!("a dense array of `{}`", fact.name), fact.dense_bytes)?;
        if fact.format.is_some() {
            let found = self.result(tensor)?;
            let whole = Format::dense(found.shape().len());
            let dense = self.without_padding(&found, tensor, &whole)?;
            return Ok(Storage::copy_of(dense.values().view())?);
        }
        let length =
            usize::try_from(fact.cells()).map_err(|_| Error::TooLarge(fact.name.clone()))?;
        let mut dense = Storage::zeroed(fact.element, length)?;
        self.moves()?;
        if let Some(moves) = &self.moves {
            let unpack = &moves.functions[tensor.0].1;
            moves.code.call_on(
                self.threads,
                unpack,
                &self.parameters,
                &mut [Argument::In(self.packed[tensor.0].view()), Argument::Out(dense.view_mut())],
            )?;
        }
        Ok(dense)
    }

    /// The stored elements of a dense array of any tensor, in the order of its packed buffer, without any check of the
    /// others.
    ///
    /// # Errors
    /// A wrong length or element type; not enough memory.
    pub fn pack(&mut self, tensor: TensorId, dense: &Storage) -> Result<Storage, Error> {
        let fact = &self.facts[tensor.0];
        let mut packed = Storage::zeroed(fact.element, self.packed[tensor.0].len())?;
        self.moves()?;
        if let Some(moves) = &self.moves {
            let pack = &moves.functions[tensor.0].0;
            moves.code.call_on(
                self.threads,
                pack,
                &self.parameters,
                &mut [Argument::In(dense.view()), Argument::Out(packed.view_mut())],
            )?;
        }
        Ok(packed)
    }

    /// Draws the inputs that are not among `given` at random on their structure, dynamic ones with
    /// [`Runner::set_density`]: dense while the box is small (and returned, for [`Runner::verify`]), else directly in
    /// packed form.
    pub fn random_inputs(
        &mut self,
        seed: u64,
        given: &BTreeMap<TensorId, Dense>,
    ) -> Result<BTreeMap<TensorId, Dense>, Error> {
        let mut drawn = BTreeMap::new();
        let program = self.built.lowered.laid.analysis.inferred.program.clone();
        for id in program.tensor_ids() {
            if program.tensor(id).role != Role::Input || given.contains_key(&id) {
                continue;
            }
            // One stream a tensor: values do not depend on which other inputs are given.
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(u64::try_from(id.0).unwrap_or(0));
            if self.bound.contains_key(&id) {
                let (name, shape) = (self.facts[id.0].name.clone(), self.box_of(id)?);
                let entries = dynamic::random(
                    &name,
                    &shape,
                    (self.facts[id.0].element, self.density),
                    &mut rng,
                )?;
                self.set_entries(id, Ok(entries))?;
            } else if self.facts[id.0].cells() <= MAX_REFERENCE_CELLS {
                let evaluator = self.evaluator(&program)?;
                let dense = evaluator
                    .random_input(id, &mut rng)
                    .map_err(|error| Error::Reference(error.to_string()))?;
                let dense = dense.resized(&self.shape(id)?);
                self.set_input(id, &dense.data, &dense.shape)?;
                drawn.insert(id, dense);
            } else {
                self.prepared = false;
                let element = self.facts[id.0].element;
                self.packed[id.0].fill(|_| dynamic::sample(element, &mut rng));
            }
        }
        Ok(drawn)
    }

    fn evaluator<'a>(&self, program: &'a dastac_stur::Program) -> Result<Evaluator<'a>, Error> {
        Evaluator::new(program, &self.symbols).map_err(|error| Error::Reference(error.to_string()))
    }

    /// Runs the rules of preprocess blocks, if there are any; how long that took. Inputs that only they read are not
    /// read afterwards.
    ///
    /// # Errors
    /// Results with `:F` that memory or indices of 32 bits do not hold. The buffers of all others are what the code was
    /// built for.
    pub fn prepare(&mut self) -> Result<Duration, Error> {
        let taken = self.block(true, None)?;
        self.prepared = true;
        Ok(taken)
    }

    /// Runs the computation once; how long that took. Preprocess rules run before it where an input changed, and do not
    /// count.
    ///
    /// # Errors
    /// As [`Runner::prepare`].
    pub fn execute(&mut self) -> Result<Duration, Error> {
        if !self.prepared {
            self.prepare()?;
        }
        self.block(false, None)
    }

    /// Runs all of the computation once, preprocess blocks too, with other code for its functions; those blocks run
    /// again before the next run.
    pub(crate) fn execute_with(&mut self, code: &mut Substitute<'_>) -> Result<(), Error> {
        self.prepared = false;
        self.block(true, Some(code))?;
        self.block(false, Some(code))?;
        Ok(())
    }

    /// Calls the functions of a block, which other code may stand for, and makes the arrays that each asks for.
    fn block(
        &mut self,
        preprocess: bool,
        mut code: Option<&mut Substitute<'_>>,
    ) -> Result<Duration, Error> {
        let phases = &self.built.lowered.kernel.phases;
        let phases: Vec<Phase> =
            phases.iter().filter(|phase| phase.preprocess == preprocess).cloned().collect();
        let mut taken = Duration::ZERO;
        let threads = self.threads;
        for phase in phases {
            let start = Instant::now();
            self.make_room(&phase.name)?;
            taken += start.elapsed();
            taken +=
                self.call_with(&phase.name, |kernel, parameters, mut arguments| match &mut code {
                    Some(code) => code(&phase.name, parameters, arguments),
                    None => kernel.call_on(threads, &phase.name, parameters, &mut arguments),
                })?;
            if let Some(counted) = phase.counts {
                self.count(counted);
            }
        }
        self.describe_results();
        Ok(taken)
    }

    /// Arrays of the results that a function fills, and copies of those that it reads in other formats.
    fn make_room(&mut self, function: &str) -> Result<(), Error> {
        let kernel = &self.built.lowered.kernel;
        if kernel.results.is_empty() {
            return Ok(());
        }
        let Some(function) = kernel.module.find_function(function) else { return Ok(()) };
        let mut filled = BTreeSet::new();
        let mut copied = BTreeSet::new();
        for (id, mode) in &function.args {
            if self.is_packed(*id) {
                continue;
            }
            let buffer = &kernel.module.buffers[id.0 as usize];
            let of_copy = |one: &&Stored| {
                one.converted_for.is_some()
                    && one.operand.values == *id
                    && self.facts[one.tensor.0].role != Role::Input
            };
            if let Some(copy) = kernel.stored.iter().find(of_copy) {
                copied.insert((copy.tensor, *id));
            } else if *mode != Mode::In {
                let name = buffer.name.split('.').next().unwrap_or_default();
                let size = buffer.size.eval_symbols(&self.parameters).ok();
                let size = size.and_then(|size| usize::try_from(size).ok());
                let size = size.ok_or_else(|| Error::TooLarge(name.into()))?;
                let arrays = &mut self.results.arrays;
                let array = arrays.entry(*id).or_insert_with(|| Storage::empty(buffer.element));
                results::fit(array, name, size)?;
                filled.insert(*id);
            }
        }
        let stale = |one: &&Stored| {
            filled
                .iter()
                .any(|id| self.facts.len() > id.0 as usize && one.tensor.0 == id.0 as usize)
        };
        for one in kernel.stored.iter().filter(stale) {
            self.results.copies.remove(&one.operand.values);
        }
        for (tensor, values) in copied {
            self.copy_result(tensor, values)?;
        }
        Ok(())
    }

    /// Whether a buffer is a packed tensor's.
    fn is_packed(&self, buffer: BufferId) -> bool {
        self.facts.get(buffer.0 as usize).is_some_and(|fact| fact.format.is_none())
    }

    /// Makes a copy of a result whose values are a buffer, if it is not there.
    fn copy_result(&mut self, tensor: TensorId, values: BufferId) -> Result<(), Error> {
        if self.results.copies.contains_key(&values) {
            return Ok(());
        }
        let stored = self.stored(tensor);
        let Some(one) = stored.iter().find(|one| one.operand.values == values) else {
            return Ok(());
        };
        let name = self.facts[tensor.0].name.clone();
        let found = self.assembled(tensor)?;
        let found = found.convert(&one.operand.format, dynamic::copying());
        let found = found.map_err(|source| Error::Storage { tensor: name.clone(), source })?;
        let copy = Copy::new(&name, found, self.built.lowered.indices == Indices::Wide)?;
        for (symbol, count) in copy.counts(one) {
            self.parameters[symbol.0 as usize] = count;
        }
        self.results.copies.insert(values, copy);
        Ok(())
    }

    /// Takes over how many positions a result has, from the arrays in which they were counted.
    fn count(&mut self, tensor: TensorId) {
        let kernel = &self.built.lowered.kernel;
        let result = kernel.results.iter().find(|one| one.tensor == tensor);
        let stored = kernel.stored.iter().find(|one| one.tensor == tensor);
        if let (Some(Structure::Counted { starts }), Some(stored)) =
            (result.map(|one| &one.structure), stored)
        {
            for (buffer, (_, symbol)) in starts.iter().zip(stored.operand.counts()) {
                let count = self
                    .results
                    .arrays
                    .get(buffer)
                    .and_then(|array| array.as_slice::<i64>()?.last().copied());
                self.parameters[symbol.0 as usize] = count.unwrap_or(0);
            }
        }
    }

    /// What is stored of results.
    fn describe_results(&mut self) {
        let kernel = &self.built.lowered.kernel;
        for result in &kernel.results {
            let Some(stored) = kernel.stored.iter().find(|one| one.tensor == result.tensor) else {
                continue;
            };
            let Some(values) = self.results.arrays.get(&stored.operand.values) else { continue };
            let fact = &mut self.facts[result.tensor.0];
            fact.unique = i64::try_from(values.len()).unwrap_or(i64::MAX);
            let bytes = |id: &BufferId| {
                let buffer = &kernel.module.buffers[id.0 as usize];
                let size = buffer.size.eval_symbols(&self.parameters).unwrap_or(0);
                u128::from(size.unsigned_abs()) * buffer.element.bytes() as u128
            };
            fact.packed_bytes = stored.operand.buffers().iter().map(bytes).sum();
        }
    }

    /// A computed tensor with `:F`, in that format.
    ///
    /// # Errors
    /// A tensor that is not computed, or has no `:F`; more memory than there is.
    pub fn result(&self, tensor: TensorId) -> Result<Tensor, Error> {
        let fact = &self.facts[tensor.0];
        let program = &self.built.lowered.laid.analysis.inferred.program;
        let Some(storage) = &program.tensor(tensor).format else {
            return Err(Error::NotDynamic(fact.name.clone()));
        };
        if fact.role == Role::Input {
            return Err(Error::NotComputed(fact.name.clone()));
        }
        let found = self.assembled(tensor)?;
        if *found.format() == storage.format {
            return Ok(found);
        }
        let converted = found.convert(&storage.format, dynamic::copying());
        converted.map_err(|source| Error::Storage { tensor: fact.name.clone(), source })
    }

    /// A computed tensor with `:F` for a file: blocks have places for elements that no product reaches, which have the
    /// value of a sum over nothing; these are no entries.
    ///
    /// # Errors
    /// As [`Runner::result`].
    pub fn result_entries(&self, tensor: TensorId) -> Result<Tensor, Error> {
        let result = self.result(tensor)?;
        match result.format().has_blocks() {
            false => Ok(result),
            true => self.without_padding(&result, tensor, &Format::coo(result.shape().len())),
        }
    }

    /// A computed tensor in another format, in which what blocks are filled up with is not stored, or fills up blocks
    /// again.
    fn without_padding(
        &self,
        found: &Tensor,
        tensor: TensorId,
        format: &Format,
    ) -> Result<Tensor, Error> {
        let padding = Some(self.zero(tensor));
        let converted = found.convert(format, Build { padding, ..dynamic::build() });
        let name = &self.facts[tensor.0].name;
        converted.map_err(|source| Error::Storage { tensor: name.clone(), source })
    }

    /// A computed tensor with `:F`, in the format in which it is computed.
    fn assembled(&self, tensor: TensorId) -> Result<Tensor, Error> {
        let fact = &self.facts[tensor.0];
        let failed = |source| Error::Storage { tensor: fact.name.clone(), source };
        let stored = &self.built.lowered.kernel.stored;
        let own = stored.iter().find(|one| one.tensor == tensor);
        let own = own.ok_or_else(|| Error::NotDynamic(fact.name.clone()))?;
        let array = |id: &BufferId| self.results.arrays.get(id);
        let Some(values) = array(&own.operand.values).cloned() else {
            // Nothing is computed yet.
            let values = Storage::empty(fact.element);
            let none = Entries::new(self.box_of(tensor)?, Vec::new(), values);
            let none = none.and_then(|none| {
                Tensor::from_entries(&none, &own.operand.format, dynamic::build())
            });
            return none.map_err(failed);
        };
        let indices = |id: &BufferId| array(id).and_then(results::indices);
        let level = |level: &LevelBuffers| {
            let arrays: Option<Vec<_>> = level.arrays.iter().map(indices).collect();
            let own = arrays.map(|arrays| LevelData::new(level.kind, arrays));
            // Those of a result with the pattern of another tensor are that one's.
            own.or_else(|| self.level_of(dynamic::first_of(level)?))
                .unwrap_or_else(LevelData::dense)
        };
        let levels = own.operand.levels.iter().map(level).collect();
        let shape = self.box_of(tensor)?;
        Tensor::from_parts(shape, own.operand.format.clone(), levels, values).map_err(failed)
    }

    /// The arrays of a level, of an input or of a copy, that begin with a buffer.
    fn level_of(&self, first: BufferId) -> Option<LevelData> {
        let stored = &self.built.lowered.kernel.stored;
        let of_inputs = self.bound.iter().find_map(|(id, bound)| {
            let own: Vec<&Stored> = stored.iter().filter(|one| one.tensor == *id).collect();
            bound.level(&own, first)
        });
        let of_copies = || {
            stored
                .iter()
                .find_map(|one| self.results.copies.get(&one.operand.values)?.level(one, first))
        };
        of_inputs.or_else(of_copies).cloned()
    }

    /// What elements of a computed tensor are that nothing is added up for.
    fn zero(&self, tensor: TensorId) -> f64 {
        let program = &self.built.lowered.laid.analysis.inferred.program;
        let rule = program.tensor(tensor).rule();
        rule.map_or(0.0, |rule| program.rules[rule.0].semiring.zero())
    }

    /// The values of a computed tensor: of its packed buffer, or those that are stored of one with `:F`.
    pub fn values(&self, tensor: TensorId) -> Vec<f64> {
        let id = BufferId(u32::try_from(tensor.0).unwrap_or(u32::MAX));
        match self.results.arrays.get(&id) {
            Some(all) => all.to_f64(),
            None => self.packed[tensor.0].to_f64(),
        }
    }

    /// Runs other code for the same program and layouts from now on; what ran so far.
    pub(crate) fn exchange(&mut self, code: Code) -> Code {
        std::mem::replace(&mut self.kernel, code)
    }

    /// Makes computed tensors not-a-number, so that what is not computed again shows.
    pub(crate) fn forget_results(&mut self) {
        self.prepared = false;
        for (fact, packed) in self.facts.iter().zip(&mut self.packed) {
            if fact.role != Role::Input {
                packed.fill(|_| f64::NAN);
            }
        }
        self.results = Results::default();
    }

    /// Runs `code` on what a function of the computation takes, if the program has it; how long that took.
    pub fn call_with(
        &mut self,
        name: &str,
        code: impl FnOnce(&Code, &[i64], Vec<Argument<'_>>) -> dastac_runtime::Result<()>,
    ) -> Result<Duration, Error> {
        let module = &self.built.lowered.kernel.module;
        let Some(function) = module.functions.iter().find(|function| function.name == name) else {
            return Ok(Duration::ZERO);
        };
        let mut buffers: Vec<Option<&mut Storage>> = self.packed.iter_mut().map(Some).collect();
        let mut arguments: Vec<Argument<'_>> = Vec::new();
        let stored = &self.built.lowered.kernel.stored;
        let mut arrays = BTreeMap::new();
        for (id, bound) in &self.bound {
            let own: Vec<&Stored> = stored.iter().filter(|one| one.tensor == *id).collect();
            arrays.extend(bound.arguments(&own));
        }
        for one in stored {
            if let Some(copy) = self.results.copies.get(&one.operand.values) {
                arrays.extend(copy.arguments(one));
            }
        }
        let mut results: BTreeMap<&BufferId, &mut Storage> =
            self.results.arrays.iter_mut().collect();
        for (id, mode) in &function.args {
            if let Some(array) = arrays.remove(id) {
                arguments.push(array);
                continue;
            }
            if let Some(array) = results.remove(id) {
                arguments.push(match mode {
                    Mode::In => Argument::In(array.view()),
                    Mode::Out | Mode::InOut => Argument::Out(array.view_mut()),
                });
                continue;
            }
            let Some(buffer) = buffers.get_mut(id.0 as usize).and_then(Option::take) else {
                continue; // every buffer is taken once: the loop IR's verifier checks it
            };
            arguments.push(match mode {
                Mode::In => Argument::In(buffer.view()),
                Mode::Out | Mode::InOut => Argument::Out(buffer.view_mut()),
            });
        }
        let start = Instant::now();
        code(&self.kernel, &self.parameters, arguments)?;
        Ok(start.elapsed())
    }

    /// Floating-point operations of one run, without preprocess rules: iterations of every statement's domain times its
    /// multiplications, divisions and additions. Nothing when Barvinok is not there, the count does not fit, or
    /// conditions that are not affine decide.
    pub fn flops(&self) -> Option<u128> {
        self.iterations()?.into_iter().try_fold(0u128, |total, (count, factors)| {
            // One addition, and one multiplication between each two factors.
            total.checked_add(count.checked_mul(u128::try_from(factors.max(1)).ok()?)?)
        })
    }

    /// Of every statement of one run, without preprocess rules: points of its iteration domain, and factors of its
    /// product. Nothing where [`Runner::flops`] knows nothing.
    pub fn iterations(&self) -> Option<Vec<(u128, usize)>> {
        let inferred = &self.built.lowered.laid.analysis.inferred;
        let names = &inferred.sets.names;
        let values: Vec<(String, i64)> = inferred
            .parameter_values(&self.symbols)
            .ok()?
            .into_iter()
            .map(|(name, value)| (names.isl(&name).to_string(), value))
            .collect();
        let measured =
            inferred.rules.iter().filter(|rule| !inferred.program.rules[rule.rule.0].preprocess);
        let statements = measured.flat_map(|rule| &rule.statements);
        statements
            .map(|statement| {
                let dynamic = |read: &Read| self.facts[read.tensor.0].format.is_some();
                if !statement.is_exact() || statement.reads.iter().any(dynamic) {
                    return None; // how often its tests hold, and what is stored, is not known
                }
                let count = statement.domain.fix_params(&values).ok()?.card().ok()?;
                let count = count.eval(&values, &[]).ok()?;
                let factors = statement.reads.len()
                    + statement.symbols.len()
                    + usize::from(statement.coefficient != 1.0);
                Some((u128::try_from(count.to_integer()).ok()?, factors))
            })
            .collect()
    }

    /// Why the reference evaluator should not be run at this size, if so.
    pub fn reference_limit(&self) -> Result<Option<String>, Error> {
        let program = &self.built.lowered.laid.analysis.inferred.program;
        let cells: u128 = self.facts.iter().map(TensorFacts::cells).sum();
        if cells > MAX_REFERENCE_CELLS {
            return Ok(Some(format!(
                "the dense boxes hold {cells} elements, its limit is {MAX_REFERENCE_CELLS}"
            )));
        }
        let cost = self.evaluator(program)?.cost();
        Ok((cost > MAX_REFERENCE_COST)
            .then(|| format!("it would take {cost} iterations, its limit is {MAX_REFERENCE_COST}")))
    }

    /// Compares all computed tensors with the reference evaluator on the given inputs (all that are not bound): the
    /// largest error, relative to `max(1, |reference|)`, with where it is.
    pub fn verify(&mut self, inputs: &BTreeMap<TensorId, Dense>) -> Result<Verification, Error> {
        let program = self.built.lowered.laid.analysis.inferred.program.clone();
        let evaluator = self.evaluator(&program)?;
        let arrays = inputs.iter().filter(|(id, _)| !self.bound.contains_key(id));
        let mut inputs: BTreeMap<TensorId, Dense> =
            arrays.map(|(id, dense)| (*id, dense.resized(evaluator.shape(*id)))).collect();
        let mut stored = BTreeMap::new();
        for (id, bound) in &self.bound {
            let (dense, pattern) = scattered(bound.tensor(), evaluator.shape(*id), 0.0);
            inputs.insert(*id, dense);
            stored.insert(*id, pattern);
        }
        let expected = evaluator
            .run_patterns(&inputs, &stored)
            .map_err(|error| Error::Reference(error.to_string()))?;
        let tolerances = tolerances(&program);
        let tolerance = Verification::TOLERANCE;
        let mut worst = Verification { max_error: 0.0, tolerance, at: None, stored: None };
        for id in program.tensor_ids().filter(|id| program.tensor(*id).role != Role::Input) {
            let shape = self.shape(id)?;
            let Some((reference, pattern)) = expected.get(&id) else { continue };
            if program.tensor(id).format.is_some()
                && let Some(other) = self.other_pattern(id, pattern)?
            {
                worst = Verification { max_error: f64::INFINITY, stored: Some(other), ..worst };
            }
            // A box may be larger than needed, on either side; only zeros are outside of the other.
            let resized = reference.resized(&shape);
            if resized.nonzeros() != reference.nonzeros() {
                return Err(Error::Shape {
                    tensor: program.tensor(id).name.clone(),
                    expected: reference.shape.clone(),
                    found: shape,
                });
            }
            let reference = resized;
            let tolerance = tolerances.get(&id).copied().unwrap_or(Verification::TOLERANCE);
            let computed = self.dense(id)?;
            for (position, (found, wanted)) in computed.iter().zip(&reference.data).enumerate() {
                let same = found == wanted || (found.is_nan() && wanted.is_nan());
                let error = if same { 0.0 } else { (found - wanted).abs() / wanted.abs().max(1.0) };
                // NaN on one side only must not pass as small.
                let error = if error.is_nan() { f64::INFINITY } else { error };
                if error / tolerance > worst.max_error / worst.tolerance {
                    worst = Verification {
                        max_error: error,
                        tolerance,
                        stored: worst.stored,
                        at: Some((
                            program.tensor(id).name.clone(),
                            unflatten(position, &shape),
                            *wanted,
                            *found,
                        )),
                    };
                }
            }
        }
        Ok(worst)
    }

    /// The first element of a result with `:F` that is stored and should not be, or the other way round.
    fn other_pattern(
        &self,
        tensor: TensorId,
        expected: &[bool],
    ) -> Result<Option<(String, Vec<usize>, bool)>, Error> {
        let (shape, zero) = (self.shape(tensor)?, self.zero(tensor));
        let (values, stored) = scattered(&self.result(tensor)?, &shape, zero);
        let spare = self.may_spare(tensor);
        let differs = (0..stored.len()).find(|at| match (stored[*at], expected[*at]) {
            (true, false) => !spare || values.data[*at] != zero,
            (found, wanted) => found != wanted,
        });
        let name = &self.facts[tensor.0].name;
        Ok(differs.map(|at| (name.clone(), unflatten(at, &shape), stored[at])))
    }

    /// Whether zeros may be stored where no product has a point: a result with the pattern of an operand has all of it,
    /// also where sums are over nothing; and what is computed from such a one.
    fn may_spare(&self, tensor: TensorId) -> bool {
        let kernel = &self.built.lowered.kernel;
        let program = &self.built.lowered.laid.analysis.inferred.program;
        let Some(rule) = program.tensor(tensor).rule() else { return false };
        let own = kernel.results.iter().find(|one| one.tensor == tensor);
        let mut reads = program.rules[rule.0].products.iter().flat_map(|product| &product.accesses);
        matches!(own.map(|one| &one.structure), Some(Structure::Copied { .. }))
            || reads.any(|access| self.may_spare(access.tensor))
    }
}

/// A tensor as an array of the given shape, and which of its elements are stored: those of blocks all are. The others
/// are `zero`.
fn scattered(tensor: &Tensor, shape: &[usize], zero: f64) -> (Dense, Vec<bool>) {
    let mut dense = Dense::zeros(shape);
    dense.data.fill(zero);
    let mut stored = vec![false; dense.data.len()];
    tensor.for_each_place(|element, position| {
        let index: Vec<i64> = element.iter().map(|at| *at as i64).collect();
        let Some(at) = dense.position(&index) else { return };
        let value = tensor.values().get(position).map_or(0.0, |value| value.to_f64());
        // Entries of one element are added up.
        dense.data[at] = if stored[at] { dense.data[at] + value } else { value };
        stored[at] = true;
    });
    (dense, stored)
}

/// The errors of computed tensors that are rounding: of their own elements, and of those that they are computed from.
pub(crate) fn tolerances(program: &dastac_stur::Program) -> BTreeMap<TensorId, f64> {
    let mut tolerances = BTreeMap::new();
    for rule in &program.rules {
        let own = match program.tensor(rule.head).element {
            Element::F32 => Verification::TOLERANCE_F32,
            short if short.is_short_float() => 4.0 * short.epsilon(),
            _ => Verification::TOLERANCE,
        };
        let reads = rule.products.iter().flat_map(|product| &product.accesses);
        let read = reads.filter_map(|access| tolerances.get(&access.tensor).copied());
        let tolerance = read.fold(own, f64::max);
        tolerances.insert(rule.head, tolerance);
    }
    tolerances
}

/// The outcome of a comparison with the reference.
#[derive(Clone, Debug)]
pub struct Verification {
    /// Largest error beside its tolerance, relative to `max(1, |reference|)`.
    pub max_error: f64,
    /// Up to where it is rounding.
    pub tolerance: f64,
    /// Where: tensor, index, reference value, computed value.
    pub at: Option<(String, Vec<usize>, f64, f64)>,
    /// An element of a result with `:F` that is stored but should not be, or (`false`) is not but should be. The error
    /// is infinite then.
    pub stored: Option<(String, Vec<usize>, bool)>,
}

impl Verification {
    /// Errors up to this are rounding to 64 bits.
    pub const TOLERANCE: f64 = 1e-9;
    /// Errors up to this are rounding to 32 bits.
    pub const TOLERANCE_F32: f64 = 1e-4;

    /// Whether the results agree.
    pub fn agrees(&self) -> bool {
        self.max_error <= self.tolerance
    }
}

fn unflatten(mut position: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (slot, extent) in index.iter_mut().zip(shape).rev() {
        *slot = position % extent.max(&1);
        position /= extent.max(&1);
    }
    index
}

/// Fails when `needed` bytes are more than what is available.
pub fn check_memory(what: &str, needed: u128) -> Result<(), Error> {
    let available = available_memory();
    if needed > u128::from(available) {
        return Err(Error::Memory { what: what.into(), needed, available });
    }
    Ok(())
}

/// Bytes that can be allocated without swapping, by the kernel's estimate.
pub fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib.saturating_mul(1024))
}
