//! Random schedules of every example: the same results as the reference, with threads, and nothing refuted.

use std::collections::BTreeMap;

use dastac::build::BuildOptions;
use dastac::contract::{At, Sizes};
use dastac::driver::{Analysis, Laid, Lowered};
use dastac::layout::Proof;
use dastac::run::Runner;
use dastac::stur::ast::{Item, Term};
use dastac::stur::reference::Evaluator;
use dastac::tune::Space;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::examples::examples;

/// Iterations of the reference evaluator that a case may take.
const MAX_COST: u128 = 3_000_000;

/// One in so many examples is tried in the plain test run; with `DASTAC_FUZZ_SCHEDULES=n` all of them, `n` times.
const TRIED: u64 = 4;

/// One in so many examples is also proven.
const PROVEN: usize = 7;

/// Gives every rule a few random choices.
pub fn schedule(laid: &mut Laid, rng: &mut ChaCha8Rng) {
    let inferred = &mut laid.analysis.inferred;
    for rule in &inferred.rules {
        let space = Space::of(&inferred.program, rule, true);
        let mut schedule = inferred.program.rules[rule.rule.0].schedule.clone();
        for _ in 0..rng.random_range(1..7) {
            schedule = space.neighbour(&schedule, rng);
        }
        // Blocks that are smaller than the sizes here.
        schedule.tiles.iter_mut().for_each(|(_, size)| *size = *size % 5 + 2);
        inferred.program.rules[rule.rule.0].schedule = schedule;
    }
}

#[test]
fn random_schedules_agree_with_the_reference() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("DASTAC_FUZZ_SEED").unwrap_or(1);
    let many = number("DASTAC_FUZZ_SCHEDULES");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for (k, path) in examples().iter().enumerate() {
        if many.is_none() && !(k as u64 + seed).is_multiple_of(TRIED) {
            continue;
        }
        let source = std::fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let whole = Analysis::of(&source).unwrap().lay_out().unwrap();
        for _ in 0..many.unwrap_or(1) {
            let mut laid = whole.clone();
            schedule(&mut laid, &mut rng);
            let program = laid.program().clone();
            let line = program.schedule_line().unwrap_or_default();
            // What is written can be read.
            program.clone().reschedule(&line).unwrap_or_else(|e| panic!("{name}: {line}: {e:?}"));
            let lowered = laid.lower().unwrap_or_else(|error| panic!("{name}: {line}: {error}"));
            if k % PROVEN == 0 || many.is_some() {
                for check in lowered.prove().unwrap() {
                    let refuted = matches!(check.proof, Proof::Refuted(_));
                    assert!(!refuted, "{name}: {line}: {check:?}");
                }
            }
            let target = BuildOptions { parallel: true, ..BuildOptions::default() };
            let built =
                lowered.build(target).unwrap_or_else(|error| panic!("{name}: {line}: {error}"));
            let sizes = |pattern: &[i64]| -> BTreeMap<String, i64> {
                let symbols = program.symbols.iter().enumerate();
                let value = |(at, (name, _)): (usize, &(String, _))| {
                    let value = pattern[at % pattern.len()];
                    let fixed = matches!(name.as_str(), "I" | "J" | "K" | "S");
                    (name.clone(), if fixed { value / 3 } else { value })
                };
                symbols.map(value).collect()
            };
            let mut runner = Runner::new(built, &sizes(&[0]), 2).unwrap();
            let patterns: &[&[i64]] = &[&[0], &[1], &[7], &[5, 3, 7, 2], &[9, 13, 11, 10]];
            for pattern in patterns {
                let sizes = sizes(pattern);
                let values: Vec<i64> =
                    program.symbols.iter().map(|(name, _)| sizes[name]).collect();
                if Evaluator::new(&program, &values).unwrap().cost() > MAX_COST {
                    continue;
                }
                runner.resize(&sizes).unwrap();
                let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
                runner.execute().unwrap();
                let outcome = runner.verify(&inputs).unwrap();
                assert!(outcome.agrees(), "{name} {sizes:?}: {line}: {outcome:?}");
            }
        }
    }
}

