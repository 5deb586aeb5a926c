//! The goals for sparse results.

use super::{DISCORDANT, PRODUCTS, SMALL};
use crate::goals::{Goal, Row};
use crate::peers::label;
use crate::results::{CaseResults, Results};

/// Peers whose results are sorted, and how many times faster than these dastac has to be.
const SORTING: (&[&str], f64) = (&["mkl-sorted", "scipy-sorted", "graphblas", "eigen"], 2.0);

/// Times that are equal but for noise.
const EQUAL: f64 = 0.95;

/// Below this time threads are not judged.
const LONG: f64 = 5e6;

/// All goals that there are results for.
pub fn goals(results: &Results) -> Vec<Goal> {
    let of = |prefix: &str| -> Vec<&CaseResults> {
        results.cases.values().filter(|case| case.kernel.starts_with(prefix)).collect()
    };
    let (mut large, products) = (of(PRODUCTS), of(PRODUCTS));
    large.retain(|case| case.points.is_none_or(|points| points >= SMALL));
    let mut small = products.clone();
    small.retain(|case| case.points.is_some_and(|points| points < SMALL));
    let transposes = of(&format!("{DISCORDANT}transpose-"));
    let (sorting, twice) = SORTING;
    let mut goals = vec![
        Goal {
            title: "Products beside peers that sort".into(),
            target: "at least twice as fast as ordered MKL, SciPy with sort_indices, GraphBLAS and Eigen".into(),
            rows: beside(&large, sorting, twice),
        },
        Goal {
            title: "Products beside peers that do not sort".into(),
            target: "sorted results, not slower than the unsorted ones of MKL and SciPy (5% are noise)".into(),
            rows: beside(&large, &["mkl", "scipy"], EQUAL),
        },
        Goal {
            title: "Small products".into(),
            target: "below 10^4 products not slower than SciPy (5% are noise)".into(),
            rows: beside(&small, &["scipy", "scipy-sorted"], EQUAL),
        },
        Goal {
            title: "Transposes".into(),
            target: "not slower than SciPy and MKL (5% are noise)".into(),
            rows: beside(&transposes, &["mkl", "scipy"], EQUAL),
        },
        super::kinds::goal(results),
        threads(&[products, of(DISCORDANT)].concat()),
    ];
    goals.retain(|goal| !goal.rows.is_empty());
    goals
}

/// The time of each of these peers over dastac's.
fn beside(cases: &[&CaseResults], peers: &[&str], wanted: f64) -> Vec<Row> {
    let rows = cases.iter().flat_map(|case| {
        peers.iter().filter_map(|peer| {
            let value = case.time(peer)?.median_ns / case.time("dastac")?.median_ns;
            let threads = if case.threads == 1 { "" } else { "s" };
            let name = format!("{}, {} thread{threads}, {}", case.title, case.threads, label(peer));
            Some(Row { name, value, wanted })
        })
    });
    rows.collect()
}

/// One thread's time over that of two.
fn threads(cases: &[&CaseResults]) -> Goal {
    let rows = cases.iter().filter(|case| case.threads == 1).filter_map(|one| {
        let two = cases
            .iter()
            .find(|case| case.threads == 2 && (&case.kernel, case.n) == (&one.kernel, one.n))?;
        let time = one.time("dastac")?.median_ns;
        let value = time / two.time("dastac")?.median_ns;
        (time > LONG).then(|| Row { name: one.title.clone(), value, wanted: 1.7 })
    });
    Goal {
        title: "Sparse results on two threads".into(),
        target: "at least 1.7 times as fast as one, where one takes more than 5 ms".into(),
        rows: rows.collect(),
    }
}
