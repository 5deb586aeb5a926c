//! What bounds the iterators of parts of rules.

use std::collections::{BTreeMap, BTreeSet};

use super::super::structures::rename_term;
use super::names::{bound_in, visit_terms};
use crate::affine::names;
use crate::ast::{
    Aspect, CompareOp, Expr, ExprKind, File, Item, Name, PLACE, ReduceOp, RuleItem, Term,
};
use crate::parser::sums::free;

/// The `:D` of a tensor.
pub(super) fn domain_of<'f>(file: &'f File, tensor: &str) -> Option<&'f RuleItem> {
    file.items.iter().find_map(|item| match item {
        Item::Rule(rule) if rule.aspect == Aspect::Domain && rule.tensor.text == tensor => {
            Some(rule)
        }
        _ => None,
    })
}

/// The `:D` of a part of a rule, from that of the head: without it, an iterator of the head that is no subscript in the
/// part would have no bounds there, and a product over nothing, which is 1, would be none.
///
/// Before -> after, of `y(k) := 1 + sum(n) cos(k * n) * x(n)` with `y:D(k) := (0 <= k < N)`: nothing -> `y.1:D(k) :=
/// (0 <= k < N)`.
pub(super) fn part_of_domain(
    rule: &RuleItem,
    domain: &RuleItem,
    part: &RuleItem,
) -> Option<RuleItem> {
    let mut bound = BTreeSet::new();
    bound_in(&part.body, &mut bound);
    let multiplies = part.reduction.as_ref().is_some_and(|one| one.operator == ReduceOp::Prod);
    if part.iterators.is_empty()
        || !multiplies && part.iterators.iter().all(|name| bound.contains(&name.text))
    {
        return None;
    }
    let mut own = Vec::new();
    for name in &part.iterators {
        let at = rule.iterators.iter().position(|other| other.text == name.text)?;
        own.push(domain.iterators.get(at)?.clone());
    }
    let factors = match &domain.body {
        Term::Product(factors, _) => factors.clone(),
        other => vec![other.clone()],
    };
    let others = |name: &str| {
        domain.iterators.iter().any(|one| one.text == name)
            && !own.iter().any(|one| one.text == name)
    };
    let mut kept = Vec::new();
    for factor in factors {
        let Term::Comparison(_) = &factor else { return None };
        let mut all = true;
        visit_terms(&factor, &mut |name, _| all &= !others(name));
        if all {
            kept.push(factor);
        }
    }
    let body = match kept.len() {
        0 => return None,
        1 => kept.remove(0),
        _ => Term::Product(kept, domain.span),
    };
    Some(RuleItem {
        tensor: part.tensor.clone(),
        aspect: Aspect::Domain,
        iterators: own,
        reduction: None,
        body,
        part_of: part.part_of.clone(),
        summed: Vec::new(),
        span: domain.span,
    })
}

/// Bounds the iterators of a part of a rule that are no subscripts in it: by what the `:D` of the head says of them
/// alone, else by the comparisons that the part is multiplied with, else by the dimension along which all of the rule
/// reads with this iterator.
///
/// Before -> after, with `m:D(k) := (0 <= k < K)`: `m.1(i, k) := sum(j) D(i, j) * (label(j) = k)` -> `m.1(i, k) :=
/// sum(j) D(i, j) * (label(j) = k) * (0 <= k < K)`.
pub(super) fn bound(
    (file, symbols): (&File, &BTreeSet<String>),
    rule: &RuleItem,
    part: &mut RuleItem,
    conditions: &[Term],
) {
    let mut kept: Vec<Term> = Vec::new();
    for name in &open(&part.body, &part.iterators) {
        let of_head = rule.iterators.iter().position(|one| one.text == *name);
        let of_head = of_head.zip(domain_of(file, &rule.tensor.text));
        let mut found = of_head.map_or(Vec::new(), |(at, domain)| alone(domain, at, name));
        if found.is_empty() {
            let is_own = |condition: &&Term| {
                let names = free(condition);
                let is_sent = rule
                    .iterators
                    .iter()
                    .any(|one| one.text.contains(PLACE) && names.contains(&one.text));
                !is_sent && names.contains(name) && is_about(condition, &part.iterators, symbols)
            };
            found = conditions.iter().filter(is_own).cloned().collect();
        }
        if found.is_empty() {
            found = sent(domain_of(file, &rule.tensor.text), rule, name, conditions);
        }
        if found.is_empty() {
            let mut read = Vec::new();
            dimensions_of(file, &rule.body, name, &mut read);
            if let Some((first, rest)) = read.split_first()
                && rest.iter().all(|other| printed(other) == printed(first))
            {
                found.clone_from(first);
            }
        }
        for condition in found {
            if !kept.contains(&condition) {
                kept.push(condition);
            }
        }
    }
    if kept.is_empty() {
        return;
    }
    let span = part.body.span();
    let body = std::mem::replace(&mut part.body, Term::Sum(Vec::new(), span));
    part.body = match body {
        Term::Product(mut factors, span) => {
            factors.extend(kept);
            Term::Product(factors, span)
        }
        other => {
            kept.insert(0, other);
            Term::Product(kept, span)
        }
    };
}

