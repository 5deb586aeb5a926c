//! Coefficients of redundancy maps: a number times powers of symbols.
//!
//! Invariants: the number is not 0; no power is 0. A coefficient may still be 0 or infinite at some values of the
//! symbols (`N` where `N = 0`), so it can be multiplied by always, but divided by only if it is a plain number
//! ([`Coefficient::ratio`]); and `N() * N^-1()` is not 1.

use std::collections::BTreeMap;
use std::fmt::Write;

use dastac_elements::Decimal;

/// A number times powers of symbols: `-2 * N() * M^-1()`.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficient {
    number: f64,
    /// Powers by index of the symbol in the program, those of its reciprocal (true) apart.
    powers: BTreeMap<(usize, bool), u32>,
}

impl Coefficient {
    /// The coefficient 1.
    pub fn one() -> Self {
        Coefficient::number(1.0)
    }

    /// A number, which must not be 0.
    pub fn number(number: f64) -> Self {
        Coefficient { number, powers: BTreeMap::new() }
    }

    /// 1 or -1.
    pub fn sign(negative: bool) -> Self {
        Coefficient::number(if negative { -1.0 } else { 1.0 })
    }

    /// A symbol (by its index in the program), or its reciprocal.
    pub fn symbol(index: usize, reciprocal: bool) -> Self {
        Coefficient { number: 1.0, powers: BTreeMap::from([((index, reciprocal), 1)]) }
    }

    /// Whether it is 1.
    pub fn is_one(&self) -> bool {
        self.number == 1.0 && self.powers.is_empty()
    }

    /// The factor that is not a symbol.
    pub fn factor(&self) -> f64 {
        self.number
    }

    /// The symbols as single factors: the index, and whether it is divided by.
    pub fn symbol_factors(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        self.powers.iter().flat_map(|(factor, power)| (0..*power).map(move |_| *factor))
    }

    /// The product, or nothing where it leaves the range of 64-bit floats or of powers.
    pub fn times(&self, other: &Coefficient) -> Option<Coefficient> {
        let number = self.number * other.number;
        let mut powers = self.powers.clone();
        for (factor, power) in &other.powers {
            let entry = powers.entry(*factor).or_insert(0u32);
            *entry = entry.checked_add(*power)?;
        }
        number.is_normal().then_some(Coefficient { number, powers })
    }

    /// `1 / self`: what a reciprocal is multiplied by where its tensor is multiplied by `self`.
    pub fn recip(&self) -> Option<Coefficient> {
        let number = self.number.recip();
        let mut powers = BTreeMap::new();
        for ((symbol, reciprocal), power) in &self.powers {
            powers.insert((*symbol, !reciprocal), *power);
        }
        number.is_normal().then_some(Coefficient { number, powers })
    }

    /// The `c` with `self * x = c * (other * x)` for every `x`: `None` if `other` could be 0 or infinite.
    pub fn ratio(&self, other: &Coefficient) -> Option<Coefficient> {
        if self == other {
            return Some(Coefficient::one());
        }
        if !other.powers.is_empty() {
            return None;
        }
        self.times(&other.recip()?)
    }

    /// Its value, the symbols' values given by index. A power of 0 is 0 or infinite.
    pub fn value(&self, symbol: &dyn Fn(usize) -> i64) -> f64 {
        self.symbol_factors().fold(self.number, |value, (index, reciprocal)| {
            let factor = symbol(index) as f64;
            if reciprocal { value / factor } else { value * factor }
        })
    }

    /// As STUR text: `-1 * N() * M^-1()`.
    pub fn to_stur<'a>(&self, name: &dyn Fn(usize) -> &'a str) -> String {
        let mut text = String::new();
        if self.number != 1.0 || self.powers.is_empty() {
            let _ = write!(text, "{}", Decimal(self.number));
        }
        for (index, reciprocal) in self.symbol_factors() {
            let times = if text.is_empty() { "" } else { " * " };
            let power = if reciprocal { "^-1" } else { "" };
            let _ = write!(text, "{times}{}{power}()", name(index));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Coefficient;

    #[test]
    fn arithmetic() {
        let n = Coefficient::symbol(0, false);
        let half_m = Coefficient::number(0.5).times(&Coefficient::symbol(1, true)).unwrap();
        let product = n.times(&half_m).unwrap().times(&n).unwrap();
        let name = |k: usize| ["N", "M"][k];
        assert_eq!(product.to_stur(&name), "0.5 * N() * N() * M^-1()");
        assert_eq!(product.value(&|k| [3, 4][k]), 0.5 * 9.0 / 4.0);
        assert_eq!(product.recip().unwrap().recip().unwrap(), product);
        assert!(n.times(&n.recip().unwrap()).unwrap().value(&|_| 0).is_nan());
        assert_eq!(n.to_stur(&name), "N()");
        assert_eq!(Coefficient::one().to_stur(&name), "1");
        assert_eq!(Coefficient::sign(true).to_stur(&name), "-1");
    }

    #[test]
    fn what_may_be_zero_is_not_divided_by() {
        let (n, two) = (Coefficient::symbol(0, false), Coefficient::number(2.0));
        assert_eq!(n.ratio(&n), Some(Coefficient::one()));
        assert_eq!(two.ratio(&n), None);
        assert_eq!(n.ratio(&two), Some(n.times(&Coefficient::number(0.5)).unwrap()));
        assert_eq!(Coefficient::number(1e300).times(&Coefficient::number(1e300)), None);
    }
}
