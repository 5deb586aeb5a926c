//! Right-hand sides that are not sums of products: `min(j) A(i, j) + x(j)`, factors joined with one operation.

use super::Checker;
use super::products::Coefficient;
use crate::ast::{PLACE, ReduceOp, Reduction, RuleItem, Span, Term};
use crate::diagnostic::Diagnostic;
use crate::parser::words::REDUCTIONS;
use crate::program::Rule;
use crate::semiring::Semiring;

const HINT: &str = "a rule computes sums of products, `min(j) A(i, j) + x(j)`, `max(j) A(i, j) + x(j)`, `max(j) A(i, \
    j) * x(j)` or `or(j) A(i, j) * x(j)`";

/// The factors of a reduction as one product, to count them. It is never multiplied out, whatever joins the factors.
pub(super) fn joined(rule: &RuleItem) -> Option<Term> {
    fn leaves(term: &Term, found: &mut Vec<Term>) {
        match term {
            Term::Sum(terms, _) | Term::Product(terms, _) => {
                terms.iter().for_each(|term| leaves(term, found));
            }
            leaf => found.push(leaf.clone()),
        }
    }
    rule.reduction.as_ref().filter(|reduction| reduction.operator != ReduceOp::Sum)?;
    let mut all = Vec::new();
    leaves(&rule.body, &mut all);
    Some(Term::Product(all, rule.body.span()))
}

/// A term without the comparisons that it is multiplied with: `(A + x) * (i < j)` -> `A + x`.
fn core(term: &Term) -> &Term {
    match term {
        Term::Product(factors, _) => {
            let mut values = factors.iter().filter(|factor| !factor.is_condition());
            match (values.next(), values.next()) {
                (Some(only), None) => core(only),
                _ => term,
            }
        }
        _ => term,
    }
}

