//! Where a reduction within a right-hand side ends.
//!
//! It is read up to the end of its parentheses. What has none of its iterators, and would mean something else in it,
//! goes out again: `2 * sum(j) A(i, j) + b(i)` is `2 * (sum(j) A(i, j)) + b(i)`, `x(i) / sum(j) A(i, j) * b(i)` is
//! `x(i) / (sum(j) A(i, j)) * b(i)`, and `var(j) A(i, j) * b(i)` is `(var(j) A(i, j)) * b(i)`.

use std::collections::BTreeSet;

use super::node::{Node, NodeKind, Quantifier};
use super::sums::is_sum;
use crate::ast::{BinaryOp, Name, ReduceOp, Reduction, Span};

/// What stands behind a statistic and has an iterator of it: `w(i)` in `mean(i) x(i) - w(i)`, which may be meant to be
/// `mean(i) (x(i) - w(i))`.
pub(super) struct Stray {
    pub(super) iterator: Name,
    pub(super) reduction: Span,
    pub(super) summand: Span,
}

/// The parts of a sum, a comparison, or what words join, that may be meant to be part of a statistic before them.
pub(super) fn strays(parts: &[&Node]) -> Vec<Stray> {
    let mut before = Vec::new();
    let mut found = Vec::new();
    for summand in parts {
        found.extend(before.iter().filter_map(|reduction: &&Reduction| {
            let iterator = iterator_in(summand, reduction)?.clone();
            Some(Stray { iterator, reduction: reduction.span, summand: summand.span })
        }));
        statistics(summand, &mut before);
    }
    found
}

/// The statistics among the factors of a product, but for those in parentheses.
fn statistics<'n>(node: &'n Node, found: &mut Vec<&'n Reduction>) {
    match &node.kind {
        NodeKind::Reduced(reduction, quantifier, _) if !quantifier.is_of_all() => {
            found.push(reduction);
        }
        NodeKind::Neg(inner) | NodeKind::Power(inner, _) => statistics(inner, found),
        NodeKind::Compare(operands, _) => {
            operands.iter().for_each(|operand| statistics(operand, found));
        }
        NodeKind::Chain(first, rest) => {
            statistics(first, found);
            rest.iter().for_each(|(_, factor)| statistics(factor, found));
        }
        _ => {}
    }
}

/// Operators, and what stands behind them.
type Rest = Vec<(BinaryOp, Node)>;

/// A sum whose last summand may end in a reduction: summands without the reduction's iterators are summands of the sum,
/// if a factor or a minus sign stands before the reduction.
pub(super) fn summands(node: Node) -> Node {
    let (mut first, mut rest) = match is_sum(&node) {
        true => parts(node),
        false => (node, Vec::new()),
    };
    let is_subtracted = matches!(rest.last(), Some((BinaryOp::Sub, _)));
    let last = rest.last_mut().map_or(&mut first, |(_, last)| last);
    let mut moved = Vec::new();
    spill(last, is_subtracted, &mut moved);
    factors(last);
    rest.append(&mut moved);
    chain(first, rest)
}

/// Takes the factors behind a statistic that have none of its iterators, and those behind a reduction that something is
/// divided by, as factors of the product that ends in it.
pub(super) fn factors(node: &mut Node) {
    let is_divided = match &node.kind {
        NodeKind::Chain(_, rest) => matches!(rest.last(), Some((BinaryOp::Div, _))),
        _ => false,
    };
    let mut moved = Vec::new();
    cut(node, &mut moved, &mut |reduction, quantifier, op, factor| {
        let cuts = is_divided || !quantifier.is_of_all();
        cuts && matches!(op, BinaryOp::Mul | BinaryOp::Div) && !has_one(factor, reduction)
    });
    attach(node, moved);
}

/// What a reduction reduces: sums, minima and maxima in it end before the summands that have none of their iterators,
/// and comparisons without the iterators of a reduction in it belong to the outer one, as `(i != j)` in
/// `min(j) sum(k) (X(i, k) - X(j, k))^2 * (i != j) + 5`.
pub(super) fn reduced(node: Node) -> Node {
    let single = !is_sum(&node);
    let (mut first, mut rest) = if single { (node, Vec::new()) } else { parts(node) };
    let last = rest.last_mut().map_or(&mut first, |(_, last)| last);
    let mut beside = Vec::new();
    if let NodeKind::Reduced(Reduction { operator, .. }, Quantifier::Some, _) = &last.kind
        && matches!(operator, ReduceOp::Sum | ReduceOp::Min | ReduceOp::Max)
    {
        spill(last, true, &mut beside);
    }
    if single {
        let mut moved = Vec::new();
        cut(last, &mut moved, &mut |reduction, _, op, factor| {
            op == BinaryOp::Mul && is_comparison(factor) && !has_one(factor, reduction)
        });
        attach(last, moved);
    }
    rest.extend(beside);
    chain(first, rest)
}

