//! Loops over all segments of a compressed level, of which the statements inside need nothing but the positions, as one
//! loop over all positions: segments follow each other.
//!
//! Before -> after, with the positions `pos` of a level:
//! ```text
//! for i = 0 to N { for p = pos[i] to pos[i + 1] { Y[p] = 2 * A[p] } }
//! for p = pos[0] to pos[N] { Y[p] = 2 * A[p] }
//! ```
//! The same holds for sums, and for levels below each other, from the innermost one outward.

use std::collections::BTreeSet;

use dastac_formats::level::Role;
use dastac_loops::{BufferId, For, Index, Mark, Stmt, Sum, Value, VarId};

use crate::kernel::Kernel;
use crate::walks::Walks;

/// Joins the loops of a kernel's statements, and what is known of them.
pub(super) fn join_segments(body: &mut [Stmt], kernel: &Kernel, walks: &mut Walks) {
    let levels = kernel.operands.iter().flat_map(|operand| &operand.levels);
    let positions = levels.filter_map(|level| level.array(Role::Positions)).collect();
    Segments { positions, walks }.block(body);
}

struct Segments<'w> {
    /// The arrays of positions of the operands' levels: they do not decrease.
    positions: BTreeSet<BufferId>,
    walks: &'w mut Walks,
}

impl Segments<'_> {
    fn block(&mut self, stmts: &mut [Stmt]) {
        for stmt in stmts {
            for body in stmt.bodies_mut() {
                self.block(body);
            }
            match stmt {
                Stmt::For(outer) => {
                    if let Some(joined) = self.joined(outer) {
                        self.tell(outer.var, joined.var);
                        *outer = joined;
                    }
                }
                Stmt::Store(store) => self.value(&mut store.value),
                _ => {}
            }
        }
    }

    /// The sum that a value is.
    fn value(&mut self, value: &mut Value) {
        let Value::Sum(outer) = value else { return };
        self.value(&mut outer.body);
        if let Some(joined) = self.joined_sum(outer) {
            self.tell(outer.var, joined.var);
            **outer = joined;
        }
    }

    /// The walk of an inner loop is that of an outer one too.
    fn tell(&mut self, outer: VarId, inner: VarId) {
        let Some(outer) = self.walks.remove(&outer) else { return };
        let Some(inner) = self.walks.get_mut(&inner) else { return };
        inner.joined.extend(outer.joined.into_iter().chain(outer.iterator));
    }

    fn joined(&self, outer: &For) -> Option<For> {
        let [Stmt::For(inner)] = &outer.body[..] else { return None };
        if outer.step != 1 || inner.step != 1 || inner.body.iter().any(|s| s.mentions(outer.var)) {
            return None;
        }
        let ends = [&outer.lower[..], &outer.upper[..]];
        let (lower, upper) = self.all(outer.var, ends, [&inner.lower[..], &inner.upper[..]])?;
        let mark = match outer.mark == inner.mark {
            true => outer.mark,
            false => Mark::Sequential,
        };
        Some(For { lower: vec![lower], upper: vec![upper], mark, ..inner.clone() })
    }

    fn joined_sum(&self, outer: &Sum) -> Option<Sum> {
        let Value::Sum(inner) = &outer.body else { return None };
        let plain = |sum: &Sum| {
            sum.step == 1 && sum.unroll.is_none() && sum.condition.is_none() && sum.fetch.is_empty()
        };
        if !plain(outer)
            || !plain(inner)
            || outer.kind != inner.kind
            || inner.body.mentions(outer.var)
        {
            return None;
        }
        let ends = [&outer.lower[..], &outer.upper[..]];
        let (lower, upper) = self.all(outer.var, ends, [&inner.lower[..], &inner.upper[..]])?;
        Some(Sum { lower: vec![lower], upper: vec![upper], ..(**inner).clone() })
    }

    /// All positions of the segments that an outer loop goes over.
    fn all(
        &self,
        var: VarId,
        outer: [&[Index]; 2],
        inner: [&[Index]; 2],
    ) -> Option<(Index, Index)> {
        let ([[low], [high]], [[begin], [end]]) = (outer, inner) else { return None };
        // Sizes are not negative, and positions do not decrease: the first segment is not behind the last one.
        let ascends = match (low, high) {
            (Index::Const(0), Index::Symbol(_)) => true,
            (low, high) => self.is_position(low) && self.is_position(high),
        };
        let next = begin.substitute(var, &(Index::Var(var) + 1));
        (ascends && self.begins(begin, var) && next == *end)
            .then(|| (begin.substitute(var, low), begin.substitute(var, high)))
    }

    /// Whether an index is where the segment of a number begins: `pos[i]`, `pos1[pos0[i]]`.
    fn begins(&self, index: &Index, var: VarId) -> bool {
        match index {
            Index::Load(buffer, at) if self.positions.contains(buffer) => {
                **at == Index::Var(var) || self.begins(at, var)
            }
            _ => false,
        }
    }

    /// Whether an index is a position that an array of positions has.
    fn is_position(&self, index: &Index) -> bool {
        matches!(index, Index::Load(buffer, _) if self.positions.contains(buffer))
    }
}
