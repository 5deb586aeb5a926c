//! Quotients that are rounded down, and what they leave.
//!
//! Both are of the exact quotient, as in Python: `1 // 0.1` is 9, although `1 / 0.1` rounds to 10. The remainder of
//! floats is that of C's `fmod`, which is exact, and `y` more where its sign is not that of `y`. It is written here for
//! all targets but those that have it as a routine:
//! - With `q = trunc(x / y)` and `|x / y| < 2^52`, `x - q y` is exact in one fused operation. `q` is at most one too
//!   far from 0, which the sign tells.
//! - Where a quotient is larger, lanes are computed one by one. With `q` the quotient as it is rounded, or its
//!   neighbour below, `x - q y` is exact too, not negative, and at least 2^51 times as small as `x`.
//!
//! Before -> after: `$2 = apply mod $0, $1` -> `%t2 = llvm.call @dastac_rest_4(%t0, %t1) ..`, then selections.

use std::fmt::Write;

use dastac_loops::{Element, MathFunction, RegisterType};

use super::width::IndexWidth;
use super::writer::{Ssa, Writer};
use crate::Result;

/// Quotients below this have a whole part that is known up to 1.
const EXACT: f64 = f64::from_bits((1023 + 52) << 52);
/// Whole numbers up to this one have neighbours that are 1 apart.
const WHOLE: f64 = f64::from_bits((1023 + 53) << 52);
/// A divisor that is made larger for a quotient that is none is so many times as large.
const LARGER: f64 = f64::from_bits((1023 + 1000) << 52);

impl Writer<'_, '_> {
    /// A quotient, rounded down, or what it leaves.
    pub(super) fn divided(
        &mut self,
        function: MathFunction,
        of: &[Ssa],
        ty: RegisterType,
    ) -> Result<Ssa> {
        let [x, y] = of else {
            return Err(self.invalid(format_args!("`{function}` of {} numbers", of.len())));
        };
        let element = self.numbers(ty)?;
        if element.is_integer() {
            return self.divided_integers(function, [x, y], ty);
        }
        if self.unit.width == IndexWidth::Bits32 {
            return Ok(self.called(function, of, ty.lanes, element));
        }
        let wide = RegisterType::number(Element::F64, ty.lanes);
        let [x, y] = [x, y].map(|one| self.converted(one.clone(), ty.lanes, element, Element::F64));
        let value = self.divided_floats(function, [&x, &y], wide);
        Ok(self.converted(value, ty.lanes, Element::F64, element))
    }

    /// Of floats, as `Function::eval` has it.
    fn divided_floats(
        &mut self,
        function: MathFunction,
        [x, y]: [&Ssa; 2],
        ty: RegisterType,
    ) -> Ssa {
        let (name, choice) = (self.name_in(Element::F64, ty.lanes), self.choice(ty));
        let [zero, half, one] =
            [0.0, 0.5, 1.0].map(|value| self.everywhere_of(value, Element::F64, ty.lanes));
        let bits = self.bits(ty.lanes);
        let symbol = self.rest(ty.lanes);
        let rest =
            self.define(format_args!("llvm.call @{symbol}({x}, {y}) : ({name}, {name}) -> {name}"));
        let some = self.define(format_args!("arith.cmpf one, {rest}, {zero} : {name}"));
        let [below, under] = [&rest, y]
            .map(|value| self.define(format_args!("arith.cmpf olt, {value}, {zero} : {name}")));
        let differ = self.define(format_args!("arith.xori {below}, {under} : {bits}"));
        let other = self.define(format_args!("arith.andi {some}, {differ} : {bits}"));
        if function == MathFunction::Mod {
            let more = self.define(format_args!("arith.addf {rest}, {y} : {name}"));
            let signed = self.define(format_args!(
                "llvm.intr.copysign({zero}, {y}) : ({name}, {name}) -> {name}"
            ));
            let none = self.define(format_args!("arith.cmpf oeq, {rest}, {zero} : {name}"));
            let same =
                self.define(format_args!("arith.select {none}, {signed}, {rest} : {choice}"));
            return self.define(format_args!("arith.select {other}, {more}, {same} : {choice}"));
        }
        let without = self.define(format_args!("arith.subf {x}, {rest} : {name}"));
        let cut = self.define(format_args!("arith.divf {without}, {y} : {name}"));
        let lower = self.define(format_args!("arith.subf {cut}, {one} : {name}"));
        let quotient = self.define(format_args!("arith.select {other}, {lower}, {cut} : {choice}"));
        let down = self.define(format_args!("llvm.intr.floor({quotient}) : ({name}) -> {name}"));
        let left = self.define(format_args!("arith.subf {quotient}, {down} : {name}"));
        let up = self.define(format_args!("arith.addf {down}, {one} : {name}"));
        let nearer = self.define(format_args!("arith.cmpf ogt, {left}, {half} : {name}"));
        let whole = self.define(format_args!("arith.select {nearer}, {up}, {down} : {choice}"));
        let plain = self.define(format_args!("arith.divf {x}, {y} : {name}"));
        let signed = self.define(format_args!(
            "llvm.intr.copysign({zero}, {plain}) : ({name}, {name}) -> {name}"
        ));
        let none = self.define(format_args!("arith.cmpf oeq, {quotient}, {zero} : {name}"));
        let whole = self.define(format_args!("arith.select {none}, {signed}, {whole} : {choice}"));
        let by_none = self.define(format_args!("arith.cmpf oeq, {y}, {zero} : {name}"));
        self.define(format_args!("arith.select {by_none}, {plain}, {whole} : {choice}"))
    }

