//! The rules of the house that a compiler does not check: which crate may use which (ARCHITECTURE.md), where `unsafe`
//! may stand, and what must not stand in the repository at all.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::{env, fs};

use crate::root;
use crate::sources::{code_of, files, files_of, lines_with_word, read};

/// Each crate's folder, its name, and which crates of this project it may use.
const ARROWS: &[(&str, &str, &[&str])] = &[
    ("isl-vendor", "isl-vendor", &[]),
    ("crates/elements", "dastac-elements", &[]),
    ("crates/poly", "dastac-poly", &["isl-vendor"]),
    ("crates/loops", "dastac-loops", &["dastac-elements"]),
    ("crates/stur", "dastac-stur", &["dastac-elements", "dastac-formats", "dastac-poly"]),
    ("crates/layout", "dastac-layout", &["dastac-stur", "dastac-poly", "dastac-loops"]),
    (
        "crates/sched",
        "dastac-sched",
        &[
            "dastac-stur",
            "dastac-layout",
            "dastac-poly",
            "dastac-loops",
            "dastac-formats",
            "dastac-iterate",
        ],
    ),
    (
        "crates/runtime",
        "dastac-runtime",
        &["dastac-elements", "dastac-formats", "dastac-loops", "dastac-pim", "dastac-target"],
    ),
    ("crates/pim", "dastac-pim", &["dastac-elements", "dastac-loops"]),
    ("crates/target", "dastac-target", &["dastac-loops"]),
    (
        "crates/backend",
        "dastac-backend",
        &["dastac-elements", "dastac-loops", "dastac-pim", "dastac-runtime", "dastac-target"],
    ),
    ("crates/formats", "dastac-formats", &["dastac-elements", "dastac-loops"]),
    (
        "crates/iterate",
        "dastac-iterate",
        &["dastac-elements", "dastac-formats", "dastac-stur", "dastac-loops"],
    ),
    (
        "crates/driver",
        "dastac-driver",
        &[
            "dastac-backend",
            "dastac-elements",
            "dastac-formats",
            "dastac-iterate",
            "dastac-layout",
            "dastac-loops",
            "dastac-poly",
            "dastac-runtime",
            "dastac-sched",
            "dastac-stur",
            "dastac-target",
        ],
    ),
    (
        "crates/bench",
        "dastac-bench",
        &[
            "dastac-driver",
            "dastac-backend",
            "dastac-elements",
            "dastac-formats",
            "dastac-iterate",
            "dastac-layout",
            "dastac-loops",
            "dastac-runtime",
            "dastac-sched",
            "dastac-stur",
            "dastac-target",
        ],
    ),
    (
        "src",
        "dastac",
        &[
            "dastac-driver",
            "dastac-backend",
            "dastac-elements",
            "dastac-formats",
            "dastac-iterate",
            "dastac-layout",
            "dastac-loops",
            "dastac-poly",
            "dastac-runtime",
            "dastac-sched",
            "dastac-stur",
            "dastac-target",
        ],
    ),
    (
        "crates/cli",
        "dastac-cli",
        &["dastac", "dastac-bench", "dastac-formats", "dastac-poly", "dastac-stur"],
    ),
    ("crates/python", "dastac-python", &["dastac", "dastac-cli"]),
];

/// Crates of others that only some crates may use: nothing else may see MLIR, or load libraries.
const RESERVED: &[(&str, &[&str])] = &[
    ("melior", &["dastac-backend"]),
    ("mlir-sys", &["dastac-backend"]),
    ("llvm-sys", &["dastac-backend"]),
    ("libloading", &["isl-vendor", "dastac-backend", "dastac-bench", "dastac-runtime"]),
    ("object", &["dastac-bench", "dastac-pim", "dastac-runtime", "dastac-python"]),
    ("pyo3", &["dastac-python"]),
    ("rustix", &["dastac-runtime"]),
];

/// The crates whose job it is to call C.
const UNSAFE: &[&str] = &[
    "isl-vendor",
    "dastac-elements",
    "dastac-poly",
    "dastac-backend",
    "dastac-bench",
    "dastac-runtime",
    "dastac-python",
];

/// All dependencies of each package of the workspace, of every kind (normal, dev, build).
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let used = package["dependencies"].as_array().unwrap().iter();
            (text(&package["name"]), used.map(|dependency| text(&dependency["name"])).collect())
        })
        .collect()
}

