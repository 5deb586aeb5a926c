//! Functions, selections, comparisons and conversions, lane by lane.
//!
//! Before -> after: `select(compare(x[i] < 0.0), 0.0, sqrt(x[i]))` ->
//! `$0 = load x[i]  $1 = constant 0.0  $2 : truth = compare $0 < $1  $3 = apply sqrt $0  $4 = select $2, $1, $3`.

use super::values::Group;
use super::{Lowered, Lowering};
use crate::ir::*;
use crate::unroll::Instance;

impl Lowering<'_> {
    pub(super) fn elementwise<'v>(
        &mut self,
        value: &'v Value,
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Lowered<RegId> {
        match value {
            Value::Apply(function, of) => {
                let of: Lowered<Vec<RegId>> =
                    of.iter().map(|one| self.value(one, instance, group)).collect();
                let of = self.alike(of?);
                let Some(first) = of.first() else {
                    return Ok(self.number(0.0, false, group.element));
                };
                Ok(self.define(self.type_in(*first), Operation::Apply(*function, of)))
            }
            Value::Select(parts) => {
                let [condition, then, otherwise] = &**parts;
                let mask = self.decides(condition, instance, group)?;
                let then = self.value(then, instance, group)?;
                let otherwise = self.value(otherwise, instance, group)?;
                Ok(self.selected(mask, then, otherwise))
            }
            Value::Compare(..) => {
                let mask = self.decides(value, instance, group)?;
                let [one, zero] = [1.0, 0.0].map(|value| self.number(value, false, group.element));
                Ok(self.selected(mask, one, zero))
            }
            Value::Cast(element, inside) => {
                let own = self.module.own_type(&[inside]);
                let inside = self.in_type(own, inside, instance, group)?;
                let lanes = self.type_in(inside).lanes;
                let ty = RegisterType::number(group.element, lanes);
                Ok(self.define(ty, Operation::Cast(*element, inside)))
            }
            other => self.value(other, instance, group),
        }
    }

    /// The value, computed in a type of its own.
    fn in_type<'v>(
        &mut self,
        own: Element,
        value: &'v Value,
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Lowered<RegId> {
        let around = std::mem::replace(&mut group.element, own);
        let register = self.value(value, instance, group);
        group.element = around;
        register
    }

    /// Whether a value is not 0, as a mask or a truth value.
    fn decides<'v>(
        &mut self,
        value: &'v Value,
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Lowered<RegId> {
        let (how, left, right) = match value {
            Value::Compare(how, left, right) => {
                let own = self.module.own_type(&[left, right]);
                let left = self.in_type(own, left, instance, group)?;
                (*how, left, self.in_type(own, right, instance, group)?)
            }
            value => {
                let own = self.module.own_type(&[value]);
                let left = self.in_type(own, value, instance, group)?;
                (Compare::Ne, left, self.number(0.0, false, own))
            }
        };
        let sides = self.alike(vec![left, right]);
        let lanes = self.type_in(sides[0]).lanes;
        Ok(self.define(RegisterType::truth(lanes), Operation::Compare(how, sides[0], sides[1])))
    }

    fn selected(&mut self, mask: RegId, then: RegId, otherwise: RegId) -> RegId {
        let vector = [mask, then, otherwise].into_iter().any(|one| self.is_vector(one));
        let (then, otherwise) = (self.broadcast(then, vector), self.broadcast(otherwise, vector));
        self.define(self.type_in(then), Operation::Select(mask, then, otherwise))
    }

    /// Vectors, if one is a vector.
    fn alike(&mut self, registers: Vec<RegId>) -> Vec<RegId> {
        let vector = registers.iter().any(|one| self.is_vector(*one));
        registers.into_iter().map(|one| self.broadcast(one, vector)).collect()
    }
}
