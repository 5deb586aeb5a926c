//! The table of named functions of floats, and what holds for each.
//!
//! All have the meaning that NumPy gives to them: `sign(NaN)` is not a number and `sign(0)` is 0, `round` takes the
//! even one of two neighbours, `log` of a negative number is not a number.

use num_complex::Complex;

/// What a function of one number does with its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parity {
    /// `f(-x) = f(x)`.
    Even,
    /// `f(-x) = -f(x)`.
    Odd,
    /// Neither; functions of two numbers too.
    None,
}

/// Makes everything that has one line for each function. A line says how many numbers it takes, its parity, whether it
/// is defined on integers (and then gives integers), and what it is of 64-bit floats.
macro_rules! functions {
    ($(
        #[doc = $about:literal]
        $variant:ident: $name:literal, $arity:literal, $parity:ident, $integers:literal, $eval:expr;
    )*) => {
        /// A function of one or two numbers that is applied to each element.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, serde::Serialize,
        )]
        #[serde(rename_all = "lowercase")]
        pub enum Function {
            $(#[doc = $about] $variant,)*
        }

        impl Function {
            /// All of them.
            pub const ALL: &[Function] = &[$(Function::$variant),*];

            /// Its name in programs and in the loop IR: `exp`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Function::$variant => $name,)*
                }
            }

            /// What it is, in a few words.
            pub fn about(self) -> &'static str {
                match self {
                    $(Function::$variant => $about.trim().trim_end_matches('.'),)*
                }
            }

            /// How many numbers it takes: 1 or 2.
            pub const fn arity(self) -> usize {
                match self {
                    $(Function::$variant => $arity,)*
                }
            }

            /// What it does with the sign of its number.
            pub const fn parity(self) -> Parity {
                match self {
                    $(Function::$variant => Parity::$parity,)*
                }
            }

            /// Whether it gives integers of integers.
            pub const fn of_integers(self) -> bool {
                match self {
                    $(Function::$variant => $integers,)*
                }
            }

            /// Its value; not a number where there are fewer numbers than it takes.
            pub fn eval(self, of: &[f64]) -> f64 {
                let number = |at: usize| of.get(at).copied().unwrap_or(f64::NAN);
                let (x, y) = (number(0), number(1));
                match self {
                    $(Function::$variant => {
                        let eval: fn(f64, f64) -> f64 = $eval;
                        eval(x, y)
                    })*
                }
            }
        }
    };
}

functions! {
    /// e to the power of x.
    Exp: "exp", 1, None, false, |x, _| x.exp();
    /// 2 to the power of x.
    Exp2: "exp2", 1, None, false, |x, _| x.exp2();
    /// e to the power of x, less 1.
    Expm1: "expm1", 1, None, false, |x, _| x.exp_m1();
    /// The natural logarithm.
    Log: "log", 1, None, false, |x, _| x.ln();
    /// The logarithm to base 2.
    Log2: "log2", 1, None, false, |x, _| x.log2();
    /// The logarithm to base 10.
    Log10: "log10", 1, None, false, |x, _| x.log10();
    /// The natural logarithm of 1 + x.
    Log1p: "log1p", 1, None, false, |x, _| x.ln_1p();
    /// The square root.
    Sqrt: "sqrt", 1, None, false, |x, _| x.sqrt();
    /// The cube root.
    Cbrt: "cbrt", 1, Odd, false, |x, _| x.cbrt();
    /// The absolute value.
    Abs: "abs", 1, Even, true, |x, _| x.abs();
    /// 1, 0 or -1: the sign.
    Sign: "sign", 1, Odd, true, |x, _| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else if x == 0.0 { 0.0 } else { x };
    /// The largest integer that is not larger.
    Floor: "floor", 1, None, true, |x, _| x.floor();
    /// The smallest integer that is not smaller.
    Ceil: "ceil", 1, None, true, |x, _| x.ceil();
    /// The nearest integer, the even one of two.
    Round: "round", 1, Odd, true, |x, _| x.round_ties_even();
    /// The integer part, rounded toward 0.
    Trunc: "trunc", 1, Odd, true, |x, _| x.trunc();
    /// The sine of an angle in radians.
    Sin: "sin", 1, Odd, false, |x, _| x.sin();
    /// The cosine of an angle in radians.
    Cos: "cos", 1, Even, false, |x, _| x.cos();
    /// The tangent of an angle in radians.
    Tan: "tan", 1, Odd, false, |x, _| x.tan();
    /// The angle whose sine is x.
    Asin: "asin", 1, Odd, false, |x, _| x.asin();
    /// The angle whose cosine is x.
    Acos: "acos", 1, None, false, |x, _| x.acos();
    /// The angle whose tangent is x.
    Atan: "atan", 1, Odd, false, |x, _| x.atan();
    /// The hyperbolic sine.
    Sinh: "sinh", 1, Odd, false, |x, _| libm::sinh(x);
    /// The hyperbolic cosine.
    Cosh: "cosh", 1, Even, false, |x, _| libm::cosh(x);
    /// The hyperbolic tangent.
    Tanh: "tanh", 1, Odd, false, |x, _| libm::tanh(x);
    /// The error function.
    Erf: "erf", 1, Odd, false, |x, _| libm::erf(x);
    /// x to the power of y.
    Pow: "pow", 2, None, false, |x, y| x.powf(y);
    /// The angle of the point (y, x), given in this order.
    Atan2: "atan2", 2, None, false, |y, x| y.atan2(x);
    /// The square root of x * x + y * y, without overflow on the way.
    Hypot: "hypot", 2, None, false, |x, y| x.hypot(y);
    /// x / y, rounded down.
    FloorDivide: "floor_divide", 2, None, true, |x, y| divided(x, y).0;
    /// What x / y, rounded down, leaves; of the sign of y.
    Mod: "mod", 2, None, true, |x, y| divided(x, y).1;
    /// The complex conjugate; of a real number, itself.
    Conj: "conj", 1, Odd, true, |x, _| x;
    /// The real part; of a real number, itself.
    Real: "real", 1, Odd, true, |x, _| x;
    /// The imaginary part; of a real number, 0.
    Imag: "imag", 1, Odd, true, |_, _| 0.0;
    /// The complex number with this real and this imaginary part.
    Complex: "complex", 2, None, false, |x, y| if y == 0.0 { x } else { f64::NAN };
}

