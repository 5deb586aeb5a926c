//! What a written `sum(j)` adds up: `sum(j) A(i, j) * x(j) + b(i)` adds `b(i)` once, and `sum(j) (x(j) - m)^2` or
//! `sum(j) (x(j) - m)` a difference for each `j`.
//!
//! Products of sums are multiplied out, and each product is summed over its own iterators. Where this would leave a
//! product without the iterator that is written, the sums in parentheses stay values: `sum(j) (x(j) - m) * (y(j) - n)`
//! has no summand `m * n` that is added once.

use std::collections::BTreeSet;

use super::node::{Node, NodeKind};
use super::statistics::{restricted, whole};
use crate::affine::names as names_of;
use crate::ast::{BinaryOp, Expr, ExprKind, ReduceOp, Reduction, Span, Term};

/// Whether a node is a sum that is not in parentheses.
pub(super) fn is_sum(node: &Node) -> bool {
    let adds = |(operator, _): &(BinaryOp, Node)| matches!(operator, BinaryOp::Add | BinaryOp::Sub);
    matches!(&node.kind, NodeKind::Chain(_, rest) if rest.first().is_some_and(adds))
}

/// What a reduction that is all of a right-hand side reduces; `open` if it is a sum that is not in parentheses.
pub(super) fn summed(reduction: &Reduction, body: Term, open: bool) -> Term {
    match (reduction.operator, body) {
        (ReduceOp::Sum, Term::Sum(parts, span)) if open => {
            Term::Sum(parts.into_iter().map(|part| added_for_each(reduction, part)).collect(), span)
        }
        (ReduceOp::Sum, body) => added_for_each(reduction, body),
        (_, body) => restricted(reduction, body),
    }
}

/// A sum within a right-hand side: summands without its iterators stand beside it, and those that have different free
/// names are sums of their own.
pub(super) fn within(reduction: Reduction, body: Term, open: bool, span: Span) -> Term {
    let over =
        |body: Term| Term::Reduced { reduction: reduction.clone(), body: Box::new(body), span };
    let parts = match body {
        Term::Sum(parts, _) if open && reduction.operator == ReduceOp::Sum => parts,
        body => return over(summed(&reduction, body, open)),
    };
    let mut groups: Vec<(BTreeSet<String>, Vec<Term>)> = Vec::new();
    let mut beside = Vec::new();
    for part in parts {
        let mut names = free(&part);
        let is_own = reduction.iterators.iter().any(|one| names.contains(&one.text));
        if !is_own {
            beside.push(part);
            continue;
        }
        names.retain(|name| reduction.iterators.iter().all(|one| one.text != *name));
        let part = added_for_each(&reduction, part);
        match groups.iter_mut().find(|(known, _)| *known == names) {
            Some((_, own)) => own.push(part),
            None => groups.push((names, vec![part])),
        }
    }
    if groups.is_empty() {
        // The checker says that the iterators are nowhere.
        return over(Term::Sum(beside, span));
    }
    let mut terms: Vec<Term> = Vec::new();
    for (_, mut own) in groups {
        let body = if own.len() == 1 { own.remove(0) } else { Term::Sum(own, span) };
        terms.push(over(body));
    }
    terms.extend(beside);
    if terms.len() == 1 { terms.remove(0) } else { Term::Sum(terms, span) }
}

/// The iterators over which a product is added up by itself, where multiplying it out leaves products without them that
/// are added once: those that two factors or more have.
pub(crate) fn added_once(product: &Term, is_outer: &dyn Fn(&str) -> bool) -> Option<String> {
    let Term::Product(factors, _) = product else { return None };
    let of = |name: &String| factors.iter().filter(|factor| free(factor).contains(name)).count();
    let in_sum = |name: &String| {
        factors.iter().any(|factor| matches!(factor, Term::Sum(..)) && free(factor).contains(name))
    };
    // All products are of the points at which a comparison that is a factor holds.
    let compared = |name: &String| {
        factors.iter().any(|one| matches!(one, Term::Comparison(_)) && free(one).contains(name))
    };
    let mut names = free(product).into_iter().filter(|name| !is_outer(name));
    names.find(|name| of(name) >= 2 && in_sum(name) && !compared(name) && !is_in_all(product, name))
}

