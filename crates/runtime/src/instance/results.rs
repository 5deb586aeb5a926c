//! Results of an instance: dense arrays, and tensors with formats, whose arrays functions of the computation fill.
//!
//! Those arrays are as long as a run needs them, and keep their memory for the next one: a run that stores no more than
//! those before allocates nothing.

use dastac_elements::{Element, Storage, ViewMut};
use dastac_formats::storage::{Indices, LevelData};
use dastac_formats::{Build, Entries, Format, Tensor};
use dastac_loops::BufferId;

use super::arrays::Results;
use super::state::Instance;
use crate::bound::{self, copying};
use crate::error::{Error, Result};
use crate::memory::check_memory;
use crate::program::{Role, TensorId};

/// Numbers as positions or coordinates, if they are such.
fn indices(array: &Storage) -> Option<Indices> {
    if let Some(all) = array.as_slice::<u32>() {
        return Some(Indices::U32(all.to_vec()));
    }
    if let Some(all) = array.as_slice::<u16>() {
        return Some(Indices::U16(all.to_vec()));
    }
    if let Some(all) = array.as_slice::<u8>() {
        return Some(Indices::U8(all.to_vec()));
    }
    // Functions store numbers that are not negative.
    let all = array.as_slice::<i64>()?;
    Some(Indices::U64(all.iter().map(|at| at.cast_unsigned()).collect()))
}

/// Positions or coordinates as elements.
fn owned(array: &Indices) -> Storage {
    match array {
        Indices::U8(all) => Storage::from(all.clone()),
        Indices::U16(all) => Storage::from(all.clone()),
        Indices::U32(all) => Storage::from(all.clone()),
        Indices::U64(all) => {
            Storage::from(all.iter().map(|at| at.cast_signed()).collect::<Vec<i64>>())
        }
    }
}

/// A computed tensor with a format, in the memory in which it was computed.
#[derive(Debug)]
pub struct TakenResult {
    /// Its format.
    pub format: Format,
    /// Its extents.
    pub shape: Vec<u64>,
    /// The arrays of all levels in order, of integers with 32 or 64 bits.
    pub arrays: Vec<Storage>,
    /// Its values.
    pub values: Storage,
    /// The buffers whose memory the arrays and the values were, for [`Instance::put_memory`].
    pub buffers: Vec<Option<BufferId>>,
}

