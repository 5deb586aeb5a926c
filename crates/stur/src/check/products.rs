//! Right-hand sides as sums of products: `(a + b) * c` -> `a * c + b * c`.

use std::collections::BTreeSet;

use super::{Checker, Source, alike, warning};
use crate::affine::visit_names;
use crate::ast::{
    Comparison, Expr, ExprKind, Name, Operation, PLACE, ReduceOp, RuleItem, Span, Term,
};
use crate::bounds::sides;
use crate::diagnostic::Diagnostic;
use crate::hint::similar;
use crate::parser::sums;
use crate::program::{Access, Product, Program, Rule, Scalar, SymbolFactor};
use crate::schedule::Schedule;
use crate::semiring::Semiring;
use dastac_elements::{Function, Kind};

/// Products that one rule may have after distribution.
const MAX_PRODUCTS: u64 = 65_536;
/// Factors of all of them.
const MAX_FACTORS: u64 = 1 << 18;

/// The number of products after distribution, and the sum of what `weigh` returns for their factors.
pub(super) fn size(term: &Term, weigh: &dyn Fn(&Term) -> u64) -> (u64, u64) {
    match term {
        Term::Sum(terms, _) => terms
            .iter()
            .map(|term| size(term, weigh))
            .fold((0, 0), |(products, factors), (p, f)| {
                (products.saturating_add(p), factors.saturating_add(f))
            }),
        Term::Product(terms, _) => terms.iter().map(|term| size(term, weigh)).fold(
            (1, 0),
            |(products, factors), (p, f)| {
                let left = factors.saturating_mul(p);
                (products.saturating_mul(p), left.saturating_add(f.saturating_mul(products)))
            },
        ),
        leaf => (1, weigh(leaf)),
    }
}

/// Whether a right-hand side has few enough products to multiply it out.
pub(super) fn fits(body: &Term) -> bool {
    let (products, factors) = size(body, &|_| 1);
    products <= MAX_PRODUCTS && factors <= MAX_FACTORS
}

/// The factors of each product, in order.
pub(super) fn distribute(term: &Term) -> Vec<Vec<&Term>> {
    match term {
        Term::Sum(terms, _) => terms.iter().flat_map(distribute).collect(),
        Term::Product(terms, _) => terms.iter().fold(vec![Vec::new()], |products, factor| {
            let alternatives = distribute(factor);
            let mut all = Vec::with_capacity(products.len() * alternatives.len());
            for product in &products {
                for alternative in &alternatives {
                    all.push(product.iter().chain(alternative).copied().collect());
                }
            }
            all
        }),
        leaf => vec![vec![leaf]],
    }
}

/// The product of a product's numbers, and where they are.
pub(super) struct Coefficient {
    pub value: f64,
    pub spans: Vec<Span>,
}

