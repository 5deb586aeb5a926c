//! Replaces the floors of one expression by one variable.
//!
//! It is easy to see that a polynomial is 0 if it has no floors. The floors `floor((u + k)/d)`, for all `k` in a
//! polynomial, differ only in whether the remainder of `u` by `d` reaches `d - k`. So if `q` stands for `floor(u/d)`,
//! and the remainder is between two such thresholds, each of the floors is `q` or `q + 1`.
//!
//! Before -> after: `floor((N + 7)/8) - floor((N - 1)/8) - 1` -> with `N = 8*q` it is `q - (q - 1) - 1`, with
//! `8*q < N < 8*q + 8` it is `(q + 1) - q - 1`.

use std::collections::{BTreeMap, BTreeSet};

use dastac_poly::{Map, Set};
use dastac_stur::sets::{Affine, Atom};

use crate::coordinates::Fresh;
use crate::{LayoutError, Polynomial};

/// At most this many cases are distinguished.
const MAX_CASES: usize = 256;

/// A dividend, without multiples of the divisor and up to its sign, and the divisor.
type Base = (Affine, i64);

/// `whole + sign * floor((base + offset) / divisor)`, with `0 <= offset < divisor`.
struct Normal {
    whole: Affine,
    sign: i64,
    base: Base,
    offset: i64,
}

/// A case in which the floors are known. Where the case holds, the polynomial with floors is 0 if `polynomial`, which
/// has more dimensions instead of floors, is 0 on `set`.
pub(crate) struct FloorCase {
    /// The polynomial without floors.
    pub(crate) polynomial: Polynomial,
    /// The points of the case.
    pub(crate) set: Set,
    /// The dimensions of the set, with the new ones last.
    pub(crate) dims: Vec<String>,
}

/// All cases of a polynomial on a set over `dims`; `None` for floors in floors, too many cases, or numbers beyond 64
/// bits.
pub(crate) fn cases(
    polynomial: &Polynomial,
    set: &Set,
    dims: &[String],
) -> Result<Option<Vec<FloorCase>>, LayoutError> {
    let Some(polynomial) = polynomial.map_atoms(&without_multiples) else { return Ok(None) };
    // The offsets of each base.
    let mut groups: BTreeMap<Base, BTreeSet<i64>> = BTreeMap::new();
    for (atom, _) in polynomial.terms().flat_map(|(monomial, _)| monomial) {
        if let Atom::Floor(inner, divisor) = atom {
            let Some(normal) = normal(inner, *divisor) else { return Ok(None) };
            groups.entry(normal.base).or_default().insert(normal.offset);
        }
    }
    // The remainders at which one of the floors of a group increases, and the divisor as the end.
    let thresholds: Vec<Vec<i64>> = groups
        .iter()
        .map(|((_, divisor), offsets)| {
            let inner = offsets.iter().rev().filter(|k| **k > 0).map(|k| divisor - k);
            [0].into_iter().chain(inner).chain([*divisor]).collect()
        })
        .collect();
    let count = thresholds.iter().try_fold(1usize, |n, t| n.checked_mul(t.len() - 1));
    let Some(count) = count.filter(|count| *count <= MAX_CASES) else { return Ok(None) };
    let mut fresh = Fresh::of(set, dims)?;
    let names: Vec<String> = (0..groups.len()).map(|k| fresh.name(format!("q{k}"))).collect();
    let all: Vec<String> = dims.iter().chain(&names).cloned().collect();
    let mut cases = Vec::new();
    for mut case in 0..count {
        let mut conditions = Vec::new();
        let mut lows = BTreeMap::new();
        for (((base, divisor), name), ends) in groups.keys().zip(&names).zip(&thresholds) {
            let place = case % (ends.len() - 1);
            case /= ends.len() - 1;
            let (low, high) = (ends[place], ends[place + 1]);
            conditions.push(format!("{low} <= {base} - {divisor}*{name} < {high}"));
            lows.insert((base.clone(), *divisor), (name, low));
        }
        let image = |atom: &Atom| {
            let (inner, divisor) = match atom {
                Atom::Name(name) => return Some(Affine::name(name)),
                Atom::Floor(inner, divisor) => (inner, divisor),
            };
            let Normal { whole, sign, base, offset } = normal(inner, *divisor)?;
            let (name, low) = lows.get(&base)?;
            let more = i64::from(low + offset >= *divisor);
            let floor = Affine::name(name).add_scaled(&Affine::constant(more), 1)?;
            whole.add_scaled(&floor, sign)
        };
        let Some(polynomial) = polynomial.map_atoms(&image) else { return Ok(None) };
        let conditions =
            if conditions.is_empty() { "true".into() } else { conditions.join(" and ") };
        let text = format!(
            "[{}] -> {{ [{}] -> [{}] : {conditions} }}",
            set.params()?.join(", "),
            dims.join(", "),
            all.join(", ")
        );
        let points = set.apply(&Map::parse(set.context(), &text)?)?;
        if !points.is_empty()? {
            cases.push(FloorCase { polynomial, set: points, dims: all.clone() });
        }
    }
    Ok(Some(cases))
}