impl Instance<'_> {
    /// A tensor as a dense array with elements of the tensor's type: redundant elements restored, zeros elsewhere. Of
    /// an input only what the computation uses.
    ///
    /// # Errors
    /// Not enough memory for the tensor's box; code for moving tensors that is not there.
    pub fn unpacked(&self, tensor: TensorId) -> Result<Storage> {
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
        self.unpack_into(tensor, dense.view_mut())?;
        Ok(dense)
    }

    /// Writes a packed tensor to the caller's dense array in C order: redundant elements restored, zeros elsewhere.
    ///
    /// # Errors
    /// A tensor with a format; an array that is too short or of another element type; code for moving tensors that is
    /// not there.
    pub fn unpack_into(&self, tensor: TensorId, dense: ViewMut<'_>) -> Result<()> {
        let fact = &self.facts[tensor.0];
        if fact.format.is_some() {
            return Err(Error::Dynamic(fact.name.clone()));
        }
        let movement = self.executable.moving()?;
        let unpack = &movement.functions[tensor.0].unpack;
        let arguments = &mut [self.packed[tensor.0].view().into(), dense.into()];
        movement.code.call_on(self.threads, unpack, &self.parameters, arguments)
    }

    /// As [`Instance::unpacked`], with 64-bit floats, two for each complex element.
    ///
    /// # Errors
    /// As [`Instance::unpacked`].
    pub fn dense(&self, tensor: TensorId) -> Result<Vec<f64>> {
        let fact = &self.facts[tensor.0];
        if fact.element != Element::F64 || fact.format.is_some() {
            return Ok(self.unpacked(tensor)?.to_f64());
        }
        check_memory(&format!("a dense array of `{}`", fact.name), fact.dense_bytes)?;
        let too_large = || Error::TooLarge(fact.name.clone());
        let length = usize::try_from(fact.cells()).map_err(|_| too_large())?;
        let mut dense = Vec::new();
        dense.try_reserve_exact(length).map_err(|_| too_large())?;
        dense.resize(length, 0.0);
        self.unpack_into(tensor, ViewMut::of(&mut dense))?;
        Ok(dense)
    }

    /// A computed tensor with a format, in that format.
    ///
    /// # Errors
    /// A tensor that is not computed, or has no format; more memory than there is.
    pub fn result(&self, tensor: TensorId) -> Result<Tensor> {
        let fact = &self.facts[tensor.0];
        if fact.format.is_none() {
            return Err(Error::NotDynamic(fact.name.clone()));
        }
        if fact.role == Role::Input {
            return Err(Error::NotComputed(fact.name.clone()));
        }
        let found = self.assembled(tensor)?;
        let declared = &self.executable.program().sizes.tensors[tensor.0].format;
        let declared = declared.as_ref().ok_or_else(|| Error::NotDynamic(fact.name.clone()))?;
        if found.format() == declared {
            return Ok(found);
        }
        // Blocks are filled up with what elements are that nothing is added up for.
        let build = match found.format().has_blocks() {
            true => copying(),
            false => Build { padding: Some(self.zero(tensor)), ..copying() },
        };
        let converted = found.convert(declared, build);
        converted.map_err(|source| Error::Storage { tensor: fact.name.clone(), source })
    }

    /// The arrays of a computed tensor with a format, which the instance gives away: its next run makes new ones.
    /// `None` if they are not at hand as the format is declared: then [`Instance::result`] converts them.
    pub fn take_result(&mut self, tensor: TensorId) -> Option<TakenResult> {
        let program = self.executable.program();
        let own = program.stored(tensor).next()?;
        let declared = program.sizes.tensors[tensor.0].format.as_ref()?;
        let computed = self.facts[tensor.0].role != Role::Input;
        if !computed || *declared != own.format || !self.results.arrays.contains_key(&own.values) {
            return None;
        }
        let shape = self.box_of(tensor).ok()?;
        let format = own.format.clone();
        let values = own.values;
        // A result with the pattern of another tensor shares the arrays of that tensor's levels: these are copied.
        let shares = |id: &BufferId| {
            let all = program.stored.iter().flat_map(|one| one.levels.iter().flatten());
            all.filter(|other| *other == id).count() > 1
        };
        let (mut arrays, mut moved) = (Vec::new(), Vec::new());
        for id in own.levels.iter().flatten() {
            match self.results.arrays.get(id) {
                Some(array) if shares(id) => arrays.push(array.clone()),
                Some(_) => {
                    moved.push((arrays.len(), *id));
                    arrays.push(Storage::empty(Element::U32));
                }
                None => {
                    if own.levels.iter().any(|buffers| buffers.first() == Some(id)) {
                        arrays.extend(self.level_of(*id)?.arrays().iter().map(owned));
                    }
                }
            }
        }
        let mut buffers = vec![None; arrays.len()];
        for (at, id) in moved {
            arrays[at] = self.results.arrays.remove(&id)?;
            buffers[at] = Some(id);
        }
        buffers.push(Some(values));
        let values = self.results.arrays.remove(&values)?;
        Some(TakenResult { format, shape, arrays, values, buffers })
    }

    /// Memory of a result that was taken, for the next one: new memory would have to be cleared.
    pub fn put_memory(&mut self, buffer: BufferId, memory: Storage) {
        let element = self.kernel.abi().buffer(buffer).map(|known| known.element);
        if element == Some(memory.element()) {
            self.results.arrays.entry(buffer).or_insert(memory);
        }
    }

    /// A computed tensor with a format for a file: blocks have places for elements that no product reaches, which have
    /// the value of a sum over nothing; these are no entries.
    ///
    /// # Errors
    /// As [`Instance::result`].
    pub fn result_entries(&self, tensor: TensorId) -> Result<Tensor> {
        let result = self.result(tensor)?;
        match result.format().has_blocks() {
            false => Ok(result),
            true => self.without_padding(&result, tensor, &Format::coo(result.shape().len())),
        }
    }

    /// A computed tensor in another format, in which what blocks are filled up with is not stored, or fills up blocks
    /// again.
    fn without_padding(&self, found: &Tensor, tensor: TensorId, format: &Format) -> Result<Tensor> {
        let padding = Some(self.zero(tensor));
        let converted = found.convert(format, Build { padding, ..bound::build() });
        let name = &self.facts[tensor.0].name;
        converted.map_err(|source| Error::Storage { tensor: name.clone(), source })
    }

    /// What elements of a computed tensor are that nothing is added up for.
    pub fn zero(&self, tensor: TensorId) -> f64 {
        self.executable.program().sizes.tensors[tensor.0].zero
    }

    /// A computed tensor with a format, in the format in which it is computed: just the elements that rules read, where
    /// [`Instance::result`] fills up blocks of formats with an index map.
    ///
    /// # Errors
    /// A tensor that has no format; more memory than there is.
    pub fn assembled(&self, tensor: TensorId) -> Result<Tensor> {
        let fact = &self.facts[tensor.0];
        let failed = |source| Error::Storage { tensor: fact.name.clone(), source };
        let own = self.executable.program().stored(tensor).next();
        let own = own.ok_or_else(|| Error::NotDynamic(fact.name.clone()))?;
        let array = |id: &BufferId| self.results.arrays.get(id);
        let Some(values) = array(&own.values).cloned() else {
            // Nothing is computed yet.
            let none = Entries::new(self.box_of(tensor)?, Vec::new(), Storage::empty(fact.element));
            let none =
                none.and_then(|none| Tensor::from_entries(&none, &own.format, bound::build()));
            return none.map_err(failed);
        };
        let kinds = own.format.levels().iter().map(|level| level.kind);
        let levels = kinds.zip(&own.levels).map(|(kind, buffers)| {
            let arrays = buffers.iter().map(|id| array(id).and_then(indices)).collect();
            let arrays: Option<Vec<Indices>> = arrays;
            let own = arrays.map(|arrays| LevelData::new(kind, arrays));
            // A result with the pattern of another tensor shares the arrays of that tensor's levels.
            own.or_else(|| self.level_of(*buffers.first()?)).unwrap_or_else(LevelData::dense)
        });
        let levels = levels.collect();
        let shape = self.box_of(tensor)?;
        Tensor::from_parts(shape, own.format.clone(), levels, values).map_err(failed)
    }

    /// The arrays of a level, of an input or of a copy, that begin with a buffer.
    fn level_of(&self, first: BufferId) -> Option<LevelData> {
        let stored = &self.executable.program().stored;
        let mut bound = self.bound.iter();
        let of_inputs = bound.find_map(|(id, bound)| bound.level(&self.stored(*id), first));
        let of_copies = || {
            stored.iter().find_map(|one| self.results.copies.get(&one.values)?.level(one, first))
        };
        of_inputs.or_else(of_copies)
    }

    /// The values of a computed tensor: of its packed buffer, or those that are stored of one with a format.
    pub fn values(&self, tensor: TensorId) -> Vec<f64> {
        match self.results.arrays.get(&tensor.buffer()) {
            Some(all) => all.to_f64(),
            None => self.packed[tensor.0].view().to_f64(),
        }
    }

    /// Makes computed tensors not-a-number, so that what is not computed again shows.
    pub fn forget_results(&mut self) {
        self.prepared = false;
        for tensor in (0..self.facts.len()).map(TensorId) {
            if self.facts[tensor.0].role != Role::Input
                && let Some(mut packed) = self.packed_mut(tensor)
            {
                packed.fill(|_| f64::NAN);
            }
        }
        self.results = Results::default();
    }
}
