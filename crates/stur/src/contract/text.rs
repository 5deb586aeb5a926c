//! Rules of a checked program as text.

use crate::program::{Access, Product, Program, Rule};
use crate::semiring::Semiring;

/// A rule as it could be written: `C.1(i, k) := X(j, i) * B(j, k)`. Functions stand as they do in the source.
pub fn rule_text(program: &Program, rule: &Rule) -> String {
    let head = &program.tensor(rule.head).name;
    let products: Vec<String> =
        rule.products.iter().map(|product| product_text(program, rule, product)).collect();
    let sum = products.join(" + ");
    let summed: Vec<&str> = rule
        .products
        .iter()
        .flat_map(|product| &product.iterators)
        .filter(|name| !rule.iterators.contains(name))
        .map(String::as_str)
        .collect();
    let word = match rule.semiring {
        Semiring::SumTimes => None,
        Semiring::MinPlus | Semiring::Min => Some("min"),
        Semiring::MaxPlus | Semiring::MaxTimes | Semiring::Max => Some("max"),
        Semiring::Prod => Some("prod"),
        Semiring::OrAnd => Some("or"),
    };
    let body = match word {
        None => sum,
        Some(word) => format!("{word}({}) {sum}", summed.join(", ")),
    };
    format!("{head}({}) := {body}", rule.iterators.join(", "))
}

fn product_text(program: &Program, rule: &Rule, product: &Product) -> String {
    let join = if rule.semiring.is_plus() { " + " } else { " * " };
    let mut parts = Vec::new();
    if product.coefficient != rule.semiring.one() {
        parts.push(product.coefficient.to_string());
    }
    for symbol in &product.symbols {
        let power = if symbol.reciprocal { "^-1" } else { "" };
        parts.push(format!("{}{power}()", program.symbols[symbol.symbol].0));
    }
    let factors = product.accesses.iter().filter(|access| !access.argument);
    parts.extend(factors.map(|access| access_text(program, access)));
    for function in &product.functions {
        let text = program.source.get(function.span.start..function.span.end).unwrap_or("..");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let power = if function.reciprocal { "1 / " } else { "" };
        parts.push(format!("{power}({text})"));
    }
    parts.extend(product.comparisons.iter().map(|comparison| format!("({comparison})")));
    if parts.is_empty() {
        parts.push(product.coefficient.to_string());
    }
    parts.join(join)
}

fn access_text(program: &Program, access: &Access) -> String {
    let name = &program.tensor(access.tensor).name;
    let power = if access.reciprocal { "^-1" } else { "" };
    let subscripts: Vec<String> = access.subscripts.iter().map(ToString::to_string).collect();
    format!("{name}{power}({})", subscripts.join(", "))
}
