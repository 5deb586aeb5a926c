//! What the figures of sparse tensors show: tables and curves.

use super::{CHOSEN, CONVOLUTIONS, Convolution, PRODUCTS, SPARSITIES, case, chosen, images};
use crate::charts::{Chart, Key, Panel, linear, log};
use crate::peers::{self, label, names};
use crate::results::{CaseResults, Results};
use crate::stats::geometric_mean;
use crate::table::milliseconds;
use crate::workspaces;

/// A column's heading and the cells of each row.
type Table = (Vec<String>, Vec<Vec<String>>);

/// The largest extent that a convolution was measured at.
pub(super) fn extent(results: &Results, convolution: &Convolution) -> Option<i64> {
    let measured = |n: &i64| {
        let mut cases = results.cases.values();
        cases.any(|case| case.n == *n && case.kernel.starts_with(&convolution.prefix()))
    };
    convolution.extents.into_iter().find(measured)
}

/// dastac's time and MLIR's, in milliseconds.
pub(super) type Times = (Option<f64>, Option<f64>);

/// A case's times.
pub(super) fn times(case: &CaseResults) -> Times {
    let of = |system| case.time(system).map(|time| time.median_ns / 1e6);
    (of("dastac"), of("mlir"))
}

/// dastac's times for every order and sparsity, in parentheses MLIR's over these. The order that dastac chooses itself
/// is marked.
pub fn convolutions(results: &Results) -> Table {
    let mut headings: Vec<String> = ["input", "order"].map(String::from).to_vec();
    headings.extend(SPARSITIES.iter().map(|sparsity| format!(">{sparsity}%")));
    let mut rows = Vec::new();
    for convolution in CONVOLUTIONS {
        let Some(n) = extent(results, convolution) else { continue };
        for order in convolution.orders.iter().copied().chain([CHOSEN]) {
            let mut row = vec![input(convolution, n), order.to_string()];
            row.extend(SPARSITIES.iter().map(|sparsity| {
                let Some(case) = case(results, &convolution.kernel(order, *sparsity), n) else {
                    return String::new();
                };
                let mark = match chosen(results, convolution, n, *sparsity) {
                    Some(found) if found == order => "*",
                    _ => "",
                };
                match times(case) {
                    (Some(own), Some(peer)) => {
                        format!("{}{mark} ({:.2})", milliseconds(own), peer / own)
                    }
                    (Some(own), None) => format!("{}{mark} (-)", milliseconds(own)),
                    (None, _) => "-".into(),
                }
            }));
            rows.push(row);
        }
    }
    (headings, rows)
}

/// `999 x 999`.
fn input(convolution: &Convolution, n: i64) -> String {
    vec![n.to_string(); convolution.rank].join(" x ")
}

/// What the ratios of all orders that are given come to: how many there are, their geometric mean, the least; and how
/// far the chosen order is from the best at most.
pub fn verdict(results: &Results) -> Option<String> {
    let mut ratios = Vec::new();
    let mut distance: Option<f64> = None;
    for convolution in CONVOLUTIONS {
        let Some(n) = extent(results, convolution) else { continue };
        for sparsity in SPARSITIES {
            let times =
                |order: &str| case(results, &convolution.kernel(order, *sparsity), n).map(times);
            let given: Vec<_> =
                convolution.orders.iter().filter_map(|order| times(order)).collect();
            ratios.extend(given.iter().filter_map(|(own, peer)| Some((*peer)? / (*own)?)));
            let best = given.iter().filter_map(|(own, _)| *own).reduce(f64::min);
            if let (Some(best), Some((Some(own), _))) = (best, times(CHOSEN)) {
                distance = Some(distance.unwrap_or(0.0).max(own / best));
            }
        }
    }
    let mut text = match geometric_mean(ratios.iter().copied()) {
        None => String::new(),
        Some(mean) => format!(
            "MLIR's sparse compiler takes {mean:.2} times as long on the geometric mean of {} points, at least {:.2} \
            times.",
            ratios.len(),
            ratios.iter().copied().fold(f64::INFINITY, f64::min)
        ),
    };
    if let Some(distance) = distance {
        let space = if text.is_empty() { "" } else { " " };
        text += &format!(
            "{space}The order that dastac chooses takes at most {distance:.2} times as long as the best one."
        );
    }
    (!text.is_empty()).then_some(text)
}