impl Checker<'_> {
    /// The products of a right-hand side. `None` if there are too many.
    pub(super) fn products<'t>(&mut self, body: &'t Term) -> Option<Vec<Vec<&'t Term>>> {
        if !fits(body) {
            let message = format!("multiplied out, this has more than {MAX_PRODUCTS} products");
            self.report(
                Diagnostic::error("E0205", message, body.span(), "too many products")
                    .hint("compute the sums by rules of their own"),
            );
            return None;
        }
        Some(distribute(body))
    }

    /// The product of a product's numbers.
    pub(super) fn coefficient(&mut self, factors: &[&Term]) -> Option<Coefficient> {
        let mut result = Coefficient { value: 1.0, spans: Vec::new() };
        let mut zero = false;
        for factor in factors {
            if let Term::Number { value, reciprocal, span } = factor {
                if *reciprocal && *value == 0.0 {
                    return None; // reported
                }
                zero |= *value == 0.0;
                result.value *= if *reciprocal { value.recip() } else { *value };
                result.spans.push(*span);
            }
        }
        if zero {
            result.value = 0.0;
        } else if !result.value.is_normal() {
            let span = result.spans.iter().fold(result.spans[0], |all, span| all.to(*span));
            let size = if result.value.abs() < 1.0 { "small" } else { "large" };
            let message = format!("the product of the numbers is too {size}");
            self.report(Diagnostic::error("E0007", message, span, "beyond 64-bit floats"));
            return None;
        }
        Some(result)
    }

    /// Warns of products of sums that are added up over an iterator which not all of their products have, once they
    /// are multiplied out: `C(i, j) := (X(n, i) - m(i)) * (X(n, j) - m(j))`.
    fn added_once(&mut self, rule: &RuleItem, term: &Term) {
        if let Term::Sum(parts, _) = term {
            parts.iter().for_each(|part| self.added_once(rule, part));
        }
        let is_outer = |name: &str| {
            let mut known = rule.iterators.iter().chain(&rule.summed);
            self.symbol(name).is_some() || known.any(|one| one.text == name)
        };
        if let Some(name) = sums::added_once(term, &is_outer) {
            let message = format!("multiplied out, not all of these products have `{name}`");
            let label = format!("those without it are added once, not for each `{name}`");
            let hint = format!(
                "`sum({name})` before it adds up its value for each `{name}`; sums of their own have names of their own"
            );
            self.report(warning("W0109", message, term.span(), &label).hint(hint));
        } else if let Some(name) = sums::shifted(term, &is_outer) {
            let message =
                format!("multiplied out, `{name}` has other ranges in some of these products");
            let label = format!("where `{name}` is no subscript by itself, it may begin below 0");
            let hint = format!(
                "`sum({name})` before it adds up its value for each `{name}` of the dimension; or bound `{name}` from \
                both sides"
            );
            self.report(warning("W0109", message, term.span(), &label).hint(hint));
        }
    }

    /// Warns of iterators that are in divisors only: `E(i, j) / E(i, k)` is no quotient by a sum. Functions that stand
    /// for quotients are at the spans `unwritten`.
    fn divided(&mut self, item: &RuleItem, product: &Product, unwritten: &[Span]) {
        if product.accesses.iter().filter(|access| !access.subscripts.is_empty()).count() < 2 {
            return; // a sum of reciprocals
        }
        let (mut above, mut below) = (BTreeSet::new(), Vec::new());
        let mut add = |name: &str, divides: bool, span: Span| match divides {
            true => below.push((name.to_string(), span)),
            false => {
                above.insert(name.to_string());
            }
        };
        for access in product.accesses.iter().filter(|access| !access.argument) {
            for subscript in &access.subscripts {
                visit_names(subscript, &mut |name, _| add(name, access.reciprocal, access.span));
            }
        }
        for function in &product.functions {
            let span = function.span;
            let divides = function.reciprocal && !unwritten.iter().any(|other| other.is_at(span));
            function.value.visit(&mut |part| match part {
                Scalar::Element(at) => {
                    for subscript in &product.accesses[*at].subscripts {
                        visit_names(subscript, &mut |name, _| add(name, divides, span));
                    }
                }
                Scalar::Index(name) => add(name, divides, span),
                _ => {}
            });
        }
        let is_outer = |name: &str| {
            let known = item.iterators.iter().chain(&item.summed).any(|own| own.text == name);
            known || self.symbol(name).is_some()
        };
        let found = below.iter().find(|(name, _)| !above.contains(name) && !is_outer(name));
        if let Some((name, span)) = found {
            let message =
                format!("quotients are added up for each `{name}`, which only divisors have");
            let label = format!("not divided by a sum over `{name}`");
            let hint = format!("divide by a sum that is written, `a / sum({name}) b({name})`");
            self.report(warning("W0110", message, *span, &label).hint(hint));
        }
    }

    /// Warns of products within functions that look like sums over an iterator, which the function's values are added
    /// up over: `h(o) := tanh(W(o, i) * x(i))`.
    fn within_functions(&mut self, item: &RuleItem, product: &Product) {
        let is_outer = |name: &str| {
            let known = item.iterators.iter().chain(&item.summed).any(|own| own.text == name);
            known || self.symbol(name).is_some()
        };
        let shared = |factors: &[Scalar]| {
            let mut seen: Vec<BTreeSet<String>> = Vec::new();
            for factor in factors {
                let Scalar::Element(at) = factor else { continue };
                let mut names = BTreeSet::new();
                for subscript in &product.accesses[*at].subscripts {
                    visit_names(subscript, &mut |name, _| {
                        names.insert(name.to_string());
                    });
                }
                let again = names
                    .iter()
                    .find(|name| !is_outer(name) && seen.iter().any(|other| other.contains(*name)));
                if let Some(name) = again {
                    return Some(name.clone());
                }
                seen.push(names);
            }
            None
        };
        // Squares and magnitudes are added up often.
        let is_curved = |operation: &Operation| match operation {
            Operation::Function(function) => {
                !function.is_quotient() && !matches!(function, Function::Pow | Function::Abs)
            }
            operation => matches!(operation, Operation::Min | Operation::Max),
        };
        let mut found = None;
        for function in &product.functions {
            let mut within = |part: &Scalar| {
                if let Scalar::Product(factors) = part
                    && found.is_none()
                {
                    found = shared(factors).map(|name| (name, function.span));
                }
            };
            function.value.visit(&mut |part| {
                if let Scalar::Apply(operation, parts) = part
                    && is_curved(operation)
                {
                    parts.iter().for_each(|part| part.visit(&mut within));
                }
            });
        }
        if let Some((name, span)) = found {
            let message =
                format!("a function is computed for each `{name}`, and its values are added up");
            let label = format!("not of a sum over `{name}`");
            let hint = format!(
                "write `sum({name})` where it is meant: within the function, or before it for a sum of its values"
            );
            // A function of a sum may be a factor of several products.
            let is_same = |other: &Diagnostic| {
                other.code == "W0114" && other.labels.iter().any(|(at, _)| at.is_at(span))
            };
            if !self.diagnostics.iter().any(is_same) {
                self.report(warning("W0114", message, span, &label).hint(hint));
            }
        }
    }

    pub(super) fn value_rule(&mut self, program: &Program, value: Source<'_>) -> Option<Rule> {
        let item = value.rule;
        let head = program.find(&item.tensor.text)?;
        let iterators: Vec<String> = item.iterators.iter().map(|name| name.text.clone()).collect();
        let order = self.loop_order(&item.tensor.text);
        let element = program.tensor(head).element;
        // A truth value of others at the same place is there if it is not 0: nothing is summed up.
        let truth = element.kind() == Kind::Truth && self.is_elementwise(item);
        let operator = if truth { Some(ReduceOp::Or) } else { None };
        if item.reduction.is_none() && operator.is_none() {
            self.added_once(item, &item.body);
        }
        let (semiring, products) = self.sum_of_products(item, operator)?;
        let mut rule = Rule {
            head,
            iterators,
            order,
            schedule: Schedule::default(),
            semiring,
            products: Vec::new(),
            fill: None,
            preprocess: value.preprocess,
            span: item.span,
        };
        let mut unknown = BTreeSet::new();
        let mut iterators = BTreeSet::new();
        let mut open = Vec::new();
        for factors in products {
            let span = factors.iter().skip(1).fold(factors[0].span(), |all, f| all.to(f.span()));
            let Some(coefficient) = self.constant(semiring, &factors) else { continue };
            let mut product = Product {
                coefficient: coefficient.value,
                iterators: Vec::new(),
                accesses: Vec::new(),
                symbols: Vec::new(),
                functions: Vec::new(),
                comparisons: Vec::new(),
                definitions: Vec::new(),
                guards: Vec::new(),
                span,
            };
            for factor in &factors {
                match factor {
                    // All of it is the value: what is structurally zero counts as 0.
                    value if semiring.is_of_values() && !value.is_condition() => {
                        self.applied(program, value, &mut product);
                    }
                    Term::Access { tensor, subscripts, reciprocal, position, span } => {
                        if let Some(symbol) = self.symbol(&tensor.text) {
                            product.symbols.push(SymbolFactor {
                                symbol,
                                reciprocal: *reciprocal,
                                span: *span,
                            });
                        } else if let Some(tensor) = program.find(&tensor.text) {
                            product.accesses.push(Access {
                                tensor,
                                subscripts: subscripts.clone(),
                                reciprocal: *reciprocal,
                                position: position.as_ref().map(|name| name.text.clone()),
                                argument: false,
                                span: *span,
                            });
                        }
                    }
                    Term::Comparison(comparison) => product.comparisons.push(comparison.clone()),
                    Term::Call { .. } | Term::Index(_) => {
                        self.applied(program, factor, &mut product);
                    }
                    _ => {}
                }
            }
            if item.reduction.is_none() && operator.is_none() {
                let unwritten = factors.iter().filter(|factor| stands_for_quotient(factor));
                let unwritten: Vec<Span> = unwritten.map(|factor| factor.span()).collect();
                self.divided(item, &product, &unwritten);
                self.within_functions(item, &product);
            }
            product.iterators = self.product_iterators(&rule, &factors);
            match &item.reduction {
                Some(reduction) if reduction.operator != ReduceOp::Sum => {
                    self.reduced(&program.source, reduction, &rule, &product.iterators);
                }
                _ => {}
            }
            iterators.extend(product.iterators.iter().cloned());
            open.extend(self.bound_iterators(program, &rule, &product, &mut unknown));
            if coefficient.value == 0.0 && !semiring.is_plus() && !semiring.is_of_values() {
                let message = "this product is always zero".to_string();
                self.report(warning("W0106", message, span, "has no effect").hint("leave it out"));
            } else {
                rule.products.push(product);
            }
        }
        if semiring == Semiring::Prod
            && let Some(product) = rule.products.first()
        {
            // The product of nothing is 1, which rules that read it must find.
            rule.products.push(Product {
                coefficient: semiring.zero(),
                iterators: rule.iterators.clone(),
                accesses: Vec::new(),
                symbols: Vec::new(),
                functions: Vec::new(),
                comparisons: Vec::new(),
                definitions: Vec::new(),
                guards: Vec::new(),
                span: product.span,
            });
        }
        // What one product leaves open another one may bound.
        let bounded = |product: &Product| rule.iterators.iter().all(|name| product.binds(name));
        if !rule.products.iter().any(bounded) {
            open.into_iter().for_each(|error| self.report(error));
        }
        if let Some(reduction) = &item.reduction
            && reduction.operator == ReduceOp::Sum
        {
            let iterators: Vec<String> = iterators.into_iter().collect();
            self.reduced(&program.source, reduction, &rule, &iterators);
        }
        self.unused_order(&rule, &item.tensor.text);
        alike::merge(&mut rule);
        Some(rule)
    }

    /// Whether a rule has no reduction, and no iterators but those of its head and those that values give.
    fn is_elementwise(&self, item: &RuleItem) -> bool {
        let mut all = true;
        let mut positions = Vec::new();
        let of_head = |name: &str| item.iterators.iter().any(|own| own.text == name);
        // A value chooses one element, and whether any is sent to an element says all of it.
        let is_sent = item.iterators.iter().any(|own| own.text.contains(PLACE));
        let mut check = |expr: &Expr| {
            visit_names(expr, &mut |name, _| {
                let is_chosen = is_sent || name.contains(PLACE);
                all &= of_head(name) || is_chosen || self.symbol(name).is_some();
            });
        };
        names_of(&item.body, &mut check, &mut positions);
        item.reduction.is_none() && all && positions.is_empty()
    }

    fn loop_order(&mut self, head: &str) -> Vec<String> {
        let Some(names) = self.orders.get(head).copied() else { return Vec::new() };
        let mut order: Vec<String> = Vec::new();
        for name in names {
            if self.symbol(&name.text).is_some() {
                let message = format!("iterator `{}` has the name of a symbol", name.text);
                self.report(Diagnostic::error("E0107", message, name.span, "declared as a symbol"));
            } else if !order.contains(&name.text) {
                order.push(name.text.clone());
            }
        }
        order
    }

    /// The loop order: as `iters:` says, then the head's iterators, then by appearance.
    fn product_iterators(&self, rule: &Rule, factors: &[&Term]) -> Vec<String> {
        let mut found: Vec<String> = rule.iterators.clone();
        let mut add = |expr: &Expr| {
            visit_names(expr, &mut |name, _| {
                if self.symbol(name).is_none() && !found.iter().any(|other| other == name) {
                    found.push(name.into());
                }
            });
        };
        let mut positions = Vec::new();
        for factor in factors {
            names_of(factor, &mut add, &mut positions);
        }
        for name in positions {
            if !found.contains(&name.text) {
                found.push(name.text.clone());
            }
        }
        let mut iterators: Vec<String> =
            rule.order.iter().filter(|name| found.contains(name)).cloned().collect();
        for name in found {
            if !iterators.contains(&name) {
                iterators.push(name);
            }
        }
        iterators
    }

    /// Checks that every iterator of a product gets its values from somewhere. Gives an error for each of the head's
    /// that does not, unless another product bounds it.
    fn bound_iterators(
        &mut self,
        program: &Program,
        rule: &Rule,
        product: &Product,
        unknown: &mut BTreeSet<String>,
    ) -> Vec<Diagnostic> {
        let mut open = Vec::new();
        let mut in_access = BTreeSet::new();
        for subscript in product.accesses.iter().flat_map(|access| &access.subscripts) {
            visit_names(subscript, &mut |name, _| {
                in_access.insert(name);
            });
        }
        let mut in_comparison = BTreeSet::new();
        for operand in product.comparisons.iter().flat_map(|comparison| &comparison.operands) {
            visit_names(operand, &mut |name, _| {
                in_comparison.insert(name);
            });
        }
        let head = program.tensor(rule.head);
        for iterator in &rule.iterators {
            let name = iterator.as_str();
            if in_access.contains(name) || in_comparison.contains(name) || head.domain.is_some() {
                continue;
            }
            if !unknown.insert(iterator.clone()) {
                continue;
            }
            if name.contains(PLACE) {
                let message = format!("how many elements `{}` has is not known", head.name);
                let of_rule = |name: &str| rule.iterators.iter().any(|own| own == name);
                let mut free = ["k", "l", "m", "n", "p", "q", "r", "s", "t", "u", "v", "w"]
                    .into_iter()
                    .filter(|name| !of_rule(name) && self.symbol(name).is_none());
                let names = rule.iterators.iter().map(|name| match name.contains(PLACE) {
                    true => free.next().unwrap_or("k"),
                    false => name.as_str(),
                });
                let names: Vec<&str> = names.collect();
                let bounds: Vec<String> =
                    names.iter().map(|name| format!("(0 <= {name} < ..)")).collect();
                let (names, bounds) = (names.join(", "), bounds.join(" * "));
                let hint = format!("give its dimensions: `{}:D({names}) := {bounds}`", head.name);
                let error = Diagnostic::error("E0109", message, rule.span, "values say where");
                open.push(error.hint(hint));
            } else {
                let message = format!("iterator `{name}` of the head is unbound");
                let mut positions =
                    product.accesses.iter().filter_map(|access| access.position.as_deref());
                let label = match positions.any(|position| position == name) {
                    true => format!("how many positions `{name}` has is not known"),
                    false => format!("`{name}` occurs in no factor of this product"),
                };
                // A part of a rule has no name that is written.
                let part = self.values.iter().find(|value| value.rule.tensor.text == head.name);
                let whole = part.and_then(|part| part.rule.part_of.as_ref());
                let whole = whole.unwrap_or(&head.name);
                let most = program.symbols.first().map_or("..", |(symbol, _)| symbol.as_str());
                let is_scalar = self.values.iter().any(|value| {
                    value.rule.tensor.text == *whole && value.rule.iterators.is_empty()
                });
                let here = format!("multiply with its range: `(0 <= {name} < {most})`");
                let hint = match is_scalar {
                    true => here,
                    false => format!("give the head's dimensions with `{whole}:D`, or {here}"),
                };
                open.push(Diagnostic::error("E0109", message, product.span, label).hint(hint));
            }
        }
        let known: Vec<&str> =
            rule.iterators.iter().map(String::as_str).chain(in_access.iter().copied()).collect();
        self.bounded_names(&product.comparisons, &known, unknown);
        open
    }

    /// A name that is used in comparisons only is an iterator if they bound it, and a typing error otherwise.
    pub(super) fn bounded_names(
        &mut self,
        comparisons: &[Comparison],
        known: &[&str],
        unknown: &mut BTreeSet<String>,
    ) {
        let mut all: Vec<(&str, Span)> = Vec::new();
        for operand in comparisons.iter().flat_map(|comparison| &comparison.operands) {
            visit_names(operand, &mut |name, span| {
                if !all.iter().any(|(other, _)| *other == name) {
                    all.push((name, span));
                }
            });
        }
        for (name, span) in &all {
            if known.contains(name) || self.symbol(name).is_some() || unknown.contains(*name) {
                continue;
            }
            let (below, above) = sides(comparisons, name, &|_| true);
            if below && above {
                continue;
            }
            unknown.insert((*name).into());
            let message = format!("unknown name `{name}`");
            let label = "neither a symbol nor an iterator with bounds";
            let symbols: Vec<&str> =
                self.symbols.iter().map(|(symbol, _)| symbol.as_str()).collect();
            let candidates = symbols
                .into_iter()
                .chain(known.iter().copied())
                .chain(all.iter().map(|(other, _)| *other));
            let hint = match similar(name, candidates) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!(
                    "declare it with `symbols: {name}`, or bound it from both sides: `(0 <= {name} < N)`"
                ),
            };
            self.report(Diagnostic::error("E0108", message, *span, label).hint(hint));
        }
    }

    fn unused_order(&mut self, rule: &Rule, head: &str) {
        let Some(names) = self.orders.get(head).copied() else { return };
        for name in names {
            let used = rule.iterators.contains(&name.text)
                || rule.products.iter().any(|product| product.iterators.contains(&name.text));
            if !used && self.symbol(&name.text).is_none() && !rule.products.is_empty() {
                let message = format!(
                    "`iters:` names `{}`, which the rule for `{head}` does not use",
                    name.text
                );
                let mut diagnostic = warning("W0104", message, name.span, "has no effect");
                let all = rule.products.iter().flat_map(|product| &product.iterators);
                if let Some(close) = similar(&name.text, all.map(String::as_str)) {
                    diagnostic = diagnostic.hint(format!("did you mean `{close}`?"));
                }
                self.report(diagnostic);
            }
        }
    }
}

/// Calls `add` with all integer expressions of a factor, and collects the iterators that are positions.
fn names_of<'t>(factor: &'t Term, add: &mut dyn FnMut(&Expr), positions: &mut Vec<&'t Name>) {
    match factor {
        Term::Access { subscripts, position, .. } => {
            subscripts.iter().for_each(&mut *add);
            positions.extend(position);
        }
        Term::Comparison(comparison) => comparison.operands.iter().for_each(add),
        Term::Index(name) => {
            add(&Expr { kind: ExprKind::Name(name.text.clone()), span: name.span });
        }
        other => other.parts().iter().for_each(|part| names_of(part, add, positions)),
    }
}

/// Whether a term is the quotient that a function such as `sigmoid(x)` stands for. A sum in a divisor that is written
/// is longer than each of its parts; all that a function stands for has the place of the function.
fn stands_for_quotient(term: &Term) -> bool {
    let Term::Call { operation: Operation::Divide, arguments, .. } = term else { return false };
    let Some(Term::Sum(parts, span)) = arguments.last() else { return false };
    parts.iter().any(|part| part.span().is_at(*span))
}
