//! Expressions: each part once for all instances that it does not tell apart.
//!
//! Before -> after, where a machine multiplies and adds at once: `a[i] + b[i] * c[i]` ->
//! `$0 = load a[i]  $1 = load b[i]  $2 = load c[i]  $3 = fma $1, $2, $0`.

use super::associate::project;
use super::{Lanes, Lowered, Lowering, Others, RegistersError};
use crate::ir::*;
use crate::unroll::Instance;

/// Instances that are computed side by side, and what is known of them already.
pub(super) struct Group<'v> {
    pub(super) instances: Vec<Instance>,
    known: Vec<(&'v Value, Instance, RegId)>,
    pub(super) element: Element,
}

impl<'v> Group<'v> {
    pub(super) fn new(instances: Vec<Instance>, element: Element) -> Self {
        Group { instances, known: Vec::new(), element }
    }

    fn find(&self, value: &Value, key: &Instance) -> Option<RegId> {
        let known = self.known.iter();
        let mut same = known.filter(|(known, at, _)| std::ptr::eq(*known, value) && at == key);
        same.next().map(|(_, _, register)| *register)
    }

    pub(super) fn learn(&mut self, value: &'v Value, key: Instance, register: RegId) {
        self.known.push((value, key, register));
    }
}

/// What joins numbers.
pub(super) fn joining(kind: Reduction) -> BinaryOp {
    match kind {
        Reduction::Sum => BinaryOp::Add,
        Reduction::Product => BinaryOp::Mul,
        Reduction::Min => BinaryOp::Min,
        Reduction::Max => BinaryOp::Max,
    }
}