    /// Of integers, which wrap around. What is divided by 0 is 0.
    fn divided_integers(
        &mut self,
        function: MathFunction,
        [x, y]: [&Ssa; 2],
        ty: RegisterType,
    ) -> Result<Ssa> {
        let (element, name) = (self.numbers(ty)?, self.name_in(self.numbers(ty)?, ty.lanes));
        let (bits, choice) = (self.bits(ty.lanes), self.choice(ty));
        let [zero, one, minus] =
            [0.0, 1.0, -1.0].map(|value| self.everywhere_of(value, element, ty.lanes));
        let mut equal = |how: &str, left: &Ssa, right: &Ssa| {
            self.define(format_args!("arith.cmpi {how}, {left}, {right} : {name}"))
        };
        // Processors have no quotient by 0, nor that of the smallest number by -1.
        let (by_zero, by_minus) = (equal("eq", y, &zero), equal("eq", y, &minus));
        let special = self.define(format_args!("arith.ori {by_zero}, {by_minus} : {bits}"));
        let divisor = self.define(format_args!("arith.select {special}, {one}, {y} : {choice}"));
        let rest = self.define(format_args!("arith.remsi {x}, {divisor} : {name}"));
        let signs = self.define(format_args!("arith.xori {rest}, {divisor} : {name}"));
        let mut compare = |how: &str, value: &Ssa| {
            self.define(format_args!("arith.cmpi {how}, {value}, {zero} : {name}"))
        };
        let (some, differ) = (compare("ne", &rest), compare("slt", &signs));
        let other = self.define(format_args!("arith.andi {some}, {differ} : {bits}"));
        if function == MathFunction::Mod {
            let more = self.define(format_args!("arith.addi {rest}, {divisor} : {name}"));
            return Ok(self.define(format_args!("arith.select {other}, {more}, {rest} : {choice}")));
        }
        let cut = self.define(format_args!("arith.divsi {x}, {divisor} : {name}"));
        let lower = self.define(format_args!("arith.subi {cut}, {one} : {name}"));
        let down = self.define(format_args!("arith.select {other}, {lower}, {cut} : {choice}"));
        let negative = self.define(format_args!("arith.subi {zero}, {x} : {name}"));
        let down =
            self.define(format_args!("arith.select {by_minus}, {negative}, {down} : {choice}"));
        Ok(self.define(format_args!("arith.select {by_zero}, {zero}, {down} : {choice}")))
    }

    /// The function that gives C's remainder of so many lanes.
    fn rest(&mut self, lanes: usize) -> String {
        let name = format!("dastac_rest_{lanes}");
        let declarations = &mut self.unit.declarations;
        declarations.entry("dastac_rest_of_positive".to_owned()).or_insert_with(reduced);
        declarations.entry("dastac_rest_of_any".to_owned()).or_insert_with(one_by_one);
        declarations.entry(name.clone()).or_insert_with(|| in_lanes(&name, lanes));
        name
    }
}

