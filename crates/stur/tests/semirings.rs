//! Semirings: their laws, and rules that use them against loops written by hand, on dynamic tensors with patterns of
//! all kinds.

use std::collections::BTreeMap;

use dastac_stur::load;
use dastac_stur::reference::{Dense, Evaluator};
use dastac_stur::semiring::Semiring;
use proptest::prelude::*;

/// Whole numbers, on which the operations are exact.
fn element(semiring: Semiring, value: i8) -> f64 {
    match semiring {
        Semiring::MaxTimes => f64::from(value.unsigned_abs()),
        Semiring::OrAnd => f64::from(u8::from(value % 2 != 0)),
        _ => f64::from(value),
    }
}

/// A rule about `A`, a matrix, and `x`, for every semiring.
fn rule(semiring: Semiring) -> &'static str {
    match semiring {
        Semiring::SumTimes => "A(i, j + s) * x(2 * j - i + 1)",
        Semiring::MinPlus => "min(j, s) A(i, j + s) + x(2 * j - i + 1)",
        Semiring::MaxPlus => "max(j, s) A(i, j + s) + x(2 * j - i + 1)",
        Semiring::MaxTimes => "max_times(j, s) A(i, j + s) * x(2 * j - i + 1)",
        Semiring::Min | Semiring::Max | Semiring::Prod => unreachable!("no semiring"),
        Semiring::OrAnd => "or(j, s) A(i, j + s) * x(2 * j - i + 1)",
    }
}

proptest! {
    #[test]
    fn laws(a: i8, b: i8, c: i8) {
        for semiring in Semiring::ALL {
            let [a, b, c] = [a, b, c].map(|value| element(semiring, value));
            let (zero, one) = (semiring.zero(), semiring.one());
            let add = |a, b| semiring.add(a, b);
            let multiply = |a, b| semiring.multiply(a, b);
            prop_assert_eq!(add(a, add(b, c)), add(add(a, b), c), "{}", semiring);
            prop_assert_eq!(add(a, b), add(b, a), "{}", semiring);
            prop_assert_eq!(multiply(a, multiply(b, c)), multiply(multiply(a, b), c), "{}", semiring);
            prop_assert_eq!(multiply(a, b), multiply(b, a), "{}", semiring);
            prop_assert_eq!(
                multiply(a, add(b, c)),
                add(multiply(a, b), multiply(a, c)),
                "{}", semiring
            );
            prop_assert_eq!(add(a, zero), a, "{}", semiring);
            prop_assert_eq!(multiply(a, one), a, "{}", semiring);
            prop_assert_eq!(multiply(a, zero), zero, "{}", semiring);
        }
    }

    /// What is not stored is the semiring's zero: the same result as that of a loop over the whole box with zeros in
    /// place of what is missing.
    #[test]
    fn what_is_not_stored_is_the_zero(
        entries in prop::collection::vec((any::<i8>(), any::<bool>()), 24),
        rows in 0..4usize,
        columns in 0..4usize,
        formats: bool,
    ) {
        for semiring in Semiring::ALL {
            let formats = if formats { "A:F := csr\nx:F := C" } else { "A:F := coo(j, i)" };
            let source = format!(
                "symbols: M, N
                y(i) := {}
                y:D(i) := (0 <= i < M)
                A:D(i, j) := (0 <= i < M) * (0 <= j < N)
                x:D(i) := (0 <= i < 5)
                {formats}",
                rule(semiring)
            );
            let (program, _) = load(&source).unwrap();
            let [a, x, y] = ["A", "x", "y"].map(|name| program.find(name).unwrap());
            let take = |from: usize, shape: &[usize]| {
                let part = &entries[from..from + shape.iter().product::<usize>()];
                let data = part.iter().map(|(value, _)| element(semiring, *value)).collect();
                let dense = Dense { shape: shape.to_vec(), data };
                (dense, part.iter().map(|(_, stored)| *stored).collect::<Vec<bool>>())
            };
            let (matrix, pattern) = take(0, &[rows, columns]);
            let (vector, stored) = take(16, &[5]);
            let evaluator = Evaluator::new(&program, &[rows as i64, columns as i64]).unwrap();
            let dynamic = program.tensor(x).format.is_some();
            let inputs = BTreeMap::from([(a, matrix.clone()), (x, vector.clone())]);
            let mut patterns = BTreeMap::from([(a, pattern.clone())]);
            if dynamic {
                patterns.insert(x, stored.clone());
            }
            let found = evaluator.run_stored(&inputs, &patterns).unwrap().remove(&y).unwrap();
            let read = |dense: &Dense, pattern: &[bool], index: &[i64]| match dense.position(index) {
                Some(at) if pattern[at] => dense.data[at],
                _ => semiring.zero(),
            };
            let all = vec![true; 5];
            let stored = if dynamic { &stored } else { &all };
            for i in 0..rows as i64 {
                let mut expected = semiring.zero();
                for (j, s) in (-9..9).flat_map(|j| (-9..20).map(move |s| (j, s))) {
                    let left = read(&matrix, &pattern, &[i, j + s]);
                    let right = read(&vector, stored, &[2 * j - i + 1]);
                    expected = semiring.add(expected, semiring.multiply(left, right));
                }
                prop_assert_eq!(found.data[i as usize], expected, "row {} of {}", i, source);
            }
        }
    }
}

