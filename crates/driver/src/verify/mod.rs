//! Comparison of a run's results with the reference evaluator: of dense arrays up to some size, rule by rule beyond.

mod check;
mod difference;
mod entries;
mod large;
mod samples;
mod unpacked;

use std::collections::BTreeMap;

use dastac_elements::Storage;
use dastac_formats::Tensor;
use dastac_runtime::program::Structure;
use dastac_runtime::{Instance, TensorFacts, stream, unflatten};
use dastac_sched::Movement;
use dastac_stur::Program;
use dastac_stur::program::{Role, TensorId};
use dastac_stur::reference::{Array, Evaluator, position};

use crate::Error;
use crate::describe::id;
use difference::worst_of;

pub use check::{Check, Limits, Method};
pub(crate) use difference::tolerances;
pub use difference::{Difference, Verification};
pub use unpacked::is_nearly_empty;

/// The dense evaluator is not run when the boxes of all tensors together hold more elements. Up to this size random
/// inputs are drawn dense, as it needs them; beyond, directly in packed form.
pub const MAX_REFERENCE_CELLS: u128 = 1 << 22;

/// Nor is it run for more iterations,
pub const MAX_REFERENCE_COST: u128 = 1 << 28;

/// or for so many where integers choose a few of them: it visits all, and a walk does not.
const MAX_CHOSEN_COST: u128 = 1 << 22;

/// A program as the reference evaluator reads it, beside compiled code of the same program.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'a> {
    program: &'a Program,
    movement: Option<&'a Movement>,
}

