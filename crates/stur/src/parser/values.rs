//! Values that are not sums of products: functions, quotients, powers, comparisons of values.
//!
//! Sugar ends here: `a - b` is `a + (-1) * b`, `A(i)^2` is `pow(A(i), 2)`, `relu(a)` is `max(a, 0)`.

use std::f64::consts::FRAC_1_SQRT_2;

use dastac_elements::{Element, Function};

use super::node::{Node, NodeKind, POS};
use super::{Parser, Result, error, with_hint, words};
use crate::ast::{BinaryOp, CompareOp, Name, Operation, Reduction, Span, Term};
use crate::diagnostic::Diagnostic;
use crate::hint::similar;

/// Functions that are others by another name, or made of others.
const SUGAR: [&str; 12] = [
    "relu",
    "sigmoid",
    "silu",
    "gelu",
    "softplus",
    "square",
    "clip",
    "minimum",
    "maximum",
    "reciprocal",
    "where",
    "not",
];

impl Term {
    /// The number 1.
    pub(super) fn one(span: Span) -> Term {
        number(1.0, span)
    }
}

pub(super) fn number(value: f64, span: Span) -> Term {
    Term::Number { value, reciprocal: false, span }
}

pub(super) fn call(operation: Operation, arguments: Vec<Term>, span: Span) -> Term {
    Term::Call { operation, arguments, span }
}

/// `-1` times a term.
pub(super) fn negated(term: Term, span: Span) -> Term {
    match term {
        Term::Number { value, reciprocal, .. } => Term::Number { value: -value, reciprocal, span },
        Term::Product(mut factors, _) => {
            factors.insert(0, number(-1.0, span));
            Term::Product(factors, span)
        }
        other => Term::Product(vec![number(-1.0, span), other], span),
    }
}

/// `a / b`
pub(super) fn quotient(dividend: Term, divisor: Term, span: Span) -> Term {
    call(Operation::Divide, vec![dividend, divisor], span)
}

/// `a // b`: the quotient, rounded down.
pub(super) fn floor(dividend: Term, divisor: Term, span: Span) -> Term {
    call(Operation::Function(Function::FloorDivide), vec![dividend, divisor], span)
}

/// `a % b`: what the quotient, rounded down, leaves; of the divisor's sign.
pub(super) fn remainder(dividend: Term, divisor: Term, span: Span) -> Term {
    call(Operation::Function(Function::Mod), vec![dividend, divisor], span)
}

/// `a or b`
pub(super) fn larger(one: Term, other: Term, span: Span) -> Term {
    call(Operation::Max, vec![one, other], span)
}

/// Divides the product of some terms: by the reciprocal of a number or an element, else by the value of the divisor.
pub(super) fn divide(terms: &mut Vec<Term>, divisor: Term, span: Span) {
    match divisor {
        Term::Number { value, reciprocal: false, span } => {
            terms.push(Term::Number { value, reciprocal: true, span });
        }
        Term::Access { position: None, tensor, subscripts, reciprocal: false, span } => {
            let position = None;
            terms.push(Term::Access { position, tensor, subscripts, reciprocal: true, span });
        }
        Term::Product(factors, _) => {
            factors.into_iter().for_each(|factor| divide(terms, factor, span));
        }
        // By a reciprocal.
        Term::Call { operation: Operation::Divide, mut arguments, .. }
            if matches!(arguments[..], [Term::Number { value: 1.0, reciprocal: false, .. }, _]) =>
        {
            terms.extend(arguments.pop());
        }
        other => {
            // `1 / a` is nothing but a reciprocal.
            if matches!(&terms[..], [Term::Number { value: 1.0, reciprocal: false, .. }]) {
                terms.clear();
            }
            terms.push(quotient(Term::one(span), other, span));
        }
    }
}

/// Whether no value is 0 where conditions hold: `all(j) A(i, j) * (j < i)` -> `((or(j) (A(i, j) = 0) * (j < i)) = 0)`.
pub(super) fn all_hold(
    reduction: Reduction,
    (mut found, mut values): (Vec<Term>, Vec<Term>),
    span: Span,
) -> Term {
    if values.is_empty() {
        values = std::mem::take(&mut found);
    }
    let is_zero = |mut values: Vec<Term>| {
        let value = match values.len() {
            1 => values.remove(0),
            _ => Term::Product(values, span),
        };
        call(Operation::Compare(CompareOp::Eq), vec![value, number(0.0, span)], span)
    };
    found.push(is_zero(values));
    let body = match found.len() {
        1 => found.remove(0),
        _ => Term::Product(found, span),
    };
    is_zero(vec![Term::Reduced { reduction, body: Box::new(body), span }])
}