/// A text with `TT` for the type of floats, `BB` for that of truth values, `F(x)` for a constant.
fn written(text: &str, lanes: usize) -> String {
    let of = |name: &str| match lanes {
        1 => name.to_owned(),
        _ => format!("vector<{lanes}x{name}>"),
    };
    let constant = |value: f64| {
        let bits = format!("0x{:016X}", value.to_bits());
        let bits = if lanes == 1 { bits } else { format!("dense<{bits}>") };
        format!("llvm.mlir.constant({bits} : {}) : {}", of("f64"), of("f64"))
    };
    let mut text = text.to_owned();
    for (name, value) in [
        ("F(none)", f64::NAN),
        ("F(zero)", 0.0),
        ("F(one)", 1.0),
        ("F(exact)", EXACT),
        ("F(whole)", WHOLE),
        ("F(larger)", LARGER),
        ("F(infinite)", f64::INFINITY),
    ] {
        text = text.replace(name, &constant(value));
    }
    text.replace("TT", &of("f64")).replace("BB", &of("i1"))
}

/// `x` less the largest whole multiple of `y`, both not negative and finite, of a finite quotient.
fn reduced() -> String {
    let text = "\
  llvm.func internal @dastac_rest_of_positive(%x: f64, %y: f64) -> f64 {
    %zero = F(zero)
    %most = F(whole)
    %bit = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^next(%x : f64)
  ^next(%r: f64):
    %q = llvm.fdiv %r, %y : f64
    %whole = llvm.intr.trunc(%q) : (f64) -> f64
    %minus = llvm.fneg %whole : f64
    %rest = llvm.intr.fma(%minus, %y, %r) : (f64, f64, f64) -> f64
    %above = llvm.fcmp \"olt\" %rest, %zero : f64
    llvm.cond_br %above, ^less, ^enough(%rest : f64)
  ^less:
    %is_small = llvm.fcmp \"ole\" %whole, %most : f64
    %unit = F(one)
    %one_less = llvm.fsub %whole, %unit : f64
    %bits = llvm.bitcast %whole : f64 to i64
    %bits_below = llvm.sub %bits, %bit : i64
    %below = llvm.bitcast %bits_below : i64 to f64
    %lower = llvm.select %is_small, %one_less, %below : i1, f64
    %minus_lower = llvm.fneg %lower : f64
    %rest_of_lower = llvm.intr.fma(%minus_lower, %y, %r) : (f64, f64, f64) -> f64
    llvm.br ^enough(%rest_of_lower : f64)
  ^enough(%left: f64):
    %again = llvm.fcmp \"oge\" %left, %y : f64
    llvm.cond_br %again, ^next(%left : f64), ^done
  ^done:
    llvm.return %left : f64
  }
";
    written(text, 1)
}

/// C's remainder of any two numbers.
fn one_by_one() -> String {
    let text = "\
  llvm.func internal @dastac_rest_of_any(%x: f64, %y: f64) -> f64 {
    %zero = F(zero)
    %infinite = F(infinite)
    %more = F(larger)
    %a = llvm.intr.fabs(%x) : (f64) -> f64
    %b = llvm.intr.fabs(%y) : (f64) -> f64
    %is_some = llvm.fcmp \"ogt\" %b, %zero : f64
    %is_finite = llvm.fcmp \"olt\" %a, %infinite : f64
    %is_any = llvm.and %is_some, %is_finite : i1
    llvm.cond_br %is_any, ^any, ^none
  ^none:
    %nothing = F(none)
    llvm.return %nothing : f64
  ^any:
    %is_less = llvm.fcmp \"olt\" %a, %b : f64
    llvm.cond_br %is_less, ^itself, ^some
  ^itself:
    llvm.return %x : f64
  ^some:
    %q = llvm.fdiv %a, %b : f64
    %is_beyond = llvm.fcmp \"oeq\" %q, %infinite : f64
    llvm.cond_br %is_beyond, ^twice, ^once(%a : f64)
  ^twice:
    %multiple = llvm.fmul %b, %more : f64
    %first = llvm.call @dastac_rest_of_positive(%a, %multiple) : (f64, f64) -> f64
    llvm.br ^once(%first : f64)
  ^once(%of: f64):
    %rest = llvm.call @dastac_rest_of_positive(%of, %b) : (f64, f64) -> f64
    %signed = llvm.intr.copysign(%rest, %x) : (f64, f64) -> f64
    llvm.return %signed : f64
  }