/// Rules of several factors, each with a `contract(..)`; their tensors are squares of side `N` but for those that have
/// a line below.
const PRODUCTS: &[(&str, &str, &str)] = &[
    ("C(i, l) := X(j, i) * B(j, k) * X(k, l)", "C -> contract((X, B), X)", ""),
    ("C(i, l) := X(j, i) * B(j, k) * X(k, l)", "C -> contract(1, (2, 3))", "B:U(j, k) := (j <= k)"),
    (
        "C(i, l) := X(j, i) * B(j, k) * X(k, l)",
        "C -> contract((1, 2), 3), parallel(i)",
        "B:U(j, k) := (j <= k)\nB:R(j, k, p, q) := (j > k) * (j = q) * (k = p)",
    ),
    (
        "G(r, q, p) := T(i, j, k) * U(i, r) * V(j, q) * W(k, p)",
        "G -> contract(((T, U), V), W)",
        "T:D(i, j, k) := (0 <= i < N) * (0 <= j < M) * (0 <= k < N)\nV:D(j, q) := (0 <= j < M) * (0 <= q < 3)",
    ),
    (
        "s() := x(i) * A(i, j) * B(j, k) * x(k)",
        "s -> contract((x, A), (B, x))",
        "x:D(i) := (0 <= i < N)",
    ),
    (
        "C(i, l) := A(i, j) * B(j, k) * D(k, l)",
        "C -> contract((A, B), D)",
        "types: A = f32, B = f32, C = f32",
    ),
    (
        "C(i, l) := A(i, j) * B(j, k) * D(k, l)",
        "C -> contract(A, (B, D))",
        "types: A = i8, B = i32, C = i16, D = u8",
    ),
    (
        "C(i, l) := A(i, j) * B(j, k) * D(k, l)",
        "C -> contract(A, (B, D))",
        "types: A = complex128, C = complex128",
    ),
    ("C(i, l) := A(i, j) * B(j, k) * D(k, l)", "C -> contract(A, (B, D))", "types: C = bf16"),
    ("d(i, l) := min(j, k) A(i, j) + B(j, k) + D(k, l)", "d -> contract((A, B), D)", ""),
    (
        "d(i, l) := max(j, k) A(i, j) + B(j, k) + D(k, l)",
        "d -> contract(A, (B, D))",
        "B:U(j, k) := (j <= k)",
    ),
    (
        "d(i, l) := or(j, k) A(i, j) * B(j, k) * D(k, l)",
        "d -> contract((A, B), D)",
        "types: d = bool",
    ),
    (
        "y(i) := 2 * N() * A(i, j) * B(j, k) * exp(E(i, k)) * D(k, l) * (j <= k) * (i != l) - A(i, i)",
        "y -> contract((A, B), D)",
        "",
    ),
    (
        "y(i) := A(i, j) * x^-1(j) * B(j, k) * x(k)",
        "y -> contract((A, x), (B, x))",
        "x:D(i) := (0 <= i < N)",
    ),
    ("C(i, k) := S(i, j) * A(j, l) * B(l, k)", "C -> contract((S, A), B)", "S:F := csr"),
    ("C(i, k) := S(i, j) * S(j, l) * B(l, k)", "C -> contract(S, (S, B))", "S:F := csr"),
    ("d(i, k) := min(j, l) S(i, j) + S(j, l) + B(l, k)", "d -> contract(S, (S, B))", "S:F := csr"),
    (
        "C(i, j) := S(i, j) * A(i, k) * B(k, l) * D(l, j)",
        "C -> contract(S, (A, B), D)",
        "S:F := csr\nC:F := csr",
    ),
    (
        "Z(i, j) := A(i, p, q, r) * B(j, i, q)",
        "Z -> contract((A), B)",
        "A:D(i, p, q, r) := (0 <= i < N) * (0 <= p < M) * (0 <= q < N) * (0 <= r < 3)\nA:U(i, p, q, r) := (p <= q)",
    ),
    ("y(i) := A(i, j) * B(j, k) * (i < j)", "y -> contract(A, (B))", ""),
    ("d(i, l) := max(j, k) A(i, j, k) + B(j, l)", "d -> contract((A), B), parallel(i)", ""),
    ("y(i) := S(i, j) * B(j, k)", "y -> contract(S, (B))", "S:F := csr"),
    (
        "t() := A(a, b) * B(b, c) * D(c, d) * E(d, e) * A(e, f) * B(f, a)",
        "t -> contract(((A, B), D), ((E, A), B))",
        "",
    ),
];

