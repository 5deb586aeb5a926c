//! Every example is proven right for all sizes; what is not decided is listed here, with the reason.

use dastac::driver::Analysis;
use dastac::layout::Proof;

/// Program, tensor, property, and why it is not proven.
const UNDECIDED: &[(&str, &str, &str, &str)] = &[
    ("block_diagonal", "B", "layout", "the polynomial and its successor have floors that differ"),
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
            let tensor = program.tensor(check.tensor).name.clone();
            let property = check.property.name();
            match check.proof {
                Proof::Proven => {}
                Proof::Undecided(_) => open.push((name.clone(), tensor, property)),
                Proof::Refuted(why) => panic!("{name}, {tensor}, {property}: refuted: {why}"),
            }
        }
    }
    let listed: Vec<(String, String, &str)> = UNDECIDED
        .iter()
        .map(|(file, tensor, p, _)| ((*file).into(), (*tensor).into(), *p))
        .collect();
    assert_eq!(open, listed);
}
