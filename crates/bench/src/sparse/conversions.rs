//! Sparse matrices brought from one format into another one, beside libraries that do the same (section V of
//! UniSparse): matrices that are made, and files.

use super::{Job, files, with_matrix};
use crate::charts::{Chart, Panel, log};
use crate::figures::Scope;
use crate::goals::{Goal, Row};
use crate::kernels::Call;
use crate::patterns::Pattern;
use crate::results::{CaseResults, Results};
use crate::table::milliseconds;

/// What the names of kernels begin with.
pub const PREFIX: &str = "convert-";

/// From which format into which one.
const CONVERSIONS: [(&str, &str); 12] = [
    ("csr", "csc"),
    ("coo", "csr"),
    ("coo", "dia"),
    ("coo", "ell"),
    ("dcsc", "bcsr(4, 4)"),
    ("csr", "bcsr(4, 4)"),
    ("csr", "bdia(64)"),
    ("coo", "c2sr(8)"),
    ("coo", "cisr(8)"),
    ("csr", "sell(8, 64)"),
    ("bcsr(4, 4)", "csr"),
    ("ell", "csr"),
];

/// What is wanted beside the best of the others: on one thread, on more.
const WANTED: [f64; 2] = [1.5, 1.7];

/// Matrices that are made: name, rows, pattern, and whether their diagonals are few.
fn made(quick: bool) -> Vec<(&'static str, i64, Pattern, bool)> {
    let scale = if quick { 1 } else { 10 };
    let uniform = |rows: i64| Pattern::Uniform(10.0 / rows as f64);
    vec![
        ("band", 14_000 * scale, Pattern::Diagonals { count: 25, part: 0.9 }, true),
        ("stencil", 50_000 * scale, Pattern::Diagonals { count: 5, part: 1.0 }, true),
        ("uniform", 30_000 * scale, uniform(30_000 * scale), false),
    ]
}

/// The program that says what becomes what.
fn program(from: &str, to: &str) -> String {
    format!(
        "symbols: M, N\nB:D(i, j) := (0 <= i < M) * (0 <= j < N)\nB:F(i, j) := {from}\nA:F(i, j) := {to}\n\
         A(i, j) := B(i, j)\n"
    )
}

/// A format in the name of a kernel.
fn plain(format: &str) -> String {
    format.replace([' ', ')'], "").replace(['(', ','], "_")
}