/// Whether a part of a comparison is computed of comparisons: `(i = 0) + (i = N - 1)`.
pub(super) fn has_comparison(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Compare(..) => true,
        NodeKind::Neg(_) | NodeKind::Paren(_) | NodeKind::Chain(..) => {
            node.parts().into_iter().any(has_comparison)
        }
        _ => false,
    }
}

/// Whether a part of a comparison is the value of elements, not an integer.
pub(super) fn is_value(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Number { .. } | NodeKind::Name(_) => false,
        NodeKind::Call { tensor, .. } => tensor.text != POS,
        NodeKind::Power(..) | NodeKind::Reduced(..) => true,
        NodeKind::Neg(inner) | NodeKind::Paren(inner) => is_value(inner),
        NodeKind::Floor(one, other) | NodeKind::Either(one, other) => {
            is_value(one) || is_value(other)
        }
        NodeKind::Chain(first, rest) => {
            is_value(first) || rest.iter().any(|(_, node)| is_value(node))
        }
        NodeKind::Compare(operands, _) => operands.iter().any(is_value),
    }
}

impl Parser<'_> {
    /// Functions that round quotients of integers as the operators of integers that they are.
    ///
    /// Before -> after: `floor(i / 4)`, `floor_divide(i, 4)` -> `i // 4`; `mod(i, 4)` -> `(i % 4)`; `floor(x(i) / 4)`
    /// stays.
    pub(super) fn rounded(&self, node: Node) -> Node {
        let Node { kind, span } = node;
        let inside = |node: Box<Node>| Box::new(self.rounded(*node));
        let kind = match kind {
            NodeKind::Call { tensor, mut arguments, reciprocal: false }
                if !self.heads.contains(&tensor.text) =>
            {
                let operator = match tensor.text.as_str() {
                    "floor" => None,
                    "floor_divide" => Some(BinaryOp::Div),
                    "mod" => Some(BinaryOp::Mod),
                    _ => {
                        return Node {
                            kind: NodeKind::Call { tensor, arguments, reciprocal: false },
                            span,
                        };
                    }
                };
                arguments = arguments.into_iter().map(|node| self.rounded(node)).collect();
                let fits = match &arguments[..] {
                    [dividend] => operator.is_none() && is_quotient(dividend),
                    [dividend, divisor] => {
                        operator.is_some() && is_whole(dividend) && is_divisor(divisor)
                    }
                    _ => false,
                };
                match (operator, arguments.pop(), arguments.pop()) {
                    (None, Some(dividend), _) if fits => floor_of(dividend),
                    (Some(BinaryOp::Mod), Some(divisor), Some(dividend)) if fits => {
                        let rest = vec![(BinaryOp::Mod, divisor)];
                        let chain = NodeKind::Chain(Box::new(dividend), rest);
                        NodeKind::Paren(Box::new(Node { kind: chain, span }))
                    }
                    (Some(_), Some(divisor), Some(dividend)) if fits => {
                        NodeKind::Floor(Box::new(dividend), Box::new(divisor))
                    }
                    (_, last, first) => {
                        arguments.extend(first.into_iter().chain(last));
                        NodeKind::Call { tensor, arguments, reciprocal: false }
                    }
                }
            }
            NodeKind::Neg(inner) => NodeKind::Neg(inside(inner)),
            NodeKind::Paren(inner) => NodeKind::Paren(inside(inner)),
            NodeKind::Chain(first, rest) => {
                let rest = rest.into_iter().map(|(op, node)| (op, self.rounded(node)));
                NodeKind::Chain(inside(first), rest.collect())
            }
            kind => kind,
        };
        Node { kind, span }
    }
}

/// Functions of integers that give integers, whatever is done to quotients within them.
const WHOLE: [&str; 9] =
    ["min", "max", "minimum", "maximum", "abs", "where", "relu", "floor_divide", "mod"];

/// Functions that give integers.
const ROUNDING: [&str; 5] = ["floor", "ceil", "round", "trunc", "sign"];

