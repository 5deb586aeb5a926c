//! Sums: a few terms side by side, else a loop that carries a partial sum for each instance, or several.
//!
//! Before -> after: `sum(k = 0 to N) B[k]` ->
//! `carry k = 0 to N with $1 : f64 = $0 { $2 = load B[k]  $3 = add $1, $2 } next $3 gives $4`.
//!
//! A sum of at most one term, whose range need not be known, is a choice.
//!
//! A sum over stored elements whose terms cannot be in lanes has several partial sums
//! ([`scalar_chains`](crate::machine::Machine::scalar_chains)), and one for what is left.

use super::associate::{project, projections};
use super::code::{larger, minus, plus, whole};
use super::values::Group;
use super::{Lowered, Lowering};
use crate::ir::*;
use crate::lanes;
use crate::linear::flatten_max;
use crate::unroll::{self, Instance};

/// A sum of at most so many terms becomes these terms.
const SHORT: usize = lanes::FEW_TERMS as usize;

/// The terms of a sum at some instances.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) sum: &'a Sum,
    pub(super) instances: &'a [Instance],
    pub(super) element: Element,
}

/// Whether the range of a sum has one value at most: `max(0, K[i]) .. min(N, min(K[i], N - 1) + 1)`.
fn is_of_one_term(sum: &Sum) -> bool {
    let mut uppers = Vec::new();
    sum.upper.iter().for_each(|upper| at_least(upper, 0, &mut uppers));
    let (mut lowers, step) = (Vec::new(), sum.step);
    sum.lower.iter().for_each(|lower| flatten_max(lower, &mut lowers));
    uppers.iter().any(|(upper, offset)| {
        let is_near = |lower: &Index| {
            upper.constant_difference(lower).is_some_and(|length| length + offset <= step)
        };
        lowers.iter().any(is_near)
    })
}

/// Expressions that an expression plus an offset is at most, each with its offset.
fn at_least<'i>(index: &'i Index, offset: i64, list: &mut Vec<(&'i Index, i64)>) {
    list.push((index, offset));
    match index {
        Index::Min(left, right) => {
            at_least(left, offset, list);
            at_least(right, offset, list);
        }
        Index::Add(left, right) => {
            if let Index::Const(more) = **right
                && let Some(offset) = offset.checked_add(more)
            {
                at_least(left, offset, list);
            }
        }
        _ => {}
    }
}

/// Whether a sum is over positions of a level, one after the other and all of them.
fn over_stored(sum: &Sum) -> bool {
    let stored = sum.lower.iter().chain(&sum.upper).any(Index::has_loads);
    stored && sum.step == 1 && sum.condition.is_none()
}

