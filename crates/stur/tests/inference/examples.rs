//! Every example: its structure as text, in one snapshot, and against brute force.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use dastac_elements::Function;
use dastac_stur::ast::Operation;
use dastac_stur::infer::declarations;
use dastac_stur::program::{Program, Scalar};

use crate::brute_force::{analyse, check};

fn programs(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "stur"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// Examples, and programs of the integration tests.
fn all_programs() -> Vec<PathBuf> {
    ["examples", "tests/it/programs", "tests/it/unproven"].into_iter().flat_map(programs).collect()
}

#[test]
fn structures_of_all_examples() {
    let mut text = String::new();
    for path in programs("examples") {
        let source = std::fs::read_to_string(&path).unwrap();
        let inferred = analyse(&source).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let _ = writeln!(text, "## {}", path.file_name().unwrap().to_string_lossy());
        for id in inferred.program.tensor_ids() {
            for line in declarations(&inferred, id).unwrap() {
                let _ = writeln!(text, "{line}");
            }
        }
        text.push('\n');
    }
    expect_test::expect_file!["examples.txt"].assert_eq(&text);
}

/// Whether a program makes complex numbers of real ones.
fn makes_complex_numbers(program: &Program) -> bool {
    let mut found = false;
    let products = program.rules.iter().flat_map(|rule| &rule.products);
    for function in products.flat_map(|product| &product.functions) {
        function.value.visit(&mut |value| {
            found |= matches!(value, Scalar::Apply(Operation::Function(Function::Complex), _));
        });
    }
    found
}

#[test]
fn examples_hold() {
    let sizes: &[&[i64]] = &[&[0], &[1], &[2], &[3, 4, 2, 1], &[5, 2, 3, 4]];
    for path in all_programs() {
        let source = std::fs::read_to_string(&path).unwrap();
        let inferred = analyse(&source).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        if makes_complex_numbers(&inferred.program) {
            // Statements are evaluated in real numbers, of which some functions are none.
            continue;
        }
        let mut checked = 0;
        for pattern in sizes {
            let count = inferred.program.symbols.len();
            let symbols: Vec<i64> = (0..count).map(|k| pattern[k % pattern.len()]).collect();
            let done = check(&inferred, &source, &symbols);
            checked += usize::from(done.unwrap_or_else(|error| panic!("{path:?}: {error}")));
        }
        assert!(checked > 0, "{path:?} was too large at every size");
    }
}

/// What is printed of a program's heads, accepted when it is pasted back, means the same.
pub fn pasted_back(source: &str, inferred: &dastac_stur::infer::Inferred) -> Result<(), String> {
    let program = &inferred.program;
    let mut text = source.to_string();
    for id in program.tensor_ids().filter(|id| program.tensor(*id).rule().is_some()) {
        let tensor = program.tensor(id);
        for line in declarations(inferred, id).map_err(|error| format!("{error:?}"))? {
            // Said twice in other words is an error of its own.
            let said = |aspect: &str| line.starts_with(&format!("{}:{aspect}", tensor.name));
            if !(tensor.domain.is_some() && said("D") || said("F")) {
                let _ = write!(text, "\n{line}");
            }
        }
    }
    let again = analyse(&text).map_err(|error| format!("{error}\n{text}"))?;
    for id in program.tensor_ids() {
        let (before, after) = (&inferred.tensors[id.0], &again.tensors[id.0]);
        let name = &program.tensor(id).name;
        let [a, b] = [before, after].map(|structured| structured.unique.to_string());
        // In two contexts: by text, read by one of them.
        let after_here = dastac_poly::Set::parse(&inferred.sets.context, &b).unwrap();
        if !before.unique.is_equal(&after_here).unwrap() {
            return Err(format!("{name}: {a} became {b}\n{text}"));
        }
    }
    Ok(())
}

#[test]
fn printed_structures_are_accepted() {
    for path in all_programs() {
        let source = std::fs::read_to_string(&path).unwrap();
        if source.contains("@preprocess") {
            continue; // a block's end is not a place for declarations of its heads
        }
        let inferred = analyse(&source).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        pasted_back(&source, &inferred).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    }
}
