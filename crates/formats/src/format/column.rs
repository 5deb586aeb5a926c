//! Values of expressions for many entries at once, whose coordinates stand in one array for each dimension.

use super::arithmetic::{Arithmetic, LinearFunction};
use super::expression::{Atom, LevelExpr};

/// As many entries are computed at once: their values stay in the first cache.
pub(crate) const BLOCK: usize = 512;

/// Sums of parts below this do not overflow.
const LARGE: i128 = 1 << 61;

/// Sets values that are given numbers of variables of a block of entries: `set(variable, values)`.
type Columns<'a> = dyn Fn(usize, &mut [i64]) + 'a;

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

    /// Adds multiples of its values at a block of entries, at most [`BLOCK`], where [`LevelExpr::is_small`] holds.
    pub(crate) fn add(&self, factor: i64, columns: &Columns<'_>, to: &mut [i64]) {
        to.iter_mut().for_each(|to| *to += factor * self.constant);
        for (atom, own) in &self.terms {
            let mut memory = [0i64; BLOCK];
            let values = &mut memory[..to.len()];
            match atom {
                Atom::Dimension(dimension) => columns(*dimension, values),
                Atom::Quotient(inner, by) => {
                    inner.add(1, columns, values);
                    divide(values, *by, |quotient, _| quotient);
                }
                Atom::Remainder(inner, by) => {
                    inner.add(1, columns, values);
                    divide(values, *by, |quotient, value| value - quotient * by);
                }
            }
            let factor = factor * own;
            to.iter_mut().zip(values).for_each(|(to, value)| *to += factor * *value);
        }
    }
}

impl LinearFunction {
    /// Whether its values are computed in 64 bits, given numbers that those of its variables do not exceed.
    pub(crate) fn is_small(&self, largest: &dyn Fn(usize) -> i128) -> bool {
        let constant = i128::from(self.constant).saturating_abs();
        let terms = self.terms.iter().map(|(at, factor)| {
            largest(*at).saturating_abs().saturating_mul(i128::from(factor.unsigned_abs()))
        });
        terms.fold(constant, i128::plus) < LARGE
    }

    /// Its values at a block of entries, where [`LinearFunction::is_small`] holds.
    pub(crate) fn set(&self, columns: &Columns<'_>, to: &mut [i64]) {
        to.fill(self.constant);
        for (at, factor) in &self.terms {
            let mut memory = [0i64; BLOCK];
            let values = &mut memory[..to.len()];
            columns(*at, values);
            to.iter_mut().zip(values).for_each(|(to, value)| *to += factor * *value);
        }
    }
}

/// From values to what becomes of their quotients by a number greater than 1, rounded toward minus infinity.
fn divide(values: &mut [i64], by: i64, with: impl Fn(i64, i64) -> i64) {
    if by.is_positive() && by & (by - 1) == 0 {
        let shift = by.trailing_zeros();
        values.iter_mut().for_each(|value| *value = with(*value >> shift, *value));
        return;
    }
    let bits = values.iter().fold(0, |bits, value| bits | value.cast_unsigned());
    match (u32::try_from(bits), u32::try_from(by)) {
        // Both have 32 bits: the upper half of a product with the reciprocal is the quotient (Lemire, Kaser and Kurz,
        // Faster remainder by direct computation, 2019).
        (Ok(_), Ok(by)) => {
            let reciprocal = u128::from(u64::MAX / u64::from(by) + 1);
            for value in values {
                let quotient = (u128::from(value.cast_unsigned()) * reciprocal) >> 64;
                // The quotient of a number of 32 bits.
                #[allow(clippy::cast_possible_truncation)]
                let quotient = quotient as i64;
                *value = with(quotient, *value);
            }
        }
        _ => values.iter_mut().for_each(|value| *value = with(value.div_euclid(by), *value)),
    }
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
                for (entry, found) in found.into_iter().enumerate() {
                    let wanted = expr.value(&|dimension| i128::from(at(entry, dimension)));
                    prop_assert_eq!(i128::from(found), wanted);
                }
            }
        }
    }

    #[test]
    fn quotients_of_all_kinds() {
        for by in [1, 2, 3, 7, 64, 641, 4_294_967_295, 1 << 40, 6_700_417] {
            let edge = [0, 1, by - 1, by, by + 1, 2 * by - 1, 4_294_967_295];
            for values in [edge.to_vec(), vec![-1, -by, 5, i64::MAX / 2], vec![u32::MAX.into()]] {
                let mut quotients = values.clone();
                divide(&mut quotients, by, |quotient, _| quotient);
                let wanted: Vec<i64> = values.iter().map(|value| value.div_euclid(by)).collect();
                assert_eq!(quotients, wanted, "by {by}");
            }
        }
    }
}
