//! Tensors that are zero whatever their inputs are and however large they are: `y(i) := x(i) * (i < 3) * (i > 7)`. Such
//! a program has a meaning, but hardly the one that its author had in mind.

use super::{InferError, Inferred};
use crate::diagnostic::Diagnostic;
use crate::program::TensorId;

/// The code of the warning.
pub(super) const NOTHING: &str = "W0113";

/// Warnings (W0113) about tensors without elements that can differ from zero, of any size. A result that reads such a
/// tensor is not named again.
///
/// # Errors
/// Failures of isl.
pub fn always_zero(inferred: &Inferred) -> Result<Vec<Diagnostic>, InferError> {
    let program = &inferred.program;
    let supports = inferred.tensors.iter().map(|tensor| Ok(tensor.support.is_empty()?));
    let empty = supports.collect::<Result<Vec<bool>, InferError>>()?;
    let mut found = Vec::new();
    for id in program.tensor_ids().filter(|id| empty[id.0]) {
        let rule = program.tensor(id).rule().map(|rule| &program.rules[rule.0]);
        let reads = |other: TensorId| {
            let products = rule.into_iter().flat_map(|rule| &rule.products);
            products.flat_map(|product| &product.accesses).any(|access| access.tensor == other)
        };
        // What a reduction of values, or of another semiring, is of nothing is no zero.
        let is_other = rule.is_some_and(|rule| rule.semiring.zero() != 0.0 || rule.fill.is_some());
        if is_other || program.tensor_ids().any(|other| empty[other.0] && reads(other)) {
            continue;
        }
        let name = &program.tensor(id).name;
        let message = match rule {
            Some(_) => format!("`{name}` is always zero"),
            None => format!("`{name}` has no elements"),
        };
        let (label, hint) = if inferred.tensors[id.0].cancelled.is_empty()? {
            let hint = "what is multiplied must hold, or be inside of its tensor, for the same values of iterators";
            ("no element meets all conditions, at any size", hint)
        } else {
            ("each term is its own negative, or that of another one", "leave the rule out")
        };
        let warning = Diagnostic::warning(NOTHING, message, program.described_at(id), label);
        found.push(warning.hint(hint));
    }
    found.sort_by_key(Diagnostic::place);
    Ok(found)
}
