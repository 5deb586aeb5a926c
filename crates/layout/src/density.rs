//! How many of the places around some elements are elements, as far as random points show.

use dastac_poly::{Inequality, Set};

use crate::LayoutError;

/// The share of the places that elements must have: one in so many.
const SHARE: f64 = 0.25;

/// The same where the elements are hard to count.
const FEW: f64 = 0.0625;

/// The same where there is no other way to store them.
const SELDOM: f64 = 0.0078125;

/// The same of nearly all places.
const NEARLY: f64 = 0.95;

/// So many points are looked at for each choice of sizes, of a box with about so many places.
const SAMPLES: usize = 1024;
const PLACES: f64 = 16_777_216.0;

/// At least so many of them must be places.
const FEWEST: usize = 8;

/// A size that is small beside others: that of a few columns, or the width of a band.
const SMALL: i64 = 64;

/// With more symbols than this, sizes are only tried together.
const SYMBOLS: usize = 4;

/// Whether a good part of the places around some elements are elements, as far as random points show: at sizes that are
/// usual for this number of dimensions, and also where one of them is small, as the width of a band is.
pub(crate) fn is_dense(stored: &Set, around: &Set) -> Result<bool, LayoutError> {
    Ok(density(stored, around)? >= SHARE)
}

/// Whether so many places are elements that this is better than counting for a long time.
pub(crate) fn is_worth_it(stored: &Set, around: &Set) -> Result<bool, LayoutError> {
    Ok(density(stored, around)? >= FEW)
}

/// The same at usual sizes, whatever it is where one of them is small.
pub(crate) fn is_usually_worth_it(stored: &Set, around: &Set) -> Result<bool, LayoutError> {
    let symbols = symbols(stored, around)?;
    Ok(share(stored, around, &symbols)?.is_some_and(|share| share >= FEW))
}

/// Whether so many places are elements that this is better than no layout at all.
pub(crate) fn is_better_than_nothing(stored: &Set, around: &Set) -> Result<bool, LayoutError> {
    let symbols = symbols(stored, around)?;
    Ok(share(stored, around, &symbols)?.is_some_and(|share| share >= SELDOM))
}

fn density(stored: &Set, around: &Set) -> Result<f64, LayoutError> {
    let symbols = symbols(stored, around)?;
    let mut found = share(stored, around, &symbols)?;
    if (2..=SYMBOLS).contains(&symbols.len()) {
        for k in 0..symbols.len() {
            let mut sizes = symbols.clone();
            sizes[k].1 = SMALL;
            if let Some(share) = share(stored, around, &sizes)? {
                found = Some(found.map_or(share, |least| least.min(share)));
            }
        }
    }
    Ok(found.unwrap_or(0.0))
}

/// Whether nearly all of the places around some elements are elements, as far as random points show.
pub(crate) fn is_nearly_all(stored: &Set, around: &Set) -> Result<bool, LayoutError> {
    let symbols = symbols(stored, around)?;
    Ok(share(stored, around, &symbols)?.is_some_and(|share| share >= NEARLY))
}

/// Usual sizes.
fn symbols(stored: &Set, around: &Set) -> Result<Vec<(String, i64)>, LayoutError> {
    let rank = i32::try_from(stored.rank()).unwrap_or(1).max(1);
    let size = PLACES.powf(1.0 / f64::from(rank)) as i64;
    let mut symbols: Vec<(String, i64)> = Vec::new();
    for name in around.params()?.into_iter().chain(stored.params()?) {
        if !symbols.iter().any(|(known, _)| *known == name) {
            let more = i64::try_from(symbols.len()).unwrap_or(0);
            symbols.push((name, size + more));
        }
    }
    Ok(symbols)
}

