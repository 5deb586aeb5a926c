//! What is shown of kernels with sparse results: bars of ratios, and the memory that they take.

use super::{DISCORDANT, PRODUCTS};
use crate::charts::{Chart, Panel, log};
use crate::results::{CaseResults, Results};
use crate::sparse::report::{key, systems as measured};

/// What the numbers of [`memory`] are.
pub const PEAK: &str =
    "Peak memory in MiB: what a system takes at a time while it computes, beyond its inputs.";

/// The peak memory of every system that computes a sparse result: headings and cells.
pub fn memory(results: &Results) -> (Vec<String>, Vec<Vec<String>>) {
    memory_of(results.cases.values().collect())
}

/// As [`memory`], of some cases.
pub fn memory_of(mut cases: Vec<&CaseResults>) -> (Vec<String>, Vec<Vec<String>>) {
    cases.retain(|case| case.systems.iter().any(|measured| measured.peak.is_some()));
    let systems = measured(&cases);
    let mut headings = vec!["kernel".to_string(), ">threads".into()];
    headings.extend(systems.iter().map(|name| format!(">{}", crate::peers::label(name))));
    let cells = cases.iter().map(|case| {
        let mut row = vec![case.title.clone(), case.threads.to_string()];
        row.extend(systems.iter().map(|name| {
            let peak = case.system(name).and_then(|measured| measured.peak);
            peak.map_or_else(|| "-".into(), |bytes| format!("{:.1}", bytes / f64::from(1 << 20)))
        }));
        row
    });
    let cells = cells.collect();
    (headings, cells)
}

/// Bars of products.
pub fn products(results: &Results) -> Chart {
    bars(
        results,
        PRODUCTS,
        "Products of sparse matrices",
        "How many times faster than SciPy with sorted columns, on one thread, until the result is complete, sorted \
         (where nothing else is said) and as long as it must be.",
        "scipy-sorted",
    )
}

/// Bars of programs in discordant orders.
pub fn discordant(results: &Results) -> Chart {
    bars(
        results,
        DISCORDANT,
        "Discordant orders",
        "How many times faster than SciPy, on one thread, conversions included: products of matrices in columns into \
         rows, and transposes of rows into rows.",
        "scipy",
    )
}

fn bars(results: &Results, prefix: &str, title: &str, caption: &str, unit: &str) -> Chart {
    let systems = [
        ("scipy-sorted", "numpy"),
        ("scipy", "numpy"),
        ("mkl-sorted", "mkl"),
        ("mkl", "openblas"),
        ("graphblas", "taco"),
        ("eigen", "c-packed"),
        ("dastac", "dastac"),
    ];
    let cases = results.cases.values().filter(|case| case.kernel.starts_with(prefix));
    let groups = cases.filter(|case| case.threads == 1).filter_map(|case| {
        let first = case.time(unit)?;
        let ratio = |system: &str| Some(first.median_ns / case.time(system)?.median_ns);
        Some((case.title.clone(), systems.map(|(system, _)| ratio(system)).to_vec()))
    });
    Chart {
        name: String::new(),
        title: title.into(),
        caption: caption.into(),
        series: systems.map(|(system, class)| key(system, class)).to_vec(),
        panels: vec![Panel::Bars {
            title: String::new(),
            y: log("times faster"),
            groups: groups.collect(),
            line: Some(1.0),
        }],
    }
}
