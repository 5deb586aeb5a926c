//! Statistics of samples: medians, and how far the samples are from them.

use serde::{Deserialize, Serialize};

/// One measured run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// How long it took.
    pub ns: u64,
    /// Another process was given the CPU meanwhile.
    pub disturbed: bool,
}

/// A summary of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The median.
    pub median_ns: f64,
    /// The median distance from it.
    pub mad_ns: f64,
    /// The least.
    pub min_ns: f64,
    /// Samples that count.
    pub samples: usize,
    /// Samples that do not, because of other processes.
    pub disturbed: usize,
}

/// If there are this many samples without interruption, no others are used.
const ENOUGH: usize = 3;

impl Summary {
    /// Summarises at least one sample. Interrupted samples are only used if there are hardly any others.
    pub fn of(samples: &[Sample]) -> Option<Summary> {
        let quiet: Vec<f64> =
            samples.iter().filter(|s| !s.disturbed).map(|s| s.ns as f64).collect();
        let (counted, disturbed) = match quiet.len() >= ENOUGH {
            true => (quiet, samples.iter().filter(|s| s.disturbed).count()),
            false => (samples.iter().map(|s| s.ns as f64).collect(), 0),
        };
        let median = median(&counted)?;
        let distances: Vec<f64> = counted.iter().map(|ns| (ns - median).abs()).collect();
        Some(Summary {
            median_ns: median,
            mad_ns: self::median(&distances)?,
            min_ns: counted.iter().copied().reduce(f64::min)?,
            samples: counted.len(),
            disturbed,
        })
    }
}

/// The middle one, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

/// The geometric mean. `None` if there are no values.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.into_iter().map(f64::ln).collect();
    let count = logarithms.len() as f64;
    (count > 0.0).then(|| (logarithms.iter().sum::<f64>() / count).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(list: &[(u64, bool)]) -> Vec<Sample> {
        list.iter().map(|&(ns, disturbed)| Sample { ns, disturbed }).collect()
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(geometric_mean([2.0, 8.0]).map(f64::round), Some(4.0));
        assert_eq!(geometric_mean([]), None);
    }

    #[test]
    fn interrupted_samples_do_not_count_where_there_are_others() {
        let quiet = [(10, false), (12, false), (11, false), (90, true)];
        let summary = Summary::of(&samples(&quiet)).unwrap();
        assert_eq!((summary.median_ns, summary.mad_ns, summary.min_ns), (11.0, 1.0, 10.0));
        assert_eq!((summary.samples, summary.disturbed), (3, 1));
        let summary = Summary::of(&samples(&[(10, false), (30, true)])).unwrap();
        assert_eq!((summary.median_ns, summary.samples, summary.disturbed), (20.0, 2, 0));
        assert_eq!(Summary::of(&[]), None);
    }
}
