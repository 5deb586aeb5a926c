//! How large a program may be. All limits are in this file. They are checked on the syntax tree, before names are
//! resolved, before sums are multiplied out, and before any set is built. For each kind of limit there is at most one
//! error (`E0206`), at the first place that exceeds it.
//!
//! Invariant: a program that passes has so few symbols, iterators, comparisons and divisions in each region that isl's
//! algorithms, which are exponential in these, can handle it, and so few rules, products and names that the checker
//! can.

use std::collections::BTreeSet;

use super::products::{distribute, fits, size};
use crate::affine::{apply, visit_names};
use crate::ast::{Aspect, BinaryOp, Expr, ExprKind, File, Item, RuleItem, Span, Term};
use crate::diagnostic::Diagnostic;

/// Bytes of a file.
pub const MAX_BYTES: usize = 8 << 20;
/// Symbols.
pub const MAX_SYMBOLS: usize = 24;
/// Rules that compute a value.
pub const MAX_RULES: usize = 4096;
/// Tensors and scalars, and entries of a directive that lists them.
pub const MAX_TENSORS: usize = 8192;
/// Subscripts of a tensor.
pub const MAX_RANK: usize = 16;
/// Iterators of a product, of a region, or of an order in `iters:`.
pub const MAX_ITERATORS: usize = 32;
/// Comparisons of a product or region: `0 <= i < N` is two.
pub const MAX_COMPARISONS: u64 = 64;
/// `/` and `%` in a product or region.
pub const MAX_DIVISIONS: u64 = 12;
/// `/` and `%` in the operands of each other.
pub const MAX_DIVISION_NESTING: u64 = 4;
/// Regions of a structure.
pub const MAX_REGIONS: u64 = 512;
/// Absolute value of a constant in a comparison or subscript.
pub const MAX_INTEGER: u64 = 1 << 48;
/// Names, numbers and operators of a whole program after multiplying out.
pub const MAX_NODES: u64 = 1 << 22;

/// Checks a text before it is read.
pub(super) fn of_text(source: &str) -> Option<Diagnostic> {
    let beyond = source.len() > MAX_BYTES;
    beyond.then(|| {
        let message = format!("the file has {} bytes, {}", source.len(), limit(MAX_BYTES as u64));
        let span = Span::new(0, 0);
        Diagnostic::error("E0206", message, span, "too long").hint("split the program")
    })
}

/// Checks a file, and returns the errors in source order. If there are any, nothing else in the file should be checked.
pub(super) fn of_file(file: &File) -> Vec<Diagnostic> {
    let symbols = file.items.iter().find_map(|item| match item {
        Item::Symbols(names, _) => Some(names.iter().map(|name| name.text.as_str()).collect()),
        _ => None,
    });
    let symbols = symbols.unwrap_or_default();
    let mut found = Found { symbols, seen: BTreeSet::new(), diagnostics: Vec::new() };
    // Totals, and the rules with which they go beyond.
    let mut first = [None; 3];
    let mut rules = 0usize;
    let mut nodes = 0u64;
    let mut tensors: BTreeSet<&str> = BTreeSet::new();
    for item in &file.items {
        match item {
            Item::Symbols(names, span) => {
                found.count(
                    "the program",
                    names.len(),
                    MAX_SYMBOLS,
                    "symbols",
                    *span,
                    "use fewer symbols, or numbers",
                );
            }
            Item::Outputs(names, span) => found.entries("outputs", names.len(), *span),
            Item::Layout(entries, span) => found.entries("layout", entries.len(), *span),
            Item::Schedule(entries, span) => {
                found.entries("schedule", entries.len(), *span);
                for part in entries.iter().flat_map(|entry| &entry.parts) {
                    found.iterators("the directive", part.loops.len(), part.span);
                }
            }
            Item::Types(entries, span) => found.entries("types", entries.len(), *span),
            Item::Iters(orders, span) => {
                found.entries("iters", orders.len(), *span);
                for order in orders {
                    found.iterators("the order", order.iterators.len(), order.head.span);
                }
            }
            Item::Rule(rule) => {
                rules += usize::from(rule.aspect == Aspect::Value);
                tensors.insert(&rule.tensor.text);
                super::collect_accesses(&rule.body, &mut |name, _, _| {
                    if !found.symbols.contains(name) {
                        tensors.insert(name);
                    }
                });
                nodes = nodes.saturating_add(size(&rule.body, &weight).1);
                let totals = [rules > MAX_RULES, tensors.len() > MAX_TENSORS, nodes > MAX_NODES];
                for (first, beyond) in first.iter_mut().zip(totals) {
                    if beyond {
                        first.get_or_insert(rule.span);
                    }
                }
                found.rule(rule, nodes <= MAX_NODES);
            }
            Item::Format(format) => {
                let dimensions = format.iterators.as_ref().map_or(0, Vec::len);
                let most = dimensions.max(format.format.text.split(',').count());
                let who = format!("`{}:F`", format.tensor.text);
                let (max, hint) = (MAX_RANK, "use fewer subscripts");
                found.count(&who, most, max, "subscripts", format.tensor.span, hint);
            }
            Item::Define(text) => {
                let most = text.text.split(',').count();
                let (max, hint) = (MAX_RANK, "use fewer levels");
                found.count("the format", most, max, "levels", text.span, hint);
            }
            Item::PreprocessStart(_) | Item::PreprocessEnd(_) => {}
        }
    }
    let [many_rules, many_tensors, many_nodes] = first.map(Option::unwrap_or_default);
    let split = "split the program";
    found.count("the program", rules, MAX_RULES, "rules", many_rules, split);
    found.count("the program", tensors.len(), MAX_TENSORS, "tensors", many_tensors, split);
    let (who, what) = ("multiplied out, the program", "names, numbers and operators");
    found.count(who, nodes, MAX_NODES, what, many_nodes, SPLIT);
    found.diagnostics.sort_by_key(|diagnostic| diagnostic.labels[0].0.start);
    found.diagnostics
}