/// Every conversion of every matrix, with each number of threads.
pub fn jobs(scope: &Scope) -> Vec<Job> {
    let made = made(scope.quick).into_iter();
    let made = made.map(|(name, rows, pattern, few)| (name.to_string(), Some(rows), pattern, few));
    let files = scope.matrices.as_deref().map(files).unwrap_or_default().into_iter();
    let files = files.map(|(name, path)| (name, None, Pattern::File(path), false));
    let matrices: Vec<(String, Option<i64>, Pattern, bool)> = made.chain(files).collect();
    let mut jobs = Vec::new();
    for &threads in &scope.threads {
        for (name, rows, pattern, few) in &matrices {
            for (from, to) in CONVERSIONS.iter().filter(|(_, to)| *few || !to.contains("dia")) {
                let kernel = format!("{PREFIX}{}-{}-{name}", plain(from), plain(to));
                let job = scope.program(
                    &kernel,
                    rows.unwrap_or(0),
                    program(from, to),
                    &["dastac", "mkl", "scipy"],
                );
                jobs.push(Job {
                    title: format!("{name}: {from} to {to}"),
                    call: Some(Call::Conversion),
                    threads,
                    budget: job.budget / 2.0,
                    ..with_matrix(job, *rows, pattern)
                });
            }
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

/// What was measured, by threads and matrix, conversions in the order above.
fn cases(results: &Results) -> Vec<&CaseResults> {
    let mut cases: Vec<&CaseResults> =
        results.cases.values().filter(|case| case.kernel.starts_with(PREFIX)).collect();
    cases.sort_by_key(|case| {
        let (matrix, conversion) = case.title.split_once(": ").unwrap_or_default();
        let at = CONVERSIONS.iter().position(|(from, to)| conversion == format!("{from} to {to}"));
        (case.threads, case.n == 0, matrix.to_string(), at)
    });
    cases
}

fn ns(case: &CaseResults, system: &str) -> Option<f64> {
    case.time(system).map(|time| time.median_ns)
}

/// How many times as long a system takes as dastac.
fn ratio(case: &CaseResults, system: &str) -> Option<f64> {
    Some(ns(case, system)? / ns(case, "dastac")?)
}

/// A row for each conversion.
pub fn table(results: &Results) -> (Vec<String>, Vec<Vec<String>>) {
    let headings =
        ["conversion", ">threads", ">entries", ">ms", ">ns each", ">MKL", ">SciPy", "bytes"];
    let rows = cases(results).into_iter().map(|case| {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let own = ns(case, "dastac");
        let over = |system| or_none(ratio(case, system).map(|ratio| format!("{ratio:.2}")));
        let each = own.zip(case.points).map(|(ns, entries)| format!("{:.1}", ns / entries));
        vec![
            case.title.clone(),
            case.threads.to_string(),
            or_none(case.points.map(|entries| format!("{entries:.0}"))),
            or_none(own.map(|ns| milliseconds(ns / 1e6))),
            or_none(each),
            over("mkl"),
            over("scipy"),
            or_none(case.system("dastac").map(|measured| measured.detail.clone())),
        ]
    });
    (headings.map(String::from).to_vec(), rows.collect())
}

/// What is wanted of conversions.
pub fn goals(results: &Results) -> Vec<Goal> {
    let rows = |single: bool, wanted: f64| -> Vec<Row> {
        let cases = cases(results).into_iter().filter(|case| (case.threads == 1) == single);
        let rows = cases.filter_map(|case| {
            let peers = ["mkl", "scipy"].iter().filter_map(|system| ratio(case, system));
            let value = peers.min_by(f64::total_cmp)?;
            Some(Row { name: case.title.clone(), value, wanted })
        });
        rows.collect()
    };
    let goal = |title: &str, single: bool, wanted: f64| Goal {
        title: title.into(),
        target: format!("{wanted:.1} times as fast as the better of MKL and SciPy"),
        rows: rows(single, wanted),
    };
    vec![
        goal("Conversions on one thread", true, WANTED[0]),
        goal("Conversions on several threads", false, WANTED[1]),
    ]
}

/// Bars of the time that an entry takes.
pub fn chart(results: &Results) -> Chart {
    const SYSTEMS: [(&str, &str); 3] = [("mkl", "mkl"), ("scipy", "scipy"), ("dastac", "dastac")];
    let all: Vec<&CaseResults> =
        cases(results).into_iter().filter(|case| case.threads == 1 && case.n > 0).collect();
    let mut matrices: Vec<&str> = Vec::new();
    for (matrix, _) in all.iter().filter_map(|case| case.title.split_once(": ")) {
        if !matrices.contains(&matrix) {
            matrices.push(matrix);
        }
    }
    let panel = |matrix: &&str| {
        let groups = all.iter().filter_map(|case| {
            let (of, conversion) = case.title.split_once(": ")?;
            let bar = |system: &str| Some(ns(case, system)? / case.points?);
            let bars = SYSTEMS.map(|(system, _)| bar(system)).to_vec();
            (of == *matrix).then(|| (conversion.to_string(), bars))
        });
        Panel::Bars {
            title: (*matrix).to_string(),
            y: log("nanoseconds for each entry"),
            groups: groups.collect(),
            line: None,
        }
    };
    Chart {
        name: String::new(),
        title: "Conversions between formats".into(),
        caption: "Time that each entry of a matrix takes, on one thread.".into(),
        series: SYSTEMS.map(|(system, class)| super::report::key(system, class)).to_vec(),
        panels: matrices.iter().map(panel).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Measured, Outcome};
    use crate::stats::Summary;

    #[test]
    fn every_conversion_is_a_program() {
        for (from, to) in CONVERSIONS {
            dastac_stur::load(&program(from, to)).unwrap();
        }
        assert_eq!(plain("bcsr(4, 4)"), "bcsr_4_4");
    }

    #[test]
    fn conversions_are_compared_with_the_better_of_the_others() {
        let measured = |system: &str, median_ns: f64| {
            let time =
                Summary { median_ns, mad_ns: 0.0, min_ns: median_ns, samples: 3, disturbed: 0 };
            let outcome = Outcome::Time { time, error: 0.0 };
            let detail = "1 KiB become 2 KiB".into();
            Measured { system: system.into(), detail, peak: None, prepared: None, outcome }
        };
        let systems = [("dastac", 2e6), ("mkl", 8e6), ("scipy", 5e6)];
        let case = CaseResults {
            kernel: format!("{PREFIX}csr-csc-a"),
            title: "a: csr to csc".into(),
            threads: 1,
            n: 10,
            points: Some(1e6),
            systems: systems.map(|(system, ns)| measured(system, ns)).to_vec(),
            ..CaseResults::default()
        };
        let mut results = Results::default();
        results.cases.insert("a".into(), case);
        let (_, rows) = table(&results);
        let rows: Vec<String> = rows.iter().map(|row| row.join(" | ")).collect();
        assert_eq!(
            rows,
            ["a: csr to csc | 1 | 1000000 | 2.00 | 2.0 | 4.00 | 2.50 | 1 KiB become 2 KiB"]
        );
        let values: Vec<usize> = goals(&results).iter().map(|goal| goal.rows.len()).collect();
        assert_eq!(values, [1, 0]);
        assert_eq!(goals(&results)[0].rows[0].value, 2.5);
    }
}
