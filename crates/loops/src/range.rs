//! Ranges of loops and sums that take conditions in as bounds.

use crate::ir::*;
use crate::linear::{Linear, bounds_of, range_conditions};

/// A range and the parts of a condition on it.
pub(crate) struct Narrowed {
    pub(crate) lower: Vec<Index>,
    pub(crate) upper: Vec<Index>,
    /// Conditions that do not mention the variable. Where they read memory, that the range has values comes first:
    /// what is read need not be there if it has none.
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
    let (mut invariant, mut rest) = (Vec::new(), Vec::<Condition>::new());
    let has_values = range_conditions(&lower, &upper);
    let mut reads = false;
    for condition in condition.conjuncts() {
        let loads = condition.has_loads();
        // What is read may be there only where the conditions before hold.
        if loads && !rest.is_empty() {
            rest.push(condition);
            continue;
        }
        if !condition.mentions(var) {
            reads |= loads;
            invariant.push(condition);
            continue;
        }
        match bounds_of(&condition, var) {
            // Another first value would shift the steps. Bounds are computed where the range has no values too.
            Some((lowers, uppers))
                if (step == 1 || lowers.is_empty()) && (!loads || has_values.is_empty()) =>
            {
                lower.extend(lowers);
                upper.extend(uppers);
            }
            _ => rest.push(condition),
        }
    }
    if reads {
        let range = range_conditions(&lower, &upper);
        invariant = range.into_iter().chain(invariant).collect();
    }
    Narrowed { lower, upper, invariant, rest }
}

/// A condition whose comparisons do not mention a variable that does not decide them.
///
/// Before -> after, of `q`: `1 - q < W - q + 1` -> `0 < W`.
pub(crate) fn settled(condition: Condition, var: VarId) -> Condition {
    Condition::all(condition.conjuncts().into_iter().map(|one| match &one {
        Condition::Compare(compare, left, right) if one.mentions(var) => {
            let difference = Linear::of(&(right.clone() - left.clone()));
            match difference.map(|difference| difference.to_index()) {
                Some(rest) if !rest.mentions(var) => {
                    Condition::compare(*compare, Index::Const(0), rest)
                }
                _ => one,
            }
        }
        _ => one,
    }))
}
