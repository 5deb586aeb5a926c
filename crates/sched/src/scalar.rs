//! Functions of elements as values of the loop IR.

use dastac_layout::Resolve;
use dastac_loops::{MathFunction as Function, Value};
use dastac_stur::ast::{MOST_FACTORS, Operation};
use dastac_stur::program::Scalar;

use crate::SchedError;
use crate::elements::comparison;

/// What the leaves of an expression are.
#[derive(Clone, Copy)]
pub(crate) struct Leaves<'a> {
    /// The isl names of the symbols.
    pub(crate) symbols: &'a [String],
    /// The value of an iterator or symbol.
    pub(crate) resolve: Resolve<'a>,
    /// The elements that the statement reads.
    pub(crate) elements: &'a dyn Fn(usize) -> Option<Value>,
}

/// The value of an expression.
pub(crate) fn value(scalar: &Scalar, leaves: Leaves<'_>) -> Result<Value, SchedError> {
    let all = |parts: &[Scalar]| -> Result<Vec<Value>, SchedError> {
        parts.iter().map(|part| value(part, leaves)).collect()
    };
    let number = |name: &String| {
        let index = (leaves.resolve)(name).map(Value::from_index);
        index.ok_or_else(|| SchedError::UnknownName(name.clone()))
    };
    let unknown = |what: &str| SchedError::UnknownName(what.into());
    Ok(match scalar {
        Scalar::Number(number) => Value::constant(*number),
        Scalar::Sum(parts) => {
            let parts = all(parts)?.into_iter().reduce(|sum, part| sum + part);
            parts.unwrap_or(Value::constant(0.0))
        }
        Scalar::Product(parts) => Value::product(all(parts)?),
        Scalar::Apply(operation, parts) => {
            if let (Operation::Function(Function::Pow), [base, Scalar::Number(exponent)]) =
                (operation, &parts[..])
                && let Some(product) = power(&value(base, leaves)?, *exponent)
            {
                return Ok(product);
            }
            apply(*operation, all(parts)?)
        }
        Scalar::Element(at) => (leaves.elements)(*at).ok_or_else(|| unknown("an element"))?,
        Scalar::Index(name) => number(name)?,
        Scalar::Symbol(at) => number(&leaves.symbols[*at])?,
        // Cases are told apart by comparisons of integers before.
        Scalar::Holds(_) => return Err(unknown("a comparison")),
    })
}

/// A power as a product, a quotient or a root, if it is a simple one.
fn power(base: &Value, exponent: f64) -> Option<Value> {
    if exponent == 0.5 {
        return Some(Value::apply(Function::Sqrt, vec![base.clone()]));
    }
    let size = exponent.abs();
    if size.fract() != 0.0 || !(1.0..=MOST_FACTORS).contains(&size) {
        return None;
    }
    let product = std::iter::successors(Some(1.0), |count| Some(count + 1.0))
        .take_while(|count| *count <= size)
        .map(|_| base.clone());
    let product = Value::product(product);
    Some(if exponent < 0.0 { Value::constant(1.0) / product } else { product })
}

/// An operation on as many values as it takes.
fn apply(operation: Operation, mut of: Vec<Value>) -> Value {
    let mut next = || of.drain(..1).next().unwrap_or(Value::constant(f64::NAN));
    match operation {
        Operation::Function(function) => Value::apply(function, of),
        Operation::Min => next().min(next()),
        Operation::Max => next().max(next()),
        Operation::Where => Value::select(next(), next(), next()),
        Operation::Compare(how) => Value::compare(comparison(how), next(), next()),
        Operation::Divide => next() / next(),
        Operation::Cast(element) => Value::cast(element, next()),
    }
}
