//! Every example is proven right for all sizes; what is not decided is listed here, with the reason.

use std::collections::BTreeMap;

use dastac::build::BuildOptions;
use dastac::driver::Analysis;
use dastac::layout::Proof;
use dastac::run::Runner;

/// Program, tensor, property (`*`: any), and why it is not proven.
const UNDECIDED: &[(&str, &str, &str, &str)] = &[
    ("around_the_end", "*", "*", "quotients by a symbol"),
    ("extremes_of_integers", "*", "*", "another rule goes over levels"),
    ("functions_of_computed_elements", "y", "*", "reciprocals of values that may be zero"),
    ("half_cube_packed", "*", "*", "expressions that are not affine"),
    ("heads_of_products", "U", "executed", "a minimum that takes a point twice"),
    ("half_rows", "G", "statements", "dimensions that are products of symbols"),
    ("manual_packed", "*", "*", "expressions that are not affine"),
    ("maximum_of_shifted_rows", "y", "statements", "a case that is computed once for many points"),
    ("maximum_of_shifted_rows", "y", "executed", "a case that is computed once for many points"),
    ("quantifiers", "s.1", "*", "a case that is computed once for many points"),
    ("merged_dimensions", "*", "*", "expressions that are not affine"),
    ("not_affine", "*", "*", "expressions that are not affine"),
    ("polyreg3", "A5", "moved", "symmetry in five positions"),
    ("polyreg3", "A6", "moved", "symmetry in six positions"),
    ("polyreg4", "A5", "moved", "symmetry in five positions"),
    ("polyreg4", "A6", "moved", "symmetry in six positions"),
    ("polyreg4", "A7", "moved", "symmetry in seven positions"),
    ("polyreg4", "A8", "moved", "symmetry in eight positions"),
    ("selections_in_sums", "A", "moved", "the union of three planes of a cube"),
];

#[test]
fn examples_are_proven() {
    let mut open = Vec::new();
    for path in crate::examples::examples() {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let lowered = Analysis::of(&source).unwrap().lay_out().unwrap().lower().unwrap();
        let program = lowered.program();
        for check in lowered.prove().unwrap() {
            let tensor = &program.tensor(check.tensor).name;
            let property = check.property.name();
            // What loops over levels of dynamic tensors execute depends on what is stored.
            let rule = program.tensor(check.tensor).rule();
            let levels = rule.is_some_and(|rule| program.is_dynamic(rule));
            let listed = UNDECIDED.iter().any(|(file, which, what, _)| {
                *file == name && ["*", tensor].contains(which) && ["*", property].contains(what)
            });
            match check.proof {
                Proof::Proven => {}
                Proof::Undecided(_) if listed || levels => {}
                other => open.push(format!("{name}, {tensor}, {property}: {other:?}")),
            }
        }
    }
    assert!(open.is_empty(), "{}", open.join("\n"));
}

/// The size of `H` comes in cases; the last coordinate of `D` in its order follows from the others.
#[test]
fn aligned_buffers_are_proven_and_moved() {
    let source = "symbols: N, M
layout: H -> align(8); D -> order(i, k, j), align(8)
H(i) := (0 <= i < N)
D:D(i, j, k) := (0 <= i < M) * (0 <= j < M) * (0 <= k < M)
G(i) := D(0, i, i)";
    let lowered = Analysis::of(source).unwrap().lay_out().unwrap().lower().unwrap();
    for check in lowered.prove().unwrap() {
        assert_eq!(check.proof, Proof::Proven, "{}", check.property.name());
    }
    let built = lowered.build(BuildOptions { checked: true, ..BuildOptions::default() }).unwrap();
    let sizes = |n, m| BTreeMap::from([("N".to_string(), n), ("M".to_string(), m)]);
    let mut runner = Runner::new(built, &sizes(0, 0), 1).unwrap();
    for (n, m) in [(0, 0), (1, 1), (5, 3), (2, 9)] {
        runner.resize(&sizes(n, m)).unwrap();
        let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
        runner.execute().unwrap();
        let outcome = runner.verify(&inputs).unwrap();
        assert!(outcome.agrees(), "{n}, {m}: {outcome:?}");
    }
}
