//! Functions of numbers on devices, which have no C library.
//!
//! Exponentials and logarithms are written here, in 64 bits; results for 32 bits are rounded ones. All others are those
//! of NVIDIA's libdevice, by its names.
//!
//! - `exp(x)`: with `n` the integer next to `x / ln 2`, `x = n ln 2 + r`, and `exp(x) = 2^n exp(r)`, a Taylor
//!   polynomial of degree 13, whose rest is below `4e-18` for `|r| <= ln 2 / 2`.
//! - `log1p(x)` is `x log(u) / (u - 1)` with `u = 1 + x` as it is rounded: both quotients have the same error. In the
//!   same way `expm1(x)` is `x (u - 1) / log(u)` with `u = exp(x)`.
//! - `log(x)`: `x = 2^e m` with `m` from `sqrt(1/2)` to `sqrt(2)`, and with `f = (m - 1) / (m + 1)` the logarithm of
//!   `m` is `2 (f + f^3 / 3 + f^5 / 5 + ..)`, of which 12 terms count.

use super::names::list;
use super::writer::{Ssa, Writer};
use dastac_loops::{Element, MathFunction};
use std::fmt::Write;

/// Whether a function needs no library.
pub(crate) fn is_built_in(function: MathFunction) -> bool {
    own(function).is_some() || function.is_instruction() || function == MathFunction::Sign
}

/// The function that is written here, and what its argument and its result are multiplied with.
fn own(function: MathFunction) -> Option<(&'static str, f64, f64)> {
    use std::f64::consts::{LN_2, LN_10};
    match function {
        MathFunction::Exp => Some(("dastac_exp", 1.0, 1.0)),
        MathFunction::Exp2 => Some(("dastac_exp", LN_2, 1.0)),
        MathFunction::Log => Some(("dastac_log", 1.0, 1.0)),
        MathFunction::Log2 => Some(("dastac_log", 1.0, 1.0 / LN_2)),
        MathFunction::Log10 => Some(("dastac_log", 1.0, 1.0 / LN_10)),
        MathFunction::Log1p => Some(("dastac_log1p", 1.0, 1.0)),
        MathFunction::Expm1 => Some(("dastac_expm1", 1.0, 1.0)),
        MathFunction::Tanh => Some(("dastac_tanh", 1.0, 1.0)),
        _ => None,
    }
}

impl Writer<'_, '_> {
    /// A call for one lane.
    pub(super) fn called_on_device(
        &mut self,
        function: MathFunction,
        of: &[Ssa],
        element: Element,
    ) -> Ssa {
        let Some((symbol, before, after)) = own(function) else {
            let suffix = if element == Element::F32 { "f" } else { "" };
            let (symbol, ty) = (format!("__nv_{function}{suffix}"), self.name_in(element, 1));
            let types = vec![ty.as_str(); of.len()].join(", ");
            self.declare(&symbol, &types, &ty);
            let of = list(of.iter());
            return self.define(format_args!("llvm.call @{symbol}({of}) : ({types}) -> {ty}"));
        };
        for (name, text) in [
            ("dastac_exp", exponential as fn() -> String),
            ("dastac_log", logarithm),
            ("dastac_log1p", logarithm_near_1),
            ("dastac_expm1", exponential_less_1),
            ("dastac_tanh", tangent),
        ] {
            // Those that are not called are dropped.
            self.unit.declarations.entry(name.to_owned()).or_insert_with(text);
        }
        let scaled = |writer: &mut Self, value: Ssa, by: f64| match by {
            1.0 => value,
            by => {
                let by = writer.number(by, Element::F64);
                writer.define(format_args!("arith.mulf {value}, {by} : f64"))
            }
        };
        let wide = self.converted(of[0].clone(), 1, element, Element::F64);
        let wide = scaled(self, wide, before);
        let value = self.define(format_args!("llvm.call @{symbol}({wide}) : (f64) -> f64"));
        let value = scaled(self, value, after);
        self.converted(value, 1, Element::F64, element)
    }
}

/// Lines of a function of one 64-bit float.
struct Lines {
    text: String,
    next: usize,
}

impl Lines {
    fn new(name: &str) -> Lines {
        let text = format!("  llvm.func internal @{name}(%x: f64) -> f64 {{\n");
        Lines { text, next: 0 }
    }

    fn define(&mut self, operation: &str) -> String {
        self.next += 1;
        let name = format!("%v{}", self.next);
        let _ = writeln!(self.text, "    {name} = {operation}");
        name
    }

