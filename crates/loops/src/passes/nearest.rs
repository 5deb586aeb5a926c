//! The one integer that a value can be equal to, of values that are computed of integers in memory.
//!
//! Before -> after, where `K` has 64-bit integers and `L` 32-bit integers:
//!
//! - `min(L[i], index(N - 1))` -> `min(L[i], N - 1)`
//! - `L[i] / 2.0` -> `floor(L[i] / 2)`: where the integer is odd, the value is equal to none
//! - `mod(index(k) - L[i], index(N))` -> `k - L[i] - max(N, 1) * floor((k - L[i]) / max(N, 1))`
//! - `2.0 * K[i]` -> `2 * min(max(K[i], -2^62), 2^62)`: what is beyond 64 bits is no place in a tensor

use crate::ir::*;
use dastac_elements::Kind;

/// An expression that is equal to a value wherever the value is an integer that places in tensors can be; it neither
/// overflows nor has selections. Only integers are loaded.
pub(super) fn nearest(
    value: &Value,
    element: &dyn Fn(BufferId) -> Option<Element>,
) -> Option<Index> {
    let mut has_loads = false;
    value.visit(&mut |part| has_loads |= matches!(part, Value::Load(..)));
    let near = if has_loads { Near::of(value, element)? } else { return None };
    Some(near.index)
}

/// Sizes and variables are between minus this and this, and so are places.
const SIZE: i128 = 1 << 60;

/// A value, rounded down, and its range.
#[derive(Clone)]
struct Near {
    index: Index,
    low: i128,
    high: i128,
    /// Whether nothing was left to round.
    whole: bool,
}