/// Moves summands out of the reduction in which a node ends; `bound` if something stands before the node that would
/// go for them too.
fn spill(node: &mut Node, bound: bool, moved: &mut Rest) {
    let start = node.span;
    let inner = match &mut node.kind {
        NodeKind::Chain(_, rest) => rest.last_mut().map(|(_, last)| last),
        NodeKind::Neg(inner) | NodeKind::Power(_, inner) | NodeKind::Floor(_, inner) => {
            Some(&mut **inner)
        }
        NodeKind::Reduced(_, quantifier, body) if !quantifier.is_of_all() => {
            // A comparison is counted as a whole, else the product that follows.
            if is_sum(body) {
                let (first, rest) = parts(take(body));
                **body = first;
                moved.extend(rest);
            }
            Some(&mut **body)
        }
        NodeKind::Reduced(reduction, _, body) => {
            if bound && is_sum(body) && !reduction.iterators.is_empty() {
                let (first, rest) = parts(take(body));
                let (own, others) =
                    rest.into_iter().partition(|(_, part)| has_one(part, reduction));
                **body = chain(first, own);
                *moved = others;
                node.span = ending(start, body);
            }
            return;
        }
        _ => None,
    };
    let Some(inner) = inner else { return };
    spill(inner, true, moved);
    node.span = ending(start, inner);
}

/// Moves the last factors of the reduction in which a node ends, as long as `moves` says so of one.
fn cut(
    node: &mut Node,
    moved: &mut Rest,
    moves: &mut dyn FnMut(&Reduction, Quantifier, BinaryOp, &Node) -> bool,
) {
    let start = node.span;
    let inner = match &mut node.kind {
        NodeKind::Chain(_, rest) => rest.last_mut().map(|(_, last)| last),
        NodeKind::Neg(inner) | NodeKind::Power(_, inner) => Some(&mut **inner),
        NodeKind::Reduced(reduction, quantifier, body) => {
            if let NodeKind::Chain(_, rest) = &mut body.kind {
                while let Some((op, factor)) = rest.last()
                    && moves(reduction, *quantifier, *op, factor)
                {
                    moved.extend(rest.pop());
                }
                moved.reverse();
            }
            if !moved.is_empty() {
                let (first, rest) = parts(take(body));
                **body = chain(first, rest);
                node.span = ending(start, body);
            }
            return;
        }
        _ => None,
    };
    let Some(inner) = inner else { return };
    cut(inner, moved, moves);
    node.span = ending(start, inner);
}

/// Makes a product of a node and further factors.
fn attach(node: &mut Node, moved: Rest) {
    if moved.is_empty() {
        return;
    }
    let product = take(node);
    let is_product = match &product.kind {
        NodeKind::Chain(_, rest) => matches!(rest[0].0, BinaryOp::Mul | BinaryOp::Div),
        _ => false,
    };
    let (first, mut rest) = match is_product {
        true => parts(product),
        false => (product, Vec::new()),
    };
    rest.extend(moved);
    *node = chain(first, rest);
}

pub(super) fn take(node: &mut Node) -> Node {
    let nothing = Node { kind: NodeKind::Name(String::new()), span: node.span };
    std::mem::replace(node, nothing)
}

/// The operands of a chain.
fn parts(node: Node) -> (Node, Rest) {
    match node.kind {
        NodeKind::Chain(first, rest) => (*first, rest),
        kind => (Node { kind, ..node }, Vec::new()),
    }
}

fn chain(first: Node, rest: Rest) -> Node {
    let Some((_, last)) = rest.last() else { return first };
    let span = first.span.to(last.span);
    Node { kind: NodeKind::Chain(Box::new(first), rest), span }
}

/// From the beginning of a span to the end of a node.
fn ending(start: Span, node: &Node) -> Span {
    Span::new(start.start, node.span.end)
}

fn is_comparison(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Paren(inner) => is_comparison(inner),
        NodeKind::Compare(..) => true,
        _ => false,
    }
}

/// Whether a node has one of the iterators of a reduction.
pub(super) fn has_one(node: &Node, reduction: &Reduction) -> bool {
    iterator_in(node, reduction).is_some()
}

/// The first iterator of a reduction that a node has.
fn iterator_in<'r>(node: &Node, reduction: &'r Reduction) -> Option<&'r Name> {
    let names = free(node);
    reduction.iterators.iter().find(|one| names.contains(one.text.as_str()))
}

/// The names of iterators, symbols and scalars, but for those over which reductions inside go.
pub(super) fn free(node: &Node) -> BTreeSet<&str> {
    if let NodeKind::Name(name) = &node.kind {
        return BTreeSet::from([name.as_str()]);
    }
    let mut names: BTreeSet<&str> = node.parts().into_iter().flat_map(free).collect();
    if let NodeKind::Reduced(reduction, ..) = &node.kind {
        for name in &reduction.iterators {
            names.remove(name.text.as_str());
        }
    }
    names
}
