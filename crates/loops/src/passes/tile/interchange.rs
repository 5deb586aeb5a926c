//! Loop interchange: puts the loops of a nest into another order.
//!
//! Bounds are read as inequalities and solved again for the new order, from the innermost loop outwards; with
//! coefficients of 1 and -1 that is exact.
//!
//! Before -> after, `j` first: `i = 0 to N, j = i to N` -> `j = 0 to N, i = 0 to j + 1`.

use super::nest::{Level, Nest};
use crate::ir::*;
use crate::linear::{Facts, bounds_of};

/// The nest with `inner` as its innermost loops; `None` if its bounds cannot be exchanged.
pub(super) fn interchange(nest: &Nest, inner: &[VarId], facts: &Facts) -> Option<Nest> {
    let outer = nest.levels.len().checked_sub(inner.len())?;
    if nest.levels[outer..].iter().map(|level| level.var).eq(inner.iter().copied()) {
        return Some(nest.clone());
    }
    let rest = nest.levels.iter().map(|level| level.var).filter(|var| !inner.contains(var));
    let order: Vec<VarId> = rest.chain(inner.iter().copied()).collect();
    let mut conditions: Vec<Condition> = Vec::new();
    nest.levels.iter().for_each(|level| level.conditions(&mut conditions));
    let mut levels = Vec::new();
    for (at, var) in order.iter().enumerate().rev() {
        let (about, others): (Vec<_>, Vec<_>) =
            conditions.into_iter().partition(|condition| condition.mentions(*var));
        conditions = others;
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for condition in about {
            // With a coefficient the bound would be rounded, and what follows from two of them be less than what holds.
            let unit = match &condition {
                Condition::Compare(_, left, right) => {
                    let coefficient = (right.clone() - left.clone()).constant_stride(*var)?;
                    coefficient.abs() == 1
                }
                _ => false,
            };
            if !unit {
                return None;
            }
            let (lowers, uppers) = bounds_of(&condition, *var)?;
            lower.extend(lowers);
            upper.extend(uppers);
        }
        // What is inside must not be empty.
        for low in &lower {
            for high in &upper {
                let condition = low.clone().less(high.clone());
                if condition.as_bool() == Some(false) {
                    return None;
                }
                if condition.as_bool().is_none() && !conditions.contains(&condition) {
                    conditions.push(condition);
                }
            }
        }
        // Of bounds that follow from others and the loops outside, one is enough. What is about symbols alone says that
        // a range is not empty, and no loop outside sees to that.
        let (around, rest) = order.split_at(at);
        let mentions =
            |condition: &Condition, vars: &[VarId]| vars.iter().any(|var| condition.mentions(*var));
        let outside =
            |condition: &&Condition| mentions(condition, around) && !mentions(condition, rest);
        let mut known = facts.clone();
        conditions.iter().filter(outside).for_each(|condition| known.assume(condition));
        let lower = fewest(lower, &|one, other| known.imply(&other.clone().at_most(one.clone())));
        let upper = fewest(upper, &|one, other| known.imply(&one.clone().at_most(other.clone())));
        levels.push(Level { var: *var, lower, upper });
    }
    levels.reverse();
    // What is left is about symbols and loops around: that some range inside is not empty. Where that fails, nothing
    // runs all the same.
    Some(Nest { levels, ..nest.clone() })
}

/// A list without the elements that follow from others.
pub(super) fn fewest(mut list: Vec<Index>, implies: &dyn Fn(&Index, &Index) -> bool) -> Vec<Index> {
    let mut at = 0;
    while at < list.len() {
        let superfluous =
            list.iter().enumerate().any(|(other, bound)| other != at && implies(bound, &list[at]));
        if superfluous {
            list.remove(at);
        } else {
            at += 1;
        }
    }
    list
}
