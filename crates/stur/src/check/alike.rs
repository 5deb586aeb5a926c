//! Products of a rule that are the same but for the order of their factors and the names of what they are summed over:
//! `A(i, k) * B(k, j) + B(p, j) * A(i, p)` -> `2 * A(i, k) * B(k, j)`.

use std::collections::BTreeMap;

use super::structures::rename;
use crate::ast::{Comparison, Expr};
use crate::program::{Product, Rule};
use crate::semiring::Semiring;

/// Makes one of such products, with the sum of their coefficients, unless that is zero: a difference of infinities is
/// not.
pub(super) fn merge(rule: &mut Rule) {
    if rule.semiring != Semiring::SumTimes || rule.products.len() < 2 {
        return;
    }
    let head = rule.iterators.clone();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut merged: Vec<Product> = Vec::new();
    for product in std::mem::take(&mut rule.products) {
        let key = key(&head, &product);
        let place = key.as_ref().and_then(|key| known.get(key)).copied();
        if let Some(place) = place
            && merged[place].coefficient + product.coefficient != 0.0
        {
            merged[place].coefficient += product.coefficient;
            continue;
        }
        if let Some(key) = key {
            known.entry(key).or_insert(merged.len());
        }
        merged.push(product);
    }
    rule.products = merged;
}

/// What is the same for products that are the same. `None` for those with functions of elements.
fn key(head: &[String], product: &Product) -> Option<String> {
    let Product { accesses, comparisons, iterators, functions, .. } = product;
    if !functions.is_empty() || accesses.iter().any(|access| access.position.is_some()) {
        return None;
    }
    let inner = |name: &&String| !head.contains(name);
    // Factors in an order that the names of what is summed over do not decide.
    let erased: BTreeMap<&str, &str> =
        iterators.iter().filter(inner).map(|name| (name.as_str(), ".")).collect();
    let mut ordered: Vec<_> = accesses.iter().collect();
    ordered.sort_by_cached_key(|access| {
        (access.tensor.0, access.reciprocal, written(&access.subscripts, &erased))
    });
    let mut numbers: BTreeMap<&str, String> = BTreeMap::new();
    let subscripts = ordered.iter().flat_map(|access| &access.subscripts);
    let appearing = subscripts.flat_map(|subscript| in_order(subscript, iterators));
    for name in appearing.chain(iterators).filter(inner) {
        let number = format!(".{}", numbers.len());
        numbers.entry(name).or_insert(number);
    }
    let names: BTreeMap<&str, &str> =
        numbers.iter().map(|(name, number)| (*name, number.as_str())).collect();
    let factors: Vec<_> = ordered
        .iter()
        .map(|access| (access.tensor.0, access.reciprocal, written(&access.subscripts, &names)))
        .collect();
    let mut symbols: Vec<_> =
        product.symbols.iter().map(|symbol| (symbol.symbol, symbol.reciprocal)).collect();
    symbols.sort_unstable();
    let compared = |comparison: &Comparison| {
        let operators: Vec<String> =
            comparison.operators.iter().map(|operator| format!("{operator:?}")).collect();
        (written(&comparison.operands, &names), operators)
    };
    let mut comparisons: Vec<_> = comparisons.iter().map(compared).collect();
    comparisons.sort();
    Some(format!("{factors:?} {symbols:?} {comparisons:?}"))
}

/// Expressions with other names for iterators.
fn written(expressions: &[Expr], names: &BTreeMap<&str, &str>) -> Vec<String> {
    let mut expressions = expressions.to_vec();
    expressions.iter_mut().for_each(|expression| rename(expression, names));
    expressions.iter().map(Expr::to_string).collect()
}

/// The iterators of an expression, in the order in which they appear.
fn in_order<'p>(expression: &Expr, iterators: &'p [String]) -> Vec<&'p String> {
    let mut found = Vec::new();
    crate::affine::visit_names(expression, &mut |name, _| {
        found.extend(iterators.iter().find(|own| *own == name));
    });
    found
}
