//! The corpus of the fuzz target, replayed: every committed text, the examples and the bad programs, and all of their
//! beginnings.

mod property;

use std::path::PathBuf;

#[test]
fn the_corpus_holds() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for folder in ["fuzz/corpus/parser", "examples", "tests/it/programs", "tests/it/bad"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            if path.is_dir() || path.extension().is_some_and(|e| e != "stur") {
                continue;
            }
            count += 1;
            let shown = path.display();
            property::holds(&text).unwrap_or_else(|why| panic!("{shown}: {why}"));
            // A text that ends anywhere.
            for (end, _) in text.char_indices().step_by(1 + text.len() / 40) {
                property::holds(&text[..end])
                    .unwrap_or_else(|why| panic!("{shown}[..{end}]: {why}"));
            }
        }
    }
    assert!(count > 60, "{count} files");
}
