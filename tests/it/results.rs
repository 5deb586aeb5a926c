//! Results with `:F`: rules times formats, compiled and compared with the reference evaluator, values and patterns; on
//! one thread and two.
//!
//! As in `sparse`, many rules stand in one program.

use std::collections::{BTreeMap, BTreeSet};

use dastac::build::BuildOptions;
use dastac::driver::{Analysis, Indices, Iteration, compile};
use dastac::elements::Storage;
use dastac::elements::View;
use dastac::formats::{Build, Entries, Format, Tensor};
use dastac::run::Runner;
use dastac::stur::Role;
use dastac::stur::reference::Array;

use crate::sparse::{Rule, declared};

/// Rules, with the dynamic tensors in them by rank, the result last. `$` is the number of the case.
const RULES: &[Rule] = &[
    ("C$(i, j) := A$(i, j) + 2 * B$(i, j)", &[("A", 2), ("B", 2), ("C", 2)]),
    ("C$(i, j) := A$(i, j) * B$(i, j)", &[("A", 2), ("B", 2), ("C", 2)]),
    ("C$(i, j) := S$(i, j) * U(i, k) * X(k, j)", &[("S", 2), ("C", 2)]),
    ("C$(i, j) := 3 * A$(j, i)", &[("A", 2), ("C", 2)]),
    ("C$(i, k) := A$(i, j) * B$(j, k)", &[("A", 2), ("B", 2), ("C", 2)]),
    ("C$(i, j) := A$(i, j) * (i < j) + B$(i, j) * (2 <= i)", &[("A", 2), ("B", 2), ("C", 2)]),
    ("C$(i, j) := A$(i, j) * L(i, j) + L(j, i)", &[("A", 2), ("C", 2)]),
    ("C$(i) := A$(i, j) * x(j)", &[("A", 2), ("C", 1)]),
    ("C$(p) := v$(p + r + -1) * f(r)", &[("v", 1), ("C", 1)]),
    ("C$(p, q) := A$(p + r, q + s + -1) * G(r, s)", &[("A", 2), ("C", 2)]),
    ("C$(i, j, k) := S$(i, j) * X(j, k)", &[("S", 2), ("C", 3)]),
    ("C$(i, j, k) := T$(i, j, k) + W$(i, j, k)", &[("T", 3), ("W", 3), ("C", 3)]),
    ("C$(i, k) := T$(i, j, k) * x(j)", &[("T", 3), ("C", 2)]),
    ("C$(i, k) := max_times(j) A$(i, j) * B$(j, k)", &[("A", 2), ("B", 2), ("C", 2)]),
    (
        "C$(i, j) := A$(i, j)\nD$(i, j) := C$(i, j) * B$(i, j)\ny$(j) := C$(i, j) * D$(i, j)",
        &[("A", 2), ("B", 2), ("D", 2), ("C", 2)],
    ),
    (
        "t$(i) := A$(i, j)\nC$(i, j) := t$(i) * A$(i, j) + B$(i, j)\ny$(i) := C$(i, j) * x(j) + t$(i)",
        &[("A", 2), ("B", 2), ("C", 2)],
    ),
    (
        "@preprocess_start\nC$(i, j) := A$(i, j) * B$(i, j)\n@preprocess_end\ny$(j) := C$(i, j) * x(i)",
        &[("A", 2), ("B", 2), ("C", 2)],
    ),
    (
        "@preprocess_start\nt$(i) := A$(i, j)\nC$(i, j) := t$(i) * A$(i, j)\n@preprocess_end\n\
        D$(j, i) := C$(i, j) + A$(j, i)",
        &[("A", 2), ("D", 2), ("C", 2)],
    ),
];

/// Rules whose results are a tensor in another format, or with its dimensions in another order; and what reads them.
const CONVERTED: &[Rule] = &[
    ("C$(i, j) := A$(i, j)", &[("A", 2), ("C", 2)]),
    ("C$(j, i) := A$(i, j)", &[("A", 2), ("C", 2)]),
    ("C$(k, i, j) := T$(i, j, k)", &[("T", 3), ("C", 3)]),
    ("C$(i, j, k) := T$(i, j, k)", &[("T", 3), ("C", 3)]),
    (
        "C$(i, j) := A$(j, i)\nD$(i, j) := C$(j, i) * B$(i, j)\nE$(j, i) := D$(i, j)\n\
        y$(j) := E$(i, j) * x(i) + C$(i, j)",
        &[("A", 2), ("B", 2), ("D", 2), ("E", 2), ("C", 2)],
    ),
    (
        "@preprocess_start\nC$(i, j) := A$(j, i)\n@preprocess_end\n\
        D$(i, j) := C$(j, i)\ny$(i) := D$(i, j) * x(j)",
        &[("A", 2), ("D", 2), ("C", 2)],
    ),
];

