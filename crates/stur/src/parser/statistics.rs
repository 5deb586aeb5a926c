//! Reductions that are made of others: `mean(j) A(i, j)` is `(sum(j) A(i, j)) / (sum(j) where(A(i, j), 1, 1))`, a sum
//! divided by how many elements there are.
//!
//! Conditions among the factors say which elements take part: `mean(j) A(i, j) * (j <= i)` is the mean of the first
//! elements of a row.

use dastac_elements::Function;

use super::node::Quantifier;
use super::values::{all_hold, call, divide, negated, number};
use super::{Result, error, with_hint};
use crate::ast::{CompareOp, Operation, ReduceOp, Reduction, Span, Term};

/// The reduction of this name that is made of others, with the operator that it is written with.
pub(super) fn statistic(word: &str) -> Option<(ReduceOp, Quantifier)> {
    Some(match word {
        "any" => (ReduceOp::Or, Quantifier::Some),
        "all" | "and" => (ReduceOp::Or, Quantifier::All),
        "count" => (ReduceOp::Sum, Quantifier::Count),
        "mean" => (ReduceOp::Sum, Quantifier::Mean),
        "var" => (ReduceOp::Sum, Quantifier::Variance),
        "std" => (ReduceOp::Sum, Quantifier::Deviation),
        "norm" => (ReduceOp::Sum, Quantifier::Norm),
        "argmax" => (ReduceOp::Max, Quantifier::Place),
        "argmin" => (ReduceOp::Min, Quantifier::Place),
        _ => return None,
    })
}

/// Whether a word is such a name.
pub(crate) fn is_statistic(word: &str) -> bool {
    statistic(word).is_some()
}

/// The reduction of a term as a term of plain reductions.
pub(super) fn reduced(
    reduction: Reduction,
    quantifier: Quantifier,
    body: Term,
    span: Span,
) -> Result<Term> {
    let parts = Parts { reduction, span };
    Ok(match quantifier {
        Quantifier::Some => parts.over(body),
        Quantifier::All => {
            let factors = match body {
                Term::Product(factors, _) => factors,
                other => vec![other],
            };
            all_hold(parts.reduction, apart(factors), span)
        }
        Quantifier::Count => {
            let (value, conditions) = split(body, span);
            parts.sum(is_not_zero(value, span), &conditions)
        }
        Quantifier::Mean => {
            let (value, conditions) = split(body, span);
            parts.mean(value, &conditions)
        }
        Quantifier::Variance => parts.variance(body),
        Quantifier::Deviation => function(Function::Sqrt, vec![parts.variance(body)], span),
        Quantifier::Norm => {
            let (value, conditions) = split(body, span);
            let sum = parts.sum(squared(value, span), &conditions);
            function(Function::Sqrt, vec![sum], span)
        }
        Quantifier::Place => {
            let [iterator] = &parts.reduction.iterators[..] else {
                let error = error("E0003", "a place in several dimensions", span, "one iterator");
                return Err(with_hint(error, "a place is one number: `argmax(j) A(i, j)`"));
            };
            let index = Term::Index(iterator.clone());
            parts.place(body, index)
        }
    })
}

/// A reduction, and where it is written.
struct Parts {
    reduction: Reduction,
    span: Span,
}

impl Parts {
    /// What is reduced by this reduction.
    fn over(&self, body: Term) -> Term {
        let reduction = self.reduction.clone();
        Term::Reduced { reduction, body: Box::new(body), span: self.span }
    }

    /// The sum of a value where conditions hold. What values are compared with decides whether an element takes part,
    /// which may be infinite or not a number where it does not; equal labels stay factors, by which loops visit each
    /// element once, unless a quotient in the value may be none.
    fn sum(&self, value: Term, conditions: &[Term]) -> Term {
        let divides = has_calls(&value, &|operation| operation == Operation::Divide);
        let is_choice = |condition: &&Term| match condition {
            Term::Call { operation: Operation::Compare(how), arguments, .. } => {
                let is_label = |side: &Term| matches!(side, Term::Index(_));
                *how != CompareOp::Eq || divides || !arguments.iter().any(is_label)
            }
            other => !other.is_condition(),
        };
        let (choices, others): (Vec<&Term>, Vec<&Term>) = conditions.iter().partition(is_choice);
        let value = match choices.is_empty() {
            true => value,
            false => {
                let test = product(choices.into_iter().cloned().collect(), self.span);
                let zero = number(0.0, self.span);
                call(Operation::Where, vec![test, value, zero], self.span)
            }
        };
        let mut factors = vec![value];
        factors.extend(others.into_iter().cloned());
        self.over(product(factors, self.span))
    }