/// A program of a rule, with squares for tensors that `more` gives no dimensions.
fn of_products(rule: &str, more: &str) -> String {
    let mut text = format!("symbols: N, M\n{rule}\n");
    let mut ranks = BTreeMap::new();
    let (file, _) = dastac::stur::parse(&text);
    for item in &file.items {
        if let Item::Rule(rule) = item {
            collect(&rule.body, &mut ranks);
            if more.contains(&format!("{}:F", rule.tensor.text)) {
                ranks.insert(rule.tensor.text.clone(), rule.iterators.len());
            }
        }
    }
    ranks.remove("N"); // a symbol
    for (name, rank) in ranks {
        let declared = format!("{name}:D(");
        if rank == 0 || more.contains(&declared) {
            continue;
        }
        let names = &["a1", "a2", "a3"][..rank];
        let sides: Vec<String> = names.iter().map(|name| format!("(0 <= {name} < N)")).collect();
        text += &format!("{declared}{}) := {}\n", names.join(", "), sides.join(" * "));
    }
    text + more
}

/// The tensors of a term, with the numbers of their subscripts.
fn collect(term: &Term, ranks: &mut BTreeMap<String, usize>) {
    if let Term::Access { tensor, subscripts, .. } = term {
        ranks.insert(tensor.text.clone(), subscripts.len());
    }
    term.parts().iter().for_each(|part| collect(part, ranks));
}

