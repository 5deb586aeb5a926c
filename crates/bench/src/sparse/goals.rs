//! The goals for sparse tensors.

use std::collections::BTreeMap;

use super::report::{extent, product_cases, times};
use super::strategies::{FILTERS, SEARCHES, over_search};
use super::{CHOSEN, CONVOLUTIONS, SPARSITIES, case, network};
use crate::goals::{Goal, Row};
use crate::peers::label;
use crate::results::{CaseResults, Results};
use crate::stats::geometric_mean;

/// No slower than by a tenth.
const TENTH: f64 = 1.0 / 1.1;

/// How many times faster than the window search the paper is, and at which sparsity.
const AHEAD: (f64, f64) = (19.5, 99.9);

/// Milliseconds that compiling may take.
const COMPILE: f64 = 200.0;

/// All goals that there are results for.
pub fn goals(results: &Results) -> Vec<Goal> {
    let mut goals = vec![
        against_mlir(results),
        mean_of_mlir(results),
        orders(results),
        strategies(results),
        products(
            results,
            Claim {
                title: "Sparse matrices beside SciPy and TACO",
                target: "never slower (5% are noise)",
                peers: &["scipy", "taco"],
                wanted: 0.95,
            },
        ),
        products(
            results,
            Claim {
                title: "Sparse matrices beside MKL",
                target: "within 1.1 times the time of MKL on the same rows",
                peers: &["mkl-rows"],
                wanted: TENTH,
            },
        ),
        products(
            results,
            Claim {
                title: "Sparse matrices beside MKL, optimized",
                target: "within 1.1 times the time of MKL that has stored the matrix anew",
                peers: &["mkl"],
                wanted: TENTH,
            },
        ),
        compile(results),
    ];
    goals.extend(network::goals(results));
    goals.retain(|goal| !goal.rows.is_empty());
    goals
}

/// The name and the case of every convolution, order (also the chosen one) and sparsity.
fn points(results: &Results) -> Vec<(String, &CaseResults)> {
    let mut points = Vec::new();
    for convolution in CONVOLUTIONS {
        let Some(n) = extent(results, convolution) else { continue };
        for sparsity in SPARSITIES {
            for order in convolution.orders.iter().copied().chain([CHOSEN]) {
                let found = case(results, &convolution.kernel(order, *sparsity), n);
                points.extend(found.map(|case| (case.title.clone(), case)));
            }
        }
    }
    points
}

/// MLIR's time over dastac's, under orders that are given.
fn ratios(results: &Results) -> Vec<(String, f64)> {
    let given = |(_, case): &(String, &CaseResults)| !case.kernel.contains(CHOSEN);
    let ratio = |(name, case): (String, &CaseResults)| match times(case) {
        (Some(own), Some(peer)) => Some((name, peer / own)),
        _ => None,
    };
    points(results).into_iter().filter(given).filter_map(ratio).collect()
}

fn against_mlir(results: &Results) -> Goal {
    let row = |(name, value)| Row { name, value, wanted: TENTH };
    Goal {
        title: "Convolutions beside MLIR".into(),
        target: "at no order and sparsity more than 10% slower than MLIR's sparse compiler".into(),
        rows: ratios(results).into_iter().map(row).collect(),
    }
}

fn mean_of_mlir(results: &Results) -> Goal {
    let mean = geometric_mean(ratios(results).into_iter().map(|(_, ratio)| ratio));
    let row = |value| Row { name: "geometric mean".into(), value, wanted: 1.0 };
    Goal {
        title: "Convolutions on the mean".into(),
        target: "faster than MLIR's sparse compiler on the geometric mean".into(),
        rows: mean.map(row).into_iter().collect(),
    }
}

/// The order that dastac chooses beside the best one.
fn orders(results: &Results) -> Goal {
    let mut rows = Vec::new();
    for convolution in CONVOLUTIONS {
        let Some(n) = extent(results, convolution) else { continue };
        for sparsity in SPARSITIES {
            let time =
                |order: &str| times(case(results, &convolution.kernel(order, *sparsity), n)?).0;
            let best = convolution.orders.iter().filter_map(|order| time(order)).reduce(f64::min);
            if let (Some(best), Some(own)) = (best, time(CHOSEN)) {
                let name = format!("{}-D, {sparsity}%", convolution.rank);
                rows.push(Row { name, value: best / own, wanted: TENTH });
            }
        }
    }
    Goal {
        title: "The order that is chosen".into(),
        target: "within 10% of the best order of a convolution".into(),
        rows,
    }
}

fn strategies(results: &Results) -> Goal {
    let (wanted, sparsity) = AHEAD;
    let mut rows = Vec::new();
    for search in SEARCHES {
        rows.extend(FILTERS.iter().filter_map(|filters| {
            let value = over_search(results, search, *filters, sparsity)?;
            let name = format!("{}, {sparsity}%, filters: {filters}", label(search));
            Some(Row { name, value, wanted })
        }));
    }
    Goal {
        title: "Subsections beside window search".into(),
        target: format!(
            "at {sparsity}% at least {wanted} times as fast as a window search under the loops of the paper, stored \
            DCCC"
        ),
        rows,
    }
}

/// What is claimed of products with sparse matrices.
struct Claim<'a> {
    title: &'a str,
    target: &'a str,
    /// The systems of which the fastest one is compared with.
    peers: &'a [&'a str],
    /// How many times as fast as the fastest peer dastac has to be.
    wanted: f64,
}

fn products(results: &Results, Claim { title, target, peers, wanted }: Claim<'_>) -> Goal {
    let row = |case: &CaseResults| {
        let value = case.best(peers)?.1.median_ns / case.time("dastac")?.median_ns;
        let size = if case.n > 0 { format!(" {}", case.n) } else { String::new() };
        let plural = if case.threads == 1 { "" } else { "s" };
        let name = format!("{}{size}, {} thread{plural}", case.title, case.threads);
        Some(Row { name, value, wanted })
    };
    Goal {
        title: title.into(),
        target: target.into(),
        rows: product_cases(results).into_iter().filter_map(row).collect(),
    }
}

/// The longest compile time of all cases that are measured here.
fn compile(results: &Results) -> Goal {
    let products = product_cases(results).into_iter();
    let named = products.filter_map(|case| Some((case.title.split(' ').next()?.to_string(), case)));
    let mut worst: BTreeMap<String, f64> = BTreeMap::new();
    let convolutions = points(results)
        .into_iter()
        .map(|(name, case)| (name.split(',').next().unwrap_or_default().to_string(), case));
    for (name, case) in convolutions.chain(named) {
        let ms = case.stages.iter().map(|(_, ns)| *ns as f64 / 1e6).sum::<f64>();
        if ms > 0.0 {
            let most = worst.entry(name).or_insert(ms);
            *most = most.max(ms);
        }
    }
    let row = |(name, ms): (String, f64)| Row {
        name: format!("{name}: {ms:.0} ms"),
        value: COMPILE / ms,
        wanted: 1.0,
    };
    Goal {
        title: "Sparse kernels compiled".into(),
        target: format!("in less than {COMPILE:.0} ms, from text to machine code"),
        rows: worst.into_iter().map(row).collect(),
    }
}
