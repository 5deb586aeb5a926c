//! Which products can be multiplied in steps.

use dastac_elements::{Element, Kind};

use super::factors::{factors, kept};
use crate::affine::{is_affine, names};
use crate::ast::Expr;
use crate::program::{Product, Program, Rule};
use crate::semiring::Semiring;

/// Why the factors of a product are multiplied in one step, if they must be.
pub fn obstacle(program: &Program, rule: &Rule, product: &Product) -> Option<&'static str> {
    let places = factors(product);
    if rule.semiring.is_of_values() {
        return Some("it is an extreme of values, over which products do not distribute");
    }
    if places.len() < 2 {
        return Some("it has fewer than two factors");
    }
    if rule.fill.is_some() {
        return Some("the result is not 0 where it stores nothing");
    }
    // A product with a negative number does not distribute over a maximum.
    if rule.semiring == Semiring::MaxTimes {
        return Some("products of numbers with signs do not distribute over a maximum");
    }
    if product.accesses.iter().any(|access| access.position.is_some()) {
        return Some("it reads positions of stored elements");
    }
    let element = program.tensor(rule.head).element;
    let (exact, kind) = (element.is_integer(), element.kind());
    if places.iter().any(|at| program.fill(product.accesses[*at].tensor) != 0.0) {
        return Some("a factor is not 0 where it is not stored");
    }
    if matches!(kind, Kind::Signed | Kind::Unsigned) && rule.semiring != Semiring::SumTimes {
        return Some("it is an extreme of integers");
    }
    let reciprocal = places.iter().any(|at| product.accesses[*at].reciprocal);
    if reciprocal && (exact || rule.semiring != Semiring::SumTimes) {
        return Some("it has quotients");
    }
    let is_symbol = |name: &str| program.symbols.iter().any(|(symbol, _)| symbol == name);
    let simple = |expr: &Expr| is_affine(expr).is_ok() || names(expr).into_iter().all(is_symbol);
    let subscripts = product.accesses.iter().flat_map(|access| &access.subscripts);
    let operands = product.comparisons.iter().flat_map(|comparison| &comparison.operands);
    let exprs = subscripts.chain(operands);
    if !exprs.clone().all(simple) {
        return Some("not all of its subscripts and comparisons are affine");
    }
    // A sum over an iterator that nothing mentions is a multiple, which is left to the whole rule.
    let mentioned = |name: &String| {
        exprs.clone().any(|expr| names(expr).contains(name.as_str()))
            || rule.iterators.contains(name)
            || kept(product).contains(name)
    };
    let silent = !product.iterators.iter().all(mentioned);
    silent.then_some("nothing mentions one of its iterators")
}

/// The type of the elements of an intermediate: the one that the rule computes in. Integers are added and multiplied
/// modulo 2^64, which gives the same modulo less in the end.
pub(crate) fn element(program: &Program, rule: &Rule) -> Element {
    let head = program.tensor(rule.head).element;
    match head.kind() {
        Kind::Signed | Kind::Unsigned => Element::I64,
        _ if head.is_short_float() => Element::F32,
        _ => head,
    }
}