impl Near {
    fn of(value: &Value, element: &dyn Fn(BufferId) -> Option<Element>) -> Option<Near> {
        let of = |part: &Value| Near::of(part, element);
        let constant = |part: &Value| match part {
            Value::Const(by) if by.fract() == 0.0 && by.abs() <= f64::from(i32::MAX) => {
                Some(*by as i64)
            }
            Value::FromIndex(index) => index.as_const(),
            _ => None,
        };
        match value {
            Value::Load(buffer, index) => {
                let element = element(*buffer).filter(|own| own.is_integer())?;
                let bits = 8 * element.bytes() as u32;
                let (low, high) = match element.kind() {
                    Kind::Unsigned => (0, (1 << bits) - 1),
                    Kind::Truth => (0, 1),
                    _ => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
                };
                let index = Index::Load(*buffer, Box::new(index.clone()));
                (high <= i64::MAX.into()).then_some(Near { index, low, high, whole: true })
            }
            Value::FromIndex(index) if !index.has_selections() => Some(match index.as_const() {
                Some(by) => Near::constant(by),
                None => Near { index: index.clone(), low: -SIZE, high: SIZE, whole: true },
            }),
            Value::Const(_) => constant(value).map(Near::constant),
            Value::Add(left, right) => of(left)?.plus(of(right)?),
            Value::Mul(left, right) => {
                let (factor, other) = match (&**left, &**right) {
                    (factor @ (Value::Const(_) | Value::FromIndex(_)), other)
                    | (other, factor @ (Value::Const(_) | Value::FromIndex(_))) => (factor, other),
                    _ => return None,
                };
                let other = of(other)?;
                match (constant(factor), factor) {
                    (Some(by), _) => other.times(by),
                    (None, Value::Const(by)) => {
                        let by = 1.0 / by;
                        let is_exact = by.abs() < SIZE as f64 && by as i64 as f64 == by;
                        let is_power = (by as i64).unsigned_abs().is_power_of_two();
                        (is_exact && is_power).then(|| other.over(by as i64))?
                    }
                    (None, Value::FromIndex(by)) if !by.has_selections() => {
                        other.times_index(by.clone())
                    }
                    _ => None,
                }
            }
            Value::Div(left, right) => of(left)?.over(constant(right)?),
            Value::Min(left, right) => Some(of(left)?.least(of(right)?)),
            Value::Max(left, right) => Some(of(left)?.most(of(right)?)),
            Value::Cast(Element::I64, of) => Near::of(of, element),
            Value::Apply(MathFunction::Abs, numbers) => {
                let own = of(numbers.first()?)?;
                Some(own.clone().times(-1)?.most(own))
            }
            Value::Apply(MathFunction::Floor, numbers) => Some(of(numbers.first()?)?.rounded()),
            Value::Apply(MathFunction::FloorDivide, numbers) => match numbers.as_slice() {
                [number, by] => match constant(by) {
                    Some(by) => Some(of(number)?.over(by)?.rounded()),
                    None => Some(of(number)?.quotient(Near::divisor(by)?)),
                },
                _ => None,
            },
            Value::Apply(MathFunction::Mod, numbers) => match numbers.as_slice() {
                [number, by] => match constant(by) {
                    Some(by) if by > 0 => {
                        let Near { index, whole, .. } = of(number)?;
                        Some(Near { index: index.modulo(by), low: 0, high: i128::from(by), whole })
                    }
                    Some(_) => None,
                    None => of(number)?.modulo(Near::divisor(by)?),
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn constant(by: i64) -> Near {
        Near { index: Index::constant(by), low: by.into(), high: by.into(), whole: true }
    }

    fn rounded(self) -> Near {
        Near { whole: true, ..self }
    }

    /// A symbol that divides: positive where anything has elements.
    fn divisor(value: &Value) -> Option<Index> {
        match value {
            Value::FromIndex(by @ Index::Symbol(_)) => Some(by.clone().max(Index::constant(1))),
            _ => None,
        }
    }

    /// Within bounds; what was outside is at the nearer bound.
    fn within(self, low: i128, high: i128) -> Near {
        let Near { mut index, low: least, high: most, whole } = self;
        if let (true, Ok(low)) = (least < low, i64::try_from(low)) {
            index = index.max(Index::constant(low));
        }
        if let (true, Ok(high)) = (high < most, i64::try_from(high)) {
            index = index.min(Index::constant(high));
        }
        Near { index, low: least.clamp(low, high), high: most.clamp(low, high), whole }
    }

    fn plus(self, other: Near) -> Option<Near> {
        let (least, most) = (self.low + other.low, self.high + other.high);
        let fits = least >= i64::MIN.into() && most <= i64::MAX.into();
        // Of two that are so large that they have no sum, none is a place.
        let (low, high) = (-(1 << 62), (1 << 62) - 1);
        let within = |one: Near| if fits { one } else { one.within(low, high) };
        let (left, right) = (within(self), within(other));
        // Of two that are not whole, the parts that are rounded may add up to 1.
        (left.whole || right.whole).then(|| Near {
            index: left.index + right.index,
            low: left.low + right.low,
            high: left.high + right.high,
            whole: left.whole && right.whole,
        })
    }

    fn times(self, by: i64) -> Option<Near> {
        let factor = i128::from(by);
        let most = i128::from(i64::MAX) / factor.abs().max(1);
        let own = self.within(-most, most);
        let (one, other) = (own.low * factor, own.high * factor);
        let index = Index::constant(by) * own.index;
        own.whole.then_some(Near { index, low: one.min(other), high: one.max(other), whole: true })
    }

    fn times_index(self, by: Index) -> Option<Near> {
        let size = match &by {
            Index::Symbol(_) => by.clone(),
            by => by.clone().max(-by.clone()),
        };
        let size = size.max(Index::constant(1));
        let most = Index::constant(1 << 62).quotient(size);
        let index = by * self.index.min(most.clone()).max(-most);
        self.whole.then_some(Near { index, low: -(1 << 62), high: 1 << 62, whole: true })
    }

    fn least(self, other: Near) -> Near {
        Near {
            low: self.low.min(other.low),
            high: self.high.min(other.high),
            whole: self.whole && other.whole,
            index: self.index.min(other.index),
        }
    }

    fn most(self, other: Near) -> Near {
        Near {
            low: self.low.max(other.low),
            high: self.high.max(other.high),
            whole: self.whole && other.whole,
            index: self.index.max(other.index),
        }
    }

    /// The quotient, rounded down.
    fn over(self, by: i64) -> Option<Near> {
        let own = if by < 0 { self.times(-1)? } else { self };
        let by = by.checked_abs().filter(|by| *by > 0)?;
        let divided = |end: i128| end.div_euclid(i128::from(by));
        let (low, high) = (divided(own.low), divided(own.high));
        Some(Near { index: own.index.floor_div(by), low, high, whole: by == 1 && own.whole })
    }

    fn quotient(self, by: Index) -> Near {
        // Divided by a number that is at least 1.
        let (low, high) = (self.low.min(0), self.high.max(0));
        Near { index: self.index.quotient(by), low, high, whole: true }
    }

    fn modulo(self, by: Index) -> Option<Near> {
        let rest = |number: Index| number.clone() - by.clone() * number.quotient(by.clone());
        let zero = Index::constant(0);
        let whole = self.whole;
        let is_far = |end: i128| end.abs() > (1 << 62);
        let index = match is_far(self.low) || is_far(self.high) {
            false => rest(self.index),
            // One of the two parts is 0. A multiple of the divisor below the smallest integer is not an integer.
            true => {
                let below = self.index.clone().min(zero.clone());
                let least = by.clone() * (below.clone().quotient(by.clone()) + 1);
                rest(self.index.max(zero.clone())) + (below + by.clone() - least)
            }
        };
        Some(Near { index, low: 0, high: SIZE, whole })
    }
}