impl Function {
    /// The function of this name.
    pub fn from_name(name: &str) -> Option<Function> {
        Function::ALL.iter().copied().find(|function| function.name() == name)
    }

    /// Whether processors have an instruction or few for it, of all lanes of a vector at once.
    pub const fn is_instruction(self) -> bool {
        self.of_integers() || matches!(self, Function::Sqrt)
    }

    /// Whether it is about a quotient, which is 0 where either number is not stored.
    pub const fn is_quotient(self) -> bool {
        matches!(self, Function::FloorDivide | Function::Mod)
    }

    /// Whether it is defined on complex numbers.
    pub const fn of_complex(self) -> bool {
        use Function::{Conj, Cos, Cosh, Exp, Log, Pow, Sin, Sinh, Sqrt};
        let gives_complex = matches!(self, Exp | Log | Sqrt | Sin | Cos | Sinh | Cosh | Pow | Conj);
        gives_complex || self.is_real_of_complex()
    }

    /// Whether it gives real numbers of complex ones.
    pub const fn is_real_of_complex(self) -> bool {
        matches!(self, Function::Abs | Function::Real | Function::Imag)
    }

    /// Whether it is about the two parts of a complex number, and nothing is computed for a real one.
    pub const fn is_of_parts(self) -> bool {
        matches!(self, Function::Conj | Function::Real | Function::Imag | Function::Complex)
    }

    /// Its value of complex numbers, if it is defined on them. Branches are those of C and NumPy: `sqrt(-1)` is `i`,
    /// and `log` has imaginary parts from -pi to pi. Powers of 0 are 0 where the real part of the exponent is positive,
    /// 1 where the exponent is 0, and else no numbers.
    pub fn eval_complex(self, of: &[Complex<f64>]) -> Option<Complex<f64>> {
        let z = *of.first()?;
        Some(match (self, of) {
            (Function::Abs, [_]) => z.norm().into(),
            (Function::Conj, [_]) => z.conj(),
            (Function::Real, [_]) => z.re.into(),
            (Function::Imag, [_]) => z.im.into(),
            (Function::Exp, [_]) => z.exp(),
            (Function::Log, [_]) => z.ln(),
            (Function::Sqrt, [_]) => z.sqrt(),
            (Function::Sin, [_]) => z.sin(),
            (Function::Cos, [_]) => z.cos(),
            (Function::Sinh, [_]) => z.sinh(),
            (Function::Cosh, [_]) => z.cosh(),
            (Function::Pow, [_, by]) => power(z, *by),
            _ => return None,
        })
    }

    /// Its value in 32-bit floats: the nearest one to that in 64-bit floats.
    pub fn eval_f32(self, of: &[f32]) -> f32 {
        let of: Vec<f64> = of.iter().map(|x| f64::from(*x)).collect();
        self.eval(&of) as f32
    }

