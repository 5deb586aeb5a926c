//! Loop bounds and conditions as MLIR affine maps and integer sets.
//!
//! An [`Index`] is affine here if it is a sum of products with a constant and of floor divisions by a positive
//! constant, over symbols and over variables that MLIR accepts as dimensions. Everything else (minimum, maximum and
//! selections inside a bound, products of variables) is computed with `arith` by [`crate::emit`].
//!
//! Remainders and quotients of sums of several variables are not left to MLIR: of loops over `i` from 0 and `j` from 1
//! its simplification makes `(i + j) mod 2` the constant 1.

use dastac_loops::{Compare, Condition, Index, SymbolId, VarId};

/// A leaf of an affine expression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// A variable of an enclosing loop: a dimension.
    Var(VarId),
    /// A symbol of the module.
    Symbol(SymbolId),
}

/// The expression in MLIR's syntax, each leaf written by `leaf`; `None` where it is not affine or `leaf`
/// refuses.
pub(crate) fn expression(
    index: &Index,
    leaf: &mut dyn FnMut(Leaf) -> Option<String>,
) -> Option<String> {
    Some(match index {
        Index::Const(value) if *value < 0 => format!("({value})"),
        Index::Const(value) => value.to_string(),
        Index::Symbol(symbol) => leaf(Leaf::Symbol(*symbol))?,
        Index::Var(var) => leaf(Leaf::Var(*var))?,
        Index::Add(left, right) => {
            format!("({} + {})", expression(left, leaf)?, expression(right, leaf)?)
        }
        Index::Sub(left, right) => {
            format!("({} - {})", expression(left, leaf)?, expression(right, leaf)?)
        }
        Index::Mul(left, right) => match (&**left, &**right) {
            (Index::Const(factor), other) | (other, Index::Const(factor)) => {
                format!("({} * ({factor}))", expression(other, leaf)?)
            }
            _ => return None,
        },
        // An exact quotient is its own floor.
        Index::FloorDiv(value, by) | Index::ExactDiv(value, by) if *by > 0 => {
            if value.free_vars().len() > 1 {
                return None;
            }
            format!("({} floordiv {by})", expression(value, leaf)?)
        }
        _ => return None,
    })
}

/// A list of affine expressions with the operands that they are applied to.
pub(crate) struct List {
    /// Expressions over `d0, d1, ..` and `s0, s1, ..`.
    pub expressions: Vec<String>,
    /// What `d0, d1, ..` stand for.
    pub dims: Vec<VarId>,
    /// What `s0, s1, ..` stand for.
    pub symbols: Vec<SymbolId>,
}

impl List {
    /// The header of a map or set: `(d0, d1)[s0]`.
    pub fn signature(&self) -> String {
        let names = |letter: char, count: usize| {
            (0..count).map(|at| format!("{letter}{at}")).collect::<Vec<_>>().join(", ")
        };
        match self.symbols.len() {
            0 => format!("({})", names('d', self.dims.len())),
            count => format!("({})[{}]", names('d', self.dims.len()), names('s', count)),
        }
    }

    fn push(&mut self, index: &Index, is_dim: &dyn Fn(VarId) -> bool) -> Option<()> {
        let text = self.expression(index, is_dim)?;
        self.expressions.push(text);
        Some(())
    }

    fn expression(&mut self, index: &Index, is_dim: &dyn Fn(VarId) -> bool) -> Option<String> {
        fn position<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
            list.iter().position(|known| *known == item).unwrap_or_else(|| {
                list.push(item);
                list.len() - 1
            })
        }
        expression(index, &mut |leaf| match leaf {
            Leaf::Var(var) => is_dim(var).then(|| format!("d{}", position(&mut self.dims, var))),
            Leaf::Symbol(symbol) => Some(format!("s{}", position(&mut self.symbols, symbol))),
        })
    }

    fn new() -> List {
        List { expressions: Vec::new(), dims: Vec::new(), symbols: Vec::new() }
    }
}

/// The bounds as one map, if all are affine.
pub(crate) fn bounds(list: &[&Index], is_dim: &dyn Fn(VarId) -> bool) -> Option<List> {
    let mut result = List::new();
    for index in list {
        result.push(index, is_dim)?;
    }
    Some(result)
}

/// The condition as constraints of an integer set, if it is a non-empty conjunction of affine comparisons
/// other than `!=`.
pub(crate) fn constraints(condition: &Condition, is_dim: &dyn Fn(VarId) -> bool) -> Option<List> {
    fn collect(
        condition: &Condition,
        is_dim: &dyn Fn(VarId) -> bool,
        list: &mut List,
    ) -> Option<()> {
        match condition {
            Condition::And(inner) => inner.iter().try_for_each(|c| collect(c, is_dim, list)),
            Condition::Or(_) => None,
            Condition::Compare(op, left, right) => {
                let left = list.expression(left, is_dim)?;
                let right = list.expression(right, is_dim)?;
                list.expressions.push(match op {
                    Compare::Eq => format!("{left} - {right} == 0"),
                    Compare::Ge => format!("{left} - {right} >= 0"),
                    Compare::Gt => format!("{left} - {right} - 1 >= 0"),
                    Compare::Le => format!("{right} - {left} >= 0"),
                    Compare::Lt => format!("{right} - {left} - 1 >= 0"),
                    Compare::Ne => return None,
                });
                Some(())
            }
        }
    }
    let mut list = List::new();
    collect(condition, is_dim, &mut list)?;
    (!list.expressions.is_empty()).then_some(list)
}

/// The parts of a lower bound: `max(a, max(b, c))` is the list `a, b, c` that a loop takes.
pub(crate) fn maxima(list: &[Index]) -> Vec<&Index> {
    fn collect<'a>(index: &'a Index, out: &mut Vec<&'a Index>) {
        match index {
            Index::Max(left, right) => {
                collect(left, out);
                collect(right, out);
            }
            index => out.push(index),
        }
    }
    let mut out = Vec::new();
    list.iter().for_each(|index| collect(index, &mut out));
    out
}

/// The parts of an upper bound: `min(a, min(b, c))` is the list `a, b, c` that a loop takes.
pub(crate) fn minima(list: &[Index]) -> Vec<&Index> {
    fn collect<'a>(index: &'a Index, out: &mut Vec<&'a Index>) {
        match index {
            Index::Min(left, right) => {
                collect(left, out);
                collect(right, out);
            }
            index => out.push(index),
        }
    }
    let mut out = Vec::new();
    list.iter().for_each(|index| collect(index, &mut out));
    out
}
