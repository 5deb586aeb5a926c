//! Selections in subscripts: which of them matter to sums, and what all of their pieces have in common.

use super::nest::Level;
use crate::ir::*;
use crate::polynomial::Polynomial;

/// The comparisons that matter to sums, each with the sums that it stands in, the outermost first.
pub(super) fn comparisons(
    value: &Value,
    sums: &mut Vec<Sum>,
    found: &mut Vec<(Condition, Vec<Sum>)>,
) {
    match value {
        Value::Load(_, index) | Value::FromIndex(index) => {
            if !sums.is_empty() {
                in_selections(index, sums, found);
            }
        }
        Value::Sum(sum) => {
            sums.push((**sum).clone());
            comparisons(&sum.body, sums, found);
            sums.pop();
        }
        _ => value.parts().into_iter().for_each(|part| comparisons(part, sums, found)),
    }
}

fn in_selections(index: &Index, sums: &[Sum], found: &mut Vec<(Condition, Vec<Sum>)>) {
    index.visit(&mut |index| {
        let Index::Select(condition, then, otherwise) = index else { return };
        let varies = sums.iter().any(|sum| condition.mentions(sum.var));
        if varies || !alike(then, otherwise, sums) {
            each_comparison(condition, &mut |comparison| {
                found.push((comparison.clone(), sums.to_vec()));
            });
        }
    });
}

/// The comparisons of a condition.
pub(super) fn each_comparison(condition: &Condition, f: &mut dyn FnMut(&Condition)) {
    match condition {
        Condition::Compare(..) => f(condition),
        Condition::And(list) | Condition::Or(list) => {
            list.iter().for_each(|condition| each_comparison(condition, f));
        }
    }
}

/// The pieces of nested selections.
fn leaves<'a>(index: &'a Index, list: &mut Vec<&'a Index>) {
    match index {
        Index::Select(_, then, otherwise) => {
            leaves(then, list);
            leaves(otherwise, list);
        }
        index => list.push(index),
    }
}

/// Whether the difference of two pieces does not vary with the variables of sums.
fn alike(then: &Index, otherwise: &Index, sums: &[Sum]) -> bool {
    let mut pieces = Vec::new();
    leaves(then, &mut pieces);
    leaves(otherwise, &mut pieces);
    let mut pieces = pieces.into_iter().map(Polynomial::of);
    let Some(Some(first)) = pieces.next() else { return false };
    pieces.all(|piece| {
        let difference = piece.and_then(|piece| piece.plus(&first, -1));
        difference.is_some_and(|difference| sums.iter().all(|sum| !difference.mentions(sum.var)))
    })
}

/// The variables of a nest, outer loops first.
pub(super) fn in_order(levels: &[Level], store: &Store) -> Vec<VarId> {
    let mut order: Vec<VarId> = levels.iter().map(|level| level.var).collect();
    store.value.visit(&mut |value| {
        if let Value::Sum(sum) = value
            && !order.contains(&sum.var)
        {
            order.push(sum.var);
        }
    });
    order
}

/// A selection with the common part of its pieces moved out: `select(c, a + j, b + j)` -> `select(c, a, b) + j`.
pub(crate) fn written_outside(index: &Index, order: &[VarId]) -> Index {
    let mut pieces = Vec::new();
    leaves(index, &mut pieces);
    if let [only] = &pieces[..] {
        return Polynomial::of(only).map_or(index.clone(), |only| only.to_index(order));
    }
    let pieces: Option<Vec<Polynomial>> = pieces.into_iter().map(Polynomial::of).collect();
    let Some(pieces) = pieces else { return index.clone() };
    let common = pieces.iter().cloned().reduce(|left, right| left.common(&right));
    let Some(common) = common.map(|common| common.whole().0).filter(|common| !common.is_zero())
    else {
        return index.clone();
    };
    let Some(rest) = without(index, &common, order) else { return index.clone() };
    rest + common.to_index(order)
}

fn without(index: &Index, common: &Polynomial, order: &[VarId]) -> Option<Index> {
    Some(match index {
        Index::Select(condition, then, otherwise) => Index::select(
            (**condition).clone(),
            without(then, common, order)?,
            without(otherwise, common, order)?,
        ),
        index => Polynomial::of(index)?.plus(common, -1)?.to_index(order),
    })
}