/// The share of the places that are elements, at given sizes; `None` where there are hardly any places.
fn share(stored: &Set, around: &Set, sizes: &[(String, i64)]) -> Result<Option<f64>, LayoutError> {
    let fixed = |set: &Set| -> Result<Set, LayoutError> {
        let params = set.params()?;
        let known: Vec<(String, i64)> =
            sizes.iter().filter(|(name, _)| params.contains(name)).cloned().collect();
        Ok(set.fix_params(&known)?)
    };
    let (stored, around) = (fixed(stored)?, fixed(around)?);
    let Some(rows) = Rows::of(&around)? else { return Ok(None) };
    let (stored, around) = (stored.members()?, around.members()?);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut places, mut elements, mut seen) = (0.0, 0.0, 0);
    for _ in 0..SAMPLES {
        // A point of a long row stands for many, one of a short row for few.
        let Some((point, weight)) = rows.point(&mut numbers) else { continue };
        if rows.exact || around.contains(&point)? {
            seen += 1;
            places += weight;
            elements += if stored.contains(&point)? { weight } else { 0.0 };
        }
    }
    Ok((seen >= FEWEST).then_some(elements / places))
}

/// Where each dimension runs, given those before.
struct Rows {
    runs: Vec<Run>,
    /// Whether all points of the rows are places.
    exact: bool,
}

/// Where one dimension runs.
struct Run {
    least: i64,
    most: i64,
    /// Conditions on this dimension and those before.
    conditions: Vec<Inequality>,
}

impl Rows {
    /// The rows of a set without symbols; `None` if it has no points or no end.
    fn of(around: &Set) -> Result<Option<Rows>, LayoutError> {
        if around.is_empty()? || !around.is_bounded()? {
            return Ok(None);
        }
        let rank = around.rank();
        let hull = around.remove_divs()?.simple_hull()?;
        let mut runs = Vec::new();
        for k in 0..rank {
            let before = hull.project_out_at(k + 1, rank - k - 1)?.remove_divs()?.simple_hull()?;
            let mut ends = Vec::new();
            for end in [before.dim_min(k)?, before.dim_max(k)?] {
                let end = end.eval(&[], &[])?;
                ends.extend(end.and_then(|end| i64::try_from(end.to_integer()).ok()));
            }
            let [least, most] = ends[..] else { return Ok(None) };
            let mut conditions = before.inequalities()?.unwrap_or_default();
            conditions.retain(|condition| condition.dims[k] != 0);
            runs.push(Run { least, most, conditions });
        }
        let plain = around.basic_set_count()? == 1 && around.existentials()? == 0;
        let exact = plain && around.equalities()?.iter().all(Vec::is_empty);
        Ok(Some(Rows { runs, exact }))
    }

    /// A random point and the number of points that it stands for; `None` where a row has no points.
    fn point(&self, numbers: &mut Numbers) -> Option<(Vec<i64>, f64)> {
        let (mut point, mut weight) = (Vec::new(), 1.0);
        for run in &self.runs {
            let (least, most) = run.given(&point)?;
            let extent = most.checked_sub(least)?.checked_add(1).filter(|extent| *extent > 0)?;
            point.push(least + numbers.next().rem_euclid(extent));
            weight *= extent as f64;
        }
        Some((point, weight))
    }
}

impl Run {
    /// Where the dimension runs for values of those before.
    fn given(&self, before: &[i64]) -> Option<(i64, i64)> {
        let (mut least, mut most) = (self.least, self.most);
        for condition in &self.conditions {
            let mut rest = condition.constant;
            for (value, c) in before.iter().zip(&condition.dims) {
                rest = rest.checked_add(value.checked_mul(*c)?)?;
            }
            let c = condition.dims[before.len()];
            // c * x + rest >= 0
            if c > 0 {
                least = least.max(-rest.div_euclid(c));
            } else {
                most = most.min(rest.div_euclid(-c));
            }
        }
        Some((least, most))
    }
}

/// Numbers that look random, the same ones each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        i64::try_from(self.0 >> 33).unwrap_or(0)
    }
}