/// Products in the steps that are asked for, in those that are cheapest, and in none agree with the reference.
#[test]
fn steps_of_products() {
    let mut cut = 0;
    for (rule, schedule, more) in PRODUCTS {
        let text = of_products(rule, more);
        let head = schedule.split(' ').next().unwrap();
        let known = Sizes { symbols: vec![40, 30], density: 0.1, ..Sizes::default() };
        for (schedule, sizes) in [
            (format!("schedule: {schedule}"), None),
            (String::new(), Some(&known)),
            (format!("schedule: {head} -> contract(none)"), Some(&known)),
        ] {
            let text = format!("{text}\n{schedule}");
            let analysis = Analysis::of(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
            let analysis = analysis.contracted(sizes.map_or(At::Asked, At::Sizes)).unwrap();
            let forced = sizes.is_none();
            assert!(!forced || !analysis.plans().is_empty(), "{text}");
            cut += usize::from(sizes.is_some() && !analysis.plans().is_empty());
            let lowered = analysis.lay_out().and_then(|laid| laid.lower());
            let lowered = lowered.unwrap_or_else(|error| panic!("{text}\n{error}"));
            agrees(lowered, &text, &[]);
        }
    }
    assert!(cut > 10, "only {cut} rules are cheaper in steps");
}

/// Products whose cheapest steps depend on the sizes, with the ways to compute them.
const DECIDED: &[(&str, &str, &[&str])] = &[
    (
        "C(i, l) := A(i, j) * B(j, k) * D(k, l)",
        "A:D(i, j) := (0 <= i < M) * (0 <= j < N)\nB:D(i, j) := (0 <= i < N) * (0 <= j < M)\n\
         D:D(i, j) := (0 <= i < M) * (0 <= j < N)",
        &["contract((A, B), D) where M <= N", "contract(A, (B, D)) where N < M"],
    ),
    (
        "C(i, l) := A(i, j) * B(j, k) * D(k, l)",
        "A:D(i, j) := (0 <= i < M) * (0 <= j < N)\nB:U(j, k) := (k <= j)",
        &["contract((A, B), D) where M <= N", "contract(A, (B, D)) where N < M"],
    ),
    (
        "C(i, l) := A(i, j) * B(j, k) * D(k, l) + A(i, j) * D(j, l)",
        "A:D(i, j) := (0 <= i < M) * (0 <= j < N)",
        &["contract((A, B), D) where M <= N", "contract(A, (B, D)) where N < M"],
    ),
    (
        "d(i, l) := min(j, k) A(i, j) + B(j, k) + D(k, l)",
        "A:D(i, j) := (0 <= i < M) * (0 <= j < N)",
        &["contract((A, B), D) where M <= N", "contract(A, (B, D)) where N < M"],
    ),
    // The same steps are cheapest, whatever the sizes are.
    (
        "C(i, l) := A(i, j) * B(j, k) * D(k, l)",
        "D:D(i, j) := (0 <= i < N) * (0 <= j < 3)",
        &["contract(A, (B, D))"],
    ),
];

/// Code that decides between steps when it runs agrees with the reference, whichever it takes, and all is proven.
#[test]
fn steps_decided_when_code_runs() {
    for (rule, more, expected) in DECIDED {
        let text = of_products(rule, more);
        let analysis = Analysis::of(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let analysis = analysis.contracted(At::All).unwrap();
        let ways = analysis.plans().into_iter().flat_map(|plan| plan.contract);
        assert_eq!(ways.collect::<Vec<_>>(), *expected, "{text}");
        let lowered = analysis.lay_out().and_then(|laid| laid.lower());
        let lowered = lowered.unwrap_or_else(|error| panic!("{text}\n{error}"));
        for check in lowered.prove().unwrap() {
            assert!(matches!(check.proof, Proof::Proven), "{text}\n{check:?}");
        }
        agrees(lowered, &text, &[(41, 12), (12, 41), (29, 29)]);
    }
}

/// Nothing of a program is refuted, and it agrees with the reference at small sizes, and at larger ones.
fn agrees(lowered: Lowered, text: &str, larger: &[(i64, i64)]) {
    for check in lowered.prove().unwrap() {
        assert!(!matches!(check.proof, Proof::Refuted(_)), "{text}\n{check:?}");
    }
    let built = lowered.build(BuildOptions::default()).unwrap();
    let sizes = |n: i64, m: i64| BTreeMap::from([("N".to_owned(), n), ("M".to_owned(), m)]);
    let mut runner = Runner::new(built, &sizes(0, 0), 1).unwrap();
    let small = [(0, 0), (1, 1), (2, 2), (7, 7), (5, 3), (3, 8)];
    for &(n, m) in small.iter().chain(larger) {
        runner.resize(&sizes(n, m)).unwrap();
        let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
        runner.execute().unwrap();
        let outcome = runner.verify(&inputs).unwrap();
        assert!(outcome.agrees(), "{text}\nN = {n}, M = {m}: {outcome:?}");
    }
}

const SYMMETRIC: &str = "A:U(i, j) := (i <= j)\nA:R(i, j, p, q) := (i > j) * (p = j) * (q = i)";

/// Rules with more text, and what is copied of them at large sizes.
const EXPANDED: &[(&str, &str, &[&str])] = &[
    ("C(i, j) := A(i, k) * B(k, j)", SYMMETRIC, &["A"]),
    (
        "C(i, j) := A(i, k) * B(k, j)",
        "A:U(i, j) := (i < j)\nA:R(i, j, p, q) := -1 * (i > j) * (p = j) * (q = i)",
        &["A"],
    ),
    (
        "C(i, j) := A(i, k) * A(k, j)",
        "A:U(i, j) := (i = 0) + (i > 0) * (j = 0)\nA:R(i, j, p, q) := (0 < i <= j) * (p = 0) * (q = j - i) + \
         (0 < j < i) * (p = i - j) * (q = 0)",
        &["A"],
    ),
    // A band that is symmetric: the copy is a band.
    (
        "C(i, j) := A(i, k) * B(k, j)",
        "A:U(i, j) := (i <= j <= i + 3)\nA:R(i, j, p, q) := (j < i <= j + 3) * (p = j) * (q = i)",
        &["A"],
    ),
    // An intermediate that is found to be symmetric.
    ("G(i, j) := A(i, k) * A(j, k)\nC(i, j) := G(i, k) * B(k, j)", "", &["G"]),
    ("C(i, j) := A(i, k) * B(k, j) + B(j, k) * A(k, i)", SYMMETRIC, &["A"]),
    ("C(i, j) := min(k) (A(i, k) + A(k, j))", SYMMETRIC, &["A"]),
    ("C(i, j) := A(i, k) * B(k, j)\ntypes: A = f32, B = f32, C = f32", SYMMETRIC, &["A"]),
    ("C(i, j) := A(i, k) * S(k, j)\nS:F(i, j) := csr", SYMMETRIC, &[]),
    // Each element is read twice: no copies.
    ("y(i) := A(i, k) * x(k)\nx:D(i) := (0 <= i < N)", SYMMETRIC, &[]),
    ("s() := A(i, k) * B(k, i)", SYMMETRIC, &[]),
    (
        "Y(i, r) := T(i, j, k) * U(j, r) * V(k, r)",
        "T:D(i, j, k) := (0 <= i < N) * (0 <= j < N) * (0 <= k < N)\nT:U(i, j, k) := (j <= k)\n\
         T:R(i, j, k, p, q, s) := (j > k) * (p = i) * (q = k) * (s = j)\nU:D(i, r) := (0 <= i < N) * (0 <= r < M)\n\
         V:D(i, r) := (0 <= i < N) * (0 <= r < M)\nschedule: Y -> contract(none)",
        &["T"],
    ),
    // Results whose masks divide iterators: each product is computed around the elements it is added to.
    ("C(i, j) := A(i, k) * B(k, j) * (j / 8 <= i / 8)", "", &["C"]),
    ("C(i, j) := A(i, k) * B(k, j) * (i / 8 - 1 <= j / 8 <= i / 8 + 1)", "", &["C"]),
    ("C(i, j) := A(i, k) * B(k, j) * ((i + j) % 3 != 0) + A(k, i) * B(k, j)", "", &["C"]),
    (
        "C(i, j) := A(i, k) * B(k, j) * (i / 4 = j / 4) + 2 * A(k, i) * B(k, j) * (i / 3 <= j / 3)",
        "",
        &["C", "C"],
    ),
    ("C(i, j) := A(i, k) * B(k, j) * ((i - j) % 2 = 0)", SYMMETRIC, &["A", "C"]),
    ("C(i, j) := min(k) (A(i, k) + B(k, j)) * ((i - j) % 2 = 0)", "", &["C"]),
    // Loops step over strides; the rest would be seven times as much.
    ("C(i, j) := A(i, k) * B(k, j) * (j % 2 = 0) * (i % 3 = 1)", "", &[]),
    ("C(i, j) := A(i, k) * B(k, j) * ((i + j) % 7 = 2)", "", &[]),
];

/// Products that read operands from copies, or whose results have copies, agree with the reference: where copies are
/// asked for, where sizes choose them, and where they are forbidden.
#[test]
fn copies_of_operands() {
    for (rule, more, expected) in EXPANDED {
        let text = of_products(rule, more);
        let known = Sizes { symbols: vec![120, 100], density: 0.01, ..Sizes::default() };
        let scheduled = |line: &str| match text.contains("schedule:") {
            true => text.clone(),
            false => format!("{text}\nschedule: C -> {line}"),
        };
        let asked = match expected {
            [] => text.clone(),
            names => scheduled(&format!("expand({})", names.join(", "))),
        };
        let forbidden = match rule.contains("C(i, j) :=") {
            true => scheduled("expand(none)"),
            false => text.clone(),
        };
        for (text, at, wanted) in [
            (&text, At::Sizes(&known), *expected),
            (&asked, At::Asked, if text.contains("schedule:") { &[] } else { *expected }),
            (&forbidden, At::Asked, &[]),
        ] {
            let analysis = Analysis::of(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
            let analysis = analysis.contracted(at).unwrap();
            let copied: Vec<String> = analysis.expanded().into_iter().map(|one| one.of).collect();
            assert_eq!(copied, wanted, "{text}");
            let lowered = analysis.lay_out().and_then(|laid| laid.lower());
            let lowered = lowered.unwrap_or_else(|error| panic!("{text}\n{error}"));
            agrees(lowered, text, &[(23, 11)]);
        }
    }
}
