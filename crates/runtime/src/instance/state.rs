//! What an instance holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dastac_elements::{Element, Storage, View, ViewMut};
use dastac_formats::{Entries, Tensor};

use super::arrays::Results;
use crate::bound::{Bound, Conversion};
use crate::code::{Code, Threads};
use crate::error::{Error, Result};
use crate::executable::Executable;
use crate::memory::check_memory;
use crate::program::{Role, Stored, TensorFacts, TensorId};

/// The part of their elements that random inputs with formats store unless another one is set.
pub const DEFAULT_DENSITY: f64 = 0.1;

/// A packed buffer.
#[derive(Debug)]
pub(super) enum Memory<'a> {
    Own(Storage),
    Lent(View<'a>),
    LentMut(ViewMut<'a>),
}

impl Memory<'_> {
    pub(super) fn view(&self) -> View<'_> {
        match self {
            Memory::Own(storage) => storage.view(),
            Memory::Lent(view) => *view,
            Memory::LentMut(view) => view.view(),
        }
    }
}

/// A program at given sizes. `'a` is how long callers lend it memory.
#[derive(Debug)]
pub struct Instance<'a> {
    pub(super) executable: Arc<Executable>,
    pub(super) kernel: Arc<Code>,
    pub(super) symbols: Vec<i64>,
    pub(super) facts: Vec<TensorFacts>,
    pub(super) packed: Vec<Memory<'a>>,
    /// Inputs with formats.
    pub(super) bound: BTreeMap<TensorId, Bound<'a>>,
    /// Computed tensors with formats.
    pub(super) results: Results,
    /// What functions take before their buffers: the symbols, then numbers of positions.
    pub(super) parameters: Vec<i64>,
    /// Which part of their elements random inputs with formats store.
    pub(super) density: f64,
    pub(super) threads: Threads,
    /// Whether the rules of preprocess blocks ran since an input changed.
    pub(super) prepared: bool,
}

