//! Dimensions that iterators divide among them by symbols: `x(j * M + l)`, where `l` is less than `M`.
//!
//! - What a head merges is bounded, if nothing else says how long it is: with `X:D(j, k) := (0 <= j < N) * (0 <= k <
//!   M)`, `y(j * M + k) := X(j, k)` is `y(n) := X(j, k) * (j * M + k = n) * (0 <= n < N * M)`.
//! - What is summed is summed before: `y(i * M + k) := A(i, j) * X(j, k)` has `y.1(i, k) := A(i, j) * X(j, k)`, and is
//!   `y(i * M + k) := y.1(i, k)`.
//! - Where three tensors or more are multiplied, what is read by such subscripts has a copy with one subscript for each
//!   iterator, so that products of it are products of matrices: `A(i, j) * B(k, l) * x(j * M + l)` has `y.2(j, l) :=
//!   x(j * M + l) * (0 <= j < N) * (0 <= l < M)`.

use std::collections::BTreeSet;

use super::bounded::{alone, domain_of};
use crate::affine::{is_affine, names};
use crate::ast::{
    Aspect, BinaryOp, CompareOp, Comparison, Expr, ExprKind, File, Item, Name, PLACE, ReduceOp,
    RuleItem, Span, Term,
};
use crate::parser::statistics::product;
use crate::parser::sums::free;

/// What iterators a subscript merges, the slowest first, each with how many values it has at most.
struct Merged {
    digits: Vec<(String, Expr)>,
}

/// What is known of the iterators of a product.
#[derive(Clone, Copy)]
struct Ranges<'r> {
    file: &'r File,
    symbols: &'r BTreeSet<String>,
    product: &'r Term,
}

/// So many rules are followed to find how long a dimension is.
const DEPTH: usize = 8;

