//! Sums for elements that are side by side in lanes.
//!
//! Where the bounds of a sum move with the lanes, its loop extends over the terms of all lanes, and those that a lane
//! does not have are masked off.
//!
//! Before -> after, with 4 elements in lanes: `A[i] = sum(k = i to N) B[N * k + i]` ->
//! `carry k = i to N { within = k >= [i, i + 1, i + 2, i + 3]  s = select(within, s + B[N * k + i ..], s) }`.

use super::sums::Terms;
use super::{Lanes, Lowered, Lowering};
use crate::ir::*;

/// A bound that moves with the lanes: where it is in each of them, and whether it is a lower one.
#[derive(Clone, Copy)]
struct Moving {
    bound: RegId,
    lower: bool,
}

impl Lowering<'_> {
    /// The totals of a sum for the lanes of each instance, on top of what there is already (nothing where `initial` is
    /// empty).
    pub(super) fn sums_across(
        &mut self,
        terms: Terms<'_>,
        mut initial: Vec<RegId>,
    ) -> Lowered<Vec<RegId>> {
        let Terms { sum, instances, element } = terms;
        let Some(lanes) = self.lanes.clone() else { return Ok(Vec::new()) };
        let lower = self.farthest(terms, &lanes, true);
        let upper = self.farthest(terms, &lanes, false);
        let mut moving = Vec::new();
        for (list, lower) in [(&sum.lower, true), (&sum.upper, false)] {
            moving.extend(self.moving(list, terms, &lanes, lower));
        }
        let (lower, upper) = (self.bound("lower", lower)?, self.bound("upper", upper)?);
        let nothing = self.number(sum.kind.neutral(), true, element);
        initial.resize(instances.len(), nothing);
        let body = self.associated(&sum.body, instances);
        let range = (sum.var, vec![lower.into()], vec![upper.into()], sum.step);
        self.carry(range, &initial, |lowering, partial| {
            let mask = lowering.lanes_within(sum.var, &moving, &lanes);
            lowering.masked(mask, |lowering| {
                lowering.fetch(sum, instances);
                lowering.accumulate((sum.kind, &body), instances, partial, element)
            })
        })
    }

    /// Bounds of the range that has the terms of all lanes.
    fn farthest(&self, terms: Terms<'_>, lanes: &Lanes, lower: bool) -> Vec<Index> {
        let Some(first) = terms.instances.first() else { return Vec::new() };
        let list = if lower { &terms.sum.lower } else { &terms.sum.upper };
        let end = |bound: &Index| {
            let by = bound.constant_stride(lanes.var).unwrap_or(0);
            let farthest = if lower { by.min(0) } else { by.max(0) };
            self.place(bound, first) + farthest * (lanes.count as i64 - 1)
        };
        list.iter().map(end).collect()
    }

    /// The bounds in a list that move with the lanes.
    fn moving(
        &mut self,
        list: &[Index],
        terms: Terms<'_>,
        lanes: &Lanes,
        lower: bool,
    ) -> Vec<Moving> {
        let Some(first) = terms.instances.first() else { return Vec::new() };
        let mut moving = Vec::new();
        for bound in list {
            let by = bound.constant_stride(lanes.var).unwrap_or(0);
            if by != 0 {
                let here = self.place(bound, first);
                let ty = RegisterType::integer(lanes.count);
                moving.push(Moving { bound: self.define(ty, Operation::Lanes(here, by)), lower });
            }
        }
        moving
    }

    /// Which lanes have a term: those whose bounds it is within, and that there are at all.
    fn lanes_within(&mut self, at: VarId, moving: &[Moving], lanes: &Lanes) -> Option<RegId> {
        if moving.is_empty() {
            return lanes.mask;
        }
        let at = Operation::Lanes(self.place(&at.into(), &Default::default()), 0);
        let at = self.define(RegisterType::integer(lanes.count), at);
        let truth = RegisterType::truth(lanes.count);
        let mut mask = lanes.mask;
        for Moving { bound, lower } in moving {
            let how = if *lower { Compare::Ge } else { Compare::Lt };
            let within = self.define(truth, Operation::Compare(how, at, *bound));
            mask = Some(match mask {
                Some(mask) => self.binary(BinaryOp::And, mask, within),
                None => within,
            });
        }
        mask
    }
}
