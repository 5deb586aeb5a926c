//! Sparse matrices in the formats that their entries choose (`A:F := auto`) times vectors and matrices, beside rows
//! (figure 6 of UniSparse): files, and matrices of which some diagonals are partly filled.

use super::{Job, PRODUCTS, files, product};
use crate::charts::{Chart, Panel, log};
use crate::figures::Scope;
use crate::goals::{Goal, Row};
use crate::kernels::Call;
use crate::patterns::Pattern;
use crate::results::{CaseResults, Measured, Results};
use crate::stats::geometric_mean;
use crate::table::milliseconds;

/// What the names of kernels begin with.
pub const PREFIX: &str = "formats-";

/// What the paper reaches beside MKL on rows, where diagonals are chosen.
const PAPER: f64 = 1.44;

/// What every chosen format is to reach beside MKL on rows.
const WANTED: f64 = 1.3;

/// Times differ by as much as this from one run to the next.
const NOISE: f64 = 0.95;

/// Matrices that are made: name, rows, pattern.
fn made(quick: bool) -> Vec<(&'static str, i64, Pattern)> {
    let scale = if quick { 1 } else { 4 };
    let diagonals = |count, part| Pattern::Diagonals { count, part };
    vec![
        ("stencil-5", 50_000 * scale, diagonals(5, 1.0)),
        ("diagonals-9", 25_000 * scale, diagonals(9, 0.9)),
        ("diagonals-20", 10_000 * scale, diagonals(20, 0.7)),
        ("diagonals-40", 10_000 * scale, diagonals(40, 0.4)),
        ("band", 10_000 * scale, Pattern::Full(10)),
        ("uniform", 20_000 * scale, Pattern::Uniform(10.0 / (20_000 * scale) as f64)),
    ]
}

