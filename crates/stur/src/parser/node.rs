//! What a line's right-hand side is read into first.

use crate::ast::{BinaryOp, CompareOp, Name, Reduction, Span};

/// A term or an integer expression, before its place decides which.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    Number {
        text: String,
        reciprocal: bool,
    },
    Name(String),
    Call {
        tensor: Name,
        arguments: Vec<Node>,
        reciprocal: bool,
    },
    Neg(Box<Node>),
    /// `first op node op node`, operators of one rank.
    Chain(Box<Node>, Vec<(BinaryOp, Node)>),
    Compare(Vec<Node>, Vec<CompareOp>),
    Paren(Box<Node>),
    /// `group ^ 2`
    Power(Box<Node>, Box<Node>),
    /// `max(j) A(i, j)` within a right-hand side.
    Reduced(Reduction, Quantifier, Box<Node>),
}

/// What a reduction asks of what it reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    /// That of its operator: `or(j)`, `any(j)`.
    Some,
    /// `all(j)`: that there is none that is 0, which its operator finds out.
    All,
}
