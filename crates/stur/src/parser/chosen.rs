//! Elements that values choose: `E(c(i), j)` is `sum(k) E(k, j) * (c(i) = k)`, where `k` is a name that no text has
//! otherwise: `E.at1`. There is no such element, and the sum is 0, where `c(i)` is no place of the dimension.
//!
//! In a head, values say where terms are added: `x(p(i)) := v(i)` is `x(k) := v(i) * (p(i) = k)`, where `k` is `x.at1`.
//! So do expressions of iterators, and iterators that stand there already: `D(i, i) := x(i)`, `y(i + 1) := x(i)`.
//! A reduction that is all of the right-hand side, and goes over an iterator of these values, is one of each element's
//! own terms: `m(p(i)) := max(i) v(i)` is `m(k) := max(i) v(i) * (p(i) = k)`.

use std::collections::BTreeSet;

use super::cursor::Parser;
use super::node::{Node, NodeKind};
use super::statistics::{product, whole};
use super::sums::free;
use super::tails::{self, has_one, take};
use super::terms::expression;
use super::values::{call, is_value, number};
use super::{Result, error, with_hint};
use crate::ast::{
    BinaryOp, CompareOp, Expr, ExprKind, Name, Operation, PLACE, ReduceOp, Reduction, Span, Term,
};

/// The values among the subscripts of a head, each compared with the iterator that stands there: `(p(i) = x.at1)`.
pub(super) struct Sent {
    tests: Vec<Node>,
}

impl Sent {
    /// A value in a place of a head, as an iterator.
    pub(super) fn iterator(&mut self, head: &Name, place: usize, value: Node) -> Name {
        let span = value.span;
        let text = format!("{}{PLACE}{}", head.text, place + 1);
        let iterator = Node { kind: NodeKind::Name(text.clone()), span };
        let test =
            Node { kind: NodeKind::Compare(vec![value, iterator], vec![CompareOp::Eq]), span };
        self.tests.push(Node { kind: NodeKind::Paren(Box::new(test)), span });
        Name { text, span }
    }

    /// Without values.
    pub(super) fn new() -> Sent {
        Sent { tests: Vec::new() }
    }

    /// Whether there are none that terms are still to be multiplied with.
    pub(super) fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Whether elements say where terms are added, not only iterators and numbers.
    pub(super) fn by_value(&self) -> bool {
        self.tests.iter().any(is_value_test)
    }

    /// A sum, of which some summands lack an iterator that says where it goes, as one value: each of its values has all
    /// summands. `S(i + j) := A(i, j) - x(i)` subtracts once for each element of `A`.
    pub(super) fn of_each(&self, body: Term) -> Term {
        let Term::Sum(parts, span) = &body else { return body };
        if self.is_empty() || self.by_value() {
            return body;
        }
        let of_all: BTreeSet<String> = parts.iter().flat_map(free).collect();
        let says = |name: &&String| {
            self.tests.iter().any(|test| tails::free(test).contains(name.as_str()))
        };
        let said: Vec<&String> = of_all.iter().filter(says).collect();
        let lacks = |part: &Term| {
            let own = free(part);
            said.iter().any(|name| !own.contains(*name))
        };
        match parts.iter().any(lacks) {
            true => whole(body.clone(), *span),
            false => body,
        }
    }

    /// Whether a reduction goes over an iterator of a value.
    pub(super) fn are_reduced(&self, reduction: &Reduction) -> bool {
        self.tests.iter().any(|test| has_one(test, reduction))
    }

    /// Multiplies what a reduction reduces with the comparisons.
    pub(super) fn restrict(&mut self, body: &mut Node) {
        let (span, tests) = (body.span, std::mem::take(&mut self.tests));
        let tests = tests.into_iter().map(|test| (BinaryOp::Mul, test));
        let of_products = |rest: &[(BinaryOp, Node)]| {
            rest.iter().all(|(operator, _)| matches!(operator, BinaryOp::Mul | BinaryOp::Div))
        };
        match &mut body.kind {
            NodeKind::Chain(_, rest) if of_products(rest) => rest.extend(tests),
            _ => {
                let first = take(body);
                let first = match is_open(&first) {
                    true => Node { kind: NodeKind::Paren(Box::new(first)), span },
                    false => first,
                };
                *body = Node { kind: NodeKind::Chain(Box::new(first), tests.collect()), span };
            }
        }
    }

    /// The reduction within a right-hand side that goes over an iterator of a value, if there is one.
    pub(super) fn reduced_within(&self, node: &Node) -> Option<Span> {
        match &node.kind {
            NodeKind::Reduced(reduction, ..) if self.are_reduced(reduction) => Some(node.span),
            _ => node.parts().into_iter().find_map(|part| self.reduced_within(part)),
        }
    }
}

fn is_value_test(test: &Node) -> bool {
    match &test.kind {
        NodeKind::Paren(inner) => is_value_test(inner),
        NodeKind::Compare(operands, _) => operands.iter().any(is_value),
        _ => false,
    }
}

/// Whether a node is a sum or a comparison without parentheses.
fn is_open(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Chain(..) | NodeKind::Compare(..) | NodeKind::Either(..))
}

