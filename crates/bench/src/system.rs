//! The interface of all systems that are measured.

use std::time::Duration;

use dastac_driver::run::Runner;
use dastac_elements::Storage;
use dastac_runtime::Role;
use dastac_stur::program::TensorId;

use crate::Error;

/// A system that computes what the program says.
pub trait System {
    /// Its name.
    fn name(&self) -> &str;
    /// What it does, in a few words.
    fn detail(&self) -> String {
        String::new()
    }
    /// How long it took to bring its inputs into a form of its own, if that is told.
    fn prepared(&self) -> Option<Duration> {
        None
    }
    /// Computes once; how long that took. Inputs that the system has not laid out for itself are those of `shared`.
    ///
    /// # Errors
    /// Any failure to compute.
    fn run(&mut self, shared: &mut Runner) -> Result<Duration, Error>;
    /// The process that computes.
    fn process(&self) -> u32 {
        std::process::id()
    }
    /// Overwrites the results with NaN, so that an old result cannot be taken for a new one.
    fn forget(&mut self, shared: &mut Runner);
    /// A result in the order of dastac's packed buffer; one with a format by its stored coordinates, in order.
    ///
    /// # Errors
    /// Not enough memory.
    fn result(&mut self, shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error>;
}

/// Overwrites the packed results with NaN.
pub(crate) fn forget_packed(shared: &mut Runner) {
    for id in outputs(shared) {
        shared.fill_packed(id, |_| f64::NAN);
    }
}

/// A copy of a packed result. Places that no element has, where nothing is written, are 0 in it.
pub(crate) fn packed_result(shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
    if shared.facts()[tensor.0].format.is_some() {
        return crate::entries::of_tensor(&shared.result(tensor)?);
    }
    let packed = shared.packed(tensor);
    let mut copy = Storage::zeroed(shared.facts()[tensor.0].element, packed.len())?;
    copy.fill(|at| packed.number(at));
    if (0..packed.len()).any(|at| packed.number(at).is_nan()) {
        let fact = &shared.facts()[tensor.0];
        let mut ones =
            Storage::zeroed(fact.element, usize::try_from(fact.cells()).unwrap_or(usize::MAX))?;
        ones.fill(|_| 1.0);
        let elements = shared.pack(tensor, ones.view())?;
        let (elements, packed) = (elements.view(), shared.packed(tensor));
        copy.fill(|at| if elements.number(at) == 0.0 { 0.0 } else { packed.number(at) });
    }
    Ok(copy)
}

/// Computed tensors.
pub(crate) fn outputs(runner: &Runner) -> Vec<TensorId> {
    let facts = runner.facts().iter().enumerate();
    facts.filter(|(_, fact)| fact.role != Role::Input).map(|(at, _)| TensorId(at)).collect()
}

/// Whether a computed tensor has a format, so that its result is a pattern and values.
pub(crate) fn sparse_results(runner: &Runner) -> bool {
    outputs(runner).iter().any(|id| runner.facts()[id.0].format.is_some())
}