impl Checker<'_> {
    /// The semiring of a rule, and the factors of each of its products. A rule without a reduction, and that is no sum,
    /// is one with the `implied` operator, if there is one.
    pub(super) fn sum_of_products<'t>(
        &mut self,
        item: &'t RuleItem,
        implied: Option<ReduceOp>,
    ) -> Option<(Semiring, Vec<Vec<&'t Term>>)> {
        let implied = implied.filter(|_| !matches!(core(&item.body), Term::Sum(..)));
        let implied = implied.map(|operator| Reduction {
            operator,
            iterators: Vec::new(),
            span: item.body.span(),
        });
        let reduction = match item.reduction.as_ref().or(implied.as_ref()) {
            Some(reduction) if reduction.operator != ReduceOp::Sum => reduction,
            _ => return Some((Semiring::SumTimes, self.products(&item.body)?)),
        };
        if let Some(semiring) = Self::of_values(reduction.operator, &item.body) {
            let mut factors = Vec::new();
            conditions(&item.body, &mut factors);
            return Some((semiring, vec![factors]));
        }
        let plus = match core(&item.body) {
            Term::Sum(..) => Some(true),
            Term::Product(factors, _) => {
                // A product of comparisons alone is a single factor.
                let values = factors.iter().any(|factor| !factor.is_condition());
                values.then_some(false)
            }
            _ => None,
        };
        let word = reduction.operator.word();
        let Some(semiring) = Semiring::of(reduction.operator, plus) else {
            let (found, wanted) = if plus == Some(true) { ("+", "*") } else { ("*", "+") };
            let message = format!("`{word}` does not go with `{found}`");
            let label = format!("joined with `{found}`");
            let hint = format!("factors of `{word}(..)` are joined with `{wanted}`; {HINT}");
            self.report(
                Diagnostic::error("E0128", message, item.body.span(), label)
                    .label(reduction.span, "reduced with this")
                    .hint(hint),
            );
            return None;
        };
        let mut factors = Vec::new();
        let mixed = match semiring.is_plus() {
            true => summands(&item.body, &mut factors, false),
            false => times(&item.body, &mut factors),
        };
        let values = factors.iter().any(|factor| !factor.is_condition());
        if let Err((span, label)) = mixed.and(match values || reduction.operator == ReduceOp::Or {
            true => Ok(()),
            false => Err((item.body.span(), "only comparisons")),
        }) {
            let message = format!("this is not a product of the semiring {semiring}");
            self.report(Diagnostic::error("E0128", message, span, label).hint(HINT));
            return None;
        }
        for factor in &factors {
            let (span, label) = match factor {
                Term::Access { reciprocal: true, span, .. } => (*span, "a reciprocal"),
                Term::Number { value, span, .. }
                    if semiring == Semiring::MaxTimes && *value < 0.0 =>
                {
                    (*span, "a negative number")
                }
                _ => continue,
            };
            let message = format!("{label} in the semiring {semiring}");
            self.report(
                Diagnostic::error("E0128", message, span, label)
                    .label(reduction.span, "not a sum")
                    .hint("compute it by a rule of its own, a sum of products"),
            );
            return None;
        }
        Some((semiring, vec![factors]))
    }

    /// The semiring of a minimum or maximum of values, not of a semiring of graph algorithms: anything but a sum of
    /// elements, symbols and numbers. Products are always of values.
    fn of_values(operator: ReduceOp, body: &Term) -> Option<Semiring> {
        let semiring = match operator {
            ReduceOp::Min => Semiring::Min,
            ReduceOp::Max => Semiring::Max,
            ReduceOp::Prod => Semiring::Prod,
            ReduceOp::Sum | ReduceOp::MaxTimes | ReduceOp::Or => return None,
        };
        let conditions = |term: &Term| match term {
            Term::Product(factors, _) => factors.iter().all(Term::is_condition),
            other => other.is_condition(),
        };
        if conditions(body) {
            return None;
        }
        let leaf = |term: &Term| match term {
            Term::Access { reciprocal, .. } => !reciprocal,
            Term::Number { .. } => true,
            other => other.is_condition(),
        };
        let of_a_semiring = match core(body) {
            Term::Sum(terms, _) => terms.iter().all(|term| match term {
                Term::Product(..) => {
                    summands(term, &mut Vec::new(), true).is_ok() && leaf(core(term))
                }
                term => leaf(term),
            }),
            _ => false,
        };
        (semiring == Semiring::Prod || !of_a_semiring).then_some(semiring)
    }

    /// The numbers of a product as one.
    pub(super) fn constant(
        &mut self,
        semiring: Semiring,
        factors: &[&Term],
    ) -> Option<Coefficient> {
        if semiring.is_of_values() {
            return Some(Coefficient { value: 1.0, spans: Vec::new() });
        }
        if !semiring.is_plus() {
            let mut found = self.coefficient(factors)?;
            if semiring == Semiring::OrAnd {
                found.value = semiring.multiply(found.value, 1.0);
            }
            return Some(found);
        }
        let mut result = Coefficient { value: 0.0, spans: Vec::new() };
        for factor in factors {
            if let Term::Number { value, reciprocal, span } = factor {
                if *reciprocal && *value == 0.0 {
                    return None; // reported
                }
                result.value += if *reciprocal { value.recip() } else { *value };
                result.spans.push(*span);
            }
        }
        if !result.value.is_finite() {
            let span = result.spans.iter().fold(result.spans[0], |all, span| all.to(*span));
            let message = "the sum of the numbers is too large";
            self.report(Diagnostic::error("E0007", message, span, "beyond 64-bit floats"));
            return None;
        }
        Some(result)
    }

    /// Checks that a reduction names the iterators that it goes over: all but those of the head.
    pub(super) fn reduced(
        &mut self,
        source: &str,
        reduction: &Reduction,
        rule: &Rule,
        iterators: &[String],
    ) {
        // As it is written: `all`, which is made of `or`.
        let written = source.get(reduction.span.start..reduction.span.end).unwrap_or_default();
        let written = written.split('(').next().map(str::trim);
        let is_word = |word: &&str| REDUCTIONS.contains(word) || *word == "or";
        let word = written.filter(is_word).unwrap_or(reduction.operator.word());
        let over: Vec<&str> = iterators
            .iter()
            .filter(|name| !rule.iterators.contains(name))
            .map(String::as_str)
            .collect();
        let hint = match over.is_empty() {
            true => format!("leave `{word}(..)` out: there is one value for each element"),
            false => format!("write `{word}({})`", over.join(", ")),
        };
        for (k, name) in reduction.iterators.iter().enumerate() {
            let text = name.text.as_str();
            let (message, label) = if reduction.iterators[..k].contains(name) {
                (format!("`{word}` goes over `{text}` twice"), "again")
            } else if rule.iterators.iter().any(|iterator| iterator == text) {
                (format!("`{word}` goes over `{text}`, an iterator of the head"), "in the head")
            } else if !over.contains(&text) {
                (format!("`{word}` goes over `{text}`, which occurs in no factor"), "unknown")
            } else {
                continue;
            };
            self.report(Diagnostic::error("E0129", message, name.span, label).hint(hint));
            return;
        }
        let listed = |name: &str| reduction.iterators.iter().any(|listed| listed.text == name);
        // Where elements of a sum go needs no naming: `y(i + 1) := sum(j) A(i, j)`.
        let is_sent = reduction.operator == ReduceOp::Sum
            && rule.iterators.iter().any(|iterator| iterator.contains(PLACE));
        if let Some(missing) = over.iter().find(|name| !listed(name))
            && !is_sent
        {
            let message = format!("`{word}` does not name `{missing}`, which it goes over");
            let error = Diagnostic::error("E0129", message, reduction.span, "not all iterators");
            self.report(error.hint(hint));
        }
    }
}