const SPLIT: &str = "compute part of it in a rule of its own";
const REMAINDER: &str = "write `(i % 3 = 0)` as `(i = 3 * q)` with an iterator `q`, or compute part of it in a rule \
    of its own";

fn limit(max: u64) -> String {
    format!("more than the limit of {max}")
}

struct Found<'a> {
    symbols: BTreeSet<&'a str>,
    /// Kinds of limits that are reported.
    seen: BTreeSet<&'static str>,
    diagnostics: Vec<Diagnostic>,
}

impl Found<'_> {
    /// Reports that `who` has more than `max` of `what`, if so, the first time.
    fn count<N: TryInto<u64>>(
        &mut self,
        who: &str,
        found: N,
        max: impl TryInto<u64>,
        what: &'static str,
        span: Span,
        hint: &str,
    ) {
        let (found, max) =
            (found.try_into().unwrap_or(u64::MAX), max.try_into().unwrap_or(u64::MAX));
        if found > max && self.seen.insert(what) {
            let message = format!("{who} has {found} {what}, {}", limit(max));
            let label = format!("too many {what}");
            self.diagnostics.push(Diagnostic::error("E0206", message, span, label).hint(hint));
        }
    }

    fn entries(&mut self, directive: &str, entries: usize, span: Span) {
        let who = format!("`{directive}:`");
        self.count(&who, entries, MAX_TENSORS, "entries", span, "list each tensor once");
    }

    fn iterators(&mut self, who: &str, iterators: usize, span: Span) {
        self.count(who, iterators, MAX_ITERATORS, "iterators", span, SPLIT);
    }

    fn rule(&mut self, rule: &RuleItem, small: bool) {
        let name = format!("`{}{}`", rule.tensor.text, rule.aspect);
        let rank = if rule.aspect == Aspect::Redundancy { 2 * MAX_RANK } else { MAX_RANK };
        let hint = "use fewer subscripts";
        self.count(&name, rule.iterators.len(), rank, "subscripts", rule.tensor.span, hint);
        let joined = super::semirings::joined(rule);
        let body = joined.as_ref().unwrap_or(&rule.body);
        self.factors(body);
        let (who, values) = match rule.aspect {
            Aspect::Value => ("a product", true),
            _ => ("a region", false),
        };
        if !values {
            let regions = size(body, &|_| 1).0;
            self.count(
                &name,
                regions,
                MAX_REGIONS,
                "regions",
                body.span(),
                "join regions that belong together",
            );
        }
        let (comparisons, span) = most(body, &|term| match term {
            Term::Comparison(comparison) => comparison.operators.len() as u64,
            _ => 0,
        });
        self.count(who, comparisons, MAX_COMPARISONS, "comparisons", span, SPLIT);
        let (divisions, span) = most(body, &|term| expressions(term).iter().map(divisions).sum());
        self.count(who, divisions, MAX_DIVISIONS, "divisions and remainders", span, REMAINDER);
        // Sums that are too many products are reported when they are multiplied out.
        if small && comparisons <= MAX_COMPARISONS && fits(body) {
            self.product_iterators(rule, body, who);
        }
    }

    /// Checks each factor by itself.
    fn factors(&mut self, term: &Term) {
        term.parts().iter().for_each(|term| self.factors(term));
        if let Term::Access { tensor, subscripts, span, .. } = term {
            let name = format!("`{}`", tensor.text);
            self.count(
                &name,
                subscripts.len(),
                MAX_RANK,
                "subscripts",
                *span,
                "use fewer subscripts",
            );
        }
        for expr in expressions(term) {
            let nesting = nesting(expr);
            let (levels, hint) = (
                "nested divisions and remainders",
                "define an iterator by a comparison of its own: `(q = i / 3)`",
            );
            self.count("this", nesting, MAX_DIVISION_NESTING, levels, expr.span, hint);
            if let (_, Some((value, span))) = constants(expr)
                && self.seen.insert("integer")
            {
                let message =
                    format!("the constant {value} is {} in absolute value", limit(MAX_INTEGER));
                let error = Diagnostic::error("E0206", message, span, "too large");
                self.diagnostics.push(
                    error.hint("sizes are symbols: they get their values when the kernel runs"),
                );
            }
        }
    }

    fn product_iterators(&mut self, rule: &RuleItem, body: &Term, who: &str) {
        for factors in distribute(body) {
            let mut names: BTreeSet<&str> =
                rule.iterators.iter().map(|name| name.text.as_str()).collect();
            for factor in &factors {
                if let Term::Access { position: Some(position), .. } = factor {
                    names.insert(&position.text);
                }
            }
            let mut leaves = Vec::new();
            factors.iter().for_each(|factor| all_leaves(factor, &mut leaves));
            for leaf in &leaves {
                if let Term::Index(name) = leaf
                    && !self.symbols.contains(name.text.as_str())
                {
                    names.insert(&name.text);
                }
            }
            for expr in leaves.iter().flat_map(|leaf| expressions(leaf)) {
                if names.len() > MAX_ITERATORS {
                    break;
                }
                visit_names(expr, &mut |name, _| {
                    if !self.symbols.contains(name) {
                        names.insert(name);
                    }
                });
            }
            let span = factors.iter().fold(factors[0].span(), |all, factor| all.to(factor.span()));
            self.iterators(who, names.len(), span);
        }
    }
}