impl Lowering<'_> {
    /// The value at each instance.
    pub(super) fn values(
        &mut self,
        value: &Value,
        instances: &[Instance],
        element: Element,
    ) -> Lowered<Vec<RegId>> {
        let value = self.associated(value, instances);
        let mut group = Group::new(instances.to_vec(), element);
        let mut results = Vec::new();
        for instance in instances {
            results.push(self.value(&value, instance, &mut group)?);
        }
        Ok(results)
    }

    pub(super) fn value<'v>(
        &mut self,
        value: &'v Value,
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Lowered<RegId> {
        if group.instances.len() == 1 {
            return self.fresh_value(value, instance, group);
        }
        let key = project(instance, &value.free_vars());
        if let Some(known) = group.find(value, &key) {
            return Ok(known);
        }
        let register = self.fresh_value(value, &key, group)?;
        if group.find(value, &key).is_none() {
            group.learn(value, key, register);
        }
        Ok(register)
    }

    fn fresh_value<'v>(
        &mut self,
        value: &'v Value,
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Lowered<RegId> {
        let element = group.element;
        Ok(match value {
            Value::Const(value) => self.number(*value, false, element),
            Value::Load(buffer, index) => self.load((value, *buffer, index), instance, group)?,
            Value::FromIndex(index) => {
                let index = self.place(index, instance);
                self.define(RegisterType::number(element, 1), Operation::Convert(index))
            }
            Value::Add(left, right) if matches!(**left, Value::Mul(..)) => {
                let right = self.value(right, instance, group)?;
                self.plus(right, left, instance, group)?
            }
            Value::Add(left, right) => match &**right {
                // The accumulators of one sum are those of the next.
                Value::Sum(sum) if self.lanes.is_some() && sum.kind == Reduction::Sum => {
                    self.sum_at(value, (Some(left), sum), instance, group)?
                }
                _ => {
                    let left = self.value(left, instance, group)?;
                    self.plus(left, right, instance, group)?
                }
            },
            Value::Mul(left, right) => self.both(BinaryOp::Mul, (left, right), instance, group)?,
            Value::Div(..) if element.is_integer() => return Err(RegistersError::Float),
            Value::Div(left, right) => self.both(BinaryOp::Div, (left, right), instance, group)?,
            Value::Min(left, right) => self.both(BinaryOp::Min, (left, right), instance, group)?,
            Value::Max(left, right) => self.both(BinaryOp::Max, (left, right), instance, group)?,
            Value::Truth(inside) => {
                let inside = self.value(inside, instance, group)?;
                self.define(self.type_in(inside), Operation::Truth(inside))
            }
            Value::Apply(..) | Value::Select(_) | Value::Compare(..) | Value::Cast(..) => {
                self.elementwise(value, instance, group)?
            }
            Value::Sum(sum) => self.sum_at(value, (None, sum), instance, group)?,
        })
    }

    /// An element; one for each lane, if it varies with them.
    fn load<'v>(
        &mut self,
        (value, buffer, index): (&'v Value, BufferId, &'v Index),
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Lowered<RegId> {
        let element = group.element;
        if element.is_integer() && !self.element(buffer)?.is_integer() {
            return Err(RegistersError::Float);
        }
        let here = self.place(index, instance);
        // Variables may cancel in it.
        let varies = |lanes: &Lanes| {
            index.mentions(lanes.var) && index.constant_stride(lanes.var) != Some(0)
        };
        let Some(lanes) = self.lanes.clone().filter(varies) else {
            let load = VectorLoad { buffer, index: here, reversed: false, mask: None };
            return Ok(self.define(RegisterType::number(element, 1), Operation::Load(load)));
        };
        let ty = self.type_of(element, true);
        let by = index.constant_stride(lanes.var);
        match (by.filter(|by| by.abs() <= 1), &lanes.others) {
            (None, Others::Transposed(by, blocks)) => {
                let rows = (*by, &blocks[..]);
                self.transposed((value, buffer, index), instance, rows, group)
            }
            (None, Others::Packed) => Ok(self.packed((buffer, index), instance, &lanes, ty)),
            (None, Others::Gathered) if by == Some(2) => {
                Ok(self.parts_of_pairs((buffer, index), here, &lanes, ty))
            }
            (None, Others::Gathered) => {
                let places = self.places(index, instance, &lanes)?;
                let gather = Gather { buffer, places, mask: lanes.mask };
                Ok(self.define(ty, Operation::Gather(gather)))
            }
            (Some(by), _) => {
                let mask = lanes.mask;
                let load = VectorLoad { buffer, index: here, reversed: by < 0, mask };
                Ok(self.define(ty, Operation::Load(load)))
            }
        }
    }

    fn both<'v>(
        &mut self,
        how: BinaryOp,
        (left, right): (&'v Value, &'v Value),
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Lowered<RegId> {
        let left = self.value(left, instance, group)?;
        let right = self.value(right, instance, group)?;
        Ok(self.joined(how, left, right))
    }

    /// Two registers joined, as vectors if one is a vector.
    pub(super) fn joined(&mut self, how: BinaryOp, left: RegId, right: RegId) -> RegId {
        let vector = self.is_vector(left) || self.is_vector(right);
        let (left, right) = (self.broadcast(left, vector), self.broadcast(right, vector));
        self.binary(how, left, right)
    }

    /// `so_far + term`, in one rounding if the term is a product and the machine can.
    fn plus<'v>(
        &mut self,
        so_far: RegId,
        term: &'v Value,
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Lowered<RegId> {
        let (left, right) = match term {
            Value::Mul(left, right) if self.machine.fuses && !group.element.is_integer() => {
                (left, right)
            }
            term => {
                let term = self.value(term, instance, group)?;
                return Ok(self.joined(BinaryOp::Add, so_far, term));
            }
        };
        let left = self.value(left, instance, group)?;
        let right = self.value(right, instance, group)?;
        let vector = [so_far, left, right].into_iter().any(|one| self.is_vector(one));
        let [so_far, left, right] = [so_far, left, right].map(|one| self.broadcast(one, vector));
        Ok(self.define(self.type_in(so_far), Operation::Fma(left, right, so_far)))
    }

    /// What there is so far, joined with a term.
    pub(super) fn with_term<'v>(
        &mut self,
        kind: Reduction,
        so_far: RegId,
        term: &'v Value,
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Lowered<RegId> {
        if kind == Reduction::Sum {
            return self.plus(so_far, term, instance, group);
        }
        let term = self.value(term, instance, group)?;
        Ok(self.joined(joining(kind), so_far, term))
    }
}
