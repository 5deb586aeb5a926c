//! Elements that values choose: `E(c(i), j)` is `sum(k) E(k, j) * (c(i) = k)`, where `k` is a name that no text has
//! otherwise: `E.at1`. There is no such element, and the sum is 0, where `c(i)` is no place of the dimension.

use super::cursor::Parser;
use super::node::{Node, NodeKind};
use super::terms::expression;
use super::values::is_value;
use super::{Result, error, with_hint};
use crate::ast::{CompareOp, Expr, ExprKind, Name, PLACE, ReduceOp, Reduction, Span, Term};

impl Parser<'_> {
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
