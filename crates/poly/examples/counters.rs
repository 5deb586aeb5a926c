//! Times both counters on the sizes of known domains; prints the table of docs/counting.md.
//!
//!     cargo run -p dastac-poly --example counters

use dastac_poly::counting::{Config, Counter, Counting};
use dastac_poly::{Context, Result, Set};
use std::time::Instant;

const DOMAINS: [(&str, &str); 12] = [
    ("triangle", "[N] -> { [i, j] : 0 <= j <= i < N }"),
    ("4-simplex", "[N] -> { [i, j, k, l] : 0 <= i <= j <= k <= l < N }"),
    ("6-simplex", "[N] -> { [i, j, k, l, m, n] : 0 <= i <= j <= k <= l <= m <= n < N }"),
    (
        "8-simplex",
        "[N] -> { [i, j, k, l, m, n, o, p] : 0 <= i <= j <= k <= l <= m <= n <= o <= p < N }",
    ),
    ("trapezoid", "[N, M] -> { [i, j] : 0 <= i < N and i <= j < M }"),
    ("tridiagonal", "[N] -> { [i, j] : 0 <= i, j < N and -1 <= i - j <= 1 }"),
    ("band of symbolic width", "[N, W] -> { [i, j] : 0 <= i, j < N and -W <= i - j <= W }"),
    ("arrowhead", "[N] -> { [i, j] : 0 <= i, j < N and (i = j or i = 0 or j = 0) }"),
    ("checkerboard", "[N, M] -> { [i, j] : 0 <= i < N and 0 <= j < M and (i + j) mod 2 = 0 }"),
    ("block diagonal", "[N] -> { [i, j] : 0 <= i, j < 16N and floor(i/16) = floor(j/16) }"),
    ("strided diagonal", "{ [i, j] : 0 <= i, j < 16384 and (j - i) mod 16384 = 7 }"),
    (
        "slopes 2/3 and 3/2",
        "[N] -> { [i, j] : 0 <= i, j <= N and 2i <= 3j <= 2i + N and 2j <= 3i }",
    ),
];

/// The best of some runs in ms, and the number of pieces.
fn measure(set: &Set, counter: Counter) -> Result<(f64, usize)> {
    let mut best = f64::INFINITY;
    let mut pieces = 0;
    for _ in 0..7 {
        // Each has an empty cache.
        let counting = Counting::new(Config { counter, ..Config::default() });
        let start = Instant::now();
        let count = counting.card(set)?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
        pieces = count.pieces()?.len();
    }
    Ok((best, pieces))
}

fn main() -> Result<()> {
    println!("| domain | Barvinok ms | pieces | Faulhaber ms | pieces |\n|---|---|---|---|---|");
    for (name, text) in DOMAINS {
        let set = Set::parse(&Context::new()?, text)?;
        let (barvinok, faulhaber) =
            (measure(&set, Counter::Barvinok)?, measure(&set, Counter::Faulhaber)?);
        println!(
            "| {name} | {:.2} | {} | {:.2} | {} |",
            barvinok.0, barvinok.1, faulhaber.0, faulhaber.1
        );
    }
    Ok(())
}
