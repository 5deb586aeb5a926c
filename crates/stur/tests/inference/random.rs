//! Random small programs about symmetry and redundancy, against brute force.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::brute_force::{analyse, check};

/// Name, rank, declarations.
const INPUTS: &[(&str, usize, &str)] = &[
    ("f", 1, "f:D(i) := (0 <= i < N)"),
    ("e", 1, "e:D(i) := (0 <= i < N)\ne:U(i) := (i = 2 * q) * (0 <= q < N)"),
    (
        "p",
        1,
        "p:D(i) := (0 <= i < N)\np:U(i) := (2 * i < N)\np:R(i, ip) := (2 * i >= N) * (ip = N - 1 - i)",
    ),
    (
        "q",
        1,
        "q:D(i) := (0 <= i < N)\nq:U(i) := (2 * i < N - 1)\nq:R(i, ip) := -1 * (2 * i > N - 1) * (ip = N - 1 - i)",
    ),
    (
        "b",
        1,
        "b:D(i) := (0 <= i < N)\nb:U(i) := (i % 2 = 0)\nb:R(i, ip) := 2 * M() * (i % 2 = 1) * (ip = i - 1)",
    ),
    ("A", 2, "A:D(i, j) := (0 <= i < N) * (0 <= j < N)"),
    ("L", 2, "L:D(i, j) := (0 <= i < N) * (0 <= j < N)\nL:U(i, j) := (j <= i)"),
    (
        "V",
        2,
        "V:D(i, j) := (0 <= i < N) * (0 <= j < N)\nV:U(i, j) := (i <= j)\n\
        V:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)",
    ),
    (
        "H",
        2,
        "H:D(i, j) := (0 <= i < N) * (0 <= j < N)\nH:U(i, j) := (j <= i)\n\
        H:R(i, j, ip, jp) := (j > i) * (ip = j) * (jp = i)",
    ),
    (
        "S",
        2,
        "S:D(i, j) := (0 <= i < N) * (0 <= j < N)\nS:U(i, j) := (i < j)\n\
        S:R(i, j, ip, jp) := -1 * (j < i) * (ip = j) * (jp = i)",
    ),
    (
        "T",
        2,
        "T:D(i, j) := (0 <= i < N) * (0 <= j < N)\nT:U(i, j) := (i = 0) + (i > 0) * (j = 0)\n\
        T:R(i, j, ip, jp) := (1 <= i <= j) * (ip = 0) * (jp = j - i) + (1 <= j < i) * (ip = i - j) * (jp = 0)",
    ),
    (
        "C",
        2,
        "C:D(i, j) := (0 <= i < N) * (0 <= j < N)\nC:U(i, j) := (i = 0)\n\
        C:R(i, j, ip, jp) := (1 <= i <= j) * (ip = 0) * (jp = j - i) + (j < i) * (ip = 0) * (jp = j - i + N)",
    ),
    (
        "Q",
        2,
        "Q:D(i, j) := (0 <= i < N) * (0 <= j < N)\nQ:U(i, j) := (j < N - 1)\n\
        Q:R(i, j, ip, jp) := 3 * (j = N - 1) * (N >= 2) * (ip = i) * (jp = 0)",
    ),
    (
        "G",
        2,
        "G:D(i, j) := (0 <= i < N) * (0 <= j < N)\nG:U(i, j) := (i % 2 = 0) * (j % 2 = 0)\n\
        G:R(i, j, ip, jp) := (i % 2 + j % 2 >= 1) * (ip = i - i % 2) * (jp = j - j % 2)",
    ),
    (
        "K",
        2,
        "K:D(i, j) := (0 <= i < N) * (0 <= j < N)\nK:U(i, j) := (j = 0)\n\
        K:R(i, j, ip, jp) := (1 <= j <= i) * (ip = i - j) * (jp = 0)",
    ),
    (
        "J",
        2,
        "J:D(i, j) := (0 <= i < N) * (0 <= j < N)\nJ:U(i, j) := (i + j < N)\n\
        J:R(i, j, ip, jp) := (i + j >= N) * (ip = N - 1 - j) * (jp = N - 1 - i)",
    ),
    (
        "X",
        2,
        "X:D(i, j) := (0 <= i < N) * (0 <= j < N)\nX:U(i, j) := (2 * i < N - 1) + (2 * i = N - 1) * (2 * j < N)\n\
        X:R(i, j, ip, jp) := (2 * i > N - 1) * (ip = N - 1 - i) * (jp = N - 1 - j) + (2 * i = N - 1) * (2 * j >= N) * \
        (ip = i) * (jp = N - 1 - j)",
    ),
    (
        "W",
        2,
        "W:D(i, j) := (0 <= i < N) * (0 <= j < N)\nW:U(i, j) := (i = 0)\n\
        W:R(i, j, ip, jp) := (1 <= i <= j) * (ip = 0) * (jp = j - i) + -1 * (j < i) * (ip = 0) * (jp = j - i + N)",
    ),
    (
        "E",
        2,
        "E:D(i, j) := (0 <= i < N) * (0 <= j < N)\nE:U(i, j) := (i = 0)\n\
        E:R(i, j, ip, jp) := (i >= 1) * (i + j < N) * (ip = 0) * (jp = i + j)",
    ),
    (
        "F",
        2,
        "F:D(i, j) := (0 <= i < N) * (0 <= j < N)\nF:U(i, j) := (i = 0) * (j <= 1) + (i = 1) * (j = 0)\n\
        F:R(i, j, ip, jp) := (i >= 1) * (j = i) * (ip = 0) * (jp = 0) + (i >= 1) * (j = i + 1) * (ip = 0) * (jp = 1) \
        + (i >= 2) * (j = i - 1) * (ip = 1) * (jp = 0)",
    ),
    (
        "I",
        2,
        "I:D(i, j) := (0 <= i < N) * (0 <= j < N)\nI:U(i, j) := (2 * i < N - 1)\n\
        I:R(i, j, ip, jp) := -1 * (2 * i > N - 1) * (ip = N - 1 - i) * (jp = N - 1 - j)",
    ),
    (
        "B",
        3,
        "B:D(i, j, k) := (0 <= i < N) * (0 <= j < N) * (0 <= k < N)\nB:U(i, j, k) := (i = 0)\n\
        B:R(i, j, k, ip, jp, kp) := (1 <= i <= j) * (ip = 0) * (jp = j - i) * (kp = k) + (j < i) * (ip = 0) * \
        (jp = j - i + N) * (kp = k)",
    ),
    (
        "Y",
        3,
        "Y:D(i, j, k) := (0 <= i < N) * (0 <= j < N) * (0 <= k < N)\nY:U(i, j, k) := (i <= j <= k)\n\
        Y:R(i, j, k, ip, jp, kp) := (i <= k < j) * (ip = i) * (jp = k) * (kp = j) + (j < i <= k) * (ip = j) * (jp = \
        i) * (kp = k) + (j <= k < i) * (ip = j) * (jp = k) * (kp = i) + (k < i <= j) * (ip = k) * (jp = i) * (kp = j) \
        + (k < j < i) * (ip = k) * (jp = j) * (kp = i)",
    ),
    (
        "Z",
        3,
        "Z:D(i, j, k) := (0 <= i < N) * (0 <= j < N) * (0 <= k < N)\nZ:U(i, j, k) := (i < j)\n\
        Z:R(i, j, k, ip, jp, kp) := -1 * (i > j) * (ip = j) * (jp = i) * (kp = k)",
    ),
    ("D", 3, "D:D(i, j, k) := (0 <= i < N) * (0 <= j < N) * (0 <= k < N)"),
];

