//! Every example: its structure as text, in one snapshot, and against brute force.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::brute_force::{analyse, check, structure};

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

#[test]
fn structures_of_all_examples() {
    let mut text = String::new();
    for path in programs("examples") {
        let source = std::fs::read_to_string(&path).unwrap();
        let inferred = analyse(&source).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let _ = writeln!(text, "## {}", path.file_name().unwrap().to_string_lossy());
        for id in inferred.program.tensor_ids() {
            let tensor = inferred.program.tensor(id);
            if tensor.rank > 0 {
                let head = inferred.tensors[id.0].iterators.join(", ");
                let _ = write!(text, "{}({head}): {}", tensor.name, structure(&inferred, id));
            }
        }
        text.push('\n');
    }
    expect_test::expect_file!["examples.txt"].assert_eq(&text);
}

#[test]
fn examples_hold() {
    let sizes: &[&[i64]] = &[&[0], &[1], &[2], &[3, 4, 2, 1], &[5, 2, 3, 4]];
    for path in programs("examples").into_iter().chain(programs("tests/it/programs")) {
        let source = std::fs::read_to_string(&path).unwrap();
        let inferred = analyse(&source).unwrap_or_else(|error| panic!("{path:?}: {error}"));
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
