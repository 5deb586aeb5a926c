//! Functions of numbers, and conversions between types of numbers.
//!
//! What processors have instructions for is one operation, in all lanes at once; other functions are calls: of a
//! library's for vectors, if it has them, else of the C library's, lane by lane. Declarations say that these calls do
//! nothing but give a number, so that LLVM moves them out of loops.
//!
//! Before -> after: `$1 = apply exp $0` -> `%t1 = llvm.call @exp(%t0) : (f64) -> f64`;
//! `$1 = apply sqrt $0` -> `%t1 = llvm.intr.sqrt(%t0) : (f64) -> f64`;
//! `$1 : f64[4] = apply exp $0` -> `%t1 = llvm.call @_ZGVdN4v_exp(%t0) : (vector<4xf64>) -> vector<4xf64>`.

use super::names::{list, type_name};
use super::writer::{Ssa, Writer};
use crate::Result;
use dastac_loops::{Compare, Element, MathFunction, RegId, RegisterType};

/// What declares a function that gives a number and does nothing else: `memory(none)` is the number 0.
const PURE: &str = "attributes {passthrough = [\"nounwind\", \"willreturn\", \"nosync\", \"nofree\", \
                    [\"memory\", \"0\"]]}";

/// A comparison, as `arith.cmpf` calls it: what is not a number only differs.
pub(super) fn predicate_of_floats(how: Compare) -> &'static str {
    match how {
        Compare::Eq => "oeq",
        Compare::Ne => "une",
        Compare::Lt => "olt",
        Compare::Le => "ole",
        Compare::Gt => "ogt",
        Compare::Ge => "oge",
    }
}

/// The intrinsic that is one or few instructions on all processors.
fn intrinsic(function: MathFunction) -> Option<&'static str> {
    match function {
        MathFunction::Sqrt => Some("sqrt"),
        MathFunction::Abs => Some("fabs"),
        MathFunction::Floor => Some("floor"),
        MathFunction::Ceil => Some("ceil"),
        MathFunction::Round => Some("roundeven"),
        MathFunction::Trunc => Some("trunc"),
        _ => None,
    }
}

/// Whether glibc's function of one 32-bit float is off by more than a unit in the last place.
fn is_rough_in_32_bits(function: MathFunction) -> bool {
    matches!(
        function,
        MathFunction::Log10 | MathFunction::Sinh | MathFunction::Tanh | MathFunction::Atan2
    )
}

impl Writer<'_, '_> {
    /// A function of numbers, in every lane.
    pub(super) fn apply(
        &mut self,
        function: MathFunction,
        of: &[RegId],
        ty: RegisterType,
    ) -> Result<Ssa> {
        let element = self.numbers(ty)?;
        let of: Result<Vec<Ssa>> = of.iter().map(|register| self.register(*register)).collect();
        let of = of?;
        let Some(first) = of.first() else {
            return Err(self.invalid(format_args!("`{function}` of nothing")));
        };
        if function == MathFunction::Imag {
            return Ok(self.everywhere_of(0.0, element, ty.lanes));
        }
        if function.is_of_parts() {
            return Ok(first.clone()); // of real numbers
        }
        if function.is_quotient() {
            return self.divided(function, &of, ty);
        }
        if element.is_integer() {
            return self.of_integers(function, first, ty);
        }
        if let Some(name) = intrinsic(function) {
            let ty = type_name(ty);
            return Ok(self.define(format_args!("llvm.intr.{name}({first}) : ({ty}) -> {ty}")));
        }
        if function == MathFunction::Sign {
            return self.sign(first, ty);
        }
        match self.unit.vectors.known.contains(&function) && ty.lanes > 1 {
            true => Ok(self.called_for_vectors(function, &of, ty.lanes, element)),
            false => Ok(self.called(function, &of, ty.lanes, element)),
        }
    }