impl Ranges<'_> {
    /// How many values an iterator has at most, from 0 on: what the dimensions that it is a subscript of say, or
    /// comparisons of the product.
    fn of(&self, name: &str) -> Vec<Expr> {
        self.within(name, DEPTH)
    }

    fn within(&self, name: &str, depth: usize) -> Vec<Expr> {
        let factors = match self.product {
            Term::Product(factors, _) => factors.as_slice(),
            other => std::slice::from_ref(other),
        };
        let mut found: Vec<Expr> =
            factors.iter().filter_map(|factor| self.bound(factor, name)).collect();
        for factor in factors {
            found.extend(self.dimension(factor, name, depth));
        }
        if found.is_empty() {
            // What functions are of bounds them if all of it says the same.
            let mut all = Vec::new();
            factors.iter().for_each(|factor| self.nested(factor, name, depth, &mut all));
            let first = all.first().cloned().flatten();
            let same = |one: &Option<Expr>| {
                one.as_ref().map(Expr::to_string) == first.as_ref().map(Expr::to_string)
            };
            found.extend(first.clone().filter(|_| all.iter().all(same)));
        }
        found
    }

    /// How long the dimension is that an access reads with an iterator: as its `:D` says, or the rule that computes it.
    fn dimension(&self, factor: &Term, name: &str, depth: usize) -> Option<Expr> {
        let Term::Access { tensor, subscripts, position: None, .. } = factor else { return None };
        let is_own = |one: &Expr| matches!(&one.kind, ExprKind::Name(own) if own == name);
        let at = subscripts.iter().position(is_own)?;
        if let Some(domain) = domain_of(self.file, &tensor.text) {
            let own = domain.iterators.get(at)?;
            let bounds = alone(domain, at, &own.text);
            return bounds.iter().find_map(|bound| self.bound(bound, &own.text));
        }
        let is_rule = |item: &&RuleItem| {
            item.tensor.text == tensor.text && matches!(item.aspect, Aspect::Value)
        };
        let mut rules = self.file.items.iter().filter_map(|item| match item {
            Item::Rule(rule) => Some(rule).filter(is_rule),
            _ => None,
        });
        let (Some(rule), None) = (rules.next(), rules.next()) else { return None };
        let depth = depth.checked_sub(1)?;
        let inner = Ranges { product: &rule.body, ..*self };
        let is_sum = matches!(rule.body, Term::Sum(..));
        let all = inner.within(&rule.iterators.get(at)?.text, depth);
        all.into_iter().next().filter(|_| !is_sum)
    }

    fn nested(&self, term: &Term, name: &str, depth: usize, all: &mut Vec<Option<Expr>>) {
        if let Term::Access { subscripts, .. } = term
            && subscripts.iter().any(|one| names(one).contains(name))
        {
            all.push(self.dimension(term, name, depth));
        }
        term.parts().iter().for_each(|part| self.nested(part, name, depth, all));
    }

    /// `N` of `(0 <= i < N)`.
    fn bound(&self, condition: &Term, name: &str) -> Option<Expr> {
        let Term::Comparison(Comparison { operands, operators, .. }) = condition else {
            return None;
        };
        let (
            [Expr { kind: ExprKind::Int(0), .. }, Expr { kind: ExprKind::Name(own), .. }, end],
            [CompareOp::Le, CompareOp::Lt],
        ) = (&operands[..], &operators[..])
        else {
            return None;
        };
        (own == name && self.is_constant(end)).then(|| end.clone())
    }

    fn is_constant(&self, expr: &Expr) -> bool {
        names(expr).into_iter().all(|name| self.symbols.contains(name))
    }

    /// The iterators that an expression merges by symbols, if it does so: `j * M + l`, where `l` is less than `M`.
    fn merged(&self, expr: &Expr) -> Option<Merged> {
        is_affine(expr).err()?;
        let mut terms = Vec::new();
        self.terms(expr, &[], &mut terms)?;
        let (mut digits, mut by) = (Vec::new(), Vec::new());
        while !terms.is_empty() {
            by.sort();
            let at = terms.iter().position(|(_, factors)| *factors == by)?;
            let (name, _) = terms.remove(at);
            let mut ends = self.of(&name).into_iter();
            let fits = |end: &Expr| {
                let more = [by.clone(), factors(end)].concat();
                terms.is_empty() || terms.iter().any(|(_, other)| same(other, &more))
            };
            let end = ends.find(fits)?;
            by.extend(factors(&end));
            digits.push((name, end));
        }
        let own: BTreeSet<&String> = digits.iter().map(|(name, _)| name).collect();
        let is_merged = own.len() > 1 && own.len() == digits.len();
        digits.reverse();
        is_merged.then_some(Merged { digits })
    }

    /// The iterators of a sum, each with what it is multiplied with.
    fn terms(
        &self,
        expr: &Expr,
        by: &[String],
        all: &mut Vec<(String, Vec<String>)>,
    ) -> Option<()> {
        match &expr.kind {
            ExprKind::Name(name) if !self.symbols.contains(name) => {
                let mut by = by.to_vec();
                by.sort();
                all.push((name.clone(), by));
                Some(())
            }
            ExprKind::Binary(BinaryOp::Add, left, right) => {
                self.terms(left, by, all)?;
                self.terms(right, by, all)
            }
            ExprKind::Binary(BinaryOp::Mul, left, right) => {
                let (of, constant) = match (self.is_constant(left), self.is_constant(right)) {
                    (false, true) => (left, right),
                    (true, false) => (right, left),
                    _ => return None,
                };
                self.terms(of, &[by, &factors(constant)].concat(), all)
            }
            _ => None,
        }
    }
}

/// The factors of a product, as they are written.
fn factors(expr: &Expr) -> Vec<String> {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Mul, left, right) => [factors(left), factors(right)].concat(),
        ExprKind::Int(1) => Vec::new(),
        _ => vec![expr.to_string()],
    }
}

/// Whether both are the same factors.
fn same(sorted: &[String], others: &[String]) -> bool {
    let mut others = others.to_vec();
    others.sort();
    sorted == others
}