#[test]
fn paths() {
    let source = "
        symbols: N
        D2(i, k) := min(j) D(i, j) + D(j, k)
        D4(i, k) := min(j) D2(i, j) + D2(j, k)
        reach(i) := or(j) R(i, j) * R(j, k) * (j != k)
        R(i, j) := or() D(i, j) * D(i, j)
        near(i) := D2(i, j) * w(j)
        D:D(i, j) := (0 <= i < N) * (0 <= j < N)
        D:F := csr
        w:D(j) := (0 <= j < N)";
    let source = source.replace("or(j) R", "or(j, k) R");
    let (program, _) = load(&source).unwrap();
    let of = |name: &str| program.find(name).unwrap();
    // 0 -> 1 -> 2 -> 3, each of length 5; elements on the diagonal are stored zeros.
    let mut distance = Dense::zeros(&[4, 4]);
    let mut stored = vec![false; 16];
    for i in 0..4 {
        stored[5 * i] = true;
        if i < 3 {
            distance.data[5 * i + 1] = 5.0;
            stored[5 * i + 1] = true;
        }
    }
    let weights = Dense { shape: vec![4], data: vec![1.0; 4] };
    let inputs = BTreeMap::from([(of("D"), distance), (of("w"), weights)]);
    let evaluator = Evaluator::new(&program, &[4]).unwrap();
    let results = evaluator.run_stored(&inputs, &BTreeMap::from([(of("D"), stored)])).unwrap();
    let far = f64::INFINITY;
    assert_eq!(
        results[&of("D2")].data,
        [0., 5., 10., far, far, 0., 5., 10., far, far, 0., 5., far, far, far, 0.]
    );
    assert_eq!(
        results[&of("D4")].data,
        [0., 5., 10., 15., far, 0., 5., 10., far, far, 0., 5., far, far, far, 0.]
    );
    // A stored zero is false.
    assert_eq!(results[&of("reach")].data, [1., 1., 0., 0.]);
    // A result without `:F` has all elements: where there is no path, it is infinite.
    assert_eq!(results[&of("near")].data, [far, far, far, far]);
}

#[test]
fn pooling() {
    let source = "
        symbols: N
        O(p) := max(r) I(2 * p + r) * (0 <= r < 3)
        P(p) := max(r) (I(2 * p + r) + 0) * (0 <= r < 3)
        O:D(p) := (0 <= 2 * p < N)
        P:D(p) := (0 <= 2 * p < N) * (p != 1)
        I:D(i) := (0 <= i < N)";
    let (program, _) = load(source).unwrap();
    let of = |name: &str| program.find(name).unwrap();
    let image = Dense { shape: vec![6], data: vec![1., 7., 2., -3., -4., -5.] };
    let evaluator = Evaluator::new(&program, &[6]).unwrap();
    let results = evaluator.run(&BTreeMap::from([(of("I"), image)])).unwrap();
    // The zero of (max, *) is 0, that of (max, +) is below all numbers.
    assert_eq!(results[&of("O")].data, [7., 2., 0.]);
    assert_eq!(results[&of("P")].data, [7., f64::NEG_INFINITY, -4.]);
}

/// Sums of products of different dynamic tensors, at shifted and strided subscripts: each product is there where all of
/// its factors are.
#[test]
fn unions() {
    let source = "
        symbols: N
        O(i) := A(i) + B(i + j) * (0 <= j < 2) + 10 * A(2 * i - 1) * B(N - 1 - i)
        O:D(i) := (0 <= i < N)
        A:D(i) := (0 <= i < N)
        A:F := C
        B:D(i) := (0 <= i < N)
        B:F := C";
    let (program, _) = load(source).unwrap();
    let of = |name: &str| program.find(name).unwrap();
    let vector = |data: [f64; 4]| Dense { shape: vec![4], data: data.to_vec() };
    let inputs =
        BTreeMap::from([(of("A"), vector([0., 1., 0., 2.])), (of("B"), vector([0., 0., 3., 4.]))]);
    let evaluator = Evaluator::new(&program, &[4]).unwrap();
    let results = evaluator.run(&inputs).unwrap();
    assert_eq!(results[&of("O")].data, [0., 4. + 10. * 3., 7., 2. + 4.].map(|value: f64| value));
}
