//! Integer expressions over the values of iterators, and comparisons of them.

use std::rc::Rc;

use crate::affine::apply;
use crate::ast::{BinaryOp, CompareOp, Comparison, Expr, ExprKind};

use super::dense::{EvalError, position};

/// An integer expression with symbols replaced by their values and iterators by slots.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    Const(i64),
    Slot(usize),
    Neg(Box<Code>),
    Op(BinaryOp, Box<Code>, Box<Code>),
    /// The integer of an element.
    Element(Rc<Integers>, Vec<Code>),
}

/// An integer for each element of a tensor: its value, or its position among those that are stored.
#[derive(Debug)]
pub(crate) struct Integers {
    pub shape: Vec<usize>,
    /// Of each element, in C order.
    pub of: Vec<i64>,
    /// What stands for elements outside of the shape, or if there are none.
    pub outside: i64,
    /// The least and the largest of all.
    pub range: (i64, i64),
}

impl Integers {
    pub fn new(shape: Vec<usize>, of: Vec<i64>, outside: i64) -> Integers {
        let range = of
            .iter()
            .fold((outside, outside), |(low, high), value| (low.min(*value), high.max(*value)));
        Integers { shape, of, outside, range }
    }
}

impl Code {
    pub fn new(
        expr: &Expr,
        slots: &[String],
        symbols: &[(String, i64)],
    ) -> Result<Code, EvalError> {
        let code = match &expr.kind {
            ExprKind::Int(value) => Code::Const(*value),
            ExprKind::Name(name) => match slots.iter().position(|slot| slot == name) {
                Some(slot) => Code::Slot(slot),
                None => match symbols.iter().find(|(symbol, _)| symbol == name) {
                    Some((_, value)) => Code::Const(*value),
                    None => return Err(EvalError::UnknownName { name: name.clone() }),
                },
            },
            ExprKind::Neg(inner) => Code::Neg(Box::new(Code::new(inner, slots, symbols)?)),
            ExprKind::Binary(op, left, right) => Code::Op(
                *op,
                Box::new(Code::new(left, slots, symbols)?),
                Box::new(Code::new(right, slots, symbols)?),
            ),
        };
        // Folding makes `N * i` linear and `N / 2` a constant.
        Ok(match code.is_constant() {
            true => Code::Const(code.eval(&[])?),
            false => code,
        })
    }

    pub(super) fn is_constant(&self) -> bool {
        match self {
            Code::Const(_) => true,
            Code::Slot(_) | Code::Element(..) => false,
            Code::Neg(inner) => inner.is_constant(),
            Code::Op(_, left, right) => left.is_constant() && right.is_constant(),
        }
    }

    pub fn eval(&self, values: &[i64]) -> Result<i64, EvalError> {
        match self {
            Code::Const(value) => Ok(*value),
            Code::Slot(slot) => Ok(values[*slot]),
            Code::Neg(inner) => inner.eval(values)?.checked_neg().ok_or(EvalError::Overflow),
            Code::Op(op, left, right) => {
                let (left, right) = (left.eval(values)?, right.eval(values)?);
                if matches!(op, BinaryOp::Div | BinaryOp::Mod) && right <= 0 {
                    return Err(EvalError::Divisor { value: right });
                }
                apply(*op, left, right).ok_or(EvalError::Overflow)
            }
            Code::Element(integers, subscripts) => {
                let index: Vec<i64> =
                    subscripts.iter().map(|code| code.eval(values)).collect::<Result<_, _>>()?;
                let at = position(&integers.shape, &index);
                let found = at.and_then(|at| integers.of.get(at)).copied();
                Ok(found.unwrap_or(integers.outside))
            }
        }
    }

    pub(super) fn mentions(&self, wanted: &dyn Fn(usize) -> bool) -> bool {
        match self {
            Code::Const(_) => false,
            Code::Slot(slot) => wanted(*slot),
            Code::Neg(inner) => inner.mentions(wanted),
            Code::Op(_, left, right) => left.mentions(wanted) || right.mentions(wanted),
            Code::Element(_, subscripts) => subscripts.iter().any(|code| code.mentions(wanted)),
        }
    }
}

/// `left operator right`
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    pub left: Code,
    pub operator: CompareOp,
    pub right: Code,
}

impl Relation {
    pub(super) fn holds(&self, values: &[i64]) -> Result<bool, EvalError> {
        let (left, right) = (self.left.eval(values)?, self.right.eval(values)?);
        Ok(self.operator.holds(&left, &right))
    }

    pub(super) fn mentions(&self, wanted: &dyn Fn(usize) -> bool) -> bool {
        self.left.mentions(wanted) || self.right.mentions(wanted)
    }

    /// The comparison as `slot operator code`, with a code that does not contain the slot.
    pub(super) fn about(&self, slot: usize) -> Option<(CompareOp, &Code)> {
        let turned = match self.operator {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            same => same,
        };
        let free = |code: &Code| !code.mentions(&|other| other == slot);
        match (&self.left, &self.right) {
            (Code::Slot(left), code) if *left == slot && free(code) => Some((self.operator, code)),
            (code, Code::Slot(right)) if *right == slot && free(code) => Some((turned, code)),
            _ => None,
        }
    }
}

/// The pairwise relations of chained comparisons.
pub(crate) fn relations(
    comparisons: &[Comparison],
    slots: &[String],
    symbols: &[(String, i64)],
) -> Result<Vec<Relation>, EvalError> {
    let mut relations = Vec::new();
    for comparison in comparisons {
        let codes: Vec<Code> = comparison
            .operands
            .iter()
            .map(|operand| Code::new(operand, slots, symbols))
            .collect::<Result<_, _>>()?;
        for (k, operator) in comparison.operators.iter().enumerate() {
            let (left, right) = (codes[k].clone(), codes[k + 1].clone());
            relations.push(Relation { left, operator: *operator, right });
        }
    }
    Ok(relations)
}
