//! Masks of results: comparisons that say which elements of a result a product is added to, and divide iterators.

use crate::affine::names;
use crate::ast::{BinaryOp, CompareOp, Comparison, Expr, ExprKind};
use crate::program::{Access, Product, Rule};

/// The comparisons of a product about the iterators of its rule's head that divide some of them; none if all of them
/// are strides, `i % 2 = 1`, which loops can step over.
pub fn mask(rule: &Rule, product: &Product) -> Vec<Comparison> {
    let of_head = |name: &str| rule.iterators.iter().any(|own| own == name);
    let inner = |name: &str| product.iterators.iter().any(|own| own == name) && !of_head(name);
    let own = |comparison: &&Comparison| {
        let operands = &comparison.operands;
        operands.iter().any(|operand| divides(operand, &rule.iterators))
            && !operands.iter().flat_map(names).any(inner)
    };
    let mask: Vec<Comparison> = product.comparisons.iter().filter(own).cloned().collect();
    match mask.iter().all(is_stride) {
        true => Vec::new(),
        false => mask,
    }
}

/// Whether a comparison says which remainder one iterator has.
fn is_stride(comparison: &Comparison) -> bool {
    let ([left, right], [CompareOp::Eq]) = (&comparison.operands[..], &comparison.operators[..])
    else {
        return false;
    };
    let remainder = |expr: &Expr| match &expr.kind {
        ExprKind::Binary(BinaryOp::Mod, left, _) => matches!(left.kind, ExprKind::Name(_)),
        _ => false,
    };
    let plain = |expr: &Expr| names(expr).is_empty();
    remainder(left) && plain(right) || remainder(right) && plain(left)
}

/// Whether one of these names stands in a dividend.
fn divides(expr: &Expr, iterators: &[String]) -> bool {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Name(_) => false,
        ExprKind::Neg(inner) => divides(inner, iterators),
        ExprKind::Binary(op, left, right) => {
            let quotient = matches!(op, BinaryOp::Div | BinaryOp::Mod);
            let mut within = names(left).into_iter();
            quotient && within.any(|name| iterators.iter().any(|own| own == name))
                || divides(left, iterators)
                || divides(right, iterators)
        }
    }
}

/// The products at some places of a rule, those together that are the same without their masks: `A(i, j) * B(j, k) * (i
/// % 2 != k % 2)` is two such products.
pub fn alike(rule: &Rule, places: impl IntoIterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in places {
        let own = without(rule, &rule.products[place]);
        let same =
            |group: &&mut Vec<usize>| is_same(&own, &without(rule, &rule.products[group[0]]));
        match groups.iter_mut().find(same) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

/// A product without its mask.
pub fn without(rule: &Rule, product: &Product) -> Product {
    let mask = mask(rule, product);
    let mut product = product.clone();
    product.comparisons.retain(|comparison| !mask.contains(comparison));
    product
}

/// Whether two products are written alike.
fn is_same(one: &Product, other: &Product) -> bool {
    let access = |one: &Access| {
        (one.tensor, one.subscripts.clone(), one.reciprocal, one.position.clone(), one.argument)
    };
    let symbols = |product: &Product| -> Vec<(usize, bool)> {
        product.symbols.iter().map(|one| (one.symbol, one.reciprocal)).collect()
    };
    one.coefficient == other.coefficient
        && one.iterators == other.iterators
        && one.accesses.iter().map(access).eq(other.accesses.iter().map(access))
        && symbols(one) == symbols(other)
        && one.functions == other.functions
        && one.comparisons == other.comparisons
}
