//! A quick test that sets are disjoint: two of their equalities contradict each other.
//!
//! For example, the diagonals `j - i = 3` and `j - i = 5` have no element in common, and neither have
//! `(j - i) mod 8 = 3` and `(j - i) mod 8 = 5`. With a thousand diagonals, this test saves a million questions to isl.

use dastac_poly::{Equality, Set};
use num_integer::Integer;

use crate::LayoutError;

/// The equalities of each basic set of a set.
#[derive(Clone, Debug)]
pub(crate) struct Slices(Vec<Vec<Equality>>);

impl Slices {
    pub(crate) fn of(set: &Set) -> Result<Slices, LayoutError> {
        Ok(Slices(set.equalities()?))
    }

    /// Whether the equalities show that the sets have no point in common. If they do not show it, the sets may still be
    /// disjoint. Both sets are in the same space.
    pub(crate) fn disjoint(&self, other: &Slices) -> bool {
        self.0.iter().all(|a| other.0.iter().all(|b| contradict(a, b)))
    }
}

/// Whether sets are disjoint and have the same union as `whole`. Only sets that may meet are compared, because isl
/// needs a case for each combination to subtract a thousand strided diagonals from each other.
///
/// # Errors
/// Failures of isl.
pub fn partition(parts: &[Set], whole: &[Set]) -> Result<bool, LayoutError> {
    let slices: Vec<Slices> = parts.iter().map(Slices::of).collect::<Result<_, _>>()?;
    for (k, part) in parts.iter().enumerate() {
        for other in 0..k {
            if !slices[k].disjoint(&slices[other]) && !part.is_disjoint(&parts[other])? {
                return Ok(false);
            }
        }
    }
    let described: Vec<Slices> = whole.iter().map(Slices::of).collect::<Result<_, _>>()?;
    for piece in whole {
        if !within(piece, parts, &slices)? {
            return Ok(false);
        }
    }
    for part in parts {
        if !within(part, whole, &described)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a set is within the union of others. Each of its basic sets is only compared with those that it may meet.
fn within(set: &Set, others: &[Set], slices: &[Slices]) -> Result<bool, LayoutError> {
    for basic in set.basic_sets()? {
        let here = Slices::of(&basic)?;
        let mut met = basic.empty_like()?;
        for (other, there) in others.iter().zip(slices) {
            if !here.disjoint(there) && !basic.is_disjoint(other)? {
                met = met.union(other)?;
            }
        }
        if !basic.is_subset(&met)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an equality of one contradicts one of the other: it has the same form, but another value.
fn contradict(a: &[Equality], b: &[Equality]) -> bool {
    a.iter().any(|a| {
        b.iter().any(|b| {
            a.dims == b.dims && a.params == b.params && {
                let modulus = a.modulus.gcd(&b.modulus);
                let difference = i128::from(a.constant) - i128::from(b.constant);
                match i128::from(modulus) {
                    0 => difference != 0,
                    modulus => difference % modulus != 0,
                }
            }
        })
    })
}
