//! Comparison of a run's results with the dense reference evaluator.

use std::collections::BTreeMap;

use dastac_formats::Tensor;
use dastac_iterate::Structure;
use dastac_runtime::{TensorFacts, unflatten};
use dastac_stur::program::{Element, Role, TensorId};
use dastac_stur::reference::Dense;

use crate::Error;
use crate::run::Runner;

/// The reference evaluator is refused when the dense boxes of all tensors together hold more elements. Up to this size
/// random inputs are drawn dense, as it needs them; beyond, directly in packed form.
pub const MAX_REFERENCE_CELLS: u128 = 1 << 22;

/// The reference evaluator is refused beyond this many iterations.
pub const MAX_REFERENCE_COST: u128 = 1 << 28;

impl Runner {
    /// Why the reference evaluator should not be run at this size, if so.
    pub fn reference_limit(&self) -> Result<Option<String>, Error> {
        let program = self.built().lowered.program();
        let cells: u128 = self.facts().iter().map(TensorFacts::cells).sum();
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
        let program = self.built().lowered.program().clone();
        let evaluator = self.evaluator(&program)?;
        let arrays = inputs.iter().filter(|(id, _)| self.bound(**id).is_none());
        let mut inputs: BTreeMap<TensorId, Dense> =
            arrays.map(|(id, dense)| (*id, dense.resized(evaluator.shape(*id)))).collect();
        let mut stored = BTreeMap::new();
        for id in program.tensor_ids() {
            let Some(bound) = self.bound(id) else { continue };
            let (dense, pattern) = scattered(bound, evaluator.shape(id), 0.0);
            inputs.insert(id, dense);
            stored.insert(id, pattern);
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
                let tensor = program.tensor(id).name.clone();
                let expected = reference.shape.clone();
                return Err(dastac_runtime::Error::Shape { tensor, expected, found: shape }.into());
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
        let name = &self.facts()[tensor.0].name;
        Ok(differs.map(|at| (name.clone(), unflatten(at, &shape), stored[at])))
    }

    /// Whether zeros may be stored where no product has a point: a result with the pattern of an operand has all of it,
    /// also where sums are over nothing; and what is computed from such a one.
    fn may_spare(&self, tensor: TensorId) -> bool {
        let kernel = &self.built().lowered.kernel;
        let program = self.built().lowered.program();
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