/// The comparisons that a body is multiplied with, and the value that they are multiplied with.
fn conditions<'t>(body: &'t Term, found: &mut Vec<&'t Term>) {
    let value = core(body);
    if std::ptr::eq(value, body) {
        found.push(body);
        return;
    }
    if let Term::Product(factors, _) = body {
        for factor in factors {
            match factor.is_condition() {
                true => found.push(factor),
                false => conditions(factor, found),
            }
        }
    }
}

/// The error for something that cannot be part of a product of a semiring.
type Mixed = Result<(), (Span, &'static str)>;

/// `a + b * (i < j)` -> `a`, `b`, `(i < j)`.
fn summands<'t>(term: &'t Term, factors: &mut Vec<&'t Term>, within: bool) -> Mixed {
    match term {
        Term::Sum(terms, _) => terms.iter().try_for_each(|term| match term {
            term if term.is_condition() => Err((term.span(), "a comparison is joined with `*`")),
            term => summands(term, factors, true),
        }),
        Term::Product(terms, span) => {
            let values = terms.iter().filter(|term| !term.is_condition()).count();
            match values {
                0 if within => Err((*span, "a comparison is joined with `*`")),
                0 | 1 => terms.iter().try_for_each(|term| match term {
                    term if term.is_condition() => {
                        factors.push(term);
                        Ok(())
                    }
                    term => summands(term, factors, within),
                }),
                _ => Err((*span, "a product of values")),
            }
        }
        leaf => {
            factors.push(leaf);
            Ok(())
        }
    }
}

/// `a * b` -> `a`, `b`.
fn times<'t>(term: &'t Term, factors: &mut Vec<&'t Term>) -> Mixed {
    match term {
        Term::Sum(_, span) => Err((*span, "a sum")),
        Term::Product(terms, _) => terms.iter().try_for_each(|term| times(term, factors)),
        leaf => {
            factors.push(leaf);
            Ok(())
        }
    }
}