/// Every product of every matrix, with each number of threads.
pub fn jobs(scope: &Scope) -> Vec<Job> {
    let systems = ["dastac", "auto", "mkl-rows", "mkl", "scipy"];
    let mut jobs = Vec::new();
    let made = made(scope.quick).into_iter();
    let made = made.map(|(name, rows, pattern)| (name.to_string(), Some(rows), pattern));
    let files = scope.matrices.as_deref().map(files).unwrap_or_default().into_iter();
    let files = files.map(|(name, path)| (name, None, Pattern::File(path)));
    let matrices: Vec<(String, Option<i64>, Pattern)> = made.chain(files).collect();
    for &threads in &scope.threads {
        for (kernel, title, source, call) in PRODUCTS {
            for (name, rows, pattern) in &matrices {
                let kernel = format!("{PREFIX}{kernel}-{name}");
                let n = rows.unwrap_or(0);
                let job = scope.program(&kernel, n, (*source).into(), &systems);
                // They are many.
                jobs.push(Job {
                    title: format!("{title} {}", name.replace('-', " ")),
                    threads,
                    budget: job.budget / 5.0,
                    ..product(job, *call, (*rows, pattern))
                });
            }
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

/// What was measured, by threads, product and size.
fn cases(results: &Results) -> Vec<&CaseResults> {
    let mut cases: Vec<&CaseResults> =
        results.cases.values().filter(|case| case.kernel.starts_with(PREFIX)).collect();
    let of_vector = |case: &CaseResults| case.title.starts_with(PRODUCTS[0].1);
    cases.sort_by_key(|case| (case.threads, !of_vector(case), case.n == 0, case.title.clone()));
    cases
}

fn ms(case: &CaseResults, system: &str) -> Option<f64> {
    case.time(system).map(|time| time.median_ns / 1e6)
}

/// How many times as long a system takes as the chosen format.
fn ratio(case: &CaseResults, system: &str) -> Option<f64> {
    Some(ms(case, system)? / ms(case, "auto")?)
}

/// The format that was chosen: what it is, and how long it took to choose and to make it.
fn chosen(case: &CaseResults) -> Option<(&str, Option<f64>)> {
    let measured: &Measured = case.system("auto")?;
    Some((measured.detail.as_str(), measured.prepared.map(|ns| ns / 1e6)))
}

/// Whether another format than rows was chosen.
fn differs(case: &CaseResults) -> bool {
    chosen(case).is_some_and(|(format, _)| format != "csr")
}

/// A row for each matrix: what was chosen, times, and after how many products the choice has paid for itself.
pub fn table(results: &Results) -> (Vec<String>, Vec<Vec<String>>) {
    let headings = [
        "matrix",
        ">threads",
        "chosen",
        ">chosen ms",
        ">rows",
        ">MKL, rows",
        ">MKL",
        ">SciPy",
        ">made in ms",
        ">pays after",
    ];
    let rows = cases(results).into_iter().map(|case| {
        let (format, made) = chosen(case).unwrap_or(("", None));
        let cell = |number: Option<f64>, digits: &dyn Fn(f64) -> String| {
            number.map_or_else(|| "-".into(), digits)
        };
        let over = |system: &str| cell(ratio(case, system), &|ratio| format!("{ratio:.2}"));
        let gain = ms(case, "dastac").zip(ms(case, "auto")).map(|(rows, own)| rows - own);
        let pays = match (made, gain) {
            (Some(made), Some(gain)) if differs(case) && gain > 0.0 => {
                format!("{:.0}", (made / gain).ceil())
            }
            _ => "-".into(),
        };
        vec![
            case.title.clone(),
            case.threads.to_string(),
            format.to_string(),
            cell(ms(case, "auto"), &milliseconds),
            over("dastac"),
            over("mkl-rows"),
            over("mkl"),
            over("scipy"),
            cell(made, &milliseconds),
            pays,
        ]
    });
    (headings.map(String::from).to_vec(), rows.collect())
}

/// What is wanted of formats that are chosen.
pub fn goals(results: &Results) -> Vec<Goal> {
    let cases = cases(results);
    let single = |system: &'static str, wanted: f64, which: &dyn Fn(&CaseResults) -> bool| {
        let of = cases.iter().filter(|case| which(case));
        let of = of.filter_map(|case| {
            let name = format!("{}, {} threads", case.title, case.threads);
            Some(Row { name, value: ratio(case, system)?, wanted })
        });
        of.collect::<Vec<Row>>()
    };
    let mean = |name: &str, system: &str, wanted: f64, which: &dyn Fn(&CaseResults) -> bool| {
        let ratios = cases.iter().filter(|case| which(case)).filter_map(|case| ratio(case, system));
        let value = geometric_mean(ratios);
        value.map(|value| Row { name: name.into(), value, wanted }).into_iter().collect::<Vec<_>>()
    };
    let of_vector = |case: &CaseResults| case.title.starts_with(PRODUCTS[0].1);
    let diagonals = |case: &CaseResults| {
        of_vector(case) && chosen(case).is_some_and(|(format, _)| format.contains("bdia"))
    };
    vec![
        Goal {
            title: "Diagonals that are chosen".into(),
            target:
                "1.44 times as fast as MKL on rows, on the geometric mean (figure 6 of UniSparse)"
                    .into(),
            rows: mean("SpMV", "mkl-rows", PAPER, &diagonals),
        },
        Goal {
            title: "Chosen formats beside MKL".into(),
            target: "1.3 times as fast as MKL on rows, on the geometric mean of all matrices"
                .into(),
            rows: mean("all", "mkl-rows", WANTED, &|_| true),
        },
        Goal {
            title: "Chosen formats beside rows".into(),
            target: "never slower than dastac's rows (but for a twentieth)".into(),
            rows: single("dastac", NOISE, &differs),
        },
    ]
}

/// Bars of how many times as fast as MKL on rows.
pub fn chart(results: &Results) -> Chart {
    const SYSTEMS: [(&str, &str); 3] = [("mkl", "mkl"), ("dastac", "c-packed"), ("auto", "dastac")];
    let panel = |(_, title, ..): &(&str, &str, &str, Call)| {
        let own = cases(results).into_iter().filter(|case| case.threads == 1);
        let groups = own.filter(|case| case.title.starts_with(title)).map(|case| {
            let bar = |system: &str| Some(ms(case, "mkl-rows")? / ms(case, system)?);
            (case.title.clone(), SYSTEMS.map(|(system, _)| bar(system)).to_vec())
        });
        Panel::Bars {
            title: (*title).to_string(),
            y: log("times as fast as MKL on rows"),
            groups: groups.collect(),
            line: Some(1.0),
        }
    };
    Chart {
        name: String::new(),
        title: "Formats that entries choose".into(),
        caption: "How many times as fast as MKL on rows, on one thread: MKL that has stored the matrix anew, dastac on \
                  rows, and dastac in the format that `auto` chooses. The first panel is figure 6 of UniSparse."
            .into(),
        series: SYSTEMS.map(|(system, class)| super::report::key(system, class)).to_vec(),
        panels: PRODUCTS.iter().map(panel).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Outcome;
    use crate::stats::Summary;

    fn measured(system: &str, detail: &str, prepared: Option<f64>, median_ns: f64) -> Measured {
        let (mad_ns, min_ns) = (0.0, median_ns);
        let time = Summary { median_ns, mad_ns, min_ns, samples: 3, disturbed: 0 };
        let outcome = Outcome::Time { time, error: 0.0 };
        let (system, detail) = (system.to_string(), detail.to_string());
        Measured { system, detail, peak: None, prepared, outcome }
    }

    #[test]
    fn choices_pay_after_some_products() {
        let mut results = Results::default();
        for (name, format, rows) in [("a", "bdia(64)", 3e6), ("b", "csr", 1e6)] {
            let systems = vec![
                measured("dastac", "", None, rows),
                measured("auto", format, Some(9.5e6), 1e6),
                measured("mkl-rows", "", None, 2e6),
            ];
            let (kernel, title) = (format!("{PREFIX}spmv-{name}"), format!("SpMV {name}"));
            let case = CaseResults { kernel, title, threads: 1, systems, ..CaseResults::default() };
            results.cases.insert(name.into(), case);
        }
        let (_, rows) = table(&results);
        let rows: Vec<String> = rows.iter().map(|row| row.join(" | ")).collect();
        assert_eq!(
            rows,
            [
                "SpMV a | 1 | bdia(64) | 1.00 | 3.00 | 2.00 | - | - | 9.50 | 5",
                "SpMV b | 1 | csr | 1.00 | 1.00 | 2.00 | - | - | 9.50 | -",
            ]
        );
        let goals = goals(&results);
        let values: Vec<Vec<f64>> =
            goals.iter().map(|goal| goal.rows.iter().map(|row| row.value).collect()).collect();
        assert_eq!(values, [vec![2.0], vec![2.0], vec![3.0]]);
    }

    #[test]
    fn diagonals_are_filled_in_part() {
        use rand::SeedableRng;
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let pattern = Pattern::Diagonals { count: 3, part: 0.5 };
        let entries = pattern.entries("A", vec![40, 30], &mut rng).unwrap();
        let at = |entry| entries.at(entry);
        let distance = |entry: usize| at(entry)[1] as i64 - at(entry)[0] as i64;
        let distances: std::collections::BTreeSet<i64> = (0..entries.len()).map(distance).collect();
        assert!(distances.len() <= 3 && distances.contains(&0), "{distances:?}");
        assert!((5..60).contains(&entries.len()), "{}", entries.len());
        // As many as there are, at most.
        let all = Pattern::Diagonals { count: 9, part: 1.0 };
        assert_eq!(all.entries("A", vec![2, 2], &mut rng).unwrap().len(), 4);
    }
}
