//! What comparisons stand beside in minima, maxima and products as one value, so that they restrict points:
//! `max(i) 2 * x(i) * (i < k)` -> `max(i) (2 * x(i)) * (i < k)`. What `or(..)` cannot take apart is whether a value is
//! not 0: `any(i) a(i) - b(i)` -> `any(i) (a(i) - b(i) != 0)`.

use crate::ast::{ReduceOp, Reduction, RuleItem, Term};
use crate::parser::statistics::{apart, is_not_zero, product};

/// A rule with such reductions, its own and those within it.
pub(super) fn rule(rule: &mut RuleItem) {
    within(&mut rule.body);
    if let Some(reduction) = &rule.reduction {
        reduced(reduction, &mut rule.body);
    }
}

fn reduced(reduction: &Reduction, body: &mut Term) {
    match reduction.operator {
        ReduceOp::Min | ReduceOp::Max | ReduceOp::Prod => group(body),
        ReduceOp::Or if !is_product_of_elements(body) => {
            let span = body.span();
            let (mut factors, values) = apart(match &mut *body {
                Term::Product(factors, _) => std::mem::take(factors),
                other => vec![other.clone()],
            });
            factors.push(is_not_zero(product(values, span), span));
            *body = product(factors, span);
        }
        _ => {}
    }
}

/// Whether a term is a product that `or(..)` takes as it is: without sums and reciprocals.
fn is_product_of_elements(term: &Term) -> bool {
    match term {
        Term::Sum(..)
        | Term::Access { reciprocal: true, .. }
        | Term::Number { reciprocal: true, .. } => false,
        Term::Product(factors, _) => factors.iter().all(is_product_of_elements),
        _ => true,
    }
}

fn within(term: &mut Term) {
    term.parts_mut().iter_mut().for_each(within);
    if let Term::Reduced { reduction, body, .. } = term {
        reduced(reduction, body);
    }
}

fn group(body: &mut Term) {
    let Term::Product(factors, span) = body else { return };
    let mut all = Vec::new();
    flatten(factors, &mut all);
    let (mut conditions, values): (Vec<Term>, Vec<Term>) =
        all.into_iter().partition(Term::is_condition);
    if !conditions.is_empty() && !values.is_empty() {
        conditions.push(product(values, *span));
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
