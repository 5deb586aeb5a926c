//! Values of expressions for many entries at once, whose coordinates stand in one array for each dimension.

use super::arithmetic::{Arithmetic, LinearFunction};
use super::expression::{Atom, LevelExpr};

/// As many entries are computed at once: their values stay in the first cache.
pub(crate) const BLOCK: usize = 512;

/// Sums of parts below this do not overflow.
const LARGE: i128 = 1 << 61;

/// Sets values that are given numbers of variables of a block of entries: `set(variable, values)`.
type Columns<'a, T> = dyn Fn(usize, &mut [T]) + 'a;

/// What values are computed in: 64 bits, or the lower 32 of them, of which there are twice as many in a vector.
pub(crate) trait Lane: Copy + Default {
    /// A number, or the bits of it that there are.
    fn of(number: i64) -> Self;
    /// The sum with a multiple, of which the upper bits are lost.
    fn plus(self, factor: Self, of: Self) -> Self;
    /// Values become their quotients by a number greater than 1, rounded toward minus infinity, or what these leave.
    fn divide(values: &mut [Self], by: i64, rest: bool);
}

impl Lane for i64 {
    fn of(number: i64) -> i64 {
        number
    }

    fn plus(self, factor: i64, of: i64) -> i64 {
        self + factor * of
    }

    fn divide(values: &mut [i64], by: i64, rest: bool) {
        match rest {
            true => quotients(values, by, |quotient, value| value - quotient * by),
            false => quotients(values, by, |quotient, _| quotient),
        }
    }
}

impl Lane for u32 {
    // The lower bits are meant.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn of(number: i64) -> u32 {
        number as u32
    }

    fn plus(self, factor: u32, of: u32) -> u32 {
        self.wrapping_add(factor.wrapping_mul(of))
    }

    fn divide(values: &mut [u32], by: i64, rest: bool) {
        let Ok(by) = u32::try_from(by) else {
            if !rest {
                values.fill(0);
            }
            return;
        };
        if by.is_power_of_two() {
            let (shift, mask) = (by.trailing_zeros(), by - 1);
            match rest {
                true => values.iter_mut().for_each(|value| *value &= mask),
                false => values.iter_mut().for_each(|value| *value >>= shift),
            }
            return;
        }
        let reciprocal = reciprocal(by);
        for value in values {
            let quotient = quotient(*value, reciprocal);
            *value = if rest { *value - quotient * by } else { quotient };
        }
    }
}

impl LevelExpr {
    /// Whether its values are computed in 64 bits in a box, given the largest coordinate of each dimension.
    pub(crate) fn is_small(&self, largest: &dyn Fn(usize) -> i128) -> bool {
        let mut sum = i128::from(self.constant).saturating_abs();
        for (atom, factor) in &self.terms {
            let most = match atom {
                Atom::Dimension(dimension) => largest(*dimension).saturating_abs(),
                Atom::Quotient(inner, _) | Atom::Remainder(inner, _) => {
                    if !inner.is_small(largest) {
                        return false;
                    }
                    let (low, high) = inner.range(largest);
                    low.saturating_abs().max(high.saturating_abs())
                }
            };
            sum = sum.saturating_add(most.saturating_mul(i128::from(factor.unsigned_abs())));
        }
        sum < LARGE
    }

    /// Whether the lower 32 bits of its values are those that are computed in 32 bits: what is divided is not negative,
    /// and has no more.
    pub(crate) fn is_narrow(&self, largest: &dyn Fn(usize) -> i128) -> bool {
        self.terms.iter().all(|(atom, _)| match atom {
            Atom::Dimension(_) => true,
            Atom::Quotient(inner, _) | Atom::Remainder(inner, _) => {
                let (low, high) = inner.range(largest);
                low >= 0 && high <= u32::MAX.into() && inner.is_narrow(largest)
            }
        })
    }

    /// Adds multiples of its values at a block of entries, at most [`BLOCK`]: in 64 bits where
    /// [`LevelExpr::is_small`] holds, in 32 where [`LevelExpr::is_narrow`] does.
    pub(crate) fn add<T: Lane>(&self, factor: i64, columns: &Columns<'_, T>, to: &mut [T]) {
        let constant = T::of(self.constant);
        to.iter_mut().for_each(|to| *to = to.plus(T::of(factor), constant));
        for (atom, own) in &self.terms {
            let mut memory = [T::default(); BLOCK];
            let values = &mut memory[..to.len()];
            match atom {
                Atom::Dimension(dimension) => columns(*dimension, values),
                Atom::Quotient(inner, by) | Atom::Remainder(inner, by) => {
                    match inner.as_dimension() {
                        Some(dimension) => columns(dimension, values),
                        None => inner.add(1, columns, values),
                    }
                    T::divide(values, *by, matches!(atom, Atom::Remainder(..)));
                }
            }
            let factor = T::of(factor.wrapping_mul(*own));
            to.iter_mut().zip(values).for_each(|(to, value)| *to = to.plus(factor, *value));
        }
    }
}

impl LinearFunction {
    /// Whether its values are computed in 64 bits, given numbers that those of its variables do not exceed.
    pub(crate) fn is_small(&self, largest: &dyn Fn(usize) -> i128) -> bool {
        self.most(largest) < LARGE
    }