/// Rules whose loops come to elements in any order, or several times.
const SCATTERED: &[Rule] = &[
    ("C$(i, k) := A$(i, j) * B$(j, k)", &[("A", 2), ("B", 2), ("C", 2)]),
    ("C$(i, j) := A$(i, j) + B$(0, j)", &[("A", 2), ("B", 2), ("C", 2)]),
    ("C$(i, j) := A$(i, j) + B$(j, i)", &[("A", 2), ("B", 2), ("C", 2)]),
    ("C$(i, l) := B$(j, i) * A$(j, k) * B$(k, l)", &[("A", 2), ("B", 2), ("C", 2)]),
    ("C$(i, k) := S$(i, k) * A$(i, j) * B$(j, k)", &[("A", 2), ("B", 2), ("S", 2), ("C", 2)]),
    ("C$(i, k) := A$(i, j) * B$(j, k) - B$(k, j) * A$(j, i)", &[("A", 2), ("B", 2), ("C", 2)]),
    ("C$(k, i, j) := T$(i, j, k)", &[("T", 3), ("C", 3)]),
    ("C$(j, k) := T$(i, j, k)", &[("T", 3), ("C", 2)]),
    ("C$(j) := T$(i, j, k) + v$(j)", &[("T", 3), ("v", 1), ("C", 1)]),
    ("C$(i, r) := T$(i, j, k) * A$(j, r) * B$(k, r)", &[("T", 3), ("A", 2), ("B", 2), ("C", 2)]),
    ("C$(i, j, l) := T$(i, j, k) * A$(k, l)", &[("T", 3), ("A", 2), ("C", 3)]),
    ("C$(i, k, l) := A$(i, j) * T$(j, k, l)", &[("A", 2), ("T", 3), ("C", 3)]),
    ("C$(i, l) := T$(i, j, k) * W$(j, k, l)", &[("T", 3), ("W", 3), ("C", 2)]),
    ("C$(i, k) := max_times(j) A$(i, j) * L(j, k) * B$(j, k)", &[("A", 2), ("B", 2), ("C", 2)]),
    ("C$(p, q) := A$(2 * p + r, q + -1 * s + 1) * B$(r, s)", &[("A", 2), ("B", 2), ("C", 2)]),
];

/// Tensors that are not dynamic, with their structure.
const OTHERS: &str = "
x:D(j) := (0 <= j < N)
X:D(j, k) := (0 <= j < N) * (0 <= k < N)
U:D(i, k) := (0 <= i < N) * (0 <= k < N)
L:D(j, k) := (0 <= j < N) * (0 <= k < N)
L:U(j, k) := (k <= j)
f:D(r) := (0 <= r < 3)
G:D(r, s) := (0 <= r < 2) * (0 <= s < 3)
";

/// Formats of operands, by rank.
fn formats(rank: usize) -> &'static [&'static str] {
    match rank {
        1 => &["C", "D", "coo"],
        2 => &["csr", "csc", "coo", "dcsr", "DD", "CC(j, i)"],
        _ => &["csf", "coo", "DCC", "DDC", "csf(k, i, j)"],
    }
}

/// Formats of results, by rank.
fn formats_of_results(rank: usize) -> &'static [&'static str] {
    match rank {
        1 => &["C", "D", "coo"],
        2 => &[
            "csr",
            "csc",
            "dcsr",
            "coo",
            "CD",
            "CC(j, i)",
            "DD",
            "bcsr(2, 3)",
            "bdia(3)",
            "hicoo(2)",
            "csb(2, 3)",
            "c2sr(2)",
            "bcoo(3, 2)",
            "dia",
        ],
        _ => &["csf", "DCC", "CDC", "DDC", "coo", "CCD", "DCC(j, k, i)", "hicoo(2)"],
    }
}

/// The types of operands and results of a program.
const TYPES: [Option<(&str, &str)>; 4] =
    [None, Some(("i32", "i32")), Some(("i32", "i64")), Some(("bool", "i32"))];