/// Moves multiples of the divisor out of a floor: `floor((3*floor(i/2) + j)/3)` -> `floor(i/2) + floor(j/3)`.
fn without_multiples(atom: &Atom) -> Option<Affine> {
    let Atom::Floor(inner, divisor) = atom else {
        return Some(Affine { terms: [(atom.clone(), 1)].into(), constant: 0 });
    };
    let (mut whole, mut rest) = (Affine::constant(0), Affine::constant(inner.constant));
    for (atom, coefficient) in &inner.terms {
        match coefficient % divisor {
            0 => whole.terms.insert(atom.clone(), coefficient / divisor),
            _ => rest.terms.insert(atom.clone(), *coefficient),
        };
    }
    let floor = match rest.terms.is_empty() {
        true => Affine::constant(rest.constant.div_euclid(*divisor)),
        false => {
            let floor = Atom::Floor(Box::new(rest), *divisor);
            Affine { terms: [(floor, 1)].into(), constant: 0 }
        }
    };
    whole.add_scaled(&floor, 1)
}

/// `floor(inner / divisor)` with small coefficients, the first of them positive; `None` where `inner` has floors.
fn normal(inner: &Affine, divisor: i64) -> Option<Normal> {
    let mut whole = Affine::constant(inner.constant.div_euclid(divisor));
    let mut base = Affine::constant(0);
    let mut offset = inner.constant.rem_euclid(divisor);
    for (atom, coefficient) in &inner.terms {
        if !matches!(atom, Atom::Name(_)) {
            return None;
        }
        let mut rest = coefficient.rem_euclid(divisor);
        if rest > divisor / 2 {
            rest -= divisor;
        }
        if rest != 0 {
            base.terms.insert(atom.clone(), rest);
        }
        let multiple = coefficient.checked_sub(rest)? / divisor;
        if multiple != 0 {
            whole.terms.insert(atom.clone(), multiple);
        }
    }
    let mut sign = 1;
    if base.terms.values().next().is_some_and(|first| *first < 0) {
        // floor((offset - u) / d) = -floor((u + d - 1 - offset) / d)
        base = base.scaled(-1)?;
        offset = divisor - 1 - offset;
        sign = -1;
    }
    Some(Normal { whole, sign, base: (base, divisor), offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each floor is what its normal form says, at all small values.
    #[test]
    fn normal_forms_are_equal() {
        for (x, y, constant) in
            [(1, 0, 0), (-1, 0, 3), (9, -5, -1), (4, 4, 17), (-12, 7, -30), (8, 16, 5)]
        {
            let mut inner = Affine::constant(constant);
            for (name, coefficient) in [("x", x), ("y", y)] {
                if coefficient != 0 {
                    inner.terms.insert(Atom::Name(name.into()), coefficient);
                }
            }
            let Normal { whole, sign, base: (base, divisor), offset } = normal(&inner, 8).unwrap();
            assert!((0..8).contains(&offset) && base.terms.values().all(|c| (-4..=4).contains(c)));
            for (x, y) in (-20..20).flat_map(|x| (-20..20).map(move |y| (x, y))) {
                let value_of = |name: &str| Some(if name == "x" { x } else { y });
                let value = |affine: &Affine| affine.eval(&value_of).unwrap();
                let expected = value(&inner).div_euclid(8);
                let found = value(&whole) + sign * (value(&base) + offset).div_euclid(divisor);
                assert_eq!(found, expected, "{inner} at {x}, {y}");
            }
        }
    }
}