    fn float(&mut self, value: f64) -> String {
        self.define(&format!("llvm.mlir.constant(0x{:016X} : f64) : f64", value.to_bits()))
    }

    fn integer(&mut self, value: i64) -> String {
        self.define(&format!("llvm.mlir.constant({value} : i64) : i64"))
    }

    fn floats(&mut self, operation: &str, left: &str, right: &str) -> String {
        self.define(&format!("llvm.{operation} {left}, {right} : f64"))
    }

    fn integers(&mut self, operation: &str, left: &str, right: &str) -> String {
        self.define(&format!("llvm.{operation} {left}, {right} : i64"))
    }

    fn fused(&mut self, left: &str, right: &str, addend: &str) -> String {
        self.define(&format!("llvm.intr.fma({left}, {right}, {addend}) : (f64, f64, f64) -> f64"))
    }

    /// A polynomial, the coefficient of the highest power first.
    fn polynomial(&mut self, of: &str, coefficients: &[f64]) -> String {
        let mut sum = self.float(coefficients.first().copied().unwrap_or(0.0));
        for coefficient in coefficients.iter().skip(1) {
            let coefficient = self.float(*coefficient);
            sum = self.fused(&sum, of, &coefficient);
        }
        sum
    }

    fn select(&mut self, how: &str, with: &str, then: &str, otherwise: &str) -> String {
        let holds = self.define(&format!("llvm.fcmp \"{how}\" %x, {with} : f64"));
        self.define(&format!("llvm.select {holds}, {then}, {otherwise} : i1, f64"))
    }

    /// 2 to the power of an integer in the range of exponents.
    fn power(&mut self, exponent: &str) -> String {
        let (bias, digits) = (self.integer(1023), self.integer(52));
        let biased = self.integers("add", exponent, &bias);
        let bits = self.integers("shl", &biased, &digits);
        self.define(&format!("llvm.bitcast {bits} : i64 to f64"))
    }

    fn call(&mut self, symbol: &str, of: &str) -> String {
        self.define(&format!("llvm.call @{symbol}({of}) : (f64) -> f64"))
    }

    /// One of two values, as two values compare.
    fn choose(&mut self, pair: [&str; 2], then: &str, otherwise: &str) -> String {
        let [left, right] = pair;
        let holds = self.define(&format!("llvm.fcmp \"oeq\" {left}, {right} : f64"));
        self.define(&format!("llvm.select {holds}, {then}, {otherwise} : i1, f64"))
    }

    fn finish(mut self, result: &str) -> String {
        let _ = write!(self.text, "    llvm.return {result} : f64\n  }}\n");
        self.text
    }
}

/// The parts of ln 2: the first one has zeros at its end, so that small multiples of it are exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

fn exponential() -> String {
    let mut lines = Lines::new("dastac_exp");
    // Beyond, results are infinite or 0.
    let (low, high) = (lines.float(-1100.0), lines.float(1100.0));
    let x = lines.define(&format!("llvm.intr.maxnum(%x, {low}) : (f64, f64) -> f64"));
    let x = lines.define(&format!("llvm.intr.minnum({x}, {high}) : (f64, f64) -> f64"));
    let per = lines.float(std::f64::consts::LOG2_E);
    let scaled = lines.floats("fmul", &x, &per);
    let n = lines.define(&format!("llvm.intr.roundeven({scaled}) : (f64) -> f64"));
    let [first, second] = LN_2.map(|part| lines.float(-part));
    let r = lines.fused(&n, &first, &x);
    let r = lines.fused(&n, &second, &r);
    let mut factorial = 1.0;
    let mut coefficients = vec![1.0];
    for k in 1..=13 {
        factorial *= f64::from(k);
        coefficients.insert(0, 1.0 / factorial);
    }
    let p = lines.polynomial(&r, &coefficients);
    // In two steps: a power of 2 that is not small enough for a float may be a factor of one that is.
    let n = lines.define(&format!("llvm.fptosi {n} : f64 to i64"));
    let one = lines.integer(1);
    let half = lines.integers("ashr", &n, &one);
    let rest = lines.integers("sub", &n, &half);
    let (half, rest) = (lines.power(&half), lines.power(&rest));
    let p = lines.floats("fmul", &p, &half);
    let p = lines.floats("fmul", &p, &rest);
    let result = lines.select("uno", "%x", "%x", &p);
    lines.finish(&result)
}

