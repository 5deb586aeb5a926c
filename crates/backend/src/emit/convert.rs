//! Element types in MLIR: how they are stored, and how numbers become elements of another type.
//!
//! Floats of 16 bits are only stored. MLIR has both types, but code for most processors would call a library to round
//! to bfloat16: its bits are computed here, and it is stored as an integer of 16 bits.

use super::writer::{Ssa, Writer};
use dastac_loops::Element;

impl Writer<'_, '_> {
    /// A value in another type; rounded where that is narrower. Numbers are computed in types of at least 32 bits, so
    /// one of the two is such a type.
    pub(super) fn converted(
        &mut self,
        value: Ssa,
        lanes: usize,
        from: Element,
        to: Element,
    ) -> Ssa {
        match (from, to) {
            _ if from == to => value,
            (_, Element::Bool) => {
                let bit = self.nonzero(&value, lanes, from);
                let (bits, to) = (self.bits(lanes), self.name_in(to, lanes));
                self.define(format_args!("arith.extui {bit} : {bits} to {to}"))
            }
            (Element::Bf16, _) => {
                let wide = self.bfloat16_to_f32(&value, lanes);
                self.converted(wide, lanes, Element::F32, to)
            }
            // Both are rounded to by way of 32 bits, as in `Element::round`.
            (Element::F64, Element::F16 | Element::Bf16) => {
                let short = self.cast("arith.truncf", value, lanes, (from, Element::F32));
                self.converted(short, lanes, Element::F32, to)
            }
            (Element::F32, Element::Bf16) => self.f32_to_bfloat16(&value, lanes),
            _ => match conversion(from, to) {
                Some(operation) => self.cast(operation, value, lanes, (from, to)),
                None => value,
            },
        }
    }

    fn cast(
        &mut self,
        operation: &str,
        value: Ssa,
        lanes: usize,
        (from, to): (Element, Element),
    ) -> Ssa {
        let (from, to) = (self.name_in(from, lanes), self.name_in(to, lanes));
        self.define(format_args!("{operation} {value} : {from} to {to}"))
    }

    /// A bfloat16 is the upper half of a 32-bit float.
    fn bfloat16_to_f32(&mut self, value: &Ssa, lanes: usize) -> Ssa {
        let [short, long, float] =
            [Element::I16, Element::I32, Element::F32].map(|element| self.name_in(element, lanes));
        let sixteen = self.bits_everywhere(16, lanes);
        let wide = self.define(format_args!("arith.extui {value} : {short} to {long}"));
        let bits = self.define(format_args!("arith.shli {wide}, {sixteen} : {long}"));
        self.define(format_args!("arith.bitcast {bits} : {long} to {float}"))
    }

    /// The nearest bfloat16, the even one of two: half of the last digit that stays, less one if that is even, is added
    /// to the bits. What is not a number stays none.
    fn f32_to_bfloat16(&mut self, value: &Ssa, lanes: usize) -> Ssa {
        let [short, long, float] =
            [Element::I16, Element::I32, Element::F32].map(|element| self.name_in(element, lanes));
        let [one, sixteen, half, none] =
            [1, 16, 0x7FFF, 0x7FC0].map(|bits| self.bits_everywhere(bits, lanes));
        let bits = self.define(format_args!("arith.bitcast {value} : {float} to {long}"));
        let upper = self.define(format_args!("arith.shrui {bits}, {sixteen} : {long}"));
        let odd = self.define(format_args!("arith.andi {upper}, {one} : {long}"));
        let added = self.define(format_args!("arith.addi {odd}, {half} : {long}"));
        let sum = self.define(format_args!("arith.addi {bits}, {added} : {long}"));
        let rounded = self.define(format_args!("arith.shrui {sum}, {sixteen} : {long}"));
        let is_none = self.define(format_args!("arith.cmpf uno, {value}, {value} : {float}"));
        let chosen = match lanes {
            1 => long.clone(),
            _ => format!("{}, {long}", self.bits(lanes)),
        };
        let result =
            self.define(format_args!("arith.select {is_none}, {none}, {rounded} : {chosen}"));
        self.define(format_args!("arith.trunci {result} : {long} to {short}"))
    }

    /// A 32-bit integer, in all lanes of a vector.
    fn bits_everywhere(&mut self, value: i64, lanes: usize) -> Ssa {
        let ty = self.name_in(Element::I32, lanes);
        match lanes {
            1 => self.constant(format!("{value} : {ty}"), format!("bits{value}")),
            _ => self
                .constant(format!("dense<{value}> : {ty}"), format!("bits{value}_{}", digits(&ty))),
        }
    }
}

/// The digits of a type, which tell vectors of different lengths apart.
fn digits(ty: &str) -> String {
    ty.chars().filter(char::is_ascii_digit).collect()
}

/// The operation that makes a number of one type one of another, if that is another in MLIR.
fn conversion(from: Element, to: Element) -> Option<&'static str> {
    let signed = from.is_signed();
    match (from.is_float(), to.is_float()) {
        (true, true) if from.bytes() < to.bytes() => Some("arith.extf"),
        (true, true) => Some("arith.truncf"),
        (false, true) if signed => Some("arith.sitofp"),
        (false, true) => Some("arith.uitofp"),
        (false, false) if from.bytes() > to.bytes() => Some("arith.trunci"),
        (false, false) if from.bytes() == to.bytes() => None,
        (false, false) if signed => Some("arith.extsi"),
        (false, false) => Some("arith.extui"),
        (true, false) => None,
    }
}