impl Lowering<'_> {
    /// What a sum is at an instance, added to what is computed before it, if anything is; computed side by side with
    /// the instances of the same range.
    pub(super) fn sum_at<'v>(
        &mut self,
        value: &'v Value,
        (before, sum): (Option<&'v Value>, &'v Sum),
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Lowered<RegId> {
        let vars = value.free_vars();
        let instance = &project(instance, &vars);
        let together = self.of_one_range(sum, instance, projections(&group.instances, &vars));
        let vector = self.lanes.is_some();
        let mut initial = Vec::new();
        if let Some(before) = before {
            for other in &together {
                let so_far = self.value(before, other, group)?;
                initial.push(self.broadcast(so_far, vector));
            }
        }
        let terms = Terms { sum, instances: &together, element: group.element };
        let totals = if vector { self.sums_across(terms, initial)? } else { self.sums(terms)? };
        let at = together.iter().position(|other| other == instance);
        let own = totals[at.unwrap_or(0)];
        for (other, total) in together.into_iter().zip(totals) {
            group.learn(value, other, total);
        }
        Ok(own)
    }

    /// The instances at which a sum has the range that it has at one of them, which is among them.
    fn of_one_range(&self, sum: &Sum, one: &Instance, all: Vec<Instance>) -> Vec<Instance> {
        let bounds = |instance: &Instance| {
            let all = sum.lower.iter().chain(&sum.upper);
            all.map(|bound| unroll::at(bound, instance)).collect::<Vec<_>>()
        };
        let here = bounds(one);
        let alone = sum
            .condition
            .as_ref()
            .is_some_and(|condition| one.keys().any(|var| condition.mentions(*var)));
        all.into_iter().filter(|other| other == one || !alone && bounds(other) == here).collect()
    }

    /// The total of a sum at each instance; the bounds are the same at all of them.
    fn sums(&mut self, terms: Terms<'_>) -> Lowered<Vec<RegId>> {
        let Terms { sum, instances, element } = terms;
        if let Some(totals) = self.short_sums(terms)? {
            return Ok(totals);
        }
        let Some(first) = instances.first() else { return Ok(Vec::new()) };
        let bounds = |list: &[Index]| list.iter().map(|bound| self.place(bound, first)).collect();
        let (lower, upper): (Vec<Index>, Vec<Index>) = (bounds(&sum.lower), bounds(&sum.upper));
        if sum.condition.is_none() && is_of_one_term(sum) {
            return self.sums_of_one(terms, (lower, upper));
        }
        let count = self.lanes_of(element);
        let in_lanes = count > 1 && self.lanes.is_none();
        if in_lanes && lanes::of_terms(sum) {
            let (lower, upper) = (self.bound("lower", lower)?, self.bound("upper", upper)?);
            self.sums_in_lanes(terms, (lower, upper), count)
        } else if self.lanes.is_none() && over_stored(sum) {
            let (lower, upper) = (self.bound("lower", lower)?, self.bound("upper", upper)?);
            let packs = self.packs_of(element);
            let packs = if instances.len() > packs { 1 } else { packs };
            let gathers = in_lanes && self.machine.gathers && lanes::of_stored_terms(sum);
            let irregular = self.function.hints.get(sum.var).irregular;
            if packs > 1 && lanes::of_packed_terms(sum) && !(gathers && irregular) {
                self.sums_packed(terms, (lower, upper), packs)
            } else if gathers {
                self.sums_gathered(terms, (lower, upper), count)
            } else {
                self.sums_in_chains(terms, (lower, upper))
            }
        } else if self.machine.has(ParallelLevel::Lanes)
            && sum.condition.is_none()
            && self.copies(sum, instances) > 1
        {
            // Nothing but independent loads hides how long memory takes to answer a lane.
            let (lower, upper) = (self.bound("lower", lower)?, self.bound("upper", upper)?);
            self.sums_in_chains(terms, (lower, upper))
        } else {
            self.sums_one_by_one(terms, (lower, upper))
        }
    }

    /// How many partial sums each of so many sums has side by side.
    fn copies(&self, sum: &Sum, instances: &[Instance]) -> usize {
        let wanted = sum.unroll.and_then(|unroll| usize::try_from(unroll).ok());
        let chains = usize::try_from(self.machine.scalar_chains).unwrap_or(1);
        wanted.unwrap_or(chains / instances.len()).max(1)
    }

    /// Sums of a few terms each.
    fn short_sums(&mut self, terms: Terms<'_>) -> Lowered<Option<Vec<RegId>>> {
        let Terms { sum, instances, element } = terms;
        if sum.condition.is_some() {
            return Ok(None);
        }
        let mut ranges = Vec::new();
        for instance in instances {
            match unroll::values(&sum.lower, &sum.upper, sum.step, instance) {
                Some((first, trips)) if trips <= SHORT => ranges.push((first, trips)),
                _ => return Ok(None),
            }
        }
        let mut totals = Vec::new();
        for (instance, (first, trips)) in instances.iter().zip(ranges) {
            let mut total: Option<RegId> = None;
            for trip in 0..trips as i64 {
                let mut instance = instance.clone();
                instance.insert(sum.var, first.clone() + trip * sum.step);
                let mut group = Group::new(vec![instance.clone()], element);
                total = Some(match total {
                    None => self.value(&sum.body, &instance, &mut group)?,
                    Some(so_far) => {
                        self.with_term(sum.kind, so_far, &sum.body, &instance, &mut group)?
                    }
                });
            }
            totals.push(match total {
                Some(total) => total,
                None => self.number(sum.kind.neutral(), false, element),
            });
        }
        Ok(Some(totals))
    }

    /// The only term, if there is one.
    fn sums_of_one(
        &mut self,
        terms: Terms<'_>,
        (lower, upper): (Vec<Index>, Vec<Index>),
    ) -> Lowered<Vec<RegId>> {
        let Terms { sum, instances, element } = terms;
        let (lower, upper) = (self.bound("lower", lower)?, self.bound("upper", upper)?);
        let exists = Index::from(lower).less(Index::from(upper));
        let nothing = self.number(sum.kind.neutral(), false, element);
        self.choose(
            Test::Condition(exists),
            |lowering| {
                lowering.under(sum.var, lower, |lowering| {
                    lowering.values(&sum.body, instances, element)
                })
            },
            |_| Ok(vec![nothing; instances.len()]),
        )
    }

    /// Several partial sums side by side, then the rest one by one.
    fn sums_in_chains(
        &mut self,
        terms: Terms<'_>,
        (lower, upper): (VarId, VarId),
    ) -> Lowered<Vec<RegId>> {
        let Terms { sum, instances, element } = terms;
        let body = self.associated(&sum.body, instances);
        let copies = self.copies(sum, instances);
        let length = larger(minus(upper.into(), lower.into()), Index::Const(0));
        let length = self.wrapping("length", length);
        let end = self.wrapping("end", plus(lower.into(), whole(length, copies as i64 * sum.step)));
        let nothing = self.number(sum.kind.neutral(), false, element);
        let mut partial = vec![nothing; instances.len()];
        let mut start = lower;
        let mut loops = vec![(copies, end), (1, upper)];
        if copies == 1 {
            loops.remove(0);
        }
        for (copies, end) in loops {
            let mut initial = partial;
            initial.resize(copies * instances.len(), nothing);
            let step = copies as i64 * sum.step;
            let range = (sum.var, vec![start.into()], vec![end.into()], step);
            let chains = self.carry(range, &initial, |lowering, partial| {
                let mut next = Vec::new();
                for (copy, own) in partial.chunks(instances.len()).enumerate() {
                    next.extend(lowering.copy(sum.var, copy as i64 * sum.step, |lowering| {
                        lowering.accumulate((sum.kind, &body), instances, own, element)
                    })?);
                }
                Ok(next)
            })?;
            partial = self.chains_joined(sum.kind, chains, instances.len());
            start = end;
        }
        Ok(partial)
    }

    /// Writes the terms that are so far behind the loop's.
    pub(super) fn copy<T>(
        &mut self,
        var: VarId,
        offset: i64,
        write: impl FnOnce(&mut Self) -> T,
    ) -> T {
        if offset == 0 {
            return write(self);
        }
        let name = self.function.vars.get(var.0 as usize).cloned().unwrap_or_default();
        let name = self.wrapping(&name, plus(var.into(), Index::Const(offset)));
        self.under(var, name, write)
    }

    /// A loop that carries the partial sums; a term whose condition fails passes them on.
    fn sums_one_by_one(
        &mut self,
        terms: Terms<'_>,
        (lower, upper): (Vec<Index>, Vec<Index>),
    ) -> Lowered<Vec<RegId>> {
        let Terms { sum, instances, element } = terms;
        let nothing = self.number(sum.kind.neutral(), false, element);
        let body = self.associated(&sum.body, instances);
        let initial = vec![nothing; instances.len()];
        self.carry((sum.var, lower, upper, sum.step), &initial, |lowering, partial| {
            let term = (sum.kind, &body);
            let Some(condition) = &sum.condition else {
                return lowering.accumulate(term, instances, partial, element);
            };
            let first = instances.first().cloned().unwrap_or_default();
            let condition = Test::Condition(lowering.holds(condition, &first));
            lowering.choose(
                condition,
                |lowering| lowering.accumulate(term, instances, partial, element),
                |_| Ok(partial.to_vec()),
            )
        })
    }
}
