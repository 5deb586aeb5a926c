//! Ranks: all places that name a tensor agree on its number of subscripts.

use std::collections::BTreeMap;

use super::{Checker, aspect_key, collect_accesses};
use crate::ast::{Aspect, RuleItem, Span};
use crate::diagnostic::Diagnostic;

impl Checker<'_> {
    /// All places that give a tensor a rank must agree.
    pub(super) fn ranks(&mut self, rules: &[&RuleItem]) {
        let mut uses: BTreeMap<&str, Vec<(usize, Span, u8)>> = BTreeMap::new();
        for rule in rules {
            let name = rule.tensor.text.as_str();
            if rule.aspect != Aspect::Value && rule.iterators.is_empty() {
                let message = format!("the scalar `{name}` has a structure");
                self.report(
                    Diagnostic::error("E0114", message, rule.span, "no subscripts")
                        .hint("scalars need no declaration"),
                );
            } else if rule.aspect != Aspect::Redundancy {
                let key = aspect_key(rule.aspect);
                let entry = (rule.iterators.len(), rule.tensor.span, key);
                uses.entry(name).or_default().push(entry);
            }
            if rule.aspect == Aspect::Value {
                collect_accesses(&rule.body, &mut |tensor, rank, span| {
                    if self.symbol(tensor).is_none() {
                        uses.entry(tensor).or_default().push((rank, span, 3));
                    }
                });
            }
        }
        let mut expected: BTreeMap<&str, (usize, Span)> = BTreeMap::new();
        let subscripts = |rank: usize| match rank {
            0 => "no subscripts".into(),
            1 => "1 subscript".into(),
            _ => format!("{rank} subscripts"),
        };
        for (name, uses) in uses {
            // The dimensions decide, then the unique set, then whatever is first.
            let Some(&(rank, first, _)) =
                uses.iter().min_by_key(|(_, span, key)| (*key, span.start))
            else {
                continue;
            };
            expected.insert(name, (rank, first));
            for (other, span, _) in uses {
                if other != rank {
                    self.report(
                        Diagnostic::error(
                            "E0112",
                            format!("`{name}` has {}, not {other}", subscripts(rank)),
                            span,
                            subscripts(other),
                        )
                        .label(first, format!("{} here", subscripts(rank))),
                    );
                }
            }
        }
        for rule in rules.iter().filter(|rule| rule.aspect == Aspect::Redundancy) {
            let name = rule.tensor.text.as_str();
            let found = rule.iterators.len();
            let error = match expected.get(name) {
                Some((rank, first)) if found != 2 * rank && found > 0 => Diagnostic::error(
                    "E0113",
                    format!(
                        "`{name}:R` has {}, not {}",
                        dastac_elements::count(found, "iterator"),
                        2 * rank
                    ),
                    rule.tensor.span,
                    subscripts(found),
                )
                .label(*first, format!("{} here", subscripts(*rank))),
                None if found % 2 == 1 => Diagnostic::error(
                    "E0113",
                    format!("`{name}:R` has an odd number of iterators"),
                    rule.tensor.span,
                    subscripts(found),
                ),
                _ => continue,
            };
            self.report(error.hint(
                "a redundancy map has the element's iterators, then as many for the element that it equals: `B:R(i, \
                j, ip, jp)`",
            ));
        }
    }
}