impl Merged {
    /// As many values as there are.
    fn count(&self, span: Span) -> Expr {
        let all = self.digits.iter().map(|(_, end)| end.clone());
        let times = |one: Expr, other: Expr| Expr {
            kind: ExprKind::Binary(BinaryOp::Mul, Box::new(one), Box::new(other)),
            span,
        };
        all.reduce(times).unwrap_or(Expr { kind: ExprKind::Int(1), span })
    }

    /// The comparisons that bound its iterators.
    fn bounds(&self, span: Span) -> Vec<Term> {
        let name = |name: &String| Expr { kind: ExprKind::Name(name.clone()), span };
        self.digits.iter().map(|(digit, end)| from_zero(name(digit), end.clone(), span)).collect()
    }

    fn iterators(&self, span: Span) -> Vec<Name> {
        self.digits.iter().map(|(name, _)| Name { text: name.clone(), span }).collect()
    }
}

/// `(0 <= of < end)`
fn from_zero(of: Expr, end: Expr, span: Span) -> Term {
    let operands = vec![Expr { kind: ExprKind::Int(0), span }, of, end];
    let operators = vec![CompareOp::Le, CompareOp::Lt];
    Term::Comparison(Comparison { operands, operators, span })
}

/// The iterators that a place of a head merges, and the comparison that says so.
fn sent(ranges: &Ranges<'_>, place: &str) -> Option<(Term, Merged)> {
    let Term::Product(factors, _) = ranges.product else { return None };
    let of = |factor: &Term| match factor {
        Term::Comparison(Comparison { operands, operators, .. }) => {
            match (&operands[..], &operators[..]) {
                ([expr, Expr { kind: ExprKind::Name(own), .. }], [CompareOp::Eq])
                    if own == place =>
                {
                    Some((factor.clone(), ranges.merged(expr)?))
                }
                _ => None,
            }
        }
        _ => None,
    };
    factors.iter().find_map(of)
}

/// The part of a rule that is summed before.
pub(super) struct Before {
    pub(super) iterators: Vec<Name>,
    pub(super) body: Term,
    /// What the rule multiplies the part's element with.
    pub(super) conditions: Vec<Term>,
}

/// Bounds what a head merges, where the head has no `:D`, and gives the part of the rule that is summed before, if
/// there is anything to sum.
pub(super) fn head(file: &File, symbols: &BTreeSet<String>, rule: &mut RuleItem) -> Option<Before> {
    if rule.reduction.as_ref().is_some_and(|one| one.operator != ReduceOp::Sum) {
        return None;
    }
    let is_bounded = domain_of(file, &rule.tensor.text).is_some();
    let Term::Product(..) = &rule.body else { return None };
    let span = rule.body.span();
    let (mut conditions, mut counts, mut iterators) = (Vec::new(), Vec::new(), Vec::new());
    let ranges = Ranges { file, symbols, product: &rule.body };
    for name in &rule.iterators {
        match sent(&ranges, &name.text) {
            Some((condition, merged)) => {
                let place = Expr { kind: ExprKind::Name(name.text.clone()), span };
                counts.push(from_zero(place, merged.count(span), span));
                conditions.push(condition);
                iterators.extend(merged.iterators(span));
            }
            None if name.text.contains(PLACE) => return None,
            None => iterators.push(name.clone()),
        }
    }
    if conditions.is_empty() {
        return None;
    }
    let Term::Product(factors, _) = &mut rule.body else { return None };
    let mut rest = factors.clone();
    rest.retain(|factor| !conditions.contains(factor));
    if !is_bounded {
        conditions.extend(counts.iter().cloned());
        factors.extend(counts);
    }
    let own: BTreeSet<&str> = iterators.iter().map(|name| name.text.as_str()).collect();
    let body = product(rest, span);
    let names = free(&body);
    let summed = names.iter().any(|name| !symbols.contains(name) && !own.contains(name.as_str()));
    let mentions_place = names.iter().any(|name| name.contains(PLACE));
    let is_part = summed && own.len() == iterators.len() && !mentions_place;
    is_part.then_some(Before { iterators, body, conditions })
}

