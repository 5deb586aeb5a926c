//! Layouts that the caller chooses.

use dastac_poly::{Context, Set};
use dastac_stur::sets::{Affine, Atom};

use super::{ONE, TWO, places};
use crate::{Layout, LayoutError, Polynomial, Proof};

const SETS: &[(&str, &[&[i64]])] = &[
    ("[N] -> { [i, j] : 0 <= i <= j < N }", ONE),
    ("[N] -> { [i, j] : 0 <= j <= i < N }", ONE),
    ("[M, N] -> { [i, j] : 0 <= i < M and 0 <= j < N }", TWO),
    ("[N] -> { [i, j] : 0 <= i < N and 0 <= j < N and -1 <= j - i <= 1 }", ONE),
    ("[N] -> { [i, j, k] : 0 <= i <= j <= k < N }", &[&[0], &[1], &[5], &[9]]),
    ("[N] -> { [i] : 2 <= i < N }", ONE),
];

#[test]
fn any_order() {
    for (text, samples) in SETS {
        let set = Set::parse(&Context::new().unwrap(), text).unwrap();
        let order: Vec<usize> = (0..set.rank()).rev().collect();
        let layout = Layout::builder(&set).order(&order).build().unwrap();
        places(&layout, text, samples);
        assert_eq!(layout.order, order);
        assert_eq!(layout.prove_bijection().unwrap(), Proof::Proven, "{text}");
    }
}

#[test]
fn wrong_orders_are_errors() {
    let set = Set::parse(&Context::new().unwrap(), "{ [i, j] : 0 <= i <= j < 5 }").unwrap();
    for order in [&[0][..], &[0, 0], &[0, 2], &[0, 1, 2]] {
        assert!(Layout::builder(&set).order(order).build().is_err(), "{order:?}");
    }
}

/// Rows start at multiples, elements of a row are next to each other, rows do not meet, and the size counts the
/// padding.
#[test]
fn aligned_rows() {
    for (text, samples) in SETS {
        for elements in [2u32, 8] {
            let set = Set::parse(&Context::new().unwrap(), text).unwrap();
            let layout = Layout::builder(&set).align(elements).build().unwrap();
            let multiple = i64::from(elements);
            for values in *samples {
                let symbols: Vec<(String, i64)> =
                    layout.symbols.iter().cloned().zip(values.iter().copied()).collect();
                let named: Vec<(&str, i64)> =
                    symbols.iter().map(|(n, v)| (n.as_str(), *v)).collect();
                let bound = layout.bind(&named).unwrap();
                let points = layout.stored.fix_params(&symbols).unwrap().points(100_000).unwrap();
                let mut end = 0;
                let mut row: Vec<i64> = Vec::new();
                for point in &points {
                    let position = bound.index_of(point).unwrap().unwrap();
                    let (_, prefix) = point.split_last().unwrap();
                    if end == 0 || row != prefix {
                        end = (end + multiple - 1) / multiple * multiple;
                        row = prefix.to_vec();
                    }
                    assert_eq!(position, end, "{text} by {elements} at {symbols:?} {point:?}");
                    end += 1;
                }
                assert_eq!(bound.size(), (end + multiple - 1) / multiple * multiple, "{text}");
            }
            let proof = layout.prove_bijection().unwrap();
            assert_eq!(proof, Proof::Proven, "{text} by {elements}");
        }
    }
}

/// Wrong ranks and wrong places are not proven.
#[test]
fn wrong_rows_are_not_proven() {
    let set = Set::parse(&Context::new().unwrap(), SETS[0].0).unwrap();
    let layout = Layout::builder(&set).align(8).build().unwrap();
    let mut other = layout.clone();
    other.align = 4;
    assert_ne!(other.prove_bijection().unwrap(), Proof::Proven);
    let row = Affine::name("i");
    let eighth = Atom::Floor(Box::new(row.clone()), 8);
    let eighth = Affine { terms: [(eighth, 1)].into(), constant: 0 };
    for wrong in [row, eighth, Affine::constant(1)] {
        let mut other = layout.clone();
        let rank = &mut other.parts[0].rank.pieces[0].polynomial;
        *rank = &*rank + &Polynomial::from_affine(&wrong);
        assert_ne!(other.prove_bijection().unwrap(), Proof::Proven, "{wrong} more");
    }
}

#[test]
fn rows_with_gaps_are_not_aligned() {
    for condition in ["(i + j) mod 2 = 0", "(j = 0 or j = i)"] {
        let text = format!("{{ [i, j] : 0 <= i < 9 and 0 <= j < 9 and {condition} }}");
        let set = Set::parse(&Context::new().unwrap(), &text).unwrap();
        let result = Layout::builder(&set).align(8).build();
        assert!(matches!(result, Err(LayoutError::Gaps)), "{text}");
    }
}
