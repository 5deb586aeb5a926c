//! Programs that read dynamic tensors: rules times formats, compiled and interpreted, compared with the reference
//! evaluator.
//!
//! Many rules stand in one program, each with tensors of its own, since compiling a program costs more than computing
//! all of its rules.

use std::collections::BTreeMap;

use dastac::build::BuildOptions;
use dastac::driver::{Analysis, Built, Indices, Iteration};
use dastac::formats::storage::LevelData;
use dastac::formats::{Build, Tensor};
use dastac::iterate::Walking;
use dastac::loops::Module;
use dastac::loops::interp::{self, Data};
use dastac::loops::{Element, Mode};
use dastac::run::Runner;
use dastac::sched::KERNEL;

/// Rules, with the dynamic tensors in them by rank. `$` is the number of the case, so that each has tensors of its own.
pub const RULES: &[Rule] = &[
    ("y$(i) := A$(i, j) * x(j)", &[("A", 2)]),
    ("y$(j) := A$(i, j) * z(i) * (i + 1 < j)", &[("A", 2)]),
    ("y$(i, k) := A$(i, j) * X(j, k)", &[("A", 2)]),
    ("y$(i, j) := S$(i, j) * U(i, k) * X(j, k)", &[("S", 2)]),
    ("y$(i, j) := A$(i, j) + 2 * B$(i, j)", &[("A", 2), ("B", 2)]),
    ("y$(i, j) := A$(i, j) * B$(i, j) + (-1) * U(i, j)", &[("A", 2), ("B", 2)]),
    ("y$(i) := A$(i, j) * v$(j) + x(i)", &[("A", 2), ("v", 1)]),
    ("y$() := A$(i, j) * A$(j, i)", &[("A", 2)]),
    ("y$(i) := A$(i, j) * A$(i, j + 1)", &[("A", 2)]),
    ("y$(i, k) := A$(i, j) * B$(j, k)", &[("A", 2), ("B", 2)]),
    ("y$(i, j) := T$(i, k, l) * X(k, j) * U(l, j)", &[("T", 3)]),
    ("y$(l, i) := T$(i, k, l) * v$(k)", &[("T", 3), ("v", 1)]),
    ("y$(i, k) := A$(i, j) * L(j, k)", &[("A", 2)]),
    ("y$(i, j) := S$(i, j) * H(j, i)", &[("S", 2)]),
    ("y$(i) := L(i, j) * A$(i, j) * (i >= j + 2) + N() * A$(i, i)", &[("A", 2)]),
    ("y$(i, k) := L(i, j) * L(j, k) * A$(i, j)", &[("A", 2)]),
    ("y$(i) := A$(i, j) * x(j + k) * (-2 <= k < 3)", &[("A", 2)]),
    ("y$(p) := v$(p + r + -1) * f(r) * (0 <= p < N)", &[("v", 1)]),
    ("y$(p, q) := A$(p + r, q + s + -1) * G(r, s) * (0 <= p < N) * (0 <= q < N)", &[("A", 2)]),
    ("y$(p) := v$(2 * p + r) * w$(r) * (0 <= p < N)", &[("v", 1), ("w", 1)]),
    ("y$(i) := A$(i, j) * z^-1(j)", &[("A", 2)]),
    ("y$(i) := min(j) A$(i, j) + x(j)", &[("A", 2)]),
    ("y$(i, k) := max_times(j) A$(i, j) * B$(j, k)", &[("A", 2), ("B", 2)]),
    ("y$(i) := max(j) A$(i, j) * x(j)", &[("A", 2)]),
    ("y$(i) := prod(j) A$(i, j)", &[("A", 2)]),
    ("y$(i) := min(j) A$(i, j) * (2 <= j <= i + 2)", &[("A", 2)]),
    ("y$(i) := or(j) A$(i, j) * v$(j)", &[("A", 2), ("v", 1)]),
    ("y$(i, k) := (p = pos(A$(i, j))) * X(p, k)", &[("A", 2)]),
    (
        "y$(p) := A$(i, j) * (p = pos(B$(i, j + 1))) * x(j) * (0 <= p < 2 * N)",
        &[("A", 2), ("B", 2)],
    ),
    (
        "y$(p, k) := (p = pos(T$(i, j, l))) * (q = pos(A$(l, j))) * X(q, k) * (1 <= p < N)",
        &[("T", 3), ("A", 2)],
    ),
    (
        "y$(p) := min(i, q) (p = pos(v$(i))) * (q = pos(w$(2 * i + -1))) * (x(q) + 3) * (0 <= p < N)",
        &[("v", 1), ("w", 1)],
    ),
];

