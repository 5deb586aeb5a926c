//! Inputs of an instance: dense arrays, packed buffers, tensors with formats, random data.

use std::sync::Arc;

use dastac_elements::{Element, Storage, View, ViewMut};
use dastac_formats::{Entries, Format, StorageError, Tensor, TensorView};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::state::{Instance, Memory};
pub use super::structure::Deviation;
use super::structure::Structure;
use crate::bound::{self, Bound};
use crate::error::{Error, Result};
use crate::memory::check_memory;
use crate::program::{Role, Stored, TensorId};
use crate::random::{self, Drawing};

impl<'a> Instance<'a> {
    /// Reads a packed buffer from the caller's memory, without a copy, until another one is given or the sizes change.
    ///
    /// # Errors
    /// A tensor that is computed, or has a format; another element type; too few elements.
    pub fn lend(&mut self, tensor: TensorId, packed: View<'a>) -> Result<()> {
        if self.facts[tensor.0].role != Role::Input {
            return Err(Error::NotAnInput(self.facts[tensor.0].name.clone()));
        }
        self.check_lent(tensor, packed)?;
        self.packed[tensor.0] = Memory::Lent(packed);
        self.prepared = false;
        Ok(())
    }

    /// Keeps a packed buffer, of an input or a result, in the caller's memory until the sizes change.
    ///
    /// # Errors
    /// A tensor that has a format; another element type; too few elements.
    pub fn lend_mut(&mut self, tensor: TensorId, packed: ViewMut<'a>) -> Result<()> {
        self.check_lent(tensor, packed.view())?;
        self.packed[tensor.0] = Memory::LentMut(packed);
        self.prepared = false;
        Ok(())
    }

    fn check_lent(&self, tensor: TensorId, packed: View<'_>) -> Result<()> {
        let fact = &self.facts[tensor.0];
        let buffer = || fact.name.clone();
        if fact.format.is_some() {
            return Err(Error::Dynamic(buffer()));
        }
        if packed.element() != fact.element {
            let (expected, found) = (fact.element, packed.element());
            return Err(Error::ElementType { buffer: buffer(), expected, found });
        }
        let found = packed.len();
        match i64::try_from(found).is_ok_and(|found| found < fact.unique) {
            true => Err(Error::TooShort { buffer: buffer(), expected: fact.unique, found }),
            false => Ok(()),
        }
    }

    /// Binds an input with a format; it is converted to the declared format (and to others where rules cannot walk it
    /// in that one).
    ///
    /// # Errors
    /// A tensor that has no format; another shape; more memory than there is; indices beyond the width that the program
    /// was built for.
    pub fn bind(&mut self, tensor: TensorId, value: Tensor) -> Result<()> {
        self.check_stored(tensor, value.shape())?;
        let executable = Arc::clone(&self.executable);
        let stored: Vec<_> = executable.program().stored(tensor).collect();
        let (fact, wide) = (&self.facts[tensor.0], executable.program().wide);
        let bound = Bound::new(&fact.name, value, fact.element, &stored, wide)?;
        self.take_stored(tensor, bound, &stored);
        Ok(())
    }

    /// Reads the arrays of an input with a format from the caller's memory, without a copy, until another value is
    /// given or the sizes change. A rule that cannot walk the declared format still reads a copy in another one.
    ///
    /// # Errors
    /// A tensor that has no format; another shape, format or element type; indices of another width than the program
    /// takes (32 bits, or 64 where it was built for them).
    pub fn lend_stored(&mut self, tensor: TensorId, value: TensorView<'a>) -> Result<()> {
        self.check_stored(tensor, value.shape())?;
        let executable = Arc::clone(&self.executable);
        let stored: Vec<_> = executable.program().stored(tensor).collect();
        let (fact, wide) = (&self.facts[tensor.0], executable.program().wide);
        let bound = Bound::lent(&fact.name, value, fact.element, &stored, wide)?;
        self.take_stored(tensor, bound, &stored);
        Ok(())
    }

    /// Fails for a tensor that no value with a format of this shape can be given.
    fn check_stored(&self, tensor: TensorId, shape: &[u64]) -> Result<()> {
        let fact = &self.facts[tensor.0];
        if fact.role != Role::Input {
            return Err(Error::NotAnInput(fact.name.clone()));
        }
        if fact.format.is_none() {
            return Err(Error::NotDynamic(fact.name.clone()));
        }
        let expected = self.box_of(tensor)?;
        if shape != expected {
            let sizes = |shape: &[u64]| shape.iter().map(|e| *e as usize).collect();
            let (expected, found) = (sizes(&expected), sizes(shape));
            return Err(Error::Shape { tensor: fact.name.clone(), expected, found });
        }
        Ok(())
    }

    /// Takes over the value of an input with a format.
    fn take_stored(&mut self, tensor: TensorId, bound: Bound<'a>, stored: &[&Stored]) {
        for (symbol, count) in bound.counts(stored) {
            self.parameters[symbol.0 as usize] = count;
        }
        let fact = &mut self.facts[tensor.0];
        fact.unique = i64::try_from(bound.stored()).unwrap_or(i64::MAX);
        fact.packed_bytes = u128::from(bound.bytes());
        self.bound.insert(tensor, bound);
        self.prepared = false;
    }

    /// Binds entries.
    ///
    /// # Errors
    /// As [`Instance::bind`]; entries that are none.
    pub fn set_entries(
        &mut self,
        tensor: TensorId,
        entries: std::result::Result<Entries, StorageError>,
    ) -> Result<()> {
        let Some(format) = self.stored(tensor).first().map(|first| first.format.clone()) else {
            return Ok(());
        };
        let built =
            entries.and_then(|entries| Tensor::from_entries(&entries, &format, bound::build()));
        let name = &self.facts[tensor.0].name;
        let built = built.map_err(|source| Error::Storage { tensor: name.clone(), source })?;
        self.bind(tensor, built)
    }

