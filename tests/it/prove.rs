//! Every example is proven right for all sizes; what is not decided is listed here, with the reason.

use dastac::driver::Analysis;
use dastac::layout::Proof;

/// Program, tensor, property (`*`: any), and why it is not proven.
const UNDECIDED: &[(&str, &str, &str, &str)] = &[
    ("block_diagonal", "B", "layout", "the polynomial and its successor have floors that differ"),
    ("half_cube_packed", "*", "*", "expressions that are not affine"),
    ("manual_packed", "*", "*", "expressions that are not affine"),
    ("not_affine", "*", "*", "expressions that are not affine"),
    ("polyreg3", "A6", "layout", "rank above 5"),
    ("polyreg4", "A6", "layout", "rank above 5"),
    ("polyreg4", "A7", "layout", "rank above 5"),
    ("polyreg4", "A8", "layout", "rank above 5"),
];

#[test]
fn examples_are_proven() {
    let mut open = Vec::new();
    for path in crate::examples::examples() {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let lowered = Analysis::of(&source).unwrap().lay_out().unwrap().lower().unwrap();
        let program = &lowered.laid.analysis.inferred.program;
        for check in lowered.prove().unwrap() {
            let tensor = &program.tensor(check.tensor).name;
            let property = check.property.name();
            let listed = UNDECIDED.iter().any(|(file, which, what, _)| {
                *file == name && ["*", tensor].contains(which) && ["*", property].contains(what)
            });
            match check.proof {
                Proof::Proven => {}
                Proof::Undecided(_) if listed => {}
                other => open.push(format!("{name}, {tensor}, {property}: {other:?}")),
            }
        }
    }
    assert!(open.is_empty(), "{}", open.join("\n"));
}
