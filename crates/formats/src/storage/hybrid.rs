//! Tensors in parts of hybrid formats.

use dastac_elements::{Storage, with_type};
use rayon::prelude::*;

use super::columns::Tables;
use super::number::real;
use super::walk::place;
use super::{Build, Entries, StorageError, Tensor, indirect};
use crate::format::column::BLOCK;
use crate::format::hybrid::{Condition, Hybrid, Measure};
use crate::format::{Aggregate, Format, LevelExpr};

/// So many thresholds are tried where none is given.
const TRIED: usize = 12;

impl Tensor {
    /// The parts of the tensor in a hybrid format. Thresholds that are not given are those of which the parts take the
    /// fewest bytes.
    ///
    /// # Errors
    /// As [`Tensor::convert`].
    pub fn decompose(&self, hybrid: &Hybrid, build: Build) -> Result<Vec<Tensor>, StorageError> {
        let plain = self.convert(&Format::csf(self.shape().len()), build)?;
        let mut left = plain.to_entries()?;
        let mut parts = Vec::new();
        for part in &hybrid.parts {
            let Some(condition) = &part.condition else {
                parts.push(Tensor::from_entries(&left, &part.format, build)?);
                continue;
            };
            let values = measured(&condition.measure, &left, build.memory)?;
            let last = hybrid.parts.last().map_or(&part.format, |last| &last.format);
            let threshold = match condition.threshold {
                Some(threshold) => threshold,
                None => smallest(&left, &values, condition, [&part.format, last], build)?,
            };
            let (taken, rest) = divided(&left, &values, condition, threshold);
            parts.push(Tensor::from_entries(&taken, &part.format, build)?);
            left = rest;
        }
        Ok(parts)
    }
}

/// The entries for which a condition holds, and the others.
fn divided(
    entries: &Entries,
    values: &[f64],
    condition: &Condition,
    threshold: f64,
) -> (Entries, Entries) {
    let holds = |entry: &usize| condition.comparison.holds(values[*entry], threshold);
    let (taken, rest): (Vec<usize>, Vec<usize>) = (0..entries.len()).partition(holds);
    (some_of(entries, &taken), some_of(entries, &rest))
}

fn some_of(entries: &Entries, which: &[usize]) -> Entries {
    let coordinates = which.iter().flat_map(|entry| entries.at(*entry)).copied().collect();
    let values = with_type!(entries.values().element(), V => {
        let all = entries.values().typed::<V>();
        Storage::from(which.iter().map(|entry| all[*entry]).collect::<Vec<V>>())
    });
    Entries::checked(entries.shape().to_vec(), coordinates, values)
}

/// The threshold of which a part and the rest take the fewest bytes.
fn smallest(
    entries: &Entries,
    values: &[f64],
    condition: &Condition,
    [own, last]: [&Format; 2],
    build: Build,
) -> Result<f64, StorageError> {
    let mut known: Vec<f64> = values.to_vec();
    known.sort_by(f64::total_cmp);
    known.dedup();
    let step = known.len().div_ceil(TRIED).max(1);
    let tried = known.iter().copied().step_by(step);
    let tried = [f64::NEG_INFINITY].into_iter().chain(tried).chain([f64::INFINITY]);
    let mut best = (u64::MAX, f64::INFINITY);
    for threshold in tried {
        let (taken, rest) = divided(entries, values, condition, threshold);
        // What does not fit, or takes more bytes than another, is not the smallest, and need not be built.
        let build = Build { memory: build.memory.min(best.0), ..build };
        let built = Tensor::from_entries(&taken, own, build);
        let (Ok(built), Ok(rest)) = (built, Tensor::from_entries(&rest, last, build)) else {
            continue;
        };
        let bytes = built.bytes().saturating_add(rest.bytes());
        if bytes < best.0 {
            best = (bytes, threshold);
        }
    }
    match best.0 {
        u64::MAX => Tensor::from_entries(entries, last, build).map(|_| best.1),
        _ => Ok(best.1),
    }
}

/// The number of each entry.
fn measured(measure: &Measure, entries: &Entries, memory: u64) -> Result<Vec<f64>, StorageError> {
    let (expr, functions) = match measure {
        Measure::Query { aggregate, groups } => return Ok(answers(entries, *aggregate, groups)),
        Measure::Value { expr, functions } => (expr, functions),
    };
    let known = functions.iter().map(|function| indirect::values(function, entries, memory));
    let known: Vec<Vec<u64>> = known.collect::<Result<_, _>>()?;
    Ok(match small(expr, entries, &known) {
        Some(values) => values.into_iter().map(|value| value as f64).collect(),
        None => large(expr, entries, &known).map(|value| value as f64).collect(),
    })
}

