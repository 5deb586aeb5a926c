//! What registers hold, and operations on two of them.

use super::data::InterpError;
use crate::elementwise::as_element;
use crate::eval::EvalError;
use crate::ir::*;

/// What a register holds, lane by lane.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cells {
    Float(Vec<f64>),
    Int(Vec<i64>),
    Truth(Vec<bool>),
}

/// A register is used that nothing has defined.
pub(super) const UNDEFINED: InterpError = InterpError::Invalid("a register is not defined");
/// A register holds something else than what an operation takes.
pub(super) const WRONG: InterpError =
    InterpError::Invalid("a register is not of the type that is asked for");

impl Cells {
    /// Some lanes of this register and of another one, whose lanes are numbered behind those of this one.
    pub(super) fn pick(&self, lanes: &[usize], other: &Cells) -> Result<Cells, InterpError> {
        fn pick<T: Copy>(one: &[T], other: &[T], lanes: &[usize]) -> Option<Vec<T>> {
            let lane = |lane: &usize| one.iter().chain(other).nth(*lane).copied();
            lanes.iter().map(lane).collect()
        }
        let picked = match (self, other) {
            (Cells::Float(one), Cells::Float(other)) => pick(one, other, lanes).map(Cells::Float),
            (Cells::Int(one), Cells::Int(other)) => pick(one, other, lanes).map(Cells::Int),
            (Cells::Truth(one), Cells::Truth(other)) => pick(one, other, lanes).map(Cells::Truth),
            _ => None,
        };
        picked.ok_or(WRONG)
    }

    /// The lanes of several registers, one after the other.
    pub(super) fn joined(all: &[&Cells]) -> Result<Cells, InterpError> {
        let Some((first, rest)) = all.split_first() else { return Err(WRONG) };
        rest.iter().try_fold((*first).clone(), |joined, one| {
            let lanes: Vec<usize> = (0..joined.len() + one.len()).collect();
            joined.pick(&lanes, one)
        })
    }

    /// Number of lanes.
    pub(super) fn len(&self) -> usize {
        match self {
            Cells::Float(cells) => cells.len(),
            Cells::Int(cells) => cells.len(),
            Cells::Truth(cells) => cells.len(),
        }
    }

    /// The lanes of a register of integers.
    pub(super) fn integers(&self) -> Result<&[i64], InterpError> {
        if let Cells::Int(cells) = self { Ok(cells) } else { Err(WRONG) }
    }

    /// The lanes of a register of floats.
    pub(super) fn floats(&self) -> Result<&[f64], InterpError> {
        if let Cells::Float(cells) = self { Ok(cells) } else { Err(WRONG) }
    }

    /// The lanes of a mask, or of a truth value.
    pub(super) fn truths(&self) -> Result<&[bool], InterpError> {
        if let Cells::Truth(cells) = self { Ok(cells) } else { Err(WRONG) }
    }
}

/// The result of an operation on two registers, lane by lane.
pub(super) fn binary(
    how: BinaryOp,
    left: &Cells,
    right: &Cells,
    kind: LaneKind,
) -> Result<Cells, InterpError> {
    fn lanes<T: Copy, U>(
        left: &[T],
        right: &[T],
        each: impl Fn(T, T) -> Result<U, InterpError>,
    ) -> Result<Vec<U>, InterpError> {
        left.iter().zip(right).map(|(left, right)| each(*left, *right)).collect()
    }
    Ok(match (left, right) {
        (Cells::Float(left), Cells::Float(right)) => {
            Cells::Float(lanes(left, right, |a, b| float(how, a, b))?)
        }
        (Cells::Int(left), Cells::Int(right)) => {
            Cells::Int(lanes(left, right, |a, b| integer(how, a, b, kind))?)
        }
        (Cells::Truth(left), Cells::Truth(right)) if how == BinaryOp::And => {
            Cells::Truth(lanes(left, right, |a, b| Ok(a && b))?)
        }
        _ => return Err(WRONG),
    })
}