    /// Calls of the C library's function, one for each lane.
    pub(super) fn called(
        &mut self,
        function: MathFunction,
        of: &[Ssa],
        lanes: usize,
        element: Element,
    ) -> Ssa {
        let single = element == Element::F32;
        if single && is_rough_in_32_bits(function) {
            return self.called_in_64_bits(function, of, lanes);
        }
        if self.unit.lanes.is_some() {
            return self.called_on_device(function, of, element);
        }
        let symbol = format!("{function}{}", if single { "f" } else { "" });
        let (one, all) = (self.name_in(element, 1), self.name_in(element, lanes));
        let types = vec![one.as_str(); of.len()].join(", ");
        self.declare(&symbol, &types, &one);
        let call = |writer: &mut Self, of: &[Ssa]| {
            let of = list(of.iter());
            writer.define(format_args!("llvm.call @{symbol}({of}) : ({types}) -> {one}"))
        };
        if lanes == 1 {
            return call(self, of);
        }
        let mut result = self.everywhere_of(0.0, element, lanes);
        for lane in 0..lanes {
            let mut numbers = Vec::new();
            for vector in of {
                numbers.push(
                    self.define(format_args!("vector.extract {vector}[{lane}] : {one} from {all}")),
                );
            }
            let value = call(self, &numbers);
            result = self.define(format_args!(
                "vector.insert {value}, {result} [{lane}] : {one} into {all}"
            ));
        }
        result
    }

    /// A function of 32-bit floats by way of 64 bits.
    fn called_in_64_bits(&mut self, function: MathFunction, of: &[Ssa], lanes: usize) -> Ssa {
        let of: Vec<Ssa> = of
            .iter()
            .map(|one| self.converted(one.clone(), lanes, Element::F32, Element::F64))
            .collect();
        let wide = self.called(function, &of, lanes, Element::F64);
        self.converted(wide, lanes, Element::F64, Element::F32)
    }

    pub(super) fn declare(&mut self, symbol: &str, types: &str, result: &str) {
        let declaration = format!("  llvm.func @{symbol}({types}) -> {result} {PURE}\n");
        self.unit.declarations.insert(symbol.to_owned(), declaration);
    }

    /// Calls of a function of vectors, one for as many lanes as a register has. Fewer lanes are repeated up to those of
    /// the smallest register.
    fn called_for_vectors(
        &mut self,
        function: MathFunction,
        of: &[Ssa],
        lanes: usize,
        element: Element,
    ) -> Ssa {
        let most = usize::try_from(self.unit.vectors.bytes).unwrap_or(16);
        let bytes = (lanes * element.bytes()).clamp(16, most.max(16));
        let (width, count) = (
            if bytes == 64 {
                'e'
            } else if bytes == 32 {
                'd'
            } else {
                'b'
            },
            bytes / element.bytes(),
        );
        let suffix = if element == Element::F32 { "f" } else { "" };
        let symbol = format!("_ZGV{width}N{count}{}_{function}{suffix}", "v".repeat(of.len()));
        let name = self.name_in(element, count);
        let types = vec![name.as_str(); of.len()].join(", ");
        self.declare(&symbol, &types, &name);
        let mut parts = Vec::new();
        for first in (0..lanes).step_by(count) {
            let mut numbers = Vec::new();
            for vector in of {
                let order: Vec<usize> = (0..count).map(|lane| (first + lane) % lanes).collect();
                numbers.push(self.shuffled([vector, vector], lanes, &order, element));
            }
            let numbers = list(numbers.iter());
            parts.push(
                self.define(format_args!("llvm.call @{symbol}({numbers}) : ({types}) -> {name}")),
            );
        }
        let mut length = count;
        while let [_, _, ..] = &parts[..] {
            let both: Vec<usize> = (0..2 * length).collect();
            let pairs = parts.chunks(2).map(|pair| [pair[0].clone(), pair[pair.len() - 1].clone()]);
            parts = pairs
                .collect::<Vec<_>>()
                .iter()
                .map(|[left, right]| self.shuffled([left, right], length, &both, element))
                .collect();
            length *= 2;
        }
        let own: Vec<usize> = (0..lanes).collect();
        let whole = parts.remove(0);
        self.shuffled([&whole, &whole], length, &own, element)
    }