impl Parser<'_> {
    /// Whether a node is computed of iterators, symbols and integers alone, so that its quotients are those of
    /// integers: `max(i / 2, 1)`, but not `i / 2 + 0.5`, `sqrt(i / 2)` or `i / 2 + p(i)`.
    fn is_integer(&self, node: &Node) -> bool {
        match &node.kind {
            NodeKind::Name(_) => true,
            NodeKind::Number { text, reciprocal } => !reciprocal && text.parse::<i64>().is_ok(),
            NodeKind::Call { tensor, arguments, reciprocal: false }
                if !self.heads.contains(&tensor.text) =>
            {
                let name = tensor.text.as_str();
                let chosen = usize::from(name == "where");
                let of_elements = |node: &Node| match node.kind {
                    NodeKind::Number { .. } => true,
                    _ => self.is_integer(node),
                };
                WHOLE.contains(&name)
                    && arguments.iter().skip(chosen).all(|one| self.is_integer(one))
                    || ROUNDING.contains(&name) && arguments.iter().all(of_elements)
            }
            NodeKind::Neg(_) | NodeKind::Paren(_) | NodeKind::Chain(..) | NodeKind::Floor(..) => {
                node.parts().into_iter().all(|part| self.is_integer(part))
            }
            _ => false,
        }
    }
}

/// An integer whose quotients are rounded down, but for those within functions that round.
///
/// Before -> after: `max(i / 2, 1)` -> `max(i // 2, 1)`, `2 * i / 3 * j` -> `2 * i // 3 * j`.
fn rounded_down(node: Node) -> Node {
    let Node { kind, span } = node;
    let inside = |node: Box<Node>| Box::new(rounded_down(*node));
    let kind = match kind {
        NodeKind::Call { tensor, arguments, reciprocal }
            if !ROUNDING.contains(&tensor.text.as_str()) =>
        {
            let arguments = arguments.into_iter().map(rounded_down).collect();
            NodeKind::Call { tensor, arguments, reciprocal }
        }
        NodeKind::Neg(inner) => NodeKind::Neg(inside(inner)),
        NodeKind::Paren(inner) => NodeKind::Paren(inside(inner)),
        NodeKind::Floor(one, other) => NodeKind::Floor(inside(one), inside(other)),
        NodeKind::Chain(first, rest) => {
            let (mut value, mut open) = (rounded_down(*first), Vec::new());
            for (op, node) in rest {
                let node = rounded_down(node);
                if op == BinaryOp::Div {
                    let dividend = chained(value, std::mem::take(&mut open));
                    let span = dividend.span.to(node.span);
                    value = Node { kind: NodeKind::Floor(dividend.into(), node.into()), span };
                } else {
                    open.push((op, node));
                }
            }
            return chained(value, open);
        }
        // What is compared within is rounded, or not, by itself.
        kind => kind,
    };
    Node { kind, span }
}

fn chained(first: Node, rest: Vec<(BinaryOp, Node)>) -> Node {
    let Some((_, last)) = rest.last() else { return first };
    let span = first.span.to(last.span);
    Node { kind: NodeKind::Chain(Box::new(first), rest), span }
}

/// Whether a node is an integer, whatever its names are, also if its quotients are not rounded.
fn is_whole(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Name(_) => true,
        NodeKind::Number { text, reciprocal } => !reciprocal && text.parse::<i64>().is_ok(),
        NodeKind::Neg(inner) => is_whole(inner),
        NodeKind::Paren(inner) => is_whole(inner),
        NodeKind::Floor(dividend, divisor) => is_whole(dividend) && is_divisor(divisor),
        NodeKind::Chain(first, rest) => {
            let fits = |(op, node): &(BinaryOp, Node)| match op {
                BinaryOp::Div => false,
                BinaryOp::Mod => is_divisor(node),
                _ => is_whole(node),
            };
            is_whole(first) && rest.iter().all(fits)
        }
        _ => false,
    }
}

/// Whether a node is an integer, or a quotient of an integer and a positive number.
fn is_quotient(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Paren(inner) => is_quotient(inner),
        NodeKind::Chain(first, rest) => match &rest[..] {
            [before @ .., (BinaryOp::Div, divisor)] => {
                let product =
                    |(op, node): &(BinaryOp, Node)| *op == BinaryOp::Mul && is_whole(node);
                is_whole(first) && before.iter().all(product) && is_divisor(divisor)
            }
            _ => is_whole(node),
        },
        _ => is_whole(node),
    }
}