/// Programs of all rules, each with its tensors in `rounds` combinations of formats.
fn programs(rules: &[Rule], rounds: usize) -> Vec<String> {
    // Results come last.
    let cases = declared(rules, rounds, &|last, rank| match last {
        true => formats_of_results(rank),
        false => formats(rank),
    });
    let whole = |(round, rules): (usize, &[String])| {
        let text = rules.concat();
        let used = |line: &&str| {
            let name = line.split(':').next().unwrap_or_default();
            !name.is_empty() && text.contains(&format!(" {name}("))
        };
        let others: Vec<&str> = OTHERS.lines().filter(used).collect();
        let text = format!("{text}\n{}\n", others.join("\n"));
        format!("symbols: N\n{}{text}", types(&text, TYPES[round % TYPES.len()]))
    };
    cases.chunks(rules.len()).enumerate().map(whole).collect()
}

/// `types:` of all tensors of a program.
fn types(text: &str, of: Option<(&str, &str)>) -> String {
    let Some((operand, result)) = of else { return String::new() };
    let heads = text.lines().filter(|line| line.contains(":="));
    let names = heads.filter_map(|line| line.split(['(', ':']).next().zip(Some(line)));
    let is_rule = |line: &str| line.split_once('(').is_some_and(|(name, _)| !name.contains(':'));
    let (mut all, mut computed) = (BTreeSet::new(), BTreeSet::new());
    for (name, line) in names {
        all.insert(name);
        if is_rule(line) {
            computed.insert(name);
        }
    }
    let own = |name: &&str| if computed.contains(name) { result } else { operand };
    let all: Vec<String> = all.iter().map(|name| format!("{name} = {}", own(name))).collect();
    format!("types: {}\n", all.join(", "))
}

fn sizes(n: i64) -> BTreeMap<String, i64> {
    BTreeMap::from([("N".to_string(), n)])
}

/// Runs a program at several sizes and densities, twice each: the second time the arrays of the first are there.
fn check(source: &str, target: BuildOptions, iteration: impl Into<Iteration>) {
    let iteration = iteration.into();
    let lowered =
        Analysis::of(source).and_then(|analysis| analysis.lay_out()?.lower_for(iteration));
    let threads = 1 + usize::from(target.parallel);
    let built = lowered.and_then(|lowered| lowered.build(target));
    let built = built.unwrap_or_else(|error| panic!("{error:?}\n{source}"));
    let program = built.lowered.program().clone();
    let mut runner = Runner::new(built, &sizes(0), threads).unwrap();
    for (n, density) in
        [(0, 0.5), (1, 1.0), (1, 0.0), (2, 0.5), (7, 0.3), (6, 1.0), (5, 0.0), (9, 0.05)]
    {
        runner.resize(&sizes(n)).unwrap();
        for seed in [3, 4] {
            runner.set_density(density);
            let inputs = runner.random_inputs(seed, &BTreeMap::new()).unwrap();
            runner.execute().unwrap();
            let outcome = runner.verify(&inputs).unwrap();
            assert!(outcome.agrees(), "N = {n}, density {density}: {outcome:?}\n{source}");
            for id in program.tensor_ids() {
                let tensor = program.tensor(id);
                if let (Some(storage), Role::Output(_)) = (&tensor.format, tensor.role) {
                    let result = runner.result(id).unwrap();
                    assert_eq!(*result.format(), storage.format);
                    result.check().unwrap();
                }
            }
        }
    }
}

#[test]
fn results_agree_with_the_reference_in_all_formats() {
    for (at, source) in programs(RULES, 5).iter().enumerate() {
        check(
            source,
            BuildOptions { parallel: at % 2 == 0, ..BuildOptions::default() },
            Indices::Narrow,
        );
    }
}

#[test]
fn converted_results_agree_with_the_reference_in_all_formats() {
    for (at, source) in programs(CONVERTED, 12).iter().enumerate() {
        let indices = if at % 4 == 1 { Indices::Wide } else { Indices::Narrow };
        let iteration = Iteration { indices, reserves: at % 5 > 0, ..Iteration::default() };
        check(source, BuildOptions { parallel: at % 2 == 0, ..BuildOptions::default() }, iteration);
    }
}

#[test]
fn scattered_results_agree_with_the_reference_in_all_formats() {
    for (at, source) in programs(SCATTERED, 6).iter().enumerate() {
        let indices = if at % 3 == 0 { Indices::Wide } else { Indices::Narrow };
        let iteration = Iteration { indices, reserves: at % 3 < 2, ..Iteration::default() };
        check(source, BuildOptions { parallel: at % 2 == 0, ..BuildOptions::default() }, iteration);
    }
}

