//! Loops that add to several elements: some of them the same in all iterations, others neighbours.
//!
//! Before -> after, with vectors of `k`: `for k = 0 to N { s[0] += S[k] * x[k]  y[k] += S[k] * z[0] }` ->
//! `carry k = 0 to N - N % 4 step 4 with $1 = 0 { $2 = load S[k]  $3 = load x[k]  $4 = fma $2, $3, $1  $5 = load y[k]
//! .. write y[k] = ..  } next $4 gives $6`, the terms that are left one by one, and `s[0]` plus the lanes of `$6`.
//!
//! As of sums, the order of additions is not fixed. The elements that are read are in other buffers than those that are
//! added to.

use super::code::{larger, minus, plus, whole};
use super::values::Group;
use super::{Lanes, Lowered, Lowering, Others};
use crate::ir::*;

/// What a loop adds to.
struct Adding<'s> {
    /// Elements that are the same in all iterations: different ones.
    sums: Vec<&'s Store>,
    /// Neighbours in neighbouring iterations, in buffers of their own.
    moving: Vec<&'s Store>,
}

impl<'s> Adding<'s> {
    /// What a loop adds to, if that is all it does.
    fn of(inner: &'s For) -> Option<Adding<'s>> {
        if inner.mark != Mark::Sequential || inner.step != 1 {
            return None;
        }
        let mut adding = Adding { sums: Vec::new(), moving: Vec::new() };
        for stmt in &inner.body {
            let Stmt::Store(store) = stmt else { return None };
            if store.mode != StoreMode::Add || store.stream.is_some() || store.is_index() {
                return None;
            }
            match store.index.constant_stride(inner.var)? {
                0 => adding.sums.push(store),
                1 => adding.moving.push(store),
                _ => return None,
            }
        }
        (adding.is_apart() && adding.has_neighbours(inner.var)).then_some(adding)
    }

    fn stores(&self) -> impl Iterator<Item = &'s Store> {
        self.sums.iter().chain(&self.moving).copied()
    }

    /// Whether no element is added to twice in an iteration, and none is read.
    fn is_apart(&self) -> bool {
        let read = |buffer: BufferId| self.stores().any(|store| store.value.loads(buffer));
        let twice = |at: usize, one: &Store| {
            self.sums[..at].iter().any(|other| {
                let difference = one.index.constant_difference(&other.index);
                one.buffer == other.buffer && difference.is_none_or(|by| by == 0)
            })
        };
        let sums = self.sums.iter().enumerate().any(|(at, one)| twice(at, one));
        let mut buffers: Vec<BufferId> = self.moving.iter().map(|store| store.buffer).collect();
        let shared = self.sums.iter().any(|sum| buffers.contains(&sum.buffer));
        buffers.sort();
        let before = buffers.len();
        buffers.dedup();
        let several = buffers.len() < before;
        !self.sums.is_empty()
            && !sums
            && !shared
            && !several
            && !self.stores().any(|store| read(store.buffer))
    }

    /// Whether all that is read are single elements and neighbours.
    fn has_neighbours(&self, var: VarId) -> bool {
        let mut possible = true;
        for store in self.stores() {
            store.value.visit(&mut |value| match value {
                Value::Load(_, index) => {
                    let stride = index.constant_stride(var);
                    possible &= stride.is_some_and(|by| (-1..=1).contains(&by));
                }
                Value::Add(..) | Value::Mul(..) | Value::Const(_) => {}
                _ => possible = false,
            });
        }
        possible
    }
}

/// What is computed for a store: addends, in their order.
struct Addends<'s> {
    store: &'s Store,
    values: Vec<Value>,
}