/// A quotient, or an integer, rounded down.
fn floor_of(node: Node) -> NodeKind {
    match node.kind {
        NodeKind::Paren(inner) => floor_of(*inner),
        NodeKind::Chain(first, mut rest) => match rest.pop() {
            Some((BinaryOp::Div, divisor)) => {
                let dividend = match rest.is_empty() {
                    true => *first,
                    false => Node { kind: NodeKind::Chain(first, rest), span: node.span },
                };
                NodeKind::Floor(Box::new(dividend), Box::new(divisor))
            }
            last => {
                rest.extend(last);
                let kind = NodeKind::Chain(first, rest);
                NodeKind::Paren(Box::new(Node { kind, span: node.span }))
            }
        },
        kind => NodeKind::Paren(Box::new(Node { kind, span: node.span })),
    }
}

fn is_divisor(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Number { text, reciprocal: false } => text.parse::<i64>().is_ok_and(|by| by > 0),
        NodeKind::Paren(inner) => is_divisor(inner),
        _ => false,
    }
}

/// The operation of a name, where it is one.
fn operation(name: &str) -> Option<Operation> {
    let element = || Element::OF_TENSORS.iter().copied().find(|one| one.name() == name);
    Some(match name {
        "min" | "minimum" => Operation::Min,
        "max" | "maximum" => Operation::Max,
        "where" => Operation::Where,
        _ => match Function::from_name(name) {
            Some(function) => Operation::Function(function),
            None => Operation::Cast(element()?),
        },
    })
}

/// Whether an operation takes so many arguments: the least and the largest are of two and more.
fn takes(operation: Operation, arguments: usize) -> bool {
    let is_extreme = matches!(operation, Operation::Min | Operation::Max);
    operation.arity() == arguments || is_extreme && arguments > 2
}

/// A function that does not exist, and what may have been meant.
fn unknown(name: &Name) -> Box<Diagnostic> {
    let text = name.text.as_str();
    let names = Function::ALL.iter().map(|function| function.name());
    let error = error("E0013", format!("unknown function `{text}`"), name.span, "unknown");
    if let Some(hint) = words::function(text) {
        return with_hint(error, hint);
    }
    // Of a module, such as `np.exp`.
    if let Some((_, own)) = text.rsplit_once('.') {
        if Function::from_name(own).is_some() || SUGAR.contains(&own) {
            return with_hint(error, format!("functions have no module: `{own}(..)`"));
        }
        if let Some(hint) = words::function(own).or_else(|| words::reduction(own)) {
            return with_hint(error, hint);
        }
    }
    match similar(text, names) {
        Some(close) => with_hint(error, format!("did you mean `{close}`?")),
        None => error,
    }
}

