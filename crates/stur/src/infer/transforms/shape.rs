//! Products as integer matrices: how far each subscript moves if the iterators move.

use crate::program::{Product, Rule, TensorId};
use crate::sets::{Affine, Atom};

use super::super::Space;

/// Products with more iterators are not searched.
const MAX_ITERATORS: usize = 8;

/// A product, and the linear parts of its subscripts.
pub(super) struct Shape<'b> {
    pub product: &'b Product,
    /// Position of each of the head's iterators.
    pub head: Vec<usize>,
    /// Positions of the other iterators.
    pub reductions: Vec<usize>,
    pub accesses: Vec<Access<'b>>,
    /// Products whose kinds differ cannot correspond.
    pub kind: Kind,
}

/// An access, and the coefficient of each iterator in each of its subscripts.
pub(super) struct Access<'b> {
    pub tensor: TensorId,
    pub reciprocal: bool,
    pub subscripts: &'b [Affine],
    pub rows: Vec<Vec<i64>>,
}

#[derive(PartialEq, Eq)]
pub(super) struct Kind {
    accesses: Vec<(TensorId, bool)>,
    symbols: Vec<(usize, bool)>,
    reductions: usize,
    magnitude: u64,
}

/// The shapes of all products, if every subscript is linear in the iterators.
pub(super) fn shapes<'b>(rule: &'b Rule, spaces: &'b [Space]) -> Option<Vec<Shape<'b>>> {
    rule.products.iter().zip(spaces).map(|(product, space)| shape(rule, product, space)).collect()
}

fn shape<'b>(rule: &'b Rule, product: &'b Product, space: &'b Space) -> Option<Shape<'b>> {
    let iterators = &product.iterators;
    if iterators.len() > MAX_ITERATORS {
        return None;
    }
    let position = |name: &String| iterators.iter().position(|other| other == name);
    let head: Vec<usize> = rule.iterators.iter().map(position).collect::<Option<_>>()?;
    let reductions: Vec<usize> = (0..iterators.len()).filter(|k| !head.contains(k)).collect();
    let mut accesses = Vec::new();
    for (access, subscripts) in product.accesses.iter().zip(&space.subscripts) {
        let rows = subscripts.iter().map(|subscript| row(subscript, iterators));
        accesses.push(Access {
            tensor: access.tensor,
            reciprocal: access.reciprocal,
            subscripts,
            rows: rows.collect::<Option<_>>()?,
        });
    }
    let mut kind = Kind {
        accesses: accesses.iter().map(|access| (access.tensor, access.reciprocal)).collect(),
        symbols: product.symbols.iter().map(|s| (s.symbol, s.reciprocal)).collect(),
        reductions: reductions.len(),
        magnitude: product.coefficient.abs().to_bits(),
    };
    kind.accesses.sort_unstable();
    kind.symbols.sort_unstable();
    Some(Shape { product, head, reductions, accesses, kind })
}

fn row(subscript: &Affine, iterators: &[String]) -> Option<Vec<i64>> {
    let mut row = vec![0; iterators.len()];
    for (atom, factor) in &subscript.terms {
        match atom {
            Atom::Name(name) => {
                if let Some(at) = iterators.iter().position(|other| other == name) {
                    row[at] = *factor;
                }
            }
            Atom::Floor(inner, _) => {
                if iterators.iter().any(|name| inner.names().contains(name)) {
                    return None;
                }
            }
        }
    }
    Some(row)
}

/// The sum of coefficients times steps.
pub(super) fn dot(row: &[i64], steps: &[i64]) -> i64 {
    row.iter().zip(steps).fold(0i64, |sum, (a, b)| sum.saturating_add(a.saturating_mul(*b)))
}
