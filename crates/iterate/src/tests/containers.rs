//! Workspaces of points against a sorted map: points with keys that are hard for containers, of all capacities.
//!
//! `R(k) := A(n, k)`, where each row of `A` has one element: keys come in any order, each as often as it is wanted.

use std::collections::BTreeMap;

use dastac_loops::{Index, verify};
use dastac_stur::semiring::Semiring;
use proptest::prelude::*;

use super::assemble::{assembled_in, result};
use super::kernels::{RandomKernel, Stored, Term, it};
use crate::workspace::points::hash::hash;
use crate::*;
use dastac_elements::{Scalar, Storage};
use dastac_formats::format::{Format, Level};
use dastac_formats::storage::{Build, Entries, Tensor};

/// Keys are below this.
const EXTENT: u64 = 40_000;

/// What adds up points with these keys, and values from 1 on.
fn sums(keys: &[u64], semiring: Semiring) -> RandomKernel {
    let shape = vec![keys.len() as u64, EXTENT];
    let coordinates = keys.iter().enumerate().flat_map(|(row, key)| [row as u64, *key]).collect();
    let values: Vec<f64> = (0..keys.len()).map(|row| row as f64 + 1.0).collect();
    let entries = Entries::new(shape.clone(), coordinates, Storage::from(values)).unwrap();
    let format = Format::csr();
    let tensor = Tensor::from_entries(&entries, &format, Build::default()).unwrap();
    let iterators = vec![Some(0), Some(1)];
    let term = Term { number: 1.0, factors: vec![(0, vec![it(0), it(1)])], ..Term::default() };
    RandomKernel {
        operands: vec![Stored { shape: shape.clone(), iterators, format, tensor }],
        products: vec![term],
        head: vec![1],
        order: vec![0, 1],
        extents: shape,
        walking: Walking::default(),
        semiring,
    }
}

/// Compares the elements that a workspace gives with those of a map.
fn compare(keys: &[u64], kind: Kind, semiring: Semiring) {
    let case = sums(keys, semiring);
    let mut expected: BTreeMap<u64, f64> = BTreeMap::new();
    for (row, key) in keys.iter().enumerate() {
        let sum = expected.entry(*key).or_insert(semiring.zero());
        // The product's number is 1.
        let value = semiring.multiply(semiring.one(), 1.0);
        *sum = semiring.add(*sum, semiring.multiply(value, row as f64 + 1.0));
    }
    let format = Format::new(vec![Level::COMPRESSED], vec![0]).unwrap();
    let mut all = assembled_in(&case, &format, Some((0, kind)), false).unwrap();
    for lowered in [false, true] {
        if lowered {
            lower(&mut all.module);
        }
        assert_eq!(verify(&all.module), Ok(()));
        let entries = result(&all, &case).to_entries().unwrap();
        let value = |at: usize| match entries.values().get(at) {
            Some(Scalar::F64(value)) => value,
            other => panic!("{other:?}"),
        };
        let found: Vec<(u64, f64)> =
            (0..entries.len()).map(|at| (entries.at(at)[0], value(at))).collect();
        let wanted: Vec<(u64, f64)> = expected.iter().map(|(key, sum)| (*key, *sum)).collect();
        assert_eq!(found, wanted, "{kind:?}, lowered: {lowered}, keys {keys:?}");
    }
}

/// Keys that a table of a capacity looks for at the same place first.
fn colliding(capacity: i64) -> Vec<u64> {
    let slots = (2 * capacity).unsigned_abs().next_power_of_two() as i64;
    let place = |key: u64| hash(&Index::Const(key as i64), slots).eval_symbols(&[]).unwrap();
    let first = place(7);
    (0..EXTENT).filter(|key| place(*key) == first).take(150).collect()
}

const CAPACITIES: [i64; 6] = [1, 2, 3, 16, 100, 1000];

fn kinds(capacity: i64) -> [Kind; 4] {
    let bucket = Kind::Bucket { rows: capacity };
    [Kind::List { capacity }, Kind::Hash { capacity }, Kind::Growing, bucket]
}

#[test]
fn keys_with_equal_hashes() {
    for capacity in CAPACITIES {
        let mut keys = colliding(capacity);
        assert!(keys.len() >= 20, "{capacity}: {}", keys.len());
        // Each comes twice, the second time from behind, and with keys of other places between.
        let again: Vec<u64> = keys.iter().rev().flat_map(|key| [*key, EXTENT - 1 - key]).collect();
        keys.extend(again);
        for kind in kinds(capacity) {
            compare(&keys, kind, Semiring::default());
        }
    }
}

#[test]
fn keys_that_descend_or_are_equal() {
    let descending: Vec<u64> = (0..120u64).rev().map(|at| at * 331 % EXTENT).collect();
    let turns: Vec<u64> =
        (0..120u64).map(|at| if at % 2 == 0 { at } else { EXTENT - at }).collect();
    for keys in [descending, vec![5; 100], vec![EXTENT - 1; 33], turns, vec![0], Vec::new()] {
        for kind in CAPACITIES.into_iter().flat_map(kinds) {
            compare(&keys, kind, Semiring::default());
        }
    }
}

proptest! {
    #![proptest_config(super::config(150))]

    #[test]
    fn any_keys_in_any_semiring(
        capacity in 1i64..70,
        pool in 0usize..4,
        picks in prop::collection::vec((0usize..150, 0u64..EXTENT), 0..160),
        kind in 0usize..4,
        semiring in prop::sample::select(&Semiring::ALL[..3]),
    ) {
        let equal = colliding(capacity);
        let keys: Vec<u64> = picks
            .iter()
            .map(|(pick, any)| match pool {
                0 => equal[pick % equal.len()],
                1 => *any,
                2 => any % 8,
                _ => if any % 2 == 0 { equal[pick % equal.len()] } else { *any },
            })
            .collect();
        compare(&keys, kinds(capacity)[kind], semiring);
    }
}
