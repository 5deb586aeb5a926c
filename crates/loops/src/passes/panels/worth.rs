//! Whether panels are worth their while, which sizes decide when code runs: copies of operands gain only where their
//! elements are used many times.
//!
//! Before -> after, of a lower triangle times a matrix: `blocks` -> `if 2^18 <= M * N * (N + 1) / 2 and .. { blocks }
//! else { the statements as they were }`.

use super::contraction::{Contraction, Group};
use super::ranges::shadow;
use crate::ir::*;
use crate::passes::polyhedra::scan::scan;
use crate::passes::tile::work;

/// Terms of an element, on the mean: they pay for the tile that is added to it.
const TERMS: i64 = 40;

/// Elements of a row, or of a column, on the mean: they share what is copied.
const SHARED: i64 = 12;

/// Products of all elements: they pay for the workspaces.
const PRODUCTS: i64 = 1 << 18;

/// The condition, in symbols; none if it is not known how many products there are.
pub(super) fn condition(contraction: &Contraction) -> Option<Condition> {
    let (mut products, mut elements) = (Index::Const(0), Index::Const(0));
    let (mut rows, mut columns) = (Index::Const(0), Index::Const(0));
    for group in &contraction.groups {
        for term in &group.terms {
            products = products + count(contraction, group, &term.domain, &[])?;
        }
        let domain = match &group.sums[..] {
            [_] => group.elements.clone(),
            _ => shadow(&group.terms.first()?.domain, &[group.deep()])?,
        };
        let deep = group.deep();
        elements = elements + count(contraction, group, &domain, &[deep])?;
        let without = |var: VarId| {
            let domain = shadow(&domain, &[var])?;
            count(contraction, group, &domain, &[deep, var])
        };
        rows = rows + without(contraction.column)?;
        columns = columns + without(contraction.row)?;
    }
    let conditions = [
        Index::Const(PRODUCTS).at_most(products.clone()),
        (elements.clone() * TERMS).at_most(products),
        (rows * SHARED).at_most(elements.clone()),
        (columns * SHARED).at_most(elements),
    ];
    Some(Condition::all(conditions))
}

/// The points of a polyhedron over all iterators of a group but some.
fn count(
    contraction: &Contraction,
    group: &Group,
    domain: &[Index],
    without: &[VarId],
) -> Option<Index> {
    let mut order = contraction.outer.clone();
    order.extend([contraction.row, contraction.column]);
    order.extend(&group.sums);
    order.retain(|var| !without.contains(var));
    let nested = scan(domain, &order)?;
    Some(work::points(&order, nested.bounded().collect()))
}