/// The iterators that go over a dimension in some products of a term only, multiplied out, and beyond it in others.
pub(crate) fn shifted(product: &Term, is_outer: &dyn Fn(&str) -> bool) -> Option<String> {
    let Term::Product(..) = product else { return None };
    let mut names = free(product).into_iter().filter(|name| !is_outer(name));
    names.find(|name| is_in_all(product, name) && ranges(product, name).is_none())
}

/// A summand whose value is added up for each value of the iterators.
fn added_for_each(reduction: &Reduction, mut summand: Term) -> Term {
    let names = free(&summand);
    for iterator in &reduction.iterators {
        if names.contains(&iterator.text) && differs(&summand, &iterator.text) {
            hold(&mut summand, &iterator.text);
        }
    }
    summand
}

/// Keeps the sums that have an iterator in some summands only from being multiplied out.
fn hold(term: &mut Term, name: &str) {
    if let Term::Product(factors, _) = term {
        factors.iter_mut().for_each(|factor| hold(factor, name));
    } else if matches!(term, Term::Sum(..)) && free(term).contains(name) && differs(term, name) {
        let span = term.span();
        let value = std::mem::replace(term, Term::one(span));
        *term = whole(value, span);
    }
}

/// Whether the products of a term, multiplied out, go over different values of an iterator: some only have it, or some
/// only have it as a subscript by itself, which ranges over a dimension: `x(i) + x(i + 1)`.
pub(super) fn differs(term: &Term, name: &str) -> bool {
    !is_in_all(term, name) || ranges(term, name).is_none()
}

/// Whether all products of a term, multiplied out, have an iterator as a subscript by itself; if only some do, nothing.
fn ranges(term: &Term, name: &str) -> Option<bool> {
    let is_name = |one: &Expr| matches!(&one.kind, ExprKind::Name(own) if own == name);
    match term {
        Term::Sum(parts, _) => {
            let mut all = parts.iter().map(|part| ranges(part, name));
            let first = all.next()??;
            all.all(|other| other == Some(first)).then_some(first)
        }
        Term::Product(factors, _) => {
            let all: Vec<Option<bool>> = factors.iter().map(|part| ranges(part, name)).collect();
            match all.contains(&Some(true)) {
                true => Some(true),
                false => (!all.contains(&None)).then_some(false),
            }
        }
        Term::Access { subscripts, .. } => Some(subscripts.iter().any(is_name)),
        Term::Reduced { reduction, .. }
            if reduction.iterators.iter().any(|one| one.text == name) =>
        {
            Some(false)
        }
        // As functions do: what they read bounds the iterators that are subscripts by themselves.
        other => Some(other.parts().iter().any(|part| ranges(part, name) != Some(false))),
    }
}

/// Whether all products of a term, multiplied out, have elements or values with an iterator.
fn is_in_all(term: &Term, name: &str) -> bool {
    match term {
        Term::Sum(parts, _) => parts.iter().all(|part| is_in_all(part, name)),
        Term::Product(factors, _) => factors.iter().any(|factor| is_in_all(factor, name)),
        // It bounds nothing.
        Term::Comparison(_) => false,
        other => free(other).contains(name),
    }
}

/// The names of iterators and symbols, but for those over which reductions inside go.
pub(crate) fn free(term: &Term) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    match term {
        Term::Access { subscripts, position, .. } => {
            names.extend(subscripts.iter().flat_map(names_of).map(str::to_owned));
            names.extend(position.iter().map(|name| name.text.clone()));
        }
        Term::Comparison(comparison) => {
            names.extend(comparison.operands.iter().flat_map(names_of).map(str::to_owned));
        }
        Term::Index(name) => {
            names.insert(name.text.clone());
        }
        Term::Reduced { reduction, body, .. } => {
            names = free(body);
            names.retain(|name| reduction.iterators.iter().all(|one| one.text != *name));
        }
        other => names.extend(other.parts().iter().flat_map(free)),
    }
    names
}
