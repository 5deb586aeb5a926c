//! Products of differences, which lose digits where they are multiplied out: large products that nearly cancel leave
//! little of `w(n) * (x(n) - m) * (x(n) - m)`.
//!
//! Before -> after: `sum(n) w(n) * (x(n) - m) * (y(n) - k)` ->
//! `sum(n) w(n) * where(1, x(n) - m, 0) * where(1, y(n) - k, 0)`.

use std::collections::BTreeSet;

use super::statistics::whole;
use super::sums::{differs, free};
use crate::ast::{Aspect, File, Item, ReduceOp, Term};

/// Keeps differences of elements and what is the same for many, such as a mean, as values, if there are several
/// differences in a product. Not those of sparse tensors, which have products of few elements where they are multiplied
/// out.
pub(super) fn keep(file: &mut File) {
    let formats = file.items.iter().filter_map(|item| match item {
        Item::Format(item) => Some(item.tensor.text.clone()),
        _ => None,
    });
    let sparse: BTreeSet<String> = formats.collect();
    for item in &mut file.items {
        let Item::Rule(rule) = item else { continue };
        if rule.aspect != Aspect::Value {
            continue;
        }
        within(&mut rule.body, &sparse);
        if rule.reduction.as_ref().is_some_and(|one| one.operator != ReduceOp::Sum) {
            continue;
        }
        let head: BTreeSet<&str> = rule.iterators.iter().map(|name| name.text.as_str()).collect();
        // Where that says the same: all products have all iterators but those of the head.
        let mut is_same = |product: &Term| {
            let names = free(product);
            let mut summed = names.iter().filter(|name| !head.contains(name.as_str())).peekable();
            summed.peek().is_some() && summed.all(|name| !differs(product, name))
        };
        summands(&mut rule.body, &mut is_same, &sparse);
    }
}

/// The same in the sums within a term.
fn within(term: &mut Term, sparse: &BTreeSet<String>) {
    term.parts_mut().iter_mut().for_each(|part| within(part, sparse));
    if let Term::Reduced { reduction, body, .. } = term
        && reduction.operator == ReduceOp::Sum
    {
        summands(body, &mut |_| true, sparse);
    }
}

/// The same in the products that are added up, of which a test holds.
fn summands(term: &mut Term, test: &mut dyn FnMut(&Term) -> bool, sparse: &BTreeSet<String>) {
    match term {
        Term::Sum(parts, _) => parts.iter_mut().for_each(|part| summands(part, test, sparse)),
        Term::Product(..) if test(term) => product(term, sparse),
        _ => {}
    }
}

fn product(term: &mut Term, sparse: &BTreeSet<String>) {
    let Term::Product(factors, _) = term else { return };
    let kept =
        |factor: &Term| is_difference(factor) && is_centred(factor) && !reads(factor, sparse);
    if factors.iter().filter(|factor| is_difference(factor)).count() < 2 {
        return;
    }
    for factor in factors.iter_mut().filter(|factor| kept(factor)) {
        let span = factor.span();
        let value = std::mem::replace(factor, Term::one(span));
        *factor = whole(value, span);
    }
}

/// Whether a term reads one of some tensors.
fn reads(term: &Term, tensors: &BTreeSet<String>) -> bool {
    matches!(term, Term::Access { tensor, .. } if tensors.contains(&tensor.text))
        || term.parts().iter().any(|part| reads(part, tensors))
}

/// Whether a term is a sum of elements in which something is subtracted.
fn is_difference(term: &Term) -> bool {
    let Term::Sum(parts, _) = term else { return false };
    let is_negative = |part: &Term| match part {
        Term::Number { value, .. } => *value < 0.0,
        Term::Product(factors, _) => {
            matches!(factors.first(), Some(Term::Number { value, .. }) if *value < 0.0)
        }
        _ => false,
    };
    let negative = parts.iter().filter(|part| is_negative(part)).count();
    (1..parts.len()).contains(&negative) && !free(term).is_empty()
}

/// Whether the summands of a sum have different iterators, but for numbers.
fn is_centred(sum: &Term) -> bool {
    let Term::Sum(parts, _) = sum else { return false };
    let mut names = parts.iter().filter(|part| !matches!(part, Term::Number { .. })).map(free);
    let first = names.next();
    names.any(|other| Some(&other) != first.as_ref())
}
