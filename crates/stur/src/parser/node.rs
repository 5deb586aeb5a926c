//! What a line's right-hand side is read into first.

use crate::ast::{BinaryOp, CompareOp, Name, Reduction, Span};

/// The name of a call that asks for a position: that of no tensor, while one that a file describes may be `pos`.
pub(super) const POS: &str = "pos(";

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
    /// `a // b`: the quotient, rounded down.
    Floor(Box<Node>, Box<Node>),
    /// `a or b`
    Either(Box<Node>, Box<Node>),
}

impl Node {
    /// The nodes that it is made of.
    pub(super) fn parts(&self) -> Vec<&Node> {
        match &self.kind {
            NodeKind::Number { .. } | NodeKind::Name(_) => Vec::new(),
            NodeKind::Call { arguments, .. } => arguments.iter().collect(),
            NodeKind::Neg(inner) | NodeKind::Paren(inner) | NodeKind::Reduced(_, _, inner) => {
                vec![inner]
            }
            NodeKind::Chain(first, rest) => {
                std::iter::once(&**first).chain(rest.iter().map(|(_, node)| node)).collect()
            }
            NodeKind::Compare(operands, _) => operands.iter().collect(),
            NodeKind::Power(one, other)
            | NodeKind::Floor(one, other)
            | NodeKind::Either(one, other) => vec![one, other],
        }
    }

    /// The same, to be changed.
    pub(super) fn parts_mut(&mut self) -> Vec<&mut Node> {
        match &mut self.kind {
            NodeKind::Number { .. } | NodeKind::Name(_) => Vec::new(),
            NodeKind::Call { arguments, .. } => arguments.iter_mut().collect(),
            NodeKind::Neg(inner) | NodeKind::Paren(inner) | NodeKind::Reduced(_, _, inner) => {
                vec![inner]
            }
            NodeKind::Chain(first, rest) => {
                std::iter::once(&mut **first).chain(rest.iter_mut().map(|(_, node)| node)).collect()
            }
            NodeKind::Compare(operands, _) => operands.iter_mut().collect(),
            NodeKind::Power(one, other)
            | NodeKind::Floor(one, other)
            | NodeKind::Either(one, other) => vec![one, other],
        }
    }
}

impl Quantifier {
    /// Whether all of a right-hand side is reduced, not only the product that follows.
    pub(super) fn is_of_all(self) -> bool {
        matches!(self, Quantifier::Some | Quantifier::All)
    }

    /// Whether what is reduced may be a comparison that is not in parentheses.
    pub(super) fn is_of_truth(self) -> bool {
        matches!(self, Quantifier::All | Quantifier::Count)
    }
}

/// What a reduction asks of what it reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    /// That of its operator: `or(j)`, `any(j)`.
    Some,
    /// `all(j)`: that there is none that is 0, which its operator finds out.
    All,
    /// `count(j)`: how many are not 0.
    Count,
    /// `mean(j)`: the sum over their number.
    Mean,
    /// `var(j)`: the mean of squared differences from the mean.
    Variance,
    /// `std(j)`: the root of the variance.
    Deviation,
    /// `norm(j)`: the root of the sum of squares.
    Norm,
    /// `argmax(j)`, `argmin(j)`: the first place of what the operator finds.
    Place,
}