    /// What the amount of its values does not exceed, given the same of its variables.
    pub(crate) fn most(&self, largest: &dyn Fn(usize) -> i128) -> i128 {
        let constant = i128::from(self.constant).saturating_abs();
        let terms = self.terms.iter().map(|(at, factor)| {
            largest(*at).saturating_abs().saturating_mul(i128::from(factor.unsigned_abs()))
        });
        terms.fold(constant, i128::plus)
    }

    /// Its values at a block of entries, where [`LinearFunction::is_small`] holds; in 32 bits the lower ones of them.
    pub(crate) fn set<T: Lane>(&self, columns: &Columns<'_, T>, to: &mut [T]) {
        to.fill(T::of(self.constant));
        for (at, factor) in &self.terms {
            let mut memory = [T::default(); BLOCK];
            let values = &mut memory[..to.len()];
            columns(*at, values);
            let factor = T::of(*factor);
            to.iter_mut().zip(values).for_each(|(to, value)| *to = to.plus(factor, *value));
        }
    }
}

/// From values to what becomes of their quotients by a number greater than 1, rounded toward minus infinity.
fn quotients(values: &mut [i64], by: i64, with: impl Fn(i64, i64) -> i64) {
    if by.is_positive() && by & (by - 1) == 0 {
        let shift = by.trailing_zeros();
        values.iter_mut().for_each(|value| *value = with(*value >> shift, *value));
        return;
    }
    let bits = values.iter().fold(0, |bits, value| bits | value.cast_unsigned());
    match (u32::try_from(bits), u32::try_from(by)) {
        (Ok(_), Ok(by)) => {
            let reciprocal = reciprocal(by);
            for value in values {
                // All have 32 bits.
                let narrow = u32::of(*value);
                *value = with(quotient(narrow, reciprocal).into(), *value);
            }
        }
        _ => values.iter_mut().for_each(|value| *value = with(value.div_euclid(by), *value)),
    }
}

/// What is multiplied with instead of a division (Lemire, Kaser and Kurz, Faster remainder by direct computation,
/// 2019).
fn reciprocal(by: u32) -> u128 {
    u128::from(u64::MAX / u64::from(by) + 1)
}

/// The upper half of a product with the reciprocal of a number that is not 1.
fn quotient(value: u32, reciprocal: u128) -> u32 {
    // The quotient of a number of 32 bits.
    #[allow(clippy::cast_possible_truncation)]
    let quotient = ((u128::from(value) * reciprocal) >> 64) as u32;
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::any_format;
    use proptest::prelude::*;

    proptest! {
        /// Blocks of entries have the values that each entry has, with small and with large coordinates.
        #[test]
        fn blocks_have_the_values_of_entries(
            (format, large, entries) in (1usize..4).prop_flat_map(|rank| (
                any_format(rank),
                any::<bool>(),
                proptest::collection::vec(proptest::collection::vec(0u32..99, rank), 1..9),
            ))
        ) {
            let scale = if large { i64::from(u32::MAX / 99) * 7 } else { 1 };
            let largest = |_: usize| i128::from(scale) * 100;
            let at = |entry: usize, dimension: usize| i64::from(entries[entry][dimension]) * scale;
            for expr in format.map().levels() {
                prop_assert!(expr.is_small(&largest));
                let mut found = vec![0; entries.len()];
                let columns = |dimension: usize, to: &mut [i64]| {
                    to.iter_mut().enumerate().for_each(|(entry, to)| *to = at(entry, dimension));
                };
                expr.add(1, &columns, &mut found);
                let narrow = (!large && expr.is_narrow(&largest)).then(|| {
                    let mut found = vec![0; entries.len()];
                    let columns = |dimension: usize, to: &mut [u32]| {
                        let each = to.iter_mut().zip(&entries);
                        each.for_each(|(to, entry)| *to = entry[dimension]);
                    };
                    expr.add(1, &columns, &mut found);
                    found
                });
                for (entry, found) in found.into_iter().enumerate() {
                    let wanted = expr.value(&|dimension| i128::from(at(entry, dimension)));
                    prop_assert_eq!(i128::from(found), wanted);
                    if let Some(narrow) = &narrow {
                        prop_assert_eq!(narrow[entry], u32::of(found));
                    }
                }
            }
        }
    }

    #[test]
    fn quotients_of_all_kinds() {
        for by in [1, 2, 3, 7, 64, 641, 4_294_967_295, 1 << 40, 6_700_417] {
            let edge = [0, 1, by - 1, by, by + 1, 2 * by - 1, 4_294_967_295];
            for values in [edge.to_vec(), vec![-1, -by, 5, i64::MAX / 2], vec![u32::MAX.into()]] {
                for rest in [false, true] {
                    let mut found = values.clone();
                    i64::divide(&mut found, by, rest);
                    let one = |value: &i64| match rest {
                        true => value.rem_euclid(by),
                        false => value.div_euclid(by),
                    };
                    let wanted: Vec<i64> = values.iter().map(one).collect();
                    assert_eq!(found, wanted, "by {by}");
                    let narrow: Option<Vec<u32>> =
                        values.iter().map(|value| u32::try_from(*value).ok()).collect();
                    if let Some(mut narrow) = narrow {
                        u32::divide(&mut narrow, by, rest);
                        let wide: Vec<i64> = narrow.into_iter().map(i64::from).collect();
                        assert_eq!(wide, wanted, "{by}");
                    }
                }
            }
        }
    }
}