impl Parser<'_> {
    /// A right-hand side whose terms are added where values say: each product is multiplied with the comparisons.
    pub(super) fn sent(&self, term: Term, sent: Sent) -> Result<Term> {
        let tests: Vec<Term> =
            sent.tests.into_iter().map(|test| self.term(test)).collect::<Result<_>>()?;
        Ok(if tests.is_empty() { term } else { times(term, &tests) })
    }

    /// An element with values among its subscripts.
    pub(super) fn chosen(
        &self,
        tensor: Name,
        arguments: Vec<Node>,
        reciprocal: bool,
        span: Span,
    ) -> Result<Term> {
        if reciprocal {
            let message =
                format!("the reciprocal of an element of `{}` that a value chooses", tensor.text);
            let error = error("E0009", message, span, "a value as a subscript");
            return Err(with_hint(error, "divide by it: `1 / E(c(i))`"));
        }
        let depth = arguments.iter().map(depth).max().unwrap_or_default();
        let (mut subscripts, mut factors, mut iterators) = (Vec::new(), Vec::new(), Vec::new());
        for (place, argument) in arguments.into_iter().enumerate() {
            if !is_value(&argument) {
                subscripts.push(expression(argument)?);
                continue;
            }
            let at = argument.span;
            let name = format!("{}{PLACE}{}{}", tensor.text, place + 1, "_".repeat(depth));
            let iterator = Node { kind: NodeKind::Name(name.clone()), span: at };
            factors.push(self.comparisons(vec![argument, iterator], &[CompareOp::Eq], at)?);
            subscripts.push(Expr { kind: ExprKind::Name(name.clone()), span: at });
            iterators.push(Name { text: name, span: at });
        }
        factors.insert(0, Term::Access { position: None, tensor, subscripts, reciprocal, span });
        let reduction = Reduction { operator: ReduceOp::Sum, iterators, span };
        Ok(Term::Reduced { reduction, body: Box::new(Term::Product(factors, span)), span })
    }
}

/// A sum of products, each multiplied with some factors. What is not sent is 0 also where 0 would be multiplied with
/// what is no number: quotients and functions are chosen by the factors, `x(p(i)) := 1 / v(i)` is
/// `x(k) := where(p(i) = k, 1 / v(i), 0)`.
fn times(term: Term, factors: &[Term]) -> Term {
    match term {
        term if may_be_infinite(&term) && !matches!(term, Term::Sum(..)) => {
            let span = term.span();
            // There is nothing where comparisons of iterators do not hold.
            let (mut bounds, values) = match term {
                Term::Product(own, _) => own.into_iter().partition(Term::is_condition),
                other => (Vec::new(), vec![other]),
            };
            let mut value = product(values, span);
            let (own, tests): (Vec<Term>, Vec<Term>) =
                factors.iter().cloned().partition(Term::is_condition);
            if !tests.is_empty() {
                let chosen = vec![product(tests, span), value, number(0.0, span)];
                value = call(Operation::Where, chosen, span);
            }
            bounds.insert(0, value);
            bounds.extend(own);
            product(bounds, span)
        }
        Term::Sum(parts, span) => {
            Term::Sum(parts.into_iter().map(|part| times(part, factors)).collect(), span)
        }
        Term::Product(mut own, span) => {
            own.extend(factors.iter().cloned());
            Term::Product(own, span)
        }
        other => {
            let span = other.span();
            Term::Product(std::iter::once(other).chain(factors.iter().cloned()).collect(), span)
        }
    }
}

/// Whether a product divides, or has functions that may.
fn may_be_infinite(term: &Term) -> bool {
    match term {
        Term::Call { operation: Operation::Divide, .. } => true,
        Term::Call { operation: Operation::Function(function), .. } => {
            !function.of_integers() || function.is_quotient()
        }
        Term::Access { reciprocal, .. } => *reciprocal,
        Term::Product(parts, _) => parts.iter().any(may_be_infinite),
        _ => false,
    }
}

/// How many elements within each other are chosen by values.
fn depth(node: &Node) -> usize {
    let deepest =
        |nodes: &mut dyn Iterator<Item = &Node>| nodes.map(depth).max().unwrap_or_default();
    match &node.kind {
        NodeKind::Number { .. } | NodeKind::Name(_) => 0,
        NodeKind::Call { arguments, .. } => {
            usize::from(arguments.iter().any(is_value)) + deepest(&mut arguments.iter())
        }
        NodeKind::Power(one, other)
        | NodeKind::Floor(one, other)
        | NodeKind::Either(one, other) => depth(one).max(depth(other)),
        NodeKind::Reduced(_, _, inner) | NodeKind::Neg(inner) | NodeKind::Paren(inner) => {
            depth(inner)
        }
        NodeKind::Chain(first, rest) => {
            depth(first).max(deepest(&mut rest.iter().map(|(_, node)| node)))
        }
        NodeKind::Compare(operands, _) => deepest(&mut operands.iter()),
    }
}

/// A sum of products, with the sums over places of its factors as sums of the products: `E(c(i), j) * x(j)` ->
/// `E(k, j) * (c(i) = k) * x(j)`.
pub(super) fn joined(term: Term) -> Term {
    match term {
        Term::Sum(parts, span) => Term::Sum(parts.into_iter().map(joined).collect(), span),
        Term::Product(factors, span) => {
            let mut all: Vec<Term> = Vec::new();
            let mut taken: Vec<String> = Vec::new();
            for factor in factors {
                match factor {
                    Term::Reduced { reduction, body, .. }
                        if is_place(&reduction)
                            && !reduction.iterators.iter().any(|one| taken.contains(&one.text)) =>
                    {
                        taken.extend(reduction.iterators.into_iter().map(|one| one.text));
                        match *body {
                            Term::Product(parts, _) => all.extend(parts),
                            body => all.push(body),
                        }
                    }
                    factor => all.push(factor),
                }
            }
            Term::Product(all, span)
        }
        Term::Reduced { reduction, body, .. } if is_place(&reduction) => *body,
        other => other,
    }
}

fn is_place(reduction: &Reduction) -> bool {
    reduction.operator == ReduceOp::Sum
        && !reduction.iterators.is_empty()
        && reduction.iterators.iter().all(|one| one.text.contains(PLACE))
}
