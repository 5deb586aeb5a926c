//! Two-dimensional convolutions, in all loop orders, of inputs whose patterns are not random: figure 20 of "Compilation
//! of Sparse Convolutions".

use std::path::Path;

use dastac_formats::io::{Data, ReadOptions, read};

use super::{CHOSEN, FILTER, files};
use crate::Job;
use crate::figures::Scope;
use crate::patterns::Pattern;

/// The loop orders.
pub const ORDERS: &[&str] = &["ijpq", "ipjq", "ipqj", "pqij"];

/// What the names of these kernels begin with.
pub const PREFIX: &str = "image-";

/// The extent of images that are made.
const EXTENT: i64 = 1111;

/// Matrices with fewer entries are not measured.
const ENTRIES: usize = 10_000;

/// Matrices whose box has more elements are not measured.
const CELLS: u64 = 1 << 23;

/// The number of strokes in a generated picture, and of entries in each row of other generated images.
const STROKES: u64 = 40;
const PER_ROW: i64 = 40;

fn source(order: Option<&str>) -> String {
    let order = super::iters(order);
    format!(
        "symbols: M, N, R\n{order}I:D(i, j) := (0 <= i < M) * (0 <= j < N)\nI:F := csr\n\
         F:D(p, q) := (0 <= p < R) * (0 <= q < R)\n\
         O:D(i, j) := (0 <= i < M - R + 1) * (0 <= j < N - R + 1)\nO(i, j) := I(i + p, j + q) * F(p, q)\n"
    )
}

/// Images with their sizes, where these do not come from files.
fn images(scope: &Scope) -> Vec<(String, Option<i64>, Pattern)> {
    let entries = (EXTENT * PER_ROW).unsigned_abs();
    let density = PER_ROW as f64 / EXTENT as f64;
    let made = [
        ("sketch", Pattern::Strokes(STROKES)),
        ("band", Pattern::Band(entries, 50)),
        ("graph", Pattern::RMat(entries)),
        ("uniform", Pattern::Uniform(density)),
    ];
    let made = made.into_iter().map(|(name, pattern)| (name.to_string(), Some(EXTENT), pattern));
    let files = scope.matrices.as_deref().map(files).unwrap_or_default();
    let fitting = files.into_iter().filter(|(_, path)| fits(path));
    made.chain(fitting.map(|(name, path)| (name, None, Pattern::File(path)))).collect()
}

/// Whether a matrix is of a size that says something, and its result fits into memory.
fn fits(path: &Path) -> bool {
    let Ok(contents) = read(path, &ReadOptions::default()) else { return false };
    let large = match &contents.data {
        Data::Entries(entries) => entries.len() >= ENTRIES,
        Data::Stored(_) => false,
    };
    large && contents.shape().iter().product::<u64>() <= CELLS
}

/// Every image under every order.
pub fn jobs(scope: &Scope) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (name, extent, pattern) in images(scope) {
        for order in ORDERS.iter().copied().map(Some).chain([None]) {
            let kernel = format!("{PREFIX}{name}-{}", order.unwrap_or(CHOSEN));
            let sizes = extent.into_iter().flat_map(|n| [("M", n), ("N", n)]);
            let symbols = sizes.chain([("R", FILTER)]);
            let systems = ["dastac", "dense", "mlir"];
            let job = scope.program(&kernel, extent.unwrap_or(0), source(order), &systems);
            jobs.push(Job {
                title: format!("{name}, {}", order.unwrap_or(CHOSEN)),
                symbols: symbols.map(|(name, value)| (name.to_string(), value)).collect(),
                inputs: vec![("I".into(), pattern.clone())],
                budget: job.budget / 5.0,
                ..job
            });
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_well_formed() {
        for order in ORDERS {
            let (program, _) = dastac_stur::load(&source(Some(order))).unwrap();
            assert_eq!(program.rules[0].products[0].iterators.concat(), **order);
        }
    }
}