    /// Checks a dense array against the declared structure of an input and packs it, its values rounded to the tensor's
    /// element type. Of each complex element the array has the real and the imaginary part.
    ///
    /// # Errors
    /// A wrong shape; the first element (in C order) that contradicts the structure; code for moving tensors that is
    /// not there.
    pub fn set_input(&mut self, tensor: TensorId, dense: &[f64], shape: &[usize]) -> Result<()> {
        let element = self.facts[tensor.0].element;
        let rounded = match element {
            Element::F64 => None,
            element => Some(Storage::of_numbers(element, dense)?),
        };
        let view = rounded.as_ref().map_or(View::of(dense), Storage::view);
        self.set_elements(tensor, view, shape, None).map(|_| ())
    }

    /// As [`Instance::set_input`], for elements of the tensor's own type, exactly. With a tolerance, redundant elements
    /// may differ from what the structure says: by that part of the larger magnitude, and elements that it says are
    /// zero by that part of the largest magnitude of all. What was accepted is returned.
    ///
    /// # Errors
    /// As [`Instance::set_input`]; another element type.
    pub fn set_elements(
        &mut self,
        tensor: TensorId,
        dense: View<'_>,
        shape: &[usize],
        tolerance: Option<f64>,
    ) -> Result<Deviation> {
        let fact = self.facts[tensor.0].clone();
        if fact.role != Role::Input {
            return Err(Error::NotAnInput(fact.name));
        }
        if dense.element() != fact.element {
            let (expected, found) = (fact.element, dense.element());
            return Err(Error::ElementType { buffer: fact.name, expected, found });
        }
        let expected = self.shape(tensor)?;
        let elements = expected.iter().product::<usize>();
        if shape != expected || dense.len() != elements {
            return Err(Error::Shape { tensor: fact.name, expected, found: shape.to_vec() });
        }
        if fact.format.is_some() {
            return self.bind_dense(tensor, dense).map(|()| Deviation::default());
        }
        check_memory(&format!("checking the structure of `{}`", fact.name), fact.dense_bytes)?;
        let executable = Arc::clone(&self.executable);
        let movement = executable.moving()?;
        let mut deviation = Deviation::default();
        if let Some(expand) = &movement.functions[tensor.0].expand {
            let mut expanded = Storage::zeroed(fact.element, elements)?;
            let arguments = &mut [dense.into(), expanded.view_mut().into()];
            movement.code.call_on(self.threads, expand, &self.parameters, arguments)?;
            deviation = Structure { name: &fact.name, shape: &expected, tolerance }
                .compare(dense, &expanded)?;
        }
        let (threads, parameters) = (self.threads, self.parameters.clone());
        let pack = &movement.functions[tensor.0].pack;
        self.take_back(tensor)?;
        if let Some(packed) = self.packed_mut(tensor) {
            movement.code.call_on(
                threads,
                pack,
                &parameters,
                &mut [dense.into(), packed.into()],
            )?;
        }
        Ok(deviation)
    }

    fn bind_dense(&mut self, tensor: TensorId, dense: View<'_>) -> Result<()> {
        let shape = self.box_of(tensor)?;
        let coordinates = Format::coo(shape.len());
        let whole = Tensor::from_dense(shape, Storage::copy_of(dense)?);
        let sparse = whole.and_then(|whole| whole.convert(&coordinates, bound::build()));
        self.set_entries(tensor, sparse.and_then(|tensor| tensor.to_entries()))
    }

    /// The stored elements of a dense array of any tensor, in the order of its packed buffer, without any check of the
    /// others.
    ///
    /// # Errors
    /// A wrong length or element type; not enough memory; code for moving tensors that is not there.
    pub fn pack(&self, tensor: TensorId, dense: View<'_>) -> Result<Storage> {
        let fact = &self.facts[tensor.0];
        let mut packed = Storage::zeroed(fact.element, self.packed[tensor.0].view().len())?;
        let movement = self.executable.moving()?;
        let pack = &movement.functions[tensor.0].pack;
        let arguments = &mut [dense.into(), packed.view_mut().into()];
        movement.code.call_on(self.threads, pack, &self.parameters, arguments)?;
        Ok(packed)
    }

    /// Fills an input with random data: one with a format with the density that was set, others directly in packed
    /// form.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn draw(&mut self, tensor: TensorId, rng: &mut impl Rng) -> Result<()> {
        let (name, element) = (self.facts[tensor.0].name.clone(), self.facts[tensor.0].element);
        if self.bound.contains_key(&tensor) {
            let (shape, density) = (self.box_of(tensor)?, self.density);
            let drawing = Drawing { name: &name, shape: &shape, element, density };
            return self.set_entries(tensor, Ok(random::entries(drawing, rng)?));
        }
        self.take_back(tensor)?;
        if let Some(mut packed) = self.packed_mut(tensor) {
            packed.fill(|_| random::sample(element, rng));
        }
        Ok(())
    }

    /// Fills all inputs with random data but those that `given` says.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn draw_inputs(&mut self, seed: u64, given: impl Fn(TensorId) -> bool) -> Result<()> {
        for tensor in (0..self.facts.len()).map(TensorId) {
            if self.facts[tensor.0].role == Role::Input && !given(tensor) {
                self.draw(tensor, &mut stream(seed, tensor))?;
            }
        }
        Ok(())
    }
}

/// Random numbers for a tensor: one stream each, so that values do not depend on which other inputs are given.
pub fn stream(seed: u64, tensor: TensorId) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::try_from(tensor.0).unwrap_or(0));
    rng
}
