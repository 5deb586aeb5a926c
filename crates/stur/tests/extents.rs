//! Dimensions that inference finds are those of the reference evaluator, at all small sizes.

use dastac_poly::Context;
use dastac_stur::infer::infer;
use dastac_stur::load;
use dastac_stur::reference::Evaluator;

/// Programs with the symbols N and M, and a tensor whose extents are not plain.
const PROGRAMS: &[&str] = &[
    // Bounds that no point reaches.
    "y(i) := x(i, j)\nx:D(i, j) := (0 <= i < N) * (0 <= j < M) * (j < i - 2)",
    "y(i) := x(i, j)\nx:D(i, j) := (2 <= i < N) * (i <= j < M)",
    "y(i) := x(i, j)\nx:D(i, j) := (0 <= i) * (0 <= j) * (i + j < N - 2)",
    "y(i) := x(i, j)\nx:D(i, j) := (0 <= i < N) * (2 * i = 2 * j + 1) * (0 <= j < N)",
    "y(i, j) := x(i, k) * x(k, j) * (i + j < N) * (k + 3 < M)\nx:D(i, j) := (0 <= i) * (0 <= j) * (2 * i + j < N)",
    "y(i) := x(j) * (0 <= i < N - 2)\nx:D(j) := (0 <= j < M)",
    "y(i) := x(i) + z(i)\nx:D(i) := (3 <= i < N)\nz:U(i) := (1 <= i < M) * (i < N)",
    // Strides and quotients.
    "y(i) := x(i) * (i / 2 < N - 1)\nx:D(i) := (0 <= i < M)",
    "y(i) := x(i)\nx:D(i) := (i = 2 * k + 1) * (0 <= k < N)",
    "y(i) := x(i)\nx:D(i) := (i % 3 = 1) * (0 <= i < N)",
    // What is not affine bounds nothing, at any size.
    "y(i) := x(i) * (i / M = 0)\nx:D(i) := (0 <= i < N)",
    "y(i) := x(i) * (N * i < M)\nx:D(i) := (0 <= i < N)",
    "y(i) := x(i) * (i * i < M)\nx:D(i) := (0 <= i < N)",
    // Products of symbols do.
    "y(i) := x(j) * (0 <= i < N * M) * (i < 5)\nx:D(j) := (0 <= j < N)",
    "y(i) := x(i)\nx:D(i) := (0 <= i < N * (M + 1) / 2) * (i < M + 2)",
    "y(i) := x(2 * i)\nx:D(i) := (0 <= i < N)\nx:U(i) := (2 * i < N)",
    "y(i) := x(j) * (0 <= i) * (2 * i < N) * (3 * i < M + 1)\nx:D(j) := (0 <= j < N)",
    "y(i) := x(j) * (0 <= i <= i * i < N) * (i < j)\nx:D(j) := (0 <= j < N)",
    "y(i) := x(j) * (0 <= 2 * i < N * M)\nx:D(j) := (0 <= j < N)",
];

/// Regions that are empty at some sizes, with iterators that have no bound of their own: inference's bound follows from
/// the other comparisons at the sizes where there are points, and is not 0 at the others.
const EMPTY: &[&str] = &[
    "y(i) := x(i + j) * z(j) * (0 <= i)\nx:D(i) := (0 <= i < N)\nx:U(i) := (i < M)\nz:D(j) := (0 <= j < M)\n\
    z:U(j) := (j >= 1)",
    "y(i) := x(i, j)\nx:D(i, j) := (0 <= i) * (i <= j) * (j < N) * (N < M) + (0 <= i < 2) * (0 <= j < i)",
    "y(i) := x(j) * (0 <= i) * (2 * i + j < M)\nx:D(j) := (1 <= j < N)",
    "y(i) := x(j) * (0 <= i) * (2 * i + j < M) * (j > N)\nx:D(j) := (1 <= j < N)",
    "y(i) := x(j) * (0 <= i) * (2 * i < M) * (i * i < j)\nx:D(j) := (0 <= j < N)",
];

#[test]
fn extents_are_those_of_the_reference() {
    let mut differ = Vec::new();
    let exact = PROGRAMS.iter().map(|text| (*text, true));
    for (text, exact) in exact.chain(EMPTY.iter().map(|text| (*text, false))) {
        let source = format!("symbols: N, M\n{text}\n");
        let (program, _) = load(&source).unwrap_or_else(|found| panic!("{text}: {found:?}"));
        let inferred = infer(&program, &Context::new().unwrap())
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
        for (n, m) in (0..6).flat_map(|n| (0..6).map(move |m| (n, m))) {
            let Ok(values) = inferred.parameter_values(&[n, m]) else { continue };
            let evaluator = Evaluator::new(&inferred.program, &[n, m]).unwrap();
            for id in program.tensor_ids() {
                let extents = &inferred.tensors[id.0].extents;
                let found: Vec<i64> = extents
                    .iter()
                    .map(|extent| extent.eval(&|name| values.get(name).copied()).unwrap().max(0))
                    .collect();
                let expected: Vec<i64> =
                    evaluator.shape(id).iter().map(|extent| *extent as i64).collect();
                let holds = match exact {
                    true => found == expected,
                    false => found.iter().zip(&expected).all(|(found, needed)| found >= needed),
                };
                if !holds {
                    let name = &program.tensor(id).name;
                    differ.push(format!(
                        "{text}\n  N = {n}, M = {m}: {name} {found:?}, not {expected:?}"
                    ));
                }
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