/// The terms that a term is made of and that have no parts.
fn all_leaves<'t>(term: &'t Term, leaves: &mut Vec<&'t Term>) {
    match term.parts() {
        [] => leaves.push(term),
        parts => parts.iter().for_each(|part| all_leaves(part, leaves)),
    }
}

/// The integer expressions of a factor.
fn expressions(term: &Term) -> &[Expr] {
    match term {
        Term::Access { subscripts, .. } => subscripts,
        Term::Comparison(comparison) => &comparison.operands,
        _ => &[],
    }
}

/// The largest number of something that a product has after multiplying out, and where.
fn most(term: &Term, of: &dyn Fn(&Term) -> u64) -> (u64, Span) {
    match term {
        Term::Sum(terms, span) => {
            let parts = terms.iter().map(|term| most(term, of));
            // The first of the largest.
            parts.fold((0, *span), |best, part| if part.0 > best.0 { part } else { best })
        }
        Term::Product(terms, span) => {
            let sum = terms.iter().map(|term| most(term, of).0).fold(0, u64::saturating_add);
            (sum, *span)
        }
        leaf => (of(leaf), leaf.span()),
    }
}

fn weight(term: &Term) -> u64 {
    let arguments = match term {
        Term::Call { arguments, .. } => arguments.iter().map(tree).sum(),
        _ => 0,
    };
    1 + expressions(term).iter().map(nodes).sum::<u64>() + arguments
}

/// The size of an argument, all of it.
fn tree(term: &Term) -> u64 {
    let parts = term.parts().iter().map(tree).sum::<u64>();
    1 + expressions(term).iter().map(nodes).sum::<u64>() + parts
}

fn nodes(expr: &Expr) -> u64 {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Name(_) => 1,
        ExprKind::Neg(inner) => 1 + nodes(inner),
        ExprKind::Binary(_, left, right) => 1 + nodes(left) + nodes(right),
    }
}

fn is_division(op: BinaryOp) -> u64 {
    u64::from(matches!(op, BinaryOp::Div | BinaryOp::Mod))
}

fn divisions(expr: &Expr) -> u64 {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Name(_) => 0,
        ExprKind::Neg(inner) => divisions(inner),
        ExprKind::Binary(op, left, right) => is_division(*op) + divisions(left) + divisions(right),
    }
}

fn nesting(expr: &Expr) -> u64 {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Name(_) => 0,
        ExprKind::Neg(inner) => nesting(inner),
        ExprKind::Binary(op, left, right) => is_division(*op) + nesting(left).max(nesting(right)),
    }
}

/// The value of an expression without names, and the first constant in it that is too large. Overflow is reported
/// elsewhere.
fn constants(expr: &Expr) -> (Option<i64>, Option<(i64, Span)>) {
    let (value, inner) = match &expr.kind {
        ExprKind::Int(value) => (Some(*value), None),
        ExprKind::Name(_) => return (None, None),
        ExprKind::Neg(inner) => {
            let (value, found) = constants(inner);
            (value.and_then(i64::checked_neg), found)
        }
        ExprKind::Binary(op, left, right) => {
            let ((left, first), (right, second)) = (constants(left), constants(right));
            (left.zip(right).and_then(|(left, right)| apply(*op, left, right)), first.or(second))
        }
    };
    let large = value.filter(|value| value.unsigned_abs() > MAX_INTEGER);
    (value, inner.or(large.map(|value| (value, expr.span))))
}
