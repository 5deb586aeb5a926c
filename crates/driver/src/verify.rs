//! Comparison of a run's results with the dense reference evaluator.

use std::collections::BTreeMap;

use dastac_elements::{Complex, Scalar};
use dastac_formats::Tensor;
use dastac_runtime::program::Structure;
use dastac_runtime::{Instance, TensorFacts, stream, unflatten};
use dastac_stur::Program;
use dastac_stur::program::{Element, Role, TensorId};
use dastac_stur::reference::{Dense, Evaluator};

use crate::Error;
use crate::describe::id;

/// The reference evaluator is refused when the dense boxes of all tensors together hold more elements. Up to this size
/// random inputs are drawn dense, as it needs them; beyond, directly in packed form.
pub const MAX_REFERENCE_CELLS: u128 = 1 << 22;

/// The reference evaluator is refused beyond this many iterations.
pub const MAX_REFERENCE_COST: u128 = 1 << 28;

/// A program as the reference evaluator reads it, beside compiled code of the same program.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'a> {
    program: &'a Program,
}

impl<'a> Reference<'a> {
    /// The reference for a program. Instances that it is given must be of the code of the same program.
    pub fn of(program: &'a Program) -> Reference<'a> {
        Reference { program }
    }

    fn evaluator(&self, instance: &Instance<'_>) -> Result<Evaluator<'a>, Error> {
        Ok(Evaluator::new(self.program, instance.symbols())?)
    }

    /// Why the reference evaluator should not be run at this size, if so.
    ///
    /// # Errors
    /// A program that cannot be evaluated at these sizes.
    pub fn limit(&self, instance: &Instance<'_>) -> Result<Option<String>, Error> {
        let cells: u128 = instance.facts().iter().map(TensorFacts::cells).sum();
        if cells > MAX_REFERENCE_CELLS {
            return Ok(Some(format!(
                "the dense boxes hold {cells} elements, its limit is {MAX_REFERENCE_CELLS}"
            )));
        }
        let cost = self.evaluator(instance)?.cost();
        Ok((cost > MAX_REFERENCE_COST)
            .then(|| format!("it would take {cost} iterations, its limit is {MAX_REFERENCE_COST}")))
    }

    /// Whether an input is drawn as a dense array, on its structure, rather than directly in packed form.
    fn draws_array(&self, instance: &Instance<'_>, tensor: TensorId) -> bool {
        let fact = &instance.facts()[tensor.0];
        fact.format.is_none() && fact.cells() <= MAX_REFERENCE_CELLS
    }

    /// The inputs that are not among `given`.
    fn drawn(&self, given: &BTreeMap<TensorId, Dense>) -> impl Iterator<Item = TensorId> {
        let inputs = |id: &TensorId| self.program.tensor(*id).role == Role::Input;
        self.program.tensor_ids().filter(inputs).filter(|id| !given.contains_key(id))
    }

    /// Whether [`Reference::draw_inputs`] needs the code that packs dense arrays.
    pub fn draws_arrays(&self, instance: &Instance<'_>, given: &BTreeMap<TensorId, Dense>) -> bool {
        self.drawn(given).any(|id| self.draws_array(instance, id))
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
        given: &BTreeMap<TensorId, Dense>,
    ) -> Result<BTreeMap<TensorId, Dense>, Error> {
        let mut drawn = BTreeMap::new();
        for tensor in self.drawn(given) {
            let mut rng = stream(seed, id(tensor));
            if !self.draws_array(instance, tensor) {
                instance.draw(id(tensor), &mut rng)?;
                continue;
            }
            let dense = self.evaluator(instance)?.random_input(tensor, &mut rng)?;
            let dense = self.resized(tensor, &dense, &instance.shape(id(tensor))?);
            instance.set_input(id(tensor), &dense.data, &dense.shape)?;
            drawn.insert(tensor, dense);
        }
        Ok(drawn)
    }

    /// Whether [`Reference::compare`] needs the code that unpacks dense arrays.
    pub fn compares_arrays(&self) -> bool {
        let packed = |id| {
            let tensor = self.program.tensor(id);
            tensor.role != Role::Input && tensor.format.is_none()
        };
        self.program.tensor_ids().any(packed)
    }

    /// Compares all computed tensors with the reference evaluator on the given inputs (all that are not bound): the
    /// largest error, relative to `max(1, |reference|)`, with where it is.
    ///
    /// # Errors
    /// A program that cannot be evaluated; not enough memory; code for moving tensors that is not there.
    pub fn compare(
        &self,
        instance: &Instance<'_>,
        inputs: &BTreeMap<TensorId, Dense>,
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
        inputs: &BTreeMap<TensorId, Dense>,
    ) -> Result<BTreeMap<TensorId, (Dense, Vec<bool>)>, Error> {
        let evaluator = self.evaluator(instance)?;
        let arrays = inputs.iter().filter(|(tensor, _)| instance.bound(id(**tensor)).is_none());
        let mut inputs: BTreeMap<TensorId, Dense> = arrays
            .map(|(id, dense)| (*id, self.resized(*id, dense, evaluator.shape(*id))))
            .collect();
        let mut stored = BTreeMap::new();
        for tensor in self.program.tensor_ids() {
            let Some(bound) = instance.bound(id(tensor)) else { continue };
            let (dense, pattern) = scattered(bound, evaluator.shape(tensor), 0.0);
            inputs.insert(tensor, dense);
            stored.insert(tensor, pattern);
        }
        Ok(evaluator.run_patterns(&inputs, &stored)?)
    }

    /// The largest error of a computed tensor.
    fn difference(
        &self,
        instance: &Instance<'_>,
        tensor: TensorId,
        reference: &Dense,
        tolerance: f64,
    ) -> Result<Verification, Error> {
        let (shape, name) = (instance.shape(id(tensor))?, &self.program.tensor(tensor).name);
        // A box may be larger than needed, on either side; only zeros are outside of the other.
        let resized = self.resized(tensor, reference, &shape);
        if resized.nonzeros() != reference.nonzeros() {
            let (tensor, expected) = (name.clone(), reference.shape.clone());
            return Err(dastac_runtime::Error::Shape { tensor, expected, found: shape }.into());
        }
        let computed = instance.dense(id(tensor))?;
        let mut worst = Verification { tolerance, ..Verification::exact() };
        let parts = self.program.tensor(tensor).element.parts();
        let elements = computed.chunks_exact(parts).zip(resized.data.chunks_exact(parts));
        for (position, (found, wanted)) in elements.enumerate() {
            let error = error_of(found, wanted);
            if error > worst.max_error {
                worst.max_error = error;
                let (tensor, index) = (name.clone(), unflatten(position, &shape));
                let (expected, found) = (number(wanted), number(found));
                worst.at = Some(Difference { tensor, index, expected, found });
            }
        }
        Ok(worst)
    }

    /// A tensor's array in a box of another shape.
    fn resized(&self, tensor: TensorId, dense: &Dense, shape: &[usize]) -> Dense {
        dense.resized(self.program.tensor(tensor).element, shape)
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
        let parts = self.program.tensor(tensor).element.parts();
        let is_zero = |at: usize| values.data[at * parts..][..parts].iter().all(|one| *one == zero);
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

/// A tensor as an array of the given shape, and which of its elements are stored: those of blocks all are. The others
/// are `zero`.
fn scattered(tensor: &Tensor, shape: &[usize], zero: f64) -> (Dense, Vec<bool>) {
    let element = tensor.values().element();
    let (mut dense, parts) = (Dense::zeros_of(element, shape), element.parts());
    dense.data.fill(zero);
    let mut stored = vec![false; dense.data.len() / parts];
    let values = tensor.values().view().parts();
    tensor.for_each_place(|element, position| {
        let index: Vec<i64> = element.iter().map(|at| *at as i64).collect();
        let Some(at) = dense.position(&index) else { return };
        for (part, sum) in dense.data[at * parts..][..parts].iter_mut().enumerate() {
            let value = values.number(position * parts + part);
            // Entries of one element are added up.
            *sum = if stored[at] { *sum + value } else { value };
        }
        stored[at] = true;
    });
    (dense, stored)
}

/// How far an element, in parts if it is complex, is from what it should be, relative to `max(1, |wanted|)`.
fn error_of(found: &[f64], wanted: &[f64]) -> f64 {
    let same = |(found, wanted): (&f64, &f64)| found == wanted || found.is_nan() && wanted.is_nan();
    if found.iter().zip(wanted).all(same) {
        return 0.0;
    }
    let magnitude = |parts: &[f64]| match parts {
        [one] => one.abs(),
        parts => parts.iter().map(|part| part * part).sum::<f64>().sqrt(),
    };
    let differences: Vec<f64> = found.iter().zip(wanted).map(|(x, y)| x - y).collect();
    let error = magnitude(&differences) / magnitude(wanted).max(1.0);
    // NaN on one side only must not pass as small.
    if error.is_nan() { f64::INFINITY } else { error }
}

/// An element of its parts.
fn number(parts: &[f64]) -> Scalar {
    match parts {
        [real, imaginary] => Scalar::C128(Complex::new(*real, *imaginary)),
        parts => Scalar::F64(parts.first().copied().unwrap_or(f64::NAN)),
    }
}

/// The errors of computed tensors that are rounding: of their own elements, and of those that they are computed from.
pub(crate) fn tolerances(program: &Program) -> BTreeMap<TensorId, f64> {
    let mut tolerances = BTreeMap::new();
    for rule in &program.rules {
        let own = match program.tensor(rule.head).element.part() {
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

/// An element that differs from the reference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The tensor.
    pub tensor: String,
    /// The element.
    pub index: Vec<usize>,
    /// The reference's value.
    pub expected: Scalar,
    /// What was computed.
    pub found: Scalar,
}

/// The outcome of a comparison with the reference.
#[derive(Clone, Debug)]
pub struct Verification {
    /// Largest error beside its tolerance, relative to `max(1, |reference|)`.
    pub max_error: f64,
    /// Up to where it is rounding.
    pub tolerance: f64,
    /// Where it is.
    pub at: Option<Difference>,
    /// An element of a result with `:F` that is stored but should not be, or (`false`) is not but should be. The error
    /// is infinite then.
    pub stored: Option<(String, Vec<usize>, bool)>,
}

impl Verification {
    /// Errors up to this are rounding to 64 bits.
    pub const TOLERANCE: f64 = 1e-9;
    /// Errors up to this are rounding to 32 bits.
    pub const TOLERANCE_F32: f64 = 1e-4;

    /// No difference at all.
    fn exact() -> Verification {
        Verification { max_error: 0.0, tolerance: Verification::TOLERANCE, at: None, stored: None }
    }

    /// Takes over the error of another tensor if it is larger beside its tolerance.
    fn take(&mut self, other: Verification) {
        if other.max_error / other.tolerance > self.max_error / self.tolerance {
            let stored = self.stored.take();
            *self = Verification { stored, ..other };
        }
    }

    /// Whether the results agree.
    pub fn agrees(&self) -> bool {
        self.max_error <= self.tolerance
    }
}