#[test]
fn crates_use_only_what_the_table_allows() {
    let dependencies = dependencies();
    let ours: BTreeSet<&str> = ARROWS.iter().map(|(_, name, _)| *name).collect();
    let found: BTreeSet<&str> = dependencies.keys().map(String::as_str).collect();
    assert_eq!(found, ours, "the crates of the workspace and those in ARROWS differ");

    for (_, name, allowed) in ARROWS {
        let used: BTreeSet<&str> = dependencies[*name].iter().map(String::as_str).collect();
        for used in used.intersection(&ours) {
            assert!(allowed.contains(used), "{name} must not use {used}");
        }
        for (reserved, users) in RESERVED {
            assert!(
                !used.contains(reserved) || users.contains(name),
                "{name} must not use {reserved}"
            );
        }
    }
}

/// The crates of the project that a cell of the table names in backquotes.
fn names_in(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_table_in_architecture_md_is_the_one_tested() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let mut rows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut last = "";
    for line in text.lines().filter(|line| line.starts_with("| `") || line.starts_with("| |")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        // A row without a folder goes on with the one before.
        last = names_in(cells[0]).first().map_or(last, |folder| folder.trim_end_matches('/'));
        rows.entry(last)
            .or_default()
            .extend(cells.get(2).map_or(Vec::new(), |uses| names_in(uses)));
    }
    for (folder, _, allowed) in ARROWS {
        let row =
            rows.get(folder).unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for {folder}"));
        let allowed: BTreeSet<&str> =
            allowed.iter().map(|name| name.trim_start_matches("dastac-")).collect();
        assert_eq!(*row, allowed, "the row of {folder} in ARCHITECTURE.md");
    }
}

#[test]
fn only_the_crates_that_call_c_have_unsafe_code() {
    for (folder, name, _) in ARROWS.iter().filter(|(_, name, _)| !UNSAFE.contains(name)) {
        let sources =
            if *folder == "src" { root().join("src") } else { root().join(folder).join("src") };
        for path in files_of(&sources, "rs") {
            let lines = lines_with_word(&code_of(&read(&path)), "unsafe");
            assert!(
                lines.is_empty(),
                "{name}: {} has unsafe code on lines {lines:?}",
                path.display()
            );
        }
    }
}

#[test]
fn nothing_is_left_unfinished() {
    let roots = ["src", "crates", "isl-vendor/src"];
    for path in roots.iter().flat_map(|folder| files_of(&root().join(folder), "rs")) {
        let code = code_of(&read(&path));
        for unfinished in ["todo!", "unimplemented!"] {
            let line = code.lines().position(|line| line.contains(unfinished));
            assert!(
                line.is_none(),
                "{}:{}: {unfinished}",
                path.display(),
                line.unwrap_or_default() + 1
            );
        }
    }
}

#[test]
fn no_file_names_a_folder_of_a_developers_machine() {
    // Put together here, so that this file does not name them either.
    let folders = ["home", "root", "Users", "work", "tmp/w"].map(|folder| format!("/{folder}/"));
    let is_path = |c: char| c.is_alphanumeric() || "._-/~}$".contains(c);
    for path in files(root()) {
        // Anything that is not text was not written by hand.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (at, line) in text.lines().enumerate() {
            for folder in &folders {
                let absolute =
                    line.match_indices(folder).any(|(start, _)| !line[..start].ends_with(is_path));
                assert!(
                    !absolute,
                    "{}:{}: an absolute path below {folder}",
                    path.display(),
                    at + 1
                );
            }
        }
    }
}

#[test]
fn examples_and_documents_name_no_file_outside_of_the_repository() {
    let outside = format!("..{}", "/shared");
    for path in files(root()) {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("md" | "stur")) {
            let named = read(&path).contains(&outside);
            assert!(!named, "{} names a file beside the repository", path.display());
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for path in files_of(root(), "md") {
        for link in read(&path).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            let local = !link.contains("://") && !file.is_empty();
            assert!(
                !local || path.parent().unwrap().join(file).exists(),
                "{}: {link}",
                path.display()
            );
        }
    }
}

#[test]
fn every_example_is_explained() {
    let list = read(&root().join("examples/README.md"));
    let named: BTreeSet<&str> = names_in(&list).into_iter().collect();
    for path in files_of(&root().join("examples"), "stur") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(named.contains(name), "examples/README.md does not name {name}");
        assert!(
            read(&path).starts_with("# "),
            "{name} does not begin with a comment on its structure"
        );
    }
}
