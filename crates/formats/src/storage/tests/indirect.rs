//! Formats with functions that are computed from entries, and hybrid formats: their arrays on one small matrix.

use std::fmt::Write;

use expect_test::{Expect, expect};

use super::super::*;
use crate::format::{Definitions, parse, read_hybrid};

/// ```text
/// 1 . . 2
/// . . . .
/// . 3 . .
/// 4 5 6 7
/// . . 8 .
/// ```
fn matrix() -> Entries {
    let rows = [0, 0, 2, 3, 3, 3, 3, 4];
    let columns = [0, 3, 1, 0, 1, 2, 3, 2];
    let coordinates = rows.into_iter().zip(columns).flat_map(|(row, column)| [row, column]);
    let values: Vec<f64> = (1..=8).map(f64::from).collect();
    Entries::new(vec![5, 4], coordinates.collect(), Storage::from(values)).unwrap()
}

fn shown(tensor: &Tensor) -> String {
    let mut text = String::new();
    for (level, data) in tensor.levels().iter().enumerate() {
        for (role, array) in data.kind().arrays().iter().zip(data.arrays()) {
            let numbers: Vec<String> = array.iter().map(|number| number.to_string()).collect();
            let _ = writeln!(text, "{}{level}: {}", role.suffix(), numbers.join(" "));
        }
    }
    let values: Vec<String> =
        tensor.values().numbers().map(|one| one.to_f64().to_string()).collect();
    let _ = writeln!(text, "values: {}", values.join(" "));
    text
}

fn arrays(format: &str, expected: &Expect) {
    let format = parse(format, &["i", "j"]).unwrap();
    let tensor = Tensor::from_entries(&matrix(), &format, Build::default()).unwrap();
    tensor.check().unwrap();
    let coo = Tensor::from_entries(&matrix(), &Format::coo(2), Build::default()).unwrap();
    assert_eq!(tensor.convert(&Format::coo(2), Build::default()).unwrap(), coo);
    assert_eq!(tensor.get(&[3, 2]), coo.get(&[3, 2]));
    // Padding of a block is stored, as a zero.
    assert!(tensor.get(&[1, 2]).is_none_or(|value| value.to_f64() == 0.0));
    expected.assert_eq(&shown(&tensor));
}

