//! Sums over stored elements in lanes, where the machine loads elements at any places into lanes.
//!
//! Rows of a sparse matrix have few entries, and each another number: a loop over what is left of whole vectors ends
//! where the processor does not expect it. So what is left, from one entry to a whole vector, is computed under a mask,
//! without asking.
//!
//! Before -> after, `sum(p = a to b) v[p] * x[crd[p]]` with 8 lanes: `if b - a <= 8 { reduce(masked(..)) } else {
//! s = for p = a to a + (b - a - 1) / 8 * 8 step 8 { s += v[p..p + 8] * gather(x, crd[p..p + 8]) }  reduce(s +
//! masked(..)) }`. Rows of at most a vector have code of their own, which waits for no loop.

use super::code::{larger, minus, plus, whole};
use super::sums::Terms;
use super::{Lanes, Lowered, Lowering, Others, RegistersError};
use crate::ir::*;
use crate::unroll::Instance;

impl Lowering<'_> {
    /// The total of a sum at each instance; the bounds are the same at all of them.
    pub(super) fn sums_gathered(
        &mut self,
        terms: Terms<'_>,
        (lower, upper): (VarId, VarId),
        count: usize,
    ) -> Lowered<Vec<RegId>> {
        let Terms { sum, instances, element } = terms;
        let length = self.wrapping("length", minus(upper.into(), lower.into()));
        let short = Condition::Compare(Compare::Le, length.into(), Index::Const(count as i64));
        let outer = self.lanes.replace(Lanes::of(sum.var, count, Others::Gathered));
        let body = self.associated(&sum.body, instances);
        let totals = self.choose(
            Test::Condition(short),
            |lowering| {
                let rest = lowering.wrapping("rest", larger(length.into(), Index::Const(0)));
                lowering.rest_gathered(terms, &body, (lower, rest), None)
            },
            |lowering| {
                let before = lowering.wrapping("before", minus(length.into(), Index::Const(1)));
                let before = lowering.wrapping("before", whole(before, count as i64));
                let last = lowering.wrapping("last", plus(lower.into(), before.into()));
                let rest = lowering.wrapping("rest", minus(length.into(), before.into()));
                let none = lowering.number(sum.kind.neutral(), true, element);
                let range = (sum.var, vec![lower.into()], vec![last.into()], count as i64);
                let initial = vec![none; instances.len()];
                let partial = lowering.carry(range, &initial, |lowering, partial| {
                    lowering.accumulate((sum.kind, &body), instances, partial, element)
                })?;
                lowering.rest_gathered(terms, &body, (last, rest), Some(&partial))
            },
        )?;
        self.lanes = outer;
        Ok(totals)
    }

    /// The totals of so many terms from a place on, and of what is known.
    fn rest_gathered(
        &mut self,
        terms: Terms<'_>,
        body: &Value,
        (place, rest): (VarId, VarId),
        known: Option<&[RegId]>,
    ) -> Lowered<Vec<RegId>> {
        let Terms { sum, instances, element } = terms;
        let count = self.lanes.as_ref().map_or(1, |lanes| lanes.count);
        let first = FirstLanes { count: rest.into(), from_bits: true };
        let mask = self.define(RegisterType::truth(count), Operation::First(first));
        let vectors = self.masked(Some(mask), |lowering| {
            lowering.under(sum.var, place, |lowering| match known {
                Some(known) => lowering.accumulate((sum.kind, body), instances, known, element),
                None => lowering.first_terms((sum.kind, body), instances, element),
            })
        })?;
        Ok(self.lanes_joined(sum.kind, &vectors, count))
    }

    /// A place for each lane, computed of elements of other buffers.
    pub(super) fn places(
        &mut self,
        index: &Index,
        instance: &Instance,
        lanes: &Lanes,
    ) -> Lowered<RegId> {
        let ty = RegisterType::integer(lanes.count);
        if !index.mentions(lanes.var) {
            let one = self.place(index, instance);
            return Ok(self.define(ty, Operation::Lanes(one, 0)));
        }
        let (how, left, right) = match index {
            Index::Add(left, right) => (BinaryOp::Add, left, right),
            Index::Sub(left, right) => (BinaryOp::Sub, left, right),
            Index::Mul(left, right) => (BinaryOp::Mul, left, right),
            Index::Load(buffer, at) => {
                let index = self.place(at, instance);
                let load = VectorLoad { buffer: *buffer, index, reversed: false, mask: lanes.mask };
                return Ok(self.define(ty, Operation::Load(load)));
            }
            _ => return Err(RegistersError::Places),
        };
        let left = self.places(left, instance, lanes)?;
        let right = self.places(right, instance, lanes)?;
        Ok(self.binary(how, left, right))
    }
}