";
    written(text, 1)
}

/// C's remainder in some lanes.
fn in_lanes(name: &str, lanes: usize) -> String {
    let head = "\
(%x: TT, %y: TT) -> TT {
    %one = F(one)
    %exact = F(exact)
    %infinite = F(infinite)
    %q = llvm.fdiv %x, %y : TT
    %size = llvm.intr.fabs(%q) : (TT) -> TT
    %size_of_y = llvm.intr.fabs(%y) : (TT) -> TT
    %is_small = llvm.fcmp \"olt\" %size, %exact : TT
    %is_finite = llvm.fcmp \"olt\" %size_of_y, %infinite : TT
    %plain = llvm.and %is_small, %is_finite : BB
    %whole = llvm.intr.trunc(%q) : (TT) -> TT
    %minus = llvm.fneg %whole : TT
    %rest = llvm.intr.fma(%minus, %y, %x) : (TT, TT, TT) -> TT
    %unit = llvm.intr.copysign(%one, %q) : (TT, TT) -> TT
    %lower = llvm.fsub %whole, %unit : TT
    %minus_lower = llvm.fneg %lower : TT
    %rest_of_lower = llvm.intr.fma(%minus_lower, %y, %x) : (TT, TT, TT) -> TT
    %size_of_rest = llvm.intr.fabs(%rest) : (TT) -> TT
    %as_x = llvm.intr.copysign(%size_of_rest, %x) : (TT, TT) -> TT
    %is_right = llvm.fcmp \"oeq\" %rest, %as_x : TT
    %right = llvm.select %is_right, %as_x, %rest_of_lower : BB, TT
";
    let mut text = format!("  llvm.func internal @{name}");
    text += &written(head, lanes);
    let mut slow = String::new();
    if lanes == 1 {
        text += "    llvm.cond_br %plain, ^fast, ^slow\n";
        slow += "    %all = llvm.call @dastac_rest_of_any(%x, %y) : (f64, f64) -> f64\n";
        slow += "    llvm.return %all : f64\n";
    } else {
        let ty = format!("vector<{lanes}xf64>");
        let _ = writeln!(text, "    %lanes = llvm.bitcast %plain : vector<{lanes}xi1> to i{lanes}");
        let _ = writeln!(text, "    %every = llvm.mlir.constant(-1 : i{lanes}) : i{lanes}");
        text += &format!("    %is_every = llvm.icmp \"eq\" %lanes, %every : i{lanes}\n");
        text += "    llvm.cond_br %is_every, ^fast, ^slow\n";
        let mut all = "%right".to_owned();
        for lane in 0..lanes {
            let _ = writeln!(slow, "    %at{lane} = llvm.mlir.constant({lane} : i32) : i32");
            for of in ["x", "y"] {
                let _ = writeln!(
                    slow,
                    "    %{of}{lane} = llvm.extractelement %{of}[%at{lane} : i32] : {ty}"
                );
            }
            let _ = writeln!(
                slow,
                "    %r{lane} = llvm.call @dastac_rest_of_any(%x{lane}, %y{lane}) : (f64, f64) -> f64"
            );
            let _ = writeln!(
                slow,
                "    %all{lane} = llvm.insertelement %r{lane}, {all}[%at{lane} : i32] : {ty}"
            );
            all = format!("%all{lane}");
        }
        let _ = writeln!(slow, "    llvm.return {all} : {ty}");
    }
    let ty = if lanes == 1 { "f64".to_owned() } else { format!("vector<{lanes}xf64>") };
    format!("{text}  ^fast:\n    llvm.return %right : {ty}\n  ^slow:\n{slow}  }}\n")
}
