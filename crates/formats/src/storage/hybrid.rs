//! Tensors in parts of hybrid formats.

use dastac_elements::{Storage, with_type};

use super::number::real;
use super::{Build, Entries, StorageError, Tensor, indirect};
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
            let values = measured(&condition.measure, &left);
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
fn measured(measure: &Measure, entries: &Entries) -> Vec<f64> {
    match measure {
        Measure::Query { aggregate, groups } => answers(entries, *aggregate, groups),
        Measure::Value { expr, functions } => {
            let known: Vec<Vec<u64>> =
                functions.iter().map(|function| indirect::values(function, entries)).collect();
            let rank = entries.shape().len();
            let value = |entry: usize| {
                let of = |at: usize| match at.checked_sub(rank) {
                    Some(function) => i128::from(known[function][entry]),
                    None => i128::from(entries.at(entry)[at]),
                };
                expr.value(&of) as f64
            };
            (0..entries.len()).map(value).collect()
        }
    }
}

/// What a query answers for the group of each entry.
fn answers(entries: &Entries, aggregate: Aggregate, groups: &[LevelExpr]) -> Vec<f64> {
    let keys = keys(entries, groups);
    let numbers: Vec<f64> = match aggregate {
        Aggregate::Count => Vec::new(),
        _ => entries.values().numbers().map(real).collect(),
    };
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|entry| keys[*entry]);
    let mut answers = vec![0.0; entries.len()];
    for group in order.chunk_by(|one, other| keys[*one] == keys[*other]) {
        let own = group.iter().map(|entry| numbers[*entry]);
        let answer = match aggregate {
            Aggregate::Count => group.len() as f64,
            Aggregate::Sum => own.sum(),
            Aggregate::Max => own.fold(f64::NEG_INFINITY, f64::max),
            Aggregate::Min => own.fold(f64::INFINITY, f64::min),
            Aggregate::Any => f64::from(u8::from(own.into_iter().any(|number| number != 0.0))),
        };
        group.iter().for_each(|entry| answers[*entry] = answer);
    }
    answers
}

/// The group of each entry, as a number: entries of which all expressions have the same values have the same one.
fn keys(entries: &Entries, groups: &[LevelExpr]) -> Vec<u64> {
    let mut keys = vec![0; entries.len()];
    let mut count: u64 = 1;
    for expr in groups {
        let value = |entry: usize| {
            let coordinates = entries.at(entry);
            expr.value(&|at| i128::from(coordinates[at]))
        };
        let values: Vec<i128> = (0..entries.len()).map(value).collect();
        let (Some(least), Some(most)) = (values.iter().min(), values.iter().max()) else { break };
        let extent = most.checked_sub(*least).and_then(|range| u64::try_from(range + 1).ok());
        match extent.and_then(|extent| Some((extent, count.checked_mul(extent)?))) {
            Some((extent, all)) => {
                let digit = |value: &i128| (value - least) as u64;
                let each = keys.iter_mut().zip(&values);
                each.for_each(|(key, value)| *key = *key * extent + digit(value));
                count = all;
            }
            // Too many for one number: those that there are get new ones.
            None => {
                let mut known: Vec<(u64, i128)> = keys.iter().copied().zip(values).collect();
                let each = known.clone();
                known.sort_unstable();
                known.dedup();
                let number = |pair: &(u64, i128)| known.partition_point(|one| one < pair) as u64;
                keys = each.iter().map(number).collect();
                count = known.len() as u64;
            }
        }
    }
    keys
}
