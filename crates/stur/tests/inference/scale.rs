//! Long programs: inference takes time proportional to their length.

use std::fmt::Write;
use std::time::{Duration, Instant};

use dastac_poly::Context;
use dastac_stur::infer::infer;

/// `A(i, k) := B0(i, j) * C0(j, k) + B1(i, j) * C1(j, k) + ..`, each `B` one strided diagonal.
fn diagonals(count: usize, extent: &str, symbolic: bool) -> String {
    let mut text = String::from("symbols: N, M\nA(i, k) := ");
    for w in 0..count {
        let plus = if w == 0 { "" } else { " + " };
        let _ = write!(text, "{plus}B{w}(i, j) * C{w}(j, k)");
    }
    text.push('\n');
    for w in 0..count {
        let stride = if symbolic {
            format!("(j = i + {w})")
        } else {
            format!("((j - i) % 64 = {})", w % 64)
        };
        let _ = writeln!(
            text,
            "B{w}:D(i, j) := (0 <= i < {extent}) * (0 <= j < {extent})\nB{w}:U(i, j) := {stride}\n\
            C{w}:D(j, k) := (0 <= j < {extent}) * (0 <= k < M)"
        );
    }
    text
}

fn seconds(source: &str) -> Duration {
    let (program, _) = dastac_stur::load(source).unwrap();
    let context = Context::new().unwrap();
    let start = Instant::now();
    infer(&program, &context).unwrap();
    start.elapsed()
}

#[test]
fn sums_of_many_products() {
    for (extent, symbolic) in [("16384", false), ("N", true), ("N", false)] {
        let [some, many] = [100, 400].map(|count| seconds(&diagonals(count, extent, symbolic)));
        eprintln!("{extent} {symbolic}: {some:?} {many:?}");
        // Four times as long, and room for a busy machine; quadratic would be sixteen times.
        assert!(many < some * 10 + Duration::from_secs(1), "{some:?} for 100, {many:?} for 400");
    }
}
