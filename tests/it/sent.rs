//! Random rules whose heads say by values where terms are added, compared with the reference evaluator.

use std::collections::BTreeMap;

use dastac::build::BuildOptions;
use dastac::driver::{Built, compile};
use dastac::run::Runner;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Subscripts of heads.
const PLACES: [&str; 8] = ["p(i)", "q(j)", "q(i) + 1", "p(j)", "r(i, j)", "p(p(i))", "i", "j"];
/// Factors, the last of which is stored in csr.
const FACTORS: [&str; 6] = ["x(i)", "x(j)", "A(i, j)", "T(i, j)", "3", "S(i, j)"];
const REDUCTIONS: [&str; 7] = ["", "", "sum", "max", "min", "mean", "or"];
const INPUTS: &str = "A:D(i, j) := (0 <= i < N) * (0 <= j < N)
T:D(i, j) := (0 <= i < N) * (0 <= j < N)
T:U(i, j) := (j <= i)
S:D(i, j) := (0 <= i < N) * (0 <= j < N)
S:F := csr
r:D(i, j) := (0 <= i < N) * (0 <= j < N)
x:D(i) := (0 <= i < N)
p:D(i) := (0 <= i < N)
q:D(i) := (0 <= i < N)
";

fn rule(random: &mut ChaCha8Rng) -> String {
    let one = |random: &mut ChaCha8Rng, of: &[&'static str]| of[random.random_range(0..of.len())];
    let places: Vec<&str> = (0..random.random_range(1..=2)).map(|_| one(random, &PLACES)).collect();
    let factors: Vec<&str> =
        (0..random.random_range(1..=2)).map(|_| one(random, &FACTORS)).collect();
    let (head, body) = (places.join(", "), factors.join(" * "));
    let text = format!("{head} {body}");
    let is_used = |name: &str| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
    let free: Vec<&str> =
        ["i", "j"].into_iter().filter(|name| is_used(name) && !places.contains(name)).collect();
    let word = one(random, &REDUCTIONS);
    let reduction = match word {
        "" => String::new(),
        _ if free.is_empty() => String::new(),
        word => format!("{word}({}) ", free.join(", ")),
    };
    let names = &["k", "l"][..places.len()];
    let bounds: Vec<String> = names.iter().map(|name| format!("(0 <= {name} < N)")).collect();
    format!("y({head}) := {reduction}{body}\ny:D({}) := {}\n", names.join(", "), bounds.join(" * "))
}

/// Runs a program at several sizes, with random inputs, and compares what it computes.
fn agrees(built: Built, case: usize, source: &str) {
    let sizes = |n| BTreeMap::from([("N".to_string(), n)]);
    let mut runner = Runner::new(built, &sizes(0), 1 + case % 2).unwrap();
    for n in [0, 1, 2, 7, 19] {
        runner.resize(&sizes(n)).unwrap();
        runner.set_density(0.4);
        let inputs = runner.random_inputs(case as u64, &BTreeMap::new()).unwrap();
        runner.execute().unwrap();
        let outcome = runner.verify(&inputs).unwrap();
        assert!(outcome.agrees(), "N = {n}: {outcome:?}\n{source}");
    }
}

#[test]
fn random_rules_agree_with_the_reference() {
    let mut random = ChaCha8Rng::seed_from_u64(20261126);
    for case in 0..60 {
        let rule = rule(&mut random);
        let is_used = |name: &str| {
            let words = rule.split(|c: char| !c.is_alphanumeric() && c != '(');
            words.flat_map(|word| word.split_inclusive('(')).any(|word| word == format!("{name}("))
        };
        let types = [("p", "i64"), ("q", "i32"), ("r", "i64")].into_iter();
        let types =
            types.filter(|(name, _)| is_used(name)).map(|(name, ty)| format!("{name} = {ty}"));
        let types = match types.collect::<Vec<_>>() {
            types if types.is_empty() => String::new(),
            types => format!("types: {}\n", types.join(", ")),
        };
        let inputs: String = INPUTS
            .lines()
            .filter(|line| is_used(&line[..1]))
            .map(|line| format!("{line}\n"))
            .collect();
        let source = format!("symbols: N\n{types}{rule}{inputs}");
        let options = BuildOptions { parallel: case % 2 == 0, ..BuildOptions::default() };
        let built = match compile(&source, options) {
            Ok(built) => built,
            // An iterator twice in a head.
            Err(error) if format!("{error:?}").contains("E0110") => continue,
            Err(error) => panic!("{error:?}\n{source}"),
        };
        agrees(built, case, &source);
    }
}

/// Rules in which integers choose rows and elements of tensors with formats, or where elements of such results go.
const CHOSEN: [&str; 16] = [
    "y(i) := A(p(i), j) * x(j)",
    "y(i, j) := A(p(i), j)",
    "y(p(i), j) := A(i, j)",
    "y(i, j) := A(p(i), q(j))",
    "y(p(i), q(j)) := A(i, j)",
    "y(i, j) := A(i, q(j))",
    "y(i) := A(i, j) * x(q(j))",
    "y(i, j) := A(p(i), j) * B(i, j)",
    "y(i, j) := A(p(i), j) + 2 * B(i, j)",
    "y(i, j) := A(i, k) * B(p(k), j)",
    "y(p(i), q(i)) := x(i)",
    "y(p(i)) := A(i, j) * x(j)",
    "y(i, j) := A(p(q(i)), j)",
    "y(i, j) := A(r(i, j), j)",
    "y(i, j) := A(p(i), j)^2",
    "y(i, j) := A(min(p(i), 3), j) * (j <= i)",
];

#[test]
fn chosen_elements_agree_with_the_reference_in_formats() {
    let formats = ["csr", "coo", "csc", "dcsr"];
    for (case, rule) in CHOSEN.iter().enumerate() {
        let is_matrix = rule.split(":=").next().is_some_and(|head| head.contains(','));
        let of_head: &[&str] =
            if is_matrix { &["", "csr", "coo", "csc", "dcsr"] } else { &["", "C"] };
        for (nth, own) in of_head.iter().enumerate() {
            let is_used = |name: &str| rule.contains(&format!("{name}("));
            let mut types = vec!["p = i64", "q = i32", "r = i64"];
            types.retain(|one| is_used(&one[..1]));
            let mut source = format!("symbols: N\ntypes: {}\n{rule}\n", types.join(", "));
            source += if is_matrix {
                "y:D(k, l) := (0 <= k < N) * (0 <= l < N)\n"
            } else {
                "y:D(k) := (0 <= k < N)\n"
            };
            if !own.is_empty() {
                source += &format!("y:F := {own}\n");
            }
            for (name, dimensions) in [("A", 2), ("B", 2), ("r", 2), ("x", 1), ("p", 1), ("q", 1)] {
                if is_used(name) {
                    source += match dimensions {
                        1 => format!("{name}:D(i) := (0 <= i < N)\n"),
                        _ => format!("{name}:D(i, j) := (0 <= i < N) * (0 <= j < N)\n"),
                    }
                    .as_str();
                }
            }
            for (at, name) in ["A", "B"].into_iter().enumerate().filter(|(_, name)| is_used(name)) {
                source += &format!("{name}:F := {}\n", formats[(case + nth + at) % 4]);
            }
            let options = BuildOptions { parallel: nth % 2 == 0, ..BuildOptions::default() };
            let built =
                compile(&source, options).unwrap_or_else(|error| panic!("{error:?}\n{source}"));
            agrees(built, case, &source);
        }
    }
}
