//! Elements of sparse tensors that integers choose along a dimension that is not stored outermost: where each integer
//! stands is a sparse matrix of its own, so that no element looks for its place in a row.
//!
//! Before -> after, where `A` is in csr: `P(i, j) := A(i, q(j))` -> `P.1(k, j) := (q(j) = k)` in csr, and `P(i, j) :=
//! A(i, k) * P.1(k, j)`.

use std::collections::BTreeSet;

use super::bounded::{alone, dimensions_of, domain_of};
use super::known::Known;
use super::names::read;
use crate::ast::{CompareOp, ExprKind, File, FormatItem, Item, Name, Operation, PLACE, Term};
use crate::parser::sums::free;

/// Formats of matrices, with the dimension along which an element's place is known.
const FORMATS: [(&str, Option<usize>); 5] =
    [("csr", Some(0)), ("csc", Some(1)), ("dcsr", None), ("dcsc", None), ("coo", None)];

/// The format of such a matrix.
pub(super) const FORMAT: &str = "csr";

/// A comparison that is to be a matrix.
pub(super) struct Gathered {
    /// Its place among the factors.
    pub(super) at: usize,
    /// What is chosen, and by which iterator.
    pub(super) iterators: [Name; 2],
    /// What bounds both.
    pub(super) bounds: Vec<Term>,
}

/// The comparisons of a product that choose elements of sparse matrices so.
pub(super) fn gathered(
    file: &File,
    (symbols, known): (&BTreeSet<String>, &Known),
    product: &Term,
) -> Vec<Gathered> {
    let Term::Product(factors, _) = product else { return Vec::new() };
    let mut found = Vec::new();
    for (place, factor) in factors.iter().enumerate() {
        let Term::Access { tensor, subscripts, position: None, span, .. } = factor else {
            continue;
        };
        let Some(direct) = format_of(file, &tensor.text) else { continue };
        let Some(domain) = domain_of(file, &tensor.text) else { continue };
        for (dimension, subscript) in subscripts.iter().enumerate() {
            let ExprKind::Name(chosen) = &subscript.kind else { continue };
            let Some((at, value)) = choice(factors, chosen) else { continue };
            let mut by = free(value);
            by.retain(|name| !symbols.contains(name));
            let (Some(by), 1) = (by.first().cloned(), by.len()) else { continue };
            // What is chosen for the elements of a sparse tensor is looked for there.
            let is_walked = factors.iter().enumerate().any(|(other, factor)| match factor {
                Term::Access { tensor, .. } => {
                    (other == place || known.is_sparse(&tensor.text)) && free(factor).contains(&by)
                }
                _ => false,
            });
            let is_sparse = read(value).iter().any(|tensor| known.is_sparse(tensor));
            if direct == Some(dimension) || by.contains(PLACE) || is_walked || is_sparse {
                continue;
            }
            let mut read = Vec::new();
            dimensions_of(file, value, &by, &mut read);
            let bounds = alone(domain, dimension, chosen);
            let range = read.into_iter().find(|range| !range.is_empty());
            if let (Some(range), false) = (range, bounds.is_empty()) {
                let name = |text: &String| Name { text: text.clone(), span: *span };
                let iterators = [name(chosen), name(&by)];
                found.push(Gathered { at, iterators, bounds: [bounds, range].concat() });
            }
        }
    }
    found
}

/// The place of the factor that says which value an iterator in a subscript stands for, and that value.
fn choice<'t>(factors: &'t [Term], chosen: &str) -> Option<(usize, &'t Term)> {
    let value = |factor: &'t Term| match factor {
        Term::Call { operation: Operation::Compare(CompareOp::Eq), arguments, .. } => {
            match &arguments[..] {
                [value, Term::Index(name)] if name.text == chosen => Some(value),
                _ => None,
            }
        }
        _ => None,
    };
    let is_place = chosen.contains(PLACE);
    let mut all = factors.iter().enumerate().filter(|_| is_place);
    all.find_map(|(at, factor)| Some((at, value(factor)?)))
}

/// The dimension along which elements of a matrix in a format of these are found at once, if there is one.
fn format_of(file: &File, tensor: &str) -> Option<Option<usize>> {
    let format = file.items.iter().find_map(|item| match item {
        Item::Format(format @ FormatItem { iterators: None, .. })
            if format.tensor.text == tensor =>
        {
            Some(format)
        }
        _ => None,
    })?;
    FORMATS.iter().find(|(name, _)| *name == format.format.text).map(|(_, direct)| *direct)
}

#[cfg(test)]
mod tests {
    use super::super::placed::tests::rules;

    #[test]
    fn inner_dimensions_are_chosen_by_matrices() {
        let found = rules(
            "symbols: N, M
            A:D(i, j) := (0 <= i < N) * (0 <= j < M)
            A:F := csr
            C:D(i, j) := (0 <= i < N) * (0 <= j < M)
            C:F := csc
            p:D(i) := (0 <= i < N)
            q:D(j) := (0 <= j < M)
            x:D(j) := (0 <= j < M)
            P(i, j) := A(p(i), q(j))
            R(i, j) := C(p(i), q(j))
            y(i) := A(i, floor(x(j))) * x(j)",
        );
        expect_test::expect![[r#"
            types: y.1 = i64
            A:F := csr
            C:F := csc
            P.1:F := csr
            P.1(A.at2, j) := (q(j) = A.at2)
            P(i, j) := A(A.at1, A.at2) * (p(i) = A.at1) * P.1(A.at2, j)
            R.1:F := csr
            R.1(C.at1, i) := (p(i) = C.at1)
            R(i, j) := C(C.at1, C.at2) * R.1(C.at1, i) * (q(j) = C.at2)
            y.1(j) := i64(where((floor(x(j)) = floor(x(j))), floor(x(j)), -4.611686018427388e18))
            y.2:F := csr
            y.2(A.at2_, j) := (y.1(j) = A.at2_)
            y(i) := A(i, A.at2_) * y.2(A.at2_, j) * x(j)
        "#]]
        .assert_eq(&found);
    }

    #[test]
    fn what_is_walked_stays() {
        let found = rules(
            "symbols: N, M
            A:D(i, j) := (0 <= i < N) * (0 <= j < M)
            A:F := csr
            S:D(i, j) := (0 <= i < N) * (0 <= j < M)
            S:F := csr
            q:D(j) := (0 <= j < M)
            P(i, j) := A(q(i), j)
            d(i) := A(i, q(i))
            R(i, j) := S(i, j) * A(i, q(j))",
        );
        expect_test::expect![[r#"
            A:F := csr
            S:F := csr
            P(i, j) := A(A.at1, j) * (q(i) = A.at1)
            d(i) := A(i, A.at2) * (q(i) = A.at2)
            R(i, j) := S(i, j) * A(i, A.at2) * (q(j) = A.at2)
        "#]]
        .assert_eq(&found);
    }
}