#[test]
fn rows_are_padded_to_the_longest() {
    arrays(
        "ell",
        &expect![[r#"
            pos0: 0 4
            crd2: 0 4 1 0 2 3 4 4 1 4 4 4 4 2 4 4 4 4 3 4
            values: 1 0 3 4 8 2 0 0 5 0 0 0 0 6 0 0 0 0 7 0
        "#]],
    );
}

#[test]
fn groups_of_rows_are_padded_each_to_its_longest() {
    arrays(
        "sell(2, 4)",
        &expect![[r#"
            pos1: 0 4 5 6
            crd3: 3 0 3 0 3 5 3 5 2 5 4 5
            crd4: 0 0 1 3 2 4 3 4 1 4 2 4
            values: 4 1 5 2 6 0 7 0 3 0 8 0
        "#]],
    );
}

#[test]
fn jagged_diagonals_begin_with_the_longest_row() {
    arrays(
        "jds",
        &expect![[r#"
            pos0: 0 4
            pos1: 0 4 6 7 8
            crd2: 3 0 2 4 3 0 3 3
            crd3: 0 0 1 2 1 3 2 3
            values: 4 1 3 8 5 2 6 7
        "#]],
    );
}

#[test]
fn rows_go_to_the_channel_with_the_fewest_entries() {
    arrays(
        "cisr(2)",
        &expect![[r#"
            pos1: 0 2 4
            crd1: 0 4 2 3
            pos2: 0 2 3 4 8
            crd2: 0 3 2 1 0 1 2 3
            values: 1 2 8 3 4 5 6 7
        "#]],
    );
    arrays(
        "cisr_plus(2)",
        &expect![[r#"
            pos1: 0 1 4
            crd1: 3 0 2 4
            pos2: 0 4 6 7 8
            crd2: 0 1 2 3 0 3 1 2
            values: 4 5 6 7 1 2 3 8
        "#]],
    );
}

#[test]
fn rows_are_sorted_by_what_is_asked() {
    arrays(
        "dense(reorder(max(i), ascending)), padded(i), compressed(j)",
        &expect![[r#"
            crd1: 5 0 2 3 4
            pos2: 0 0 2 3 7 8
            crd2: 0 3 1 0 1 2 3 2
            values: 1 2 3 4 5 6 7 8
        "#]],
    );
    arrays(
        "dense(reorder(sum(j), descending)), padded(j), compressed(i)",
        &expect![[r#"
            crd1: 2 3 1 0
            pos2: 0 2 4 6 8
            crd2: 3 4 0 3 2 3 0 3
            values: 6 8 2 7 3 5 1 4
        "#]],
    );
}

#[test]
fn blocks_are_padded_too() {
    arrays(
        "bell(2, 2)",
        &expect![[r#"
            pos0: 0 2
            crd2: 0 0 1 1 1 2
            values: 1 0 0 0 0 3 4 5 8 0 0 0 0 2 0 0 0 0 6 7 0 0 0 0
        "#]],
    );
}

fn hybrid(text: &str, expected: &Expect) {
    let hybrid = read_hybrid(text, &["i", "j"], &Definitions::default()).unwrap();
    let again = read_hybrid(&hybrid.to_string(), &["i", "j"], &Definitions::default()).unwrap();
    assert_eq!(hybrid, again);
    let whole = Tensor::from_entries(&matrix(), &Format::csr(), Build::default()).unwrap();
    let parts = whole.decompose(&hybrid, Build::default()).unwrap();
    let mut text = format!("{hybrid}\n");
    let mut all: Option<Entries> = None;
    for part in &parts {
        part.check().unwrap();
        let own = part.to_entries().unwrap();
        let places = (0..own.len()).map(|entry| format!(" {}", tuple(own.at(entry))));
        let places: Vec<String> = places.collect();
        let _ = writeln!(text, "{}:{}", part.format(), places.concat());
        all = Some(match all {
            Some(all) => all.beside(&own).unwrap(),
            None => own,
        });
    }
    let refuse = Build { duplicates: Duplicates::Refuse, ..Build::default() };
    let joined = Tensor::from_entries(&all.unwrap(), &Format::csr(), refuse).unwrap();
    assert_eq!(joined, whole);
    expected.assert_eq(&text);
}

#[test]
fn parts_are_disjoint_and_together_the_tensor() {
    hybrid(
        "hybrid(dia where count(j - i) >= 2, csr)",
        &expect![[r#"
            hybrid(dia where count(j - i) >= 2, csr)
            dia: (3, 1) (4, 2) (2, 1) (3, 2) (0, 0) (3, 3)
            csr: (0, 3) (3, 0)
        "#]],
    );
    hybrid(
        "hyb",
        &expect![[r#"
            hybrid(ell where enumerate(i; j) < auto, coo)
            ell: (0, 0) (2, 1) (3, 0) (4, 2)
            coo: (0, 3) (3, 1) (3, 2) (3, 3)
        "#]],
    );
    hybrid(
        "hybrid(ell where enumerate(i; j) < 1, (dense(j), compressed(i)) where max(i) > 6, coo)",
        &expect![[r#"
            hybrid(ell where enumerate(i; j) < 1, csc where max(i) > 6, coo)
            ell: (0, 0) (2, 1) (3, 0) (4, 2)
            csc: (3, 1) (3, 2) (3, 3)
            coo: (0, 3)
        "#]],
    );
    hybrid(
        "hybrid(csc where count(i) > 100, csr)",
        &expect![[r#"
            hybrid(csc where count(i) > 100, csr)
            csc:
            csr: (0, 0) (0, 3) (2, 1) (3, 0) (3, 1) (3, 2) (3, 3) (4, 2)
        "#]],
    );
}

#[test]
fn hybrid_formats_that_are_none() {
    let wrong = |text: &str, expected: &Expect| {
        let error = read_hybrid(text, &["i", "j"], &Definitions::default()).unwrap_err();
        expected.assert_eq(&format!("{}: `{}`", error.message, &text[error.span]));
    };
    wrong("hybrid", &expect![[r#"the parts of a hybrid format are missing: `hybrid`"#]]);
    wrong("hybrid(csr)", &expect![[r#"a hybrid format has two parts or more: `hybrid(csr)`"#]]);
    wrong(
        "hybrid(csr, csc)",
        &expect![[r#"this part does not say which entries it takes: `csr`"#]],
    );
    wrong(
        "hybrid(csr where count(i) > 1, csc where count(j) > 1)",
        &expect![[
            r#"the last part of a hybrid format takes all that is left: `csc where count(j) > 1`"#
        ]],
    );
    wrong(
        "hybrid(csr where count(i) > many, csc)",
        &expect![[r#"a threshold is a number or `auto`: `many`"#]],
    );
    wrong(
        "hybrid(csr where count(i), csc)",
        &expect![[r#"a condition compares once: `count(i)`"#]],
    );
    wrong("hybrid(xyz where count(i) > 1, csc)", &expect![[r#"there is no format `xyz`: `xyz`"#]]);
    wrong("hybrid(csr where count(k) > 1, csc)", &expect![[r#"there is no dimension `k`: `k`"#]]);
}
