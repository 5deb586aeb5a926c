//! Ranges of loops and sums that take conditions in as bounds.

use crate::ir::*;
use crate::linear::bounds_of;

/// A range and the parts of a condition on it.
pub(crate) struct Narrowed {
    pub(crate) lower: Vec<Index>,
    pub(crate) upper: Vec<Index>,
    /// Conditions that do not mention the variable.
    pub(crate) invariant: Vec<Condition>,
    /// Conditions that do and are not bounds.
    pub(crate) rest: Vec<Condition>,
}

/// Narrows the range of `var` by a condition that holds for all of its values that matter.
pub(crate) fn narrow(
    (var, step): (VarId, i64),
    (lower, upper): (&[Index], &[Index]),
    condition: Condition,
) -> Narrowed {
    let (mut lower, mut upper) = (lower.to_vec(), upper.to_vec());
    let (mut invariant, mut rest) = (Vec::new(), Vec::new());
    for condition in condition.conjuncts() {
        if !condition.mentions(var) {
            invariant.push(condition);
            continue;
        }
        match bounds_of(&condition, var) {
            // Another first value would shift the steps.
            Some((lowers, uppers)) if step == 1 || lowers.is_empty() => {
                lower.extend(lowers);
                upper.extend(uppers);
            }
            _ => rest.push(condition),
        }
    }
    Narrowed { lower, upper, invariant, rest }
}