/// Curves over sparsity, a panel for each order.
pub fn curves(results: &Results) -> Chart {
    let mut panels = Vec::new();
    for convolution in CONVOLUTIONS {
        let Some(n) = extent(results, convolution) else { continue };
        for order in convolution.orders {
            let line = |each: fn(Times) -> Option<f64>| {
                let points = SPARSITIES.iter().filter_map(|sparsity| {
                    let case = case(results, &convolution.kernel(order, *sparsity), n)?;
                    Some((*sparsity, each(times(case))?))
                });
                points.collect::<Vec<(f64, f64)>>()
            };
            let mark = match chosen(results, convolution, n, SPARSITIES[SPARSITIES.len() - 1]) {
                Some(found) if found == *order => " (chosen)",
                _ => "",
            };
            panels.push(Panel::Lines {
                title: format!("{}, {order}{mark}", input(convolution, n)),
                x: linear("elements that are not there, %"),
                y: log("ms"),
                points: vec![line(|(own, _)| own), line(|(_, peer)| peer)],
                names: Vec::new(),
            });
        }
    }
    Chart {
        name: String::new(),
        title: "Convolutions of sparse inputs".into(),
        caption: "Milliseconds of convolutions with a filter of three elements in each dimension, on one thread, \
                  under given loop orders: of dastac and of MLIR's \
                  sparse compiler. The figure is the 17th of the paper on sparse convolutions."
            .into(),
        series: vec![key("dastac", "dastac"), key("mlir", "c-packed")],
        panels,
    }
}

pub(crate) fn key(system: &str, class: &str) -> Key {
    Key { label: label(system).into(), class: class.into() }
}

/// The cases of products of sparse matrices: made matrices by size, then those of files.
pub fn product_cases(results: &Results) -> Vec<&CaseResults> {
    let place = |case: &CaseResults| {
        let (product, _) = case.kernel.split_once('-')?;
        PRODUCTS.iter().position(|(name, ..)| *name == product)
    };
    let mut cases: Vec<&CaseResults> =
        results.cases.values().filter(|case| place(case).is_some()).collect();
    cases.sort_by_key(|case| (case.threads, place(case), case.n == 0, case.n, case.kernel.clone()));
    cases
}

/// Cases of the other figures, under what they are headed by.
pub fn others(results: &Results) -> Vec<(&'static str, Vec<&CaseResults>)> {
    let parts = [
        ("Strategies of convolutions", "strategies"),
        ("Layers with sparse inputs", "layer"),
        ("Layers with pruned filters", "pruned"),
        ("Loop orders on images", images::PREFIX),
        ("Products of sparse matrices into sparse ones", workspaces::PRODUCTS),
        ("Discordant orders", workspaces::DISCORDANT),
    ];
    let of = |prefix: &'static str| -> Vec<&CaseResults> {
        results.cases.values().filter(|case| case.kernel.starts_with(prefix)).collect()
    };
    let parts = parts.into_iter().map(|(heading, prefix)| (heading, of(prefix)));
    parts.filter(|(_, cases)| !cases.is_empty()).collect()
}

/// The systems that ran in any of these cases, in their order.
pub fn systems(cases: &[&CaseResults]) -> Vec<&'static str> {
    let all = peers::SYSTEMS.iter().map(|about| about.name);
    all.filter(|name| cases.iter().any(|case| case.system(name).is_some())).collect()
}

/// Bars of how many times faster than SciPy.
pub fn bars(results: &Results) -> Chart {
    let systems = [
        ("scipy", "numpy"),
        ("taco", "taco"),
        ("mlir", "c-packed"),
        ("mkl", "mkl"),
        ("dastac", "dastac"),
    ];
    let groups = product_cases(results).into_iter().filter(|case| case.threads == 1).map(|case| {
        let first = case.time(systems[0].0);
        let ratio = |system: &str| Some(first?.median_ns / case.time(system)?.median_ns);
        let size = if case.n > 0 { format!(" {}", case.n) } else { String::new() };
        (format!("{}{size}", case.title), systems.map(|(system, _)| ratio(system)).to_vec())
    });
    Chart {
        name: String::new(),
        title: "Sparse matrices".into(),
        caption: "How many times faster than SciPy, on one thread: a matrix in rows times a vector, and times a \
            matrix of 32 columns.".into(),
        series: systems.map(|(system, class)| key(system, class)).to_vec(),
        panels: vec![Panel::Bars {
            title: String::new(),
            y: log("times faster"),
            groups: groups.collect(),
            line: Some(1.0),
        }],
    }
}

/// The ratios of products to the best of each peer: text for a document.
pub fn against(results: &Results) -> Vec<String> {
    let cases = product_cases(results);
    let lines = names().into_iter().filter_map(|peer| {
        let ratios: Vec<f64> = cases
            .iter()
            .filter_map(|case| Some(case.time(peer)?.median_ns / case.time("dastac")?.median_ns))
            .collect();
        let mean = geometric_mean(ratios.iter().copied())?;
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let label = label(peer);
        Some(format!(
            "{label} takes {mean:.2} times as long on the geometric mean, at least {least:.2} times"
        ))
    });
    lines.collect()
}
