//! Which of two workspaces is used, by sizes that are known only when the code runs.
//!
//! Before -> after, of `C(i, k) := A(i, j) * B(j, k)`: `for i { .. }` ->
//! `if K <= 58254 or K <= 119304647 and K <= A.count1 + B.count1 { for i { .. } } else { for i { .. } }`, with a dense
//! workspace first, with a list that grows in the other case.

use std::collections::BTreeSet;

use dastac_loops::{Condition, Index, Module};

use super::super::kernel::{Kernel, Limits, Operand};

/// Whether a dense workspace of one level of a result is small: at most as large as `limits` say, beside what operands
/// store. `None` if it always is, because its extent is a small
/// constant.
pub(crate) fn is_small(
    module: &Module,
    kernel: &Kernel,
    result: &Operand,
    (level, limits): (usize, Limits),
) -> Option<Condition> {
    let own = result.on_levels();
    let behind = own.extents[level + 1..].iter();
    let places = behind.fold(own.extents[level].clone(), |all, extent| all * extent.clone());
    let bytes = module.buffers[result.values.0 as usize].element.bytes() as i64 + 1;
    if places.as_const().is_some_and(|places| places <= limits.near / bytes) {
        return None;
    }
    let at_most = |limit: i64| places.clone().at_most(Index::Const(limit / bytes));
    let operands: BTreeSet<usize> = kernel
        .products
        .iter()
        .flat_map(|product| &product.factors)
        .map(|factor| factor.operand)
        .collect();
    let stored = operands
        .into_iter()
        .map(|at| &kernel.operands[at])
        .filter(|operand| !operand.format.is_full())
        .map(|operand| module.buffers[operand.values.0 as usize].size.clone());
    let all = stored.fold(Index::Const(0), |all, count| all + count);
    let for_stored = places.clone().at_most(all * Index::Const((limits.each / bytes).max(1)));
    Some(at_most(limits.near).or(at_most(limits.most).and(for_stored)))
}