const ITERATORS: [&str; 4] = ["i", "j", "k", "l"];

struct Generator<'a>(&'a mut ChaCha8Rng);

/// A factor: a tensor (or a comparison with no name) with text where `{0}` stands for the head's iterators.
type Factor = (String, Vec<String>);

impl Generator<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    fn program(&mut self) -> String {
        let mut tensors: Vec<(String, usize)> =
            INPUTS.iter().map(|(name, rank, _)| ((*name).into(), *rank)).collect();
        // Few tensors a program: symmetry needs the same ones again.
        let kept: Vec<(String, usize)> = (0..self.0.random_range(1..4))
            .map(|_| tensors.choose(self.0).unwrap().clone())
            .collect();
        tensors = kept;
        let mut rules = Vec::new();
        for head in &["O", "P"][..self.0.random_range(1..=2)] {
            let rank = *[1, 1, 2, 2, 2, 2, 3, 3, 4].choose(self.0).unwrap();
            rules.push(self.rule(head, rank, &tensors));
            tensors.push(((*head).into(), rank));
        }
        let text = rules.join("\n");
        let used = INPUTS.iter().filter(|(name, ..)| {
            text.contains(&format!("{name}(")) || text.contains(&format!("{name}^-1("))
        });
        let used: Vec<&str> = used.map(|(_, _, declared)| *declared).collect();
        format!("symbols: N, M\n{}\n{text}\n", used.join("\n"))
    }

    fn rule(&mut self, head: &str, rank: usize, tensors: &[(String, usize)]) -> String {
        let iterators = &ITERATORS[..rank];
        if rank == 2
            && self.chance(50)
            && let Some(products) = self.matrix_products(tensors)
        {
            return format!("{head}(i, j) := {products}");
        }
        let first = self.product(iterators, tensors);
        let mut products = vec![text(&first)];
        for _ in 0..*[0, 0, 0, 1, 1, 2, 5].choose(self.0).unwrap() {
            if self.chance(70) {
                // The same with the head's iterators exchanged.
                let mut order = iterators.to_vec();
                for k in (1..rank).rev() {
                    order.swap(k, self.0.random_range(0..=k));
                }
                let renamed: Vec<Factor> =
                    first.iter().map(|factor| rename(factor, iterators, &order)).collect();
                let sign = ["", "", "(-1) * ", "2 * "].choose(self.0).unwrap();
                products.push(format!("{sign}{}", text(&renamed)));
            } else {
                let product = self.product(iterators, tensors);
                products.push(text(&product));
            }
        }
        format!("{head}({}) := {}", iterators.join(", "), products.join(" + "))
    }

    /// Products of matrices, and such sums in other semirings: what is equal in them shows only if `r` moves too.
    fn matrix_products(&mut self, tensors: &[(String, usize)]) -> Option<String> {
        let matrices: Vec<&String> =
            tensors.iter().filter(|(_, rank)| *rank == 2).map(|(name, _)| name).collect();
        let (first, second) = (matrices.choose(self.0)?, matrices.choose(self.0)?);
        let rows = ["(i, r)", "(i, r)", "(i, r)", "(r, i)", "(i, N - 1 - r)"].choose(self.0)?;
        let columns = ["(r, j)", "(r, j)", "(r, j)", "(j, r)"].choose(self.0)?;
        let range = "(0 <= i < N) * (0 <= j < N) * (0 <= r < N)";
        Some(match self.0.random_range(0..8) {
            0 => format!("min(r) ({first}{rows} + {second}{columns}) * {range}"),
            1 => format!("max(r) {first}{rows} * {second}{columns} * {range}"),
            2 => format!(
                "{first}{rows} * {second}{columns} * {range} + {second}{rows} * {first}{columns} * {range}"
            ),
            _ => format!("{first}{rows} * {second}{columns} * {range}"),
        })
    }

    fn product(&mut self, head: &[&str], tensors: &[(String, usize)]) -> Vec<Factor> {
        let mut names: Vec<&str> = head.to_vec();
        names.extend(&["r", "s"][..self.0.random_range(0..=2)]);
        let mut factors = Vec::new();
        let mut open: Vec<&str> = head.to_vec();
        for _ in 0..self.0.random_range(1..=3) {
            let (name, rank) = tensors.choose(self.0).unwrap();
            let subscripts = (0..*rank).map(|_| {
                let iterator = if !open.is_empty() && self.chance(75) {
                    open.remove(self.0.random_range(0..open.len()))
                } else {
                    names.choose(self.0).unwrap()
                };
                match self.0.random_range(0..30) {
                    0 => format!("{iterator} + 1"),
                    1 => format!("N - 1 - {iterator}"),
                    2 => format!("{iterator} + {}", names.choose(self.0).unwrap()),
                    3 => format!("{iterator} - {}", names.choose(self.0).unwrap()),
                    4 => format!("{iterator} / 2"),
                    5 => format!("2 * {iterator} + {} - 1", names.choose(self.0).unwrap()),
                    6 => format!("{iterator} - 2 * {} + M", names.choose(self.0).unwrap()),
                    _ => iterator.to_string(),
                }
            });
            let subscripts = subscripts.collect();
            let reciprocal = if name != "O" && self.chance(5) { "^-1" } else { "" };
            factors.push((format!("{name}{reciprocal}"), subscripts));
        }
        // Every iterator gets a range, so that every program means something.
        for name in names {
            factors.push((String::new(), vec![format!("0 <= {name} < N")]));
        }
        if self.chance(25) {
            let condition = [
                "i <= j",
                "i != j",
                "i + j < N",
                "i % 2 = 0",
                "i = j",
                "i <= 2",
                "i + 1 < N",
                "i / 2 = j / 2",
            ];
            let mut condition = condition.choose(self.0).unwrap().to_string();
            if head.len() == 1 {
                condition = condition.replace('j', "1");
            }
            factors.push((String::new(), vec![condition]));
        }
        factors
    }
}

