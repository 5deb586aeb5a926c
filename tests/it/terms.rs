//! Random factors that are functions of elements, for random programs and random kernels.
//!
//! All are tame: where an argument is off by rounding, so is the function. What jumps (comparisons, `floor`, casts) has
//! arguments that are exactly known: elements of inputs, iterators, and symbols.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// What functions are made of.
pub trait Terms {
    /// The generator's.
    fn rng(&mut self) -> &mut ChaCha8Rng;

    /// An element of any tensor.
    fn element(&mut self) -> String;

    /// An element that is not rounded on its way to the function.
    fn input(&mut self) -> String;

    /// An iterator or a symbol that stands alone.
    fn index(&mut self) -> String;

    /// Whether values are integers, so that functions have to give integers.
    fn whole(&self) -> bool {
        false
    }

    /// One of some texts.
    fn one(&mut self, from: &[&str]) -> String {
        (*from.choose(self.rng()).expect("not empty")).into()
    }

    /// A factor that is a function.
    fn function(&mut self) -> String {
        self.nested(2)
    }

    /// A function whose arguments have functions up to a depth.
    fn nested(&mut self, depth: u32) -> String {
        match self.rng().random_range(0..10) {
            0..2 => self.jump(depth),
            2..4 => self.between(depth),
            _ if self.whole() => self.of_integers(depth),
            _ => self.smooth(depth),
        }
    }

    /// A function of floats.
    fn smooth(&mut self, depth: u32) -> String {
        let x = self.argument(depth);
        match self.rng().random_range(0..22) {
            0 | 1 => format!("exp(-abs({x}) / 8)"),
            2 => format!("exp(-0.5 * ({x})^2)"),
            3 => format!("exp(clip({x}, -2, 1))"),
            4 | 5 => format!("tanh({x})"),
            6 => format!("sqrt(abs({}))", self.input()),
            7 => format!("cbrt({})", self.input()),
            8 => format!("sigmoid({x})"),
            9 => format!("sin({x})"),
            10 => format!("cos({x})"),
            11 => format!("atan({x})"),
            12 => format!("erf({x})"),
            13 => format!("log1p(abs({x}))"),
            14 => format!("(1 + ({x})^2)^-1"),
            15 => format!("({x}) / (2 + abs({}))", self.argument(depth)),
            16 => format!("pow(1 + abs({x}), 0.5)"),
            17 => format!("hypot({x}, {})", self.argument(depth)),
            18 => format!("expm1(-abs({x}))"),
            19 => format!("atan2({x}, 2 + abs({}))", self.argument(depth)),
            _ => self.of_integers(depth),
        }
    }

    /// A function that gives integers of integers.
    fn of_integers(&mut self, depth: u32) -> String {
        let x = self.argument(depth);
        match self.rng().random_range(0..6) {
            0 | 1 => format!("abs({x})"),
            2 => format!("({x})^2"),
            3 => format!("({})^3", self.input()),
            4 => format!("square({})", self.input()),
            _ => format!("({x} + {})", self.argument(depth)),
        }
    }

    /// The smaller or larger of two, and what is made of these.
    fn between(&mut self, depth: u32) -> String {
        let (x, y) = (self.argument(depth), self.argument(depth));
        match self.rng().random_range(0..6) {
            0 => format!("max({x}, 0)"),
            1 => format!("min({x}, {y})"),
            2 => format!("max({x}, {y})"),
            3 => format!("relu({x})"),
            4 => format!("clip({x}, -1, 1)"),
            _ => format!("min(max({x}, {y}), 1)"),
        }
    }

    /// A function that is not continuous.
    fn jump(&mut self, depth: u32) -> String {
        let x = self.input();
        let test = self.test();
        match self.rng().random_range(0..10) {
            0 => format!("sign({x})"),
            1 if !self.whole() => format!("floor(4 * {x})"),
            2 if !self.whole() => format!("round(3 * {x})"),
            3 => format!("i32(8 * {x})"),
            4 => format!("({x} % {})", self.one(&["3", "-2", "5"])),
            5 => format!("({x} // {})", self.one(&["3", "-2", "4"])),
            6 | 7 => test,
            8 => format!("where({test}, {}, 0)", self.argument(depth)),
            _ => format!("where({test}, {}, {})", self.argument(depth), self.argument(depth)),
        }
    }

    /// A comparison of values.
    fn test(&mut self) -> String {
        let (x, relation) = (self.input(), self.one(&["<", "<=", ">", ">=", "=", "!="]));
        let other = match self.rng().random_range(0..4) {
            0 => self.input(),
            1 => self.index(),
            2 => "0".into(),
            _ => self
                .one(&["0.5", "1", "-0.5"])
                .replace("0.5", if self.whole() { "1" } else { "0.5" }),
        };
        format!("({x} {relation} {other})")
    }

    /// What a function is of.
    fn argument(&mut self, depth: u32) -> String {
        match self.rng().random_range(0..20) {
            0..10 => self.element(),
            10 => self.index(),
            11 => format!("{} - {}", self.element(), self.element()),
            12 => format!("{} + {}", self.element(), self.element()),
            13 => format!("{} * {}", self.element(), self.element()),
            14 => format!("2 * {} + 1", self.element()),
            15 => format!("{} * {} - {}", self.index(), self.input(), self.index()),
            16 => self.test(),
            _ if depth > 0 => self.nested(depth - 1),
            _ => self.element(),
        }
    }
}
