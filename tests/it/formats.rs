//! Formats with names: each in rules as an operand and as a result, compared with the reference evaluator; formats that
//! a program or a file defines.

use dastac::build::BuildOptions;
use dastac::driver::Indices;
use dastac::formats::format::{Definition, library};

use crate::sparse::{self, Rule, check, declared, whole_program};

/// `$` is the number of the case, `F` its format; `A` and `B` are matrices, `T` has rank 3.
const RULES: &[Rule] = &[
    ("y$(i) := A$(i, j) * x(j)", &[("A", 2)]),
    ("y$(j) := A$(i, j) * z(i)", &[("A", 2)]),
    ("y$(i, k) := A$(i, j) * X(j, k)", &[("A", 2)]),
    ("y$(i, j) := A$(i, j) + 2 * B$(i, j)", &[("A", 2), ("B", 2)]),
    ("y$(i, j) := A$(i, j) * B$(j, i)", &[("A", 2), ("B", 2)]),
    ("y$(i, k) := A$(i, j) * B$(j, k)", &[("A", 2), ("B", 2)]),
    ("y$(i, j) := T$(i, k, l) * X(k, j) * U(l, j)", &[("T", 3)]),
];

/// A format's name with the smallest numbers that are not all the same.
fn named(definition: &Definition) -> String {
    let numbers = ["3", "2"][..definition.parameters.len()].join(", ");
    match definition.parameters.is_empty() {
        true => definition.name.clone(),
        false => format!("{}({numbers})", definition.name),
    }
}

/// A rule with its first tensor in a format, others in `csr`.
fn case(number: usize, (rule, tensors): &Rule, format: &str) -> String {
    let mut text = rule.replace('$', &number.to_string()) + "\n";
    for (nth, (name, rank)) in tensors.iter().enumerate() {
        let dims = &["i", "j", "k"][..*rank];
        let bounds: Vec<String> = dims.iter().map(|d| format!("(0 <= {d} < N)")).collect();
        text += &format!("{name}{number}:D({}) := {}\n", dims.join(", "), bounds.join(" * "));
        let format = if nth == 0 { format } else { "csr" };
        text += &format!("{name}{number}:F({}) := {format}\n", dims.join(", "));
    }
    text
}

#[test]
fn rules_agree_with_the_reference_in_all_named_formats() {
    let mut cases = Vec::new();
    for definition in library() {
        for rule in RULES {
            if definition.rank().is_none_or(|rank| rank == rule.1[0].1) {
                cases.push(case(cases.len(), rule, &named(definition)));
            }
        }
    }
    assert!(cases.len() > 100);
    for cases in cases.chunks(24) {
        check(&whole_program(cases), BuildOptions::default(), Indices::Narrow);
    }
}

/// Index maps of two dimensions with a parameter, `(p, q)` to levels, and how these are stored.
const DEFINED: &[(&str, &str)] = &[
    ("q / b, p, q % b", "merge(0) trim(1, 1)"),
    ("p, q / b, q", "merge(0, 1) trim(2, 2)"),
    ("p / b, p, q", "merge(..) trim(1, 2)"),
    ("q / b, q % b, p, q", "merge(..) trim(0, 3)"),
    ("p % b, q, p", "merge(0, 1) trim(1, 2)"),
    ("q % b, p / b, q / b, p % b", "merge(..) trim(1, 2)"),
    ("p + q, p", "merge(0) trim(0, 0)"),
    ("(p + q) / b, p, q", "merge(..) trim(0, 2)"),
    ("q - b * p, p", "merge(..) trim(0, 1)"),
    ("p / b / b, p / b % b, q, p % b", "merge(..) trim(2, 2)"),
    ("p, q", "merge(0) trim(1, 1) width(1, 8)"),
    ("q, p", "trim(..) width(0, 16) width(1, 8)"),
    ("p, q / b, q % b", "merge(..) trim(1, 2) width(2, 8)"),
];

#[test]
fn formats_that_a_program_defines() {
    let mut cases = Vec::new();
    for (nth, (levels, storage)) in DEFINED.iter().enumerate() {
        let format = format!("own{nth}(3)");
        for rule in &RULES[..6] {
            cases.push(case(cases.len(), rule, &format));
        }
        let definition = format!("format own{nth}(b) := (p, q) -> ({levels}) {storage}\n");
        let program = whole_program(&std::mem::take(&mut cases)) + &definition;
        let wide = if storage.contains("width") { Indices::Wide } else { Indices::Narrow };
        check(&program, BuildOptions::default(), wide);
    }
}

/// Formats with functions that are computed from entries, by rank.
fn computed(_: bool, rank: usize) -> &'static [&'static str] {
    match rank {
        1 => &["C", "ragged(enumerate(0; i)), padded(i)"],
        2 => &[
            "ell",
            "sell(2, 4)",
            "jds",
            "bell(2, 3)",
            "cisr(3)",
            "cisr_plus(2)",
            "dense(reorder(max(i), ascending)), padded(i), compressed(j)",
            "dense(reorder(count(j), descending)), padded(j), ragged(enumerate(j; i)), padded(i)",
        ],
        _ => &["csf", "dense(balance(count(i), 2)), compressed(i), compressed(j), compressed(k)"],
    }
}

/// Hybrid formats, by rank.
fn hybrid(_: bool, rank: usize) -> &'static [&'static str] {
    match rank {
        1 => &["C", "hybrid(C where count(i / 2) > 1, coo)"],
        2 => &[
            "hybrid(dia where count(j - i) >= 3, csr)",
            "hyb",
            "hybrid(bdia(2) where count(i / 2, j - i) >= auto, csc)",
            "hybrid(ell where enumerate(i; j) < 1, dcsc where max(j) > 2, coo)",
            "hybrid((dense(j), compressed(i)) where i < 3, bell(2, 2))",
        ],
        _ => &["hybrid(csf where count(i, j) > 2, coo)"],
    }
}

/// Functions of elements, of which what is not stored matters.
const FUNCTIONS: &[Rule] = &[
    ("y$(i, j) := exp(A$(i, j)) * U(i, j)", &[("A", 2)]),
    ("y$(i) := exp(A$(i, j)) * B$(i, j)", &[("A", 2), ("B", 2)]),
    // An element that is two factors is in one part.
    ("y$(i) := A$(i, j) * A$(i, j)", &[("A", 2)]),
    ("y$(i) := A$(i, j) * B$(i, j) * A$(i, j)", &[("A", 2), ("B", 2)]),
];

#[test]
fn all_rules_agree_with_the_reference_in_computed_and_hybrid_formats() {
    let positions = |rule: &&Rule| rule.0.contains("pos(");
    let rules = || sparse::RULES.iter().chain(FUNCTIONS);
    let plain: Vec<Rule> = rules().filter(|rule| !positions(rule)).copied().collect();
    let all: Vec<Rule> = rules().copied().collect();
    let cases = [declared(&plain, 8, &computed), declared(&all, 5, &hybrid)].concat();
    for (at, cases) in cases.chunks(24).enumerate() {
        let target = BuildOptions { parallel: at % 2 == 0, ..BuildOptions::default() };
        check(&whole_program(cases), target, Indices::Narrow);
    }
}