    /// Its value of integers, if it gives integers; wraps around. What is divided by 0 is 0, as in NumPy.
    pub fn eval_integers(self, of: &[i64]) -> Option<i64> {
        let x = *of.first()?;
        match self {
            Function::FloorDivide | Function::Mod => {
                let y = *of.get(1)?;
                if y == 0 {
                    return Some(0);
                }
                let (quotient, rest) = (x.wrapping_div(y), x.wrapping_rem(y));
                let below = rest != 0 && (rest < 0) != (y < 0);
                Some(match self {
                    Function::Mod => rest + if below { y } else { 0 },
                    _ => quotient - i64::from(below),
                })
            }
            Function::Abs => Some(x.wrapping_abs()),
            Function::Sign => Some(x.signum()),
            Function::Imag => Some(0),
            _ => self.of_integers().then_some(x),
        }
    }

    /// Its value where all numbers are 0: what it makes of elements that are not stored.
    pub fn at_zeros(self) -> f64 {
        self.eval(&[0.0; 2])
    }
}

/// The quotient, rounded down, and what it leaves: of the exact quotient, as in Python. By 0 it is what `x / y` is.
fn divided(x: f64, y: f64) -> (f64, f64) {
    let rest = x % y;
    let quotient = (x - rest) / y;
    let (quotient, rest) = if rest != 0.0 && (rest < 0.0) != (y < 0.0) {
        (quotient - 1.0, rest + y)
    } else if rest == 0.0 {
        (quotient, rest.copysign(y))
    } else {
        (quotient, rest)
    };
    let below = quotient.floor();
    let whole = if quotient - below > 0.5 { below + 1.0 } else { below };
    match (y == 0.0, quotient == 0.0) {
        (true, _) => (x / y, f64::NAN),
        (false, true) => (0.0f64.copysign(x / y), rest),
        (false, false) => (whole, rest),
    }
}

/// `z` to the power of `by`: a product where `by` is a small whole number.
fn power(z: Complex<f64>, by: Complex<f64>) -> Complex<f64> {
    if by.im == 0.0 && by.re.fract() == 0.0 && by.re.abs() <= 64.0 {
        return z.powi(by.re as i32);
    }
    match (z == Complex::default(), by.re > 0.0) {
        (true, true) => Complex::default(),
        (true, false) => Complex::new(f64::NAN, f64::NAN),
        (false, _) => (by * z.ln()).exp(),
    }
}

