//! What `dastac check` says about bad programs: each `bad/NAME.stur` begins with a comment that names the diagnostic's
//! code, and `bad/NAME.stderr` is the expected text. `UPDATE_EXPECT=1` writes these.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use expect_test::expect_file;

fn folder() -> PathBuf {
    crate::root().join("tests/it/bad")
}

/// File names without their extension, in order.
fn cases() -> Vec<String> {
    let mut cases: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "stur"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    cases.sort();
    cases
}

/// The code in a case's first line, `# E0104: ..`.
fn code(case: &str) -> String {
    let text = fs::read_to_string(folder().join(format!("{case}.stur"))).unwrap();
    let line = text.lines().next().unwrap_or_default();
    let code = line.strip_prefix("# ").and_then(|line| line.split_once(": "));
    code.unwrap_or_else(|| panic!("{case}.stur does not begin with `# CODE: ..`")).0.to_string()
}

#[test]
fn snapshots() {
    for case in cases() {
        let output = crate::dastac()
            .args(["check", &format!("{case}.stur")])
            .current_dir(folder())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let code = code(&case);
        let (kind, status) = if code.starts_with('W') { ("warning", 0) } else { ("error", 1) };
        assert_eq!(output.status.code(), Some(status), "{case}: {text}");
        assert!(text.contains(&format!("{kind}[{code}]: ")), "{case} is not about {code}: {text}");
        expect_file![folder().join(format!("{case}.stderr"))].assert_eq(&text);
    }
}

/// A diagnostic without a snapshot is unfinished.
#[test]
fn every_code_has_a_snapshot() {
    let mut codes = BTreeSet::new();
    let stur = crate::root().join("crates/stur/src");
    codes_under(&stur, &mut codes);
    assert!(codes.len() > 25, "{codes:?}");
    let covered: BTreeSet<String> = cases().iter().map(|case| code(case)).collect();
    let missing: Vec<_> = codes.difference(&covered).collect();
    assert!(missing.is_empty(), "no file in tests/it/bad is about {missing:?}");
}

fn codes_under(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            codes_under(&path, codes);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            codes.extend(text.split('"').filter(|word| is_code(word)).map(str::to_string));
        }
    }
}

fn is_code(word: &str) -> bool {
    word.len() == 5 && word.starts_with(['E', 'W']) && word[1..].bytes().all(|b| b.is_ascii_digit())
}

#[test]
fn no_leftover_snapshots() {
    let cases = cases();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(cases.contains(&stem), "{} belongs to no program", path.display());
    }
}