/// A program whose results have workspaces of all kinds of points.
fn with_workspaces(source: &str, round: usize) -> String {
    const KINDS: [&str; 9] = [
        "list, 1",
        "hash, 7",
        "bucket, 2",
        "list",
        "hash, 1",
        "bucket",
        "list, 7",
        "hash",
        "bucket, 1",
    ];
    let rules = source.lines().filter(|line| line.starts_with('C') && line.contains(") := "));
    let heads = rules.filter_map(|rule| rule.split('(').next()).filter(|head| !head.contains(':'));
    let of = |(at, head)| format!("{head} -> workspace({})", KINDS[(at + round) % KINDS.len()]);
    let all: Vec<String> = heads.enumerate().map(of).collect();
    format!("{source}schedule: {}\n", all.join("; "))
}

#[test]
fn points_in_containers_agree_with_the_reference_in_all_formats() {
    for (at, source) in programs(SCATTERED, 4).iter().enumerate() {
        let indices = if at % 3 == 1 { Indices::Wide } else { Indices::Narrow };
        let target = BuildOptions { parallel: at % 2 == 1, ..BuildOptions::default() };
        check(&with_workspaces(source, at), target, indices);
    }
}

/// In blocks of a minimum of sums, 0 is a value and infinity is what no product reaches: also in a copy that another
/// rule reads, and in entries.
#[test]
fn zeros_of_minima_in_blocks_stay_when_they_are_converted() {
    let source = "symbols: N
        C(i, j) := min() A(i, j) + x(j)
        y(j) := min(i) C(i, j) + 0
        A:D(i, j) := (0 <= i < N) * (0 <= j < N)
        A:F := csr
        x:D(j) := (0 <= j < N)
        C:D(i, j) := (0 <= i < N) * (0 <= j < N)
        C:F := CD
        y:D(j) := (0 <= j < N)
        y:F := C
        schedule: y -> reorder(j, i)
        outputs: C, y";
    let built = compile(source, BuildOptions::default()).unwrap();
    let mut runner = Runner::new(built, &sizes(2), 1).unwrap();
    let program = runner.built().lowered.program().clone();
    let [a, x, c, y] = ["A", "x", "C", "y"].map(|name| program.find(name).unwrap());
    let entries = Entries::new(vec![2, 2], vec![1, 1], Storage::from(vec![3.0])).unwrap();
    let sparse = Tensor::from_entries(&entries, &Format::csr(), Build::default()).unwrap();
    runner.bind(a, sparse).unwrap();
    runner.set_input(x, &[-3.0, -3.0], &[2]).unwrap();
    runner.execute().unwrap();
    assert_eq!(runner.instance().conversions().len(), 1, "the rule of y reads a copy");
    let inputs =
        BTreeMap::from([(x, Array { shape: vec![2], data: Storage::from(vec![-3.0, -3.0]) })]);
    assert!(runner.verify(&inputs).unwrap().agrees());
    assert_eq!(runner.dense(y).unwrap()[..], [f64::INFINITY, 0.0]);
    let stored = runner.result_entries(c).unwrap().to_entries().unwrap();
    let expected = Entries::new(vec![2, 2], vec![1, 1], Storage::from(vec![0.0])).unwrap();
    assert_eq!(stored, expected);
}

/// Results that come together whole, loops over sums outermost, in lists and in buckets; also appended to reserved
/// memory.
#[test]
fn whole_results_in_buckets_agree_with_the_reference_in_all_formats() {
    let rules: &[Rule] = &[
        ("C$(i, k) := A$(i, j) * B$(j, k)", &[("A", 2), ("B", 2), ("C", 2)]),
        ("C$(i, k) := max_times(j) A$(i, j) * B$(j, k)", &[("A", 2), ("B", 2), ("C", 2)]),
        ("C$(i, k) := A$(i, j) * B$(j, k) + A$(k, j) * B$(i, j)", &[("A", 2), ("B", 2), ("C", 2)]),
        ("C$(i, k, l) := A$(i, j) * T$(j, k, l)", &[("A", 2), ("T", 3), ("C", 3)]),
    ];
    let mut sources = programs(rules, 5);
    for (at, source) in sources.iter_mut().enumerate() {
        let heads: Vec<&str> = source
            .lines()
            .filter_map(|line| Some(line.strip_prefix('C')?.split_once(") := ")?.0))
            .filter(|head| !head.contains(':'))
            .collect();
        let of = |head: &&str| {
            let (name, iterators) = head.split_once('(').unwrap();
            let kind = ["bucket, 2", "bucket, 1", "list", "bucket, 3", "bucket"][at % 5];
            format!("C{name} -> reorder(j, {iterators}), workspace({kind})")
        };
        let schedules: Vec<String> = heads.iter().map(of).collect();
        let schedules = format!("schedule: {}\n", schedules.join("; "));
        source.push_str(&schedules);
    }
    for (at, source) in sources.iter().enumerate() {
        let indices = if at % 3 == 1 { Indices::Wide } else { Indices::Narrow };
        let iteration = Iteration { indices, reserves: at % 4 != 0, ..Iteration::default() };
        check(source, BuildOptions { parallel: at % 2 == 1, ..BuildOptions::default() }, iteration);
    }
}

