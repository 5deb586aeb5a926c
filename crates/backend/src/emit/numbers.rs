//! Constants, conversions and truth values, in one lane or several.

use super::names::{is_stored_as_integer, type_name};
use super::writer::{Ssa, Writer};
use crate::Result;
use dastac_loops::{Element, Index, LaneKind, RegisterType};

impl Writer<'_, '_> {
    /// The element type that a register of numbers has.
    pub(super) fn numbers(&self, ty: RegisterType) -> Result<Element> {
        match ty.kind {
            LaneKind::Number(element) => Ok(element),
            _ => Err(self.invalid(format_args!("a register holds no numbers"))),
        }
    }

    /// A number, in every lane.
    pub(super) fn constant_of(&mut self, value: f64, ty: RegisterType) -> Result<Ssa> {
        let element = self.numbers(ty)?;
        Ok(self.everywhere(value, RegisterType::number(element, ty.lanes), element))
    }

    /// A number of an element type, in every lane.
    fn everywhere(&mut self, value: f64, ty: RegisterType, element: Element) -> Ssa {
        if ty.lanes == 1 {
            return self.number(value, element);
        }
        let name = type_name(ty);
        let (text, bits) = self.number_text(value, element);
        let kind = name.trim_start_matches("vector<").trim_end_matches('>');
        let constant = format!("v{kind}_{}", bits.trim_end_matches('0'));
        self.constant(format!("dense<{text}> : {name}"), constant)
    }

    /// A number that is computed in this type, in every lane.
    pub(super) fn everywhere_of(&mut self, value: f64, element: Element, lanes: usize) -> Ssa {
        self.everywhere(value, RegisterType::number(element, lanes), element)
    }

    /// What stands in lanes that are masked off.
    pub(super) fn no_elements(&mut self, element: Element, lanes: usize) -> Ssa {
        let ty = RegisterType::number(element, lanes);
        if !is_stored_as_integer(element) {
            return self.everywhere(0.0, ty, element);
        }
        let name = format!("none{lanes}_{}", element.bytes());
        self.constant(format!("dense<0> : {}", type_name(ty)), name)
    }

    /// An integer as a number.
    pub(super) fn convert(&mut self, index: &Index, ty: RegisterType) -> Result<Ssa> {
        let (index, element) = (self.index(index)?, self.numbers(ty)?);
        let integer = self.define(format_args!("arith.index_cast {index} : index to i64"));
        Ok(self.converted(integer, 1, Element::I64, element))
    }

    /// The type of numbers in so many lanes.
    pub(super) fn name_in(&self, element: Element, lanes: usize) -> String {
        type_name(RegisterType::number(element, lanes))
    }

    /// The type of truth values in so many lanes.
    pub(super) fn bits(&self, lanes: usize) -> String {
        type_name(RegisterType::truth(lanes))
    }

    /// Elements that were loaded, as a register holds them.
    pub(super) fn as_register(
        &mut self,
        value: Ssa,
        from: Element,
        ty: RegisterType,
    ) -> Result<Ssa> {
        if let LaneKind::Number(element) = ty.kind {
            return Ok(self.converted(value, ty.lanes, from, element));
        }
        if !from.is_integer() {
            return Err(self.invalid(format_args!("a number is loaded as an integer")));
        }
        let cast = if from.is_signed() { "index_cast" } else { "index_castui" };
        let (from, to) = (type_name(RegisterType::number(from, ty.lanes)), type_name(ty));
        Ok(self.define(format_args!("arith.{cast} {value} : {from} to {to}")))
    }

    /// 0 where a number is 0, else 1.
    pub(super) fn truth(&mut self, value: &Ssa, ty: RegisterType) -> Result<Ssa> {
        let element = self.numbers(ty)?;
        let [zero, one] = [0.0, 1.0].map(|value| self.everywhere(value, ty, element));
        let holds = self.nonzero(value, ty.lanes, element);
        let name = type_name(ty);
        let types = match ty.lanes {
            1 => name,
            lanes => format!("{}, {name}", type_name(RegisterType::truth(lanes))),
        };
        Ok(self.define(format_args!("arith.select {holds}, {one}, {zero} : {types}")))
    }

    /// Whether a number is not 0; what is no number is not.
    pub(super) fn nonzero(&mut self, value: &Ssa, lanes: usize, element: Element) -> Ssa {
        let ty = RegisterType::number(element, lanes);
        let zero = self.everywhere(0.0, ty, element);
        let differs = if element.is_integer() { "arith.cmpi ne" } else { "arith.cmpf une" };
        self.define(format_args!("{differs}, {value}, {zero} : {}", type_name(ty)))
    }
}
