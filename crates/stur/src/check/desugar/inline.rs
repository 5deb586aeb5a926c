//! Sums among the factors of products: `E(i, j) := M(i, j) * (sum(k) Q(i, k) * K(j, k))` becomes
//! `E(i, j) := M(i, j) * Q(i, k) * K(j, k)`.
//!
//! The sum's elements need no memory then, and only those are computed at which the other factors are not zero. It is
//! done where each is used once only: where the sum has all iterators of the head and of the product.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{Name, ReduceOp, RuleItem, Term};
use crate::check::structures::rename_term;
use crate::parser::sums::free;

/// Writes the sums among the factors of a rule's products in place, and so in sums within the rule, which become rules.
pub(super) fn sums(rule: &mut RuleItem, symbols: &BTreeSet<String>) {
    of_rule(rule, symbols);
    let mut names = all_names(&rule.body);
    names.extend(symbols.iter().cloned());
    names.extend(rule.iterators.iter().map(|name| name.text.clone()));
    inside(&mut rule.body, symbols, &mut names);
}

/// Does so in the sums within a term, the outer ones first.
fn inside(term: &mut Term, symbols: &BTreeSet<String>, names: &mut BTreeSet<String>) {
    let heads = free(term).into_iter().filter(|name| !symbols.contains(name)).collect();
    if let Term::Reduced { reduction, body, .. } = term
        && reduction.operator == ReduceOp::Sum
    {
        let own = std::mem::take(names);
        let mut inliner = Inliner { heads, symbols, names: own, over: Vec::new() };
        inliner.summand(body);
        let is_new = |name: &Name| reduction.iterators.iter().all(|one| one.text != name.text);
        let over: Vec<Name> = inliner.over.into_iter().filter(is_new).collect();
        reduction.iterators.extend(over);
        *names = inliner.names;
    }
    term.parts_mut().iter_mut().for_each(|part| inside(part, symbols, names));
}

fn of_rule(rule: &mut RuleItem, symbols: &BTreeSet<String>) {
    if rule.reduction.as_ref().is_some_and(|one| one.operator != ReduceOp::Sum) {
        return;
    }
    let mut names = all_names(&rule.body);
    names.extend(symbols.iter().cloned());
    names.extend(rule.iterators.iter().map(|name| name.text.clone()));
    let heads = rule.iterators.iter().map(|name| name.text.clone()).collect();
    let mut inliner = Inliner { heads, symbols, names, over: Vec::new() };
    inliner.summand(&mut rule.body);
    if let Some(reduction) = &mut rule.reduction {
        let is_new = |name: &Name| reduction.iterators.iter().all(|one| one.text != name.text);
        let over: Vec<Name> = inliner.over.iter().filter(|name| is_new(name)).cloned().collect();
        reduction.iterators.extend(over);
    }
    rule.summed = inliner.over;
}

struct Inliner<'s> {
    heads: BTreeSet<String>,
    symbols: &'s BTreeSet<String>,
    /// The names that the rule has, of whatever.
    names: BTreeSet<String>,
    /// The iterators of the sums that were written in place.
    over: Vec<Name>,
}

impl Inliner<'_> {
    fn summand(&mut self, term: &mut Term) {
        match term {
            Term::Sum(parts, _) => parts.iter_mut().for_each(|part| self.summand(part)),
            Term::Product(factors, _) => {
                for at in 0..factors.len() {
                    let others = factors.iter().enumerate().filter(|(other, _)| *other != at);
                    let mut around: BTreeSet<String> =
                        others.flat_map(|(_, other)| free(other)).collect();
                    around.extend(self.heads.iter().cloned());
                    self.factor(&mut factors[at], &around);
                }
            }
            Term::Reduced { .. } => {
                let around = self.heads.clone();
                self.factor(term, &around);
            }
            _ => {}
        }
    }

    /// Writes the sum that a factor is in place, if it has all names of iterators around it.
    fn factor(&mut self, factor: &mut Term, around: &BTreeSet<String>) {
        let own = free(factor);
        let Term::Reduced { reduction, body, span } = factor else { return };
        let is_own = |name: &String| own.contains(name) || self.symbols.contains(name);
        if reduction.operator != ReduceOp::Sum || !around.iter().all(is_own) {
            return;
        }
        for iterator in &mut reduction.iterators {
            // Iterators of this name outside of the sum are others.
            let old = iterator.text.clone();
            let taken = around.contains(&old) || self.symbols.contains(&old);
            if taken {
                let mut others = (2..).map(|number| format!("{old}{number}"));
                let new = others.find(|name| !self.names.contains(name)).unwrap_or_default();
                rename_term(body, &BTreeMap::from([(old.as_str(), new.as_str())]));
                self.names.insert(new.clone());
                iterator.text = new;
            }
            if self.over.iter().all(|known| known.text != iterator.text) {
                self.over.push(iterator.clone());
            }
        }
        let span = *span;
        *factor = std::mem::replace(&mut **body, Term::Sum(Vec::new(), span));
    }
}

/// All names of iterators and symbols, bound or not.
fn all_names(term: &Term) -> BTreeSet<String> {
    let mut names = free(term);
    if let Term::Reduced { reduction, .. } = term {
        names.extend(reduction.iterators.iter().map(|name| name.text.clone()));
    }
    names.extend(term.parts().iter().flat_map(all_names));
    names
}
