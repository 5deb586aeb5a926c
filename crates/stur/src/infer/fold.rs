//! Scalar expressions with numbers in place of what is known: `max(0, 2) * A` -> `2 * A`.

use dastac_elements::Function;

use crate::ast::Operation;
use crate::program::Scalar;

/// The expression with all parts computed that are numbers. What is multiplied with 0, or divided by it, is 0, since
/// such a 0 is structural.
pub fn fold(value: &Scalar) -> Scalar {
    match value {
        Scalar::Sum(parts) => {
            let (number, mut rest) = folded(parts);
            let sum: f64 = number.iter().sum();
            if rest.is_empty() {
                return Scalar::Number(sum);
            }
            if sum != 0.0 {
                rest.push(Scalar::Number(sum));
            }
            alone(rest, Scalar::Sum)
        }
        Scalar::Product(parts) => {
            let (number, mut rest) = folded(parts);
            let product: f64 = number.iter().product();
            if rest.is_empty() || number.contains(&0.0) {
                return Scalar::Number(if number.contains(&0.0) { 0.0 } else { product });
            }
            if product != 1.0 {
                rest.insert(0, Scalar::Number(product));
            }
            alone(rest, Scalar::Product)
        }
        Scalar::Apply(operation, parts) => {
            let parts: Vec<Scalar> = parts.iter().map(fold).collect();
            let numbers: Option<Vec<f64>> = parts.iter().map(number).collect();
            match (operation, &parts[..], numbers) {
                (Operation::Where, [Scalar::Number(test), then, otherwise], _) => {
                    if *test != 0.0 {
                        then.clone()
                    } else {
                        otherwise.clone()
                    }
                }
                (Operation::Where, [_, Scalar::Number(0.0), Scalar::Number(0.0)], _) => {
                    Scalar::Number(0.0)
                }
                (operation, [dividend, divisor], _)
                    if operation.is_quotient()
                        && [dividend, divisor].contains(&&Scalar::Number(0.0)) =>
                {
                    Scalar::Number(0.0)
                }
                // A number here is a real one.
                (Operation::Function(Function::Complex), _, _) => Scalar::Apply(*operation, parts),
                (_, _, Some(numbers)) => Scalar::Number(apply(*operation, &numbers)),
                _ => Scalar::Apply(*operation, parts),
            }
        }
        leaf => leaf.clone(),
    }
}

fn number(value: &Scalar) -> Option<f64> {
    match value {
        Scalar::Number(number) => Some(*number),
        _ => None,
    }
}

/// The numbers among parts, and the other parts.
fn folded(parts: &[Scalar]) -> (Vec<f64>, Vec<Scalar>) {
    let (mut numbers, mut rest) = (Vec::new(), Vec::new());
    for part in parts {
        match fold(part) {
            Scalar::Number(number) => numbers.push(number),
            other => rest.push(other),
        }
    }
    (numbers, rest)
}

fn alone(mut parts: Vec<Scalar>, of: fn(Vec<Scalar>) -> Scalar) -> Scalar {
    match parts.len() {
        1 => parts.remove(0),
        _ => of(parts),
    }
}

/// An operation on numbers.
fn apply(operation: Operation, of: &[f64]) -> f64 {
    let nan = of.iter().any(|number| number.is_nan());
    let truth = |holds: bool| f64::from(u8::from(holds));
    match (operation, of) {
        (Operation::Function(function), of) => function.eval(of),
        (Operation::Min | Operation::Max, _) if nan => f64::NAN,
        (Operation::Min, [a, b]) => a.min(*b),
        (Operation::Max, [a, b]) => a.max(*b),
        (Operation::Divide, [a, b]) => a / b,
        (Operation::Compare(operator), [a, b]) => truth(operator.holds(a, b)),
        (Operation::Cast(element), [a]) => match element.is_integer() {
            true => element.round(a.trunc()),
            false => element.round(*a),
        },
        // `where` of a number is one of its branches, which is decided before.
        _ => f64::NAN,
    }
}