/// Tensors that are not dynamic, with their structure.
const OTHERS: &str = "
x:D(j) := (0 <= j < N)
z:D(j) := (0 <= j < N)
X:D(j, k) := (0 <= j < N) * (0 <= k < N)
U:D(i, k) := (0 <= i < N) * (0 <= k < N)
L:D(j, k) := (0 <= j < N) * (0 <= k < N)
L:U(j, k) := (k <= j)
H:D(i, j) := (0 <= i < N) * (0 <= j < N)
H:U(i, j) := (i <= j)
H:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)
f:D(r) := (0 <= r < 3)
G:D(r, s) := (0 <= r < 2) * (0 <= s < 3)
";

/// Formats, by rank.
fn formats(rank: usize) -> &'static [&'static str] {
    match rank {
        1 => &["C", "D", "coo"],
        2 => &["csr", "csc", "dcsr", "coo", "CD", "dcsc", "DD", "CD(j, i)", "CC(j, i)"],
        _ => &["csf", "coo", "DCC", "DDC", "CSS", "CCD", "csf(k, i, j)", "DCC(j, k, i)"],
    }
}

/// Rules of one program.
const TOGETHER: usize = 24;

/// A rule, and the dynamic tensors in it by rank.
pub type Rule = (&'static str, &'static [(&'static str, usize)]);

/// Rules with declarations of their dynamic tensors, in `rounds` combinations of the formats that there are for a rank,
/// those of its last tensor apart.
pub fn declared(
    rules: &[Rule],
    rounds: usize,
    formats: &dyn Fn(bool, usize) -> &'static [&'static str],
) -> Vec<String> {
    let mut cases = Vec::new();
    for round in 0..rounds {
        for (at, (rule, tensors)) in rules.iter().enumerate() {
            let number = cases.len();
            let mut text = rule.replace('$', &number.to_string()) + "\n";
            for (nth, (name, rank)) in tensors.iter().enumerate() {
                let all = formats(nth + 1 == tensors.len(), *rank);
                // All pairs come in the end: the second tensor's formats go at another pace.
                let format = all[(round + nth * (round / all.len() + at)) % all.len()];
                let dims = &["i", "j", "k"][..*rank];
                let bounds: Vec<String> = dims.iter().map(|d| format!("(0 <= {d} < N)")).collect();
                let (head, bounds) = (dims.join(", "), bounds.join(" * "));
                text += &format!("{name}{number}:D({head}) := {bounds}\n");
                text += &format!("{name}{number}:F({head}) := {format}\n");
            }
            cases.push(text);
        }
    }
    cases
}

/// Programs of rules, each with its tensors in `rounds` combinations of formats.
pub fn programs(rules: &[Rule], rounds: usize) -> Vec<String> {
    let cases = declared(rules, rounds, &|_, rank| formats(rank));
    cases.chunks(TOGETHER).map(whole_program).collect()
}

/// A program of rules with declarations.
pub fn whole_program(rules: &[String]) -> String {
    // A program has one line of orders.
    let text = rules.concat();
    let (orders, rest): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with("iters: "));
    let orders: Vec<&str> = orders.iter().map(|line| line.trim_start_matches("iters: ")).collect();
    let line = match orders.is_empty() {
        true => String::new(),
        false => format!("iters: {}\n", orders.join("; ")),
    };
    format!("symbols: N\n{line}{}\n{OTHERS}", rest.join("\n"))
}

fn built(source: &str, target: BuildOptions, iteration: Iteration) -> Built {
    let analysis = Analysis::of(source);
    let lowered = analysis.and_then(|analysis| analysis.lay_out()?.lower_for(iteration));
    let built = lowered.and_then(|lowered| lowered.build(target));
    built.unwrap_or_else(|error| panic!("{error}\n{source}"))
}

fn sizes(n: i64) -> BTreeMap<String, i64> {
    BTreeMap::from([("N".to_string(), n)])
}

/// What a program says of the case of a head.
fn rule_of(source: &str, head: &str) -> String {
    let number = head.trim_start_matches(char::is_alphabetic);
    let tensors = ["y", "A", "B", "S", "T", "v", "w"].map(|name| format!("{name}{number}"));
    let own = |line: &&str| {
        tensors.iter().any(|name| {
            line.starts_with(&format!("{name}(")) || line.contains(&format!("{name}:F"))
        })
    };
    source.lines().filter(own).collect::<Vec<_>>().join("; ")
}

/// Runs a program at several sizes and densities, by machine code and by the interpreter.
pub fn check(source: &str, target: BuildOptions, iteration: impl Into<Iteration>) {
    let sizes = [(0, 0.5), (1, 1.0), (2, 0.5), (7, 0.3), (6, 1.0), (9, 0.05)];
    check_at(source, target, iteration.into(), &sizes);
}

/// The same at these sizes and densities.
fn check_at(source: &str, target: BuildOptions, iteration: Iteration, at: &[(i64, f64)]) {
    let threads = 1 + usize::from(target.parallel);
    let built = built(source, target.clone(), iteration);
    let plain = built.lowered.kernel.module.clone();
    let tiled = built.lowered.tiled(&target).unwrap();
    let mut runner = Runner::new(built, &sizes(0), threads).unwrap();
    for &(n, density) in at {
        runner.resize(&sizes(n)).unwrap();
        runner.set_density(density);
        let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
        runner.execute().unwrap();
        let outcome = runner.verify(&inputs).unwrap();
        let rule = outcome.at.as_ref().map(|at| rule_of(source, &at.tensor));
        assert!(outcome.agrees(), "N = {n}, density {density}: {outcome:?}\n{rule:?}");
        for module in [&plain, &tiled] {
            interpreted(&runner, module, source);
        }
    }
}

/// Compares the interpreter's results with those of machine code.
fn interpreted(runner: &Runner, module: &Module, source: &str) {
    let kernel = &runner.built().lowered.kernel;
    let function = module.find_function(KERNEL).unwrap();
    let mut arrays: BTreeMap<u32, Data> = BTreeMap::new();
    let mut symbols = runner.symbols().to_vec();
    symbols.resize(module.symbols.len(), 0);
    for one in &kernel.stored {
        let tensor = runner.bound(one.tensor).unwrap();
        let declared = runner.built().lowered.program().tensor(one.tensor).format.as_ref();
        let tensor = match one.part.zip(declared.and_then(|own| own.hybrid.as_ref())) {
            Some((part, hybrid)) => {
                tensor.decompose(hybrid, Build::default()).unwrap().remove(part)
            }
            None => tensor.convert(&one.operand.format, Build::default()).unwrap(),
        };
        for (level, symbol) in one.operand.counts() {
            symbols[symbol.0 as usize] = positions(&tensor, level);
        }
        for (buffer, data) in one.operand.buffers().into_iter().zip(data(&tensor)) {
            arrays.insert(buffer.0, data);
        }
    }
    let tensors = &runner.built().lowered.program().tensors;
    let argument = |buffer: u32, mode: Mode| match arrays.get(&buffer) {
        Some(data) => data.clone(),
        None => {
            let packed = runner.packed(dastac::stur::TensorId(buffer as usize));
            match mode {
                Mode::In => Data::Float(packed.to_f64()),
                _ => Data::zeros(Element::F64, packed.len()),
            }
        }
    };
    let mut data: Vec<Data> =
        function.args.iter().map(|(buffer, mode)| argument(buffer.0, *mode)).collect();
    interp::run(module, KERNEL, &symbols, &mut data)
        .unwrap_or_else(|error| panic!("{error}\n{source}\n{module}"));
    for ((buffer, mode), data) in function.args.iter().zip(&data) {
        if *mode == Mode::In {
            continue;
        }
        let computed = runner.packed(dastac::stur::TensorId(buffer.0 as usize)).to_f64();
        let same = |a: &f64, b: &f64| a == b || (a - b).abs() <= 1e-9 * b.abs().max(1.0);
        let all = data.as_float().unwrap().iter().zip(&computed).all(|(a, b)| same(a, b));
        let rule = rule_of(source, &tensors[buffer.0 as usize].name);
        assert!(all, "{data:?} is not {computed:?}\n{rule}");
    }
}

/// The number of positions of a level whose arrays say it.
pub fn positions(tensor: &Tensor, level: usize) -> i64 {
    tensor.levels()[level].counted().unwrap() as i64
}

/// The arrays of a tensor in the order of an operand's buffers.
pub fn data(tensor: &Tensor) -> Vec<Data> {
    let ints = |indices: &dastac::formats::storage::Indices| {
        Data::Int(indices.iter().map(|at| at as i64).collect())
    };
    let arrays = tensor.levels().iter().flat_map(LevelData::arrays);
    let mut all: Vec<Data> = arrays.map(ints).collect();
    let values = tensor.values();
    all.push(match values.element().is_float() {
        true => Data::Float(values.to_f64()),
        false => Data::Int(values.numbers().map(|value| value.to_i64().unwrap()).collect()),
    });
    all
}

#[test]
fn rules_agree_with_the_reference_in_all_formats() {
    let programs = programs(RULES, 9);
    assert!(programs.len() * TOGETHER >= 200);
    for (at, source) in programs.iter().enumerate() {
        check(
            source,
            BuildOptions { parallel: at % 2 == 0, ..BuildOptions::default() },
            Indices::Narrow,
        );
    }
}

/// Rows with few elements beside levels with many, which are the same for all rows: these are searched.
#[test]
fn long_levels_are_searched() {
    let rules: &[Rule] = &[
        ("y$(i) := A$(i, j) * v$(j)", &[("A", 2), ("v", 1)]),
        ("y$(i, k) := A$(i, j) * B$(j, k)", &[("A", 2), ("B", 2)]),
        ("y$(i, k) := A$(i, j) * B$(k, j)", &[("A", 2), ("B", 2)]),
        ("y$() := A$(i, j) * A$(j, k) * A$(k, i)", &[("A", 2)]),
        ("y$(i) := A$(i, j) * v$(j) * w$(j)", &[("A", 2), ("v", 1), ("w", 1)]),
        ("y$(i) := T$(i, j, k) * A$(j, k)", &[("T", 3), ("A", 2)]),
        ("y$(i) := max(j) A$(i, j) * v$(j) * (i <= j)", &[("A", 2), ("v", 1)]),
    ];
    let built = built(&programs(rules, 1)[0], BuildOptions::default(), Indices::Narrow.into());
    let mut module = built.lowered.kernel.module;
    dastac::iterate::lower(&mut module);
    assert!(module.to_string().contains("* 8 <= "), "{module}");
    for (at, source) in programs(rules, 5).iter().enumerate() {
        let target = BuildOptions { parallel: at % 2 == 0, ..BuildOptions::default() };
        let sizes = [(31, 0.05), (17, 0.1), (40, 0.02), (8, 0.9), (0, 0.5)];
        check_at(source, target, Indices::Narrow.into(), &sizes);
    }
}

#[test]
fn accesses_stay_within_buffers_with_indices_of_64_bits() {
    for source in programs(RULES, 1) {
        check(&source, BuildOptions { checked: true, ..BuildOptions::default() }, Indices::Wide);
    }
}

/// Filters of one pixel read the picture itself where its channels are whole lines: those of 4 x 4 and 8 x 8 pixels.
#[test]
fn pictures_are_read_in_place_or_copied() {
    let source = "symbols: N\ny(m, p, q) := I(c, p, q) * F(m, c)\nF:F := csr\n\
                  F:D(m, c) := (0 <= m < N) * (0 <= c < 3 * N)\n\
                  I:D(c, p, q) := (0 <= c < 3 * N) * (0 <= p < N) * (0 <= q < N)";
    let built = built(source, BuildOptions::default(), Indices::Narrow.into());
    let loops = built.lowered.kernel.module.to_string();
    assert!(loops.contains("or I if"), "{loops}");
    for parallel in [false, true] {
        let target = BuildOptions { parallel, ..BuildOptions::default() };
        let sizes = [(4, 0.5), (3, 0.5), (8, 0.2), (0, 0.5), (16, 0.3), (1, 1.0)];
        check_at(source, target, Indices::Narrow.into(), &sizes);
    }
}

/// Convolutions, with loops in several orders.
pub const CONVOLUTIONS: &[Rule] = &[
    ("iters: y$ -> p, r\ny$(p) := v$(p + r + -1) * f(r) * (0 <= p < N)", &[("v", 1)]),
    ("iters: y$ -> r, p\ny$(p) := v$(2 * p + r) * f(r) * (0 <= p < N)", &[("v", 1)]),
    ("y$(p) := v$(p + 2 * r) * w$(r) * (0 <= p < N)", &[("v", 1), ("w", 1)]),
    ("y$(p) := v$(p + -1 * r) * f(r) + v$(p) * (0 <= p < N)", &[("v", 1)]),
    ("y$(p) := max_times(r) v$(p + r) * f(r) * (0 <= p < N)", &[("v", 1)]),
    (
        "iters: y$ -> p, q, r, s\ny$(p, q) := A$(p + r, q + s + -1) * G(r, s) * (0 <= p < N) * (0 <= q < N)",
        &[("A", 2)],
    ),
    (
        "iters: y$ -> p, r, q, s\ny$(p, q) := A$(p + r, 2 * q + s) * G(r, s) * (0 <= p < N) * (0 <= q < N)",
        &[("A", 2)],
    ),
    (
        "iters: y$ -> r, s, p, q\ny$(p, q) := A$(p + r, q + s) * B$(r, s) * (0 <= p < N) * (0 <= q < N)",
        &[("A", 2), ("B", 2)],
    ),
    ("y$(p, q) := A$(p, q) * T$(p + r + -1, q + s, k) * G(r, s) * X(k, k)", &[("A", 2), ("T", 3)]),
];

#[test]
fn rival_strategies_agree_with_the_reference() {
    for walking in [Walking::Subsections, Walking::Search, Walking::Locate] {
        for source in programs(CONVOLUTIONS, 2) {
            let target =
                BuildOptions { parallel: walking == Walking::Search, ..BuildOptions::default() };
            check(&source, target, Iteration { walking, ..Iteration::default() });
        }
    }
}