impl Parser<'_> {
    /// Whether a call is one of a function: its name is that of one, and of no tensor that the file describes.
    pub(super) fn is_function(&self, name: &str, arguments: &[Node]) -> bool {
        let known = operation(name).is_some() || SUGAR.contains(&name);
        // A name with values in parentheses is meant to be one.
        let known = known || name != POS && arguments.iter().any(is_value);
        // `max()` is a scalar, and `max(i)` an element.
        let fits = operation(name).is_none_or(|one| takes(one, arguments.len()))
            || arguments.iter().any(is_value);
        known && fits && !arguments.is_empty() && !self.heads.contains(name)
    }

    /// A call of a function.
    pub(super) fn function(&self, name: &Name, arguments: Vec<Node>, span: Span) -> Result<Term> {
        let found = arguments.len();
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.value(argument, true)?);
        }
        let text = name.text.as_str();
        if operation(text).is_none() && !SUGAR.contains(&text) {
            return Err(unknown(name));
        }
        let arity = match (text, operation(text)) {
            ("clip", _) => 3,
            (_, Some(operation)) => operation.arity(),
            _ => 1,
        };
        let fits = match operation(text) {
            Some(operation) => takes(operation, found),
            None => found == arity,
        };
        if !fits {
            let arguments = |count: usize| match count {
                1 => "1 argument".to_string(),
                count => format!("{count} arguments"),
            };
            let message = format!("`{}` takes {}, not {found}", name.text, arguments(arity));
            let error = error("E0014", message, span, &arguments(found));
            return Err(match (text, found) {
                ("min" | "max", 1) => with_hint(
                    error,
                    format!(
                        "over all elements: `y(i) := {text}(j) A(i, j)`, `s() := {text}(i, j) A(i, j)`"
                    ),
                ),
                ("log", 2) => with_hint(error, "the logarithm to base `b` is `log(a) / log(b)`"),
                ("round", 2) => with_hint(error, "two decimals are `round(100 * a) / 100`"),
                _ => error,
            });
        }
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or(Term::one(span));
        let exponential = Operation::Function(Function::Exp);
        Ok(match (name.text.as_str(), operation(&name.text)) {
            ("relu", _) => call(Operation::Max, vec![next(), number(0.0, span)], span),
            ("square", _) => {
                let power = Operation::Function(Function::Pow);
                call(power, vec![next(), number(2.0, span)], span)
            }
            // x * (1 / (1 + exp(-x)))
            ("silu", _) => {
                let value = next();
                let below = call(exponential, vec![negated(value.clone(), span)], span);
                let divisor = Term::Sum(vec![Term::one(span), below], span);
                Term::Product(vec![value, quotient(Term::one(span), divisor, span)], span)
            }
            // x * (1 + erf(x / sqrt(2))) / 2
            ("gelu", _) => {
                let value = next();
                let scaled = vec![value.clone(), number(FRAC_1_SQRT_2, span)];
                let error = Operation::Function(Function::Erf);
                let part = call(error, vec![Term::Product(scaled, span)], span);
                let share = Term::Sum(vec![Term::one(span), part], span);
                Term::Product(vec![number(0.5, span), value, share], span)
            }
            // max(x, 0) + log1p(exp(-abs(x))), which is log(1 + exp(x)) without overflow
            ("softplus", _) => {
                let value = next();
                let magnitude = call(Operation::Function(Function::Abs), vec![value.clone()], span);
                let small = call(exponential, vec![negated(magnitude, span)], span);
                let rest = call(Operation::Function(Function::Log1p), vec![small], span);
                let positive = call(Operation::Max, vec![value, number(0.0, span)], span);
                Term::Sum(vec![positive, rest], span)
            }
            ("reciprocal", _) => quotient(Term::one(span), next(), span),
            ("sigmoid", _) => {
                let below = call(exponential, vec![negated(next(), span)], span);
                let divisor = Term::Sum(vec![Term::one(span), below], span);
                quotient(Term::one(span), divisor, span)
            }
            ("clip", _) => {
                let above = call(Operation::Max, vec![next(), next()], span);
                call(Operation::Min, vec![above, next()], span)
            }
            (_, Some(operation @ (Operation::Min | Operation::Max))) => {
                let first = next();
                values.fold(first, |one, other| call(operation, vec![one, other], span))
            }
            (_, Some(operation)) => call(operation, values.collect(), span),
            ("not", _) => {
                let equals = Operation::Compare(CompareOp::Eq);
                call(equals, vec![next(), number(0.0, span)], span)
            }
            (_, None) => return Err(unknown(name)),
        })
    }

    /// `base ^ exponent`
    pub(super) fn power(
        &self,
        base: Node,
        exponent: Node,
        argument: bool,
        span: Span,
    ) -> Result<Term> {
        let base = self.value(base, argument)?;
        let exponent = self.value(exponent, true)?;
        if let Term::Number { value, reciprocal: false, .. } = exponent
            && value == -1.0
        {
            let mut product = Vec::new();
            divide(&mut product, base, span);
            return Ok(match product.len() {
                1 => product.remove(0),
                _ => Term::Product(product, span),
            });
        }
        Ok(call(Operation::Function(Function::Pow), vec![base, exponent], span))
    }

    /// `a < b < c`: 1 where each neighbouring pair holds, else 0. Quotients of integers are rounded down, as they are
    /// in comparisons without functions.
    pub(super) fn comparisons(
        &self,
        operands: Vec<Node>,
        operators: &[CompareOp],
        span: Span,
    ) -> Result<Term> {
        let integers = operands.iter().all(|node| self.is_integer(node));
        let value = |node: Node| match integers {
            true => self.value(rounded_down(node), true),
            false => self.value(node, true),
        };
        let values: Vec<Term> = operands.into_iter().map(value).collect::<Result<_>>()?;
        let pairs = values.windows(2).zip(operators);
        let mut all: Vec<Term> = pairs
            .map(|(pair, operator)| call(Operation::Compare(*operator), pair.to_vec(), span))
            .collect();
        Ok(match all.len() {
            1 => all.remove(0),
            _ => Term::Product(all, span),
        })
    }
}
