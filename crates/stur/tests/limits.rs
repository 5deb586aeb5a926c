//! Absurd programs end in an error soon; large ones that are within the limits are understood.

use std::time::{Duration, Instant};

use dastac_poly::Context;
use dastac_stur::infer::{InferError, infer};
use dastac_stur::load;

/// `each(0)..each(count - 1)`, joined.
fn join(count: usize, separator: &str, each: impl Fn(usize) -> String) -> String {
    (0..count).map(each).collect::<Vec<_>>().join(separator)
}

/// `symbols: N`, a vector, and a rule with this right-hand side.
fn vector(body: &str) -> String {
    format!("symbols: N\nB:D(i) := (0 <= i < N)\nA(i) := {body}\n")
}

fn copy(rank: usize) -> String {
    let names = join(rank, ", ", |k| format!("i{k}"));
    let bounds = join(rank, " * ", |k| format!("(0 <= i{k} < N)"));
    format!("symbols: N\nA({names}) := B({names})\nB:D({names}) := {bounds}\n")
}

fn symbols(count: usize) -> String {
    let names = join(count, ", ", |k| format!("N{k}"));
    let bounds = join(count, " * ", |k| format!("(0 <= i < N{k})"));
    format!("symbols: {names}\nA(i) := B(i)\nB:D(i) := {bounds}\n")
}

/// A rule for each but the first of so many tensors, which reads the one before.
fn chained(count: usize) -> String {
    let first = vector("B(i)");
    first
        + &join(count, "\n", |k| {
            format!(
                "C{}(i) := {}(i) * {k}",
                k + 1,
                if k == 0 { "A".into() } else { format!("C{k}") }
            )
        })
}

fn tensors(count: usize) -> String {
    let declared = join(count, "\n", |k| format!("B{k}:D(i) := (0 <= i < N)"));
    let sum = join(count, " + ", |k| format!("B{k}(i)"));
    format!("symbols: N\n{declared}\nA(i) := {sum}\n")
}

fn regions(count: usize) -> String {
    let regions =
        join(count, " + ", |k| format!("({k} <= i < {k} + N) * (i + {} * j < 2 * N)", k % 7));
    format!(
        "symbols: N\nA(i) := B(i, j)\nB:D(i, j) := (0 <= i < N) * (0 <= j < N)\nB:U(i, j) := {regions}\n"
    )
}

/// Products over pairs of matrices, each made of two regions.
fn products(count: usize) -> String {
    let declared = join(2 * count, "\n", |k| {
        format!(
            "B{k}:D(i, j) := (0 <= i < N) * (0 <= j < N)\nB{k}:U(i, j) := (i < {k}) + (j = i + {k})"
        )
    });
    let sum = join(count, " + ", |k| format!("B{}(i, k) * B{}(k, j)", 2 * k, 2 * k + 1));
    format!("symbols: N\n{declared}\nA(i, j) := {sum}\n")
}

fn remainders(count: usize) -> String {
    vector(&format!("B(i) * {}", join(count, " * ", |k| format!("(i % {} != {})", k + 2, k / 2))))
}

fn nested(levels: usize) -> String {
    let inner =
        (0..levels).fold("i".to_string(), |inner, k| format!("(({inner}) * 3 + 1) / {}", k + 2));
    vector(&format!("B(i) * ({inner} < N)"))
}

fn chain(operands: usize) -> String {
    vector(&format!("B(i) * (0 <= {} < N)", join(operands, " <= ", |_| "i".into())))
}

