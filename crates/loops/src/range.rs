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
        let condition = settled(condition, var);
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

/// A comparison without a variable that does not decide it.
///
/// Before -> after, of `q`: `1 - q < W - q + 1` -> `0 < W`.
fn settled(condition: Condition, var: VarId) -> Condition {
    match &condition {
        Condition::Compare(compare, left, right) if condition.mentions(var) => {
            let difference = Linear::of(&(right.clone() - left.clone()));
            match difference.map(|difference| difference.to_index()) {
                Some(rest) if !rest.mentions(var) => {
                    Condition::compare(*compare, Index::Const(0), rest)
                }
                _ => condition,
            }
        }
        _ => condition,
    }
}