fn rename(factor: &Factor, from: &[&str], to: &[&str]) -> Factor {
    let rename = |text: &String| {
        text.split(' ')
            .map(|word| match from.iter().position(|name| *name == word) {
                Some(k) => to[k],
                None => word,
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    (factor.0.clone(), factor.1.iter().map(rename).collect())
}

fn text(factors: &[Factor]) -> String {
    let factors =
        factors.iter().map(|(name, subscripts)| format!("{name}({})", subscripts.join(", ")));
    factors.collect::<Vec<_>>().join(" * ")
}

/// Cases of the test; more by `INFERENCE_CASES`, a certain one by `INFERENCE_SEED`.
const CASES: u64 = 40;

#[test]
fn random_programs_hold() {
    let cases = std::env::var("INFERENCE_CASES").ok().and_then(|text| text.parse().ok());
    let (mut redundant, mut checked) = (0, 0);
    let one: Option<u64> = std::env::var("INFERENCE_SEED").ok().and_then(|text| text.parse().ok());
    let seeds = one.map_or(0..cases.unwrap_or(CASES), |seed| seed..seed + 1);
    for seed in seeds {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let source = Generator(&mut rng).program();
        let start = std::time::Instant::now();
        let inferred = match analyse(&source) {
            Ok(inferred) => inferred,
            // Too many combinations of pieces is an answer too.
            Err(error) if error.contains("E0311") => continue,
            // Coefficients in other semirings.
            Err(error) if error.contains("E0900") => continue,
            Err(error) => panic!("seed {seed}: {error}\n{source}"),
        };
        let slow = start.elapsed().as_secs_f64();
        if cases.is_some() && slow > 2.0 {
            eprintln!("seed {seed}: {slow} s\n{source}");
        }
        for symbols in [[0, 0], [1, 1], [2, 3], [3, 1], [4, 2], [5, 0]] {
            let done = check(&inferred, &source, &symbols);
            checked += u32::from(done.unwrap_or_else(|error| panic!("seed {seed}: {error}")));
        }
        let heads = inferred.rules.iter().map(|rule| &inferred.tensors[rule.head.0]);
        redundant += u32::from(heads.into_iter().any(|head| !head.redundancy.is_empty()));
    }
    assert!(
        one.is_some() || checked > 0 && redundant * 10 > checked / 6,
        "{redundant} of {checked} have a redundancy"
    );
}