/// Each program, the message of its error.
fn absurd() -> Vec<(String, &'static str)> {
    vec![
        (copy(40), "`A` has 40 subscripts, more than the limit of 16"),
        (symbols(64), "the program has 64 symbols, more than the limit of 24"),
        (chained(20_000), "the program has 20001 rules, more than the limit of 4096"),
        (tensors(9000), "the program has 9001 tensors, more than the limit of 8192"),
        (regions(600), "`B:U` has 600 regions, more than the limit of 512"),
        (remainders(300), "a product has 300 comparisons, more than the limit of 64"),
        (remainders(20), "a product has 20 divisions and remainders, more than the limit of 12"),
        (nested(30), "this has 30 nested divisions and remainders, more than the limit of 4"),
        (chain(20_000), "a product has 20001 comparisons, more than the limit of 64"),
        (
            vector(&join(40, " * ", |k| format!("B(j{k})"))),
            "a product has 33 iterators, more than the limit of 32",
        ),
        (
            vector("B(i + 9223372036854775807) * (i * 4611686018427387904 < N)"),
            "the constant 9223372036854775807 is more than the limit of 281474976710656 in absolute value",
        ),
        (
            // 32,768 products of 400 nodes: each would copy its subscripts.
            vector(&format!(
                "B({}) * {}",
                join(200, " + ", |_| "i".into()),
                join(15, " * ", |_| "(B(i) + B(i))".into())
            )),
            "multiplied out, the program has 14090244 names, numbers and operators, more than the limit of 4194304",
        ),
        (
            "# ".to_string() + &"x".repeat(60_000_000),
            "the file has 60000002 bytes, more than the limit of 8388608",
        ),
        (
            vector(&format!("B({}", "\n".repeat(1_000_000))),
            "expected a tensor, a number or `(`, found the end of the line",
        ),
    ]
}

#[test]
fn absurd_programs_end_soon_in_an_error() {
    for (text, message) in absurd() {
        let start = Instant::now();
        let diagnostics = load(&text).expect_err(message);
        let time = start.elapsed();
        let codes: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
        let found: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert!(found.contains(&message), "{message}: {found:?}");
        if message.contains("limit") {
            assert!(codes.iter().all(|code| *code == "E0206"), "{codes:?}");
        }
        assert!(diagnostics.len() < 10, "{found:?}");
        for diagnostic in &diagnostics {
            let (span, label) = &diagnostic.labels[0];
            assert!(span.end <= text.len() && !label.is_empty(), "{diagnostic:?}");
        }
        // Without optimisation the parser takes a few times as long.
        let most = Duration::from_secs(if cfg!(debug_assertions) { 6 } else { 2 });
        assert!(time < most, "{message}: {time:?}");
    }
}

#[test]
fn large_programs_are_understood() {
    let simplex = {
        let names = join(8, ", ", |k| format!("i{k}"));
        let chain = join(8, " <= ", |k| format!("i{k}"));
        format!("symbols: N\nA({names}) := B({names})\nB:D({names}) := (0 <= {chain} < N)\n")
    };
    for (name, text) in [
        ("a tensor of rank 16", copy(16)),
        ("a simplex of 8 dimensions", simplex),
        ("24 symbols", symbols(24)),
        ("300 chained rules", chained(300)),
        ("300 tensors", tensors(300)),
        ("64 comparisons", chain(62)),
        ("4 levels of division", nested(4)),
        ("8 remainders", remainders(8)),
        ("30 regions", regions(30)),
    ] {
        let start = Instant::now();
        let (program, _) = load(&text).unwrap_or_else(|found| panic!("{name}: {found:?}"));
        let result = infer(&program, &Context::new().unwrap());
        assert!(result.is_ok(), "{name}: {result:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{name}: {:?}", start.elapsed());
    }
    // As many as are promised; inference has time for them, this test does not.
    for (name, text) in [
        ("4096 rules", chained(4095)),
        ("1024 products over 2048 inputs of two regions", products(1024)),
        ("200 regions", regions(200)),
    ] {
        load(&text).unwrap_or_else(|found| panic!("{name}: {found:?}"));
    }
}

/// What takes isl too many steps names the tensor and its place, not isl's operation.
#[test]
fn sets_that_take_too_long_are_the_programs_fault() {
    let text = regions(30);
    let (program, _) = load(&text).unwrap();
    match infer(&program, &Context::with_limit(3_000).unwrap()) {
        Err(InferError::User(diagnostics)) => {
            assert_eq!(diagnostics[0].code, "E0206");
            assert_eq!(diagnostics[0].message, "the structure of `B` is too complex");
            let (span, label) = &diagnostics[0].labels[0];
            assert!(text[span.start..].starts_with("B:U(i, j)"), "{diagnostics:?}");
            assert!(label.contains("3000 steps"), "{label}");
        }
        other => panic!("{other:?}"),
    }
}