    /// Some lanes of two vectors of `lanes` lanes each, if that is not the first one.
    fn shuffled(
        &mut self,
        [left, right]: [&Ssa; 2],
        lanes: usize,
        order: &[usize],
        element: Element,
    ) -> Ssa {
        if order.iter().copied().eq(0..lanes) {
            return left.clone();
        }
        let (ty, order) = (self.name_in(element, lanes), list(order.iter()));
        self.define(format_args!("vector.shuffle {left}, {right} [{order}] : {ty}, {ty}"))
    }

    /// 1, 0 or -1; not a number where there is none. Adding 0 makes 0 of -0.
    fn sign(&mut self, value: &Ssa, ty: RegisterType) -> Result<Ssa> {
        let element = self.numbers(ty)?;
        let [zero, one, minus] =
            [0.0, 1.0, -1.0].map(|number| self.everywhere_of(number, element, ty.lanes));
        let name = type_name(ty);
        let choice = self.choice(ty);
        let below = self.define(format_args!("arith.cmpf olt, {value}, {zero} : {name}"));
        let above = self.define(format_args!("arith.cmpf ogt, {value}, {zero} : {name}"));
        let rest = self.define(format_args!("arith.select {below}, {minus}, {value} : {choice}"));
        let all = self.define(format_args!("arith.select {above}, {one}, {rest} : {choice}"));
        Ok(self.define(format_args!("arith.addf {all}, {zero} : {name}")))
    }

    /// A function of 64-bit integers, which wrap around.
    fn of_integers(
        &mut self,
        function: MathFunction,
        value: &Ssa,
        ty: RegisterType,
    ) -> Result<Ssa> {
        let (element, name) = (self.numbers(ty)?, type_name(ty));
        let zero = self.everywhere_of(0.0, element, ty.lanes);
        match function {
            MathFunction::Abs => {
                let minus = self.define(format_args!("arith.subi {zero}, {value} : {name}"));
                Ok(self.define(format_args!("arith.maxsi {value}, {minus} : {name}")))
            }
            MathFunction::Sign => {
                let bits = self.bits(ty.lanes);
                let [above, below] = ["sgt", "slt"].map(|how| {
                    let holds =
                        self.define(format_args!("arith.cmpi {how}, {value}, {zero} : {name}"));
                    self.define(format_args!("arith.extui {holds} : {bits} to {name}"))
                });
                Ok(self.define(format_args!("arith.subi {above}, {below} : {name}")))
            }
            function if function.of_integers() => Ok(value.clone()),
            _ => Err(self.invalid(format_args!("`{function}` of integers"))),
        }
    }

    /// Numbers as elements of a type hold them, in the type of a register.
    pub(super) fn cast_to(
        &mut self,
        element: Element,
        register: RegId,
        ty: RegisterType,
    ) -> Result<Ssa> {
        let (from, to) = (self.numbers(self.register_type(register)?)?, self.numbers(ty)?);
        let value = self.register(register)?;
        let lanes = ty.lanes;
        let held = match (from.is_integer(), element.is_integer()) {
            (false, true) if element != Element::Bool => {
                let integer = self.saturated(&value, lanes, from);
                self.converted(integer, lanes, Element::I64, element)
            }
            _ => self.converted(value, lanes, from, element),
        };
        Ok(self.converted(held, lanes, element, to))
    }

    /// Floats rounded toward 0 to 64-bit integers: the largest or smallest one where they are beyond, 0 where they are
    /// not numbers.
    fn saturated(&mut self, value: &Ssa, lanes: usize, from: Element) -> Ssa {
        let (float, integer) = (self.name_in(from, lanes), self.name_in(Element::I64, lanes));
        let of = |name: &str| match lanes {
            1 => name.to_owned(),
            _ => format!("v{lanes}{name}"),
        };
        let name = format!("llvm.fptosi.sat.{}.{}", of("i64"), of(&self.name_in(from, 1)));
        self.define(format_args!(
            "llvm.call_intrinsic \"{name}\"({value}) : ({float}) -> {integer}"
        ))
    }

    /// The types of a selection between two numbers.
    pub(super) fn choice(&self, ty: RegisterType) -> String {
        match ty.lanes {
            1 => type_name(ty),
            lanes => format!("{}, {}", self.bits(lanes), type_name(ty)),
        }
    }
}
