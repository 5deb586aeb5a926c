//! Rules, the steps that are asked for or found, and the rules that these become.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::search::{Sizes, search};
use super::{Choice, Tree, contracted, given, obstacle, rule_text};
use crate::program::{Program, RuleId};

/// Every tensor has this side,
const SIDE: f64 = 100.0;
/// and the iterator `r` so many values.
const RANK: f64 = 8.0;
/// The part of dynamic tensors that is stored.
const DENSITY: f64 = 0.01;

fn program(rule: &str, more: &str) -> Program {
    crate::load(&format!("symbols: N\n{rule}\n{more}")).unwrap().0
}

fn steps(program: &Program, choice: &Choice) -> String {
    let next = contracted(program, choice);
    let mut text = String::new();
    for rule in &next.rules {
        let _ = writeln!(text, "{}", rule_text(&next, rule));
    }
    text
}

fn asked(rule: &str, schedule: &str, more: &str, expected: Expect) {
    let program = program(&format!("{rule}\nschedule: {schedule}"), more);
    let line = program.schedule_line().unwrap();
    assert_eq!(line, format!("schedule: {schedule}"));
    expected.assert_eq(&steps(&program, &given(&program)));
}

#[test]
fn steps_that_are_asked_for() {
    let rule = "C(i, l) := X(j, i) * B(j, k) * X(k, l)";
    asked(
        rule,
        "C -> contract((X, B), X)",
        "",
        expect![[r#"
        C.1(i, k) := X(j, i) * B(j, k)
        C(i, l) := C.1(i, k) * X(k, l)
    "#]],
    );
    asked(
        rule,
        "C -> contract(1, (2, 3))",
        "",
        expect![[r#"
        C.1(l, j) := B(j, k) * X(k, l)
        C(i, l) := X(j, i) * C.1(l, j)
    "#]],
    );
    asked(
        rule,
        "C -> contract(none)",
        "",
        expect![[r#"
        C(i, l) := X(j, i) * B(j, k) * X(k, l)
    "#]],
    );
    // Loops that a schedule names are those of the whole rule.
    asked(
        rule,
        "C -> unroll(i=2)",
        "",
        expect![[r#"
        C(i, l) := X(j, i) * B(j, k) * X(k, l)
    "#]],
    );
    // Numbers and functions belong to the last step, comparisons to the first step that can test them.
    asked(
        "y(i) := 2 * N() * A(i, j) * B(j, k) * D(k, l) * exp(E(i, l)) * (j <= k) * (i < 5) * (i != l)",
        "y -> contract((A, B), D)",
        "",
        expect![[r#"
            y.1(i, k) := A(i, j) * B(j, k) * (j <= k) * (i < 5)
            y(i) := 2 * N() * y.1(i, k) * D(k, l) * (exp(E(i, l))) * (i != l)
        "#]],
    );
    // Each product of a sum with these factors.
    asked(
        "s() := A(i) * B(i, j) * D(j) + E(i)",
        "s -> contract((A, B), D)",
        "",
        expect![[r#"
        s.1(j) := A(i) * B(i, j)
        s() := s.1(j) * D(j) + E(i)
    "#]],
    );
    asked(
        "d(i, j) := min(k, l) A(i, k) + B(k, l) + D(l, j)",
        "d -> contract(A, (B, D))",
        "",
        expect![[r#"
        d.1(j, k) := min(l) B(k, l) + D(l, j)
        d(i, j) := min(k) A(i, k) + d.1(j, k)
    "#]],
    );
}

/// The cheapest steps of a rule, and why there are none.
fn found(rule: &str, more: &str) -> String {
    let program = program(rule, more);
    let mut choice = Choice::new();
    let mut obstacles = String::new();
    for (index, rule) in program.rules.iter().enumerate() {
        for (place, product) in rule.products.iter().enumerate() {
            if let Some(obstacle) = obstacle(&program, rule, product) {
                let _ = writeln!(obstacles, "in one step: {obstacle}");
                continue;
            }
            let dynamic = |at: usize| program.tensor(product.accesses[at].tensor).format.is_some();
            let sizes = Sizes {
                extent: &|name| if name == "r" { RANK } else { SIDE },
                density: &|at| if dynamic(at) { DENSITY } else { 1.0 },
                most_elements: 1e7,
            };
            let trees = search(&program, rule, product, &sizes);
            let Some(tree) = trees.into_iter().next() else {
                obstacles += "in one step: no steps are possible\n";
                continue;
            };
            choice.insert((RuleId(index), place), tree);
        }
    }
    steps(&program, &choice) + &obstacles
}

#[test]
fn the_cheapest_steps() {
    let sparse = "S:D(i, j) := (0 <= i < N) * (0 <= j < N)\nS:F := csr";
    let result = format!("{sparse}\nC:D(i, j) := (0 <= i < N) * (0 <= j < N)\nC:F := csr");
    let mut text = String::new();
    for (rule, more) in [
        ("C(i, l) := X(j, i) * B(j, k) * X(k, l)", ""),
        ("C(i, r) := A(i, j) * B(j, k) * D(k, l) * E(l, r)", ""),
        ("G(r, q, p) := T(i, j, k) * U(i, r) * V(j, q) * W(k, p)", ""),
        ("A(i, r) := T(i, j, k) * C(j, r) * D(k, r)", ""),
        ("s() := x(i) * A(i, j) * x(j)", ""),
        ("C(i, j) := S(i, j) * A(i, r) * B(j, r)", sparse),
        ("C(i, r) := S(i, j) * A(j, k) * B(k, r)", sparse),
        ("C(i, j) := S(i, j) * A(i, k) * B(k, l) * D(l, j)", &result),
        ("C(i, j) := S(i, k) * A(k, l) * B(l, j)", &result),
        ("d(i, j) := min(k, l) A(i, k) + B(k, l) + D(l, j)", ""),
        ("d(i, j) := max(k, l) A(i, k) * B(k, l) * D(l, j)", ""),
        ("y(i) := A(i + j) * x(j) * z(k)", ""),
        ("y(i) := A(i * j) * x(j) * z(j)", ""),
        ("y(i) := A(i) * x(i)", ""),
        (
            "t() := A(a, b) * B(b, c) * C(c, d) * D(d, e) * E(e, f) * F(f, g) * G(g, h) * H(h, k) * I(k, a)",
            "",
        ),
    ] {
        let _ = writeln!(text, "# {rule}\n{}", found(rule, more));
    }
    expect![[r#""#]].assert_eq(&text);
}

#[test]
fn trees_as_they_are_written() {
    let tree =
        Tree::Step(vec![Tree::Step(vec![Tree::Factor(2), Tree::Factor(0)]), Tree::Factor(1)]);
    assert_eq!(tree.written(&|at| ["A", "B", "C"][at].to_owned()), "(C, A), B");
    assert_eq!((tree.is_direct(), tree.factors()), (false, vec![2, 0, 1]));
}
