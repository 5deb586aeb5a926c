//! Definitions of formats: the library, what levels they make, and what is wrong with texts that are none.

use expect_test::{Expect, expect};

use super::super::{Definitions, Format, FormatError, library, parse_with, read_definition};
use super::parse;

#[test]
fn the_library_is_read() {
    let text = include_str!("../library.fmt");
    let lines = text.lines().filter(|line| line.starts_with("format ")).count();
    assert_eq!(library().len(), lines);
    assert!(library().iter().all(|found| !found.about.is_empty()));
    assert!(library().iter().all(|found| text.contains(&found.text)));
}

#[test]
fn levels_follow_from_trim_and_merge() {
    let mut text = String::new();
    for found in library() {
        let numbers = ["2", "3"][..found.parameters.len()].join(", ");
        let name = match numbers.as_str() {
            "" => found.name.clone(),
            numbers => format!("{}({numbers})", found.name),
        };
        let format = parse(&name, "i j").unwrap();
        assert_eq!(parse(&format.to_string(), "i j").unwrap(), format);
        text += &format!("{name}: {}\n", format.spelled(&["i", "j"]));
    }
    expect![[r#"
        csr: dense(i), compressed(j)
        csc: dense(j), compressed(i)
        dcsr: compressed(i), compressed(j)
        dcsc: compressed(j), compressed(i)
        dia: compressed(j - i), dense(i)
        dia_v: compressed(j - i), dense(i / 8), dense(i % 8)
        dense: dense(i), dense(j)
        csf: compressed(i), compressed(j)
        coo: compressed(i, nonunique), singleton(j)
        bcoo(2, 3): compressed(i / 2, nonunique), singleton(j / 3), dense(i % 2), dense(j % 3)
        bcsr(2, 3): dense(i / 2), compressed(j / 3), dense(i % 2), dense(j % 3)
        bsr(2, 3): dense(i / 2), compressed(j / 3), dense(i % 2), dense(j % 3)
        bcsc(2, 3): dense(j / 3), compressed(i / 2), dense(i % 2), dense(j % 3)
        bdcsr(2, 3): compressed(i / 2), compressed(j / 3), dense(i % 2), dense(j % 3)
        bdia(2): dense(i / 2), compressed(j - i), dense(i % 2)
        c2sr(2): dense(i % 2), dense(i / 2), compressed(j)
        csb(2, 3): dense(i / 2), dense(j / 3), compressed(i % 2, nonunique), singleton(j % 3)
        csb_csr(2, 3): dense(i / 2), dense(j / 3), dense(i % 2), compressed(j % 3)
        csb_dcsr(2, 3): dense(i / 2), dense(j / 3), compressed(i % 2), compressed(j % 3)
        hicoo(2): compressed(i / 2, nonunique), singleton(j / 2), compressed(i % 2, nonunique), singleton(j % 2)
        ell: ragged(enumerate(i; j)), dense(i), padded(j)
        bell(2, 3): ragged(enumerate(i / 2; j / 3)), dense(i / 2), padded(j / 3), dense(i % 2), dense(j % 3)
        sell(2, 3): dense(reorder(count(i), descending, 3) / 2), ragged(enumerate(i; j)), dense(reorder(count(i), descending, 3) % 2), padded(i), padded(j)
        jds: ragged(enumerate(i; j)), ragged(reorder(count(i), descending)), padded(i), padded(j)
        cisr(2): dense(balance(count(i), 2)), compressed(i), compressed(j)
        cisr_plus(2): dense(balance(count(i), 2, descending)), compressed(i), compressed(j)
    "#]]
    .assert_eq(&text);
}

#[test]
fn levels_of_one_coordinate_are_left_out() {
    let spelled = |text: &str| parse(text, "i j").unwrap().spelled(&["i", "j"]);
    assert_eq!(parse("c2sr(1)", "i j").unwrap(), Format::csr());
    assert_eq!(parse("hicoo(1)", "i j").unwrap(), Format::coo(2));
    assert_eq!(spelled("bcsr(1, 4)"), "dense(i), compressed(j / 4), dense(j % 4)");
    assert_eq!(spelled("csb(1, 4)"), "dense(i), dense(j / 4), compressed(j % 4)");
    assert_eq!(spelled("csb(4, 1)"), "dense(i / 4), dense(j), compressed(i % 4)");
    assert_eq!(spelled("bdia(1)"), "dense(i), compressed(j - i)");
}

#[test]
fn names_with_numbers() {
    let shown = |text: &str| parse(text, "i j").unwrap().to_string();
    assert_eq!(shown("BSR(4, 8)"), "bcsr(4, 8)");
    assert_eq!(shown("dense(i / 50), compressed(j - i), dense(i % 50)"), "bdia(50)");
    assert_eq!(shown("hicoo(16)"), "hicoo(16)");
    assert_eq!(parse("hicoo(4)", "i j k").unwrap().to_string(), "hicoo(4)");
}

fn defined(definitions: &str, text: &str) -> Result<Format, FormatError> {
    let definitions = Definitions::parse(definitions)?;
    parse_with(text, &["i", "j"], &definitions)
}

#[test]
fn own_definitions() {
    let text = "# banks\nformat banks(p, q) := (x, y) -> (y % p, x / q, y / p, x % q) merge(0, 1) trim(2, 2)\n";
    let spelled = "dense(j % 4), dense(i / 2), compressed(j / 4), dense(i % 2)";
    assert_eq!(defined(text, "banks(4, 2)").unwrap().spelled(&["i", "j"]), spelled);
    let text = "format mine := (i, j) -> (j, i) merge(..) trim(0, 1) fill(0, 0)";
    assert_eq!(defined(text, "Mine").unwrap(), Format::csc());
    let text = "format lists := (i, j) -> (i, j) merge(..) split(0) trim(..)";
    assert_eq!(defined(text, "lists").unwrap(), Format::coo(2));
    let text =
        "format hilo(r, s) := (i, j) -> (i / (r * s), j, i / s % r, i % s) merge(..) trim(1, 1)";
    let spelled = "dense(i / 6), compressed(j), dense(i / 3 % 2), dense(i % 3)";
    assert_eq!(defined(text, "hilo(2, 3)").unwrap().spelled(&["i", "j"]), spelled);
    let text = "format short(b) := (i, j) -> (i, j / b, j % b) merge(..) trim(1, 2) width(2, 8) width(1, 32)";
    let spelled = "dense(i), compressed(j / 256), compressed(j % 256, u8)";
    assert_eq!(defined(text, "short(256)").unwrap().spelled(&["i", "j"]), spelled);
}

fn wrong(text: &str, expected: &Expect) {
    let error = read_definition(text).unwrap_err();
    let shown = &text[error.span.clone()];
    let hint = error.hint.map_or(String::new(), |hint| format!("help: {hint}\n"));
    expected.assert_eq(&format!("{}\n`{shown}`: {}\n{hint}", error.message, error.label));
}

#[test]
fn messages() {
    wrong(
        "format := (i) -> (i)",
        &expect![[r#"
        the name of the format is missing here
        `:`: missing
        help: such as `format bcsr(r, c) := (i, j) -> (i / r, j / c, i % r, j % c) merge(0, 1) trim(1, 1)`
    "#]],
    );
    wrong(
        "format f(b := (i) -> (i)",
        &expect![[r#"
        `,` or `)` is missing here
        `:`: missing
        help: such as `format bcsr(r, c) := (i, j) -> (i / r, j / c, i % r, j % c) merge(0, 1) trim(1, 1)`
    "#]],
    );
    wrong(
        "format f := (i, j) -> (i, k)",
        &expect![[r#"
        there is no dimension `k`
        `k`: unknown
        help: the tensor's dimensions: i, j
    "#]],
    );
    wrong(
        "format f := (i, j) -> (i / b, j)",
        &expect![[r#"
        there is no dimension `b`
        `b`: unknown
        help: the tensor's dimensions: i, j
    "#]],
    );
    wrong(
        "format f := (i, j) -> (i, j) trim(1, 2)",
        &expect![[r#"
        there is no level 2
        `2`: not a level
        help: the map has 2 levels, which are counted from 0
    "#]],
    );
    wrong(
        "format f := (i, j) -> (i, j) trim(1)",
        &expect![[r#"
        `trim` needs the first and the last level
        `trim(1)`: no range of levels
        help: such as `trim(0, 1)`
    "#]],
    );
    wrong(
        "format f := (i, j) -> (i, j) trim(1, 1)",
        &expect![[r#"
            level 0 is neither merged nor trimmed, as no level before trimmed ones
            `i, j`: in this format
            help: `merge(0)` stores each of its coordinates once
        "#]],
    );
    wrong(
        "format f := (i, j) -> (i, j) prune(1, 1)",
        &expect![[r#"
            there is no primitive `prune`
            `prune`: unknown
            help: primitives are `merge`, `split`, `trim`, `fill` and `width`
        "#]],
    );
    wrong(
        "format f := (i, j) -> (i, j) merge(..) trim(1, 1) width(1)",
        &expect![[r#"
            `width` needs a level and how many bits its coordinates have
            `width(1)`: not two numbers
            help: such as `width(1, 16)`
        "#]],
    );
    wrong(
        "format f := (i, j) -> (i, j) merge(..) trim(1, 1) width(1, 12)",
        &expect![[r#"
            coordinates have 8, 16 or 32 bits
            `12`: not a width
            help: those that do not fit into 32 bits get 64
        "#]],
    );
    wrong(
        "format f := (i, j) -> (i, j) merge(..) trim(1, 1) width(2, 8)",
        &expect![[r#"
            there is no level 2
            `2`: not a level
            help: the map has 2 levels, which are counted from 0
        "#]],
    );
    wrong(
        "format f := (i, j) -> (i, j) merge(..) trim(1, 1) width(0, 8)",
        &expect![[r#"
            the width of a dense level, which stores no coordinates
            `i, j`: this map
            help: leave `width(..)` out, or trim the level
        "#]],
    );
    wrong(
        "format f(b) := (i, j) -> (i / b, j)",
        &expect![[r#"
        levels whose coordinates do not tell all elements apart
        `i / b, j`: this map
    "#]],
    );
    wrong(
        "format f := (i, i) -> (i, i)",
        &expect![[r#"
        `i` cannot be another name here
        `format f := (i, i) -> (i, i)`: in this format
        help: dimensions and parameters have names of their own; `rank` is the number of dimensions
    "#]],
    );
    wrong(
        "format f := (i, j) -> (i * j, j)",
        &expect![[r#"
        `*` needs a number on its right side
        `*`: not a number
        help: levels store sums of multiples, quotients and remainders by positive numbers
    "#]],
    );
    wrong(
        "format f := (i, j) (i, j)",
        &expect![[r#"
        `->` is missing here
        `(`: missing
        help: such as `format bcsr(r, c) := (i, j) -> (i / r, j / c, i % r, j % c) merge(0, 1) trim(1, 1)`
    "#]],
    );
}
