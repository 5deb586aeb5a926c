//! Strategies for walking the sparse levels of a convolution, compared over sparsity: figure 16 of "Compilation of
//! Sparse Convolutions".

use super::layers::{Formats, Layer, ORDER, Variant};
use super::{CHOSEN, case};
use crate::Job;
use crate::figures::Scope;
use crate::patterns::Pattern;
use crate::results::{CaseResults, Results};

/// Extents of inputs: the paper's, and where there is little time.
const EXTENTS: [i64; 2] = [256, 66];

const WINDOW: i64 = 3;

const CHANNELS: i64 = 64;

/// Numbers of filters: the paper does not say its own.
pub const FILTERS: &[i64] = &[1, 16];

/// Percentages of elements that are not there: from all to few, and the range that the paper looks at closely.
pub const SPARSITIES: &[f64] = &[0.0, 40.0, 80.0, 90.4, 93.6, 96.8, 98.4, 98.9, 99.4, 99.9];

/// The orders: the paper's, and dastac's choice.
pub const ORDERS: [&str; 2] = [ORDER, CHOSEN];

/// The name of the kernel, which the keys of results have.
pub fn kernel(filters: i64, order: &str, sparsity: f64) -> String {
    format!("strategies{filters}-{order}-{sparsity}")
}

fn layer(extent: i64, filters: i64) -> Layer {
    let outputs = extent - WINDOW + 1;
    Layer { outputs, window: WINDOW, channels: CHANNELS, filters, stride: 1 }
}

/// All of them.
pub fn jobs(scope: &Scope) -> Vec<Job> {
    let formats = Formats { input: Some("DCCC"), ..Formats::default() };
    let mut jobs = Vec::new();
    for &filters in FILTERS {
        for &sparsity in SPARSITIES {
            for order in ORDERS {
                let given = Some(order).filter(|order| *order != CHOSEN);
                let systems: &[&str] = match given {
                    Some(_) => &["dastac", "search", "locate", "mlir", "taco-ucf", "torch"],
                    None => &["dastac", "search", "locate"],
                };
                let layer = layer(EXTENTS[usize::from(scope.quick)], filters);
                let kernel = kernel(filters, order, sparsity);
                let variant = Variant { order: given, formats };
                let job = layer.job(scope, &kernel, variant, systems);
                let pattern = Pattern::Uniform(1.0 - sparsity / 100.0);
                jobs.push(Job {
                    title: format!("{order}, {}, {sparsity}%", layer.title()),
                    inputs: vec![("I".into(), pattern)],
                    ..job
                });
            }
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

/// The case of a number of filters, an order and a sparsity, at the largest extent that was measured.
pub fn measured<'a>(
    results: &'a Results,
    filters: i64,
    order: &str,
    sparsity: f64,
) -> Option<&'a CaseResults> {
    let kernel = kernel(filters, order, sparsity);
    EXTENTS.iter().find_map(|extent| case(results, &kernel, *extent))
}

/// Systems that search windows: dastac's loops of that kind, and the compiler that they are of.
pub const SEARCHES: [&str; 2] = ["search", "taco-ucf"];

/// How many times as long as dastac, under the order that it chooses, one of [`SEARCHES`] takes under the paper's.
pub fn over_search(results: &Results, search: &str, filters: i64, sparsity: f64) -> Option<f64> {
    let time = |order: &str, system: &str| {
        Some(measured(results, filters, order, sparsity)?.time(system)?.median_ns)
    };
    Some(time(ORDER, search)? / time(CHOSEN, "dastac")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_the_extent_of_the_paper() {
        assert_eq!(layer(EXTENTS[0], 1).extent(), 256);
    }
}