impl<'a> Instance<'a> {
    /// Allocates packed buffers (zero) for the given sizes. Parallel loops run on `threads`.
    ///
    /// # Errors
    /// Missing or negative symbols, overflow, not enough memory.
    pub fn new(
        executable: Arc<Executable>,
        symbols: &BTreeMap<String, i64>,
        threads: impl Into<Threads>,
    ) -> Result<Instance<'a>> {
        let kernel = Arc::clone(executable.kernel());
        let mut instance = Instance {
            executable,
            kernel,
            symbols: Vec::new(),
            facts: Vec::new(),
            packed: Vec::new(),
            bound: BTreeMap::new(),
            results: Results::default(),
            parameters: Vec::new(),
            density: DEFAULT_DENSITY,
            threads: threads.into(),
            prepared: false,
        };
        instance.resize(symbols)?;
        Ok(instance)
    }

    /// Allocates packed buffers (zero) for other sizes; the code is the same for all.
    ///
    /// # Errors
    /// As [`Instance::new`]; the instance keeps its old sizes then.
    pub fn resize(&mut self, symbols: &BTreeMap<String, i64>) -> Result<()> {
        let executable = Arc::clone(&self.executable);
        let program = executable.program();
        let symbols = program.sizes.symbol_values(symbols)?;
        let facts = program.sizes.at(&symbols)?;
        if !program.wide {
            let too_long = |id: TensorId| facts[id.0].shape.iter().any(|n| *n > 1 << 32);
            let mut results = program.results.iter().map(|one| one.tensor);
            if let Some(id) = results.find(|id| too_long(*id)) {
                return Err(Error::Wide(facts[id.0].name.clone()));
            }
        }
        check_memory("the packed tensors", facts.iter().map(|f| f.packed_bytes).sum())?;
        let zeroed = |fact: &TensorFacts| -> Result<Memory<'a>> {
            let length = usize::try_from(fact.unique);
            let length = length.map_err(|_| Error::TooLarge(fact.name.clone()))?;
            Ok(Memory::Own(Storage::zeroed(fact.element, length)?))
        };
        self.packed = facts.iter().map(zeroed).collect::<Result<_>>()?;
        self.parameters = symbols.clone();
        self.parameters.resize(self.kernel.abi().symbols.len(), 0);
        (self.symbols, self.facts) = (symbols, facts);
        self.prepared = false;
        self.bound.clear();
        self.results = Results::default();
        self.bind_nothing()
    }

    /// Inputs with formats are empty at first.
    fn bind_nothing(&mut self) -> Result<()> {
        let executable = Arc::clone(&self.executable);
        let stored = executable.program().stored.iter().map(|one| one.tensor);
        let inputs: BTreeSet<TensorId> =
            stored.filter(|id| self.facts[id.0].role == Role::Input).collect();
        for id in inputs {
            let none = Entries::new(self.box_of(id)?, Vec::new(), Storage::empty(Element::F64));
            self.set_entries(id, none)?;
        }
        Ok(())
    }

    /// The program.
    pub fn executable(&self) -> &Arc<Executable> {
        &self.executable
    }

    /// What is known of each tensor, indexed by [`TensorId`].
    pub fn facts(&self) -> &[TensorFacts] {
        &self.facts
    }

    /// Values of the symbols in declaration order.
    pub fn symbols(&self) -> &[i64] {
        &self.symbols
    }

    /// What functions take before their buffers: the symbols, then numbers of positions.
    pub fn parameters(&self) -> &[i64] {
        &self.parameters
    }

    /// Sets which part of the elements random inputs with formats have from now on, between 0 and 1;
    /// [`DEFAULT_DENSITY`] at first.
    pub fn set_density(&mut self, density: f64) {
        self.density = density;
    }

    /// Which part of the elements random inputs with formats have.
    pub fn density(&self) -> f64 {
        self.density
    }

    /// The shape of a tensor's dense array.
    ///
    /// # Errors
    /// An extent that memory cannot have.
    pub fn shape(&self, tensor: TensorId) -> Result<Vec<usize>> {
        let fact = &self.facts[tensor.0];
        let shape: std::result::Result<Vec<usize>, _> =
            fact.shape.iter().map(|e| usize::try_from(*e)).collect();
        shape.map_err(|_| Error::TooLarge(fact.name.clone()))
    }

    /// Whether a tensor's packed buffer is its dense array, in C order.
    ///
    /// # Errors
    /// As [`Self::shape`].
    pub fn is_dense(&self, tensor: TensorId) -> Result<bool> {
        let info = &self.executable.program().sizes.tensors[tensor.0];
        if info.whole || !info.whole_or_empty {
            return Ok(info.whole);
        }
        let shape = self.shape(tensor)?;
        let all = shape.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
        let stored = usize::try_from(self.facts[tensor.0].unique);
        Ok(all.is_some_and(|all| stored == Ok(all)))
    }

    /// The extents of a tensor.
    pub(super) fn box_of(&self, tensor: TensorId) -> Result<Vec<u64>> {
        Ok(self.shape(tensor)?.into_iter().map(|extent| extent as u64).collect())
    }

    /// A packed buffer.
    pub fn packed(&self, tensor: TensorId) -> View<'_> {
        self.packed[tensor.0].view()
    }

    /// A packed buffer to be filled; `None` if it is the caller's memory and lent for reading only.
    pub fn packed_mut(&mut self, tensor: TensorId) -> Option<ViewMut<'_>> {
        self.prepared = false;
        match &mut self.packed[tensor.0] {
            Memory::Own(storage) => Some(storage.view_mut()),
            Memory::LentMut(view) => Some(view.reborrow()),
            Memory::Lent(_) => None,
        }
    }

    /// The same program at the same sizes without any memory that callers lent and without values of inputs with
    /// formats. Tensors whose memory was lent have none: lend it again, or [`Instance::keep`] them.
    pub fn given_back<'b>(self) -> Instance<'b> {
        let own = |memory: Memory<'a>| match memory {
            Memory::Own(storage) => Memory::Own(storage),
            lent => Memory::Own(Storage::empty(lent.view().element())),
        };
        Instance {
            executable: self.executable,
            kernel: self.kernel,
            symbols: self.symbols,
            facts: self.facts,
            packed: self.packed.into_iter().map(own).collect(),
            bound: BTreeMap::new(),
            results: self.results,
            parameters: self.parameters,
            density: self.density,
            threads: self.threads,
            prepared: false,
        }
    }

    /// Gives a packed tensor zeros in memory of this instance's own, if it has no memory.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn keep(&mut self, tensor: TensorId) -> Result<()> {
        let fact = &self.facts[tensor.0];
        let length = usize::try_from(fact.unique);
        let length = length.map_err(|_| Error::TooLarge(fact.name.clone()))?;
        let memory = &mut self.packed[tensor.0];
        if fact.format.is_none() && memory.view().len() < length {
            *memory = Memory::Own(Storage::zeroed(fact.element, length)?);
        }
        Ok(())
    }

    /// Has parallel loops run on another number of threads from now on.
    pub fn set_threads(&mut self, threads: impl Into<Threads>) {
        self.threads = threads.into();
    }

    /// Replaces memory that was lent for reading by zeros in memory of this instance's own.
    pub(super) fn take_back(&mut self, tensor: TensorId) -> Result<()> {
        let memory = &mut self.packed[tensor.0];
        if let Memory::Lent(view) = memory {
            *memory = Memory::Own(Storage::zeroed(view.element(), view.len())?);
        }
        Ok(())
    }

    /// The tensor that is bound for an input with a format; `None` for other tensors, and if the arrays are lent.
    pub fn bound(&self, tensor: TensorId) -> Option<&Tensor> {
        self.bound.get(&tensor)?.tensor()
    }

    /// Copies of tensors that rules read in place of them, since no order of loops walks these as they are declared.
    pub fn conversions(&self) -> Vec<Conversion> {
        let all = self.bound.iter().map(|(id, bound)| bound.conversions(&self.stored(*id)));
        let stored = &self.executable.program().stored;
        let of_results = stored.iter().filter_map(|one| {
            let copy = self.results.copies.get(&one.values)?;
            let first = stored.iter().find(|other| other.tensor == one.tensor)?;
            copy.conversion(one, &first.format)
        });
        all.flatten().chain(of_results).collect()
    }

    /// The formats in which a tensor is read or made.
    pub(super) fn stored(&self, tensor: TensorId) -> Vec<&Stored> {
        self.executable.program().stored(tensor).collect()
    }

    /// Runs other code for the same program and layouts from now on, and returns the code that ran so far.
    pub fn exchange(&mut self, kernel: Arc<Code>) -> Arc<Code> {
        std::mem::replace(&mut self.kernel, kernel)
    }

    /// The number of threads that parallel loops run on.
    pub fn threads(&self) -> Threads {
        self.threads
    }
}