/// What a query answers for the group of each entry. Those of a group are added up in the order of the entries.
fn answers(entries: &Entries, aggregate: Aggregate, groups: &[LevelExpr]) -> Vec<f64> {
    let (keys, count) = keys(entries, groups);
    let first = match aggregate {
        Aggregate::Max => f64::NEG_INFINITY,
        Aggregate::Min => f64::INFINITY,
        Aggregate::Count | Aggregate::Sum | Aggregate::Any => 0.0,
    };
    let mut answers = vec![first; count];
    let mut add = |with: &dyn Fn(f64, f64) -> f64| {
        let numbers = entries.values().numbers().map(real);
        for (key, number) in keys.iter().zip(numbers) {
            answers[*key as usize] = with(answers[*key as usize], number);
        }
    };
    match aggregate {
        Aggregate::Count => keys.iter().for_each(|key| answers[*key as usize] += 1.0),
        Aggregate::Sum => add(&|sum, number| sum + number),
        Aggregate::Max => add(&f64::max),
        Aggregate::Min => add(&f64::min),
        Aggregate::Any => add(&|any, number| if number == 0.0 { any } else { 1.0 }),
    }
    keys.into_iter().map(|key| answers[key as usize]).collect()
}

/// The group of each entry, and below which number all groups are: entries of which all expressions have the same
/// values are in the same one. There are not many more numbers than entries.
fn keys(entries: &Entries, groups: &[LevelExpr]) -> (Vec<u64>, usize) {
    let mut keys = vec![0; entries.len()];
    let mut count: u64 = 1;
    let most = Tables::default().of_all(entries.len());
    for expr in groups {
        let values = small(expr, entries, &[]).unwrap_or_else(|| {
            let all: Vec<i128> = large(expr, entries, &[]).collect();
            numbered(all).into_iter().map(u64::cast_signed).collect()
        });
        let least = values.iter().copied().min().unwrap_or(0);
        let most_of = values.iter().copied().max().unwrap_or(0);
        let digits = values.into_iter().map(|value| value.wrapping_sub(least).cast_unsigned());
        let extent = u128::from(most_of.wrapping_sub(least).cast_unsigned()) + 1;
        match u128::from(count) * extent {
            all if all <= u128::from(most) => {
                let extent = u64::try_from(extent).unwrap_or(u64::MAX);
                let each = keys.iter_mut().zip(digits);
                each.for_each(|(key, digit)| *key = *key * extent + digit);
                count *= extent;
            }
            // Those that there are get new numbers.
            _ => {
                keys = numbered(keys.into_iter().zip(digits).collect());
                count = keys.iter().max().map_or(1, |largest| largest + 1);
            }
        }
    }
    (keys, place(count))
}

/// The number of each element among the different ones, in ascending order.
fn numbered<T: Copy + Ord + Send + Sync>(all: Vec<T>) -> Vec<u64> {
    let mut known = all.clone();
    known.par_sort_unstable();
    known.dedup();
    all.into_par_iter().map(|one| known.partition_point(|known| *known < one) as u64).collect()
}

/// The values of an expression at all entries, if they are computed in 64 bits. Values of functions are numbered behind
/// the dimensions.
fn small(expr: &LevelExpr, entries: &Entries, functions: &[Vec<u64>]) -> Option<Vec<i64>> {
    let rank = entries.shape().len();
    let largest = |at: usize| match at.checked_sub(rank) {
        Some(function) => functions[function].iter().max().copied().unwrap_or(0).into(),
        None => entries.shape()[at].into(),
    };
    if !expr.is_small(&largest) {
        return None;
    }
    let mut values = vec![0; entries.len()];
    values.par_chunks_mut(BLOCK).enumerate().for_each(|(block, to)| {
        let first = block * BLOCK;
        let columns = |at: usize, to: &mut [i64]| match at.checked_sub(rank) {
            Some(function) => {
                let from = functions[function][first..].iter();
                to.iter_mut().zip(from).for_each(|(to, from)| *to = from.cast_signed());
            }
            None => {
                let from = entries.coordinates()[first * rank..].chunks_exact(rank);
                to.iter_mut().zip(from).for_each(|(to, from)| *to = from[at].cast_signed());
            }
        };
        expr.add(1, &columns, to);
    });
    Some(values)
}

/// As [`small`], of any size.
fn large<'a>(
    expr: &'a LevelExpr,
    entries: &'a Entries,
    functions: &'a [Vec<u64>],
) -> impl Iterator<Item = i128> + 'a {
    let rank = entries.shape().len();
    (0..entries.len()).map(move |entry| {
        expr.value(&|at| match at.checked_sub(rank) {
            Some(function) => functions[function][entry].into(),
            None => entries.at(entry)[at].into(),
        })
    })
}
