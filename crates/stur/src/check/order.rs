//! The dependency order of rules, in which each reads only tensors that are computed before it. Preprocess rules come
//! first; otherwise the order of the source is kept if possible. Recursive rules are errors.

use std::collections::{BTreeMap, BTreeSet};

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::program::{Program, Rule, TensorId};

impl Checker<'_> {
    /// The rules in an order in which each reads only what is before it.
    pub(super) fn ordered(&mut self, program: &Program, rules: Vec<Rule>) -> Vec<Rule> {
        let by_head: BTreeMap<TensorId, usize> =
            rules.iter().enumerate().map(|(index, rule)| (rule.head, index)).collect();
        let reads: Vec<BTreeSet<usize>> = rules
            .iter()
            .map(|rule| {
                let accesses = rule.products.iter().flat_map(|product| &product.accesses);
                accesses.filter_map(|access| by_head.get(&access.tensor).copied()).collect()
            })
            .collect();
        self.block_order(program, &rules, &by_head);

        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); rules.len()];
        for (rule, read) in reads.iter().enumerate() {
            read.iter().for_each(|other| readers[*other].push(rule));
        }
        let mut missing: Vec<usize> = reads.iter().map(BTreeSet::len).collect();
        let mut waiting: BTreeSet<usize> = (0..rules.len()).collect();
        let priority = |rule: usize| (!rules[rule].preprocess, rule);
        let ready = (0..rules.len()).filter(|rule| missing[*rule] == 0);
        let mut ready: BTreeSet<(bool, usize)> = ready.map(priority).collect();
        let mut order = Vec::new();
        while !waiting.is_empty() {
            let next = match ready.pop_first() {
                Some((_, rule)) => vec![rule],
                None => {
                    let cycle = cycle(&waiting, &reads);
                    self.recursive(program, &rules, &cycle);
                    // Go on as if it had been computed, to find the other cycles.
                    cycle
                }
            };
            for &rule in &next {
                waiting.remove(&rule);
            }
            for &rule in &next {
                for &reader in &readers[rule] {
                    missing[reader] -= 1;
                    if missing[reader] == 0 && waiting.contains(&reader) {
                        ready.insert(priority(reader));
                    }
                }
            }
            order.extend(next);
        }
        let mut slots: Vec<Option<Rule>> = rules.into_iter().map(Some).collect();
        order.into_iter().filter_map(|index| slots[index].take()).collect()
    }

    fn recursive(&mut self, program: &Program, rules: &[Rule], cycle: &[usize]) {
        let name = |rule: usize| format!("`{}`", program.tensor(rules[rule].head).name);
        let mut path: Vec<String> = cycle.iter().map(|rule| name(*rule)).collect();
        path.push(name(cycle[0]));
        let message = format!("recursive rules: {}", path.join(" reads "));
        let mut error: Option<Diagnostic> = None;
        for (k, &rule) in cycle.iter().enumerate() {
            let next = cycle[(k + 1) % cycle.len()];
            let span = rules[rule]
                .products
                .iter()
                .flat_map(|product| &product.accesses)
                .find(|access| access.tensor == rules[next].head)
                .map_or(rules[rule].span, |access| access.span);
            let label = format!("{} is read here for {}", name(next), name(rule));
            error = Some(match error {
                None => Diagnostic::error("E0115", message.clone(), span, label),
                Some(error) => error.label(span, label),
            });
        }
        if let Some(error) = error {
            self.report(error.hint("a rule may read only tensors that do not depend on its own"));
        }
    }

    /// A block runs before the rest: it cannot read what the rest computes.
    fn block_order(
        &mut self,
        program: &Program,
        rules: &[Rule],
        by_head: &BTreeMap<TensorId, usize>,
    ) {
        for rule in rules.iter().filter(|rule| rule.preprocess) {
            for access in rule.products.iter().flat_map(|product| &product.accesses) {
                let Some(other) = by_head.get(&access.tensor).map(|index| &rules[*index]) else {
                    continue;
                };
                if !other.preprocess {
                    let name = &program.tensor(access.tensor).name;
                    let message = format!(
                        "a preprocess rule reads `{name}`, which is computed after the block"
                    );
                    self.report(
                        Diagnostic::error("E0116", message, access.span, "read here")
                            .label(other.span, "computed here")
                            .hint("move that rule into the block"),
                    );
                    break;
                }
            }
        }
    }
}

/// A cycle among rules that all wait for another: `cycle[k]` reads `cycle[k + 1]`.
fn cycle(waiting: &BTreeSet<usize>, reads: &[BTreeSet<usize>]) -> Vec<usize> {
    let mut path: Vec<usize> = Vec::new();
    let Some(mut at) = waiting.first().copied() else { return path };
    loop {
        if let Some(start) = path.iter().position(|rule| *rule == at) {
            return path.split_off(start);
        }
        path.push(at);
        match reads[at].intersection(waiting).next() {
            Some(next) => at = *next,
            None => return path, // not reached: every waiting rule reads a waiting one
        }
    }
}