    /// The sum of a value where conditions hold, divided by how often they do.
    fn mean(&self, value: Term, conditions: &[Term]) -> Term {
        self.mean_over(value.clone(), value, conditions)
    }

    /// The mean of a value, over the elements that another one is made of.
    fn mean_over(&self, value: Term, elements: Term, conditions: &[Term]) -> Term {
        let one = || number(1.0, self.span);
        let counted = call(Operation::Where, vec![elements, one(), one()], self.span);
        let (sum, count) = (self.sum(value, conditions), self.sum(counted, conditions));
        let mut factors = vec![sum];
        divide(&mut factors, count, self.span);
        Term::Product(factors, self.span)
    }

    /// The mean of squared differences from the mean.
    fn variance(&self, body: Term) -> Term {
        let (value, conditions) = split(body, self.span);
        let mean = negated(self.mean(value.clone(), &conditions), self.span);
        let difference = Term::Sum(vec![value.clone(), mean], self.span);
        self.mean_over(squared(difference, self.span), value, &conditions)
    }

    /// The first place of the extreme value: the least iterator at which the value equals it.
    fn place(&self, body: Term, index: Term) -> Term {
        let span = self.span;
        let least = self.reduction.operator == ReduceOp::Min;
        let infinite = number(f64::INFINITY, span);
        let nothing = if least { infinite.clone() } else { negative(infinite.clone(), span) };
        let (value, conditions) = split(body, span);
        // Both loops have to see the same values: functions of vectors may differ from others in the last digit.
        let value = match has_calls(&value, &is_library) {
            true => {
                let reduction = Reduction {
                    operator: ReduceOp::Sum,
                    iterators: Vec::new(),
                    ..self.reduction.clone()
                };
                Term::Reduced { reduction, body: Box::new(value), span }
            }
            false => value,
        };
        // Comparisons of iterators bound them, as factors.
        let (bounds, mut tests): (Vec<Term>, Vec<Term>) =
            conditions.into_iter().partition(Term::is_condition);
        let bounded = |value: Term| {
            product(bounds.iter().cloned().chain(std::iter::once(value)).collect(), span)
        };
        let among = match tests.is_empty() {
            true => value.clone(),
            false => {
                let test = product(tests.clone(), span);
                call(Operation::Where, vec![test, value.clone(), nothing], span)
            }
        };
        let equals = Operation::Compare(CompareOp::Eq);
        tests.push(call(equals, vec![value, self.over(bounded(among))], span));
        let place = vec![product(tests, span), index, infinite];
        let reduction = Reduction { operator: ReduceOp::Min, ..self.reduction.clone() };
        let body = Box::new(bounded(call(Operation::Where, place, span)));
        Term::Reduced { reduction, body, span }
    }
}

/// Whether a term has functions or operators of some kind.
fn has_calls(term: &Term, kind: &dyn Fn(Operation) -> bool) -> bool {
    let own = matches!(term, Term::Call { operation, .. } if kind(*operation));
    own || term.parts().iter().any(|part| has_calls(part, kind))
}

/// Whether a function is no instruction.
fn is_library(operation: Operation) -> bool {
    matches!(operation, Operation::Function(function) if !function.is_instruction())
}

/// The value of a product, and the conditions among its factors.
fn split(body: Term, span: Span) -> (Term, Vec<Term>) {
    let factors = match body {
        Term::Product(factors, _) => factors,
        other => return (whole(other, span), Vec::new()),
    };
    let (conditions, values) = apart(factors);
    match values.is_empty() {
        true => (product(conditions, span), Vec::new()),
        false => (whole(product(values, span), span), conditions),
    }
}

