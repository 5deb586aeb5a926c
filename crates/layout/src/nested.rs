//! Ranks by nested sums: sets whose dimensions each run from one bound to another, which depend on the dimensions
//! before and on symbols. All of their ranks are one polynomial, which needs no counting of cases.
//!
//! With `c_n = 1` and `c_k = sum from l_k to h_k of c_(k+1)`, the rank of a point `x` is `sum over k of (sum from l_k
//! to x_k - 1 of c_(k+1))`: in each dimension, what is before `x` and equal to it in the dimensions before. Sums of
//! powers are polynomials (Faulhaber), whatever the bounds are, as long as no run has a negative length:
//! ```text
//! 0 <= i < N, i <= j <= i + 2        c_1 = 3, c_0 = 3N, rank = 3i + (j - i)
//! ```

use dastac_poly::{Inequality, Set};
use dastac_stur::sets::{Affine, Atom};
use num_rational::Ratio;

use crate::LayoutError;
use crate::polynomial::Polynomial;

/// The number of points of a set before each, over its dimensions, and of all.
pub(crate) struct Sums {
    pub(crate) rank: Polynomial,
    pub(crate) count: Polynomial,
}

/// The rank of a set's points and their number; `None` for sets of other kinds.
///
/// # Errors
/// A failure of isl.
pub(crate) fn nested(span: &Set, names: &[String]) -> Result<Option<Sums>, LayoutError> {
    if span.equalities()?.iter().any(|equalities| !equalities.is_empty()) {
        return Ok(None);
    }
    let mut runs = Vec::new();
    for k in 0..names.len() {
        let prefix = span.project_out_at(k + 1, names.len() - k - 1)?.coalesce()?;
        let Some(run) = Run::of(&prefix, k, names)? else { return Ok(None) };
        runs.push(run);
    }
    let mut rank = Polynomial::zero();
    let mut count = Polynomial::constant(1);
    for (run, name) in runs.iter().zip(names).rev() {
        let atom = Atom::Name(name.clone());
        let own = Polynomial::from_affine(&Affine::name(name));
        let before = &own + &Polynomial::constant(-1);
        let Some(part) = sum(&count, &atom, &run.low, &before) else { return Ok(None) };
        rank = &rank + &part;
        let Some(whole) = sum(&count, &atom, &run.low, &run.high) else { return Ok(None) };
        count = whole;
    }
    Ok(Some(Sums { rank, count }))
}

/// The values of a dimension, for values of those before it.
struct Run {
    low: Polynomial,
    high: Polynomial,
}

impl Run {
    /// The run of the last dimension of a set. There is a value between its bounds for all values of the dimensions
    /// before that the set has, so no run is of negative length.
    fn of(prefix: &Set, last: usize, names: &[String]) -> Result<Option<Run>, LayoutError> {
        let Some(conditions) = prefix.inequalities()? else { return Ok(None) };
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for condition in &conditions {
            match condition.dims[last] {
                0 => {}
                1.. => low.push(condition),
                _ => high.push(condition),
            }
        }
        let ([low], [high]) = (&low[..], &high[..]) else { return Ok(None) };
        let bounds = (bound(low, last, names), bound(high, last, names));
        let (Some(low), Some(high)) = bounds else { return Ok(None) };
        Ok(Some(Run { low, high }))
    }
}

/// The first or last value that a condition on a dimension allows; `None` if it is a floor of other dimensions, over
/// which sums of powers are no polynomials.
fn bound(condition: &Inequality, dim: usize, names: &[String]) -> Option<Polynomial> {
    let coefficient = condition.dims[dim];
    let divisor = coefficient.checked_abs()?;
    let mut rest = Affine::constant(condition.constant);
    for (k, (name, c)) in names.iter().zip(&condition.dims).enumerate() {
        if k != dim && *c != 0 {
            if divisor != 1 {
                return None;
            }
            rest = rest.add_scaled(&Affine::name(name), *c)?;
        }
    }
    for (name, c) in &condition.params {
        rest = rest.add_scaled(&Affine::name(name), *c)?;
    }
    if divisor == 1 {
        return Some(Polynomial::from_affine(&rest.scaled(-coefficient)?));
    }
    // The least x with m x + rest >= 0 is ceil(-rest / m), the largest with -m x + rest >= 0 is floor(rest / m).
    let inner = match coefficient > 0 {
        true => rest.scaled(-1)?.add_scaled(&Affine::constant(divisor - 1), 1)?,
        false => rest,
    };
    let floor = Atom::Floor(Box::new(inner), divisor);
    Some(Polynomial::from_affine(&Affine { terms: [(floor, 1)].into(), constant: 0 }))
}

/// The sum of `term` for all values of `atom` from `low` to `high`. `None` where 128 bits do not suffice.
fn sum(term: &Polynomial, atom: &Atom, low: &Polynomial, high: &Polynomial) -> Option<Polynomial> {
    let before = low + &Polynomial::constant(-1);
    let mut total = Polynomial::zero();
    for (exponent, coefficient) in term.coefficients_of(atom) {
        let powers = powers(usize::try_from(exponent).ok()?)?;
        let difference = &composed(&powers, high) + &composed(&powers, &before).scaled(-1);
        total = &total + &(&coefficient * &difference);
    }
    Some(total)
}

/// The value of a polynomial with these coefficients, of which the first is the constant.
fn composed(coefficients: &[Ratio<i128>], at: &Polynomial) -> Polynomial {
    let mut value = Polynomial::zero();
    for coefficient in coefficients.iter().rev() {
        value = &(&value * at) + &Polynomial::rational(*coefficient);
    }
    value
}

/// More dimensions than this have no sum: the coefficients' denominators would leave 128 bits.
const MOST: usize = 16;

/// The coefficients of `0^p + 1^p + .. + n^p` in `n`, by `(p + 1) S_p = (n + 1)^(p + 1) - 1 - sum over k < p of (p + 1
/// choose k) S_k`, with `0^0 = 0` here: sums of ones from 1 to `n`.
fn powers(exponent: usize) -> Option<Vec<Ratio<i128>>> {
    if exponent > MOST {
        return None;
    }
    let mut all: Vec<Vec<Ratio<i128>>> = Vec::new();
    for p in 0..=exponent {
        let choose =
            |k: usize| (0..k).fold(1i128, |c, i| c * (p + 1 - i) as i128 / (i + 1) as i128);
        let mut own: Vec<Ratio<i128>> =
            (0..=p + 1).map(|k| Ratio::from_integer(choose(k))).collect();
        own[0] -= 1;
        for (k, lower) in all.iter().enumerate() {
            for (coefficient, value) in own.iter_mut().zip(lower) {
                *coefficient -= value * choose(k);
            }
        }
        own.iter_mut().for_each(|c| *c /= (p + 1) as i128);
        all.push(own);
    }
    all.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_powers() {
        let n = Polynomial::from_affine(&Affine::name("n"));
        for exponent in 0..=8 {
            let sum = composed(&powers(exponent).unwrap(), &n);
            let mut expected = 0;
            for value in 1..30i64 {
                expected += i128::from(value).pow(exponent as u32);
                assert_eq!(sum.eval(&|_| Some(value)), Some(Ratio::from_integer(expected)));
            }
        }
    }
}