impl std::fmt::Display for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn names() {
        for function in Function::ALL {
            assert_eq!(Function::from_name(function.name()), Some(*function));
            assert!((1..=2).contains(&function.arity()));
        }
        assert_eq!(Function::from_name("gamma"), None);
    }

    #[test]
    fn parities_hold() {
        for function in Function::ALL.iter().filter(|function| function.arity() == 1) {
            for x in [0.0, 0.3, 0.5, 1.0, 2.5, 700.0] {
                let (plus, minus) = (function.eval(&[x]), function.eval(&[-x]));
                match function.parity() {
                    Parity::Even => assert_eq!(plus.to_bits(), minus.to_bits(), "{function}({x})"),
                    Parity::Odd => assert!(plus == -minus || plus.is_nan(), "{function}({x})"),
                    Parity::None => {}
                }
            }
        }
    }

    #[test]
    fn values_at_zeros_and_edges() {
        let mut all = String::new();
        for function in Function::ALL {
            let at = [f64::INFINITY, f64::NEG_INFINITY, -2.5].map(|x| function.eval(&[x, x]));
            all += &format!("{function}: {:?} {at:?}\n", function.at_zeros());
        }
        expect![[r#"
            exp: 1.0 [inf, 0.0, 0.0820849986238988]
            exp2: 1.0 [inf, 0.0, 0.1767766952966369]
            expm1: 0.0 [inf, -1.0, -0.9179150013761013]
            log: -inf [inf, NaN, NaN]
            log2: -inf [inf, NaN, NaN]
            log10: -inf [inf, NaN, NaN]
            log1p: 0.0 [inf, NaN, NaN]
            sqrt: 0.0 [inf, NaN, NaN]
            cbrt: 0.0 [inf, -inf, -1.3572088082974534]
            abs: 0.0 [inf, inf, 2.5]
            sign: 0.0 [1.0, -1.0, -1.0]
            floor: 0.0 [inf, -inf, -3.0]
            ceil: 0.0 [inf, -inf, -2.0]
            round: 0.0 [inf, -inf, -2.0]
            trunc: 0.0 [inf, -inf, -2.0]
            sin: 0.0 [NaN, NaN, -0.5984721441039565]
            cos: 1.0 [NaN, NaN, -0.8011436155469337]
            tan: 0.0 [NaN, NaN, 0.7470222972386603]
            asin: 0.0 [NaN, NaN, NaN]
            acos: 1.5707963267948966 [NaN, NaN, NaN]
            atan: 0.0 [1.5707963267948966, -1.5707963267948966, -1.1902899496825317]
            sinh: 0.0 [inf, -inf, -6.0502044810397875]
            cosh: 1.0 [inf, inf, 6.132289479663686]
            tanh: 0.0 [1.0, -1.0, -0.9866142981514303]
            erf: 0.0 [1.0, -1.0, -0.999593047982555]
            pow: 1.0 [inf, 0.0, NaN]
            atan2: 0.0 [0.7853981633974483, -2.356194490192345, -2.356194490192345]
            hypot: 0.0 [inf, inf, 3.5355339059327378]
            floor_divide: NaN [NaN, NaN, 1.0]
            mod: NaN [NaN, NaN, -0.0]
            conj: 0.0 [inf, -inf, -2.5]
            real: 0.0 [inf, -inf, -2.5]
            imag: 0.0 [0.0, 0.0, 0.0]
            complex: 0.0 [NaN, NaN, NaN]
        "#]]
        .assert_eq(&all);
        for function in Function::ALL.iter().filter(|function| **function != Function::Imag) {
            let nan = function.eval(&[f64::NAN, f64::NAN]);
            assert!(nan.is_nan(), "{function}");
        }
    }

    #[test]
    fn integers() {
        let all = |function: Function| [-7, 0, 3, i64::MIN].map(|x| function.eval_integers(&[x]));
        assert_eq!(all(Function::Abs), [Some(7), Some(0), Some(3), Some(i64::MIN)]);
        assert_eq!(all(Function::Sign), [Some(-1), Some(0), Some(1), Some(-1)]);
        assert_eq!(all(Function::Floor), [Some(-7), Some(0), Some(3), Some(i64::MIN)]);
        assert_eq!(all(Function::Exp), [None; 4]);
        assert_eq!(all(Function::Imag), [Some(0); 4]);
        let pairs = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (5, 0), (i64::MIN, -1)];
        let both = pairs.map(|(x, y)| {
            [Function::FloorDivide, Function::Mod].map(|of| of.eval_integers(&[x, y]).unwrap())
        });
        let want = [[3, 1], [-4, 1], [-4, -1], [3, -1], [2, 0], [-2, 0], [0, 0], [i64::MIN, 0]];
        assert_eq!(both, want);
        assert_eq!(Function::Exp.eval_f32(&[1.0]), std::f32::consts::E);
    }

    /// What Python gives for `x // y` and `x % y`.
    #[test]
    fn quotients_that_are_rounded_down() {
        let most = f64::INFINITY;
        for (x, y, quotient, rest) in [
            (1.0, 0.1, 9.0, 0.09999999999999995),
            (-1.0, 0.1, -10.0, 5.551115123125783e-17),
            (7.5, -2.0, -4.0, -0.5),
            (-1e-20, 1.0, -1.0, 1.0),
            (1e300, 7.0, 1.4285714285714286e299, 1.0),
            (2f64.powi(60), 3.0, 3.843071682022823e17, 1.0),
            (5.0, most, 0.0, 5.0),
            (-5.0, most, -1.0, most),
            (-4.0, 2.0, -2.0, 0.0),
        ] {
            assert_eq!(Function::FloorDivide.eval(&[x, y]), quotient, "{x} // {y}");
            assert_eq!(Function::Mod.eval(&[x, y]), rest, "{x} % {y}");
        }
        assert_eq!(Function::FloorDivide.eval(&[-1.0, 0.0]), f64::NEG_INFINITY);
        assert!(Function::Mod.eval(&[-1.0, 0.0]).is_nan());
    }

    #[test]
    fn complex_numbers() {
        let mut all = String::new();
        for function in Function::ALL.iter().filter(|function| function.of_complex()) {
            let of = [Complex::new(3.0, -4.0), Complex::new(0.5, 0.0)];
            let value = function.eval_complex(&of[..function.arity()]).unwrap();
            all += &format!("{function}: {value:.6}\n");
        }
        expect![[r#"
            exp: -13.128783+15.200784i
            log: 1.609438-0.927295i
            sqrt: 2.000000-1.000000i
            abs: 5.000000+0.000000i
            sin: 3.853738+27.016813i
            cos: -27.034946+3.851153i
            sinh: -6.548120+7.619232i
            cosh: -6.580663+7.581553i
            pow: 2.000000-1.000000i
            conj: 3.000000+4.000000i
            real: 3.000000+0.000000i
            imag: -4.000000+0.000000i
        "#]]
        .assert_eq(&all);
        let edge = |function: Function, re: f64, im: f64| {
            function.eval_complex(&[Complex::new(re, im)]).unwrap().to_string()
        };
        assert_eq!(edge(Function::Sqrt, -1.0, 0.0), "0+1i");
        assert_eq!(edge(Function::Sqrt, -1.0, -0.0), "0-1i");
        assert_eq!(Function::Tan.eval_complex(&[Complex::default()]), None);
        let zero = [Complex::default(), Complex::new(0.0, 1.0)];
        assert!(Function::Pow.eval_complex(&zero).unwrap().is_nan());
    }
}