fn logarithm() -> String {
    let mut lines = Lines::new("dastac_log");
    // The smallest floats have fewer digits: they are made larger first.
    let (least, large) = (lines.float(f64::MIN_POSITIVE), lines.float(f64::powi(2.0, 54)));
    let (zero, one, shift) = (lines.float(0.0), lines.float(1.0), lines.float(-54.0));
    let larger = lines.floats("fmul", "%x", &large);
    let x = lines.select("olt", &least, &larger, "%x");
    let offset = lines.select("olt", &least, &shift, &zero);
    let bits = lines.define(&format!("llvm.bitcast {x} : f64 to i64"));
    // The bits of sqrt(1/2): what is above in units of an exponent is the exponent.
    let (root, digits) = (lines.integer(0x3FE6_A09E_667F_3BCD), lines.integer(52));
    let above = lines.integers("sub", &bits, &root);
    let e = lines.integers("ashr", &above, &digits);
    let back = lines.integers("shl", &e, &digits);
    let m = lines.integers("sub", &bits, &back);
    let m = lines.define(&format!("llvm.bitcast {m} : i64 to f64"));
    let e = lines.define(&format!("llvm.sitofp {e} : i64 to f64"));
    let e = lines.floats("fadd", &e, &offset);
    let (over, under) = (lines.floats("fsub", &m, &one), lines.floats("fadd", &m, &one));
    let f = lines.floats("fdiv", &over, &under);
    let square = lines.floats("fmul", &f, &f);
    let coefficients: Vec<f64> = (0..12).rev().map(|k| 2.0 / f64::from(2 * k + 1)).collect();
    let series = lines.polynomial(&square, &coefficients);
    let of_m = lines.floats("fmul", &f, &series);
    let [first, second] = LN_2.map(|part| lines.float(part));
    let rest = lines.fused(&e, &second, &of_m);
    let sum = lines.fused(&e, &first, &rest);
    let infinite = lines.float(f64::INFINITY);
    let minus = lines.float(f64::NEG_INFINITY);
    let none = lines.float(f64::NAN);
    let result = lines.select("oeq", &infinite, &infinite, &sum);
    let result = lines.select("oeq", &zero, &minus, &result);
    let result = lines.select("ult", &zero, &none, &result);
    lines.finish(&result)
}

fn logarithm_near_1() -> String {
    let mut lines = Lines::new("dastac_log1p");
    let (one, infinite) = (lines.float(1.0), lines.float(f64::INFINITY));
    let u = lines.floats("fadd", "%x", &one);
    let over = lines.floats("fsub", &u, &one);
    let log = lines.call("dastac_log", &u);
    let ratio = lines.floats("fdiv", "%x", &over);
    let value = lines.floats("fmul", &log, &ratio);
    let value = lines.choose([&over, "%x"], &log, &value);
    let value = lines.choose([&u, &infinite], &u, &value);
    let result = lines.choose([&u, &one], "%x", &value);
    lines.finish(&result)
}

fn exponential_less_1() -> String {
    let mut lines = Lines::new("dastac_expm1");
    let (one, minus) = (lines.float(1.0), lines.float(-1.0));
    let infinite = lines.float(f64::INFINITY);
    let u = lines.call("dastac_exp", "%x");
    let over = lines.floats("fsub", &u, &one);
    let log = lines.call("dastac_log", &u);
    let ratio = lines.floats("fdiv", "%x", &log);
    let value = lines.floats("fmul", &over, &ratio);
    let value = lines.choose([&u, &infinite], &u, &value);
    let value = lines.choose([&over, &minus], &minus, &value);
    let result = lines.choose([&u, &one], "%x", &value);
    lines.finish(&result)
}

/// `e / (e + 2)` with `e = expm1(2 x)`; beyond 20 it is 1.
fn tangent() -> String {
    let mut lines = Lines::new("dastac_tanh");
    let (low, high, two) = (lines.float(-20.0), lines.float(20.0), lines.float(2.0));
    let x = lines.define(&format!("llvm.intr.maxnum(%x, {low}) : (f64, f64) -> f64"));
    let x = lines.define(&format!("llvm.intr.minnum({x}, {high}) : (f64, f64) -> f64"));
    let twice = lines.floats("fmul", &x, &two);
    let e = lines.call("dastac_expm1", &twice);
    let under = lines.floats("fadd", &e, &two);
    let value = lines.floats("fdiv", &e, &under);
    let result = lines.select("uno", "%x", "%x", &value);
    lines.finish(&result)
}
