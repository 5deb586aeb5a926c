//! Ranks by nested sums: sets whose dimensions each run from one bound to another, which depend on the dimensions
//! before and on symbols. All of their ranks are one polynomial, which needs no counting of cases.
//!
//! With `c_n = 1` and `c_k = sum from l_k to h_k of c_(k+1)`, the rank of a point `x` is `sum over k of (sum from l_k
//! to x_k - 1 of c_(k+1))`: in each dimension, what is before `x` and equal to it in the dimensions before. Sums of
//! powers are polynomials (Faulhaber), whatever the bounds are, as long as no run has a negative length:
//! ```text
//! 0 <= i < N, i <= j <= i + 2        c_1 = 3, c_0 = 3N, rank = 3i + (j - i)
//! ```
//!
//! No rank depends on where the slowest dimension ends: it may end at the first of several symbols, and only the number
//! of all points has a case for each.

use dastac_poly::{Inequality, PwQPolynomial, Set};
use dastac_stur::sets::{Affine, Atom};
use num_rational::Ratio;

use crate::LayoutError;
use crate::polynomial::Polynomial;

/// The number of points of a set before each, over its dimensions, and of all.
pub(crate) struct Sums {
    pub(crate) rank: Polynomial,
    /// The number of all, for values of symbols in sets that do not overlap.
    pub(crate) counts: Vec<(Set, Polynomial)>,
}

impl Sums {
    /// The number of all points.
    ///
    /// # Errors
    /// A failure of isl.
    pub(crate) fn count(&self, params: &Set) -> Result<PwQPolynomial, LayoutError> {
        let mut total = PwQPolynomial::zero_on(params)?;
        for (here, count) in &self.counts {
            let here = here.intersect(params)?;
            total = total.add(&count.on_params(&here)?.intersect_domain(&here)?)?;
        }
        Ok(total)
    }
}

/// Ends of a slowest dimension beyond which only cases of counting would be left.
const MOST_ENDS: usize = 4;

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
    let mut counts = vec![(span.params_set()?, Polynomial::constant(1))];
    for (run, name) in runs.iter().zip(names).rev() {
        let atom = Atom::Name(name.clone());
        let own = Polynomial::from_affine(&Affine::name(name));
        let before = &own + &Polynomial::constant(-1);
        let Some(part) = sum(&count, &atom, &run.low, &before) else { return Ok(None) };
        rank = &rank + &part;
        counts.clear();
        for end in &run.ends {
            let Some(whole) = sum(&count, &atom, &run.low, &end.high) else { return Ok(None) };
            counts.push((end.first.clone(), whole));
        }
        if let [(_, only)] = counts.as_slice() {
            count = only.clone();
        }
    }
    Ok(Some(Sums { rank, counts }))
}

/// The values of a dimension, for values of those before it.
struct Run {
    low: Polynomial,
    /// One; several only of a slowest dimension.
    ends: Vec<End>,
}

/// The last value of a dimension.
struct End {
    high: Polynomial,
    /// The values of symbols for which it is the first of several ends.
    first: Set,
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
        let [low] = &low[..] else { return Ok(None) };
        let Some(low) = bound(low, last, names) else { return Ok(None) };
        let several = if last == 0 { 1..=MOST_ENDS } else { 1..=1 };
        if !several.contains(&high.len()) {
            return Ok(None);
        }
        let params = prefix.params()?.join(", ");
        let mut ends = Vec::new();
        for (at, own) in high.iter().enumerate() {
            let mut first = prefix.params_set()?;
            for (other, end) in high.iter().enumerate().filter(|(other, _)| *other != at) {
                let order = if other < at { "<" } else { "<=" };
                let text = format!("[{params}] -> {{ : {} {order} {} }}", floor(own), floor(end));
                first = first.intersect(&Set::parse(first.context(), &text)?)?;
            }
            let Some(high) = bound(own, last, names) else { return Ok(None) };
            ends.push(End { high, first });
        }
        Ok(Some(Run { low, ends }))
    }
}

/// The largest value that a condition on symbols and a slowest dimension allows, in isl's notation for sets.
fn floor(condition: &Inequality) -> String {
    let mut text = condition.constant.to_string();
    for (name, c) in &condition.params {
        text += &format!(" + {c}*{name}");
    }
    format!("floor(({text})/{})", condition.dims[0].unsigned_abs())
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