/// The conditions among factors, and the others. Comparisons of values, and what `and` and `or` join them to, are
/// conditions of what is none; where there is nothing else, those of iterators are, and labels: `(c(i) = k)`.
pub(crate) fn apart(factors: Vec<Term>) -> (Vec<Term>, Vec<Term>) {
    let mut single = Vec::new();
    for factor in factors {
        match factor {
            Term::Product(parts, _) if parts.iter().all(is_test) => single.extend(parts),
            other => single.push(other),
        }
    }
    if !single.iter().all(is_test) {
        return single.into_iter().partition(is_test);
    }
    let is_filter = |factor: &Term| factor.is_condition() || is_label(factor);
    match single.iter().all(is_filter) {
        true => single.into_iter().partition(Term::is_condition),
        false => single.into_iter().partition(is_filter),
    }
}

/// Whether a term asks whether an element is an iterator.
fn is_label(term: &Term) -> bool {
    let Term::Call { operation: Operation::Compare(CompareOp::Eq), arguments, .. } = term else {
        return false;
    };
    let indices = arguments.iter().filter(|side| matches!(side, Term::Index(_))).count();
    indices == 1
}

/// Whether a term is a comparison, or comparisons that `and` and `or` join.
fn is_test(term: &Term) -> bool {
    match term {
        Term::Call { operation: Operation::Compare(_), .. } => true,
        Term::Call { operation: Operation::Max, arguments, .. } => arguments.iter().all(is_test),
        Term::Product(factors, _) => factors.iter().all(is_test),
        other => other.is_condition(),
    }
}

/// The body of a minimum, maximum or product, over the points at which all comparisons hold that it is multiplied with,
/// also those of values: `max(i) x(i) * (c(i) = k)` -> `max(i) where(c(i) = k, x(i), -inf)`.
pub(super) fn restricted(reduction: &Reduction, body: Term) -> Term {
    let span = body.span();
    let nothing = match reduction.operator {
        ReduceOp::Min => number(f64::INFINITY, span),
        ReduceOp::Max => negative(number(f64::INFINITY, span), span),
        ReduceOp::Prod => number(1.0, span),
        _ => return body,
    };
    // Comparisons of iterators alone restrict points.
    let is_of_values = |factor: &Term| is_test(factor) && has_calls(factor, &|_| true);
    let factors = match body {
        Term::Product(factors, _) if factors.iter().any(is_of_values) => factors,
        other => return other,
    };
    let (conditions, values) = apart(factors);
    let (mut own, tests): (Vec<Term>, Vec<Term>) =
        conditions.into_iter().partition(Term::is_condition);
    if values.is_empty() || tests.is_empty() {
        own.extend(tests);
        own.extend(values);
        return product(own, span);
    }
    let choice = vec![product(tests, span), product(values, span), nothing];
    own.push(call(Operation::Where, choice, span));
    product(own, span)
}

/// A value that is not multiplied out: summands without an iterator would be added once only.
pub(super) fn whole(value: Term, span: Span) -> Term {
    fn sums(term: &Term) -> bool {
        match term {
            Term::Sum(..) => true,
            Term::Product(factors, _) => factors.iter().any(sums),
            _ => false,
        }
    }
    match sums(&value) {
        true => call(Operation::Where, vec![number(1.0, span), value, number(0.0, span)], span),
        false => value,
    }
}

pub(crate) fn product(mut factors: Vec<Term>, span: Span) -> Term {
    match factors.len() {
        1 => factors.remove(0),
        _ => Term::Product(factors, span),
    }
}

fn function(function: Function, arguments: Vec<Term>, span: Span) -> Term {
    call(Operation::Function(function), arguments, span)
}

/// The square of a value's magnitude, which is complex where its tensors are; [`crate::check`] knows whether they are.
fn squared(value: Term, span: Span) -> Term {
    let magnitude = function(Function::Abs, vec![value], span);
    function(Function::Pow, vec![magnitude, number(2.0, span)], span)
}

/// As `-inf` is read.
fn negative(value: Term, span: Span) -> Term {
    Term::Product(vec![number(-1.0, span), value], span)
}

/// 1 where a value is not 0; comparisons are that already.
pub(crate) fn is_not_zero(value: Term, span: Span) -> Term {
    match value {
        Term::Comparison(_) | Term::Call { operation: Operation::Compare(_), .. } => value,
        other => {
            let zero = number(0.0, span);
            call(Operation::Compare(CompareOp::Ne), vec![other, zero], span)
        }
    }
}