/// Integers that floats do not hold, in an array of all elements.
#[test]
fn large_integers_of_results_stay_what_they_are() {
    let source = "symbols: N
        types: A = i64, C = i64
        C(i) := A(i)
        A:D(i) := (0 <= i < N)
        A:F := C
        C:D(i) := (0 <= i < N)
        C:F := C";
    let mut runner =
        Runner::new(compile(source, BuildOptions::default()).unwrap(), &sizes(2), 1).unwrap();
    let program = runner.built().lowered.program().clone();
    let [a, c] = ["A", "C"].map(|name| program.find(name).unwrap());
    let large = (1i64 << 53) + 1;
    let entries = Entries::new(vec![2], vec![1], Storage::from(vec![large])).unwrap();
    let sparse = Tensor::from_entries(&entries, &Format::csf(1), Build::default()).unwrap();
    runner.bind(a, sparse).unwrap();
    runner.execute().unwrap();
    assert_eq!(runner.unpacked(c).unwrap().view(), View::of(&[0, large]));
}

#[test]
fn arrays_of_results_are_stayed_within_with_indices_of_64_bits() {
    for source in programs(RULES, 1) {
        check(&source, BuildOptions { checked: true, ..BuildOptions::default() }, Indices::Wide);
    }
}

/// The coordinates in a workspace of several levels are one number, up to the largest that 64 bits hold.
#[test]
fn keys_are_refused_where_they_leave_64_bits() {
    let source = "symbols: N
        C(i, k, l) := A(i, j) * T(j, k, l)
        A:D(i, j) := (0 <= i < N) * (0 <= j < N)
        A:F := dcsr
        T:D(j, k, l) := (0 <= j < N) * (0 <= k < N) * (0 <= l < N)
        T:F := csf
        C:D(i, k, l) := (0 <= i < N) * (0 <= k < N) * (0 <= l < N)
        C:F := csf";
    let analysis = Analysis::of(source).unwrap().lay_out().unwrap();
    let built = analysis.lower_for(Indices::Wide).unwrap();
    let built = built.build(BuildOptions::default()).unwrap();
    let program = built.lowered.program().clone();
    let [a, t, c] = ["A", "T", "C"].map(|name| program.find(name).unwrap());
    let mut runner = Runner::new(built, &sizes(1), 1).unwrap();
    // The square root of 2^63 is 3037000499.98.
    let n = 3_037_000_400;
    let entries = |rank: usize, coordinates: Vec<u64>, values: Vec<f64>| {
        Entries::new(vec![n as u64; rank], coordinates, Storage::from(values)).unwrap()
    };
    let bound = |entries: &Entries, format: &Format| {
        Tensor::from_entries(entries, format, Build::default()).unwrap()
    };
    let last = n as u64 - 1;
    runner.resize(&sizes(n)).unwrap();
    let own = entries(2, vec![1, 0, 1, 2, last, last], vec![2.0, 3.0, 5.0]);
    let dcsr = program.tensor(a).format.as_ref().unwrap().format.clone();
    runner.bind(a, bound(&own, &dcsr)).unwrap();
    let other = entries(3, vec![0, last, last, 2, 0, last, last, last, 0], vec![1.0, 1.0, 1.0]);
    runner.bind(t, bound(&other, &Format::csf(3))).unwrap();
    runner.execute().unwrap();
    let expected = entries(3, vec![1, 0, last, 1, last, last, last, last, 0], vec![3.0, 2.0, 5.0]);
    assert_eq!(runner.result_entries(c).unwrap().to_entries().unwrap(), expected);
    let refused = runner.resize(&sizes(n + 100)).unwrap_err().to_string();
    assert!(refused.contains("`C` comes together in a workspace over `k, l`"), "{refused}");
}
