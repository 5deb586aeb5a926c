//! Integer expressions and conditions of the loop IR as linear ones of a kernel's iterators, which are `VarId(n)` in
//! them.

use dastac_iterate::Linear;
use dastac_loops::{Compare, Condition, Index, VarId};

/// A linear expression of iterators, if it is one.
pub(super) fn linear(index: &Index) -> Option<Linear> {
    let mut terms = Vec::new();
    let mut constant = index.clone();
    for var in index.free_vars() {
        terms.push((var.0 as usize, index.stride(var)?.as_const()?));
        constant = constant.substitute(var, &Index::Const(0));
    }
    // What remains without the iterators is the constant only where each comes in alone.
    let sum = terms.iter().fold(constant.clone(), |sum, (at, by)| sum + iterator(*at) * *by);
    let same = sum.constant_difference(index) == Some(0);
    (same || terms.is_empty()).then(|| Linear::new(terms, constant))
}

/// An iterator in an expression.
pub(super) fn iterator(at: usize) -> Index {
    Index::Var(VarId(at as u32))
}

/// What is not negative exactly where a comparison holds; nothing for what takes a disjunction.
pub(super) fn not_negative(condition: &Condition) -> Option<Vec<Index>> {
    let Condition::Compare(op, left, right) = condition else { return None };
    let (left, right) = (left.clone(), right.clone());
    Some(match op {
        Compare::Ge => vec![left - right],
        Compare::Gt => vec![left - right - 1],
        Compare::Le => vec![right - left],
        Compare::Lt => vec![right - left - 1],
        Compare::Eq => vec![left.clone() - right.clone(), right - left],
        Compare::Ne => return None,
    })
}

/// A condition as linear ones, and what is left of it.
pub(super) fn split(condition: Condition) -> (Vec<Linear>, Vec<Condition>) {
    let (mut all, mut rest) = (Vec::new(), Vec::new());
    for one in condition.conjuncts() {
        let parts = not_negative(&one);
        let found: Option<Vec<Linear>> = parts.and_then(|parts| parts.iter().map(linear).collect());
        match found {
            Some(found) => all.extend(found),
            None => rest.push(one),
        }
    }
    (all, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(linear: &Linear) -> String {
        format!("{:?} + {}", linear.terms(), linear.constant)
    }

    #[test]
    fn sums_are_linear_and_products_of_iterators_are_not() {
        let (i, j, n) = (iterator(0), iterator(1), Index::Symbol(dastac_loops::SymbolId(0)));
        let sum = (i.clone() - 1) * 2 + n.clone() - j.clone();
        expect_test::expect!["[(0, 2), (1, -1)] + p0 - 2"].assert_eq(&text(&linear(&sum).unwrap()));
        assert_eq!(linear(&(i.clone() * j.clone())), None);
        assert_eq!(linear(&(i.clone() * n.clone())), None);
        assert_eq!(linear(&i.clone().modulo(2)), None);
        let test = Condition::all([i.clone().less(n), j.clone().modulo(2).equal(Index::Const(0))]);
        let (found, rest) = split(test);
        assert_eq!((found.len(), rest.len()), (1, 1));
        expect_test::expect!["[(0, -1)] + p0 - 1"].assert_eq(&text(&found[0]));
    }
}
