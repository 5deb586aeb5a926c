//! Scalar expressions up to signs and orders: which have the same value, and which the negative one.

use dastac_elements::{Function, Parity};

use crate::ast::Operation;
use crate::program::Scalar;

/// Whether the value changes its sign if an element does; `None` if it may change otherwise.
pub(super) fn parity(value: &Scalar, element: usize) -> Option<bool> {
    let name = |at: usize| at.to_string();
    let negated = value.map(&mut |leaf| match leaf {
        Scalar::Element(at) if *at == element => {
            Scalar::Product(vec![Scalar::Number(-1.0), leaf.clone()])
        }
        leaf => leaf.clone(),
    });
    let (before, text) = canonical(value, &name);
    let (after, other) = canonical(&negated, &name);
    (text == other).then_some(before != after)
}

/// The value as a sign and a text: two values with the same text are equal if the signs are, else each other's
/// negative. `name` names elements.
pub(super) fn canonical(value: &Scalar, name: &dyn Fn(usize) -> String) -> (bool, String) {
    let signed = |part: &Scalar| {
        let (negative, text) = canonical(part, name);
        format!("{}{text}", if negative { "-" } else { "+" })
    };
    match value {
        Scalar::Number(number) => {
            (number.is_sign_negative(), format!("#{:x}", number.abs().to_bits()))
        }
        Scalar::Symbol(symbol) => (false, format!("s{symbol}")),
        Scalar::Index(name) => (false, format!("i{name}")),
        Scalar::Element(at) => (false, name(*at)),
        Scalar::Holds(comparison) => (false, format!("[{comparison}]")),
        Scalar::Sum(parts) => {
            let mut parts: Vec<(String, bool)> = parts
                .iter()
                .map(|part| canonical(part, name))
                .map(|(negative, text)| (text, negative))
                .collect();
            parts.sort();
            let negative = parts.first().is_some_and(|(_, negative)| *negative);
            let signs = |part: &(String, bool)| {
                format!("{}{}", if part.1 != negative { "-" } else { "+" }, part.0)
            };
            let parts: Vec<String> = parts.iter().map(signs).collect();
            (negative, format!("sum({})", parts.join(",")))
        }
        Scalar::Product(parts) => {
            let mut negative = false;
            let mut texts = Vec::new();
            for part in parts {
                let (own, text) = canonical(part, name);
                negative ^= own;
                if !matches!(part, Scalar::Number(number) if number.abs() == 1.0) {
                    texts.push(text);
                }
            }
            texts.sort();
            match texts.len() {
                1 => (negative, texts.remove(0)),
                _ => (negative, format!("product({})", texts.join(","))),
            }
        }
        Scalar::Apply(Operation::Divide, parts) => {
            let parts: Vec<(bool, String)> =
                parts.iter().map(|part| canonical(part, name)).collect();
            let negative = parts.iter().fold(false, |all, (negative, _)| all ^ negative);
            let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
            (negative, format!("divide({})", texts.join(",")))
        }
        Scalar::Apply(Operation::Function(Function::Pow), parts)
            if let [base, Scalar::Number(exponent)] = &parts[..]
                && exponent.fract() == 0.0 =>
        {
            let (negative, text) = canonical(base, name);
            (negative && exponent % 2.0 != 0.0, format!("pow({text},{exponent})"))
        }
        Scalar::Apply(Operation::Function(function), parts)
            if let ([part], parity @ (Parity::Even | Parity::Odd)) =
                (&parts[..], function.parity()) =>
        {
            let (negative, text) = canonical(part, name);
            (negative && parity == Parity::Odd, format!("{}({text})", function.name()))
        }
        Scalar::Apply(operation, parts) => {
            let mut texts: Vec<String> = parts.iter().map(signed).collect();
            if matches!(operation, Operation::Min | Operation::Max) {
                texts.sort();
            }
            (false, format!("{operation:?}({})", texts.join(",")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(function: Function, of: Scalar) -> Scalar {
        Scalar::Apply(Operation::Function(function), vec![of])
    }

    fn minus(of: Scalar) -> Scalar {
        Scalar::Product(vec![Scalar::Number(-1.0), of])
    }

    #[test]
    fn signs_go_through_functions_that_are_even_or_odd() {
        let [a, b] = [0, 1].map(Scalar::Element);
        assert_eq!(parity(&call(Function::Abs, a.clone()), 0), Some(false));
        assert_eq!(parity(&call(Function::Tanh, a.clone()), 0), Some(true));
        assert_eq!(parity(&call(Function::Exp, a.clone()), 0), None);
        assert_eq!(parity(&call(Function::Exp, a.clone()), 1), Some(false));
        let product = Scalar::Product(vec![a.clone(), b.clone()]);
        assert_eq!(parity(&call(Function::Sin, product), 1), Some(true));
        // a - b and b - a are each other's negatives, so that their squares are equal.
        let name = |at: usize| at.to_string();
        let difference = |a: &Scalar, b: &Scalar| Scalar::Sum(vec![a.clone(), minus(b.clone())]);
        let (left, text) = canonical(&difference(&a, &b), &name);
        let (right, other) = canonical(&difference(&b, &a), &name);
        assert_eq!((left, text), (!right, other));
    }
}