/// The accesses of a product of three tensors or more whose subscripts merge iterators, each with the iterators that
/// its copy has, and what bounds them.
pub(super) fn copied(
    file: &File,
    symbols: &BTreeSet<String>,
    product: &Term,
) -> Vec<(usize, Vec<Name>, Vec<Term>)> {
    let Term::Product(factors, _) = product else { return Vec::new() };
    let elements = |factor: &&Term| {
        matches!(factor, Term::Access { tensor, subscripts, position: None, .. }
            if !subscripts.is_empty() && !symbols.contains(&tensor.text))
    };
    if factors.iter().filter(elements).count() < 3 {
        return Vec::new();
    }
    let ranges = Ranges { file, symbols, product };
    let of = |(at, factor): (usize, &Term)| {
        let Term::Access { subscripts, position: None, reciprocal: false, span, .. } = factor
        else {
            return None;
        };
        let (mut iterators, mut bounds, mut merges) = (Vec::new(), Vec::new(), false);
        for subscript in subscripts {
            match (&subscript.kind, ranges.merged(subscript)) {
                (_, Some(merged)) => {
                    iterators.extend(merged.iterators(*span));
                    bounds.extend(merged.bounds(*span));
                    merges = true;
                }
                (ExprKind::Name(name), None) if !symbols.contains(name) => {
                    iterators.push(Name { text: name.clone(), span: *span });
                }
                _ => return None,
            }
        }
        let own: BTreeSet<&str> = iterators.iter().map(|name| name.text.as_str()).collect();
        (merges && own.len() == iterators.len()).then_some((at, iterators, bounds))
    };
    factors.iter().enumerate().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::placed::tests::rules;

    #[test]
    fn merged_dimensions_are_taken_apart() {
        let found = rules(
            "symbols: N, M, K
            types: f = f32
            A:D(i, j) := (0 <= i < N) * (0 <= j < N)
            B:D(k, l) := (0 <= k < M) * (0 <= l < M)
            f:D(n) := (0 <= n < N * M)
            y(i * M + k) := A(i, j) * B(k, l) * f(l + j * M)
            K(i * M + k, M * j + l) := A(i, j) * B(k, l)
            z(i * M * K + k * K + c) := B(k, l) * A(i, i) * (0 <= c < K)",
        );
        expect_test::expect![[r#"
            types: f = f32, y.1 = f32
            y.1(j, l) := f(l + j * M) * (0 <= j < N) * (0 <= l < M)
            y.2(i, k) := A(i, j) * B(k, l) * y.1(j, l)
            y(y.at1) := y.2(i, k) * (i * M + k = y.at1) * (0 <= y.at1 < N * M)
            K(K.at1, K.at2) := A(i, j) * B(k, l) * (i * M + k = K.at1) * (M * j + l = K.at2) * (0 <= K.at1 < N * M) * (0 <= K.at2 < N * M)
            z.1(i, k, c) := B(k, l) * A(i, i) * (0 <= c < K)
            z(z.at1) := z.1(i, k, c) * (i * M * K + k * K + c = z.at1) * (0 <= z.at1 < N * M * K)
        "#]].assert_eq(&found);
    }

    #[test]
    fn others_stay() {
        let found = rules(
            "symbols: N, M
            A:D(i, j) := (0 <= i < N) * (0 <= j < N)
            x:D(n) := (0 <= n < N * M)
            y:D(n) := (0 <= n < N * M)
            y(i * M + j) := A(i, j) * A(j, k)
            z(i) := A(i, j) * A(j, k) * x(k * M + j)
            w(i, k) := A(i, j) * x(j * M + k) * (0 <= k < M)",
        );
        expect_test::expect![[r#"
            y(y.at1) := A(i, j) * A(j, k) * (i * M + j = y.at1)
            z(i) := A(i, j) * A(j, k) * x(k * M + j)
            w(i, k) := A(i, j) * x(j * M + k) * (0 <= k < M)
        "#]]
        .assert_eq(&found);
    }
}
