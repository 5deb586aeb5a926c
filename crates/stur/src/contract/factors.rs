//! The factors of a product that steps can share out, and their iterators.

use std::collections::BTreeSet;

use crate::affine::names;
use crate::ast::Expr;
use crate::program::{Product, Rule, Scalar};

/// The accesses of a product that are factors, in their order. Arguments of functions are not: functions stay together
/// with all that they read.
pub fn factors(product: &Product) -> Vec<usize> {
    let is_factor = |at: &usize| {
        let access = &product.accesses[*at];
        !access.argument && access.position.is_none()
    };
    (0..product.accesses.len()).filter(is_factor).collect()
}

/// The iterators of a product that stand in some expressions.
pub fn iterators_of<'e>(
    product: &Product,
    exprs: impl IntoIterator<Item = &'e Expr>,
) -> BTreeSet<String> {
    let found: BTreeSet<&str> = exprs.into_iter().flat_map(names).collect();
    let known = product.iterators.iter().filter(|name| found.contains(name.as_str()));
    known.cloned().collect()
}

/// The iterators of functions and their arguments, which the last step must still have.
pub(super) fn kept(product: &Product) -> BTreeSet<String> {
    let arguments = product.accesses.iter().filter(|access| access.argument);
    let mut kept = iterators_of(product, arguments.flat_map(|access| &access.subscripts));
    for function in &product.functions {
        function.value.visit(&mut |part| match part {
            Scalar::Index(name) => {
                kept.insert(name.clone());
            }
            Scalar::Holds(comparison) => kept.extend(iterators_of(product, &comparison.operands)),
            _ => {}
        });
    }
    kept
}

/// Whether a factor has iterators that nothing else has, so that it can be summed over them by itself.
pub(super) fn is_summed_alone(rule: &Rule, product: &Product, at: usize) -> bool {
    let own = iterators_of(product, &product.accesses[at].subscripts);
    let others = product.accesses.iter().enumerate().filter(|(other, _)| *other != at);
    let mut others = iterators_of(product, others.flat_map(|(_, access)| &access.subscripts));
    others.extend(kept(product));
    others.extend(rule.iterators.iter().cloned());
    for comparison in &product.comparisons {
        let compared = iterators_of(product, &comparison.operands);
        if !compared.is_subset(&own) {
            others.extend(compared);
        }
    }
    !own.is_subset(&others)
}
