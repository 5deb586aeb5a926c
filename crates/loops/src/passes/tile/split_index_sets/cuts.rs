//! Where a nest is cut: the comparison of its selections that is the cheapest to decide.

use super::super::few::has_few;
use super::super::nest::Level;
use super::super::selections::{comparisons, each_comparison};
use crate::ir::*;
use crate::linear::{Facts, bounds_of};

/// How a nest is cut.
pub(super) enum Cut {
    /// By a condition that does not vary within it.
    Outside(Condition),
    /// A loop, by a bound of it.
    Level(usize, Condition),
    /// The sums over a variable, before it reaches these values.
    Sums(VarId, Vec<Index>),
}

/// The next cut; `Ok(None)` if no sum has a selection that matters, an error if there is one that no cut decides.
pub(super) fn next(levels: &[Level], store: &Store, facts: &Facts) -> Result<Option<Cut>, ()> {
    let mut found = Vec::new();
    comparisons(&store.value, &mut Vec::new(), &mut found);
    // Neighbouring elements of a loop are stored together if they are of one piece.
    let inner = levels.last().map(|level| level.var);
    store.index.visit(&mut |index| {
        let Index::Select(condition, ..) = index else { return };
        if inner.is_some_and(|var| condition.mentions(var)) {
            each_comparison(condition, &mut |one| found.push((one.clone(), Vec::new())));
        }
    });
    let mut best: Option<(usize, Cut)> = None;
    let some = !found.is_empty();
    for (comparison, sums) in found {
        if let Some((cost, cut)) = cut_at(&comparison, &sums, levels, facts)
            && best.as_ref().is_none_or(|(known, _)| cost < *known)
        {
            best = Some((cost, cut));
        }
    }
    match best {
        Some((_, cut)) => Ok(Some(cut)),
        None if some => Err(()),
        None => Ok(None),
    }
}

/// The cut that decides a comparison, and a rank among cuts.
fn cut_at(
    comparison: &Condition,
    sums: &[Sum],
    levels: &[Level],
    facts: &Facts,
) -> Option<(usize, Cut)> {
    let Condition::Compare(op, ..) = comparison else { return None };
    let point = usize::from(matches!(op, Compare::Eq | Compare::Ne));
    if let Some(sum) = sums.iter().rev().find(|sum| comparison.mentions(sum.var)) {
        let equal = match comparison {
            Condition::Compare(Compare::Ne, left, right) => {
                &Condition::Compare(Compare::Eq, left.clone(), right.clone())
            }
            other => other,
        };
        let (lower, upper) = bounds_of(equal, sum.var)?;
        if sum.step != 1 || sum.condition.is_some() {
            return None;
        }
        let at: Vec<Index> = lower.into_iter().chain(upper).collect();
        let beyond = at.first().filter(|_| point == 0).and_then(|at| {
            let below = sum.upper.iter().map(|high| high.clone().at_most(at.clone()));
            let above = sum.lower.iter().map(|low| at.clone().at_most(low.clone()));
            below.chain(above).find_map(|condition| worth(condition, levels, facts))
        });
        return Some(match beyond {
            Some(cut) => (4, cut),
            None => (5, Cut::Sums(sum.var, at)),
        });
    }
    match levels.iter().rposition(|level| comparison.mentions(level.var)) {
        Some(at) => {
            parts(comparison)
                .iter()
                .try_for_each(|part| bounds_of(part, levels[at].var).map(|_| ()))?;
            Some((2 + point, Cut::Level(at, comparison.clone())))
        }
        None => Some((point, Cut::Outside(outside(comparison, facts)))),
    }
}

/// The comparison that decides about one outside of the nest: one that something is larger, of which the negation is
/// known as well, in place of one that it is equal.
fn outside(comparison: &Condition, facts: &Facts) -> Condition {
    let Condition::Compare(Compare::Eq | Compare::Ne, left, right) = comparison else {
        return comparison.clone();
    };
    let compare = |how: Compare| Condition::Compare(how, left.clone(), right.clone());
    match facts.imply(&compare(Compare::Le)) {
        true => compare(Compare::Ge),
        false => compare(Compare::Gt),
    }
}

/// The cut of a loop into iterations whose sums lie on one side of a threshold and others, if the former are many.
fn worth(condition: Condition, levels: &[Level], facts: &Facts) -> Option<Cut> {
    let at = levels.iter().rposition(|level| condition.mentions(level.var))?;
    let known = |condition: &Condition| facts.imply(condition);
    if known(&condition) || known(&condition.clone().negate()) {
        return None;
    }
    let outside = condition.free_vars();
    if outside.iter().any(|var| levels.iter().all(|level| level.var != *var)) {
        return None;
    }
    parts(&condition).iter().try_for_each(|part| bounds_of(part, levels[at].var).map(|_| ()))?;
    let (lower, upper) = bounds_of(&condition, levels[at].var)?;
    let mut one_sided = levels[at].clone();
    one_sided.lower.extend(lower);
    one_sided.upper.extend(upper);
    (!has_few(&one_sided, facts)).then_some(Cut::Level(at, condition))
}

/// The cases of a comparison, exactly one of which holds: it and its negation, or less, equal and greater.
pub(super) fn parts(comparison: &Condition) -> Vec<Condition> {
    match comparison {
        Condition::Compare(Compare::Eq | Compare::Ne, left, right) => {
            [Compare::Lt, Compare::Eq, Compare::Gt]
                .map(|op| Condition::Compare(op, left.clone(), right.clone()))
                .to_vec()
        }
        condition => vec![condition.clone(), condition.clone().negate()],
    }
}

/// A sum in parts that begin at these values. Parts may be empty.
pub(super) fn in_parts(sum: Sum, at: &[Index]) -> Value {
    let mut parts = Vec::new();
    let mut lower = sum.lower.clone();
    for at in at {
        let mut upper = sum.upper.clone();
        upper.push(at.clone());
        parts.push(Value::Sum(Box::new(Sum { lower, upper, ..sum.clone() })));
        lower = sum.lower.clone();
        lower.push(at.clone());
    }
    let rest = Value::Sum(Box::new(Sum { lower, ..sum }));
    parts.into_iter().rev().fold(rest, |rest, part| part + rest)
}
