//! Vectors on their way to memory: joined with what is there, set, or set past the caches.
//!
//! Whole lines go past the caches where a store says that it is worth it ([`Store::stream`]) and they are aligned,
//! which is known when the code runs.
//!
//! Before -> after, of four vectors `v`: `A[i..i + 32] = v stream if c` ->
//! `choose if c and (A + 8 * i) % 64 == 0 { write A[i..i + 32] = v streamed 64 } else { write A[i..i + 32] = v }`.

use super::stores::Across;
use super::values::{Group, joining};
use super::{Lanes, Lowered, Lowering};
use crate::ir::*;
use crate::unroll::Instance;

/// A register, and where it is stored.
type Part = (Index, RegId);

impl Across {
    /// The first vectors of runs of neighbours, where all runs consist of whole lines if they begin at one.
    fn lines(&self, element: Element, line: usize) -> Option<Vec<usize>> {
        let mut first: Vec<usize> = Vec::new();
        let mut lengths: Vec<usize> = Vec::new();
        for (at, instance) in self.instances.iter().enumerate() {
            let follows = at > 0 && self.follows(&self.instances[at - 1], instance);
            match lengths.last_mut().filter(|_| follows) {
                Some(length) => *length += 1,
                None => {
                    first.push(at);
                    lengths.push(1);
                }
            }
        }
        let bytes = self.count * element.bytes();
        lengths.iter().all(|length| (length * bytes).is_multiple_of(line)).then_some(first)
    }

    /// Whether a vector stands right behind another one.
    fn follows(&self, before: &Instance, instance: &Instance) -> bool {
        let far = |var: &VarId| instance.get(var)?.constant_difference(before.get(var)?);
        let other = |var: &VarId| *var == self.var || far(var) == Some(0);
        instance.keys().all(other) && far(&self.var) == Some(self.count as i64)
    }
}

impl Lowering<'_> {
    /// A store of vectors: neighbours at once, others lane by lane.
    pub(super) fn store_across(
        &mut self,
        store: &Store,
        first: Option<&Condition>,
        across: &Across,
        computed: Element,
    ) -> Lowered<()> {
        let lanes = Lanes::of(across.var, across.count, across.others.clone());
        let outer = self.lanes.replace(lanes);
        let value = self.associated(&store.value, &across.instances);
        let mut group = Group::new(across.instances.clone(), computed);
        let mut values = Vec::new();
        for instance in &across.instances {
            let value = self.value(&value, instance, &mut group)?;
            values.push(self.broadcast(value, true));
        }
        let first = first.map(|first| {
            let first = self.holds_here(first);
            self.define(RegisterType::truth(1), Operation::Holds(first))
        });
        let together = store.index.constant_stride(across.var) == Some(1);
        let parts = self.parts(store, across, &values, together);
        match store.mode.reduction() {
            None => self.set(store, across, parts, together)?,
            Some(how) => self.join((how, store.buffer), parts, first),
        }
        self.lanes = outer;
        Ok(())
    }

    /// What is stored where: whole vectors, or their lanes.
    fn parts(
        &mut self,
        store: &Store,
        across: &Across,
        values: &[RegId],
        together: bool,
    ) -> Vec<Part> {
        let mut parts = Vec::new();
        for (instance, value) in across.instances.iter().zip(values) {
            for lane in 0..if together { 1 } else { across.count } {
                let mut instance = instance.clone();
                if let Some(at) = instance.get_mut(&across.var) {
                    *at = at.clone() + lane as i64;
                }
                let place = self.place_once(&store.index, &instance);
                let ty = RegisterType { lanes: 1, ..self.type_in(*value) };
                let part = match together {
                    true => *value,
                    false => self.define(ty, Operation::Extract(*value, lane)),
                };
                parts.push((place, part));
            }
        }
        parts
    }

    /// Sets elements, whole vectors or single ones, to what is computed.
    fn set(
        &mut self,
        store: &Store,
        across: &Across,
        parts: Vec<Part>,
        together: bool,
    ) -> Lowered<()> {
        let element = self.element(store.buffer)?;
        let line = usize::try_from(self.machine.line).unwrap_or(1).max(1);
        let lines = across.lines(element, line).filter(|_| together);
        let (Some(lines), Some(stream)) = (lines, &store.stream) else {
            self.write_all(store.buffer, &parts, None);
            return Ok(());
        };
        let truth = RegisterType::truth(1);
        let worth = self.holds_here(stream);
        let worth = self.define(truth, Operation::Holds(worth));
        let indices = lines.iter().map(|line| parts[*line].0.clone()).collect();
        let aligned = Aligned { buffer: store.buffer, indices, bytes: line };
        let aligned = self.define(truth, Operation::Aligned(aligned));
        let both = self.binary(BinaryOp::And, worth, aligned);
        let alignment = line.min(across.count * element.bytes());
        self.choose(
            Test::Register(both),
            |lowering| {
                lowering.write_all(store.buffer, &parts, Some(alignment));
                Ok(Vec::new())
            },
            |lowering| {
                lowering.write_all(store.buffer, &parts, None);
                Ok(Vec::new())
            },
        )?;
        Ok(())
    }

    fn write_all(&mut self, buffer: BufferId, parts: &[Part], streamed: Option<usize>) {
        for (index, value) in parts {
            let (index, value) = (index.clone(), *value);
            self.push(RegisterStmt::Write(Write { buffer, index, value, streamed }));
        }
    }

    /// Joins elements with what is computed, as if they were 0 where `first` holds.
    fn join(
        &mut self,
        (how, buffer): (Reduction, BufferId),
        parts: Vec<Part>,
        first: Option<RegId>,
    ) {
        for (index, part) in parts {
            let ty = self.type_in(part);
            let load = VectorLoad { buffer, index: index.clone(), reversed: false, mask: None };
            let mut old = self.define(ty, Operation::Load(load));
            if let Some(first) = first {
                let zero = self.define(ty, Operation::Constant(0.0));
                old = self.define(ty, Operation::Select(first, zero, old));
            }
            let joined = self.binary(joining(how), old, part);
            self.write(buffer, index, joined);
        }
    }
}
