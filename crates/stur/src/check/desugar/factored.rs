//! Sums among factors that would become many products: `y(i) := (a(i) + b(i)) * (c(i) + d(i)) * ..` with more than
//! [`MOST`] products is `y(i) := y.1(i) * y.2(i) * ..`, where `y.1(i) := a(i) + b(i)` is computed once.
//!
//! A sum's elements have to be stored then: where it has several iterators, as an element that it reads has, or where
//! all others take few values.

use std::collections::BTreeSet;

use super::known::Known;
use crate::ast::{Name, Term};
use crate::check::products::size;
use crate::parser::sums::free;

/// The products that factors of one product are multiplied out to.
const MOST: u64 = 16;

/// A sum that is to be a tensor: which factor it is, and its iterators.
pub(super) struct Sum {
    pub at: usize,
    pub iterators: Vec<Name>,
}

/// The sums among the factors of a product that are too many products. `iterators` are those of a term, and
/// `is_bounded` says whether all of them have bounds in it, or where it stands.
pub(super) fn sums(
    product: &Term,
    conditions: &[Term],
    known: &Known,
    iterators: &dyn Fn(&Term) -> Vec<Name>,
    is_bounded: &dyn Fn(&Term, &[Name]) -> bool,
) -> Vec<Sum> {
    let Term::Product(factors, _) = product else { return Vec::new() };
    if size(product, &|_| 1).0 <= MOST {
        return Vec::new();
    }
    let few = |name: &str| conditions.iter().any(|one| is_between_numbers(one, name));
    let sums = factors.iter().enumerate().filter(|(_, factor)| matches!(factor, Term::Sum(..)));
    let sums = sums.filter_map(|(at, sum)| {
        let iterators = iterators(sum);
        let many = iterators.iter().map(|name| name.text.as_str()).filter(|name| !few(name));
        let many: BTreeSet<String> = many.map(str::to_owned).collect();
        let pays = many.len() <= 1 || reads_all(sum, &many, known);
        (pays && is_bounded(sum, &iterators)).then_some(Sum { at, iterators })
    });
    sums.collect()
}

/// Whether a comparison bounds an iterator by numbers from both sides: `(0 <= a < 2)`.
fn is_between_numbers(condition: &Term, name: &str) -> bool {
    let Term::Comparison(comparison) = condition else { return false };
    let names = free(condition);
    3 <= comparison.operands.len() && names.len() == 1 && names.contains(name)
}

/// Whether a term reads an element of a tensor without a format that has all these iterators as subscripts.
fn reads_all(term: &Term, names: &BTreeSet<String>, known: &Known) -> bool {
    match term {
        Term::Access { tensor, .. } => {
            let mut own = BTreeSet::new();
            super::names::bound_in(term, &mut own);
            names.is_subset(&own) && !known.is_sparse(&tensor.text)
        }
        other => other.parts().iter().any(|part| reads_all(part, names, known)),
    }
}
