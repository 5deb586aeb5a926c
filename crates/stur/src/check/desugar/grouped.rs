//! What comparisons stand beside in minima, maxima and products as one value, so that they restrict points:
//! `max(i) 2 * x(i) * (i < k)` -> `max(i) (2 * x(i)) * (i < k)`.

use crate::ast::{ReduceOp, RuleItem, Term};

/// A rule with such reductions, its own and those within it.
pub(super) fn rule(rule: &mut RuleItem) {
    within(&mut rule.body);
    if let Some(reduction) = &rule.reduction
        && takes_values(reduction.operator)
    {
        group(&mut rule.body);
    }
}

fn takes_values(operator: ReduceOp) -> bool {
    matches!(operator, ReduceOp::Min | ReduceOp::Max | ReduceOp::Prod)
}

fn within(term: &mut Term) {
    term.parts_mut().iter_mut().for_each(within);
    if let Term::Reduced { reduction, body, .. } = term
        && takes_values(reduction.operator)
    {
        group(body);
    }
}

fn group(body: &mut Term) {
    let Term::Product(factors, span) = body else { return };
    let mut all = Vec::new();
    flatten(factors, &mut all);
    let (mut conditions, values): (Vec<Term>, Vec<Term>) =
        all.into_iter().partition(Term::is_condition);
    if !conditions.is_empty() && values.len() > 1 {
        conditions.push(Term::Product(values, *span));
        *factors = conditions;
    }
}

/// Factors, and those of factors that are products: `(2 * (i < k)) * x(i)`.
fn flatten(factors: &[Term], all: &mut Vec<Term>) {
    for factor in factors {
        match factor {
            Term::Product(inner, _) => flatten(inner, all),
            other => all.push(other.clone()),
        }
    }
}
