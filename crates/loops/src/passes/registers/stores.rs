//! Scalar stores, and which stores are of vectors.
//!
//! Before -> after: `A[N * i] += b[i]` ->
//! `$0 = load b[i]  int at = N * i  $1 = load A[at]  $2 = add $1, $0  write A[at] = $2`.
//! `if first { A[i] = 0.0 } A[i] += b[i]` loads `A[i]` only where `first` does not hold.

use std::collections::BTreeSet;

use super::values::joining;
use super::{Lowered, Lowering, Others};
use crate::ir::*;
use crate::lanes;
use crate::unroll::Instance;

/// An element that is cleared under a condition and then added to: the condition, and the addition.
pub(super) fn cleared<'s>(
    stmt: &'s Stmt,
    next: Option<&'s Stmt>,
) -> Option<(&'s Condition, &'s Store)> {
    let (Stmt::If(clear), Some(Stmt::Store(add))) = (stmt, next) else { return None };
    let [Stmt::Store(zero)] = &clear.then[..] else { return None };
    let same = zero.buffer == add.buffer && zero.index == add.index;
    let clears = zero.mode == StoreMode::Set && zero.value == Value::Const(0.0);
    let adds = add.mode == StoreMode::Add && !add.value.loads(add.buffer);
    (same && clears && adds && clear.otherwise.is_empty()).then_some((&clear.condition, add))
}

/// Instances of a store of which each stands for those in the lanes from it on.
pub(super) struct Across {
    /// The variable in lanes.
    pub(super) var: VarId,
    /// Number of lanes.
    pub(super) count: usize,
    /// The first of each vector.
    pub(super) instances: Vec<Instance>,
    /// How elements that are no neighbours are loaded.
    pub(super) others: Others,
}

impl Lowering<'_> {
    /// A store at all instances; one that adds does not where `first` holds: then it sets.
    pub(super) fn store(&mut self, store: &Store, first: Option<&Condition>) -> Lowered<()> {
        let element = self.element(store.buffer)?;
        let computed = self.module.computed_in(&store.value, element);
        if let Some(across) = self.across(store, computed) {
            return self.store_across(store, first, &across, computed);
        }
        let instances = self.instances.clone();
        let values = self.values(&store.value, &instances, computed)?;
        let places: Vec<Index> =
            instances.iter().map(|instance| self.place_once(&store.index, instance)).collect();
        let Some(first) = first else {
            // One after the other: two of them may be the same element.
            for (index, value) in places.into_iter().zip(values) {
                let value = match store.mode.reduction() {
                    None => value,
                    Some(kind) => {
                        let old = self.element_at(store.buffer, &index, computed);
                        self.binary(joining(kind), old, value)
                    }
                };
                self.write(store.buffer, index, value);
            }
            return Ok(());
        };
        let first = Test::Condition(self.holds_here(first));
        let old = self.choose(
            first,
            |lowering| Ok(vec![lowering.number(0.0, false, computed); places.len()]),
            |lowering| {
                let old = |index| lowering.element_at(store.buffer, index, computed);
                Ok(places.iter().map(old).collect())
            },
        )?;
        for ((index, value), old) in places.into_iter().zip(values).zip(old) {
            let value = self.binary(BinaryOp::Add, old, value);
            self.write(store.buffer, index, value);
        }
        Ok(())
    }

    /// One element.
    pub(super) fn element_at(
        &mut self,
        buffer: BufferId,
        index: &Index,
        element: Element,
    ) -> RegId {
        let load = VectorLoad { buffer, index: index.clone(), reversed: false, mask: None };
        self.define(RegisterType::number(element, 1), Operation::Load(load))
    }

    pub(super) fn write(&mut self, buffer: BufferId, index: Index, value: RegId) {
        self.push(RegisterStmt::Write(Write { buffer, index, value, streamed: None }));
    }

    /// The vectors that a store's instances are, if all of them are lanes of some.
    fn across(&self, store: &Store, computed: Element) -> Option<Across> {
        let count = self.lanes_of(computed);
        if count < 2
            || store.is_index() && computed.is_integer()
            || !self.instances.len().is_multiple_of(count)
        {
            return None;
        }
        let all = self.instances.iter();
        let vars: BTreeSet<VarId> = all.flat_map(|at| at.keys().copied()).collect();
        let across = |var: VarId, others: Others| {
            let instances = runs(&self.instances, var, count)?;
            Some(Across { var, count, instances, others })
        };
        let choices = lanes::choices(store, vars.iter().copied());
        let neighbours = || choices.iter().find_map(|var| across(*var, Others::Gathered));
        let pairs = || vars.iter().flat_map(|var| vars.iter().map(move |by| (*var, *by)));
        let blocks = || {
            let mut pairs = pairs().filter(|(var, by)| lanes::of_blocks(store, *var, *by));
            pairs.find_map(|(var, by)| {
                let instances = runs(&self.instances, var, count)?;
                let others = Others::Transposed(by, blocks(&instances, by, count)?);
                Some(Across { var, count, instances, others })
            })
        };
        let copies = || {
            let one_by_one =
                |var: &&VarId| lanes::of_copies(store, **var) || lanes::of_calls(store, **var);
            let mut copies = vars.iter().filter(one_by_one);
            copies.find_map(|var| across(*var, Others::Packed))
        };
        neighbours().or_else(blocks).or_else(copies)
    }
}

/// The instances from which on there are as many for neighbouring values of a variable as there are lanes, if that is
/// all of them.
fn runs(instances: &[Instance], var: VarId, count: usize) -> Option<Vec<Instance>> {
    let mut left: Vec<&Instance> = instances.iter().collect();
    let mut runs = Vec::new();
    while let Some(first) = left.first().copied() {
        let base = first.get(&var)?;
        let mut lanes = vec![false; count];
        left.retain(|other| {
            let others =
                first.iter().all(|(known, index)| *known == var || other.get(known) == Some(index));
            let lane = other.get(&var).filter(|_| others);
            let lane = lane.and_then(|index| index.constant_difference(base));
            match lane.and_then(|lane| lanes.get_mut(usize::try_from(lane).ok()?)) {
                Some(found) => {
                    *found = true;
                    false
                }
                None => true,
            }
        });
        if lanes.contains(&false) {
            return None;
        }
        runs.push(first.clone());
    }
    Some(runs)
}

/// The instances for as many neighbouring values of a variable as there are lanes, in order, if that is all of them.
fn blocks(instances: &[Instance], by: VarId, count: usize) -> Option<Vec<Vec<Instance>>> {
    let block = |first: Instance| {
        let base = first.get(&by)?.clone();
        let at = |place: usize| {
            let mut at = first.clone();
            at.insert(by, base.clone() + place as i64);
            at
        };
        Some((0..count).map(at).collect())
    };
    runs(instances, by, count)?.into_iter().map(block).collect()
}
