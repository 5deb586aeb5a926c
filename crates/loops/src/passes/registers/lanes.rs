//! Sums with their terms in lanes.
//!
//! A sum whose terms load neighbours for neighbouring values of its variable is computed in lanes: a main loop over
//! whole vectors (several at once while there are few partial sums, since each waits for its last addition), the rest
//! in one vector under a mask, and the lanes of each partial sum joined at the end.
//!
//! Before -> after, `sum(k = 0 to N) b[k] * c[k]` with 4 lanes:
//! `a = for k = 0 to N - N % 4 step 4 { a += b[k..k + 4] * c[k..k + 4] }  if N % 4 { a += masked(..) }  reduce(a)`.

use super::code::{larger, minus, plus, whole};
use super::sums::Terms;
use super::values::Group;
use super::{Lanes, Lowered, Lowering, Others};
use crate::ir::*;
use crate::unroll::Instance;

/// More partial sums of one sum are never worth it.
const MOST_COPIES: usize = 32;

/// How many vectors of terms are added at once, where so many partial sums hide the latency of an addition.
fn copies(sum: &Sum, instances: usize, chains: usize) -> usize {
    let wanted = sum.unroll.and_then(|unroll| usize::try_from(unroll).ok());
    let chosen = || (chains / instances).max(1);
    let copies = wanted.map_or_else(chosen, |unroll| unroll.clamp(1, MOST_COPIES));
    copies.next_power_of_two()
}

impl Lowering<'_> {
    pub(super) fn sums_in_lanes(
        &mut self,
        terms: Terms<'_>,
        (lower, upper): (VarId, VarId),
        count: usize,
    ) -> Lowered<Vec<RegId>> {
        let Terms { sum, instances, element } = terms;
        let outer = self.lanes.replace(Lanes::of(sum.var, count, Others::Gathered));
        let body = self.associated(&sum.body, instances);
        let length = larger(minus(upper.into(), lower.into()), Index::Const(0));
        let length = self.wrapping("length", length);
        let nothing = self.number(sum.kind.neutral(), true, element);
        let mut partial = vec![nothing; instances.len()];
        let mut start = lower;
        let chains = usize::try_from(self.machine.chains).unwrap_or(1);
        let mut sizes = vec![copies(sum, instances.len(), chains)];
        if sizes[0] > 1 {
            sizes.push(1);
        }
        for copies in sizes {
            let step = (copies * count) as i64;
            let end = self.wrapping("end", plus(lower.into(), whole(length, step)));
            let mut initial = partial;
            initial.resize(copies * instances.len(), nothing);
            let range = (sum.var, vec![start.into()], vec![end.into()], step);
            let chains = self.carry(range, &initial, |lowering, partial| {
                let mut next = Vec::new();
                for (copy, own) in partial.chunks(instances.len()).enumerate() {
                    next.extend(lowering.copy(sum.var, (copy * count) as i64, |lowering| {
                        let next = lowering.accumulate((sum.kind, &body), instances, own, element);
                        lowering.fetch(sum, instances);
                        next
                    })?);
                }
                Ok(next)
            })?;
            partial = self.chains_joined(sum.kind, chains, instances.len());
            start = end;
        }
        let rest = self.wrapping("rest", Index::Mod(Box::new(length.into()), count as i64));
        let some = Condition::Compare(Compare::Ne, rest.into(), Index::Const(0));
        let vectors = self.choose(
            Test::Condition(some),
            |lowering| {
                let first = FirstLanes { count: rest.into(), from_bits: false };
                let mask = lowering.define(RegisterType::truth(count), Operation::First(first));
                lowering.masked(Some(mask), |lowering| {
                    lowering.under(sum.var, start, |lowering| {
                        lowering.accumulate((sum.kind, &body), instances, &partial, element)
                    })
                })
            },
            |_| Ok(partial.clone()),
        )?;
        let totals = self.lanes_joined(sum.kind, &vectors, count);
        self.lanes = outer;
        Ok(totals)
    }

    /// Writes something under another mask.
    pub(super) fn masked<T>(
        &mut self,
        mask: Option<RegId>,
        write: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = self.lanes.clone();
        if let Some(lanes) = &mut self.lanes {
            lanes.mask = mask;
        }
        let result = write(self);
        self.lanes = outer;
        result
    }

    /// Asks for the elements that will be read soon after, of which the lanes are neighbours.
    pub(super) fn fetch(&mut self, sum: &Sum, instances: &[Instance]) {
        let Some(first) = instances.first() else { return };
        for (buffer, index) in &sum.fetch {
            if index.constant_stride(sum.var) == Some(1) {
                let index = self.place(index, first);
                self.push(RegisterStmt::Prefetch(*buffer, index));
            }
        }
    }

    /// The first vector of terms, and nothing in lanes that are masked off.
    pub(super) fn first_terms(
        &mut self,
        (kind, body): (Reduction, &Value),
        instances: &[Instance],
        element: Element,
    ) -> Lowered<Vec<RegId>> {
        let mut group = Group::new(instances.to_vec(), element);
        let nothing = self.number(kind.neutral(), true, element);
        let mut terms = Vec::new();
        for instance in instances {
            let term = self.value(body, instance, &mut group)?;
            let term = self.broadcast(term, true);
            terms.push(self.where_there(term, nothing));
        }
        Ok(terms)
    }

    /// Partial sums with one more term each, or one more vector of terms.
    pub(super) fn accumulate(
        &mut self,
        (kind, body): (Reduction, &Value),
        instances: &[Instance],
        partial: &[RegId],
        element: Element,
    ) -> Lowered<Vec<RegId>> {
        let mut group = Group::new(instances.to_vec(), element);
        let mut next = Vec::new();
        for (instance, partial) in instances.iter().zip(partial) {
            let sum = self.with_term(kind, *partial, body, instance, &mut group)?;
            let sum = self.broadcast(sum, true);
            next.push(self.where_there(sum, *partial));
        }
        Ok(next)
    }

    /// A vector in the lanes that are there, another one in those that are masked off, where the first may hold
    /// anything: a factor may be infinite.
    fn where_there(&mut self, vector: RegId, other: RegId) -> RegId {
        let mask = self.lanes.as_ref().and_then(|lanes| lanes.mask);
        let Some(mask) = mask else { return vector };
        self.define(self.type_in(vector), Operation::Select(mask, vector, other))
    }
}
