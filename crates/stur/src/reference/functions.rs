//! Functions of elements: their values at a point, and whether these are structurally zero.

use crate::ast::{CompareOp, Operation};
use crate::program::{Product, Scalar};

use super::code::{Code, Relation, relations};
use super::{EvalError, Evaluator};

/// A function among the factors of a product, prepared for evaluation.
pub(super) struct Function {
    value: Tree,
    /// Whether the product is divided by it.
    pub reciprocal: bool,
}

enum Tree {
    Number(f64),
    Symbol(f64),
    Index(Code),
    Element(usize),
    Holds(Vec<Relation>),
    Sum(Vec<Tree>),
    Product(Vec<Tree>),
    Apply(Operation, Vec<Tree>),
}

/// A value.
#[derive(Clone, Copy)]
pub(super) enum Value {
    /// It follows from numbers, comparisons, and from where elements are structurally zero.
    Known(f64),
    /// It depends on the values of elements.
    Computed(f64),
}

impl Value {
    /// Whether it is structurally zero.
    pub fn is_zero(self) -> bool {
        matches!(self, Value::Known(value) if value == 0.0)
    }

    pub fn number(self) -> f64 {
        let (Value::Known(value) | Value::Computed(value)) = self;
        value
    }

    /// Of a number that follows from others, all of which are known or not.
    fn of(number: f64, from: &[Value]) -> Value {
        match from.iter().all(|value| matches!(value, Value::Known(_))) {
            true => Value::Known(number),
            false => Value::Computed(number),
        }
    }
}

impl Function {
    /// Its value at a point. `arguments` are the elements that the product reads, `None` where they are structurally
    /// zero.
    pub fn value(&self, point: &[i64], arguments: &[Option<f64>]) -> Result<Value, EvalError> {
        self.value.value(point, arguments)
    }
}

impl Tree {
    fn value(&self, point: &[i64], arguments: &[Option<f64>]) -> Result<Value, EvalError> {
        let all = |parts: &[Tree]| -> Result<Vec<Value>, EvalError> {
            parts.iter().map(|part| part.value(point, arguments)).collect()
        };
        Ok(match self {
            Tree::Number(number) => Value::Known(*number),
            Tree::Symbol(number) => Value::Computed(*number),
            Tree::Index(code) => Value::Computed(code.eval(point)? as f64),
            Tree::Element(at) => match arguments[*at] {
                Some(value) => Value::Computed(value),
                None => Value::Known(0.0),
            },
            Tree::Holds(relations) => {
                let mut holds = true;
                for relation in relations {
                    holds &= relation.holds(point)?;
                }
                Value::Known(truth(holds))
            }
            Tree::Sum(parts) => {
                let parts = all(parts)?;
                Value::of(parts.iter().map(|part| part.number()).sum(), &parts)
            }
            Tree::Product(parts) => {
                let parts = all(parts)?;
                match parts.iter().any(|part| part.is_zero()) {
                    true => Value::Known(0.0),
                    false => Value::of(parts.iter().map(|part| part.number()).product(), &parts),
                }
            }
            Tree::Apply(operation, parts) => apply(*operation, &all(parts)?),
        })
    }
}

fn apply(operation: Operation, parts: &[Value]) -> Value {
    let numbers: Vec<f64> = parts.iter().map(|part| part.number()).collect();
    let nan = numbers.iter().any(|number| number.is_nan());
    let number = match (operation, &numbers[..]) {
        (Operation::Where, [test, then, otherwise]) => {
            let chosen = usize::from(*test == 0.0) + 1;
            return match parts[0] {
                Value::Known(_) => parts[chosen],
                // Zero both ways is zero whatever the test says.
                Value::Computed(_) if parts[1].is_zero() && parts[2].is_zero() => Value::Known(0.0),
                Value::Computed(_) => {
                    Value::Computed(if *test == 0.0 { *otherwise } else { *then })
                }
            };
        }
        // A quotient is zero where either part is structurally zero, as a reciprocal is.
        (Operation::Divide, _) if parts.iter().any(|part| part.is_zero()) => {
            return Value::Known(0.0);
        }
        (Operation::Divide, [a, b]) => a / b,
        (Operation::Min | Operation::Max, _) if nan => f64::NAN,
        (Operation::Min, [a, b]) => a.min(*b),
        (Operation::Max, [a, b]) => a.max(*b),
        (Operation::Compare(operator), [a, b]) => truth(match operator {
            CompareOp::Eq => a == b,
            CompareOp::Ne => a != b,
            CompareOp::Lt => a < b,
            CompareOp::Le => a <= b,
            CompareOp::Gt => a > b,
            CompareOp::Ge => a >= b,
        }),
        (Operation::Cast(element), [a]) => match element.is_integer() {
            true => element.round(a.trunc()),
            false => element.round(*a),
        },
        (Operation::Function(function), all) => function.eval(all),
        _ => f64::NAN,
    };
    Value::of(number, parts)
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

impl Evaluator<'_> {
    /// The functions among the factors of a product.
    pub(super) fn functions(&self, product: &Product) -> Result<Vec<Function>, EvalError> {
        let all = product.functions.iter().map(|function| {
            let value = self.tree(product, &function.value)?;
            Ok(Function { value, reciprocal: function.reciprocal })
        });
        all.collect()
    }

    fn tree(&self, product: &Product, scalar: &Scalar) -> Result<Tree, EvalError> {
        let all = |parts: &[Scalar]| {
            parts.iter().map(|part| self.tree(product, part)).collect::<Result<Vec<_>, _>>()
        };
        let slots = &product.iterators;
        Ok(match scalar {
            Scalar::Number(number) => Tree::Number(*number),
            Scalar::Symbol(symbol) => Tree::Symbol(self.symbols[*symbol].1 as f64),
            Scalar::Index(name) => match slots.iter().position(|slot| slot == name) {
                Some(slot) => Tree::Index(Code::Slot(slot)),
                None => return Err(EvalError::UnknownName { name: name.clone() }),
            },
            Scalar::Element(at) => Tree::Element(*at),
            Scalar::Holds(comparison) => {
                let one = std::slice::from_ref(comparison);
                Tree::Holds(relations(one, slots, &self.symbols)?)
            }
            Scalar::Sum(parts) => Tree::Sum(all(parts)?),
            Scalar::Product(parts) => Tree::Product(all(parts)?),
            Scalar::Apply(operation, parts) => Tree::Apply(*operation, all(parts)?),
        })
    }
}
