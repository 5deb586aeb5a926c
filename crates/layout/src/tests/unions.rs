//! Random unions of boxes, triangles, bands, diagonals and lattices against enumeration.

use std::time::{Duration, Instant};

use dastac_poly::{Context, Set};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::places;
use crate::{Layout, Proof};

/// A condition on up to three dimensions, with small numbers.
fn condition(rank: usize, m: i64) -> impl Strategy<Value = String> {
    let dim = move || (0..rank).prop_map(|k| format!("i{k}"));
    // Two dimensions, distinct where there are two.
    let two = move || {
        (0..rank, 1..rank.max(2))
            .prop_map(move |(a, step)| (format!("i{a}"), format!("i{}", (a + step) % rank)))
    };
    prop_oneof![
        (dim(), 0..6i64, 1..7i64)
            .prop_map(|(a, low, extent)| format!("{low} <= {a} < {low} + {extent}")),
        (two(), -3..4i64).prop_map(|((a, b), c)| format!("{a} <= {b} + {c}")),
        (two(), -3..4i64, 0..3i64)
            .prop_map(|((a, b), c, w)| format!("{c} <= {a} - {b} <= {c} + {w}")),
        (two(), 0..4i64).prop_map(move |((a, b), r)| format!("({a} + {b}) mod {m} = {}", r % m)),
        (two(), 0..4i64).prop_map(move |((a, b), r)| format!("({a} - {b}) mod {m} = {}", r % m)),
        (dim(), 0..4i64).prop_map(move |(a, r)| format!("{a} mod {m} = {}", r % m)),
        (two(), -3..4i64).prop_map(|((a, b), c)| format!("{a} = {b} + {c}")),
    ]
}

/// A union of up to four regions of a box with symbolic sides, with one modulus.
fn union() -> impl Strategy<Value = String> {
    (1..=3usize, 2..=4i64).prop_flat_map(|(rank, modulus)| {
        let region = prop::collection::vec(condition(rank, modulus), 1..=3);

        prop::collection::vec(region, 1..=4).prop_map(move |regions| {
            let dims: Vec<String> = (0..rank).map(|k| format!("i{k}")).collect();
            let bounds: Vec<String> = dims.iter().map(|d| format!("0 <= {d} < N")).collect();
            let regions: Vec<String> = regions
                .into_iter()
                .map(|mut region| {
                    region.push("true".into());
                    format!("({})", region.join(" and "))
                })
                .collect();
            format!(
                "[N] -> {{ [{}] : {} and ({}) }}",
                dims.join(", "),
                bounds.join(" and "),
                regions.join(" or ")
            )
        })
    })
}

#[test]
fn random_unions() {
    let cases: u32 = std::env::var("DASTAC_UNIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config { cases, ..Config::default() }, rng);
    let slowest = std::cell::RefCell::new((Duration::ZERO, String::new()));
    runner
        .run(&union(), |text| {
            let set = Set::parse(&Context::new().unwrap(), &text).unwrap();
            let start = Instant::now();
            let layout = Layout::from_set(&set).unwrap();
            let time = start.elapsed();
            if std::env::var("DASTAC_UNIONS").is_ok() && time.as_millis() > 300 {
                eprintln!("{time:?} {} pieces: {text}", layout.index.pieces.len());
            }
            if time > slowest.borrow().0 {
                *slowest.borrow_mut() = (time, text.clone());
            }
            places(&layout, &text, &[&[0], &[1], &[2], &[5], &[7]]);
            let proof = layout.prove_bijection().unwrap();
            prop_assert!(!matches!(proof, Proof::Refuted(_)), "{text}: {proof:?}");
            Ok(())
        })
        .unwrap();
    let (time, text) = slowest.into_inner();
    assert!(time < Duration::from_secs(20), "{text} took {time:?}");
}

/// Every third row holds two elements, the first of them at half the row's number; there are symbols that nothing
/// depends on.
#[test]
fn two_elements_in_every_third_row() {
    let text = "symbols: N, M, P, S
A:D(i, j, k) := (0 <= i < M) * (0 <= j < P) * (0 <= k < 2 * M)
A:U(i, j, k) := (i = 3 * q)
H(i) := A(i, i / 2, i) * A(i, i, i)";
    let layout = Layout::from_stur(text, "A").unwrap();
    assert_eq!(layout.prove_bijection().unwrap(), Proof::Proven);
}