impl Lowering<'_> {
    /// Writes a loop that adds to several elements with its iterations in lanes, if they can be.
    pub(super) fn adding(&mut self, inner: &For) -> Lowered<bool> {
        let ([_], None, Some(adding)) = (&self.instances[..], &self.lanes, Adding::of(inner))
        else {
            return Ok(false);
        };
        let mut types = Vec::new();
        for store in adding.stores() {
            types.push(self.module.computed_in(&store.value, self.element(store.buffer)?));
        }
        let Some(element) = types.first().copied() else { return Ok(false) };
        let count = self.lanes_of(element);
        if count < 2 || types.iter().any(|other| *other != element) {
            return Ok(false);
        }
        let instances = self.instances.clone();
        let of = |store: &&'_ Store| {
            let mut values = Vec::new();
            addends(&self.associated(&store.value, &instances), &mut values);
            values
        };
        let sums: Vec<Addends<'_>> =
            adding.sums.iter().map(|store| Addends { store, values: of(store) }).collect();
        let moving: Vec<Addends<'_>> =
            adding.moving.iter().map(|store| Addends { store, values: of(store) }).collect();
        let bounds = |list: &[Index]| list.iter().map(|bound| self.here(bound)).collect();
        let (lower, upper): (Vec<Index>, Vec<Index>) = (bounds(&inner.lower), bounds(&inner.upper));
        let (lower, upper) = (self.bound("lower", lower)?, self.bound("upper", upper)?);
        let totals = self.adding_lanes(inner.var, (lower, upper), (&sums, &moving), element)?;
        for (sum, total) in sums.iter().zip(totals) {
            let index = self.here(&sum.store.index);
            let old = self.element_at(sum.store.buffer, &index, element);
            let new = self.binary(BinaryOp::Add, old, total);
            self.write(sum.store.buffer, index, new);
        }
        Ok(true)
    }

    /// Whole vectors of iterations, several at once where there are few sums, then the others one by one.
    fn adding_lanes(
        &mut self,
        var: VarId,
        (lower, upper): (VarId, VarId),
        (sums, moving): (&[Addends<'_>], &[Addends<'_>]),
        element: Element,
    ) -> Lowered<Vec<RegId>> {
        let count = self.lanes_of(element);
        let chains = usize::try_from(self.machine.chains).unwrap_or(1);
        let outer = self.lanes.replace(Lanes::of(var, count, Others::Gathered));
        let length = larger(minus(upper.into(), lower.into()), Index::Const(0));
        let length = self.wrapping("length", length);
        let nothing = self.number(0.0, true, element);
        let mut partial = vec![nothing; sums.len()];
        let mut start = lower;
        let mut sizes = vec![(chains / sums.len()).max(1).next_power_of_two()];
        if sizes[0] > 1 {
            sizes.push(1);
        }
        for copies in sizes {
            let step = (copies * count) as i64;
            let end = self.wrapping("end", plus(lower.into(), whole(length, step)));
            let mut initial = partial;
            initial.resize(copies * sums.len(), nothing);
            let range = (var, vec![start.into()], vec![end.into()], step);
            let chains = self.carry(range, &initial, |lowering, partial| {
                let mut next = Vec::new();
                for (copy, own) in partial.chunks(sums.len()).enumerate() {
                    next.extend(lowering.copy(var, (copy * count) as i64, |lowering| {
                        lowering.adding_step((sums, moving), own, element)
                    })?);
                }
                Ok(next)
            })?;
            partial = self.chains_joined(Reduction::Sum, chains, sums.len());
            start = end;
        }
        let totals = self.lanes_joined(Reduction::Sum, &partial, count);
        self.lanes = outer;
        let range = (var, vec![start.into()], vec![upper.into()], 1);
        self.carry(range, &totals, |lowering, partial| {
            lowering.adding_step((sums, moving), partial, element)
        })
    }

    /// One iteration, or a vector of them: the sums after it.
    fn adding_step(
        &mut self,
        (sums, moving): (&[Addends<'_>], &[Addends<'_>]),
        partial: &[RegId],
        element: Element,
    ) -> Lowered<Vec<RegId>> {
        let instance = self.instances.first().cloned().unwrap_or_default();
        let mut next = Vec::new();
        for (sum, so_far) in sums.iter().zip(partial) {
            next.push(self.plus_all(*so_far, &sum.values, element)?);
        }
        let mut results = Vec::new();
        for one in moving {
            let old = Value::Load(one.store.buffer, one.store.index.clone());
            let mut group = Group::new(vec![instance.clone()], element);
            let old = self.value(&old, &instance, &mut group)?;
            results.push(self.plus_all(old, &one.values, element)?);
        }
        for (one, result) in moving.iter().zip(results) {
            let index = self.place(&one.store.index, &instance);
            self.write(one.store.buffer, index, result);
        }
        Ok(next)
    }

    fn plus_all(&mut self, so_far: RegId, values: &[Value], element: Element) -> Lowered<RegId> {
        let instance = self.instances.first().cloned().unwrap_or_default();
        let mut group = Group::new(vec![instance.clone()], element);
        let mut so_far = so_far;
        for value in values {
            so_far = self.with_term(Reduction::Sum, so_far, value, &instance, &mut group)?;
            so_far = self.broadcast(so_far, true);
        }
        Ok(so_far)
    }
}

/// The addends of a value.
fn addends(value: &Value, list: &mut Vec<Value>) {
    match value {
        Value::Add(left, right) => {
            addends(left, list);
            addends(right, list);
        }
        value => list.push(value.clone()),
    }
}