fn float(how: BinaryOp, left: f64, right: f64) -> Result<f64, InterpError> {
    match how {
        BinaryOp::Add => Ok(left + right),
        BinaryOp::Mul => Ok(left * right),
        BinaryOp::Div => Ok(left / right),
        BinaryOp::Min => Ok(Reduction::Min.of(left, right)),
        BinaryOp::Max => Ok(Reduction::Max.of(left, right)),
        BinaryOp::Sub | BinaryOp::And => Err(WRONG),
    }
}

fn integer(how: BinaryOp, left: i64, right: i64, kind: LaneKind) -> Result<i64, InterpError> {
    let (wrapped, exact) = match how {
        BinaryOp::Add => (left.wrapping_add(right), left.checked_add(right)),
        BinaryOp::Sub => (left.wrapping_sub(right), left.checked_sub(right)),
        BinaryOp::Mul => (left.wrapping_mul(right), left.checked_mul(right)),
        BinaryOp::Min => (left.min(right), Some(left.min(right))),
        BinaryOp::Max => (left.max(right), Some(left.max(right))),
        BinaryOp::Div | BinaryOp::And => return Err(WRONG),
    };
    // Integers of subscripts do not overflow.
    if kind == LaneKind::Integer { Ok(exact.ok_or(EvalError::Overflow)?) } else { Ok(wrapped) }
}

/// A function of registers, lane by lane.
pub(super) fn apply(function: MathFunction, of: &[&Cells]) -> Result<Cells, InterpError> {
    let lanes = of.first().ok_or(WRONG)?.len();
    if let [Cells::Int(cells)] = of {
        let all: Option<Vec<i64>> = cells.iter().map(|x| function.eval_integers(&[*x])).collect();
        return all.map(Cells::Int).ok_or(WRONG);
    }
    let of: Vec<&[f64]> = of.iter().map(|cells| cells.floats()).collect::<Result<_, _>>()?;
    let at = |lane: usize| of.iter().filter_map(|cells| cells.get(lane).copied()).collect();
    let value = |numbers: Vec<f64>| function.eval(&numbers);
    Ok(Cells::Float((0..lanes).map(|lane| value(at(lane))).collect()))
}

/// Numbers as elements of a type, in a register of integers or of floats.
pub(super) fn cast(element: Element, of: &Cells, integers: bool) -> Result<Cells, InterpError> {
    Ok(match (of, integers) {
        (Cells::Int(cells), true) => {
            Cells::Int(cells.iter().map(|x| element.wrapped(*x)).collect())
        }
        (Cells::Int(cells), false) if element.is_integer() => {
            Cells::Float(cells.iter().map(|x| element.wrapped(*x) as f64).collect())
        }
        (Cells::Int(cells), false) => {
            Cells::Float(cells.iter().map(|x| element.round(*x as f64)).collect())
        }
        (Cells::Float(cells), true) => {
            Cells::Int(cells.iter().map(|x| as_element(element, *x) as i64).collect())
        }
        (Cells::Float(cells), false) => {
            Cells::Float(cells.iter().map(|x| as_element(element, *x)).collect())
        }
        (Cells::Truth(_), _) => return Err(WRONG),
    })
}

/// Which lanes compare so. Numbers are those of the type that they are computed in.
pub(super) fn compare(
    how: Compare,
    kind: LaneKind,
    left: &Cells,
    right: &Cells,
) -> Result<Cells, InterpError> {
    let rounded = |x: f64| if let LaneKind::Number(element) = kind { element.round(x) } else { x };
    Ok(Cells::Truth(match (left, right) {
        (Cells::Int(left), Cells::Int(right)) => {
            left.iter().zip(right).map(|(left, right)| how.holds(*left, *right)).collect()
        }
        (Cells::Float(left), Cells::Float(right)) => {
            let lanes = left.iter().zip(right);
            lanes.map(|(left, right)| how.holds_numbers(rounded(*left), rounded(*right))).collect()
        }
        _ => return Err(WRONG),
    }))
}