/// What the `:D` of a head says of an iterator in an expression of the head: `(0 <= i + 1 < N)` of `y(i + 1) := ..`,
/// which is `y(k) := .. * (i + 1 = k)`, where `y:D(k) := (0 <= k < N)`.
fn sent(domain: Option<&RuleItem>, rule: &RuleItem, name: &str, conditions: &[Term]) -> Vec<Term> {
    let Some(domain) = domain else { return Vec::new() };
    conditions
        .iter()
        .flat_map(|condition| {
            let Term::Comparison(comparison) = condition else { return Vec::new() };
            let [value, Expr { kind: ExprKind::Name(place), .. }] = &comparison.operands[..] else {
                return Vec::new();
            };
            let Some(at) = rule.iterators.iter().position(|one| one.text == *place) else {
                return Vec::new();
            };
            let only = names(value)
                .into_iter()
                .all(|own| own == name || !rule.iterators.iter().any(|one| one.text == own));
            if !only || !names(value).contains(name) {
                return Vec::new();
            }
            let mut found = alone(domain, at, place);
            for condition in &mut found {
                if let Term::Comparison(comparison) = condition {
                    comparison
                        .operands
                        .iter_mut()
                        .for_each(|operand| replace(operand, place, value));
                }
            }
            found
        })
        .collect()
}

/// Has an expression stand for a name.
pub(super) fn replace(expr: &mut Expr, name: &str, by: &Expr) {
    match &mut expr.kind {
        ExprKind::Name(own) if own == name => *expr = by.clone(),
        ExprKind::Int(_) | ExprKind::Name(_) => {}
        ExprKind::Neg(inner) => replace(inner, name, by),
        ExprKind::Binary(_, left, right) => {
            replace(left, name, by);
            replace(right, name, by);
        }
    }
}

/// The comparisons of a `:D` that are about one of its iterators alone, by another name.
pub(super) fn alone(domain: &RuleItem, at: usize, name: &str) -> Vec<Term> {
    let Some(own) = domain.iterators.get(at) else { return Vec::new() };
    let factors = match &domain.body {
        Term::Product(factors, _) => factors.as_slice(),
        other => std::slice::from_ref(other),
    };
    let is_alone = |factor: &&Term| {
        let names = free(factor);
        let others = domain.iterators.iter().filter(|one| one.text != own.text);
        matches!(factor, Term::Comparison(_))
            && names.contains(&own.text)
            && others.into_iter().all(|other| !names.contains(&other.text))
    };
    let mut found: Vec<Term> = factors.iter().filter(is_alone).cloned().collect();
    let names = BTreeMap::from([(own.text.as_str(), name)]);
    found.iter_mut().for_each(|factor| rename_term(factor, &names));
    found
}

/// What the `:D` of each tensor says of the dimension along which a term reads it with an iterator.
pub(super) fn dimensions_of(file: &File, term: &Term, name: &str, found: &mut Vec<Vec<Term>>) {
    if let Term::Access { tensor, subscripts, .. } = term
        && let Some(domain) = domain_of(file, &tensor.text)
    {
        for (at, subscript) in subscripts.iter().enumerate() {
            if matches!(&subscript.kind, ExprKind::Name(own) if own == name) {
                found.push(alone(domain, at, name));
            }
        }
    }
    term.parts().iter().for_each(|part| dimensions_of(file, part, name, found));
}

/// Terms as they are written, wherever that is.
fn printed(terms: &[Term]) -> Vec<String> {
    terms.iter().map(Term::to_string).collect()
}

/// Whether a comparison is about some iterators and symbols alone.
fn is_about(condition: &Term, iterators: &[Name], symbols: &BTreeSet<String>) -> bool {
    let known = |name: &String| iterators.iter().any(|own| own.text == *name);
    free(condition).iter().all(|name| known(name) || symbols.contains(name))
}

/// Whether comparisons of nothing else bound an iterator from both sides, and by a number that is not negative from
/// below: it is a subscript of a tensor then.
pub(super) fn is_closed(name: &str, conditions: &[Term], symbols: &BTreeSet<String>) -> bool {
    use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
    let (mut below, mut above) = (false, false);
    for condition in conditions {
        let Term::Comparison(comparison) = condition else { continue };
        if !free(condition).iter().all(|own| own == name || symbols.contains(own)) {
            continue;
        }
        for (pair, operator) in comparison.operands.windows(2).zip(&comparison.operators) {
            let (low, high, least) = match operator {
                Lt => (&pair[0], &pair[1], -1),
                Le => (&pair[0], &pair[1], 0),
                Gt => (&pair[1], &pair[0], -1),
                Ge => (&pair[1], &pair[0], 0),
                Eq | Ne => continue,
            };
            let is_name = |side: &Expr| matches!(&side.kind, ExprKind::Name(own) if own == name);
            below |= is_name(high) && matches!(low.kind, ExprKind::Int(number) if number >= least);
            above |= is_name(low) && !names(high).contains(name);
        }
    }
    below && above
}

/// The iterators that are no subscripts in a term.
pub(super) fn open(term: &Term, iterators: &[Name]) -> Vec<String> {
    let mut bound = BTreeSet::new();
    bound_in(term, &mut bound);
    let names = iterators.iter().map(|name| name.text.clone());
    names.filter(|name| !bound.contains(name)).collect()
}