impl<'a> Reference<'a> {
    /// The reference for a program. Instances that it is given must be of the code of the same program.
    pub fn of(program: &'a Program) -> Reference<'a> {
        Reference { program, movement: None }
    }

    /// With the loops that unpack tensors that are [nearly empty](is_nearly_empty), which are followed in place of
    /// unpacking them.
    pub fn with_movement(self, movement: Option<&'a Movement>) -> Reference<'a> {
        Reference { movement, ..self }
    }

    fn evaluator(&self, instance: &Instance<'_>) -> Result<Evaluator<'a>, Error> {
        Ok(Evaluator::new(self.program, instance.symbols())?)
    }

    /// Whether the dense evaluator is run at this size.
    fn fits(&self, instance: &Instance<'_>) -> Result<bool, Error> {
        let own = instance.facts().iter().take(self.program.tensors.len());
        let cells: u128 = own.map(TensorFacts::cells).sum();
        if cells > MAX_REFERENCE_CELLS {
            return Ok(false);
        }
        let evaluator = self.evaluator(instance)?;
        let most = if evaluator.has_choices() { MAX_CHOSEN_COST } else { MAX_REFERENCE_COST };
        Ok(evaluator.cost() <= most)
    }

    /// Whether an input is drawn as a dense array, on its structure, rather than directly in packed form.
    fn draws_array(&self, instance: &Instance<'_>, tensor: TensorId) -> bool {
        let fact = &instance.facts()[tensor.0];
        fact.format.is_none() && fact.cells() <= MAX_REFERENCE_CELLS
    }

    /// The inputs that are not among `given`.
    fn drawn(&self, given: &BTreeMap<TensorId, Array>) -> impl Iterator<Item = TensorId> {
        let inputs = |id: &TensorId| self.program.tensor(*id).role == Role::Input;
        self.program.tensor_ids().filter(inputs).filter(|id| !given.contains_key(id))
    }

    /// Whether [`Reference::draw_inputs`] needs the code that packs dense arrays.
    pub fn draws_arrays(&self, instance: &Instance<'_>, given: &BTreeMap<TensorId, Array>) -> bool {
        self.drawn_arrays(instance, given).next().is_some()
    }

    /// The inputs that [`Reference::draw_inputs`] draws as dense arrays.
    pub fn drawn_arrays(
        &self,
        instance: &Instance<'_>,
        given: &BTreeMap<TensorId, Array>,
    ) -> impl Iterator<Item = TensorId> {
        self.drawn(given).filter(|id| self.draws_array(instance, *id))
    }

    /// Draws the inputs that are not among `given` at random on their structure, those with `:F` with the instance's
    /// density: dense while the box is small (and returned, for [`Reference::compare`]), else directly in packed form.
    ///
    /// # Errors
    /// Not enough memory; code for moving tensors that is not there.
    pub fn draw_inputs(
        &self,
        instance: &mut Instance<'_>,
        seed: u64,
        given: &BTreeMap<TensorId, Array>,
    ) -> Result<BTreeMap<TensorId, Array>, Error> {
        let mut drawn = BTreeMap::new();
        for tensor in self.drawn(given) {
            let mut rng = stream(seed, id(tensor));
            if !self.draws_array(instance, tensor) {
                instance.draw(id(tensor), &mut rng)?;
                continue;
            }
            let dense = self.evaluator(instance)?.random_input(tensor, &mut rng)?;
            let element = self.program.tensor(tensor).element;
            let dense = dense.resized(element, &instance.shape(id(tensor))?);
            instance.set_input(id(tensor), &dense.data, &dense.shape)?;
            let array = Array::of(element, dense).map_err(dastac_runtime::Error::from)?;
            drawn.insert(tensor, array);
        }
        Ok(drawn)
    }

    /// Whether [`Reference::compare`] needs the code that unpacks dense arrays: of results, and of inputs that were
    /// drawn in packed form.
    pub fn compares_arrays(&self) -> bool {
        self.program.tensor_ids().any(|id| self.program.tensor(id).format.is_none())
    }

    /// Compares all computed tensors with the reference evaluator on the given inputs (all that are not bound): the
    /// largest error, relative to `max(1, |reference|)`, with where it is. Sizes that are too large for dense arrays
    /// are checked rule by rule, see [`Method`].
    ///
    /// # Errors
    /// A program that cannot be evaluated; not enough memory; code for moving tensors that is not there.
    pub fn compare(
        &self,
        instance: &Instance<'_>,
        inputs: &BTreeMap<TensorId, Array>,
    ) -> Result<Verification, Error> {
        self.compare_telling(instance, inputs, &mut |_| {})
    }

    /// As [`Reference::compare`]; `progress` is told what is done.
    ///
    /// # Errors
    /// As [`Reference::compare`].
    pub fn compare_telling(
        &self,
        instance: &Instance<'_>,
        inputs: &BTreeMap<TensorId, Array>,
        progress: &mut dyn FnMut(String),
    ) -> Result<Verification, Error> {
        match self.fits(instance)? {
            true => self.compare_dense(instance, inputs),
            false => self.compare_rules(instance, inputs, Limits::DEFAULT, progress),
        }
    }

    fn compare_dense(
        &self,
        instance: &Instance<'_>,
        inputs: &BTreeMap<TensorId, Array>,
    ) -> Result<Verification, Error> {
        let program = self.program;
        let expected = self.expected(instance, inputs)?;
        let tolerances = tolerances(program);
        let mut worst = Verification::exact();
        for tensor in program.tensor_ids().filter(|id| program.tensor(*id).role != Role::Input) {
            let Some((reference, pattern)) = expected.get(&tensor) else { continue };
            if program.tensor(tensor).format.is_some()
                && let Some(other) = self.other_pattern(instance, tensor, pattern)?
            {
                worst = Verification { max_error: f64::INFINITY, stored: Some(other), ..worst };
            }
            let tolerance = tolerances.get(&tensor).copied().unwrap_or(Verification::TOLERANCE);
            worst.take(self.difference(instance, tensor, reference, tolerance)?);
        }
        Ok(worst)
    }

    /// What the evaluator computes, with the elements that are stored of results with `:F`.
    fn expected(
        &self,
        instance: &Instance<'_>,
        inputs: &BTreeMap<TensorId, Array>,
    ) -> Result<BTreeMap<TensorId, (Array, Vec<bool>)>, Error> {
        let evaluator = self.evaluator(instance)?;
        let arrays = inputs.iter().filter(|(tensor, _)| instance.bound(id(**tensor)).is_none());
        let mut inputs: BTreeMap<TensorId, Array> =
            arrays.map(|(id, array)| (*id, array.resized(evaluator.shape(*id)))).collect();
        let mut stored = BTreeMap::new();
        for tensor in self.program.tensor_ids() {
            let Some(bound) = instance.bound(id(tensor)) else { continue };
            let (array, pattern) = scattered(bound, evaluator.shape(tensor), 0.0);
            inputs.insert(tensor, array);
            stored.insert(tensor, pattern);
        }
        Ok(evaluator.run_exact(&inputs, &stored)?)
    }

    /// The largest error of a computed tensor.
    fn difference(
        &self,
        instance: &Instance<'_>,
        tensor: TensorId,
        reference: &Array,
        tolerance: f64,
    ) -> Result<Verification, Error> {
        let (shape, name) = (instance.shape(id(tensor))?, &self.program.tensor(tensor).name);
        // A box may be larger than needed, on either side; only zeros are outside of the other.
        let resized = reference.resized(&shape);
        if resized.data.nonzeros() != reference.data.nonzeros() {
            let (tensor, expected) = (name.clone(), reference.shape.clone());
            return Err(dastac_runtime::Error::Shape { tensor, expected, found: shape }.into());
        }
        let computed = instance.unpacked(id(tensor))?;
        let index = |at: usize| unflatten(at, &shape);
        Ok(worst_of(name, &index, &computed, &resized.data, tolerance))
    }

    /// The first element of a result with `:F` that is stored and should not be, or the other way round.
    fn other_pattern(
        &self,
        instance: &Instance<'_>,
        tensor: TensorId,
        expected: &[bool],
    ) -> Result<Option<(String, Vec<usize>, bool)>, Error> {
        let (shape, zero) = (instance.shape(id(tensor))?, instance.zero(id(tensor)));
        let (values, stored) = scattered(&instance.assembled(id(tensor))?, &shape, zero);
        let spare = self.may_spare(instance, tensor);
        let parts = values.data.len() / stored.len().max(1);
        let is_zero =
            |at: usize| (0..parts).all(|part| values.data.number(at * parts + part) == zero);
        let differs = (0..stored.len()).find(|at| match (stored[*at], expected[*at]) {
            (true, false) => !spare || !is_zero(*at),
            (found, wanted) => found != wanted,
        });
        let name = &self.program.tensor(tensor).name;
        Ok(differs.map(|at| (name.clone(), unflatten(at, &shape), stored[at])))
    }

    /// Whether zeros may be stored where no product has a point: a result with the pattern of an operand has all of it,
    /// also where sums are over nothing; and what is computed from such a one.
    fn may_spare(&self, instance: &Instance<'_>, tensor: TensorId) -> bool {
        let Some(rule) = self.program.tensor(tensor).rule() else { return false };
        let results = &instance.executable().program().results;
        let own = results.iter().find(|one| one.tensor == id(tensor));
        let products = &self.program.rules[rule.0].products;
        let mut reads = products.iter().flat_map(|product| &product.accesses);
        own.is_some_and(|one| one.structure == Structure::Copied)
            || reads.any(|access| self.may_spare(instance, access.tensor))
    }
}

/// A tensor as an array of the given shape, of 64-bit integers or floats, two for each complex number; and which of its
/// elements are stored: those of blocks all are. The others are `zero`.
fn scattered(tensor: &Tensor, shape: &[usize], zero: f64) -> (Array, Vec<bool>) {
    let (element, shape) = (tensor.values().element(), shape.to_vec());
    let (parts, elements) = (element.parts(), shape.iter().product::<usize>());
    let mut stored = vec![false; elements];
    let values = tensor.values().view().parts();
    // Entries of one element are added up.
    let mut each = |take: &mut dyn FnMut(usize, usize, bool)| {
        tensor.for_each_place(|element, from| {
            let index: Vec<i64> = element.iter().map(|at| *at as i64).collect();
            let Some(to) = position(&shape, &index) else { return };
            take(from, to, std::mem::replace(&mut stored[to], true));
        });
    };
    let data = match element.is_integer() {
        true => {
            let mut data = vec![zero as i64; elements];
            each(&mut |from, to, again| {
                let value = values.get(from).and_then(|value| value.number().to_i64()).unwrap_or(0);
                data[to] = if again { data[to].wrapping_add(value) } else { value };
            });
            Storage::from(data)
        }
        false => {
            let mut data = vec![zero; elements * parts];
            each(&mut |from, to, again| {
                for part in 0..parts {
                    let value = values.number(from * parts + part);
                    let sum = &mut data[to * parts + part];
                    *sum = if again { *sum + value } else { value };
                }
            });
            Storage::from(data)
        }
    };
    (Array { shape, data }, stored)
}
