//! Sums over stored elements in lanes, where elements at any places are loaded one by one and put into lanes.
//!
//! Rows of a sparse matrix have few entries, and each another number. The terms that do not fill a vector are added up
//! first: a row that is shorter than a vector has no others, and none of its lanes are joined.
//!
//! Before -> after, `sum(p = a to b) v[p] * x[crd[p]]` with 4 lanes: `middle = a + (b - a) - (b - a) % 4  t = for p =
//! middle to b { t += v[p] * x[crd[p]] }  if a < middle { t + reduce(for p = a to middle step 4 { s += v[p..p + 4] *
//! pack(x[crd[p]], x[crd[p + 1]], x[crd[p + 2]], x[crd[p + 3]]) }) } else { t }`.

use super::code::{larger, minus, plus, whole};
use super::sums::Terms;
use super::values::joining;
use super::{Lanes, Lowered, Lowering, Others};
use crate::ir::*;
use crate::unroll::Instance;

impl Lowering<'_> {
    /// How many elements of this type are put into the lanes of one vector.
    pub(super) fn packs_of(&self, element: Element) -> usize {
        let packs = usize::try_from(self.machine.packs).unwrap_or(1);
        packs.min(self.lanes_of(element))
    }

    /// The total of a sum at each instance; the bounds are the same at all of them.
    pub(super) fn sums_packed(
        &mut self,
        terms: Terms<'_>,
        (lower, upper): (VarId, VarId),
        count: usize,
    ) -> Lowered<Vec<RegId>> {
        let Terms { sum, instances, element } = terms;
        let body = self.associated(&sum.body, instances);
        let length = larger(minus(upper.into(), lower.into()), Index::Const(0));
        let length = self.wrapping("length", length);
        let middle = self.wrapping("middle", plus(lower.into(), whole(length, count as i64)));
        let nothing = self.number(sum.kind.neutral(), false, element);
        let range = (sum.var, vec![middle.into()], vec![upper.into()], 1);
        let rest = self.carry(range, &vec![nothing; instances.len()], |lowering, partial| {
            lowering.accumulate((sum.kind, &body), instances, partial, element)
        })?;
        let vectors = Condition::Compare(Compare::Lt, lower.into(), middle.into());
        self.choose(
            Test::Condition(vectors),
            |lowering| {
                lowering.lanes = Some(Lanes::of(sum.var, count, Others::Packed));
                let nothing = lowering.number(sum.kind.neutral(), true, element);
                let range = (sum.var, vec![lower.into()], vec![middle.into()], count as i64);
                let initial = vec![nothing; instances.len()];
                let partial = lowering.carry(range, &initial, |lowering, partial| {
                    lowering.accumulate((sum.kind, &body), instances, partial, element)
                });
                lowering.lanes = None;
                let totals = lowering.lanes_joined(sum.kind, &partial?, count);
                let both = totals.into_iter().zip(&rest);
                let join = joining(sum.kind);
                Ok(both.map(|(total, rest)| lowering.binary(join, total, *rest)).collect())
            },
            |_| Ok(rest.clone()),
        )
    }

    /// The elements for all lanes, loaded one by one.
    pub(super) fn packed(
        &mut self,
        (buffer, index): (BufferId, &Index),
        instance: &Instance,
        lanes: &Lanes,
        ty: RegisterType,
    ) -> RegId {
        let mut loads = Vec::new();
        for lane in 0..lanes.count as i64 {
            let index = index.substitute(lanes.var, &(Index::Var(lanes.var) + lane));
            let index = self.place(&index, instance);
            let load = VectorLoad { buffer, index, reversed: false, mask: None };
            loads.push(self.define(RegisterType { lanes: 1, ..ty }, Operation::Load(load)));
        }
        self.define(ty, Operation::Pack(loads))
    }
}
