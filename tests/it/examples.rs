//! Every example, compiled and compared with the reference evaluator at small and odd sizes, with one and two threads;
//! and its layouts compared with brute force.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dastac::build::BuildOptions;
use dastac::driver::compile;
use dastac::layout::{Layout, Proof};
use dastac::run::Runner;
use dastac::stur::Role;
use dastac::stur::infer::Inferred;
use dastac::stur::program::{Program, TensorId};
use dastac::stur::reference::{Dense, Evaluator, Status};
use dastac::target::OptLevel;
use dastac::verify::Verification;
use rand::SeedableRng;

/// Iterations of the reference evaluator that a case may take.
pub const MAX_COST: u128 = 3_000_000;

/// The examples, and `tests/it/programs`: what would not make a good example.
pub fn examples() -> Vec<PathBuf> {
    let root = crate::root();
    let mut files: Vec<PathBuf> = ["examples", "tests/it/programs"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "stur"))
        .collect();
    files.sort();
    assert!(files.len() >= 15, "the twelve kernels of Table 2 and PR2 to PR4 at least");
    files
}

/// Programs whose loops no proof reads yet.
fn unproven() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(crate::root().join("tests/it/unproven")).unwrap();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Sizes 0, 1, 2, 7, and non-square ones; symbols that name a fixed index stay small, so that they fall inside.
pub fn sizes(program: &Program) -> Vec<BTreeMap<String, i64>> {
    let patterns: &[&[i64]] =
        &[&[0], &[1], &[2], &[7], &[3, 5, 2, 4], &[5, 3, 7, 2], &[4, 1, 3, 2], &[0, 3, 2, 5]];
    patterns
        .iter()
        .map(|pattern| {
            let symbols = program.symbols.iter().enumerate();
            symbols
                .map(|(k, (name, _))| {
                    let value = pattern[k % pattern.len()];
                    let fixed = matches!(name.as_str(), "I" | "J" | "K" | "S");
                    (name.clone(), if fixed { value / 3 } else { value })
                })
                .collect()
        })
        .collect()
}

pub fn values(program: &Program, sizes: &BTreeMap<String, i64>) -> Vec<i64> {
    program.symbols.iter().map(|(name, _)| sizes[name]).collect()
}

/// What summands that differ in numbers share (layouts, loops, code) is right for each.
#[test]
fn many_summands_of_one_kind() {
    let count = 9;
    let products: Vec<String> = (0..count).map(|w| format!("B{w}(i, j) * C{w}(j, k)")).collect();
    let mut source = format!("symbols: N\nA(i, k) := {}\n", products.join(" + "));
    for w in 0..count {
        let (b, c) = (w * w * 7 % 31, (w * 5 + 3) % 31);
        source += &format!("B{w}:D(i, j) := (0 <= i < N) * (0 <= j < 31)\n");
        source += &format!("B{w}:U(i, j) := ((j - i) % 31 = {b}) * (i >= {w})\n");
        source += &format!("C{w}:D(j, k) := (0 <= j < 31) * (0 <= k < 40)\n");
        source += &format!("C{w}:U(j, k) := (k - j = {c})\n");
    }
    let built = compile(&source, BuildOptions::default()).unwrap();
    let sizes = |n: i64| BTreeMap::from([("N".to_string(), n)]);
    let mut runner = Runner::new(built, &sizes(0), 1).unwrap();
    for n in [0, 1, 2, 31, 45, 70] {
        runner.resize(&sizes(n)).unwrap();
        let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
        runner.execute().unwrap();
        let outcome = runner.verify(&inputs).unwrap();
        assert!(outcome.agrees(), "N = {n}: {outcome:?}");
    }
}

#[test]
fn examples_agree_with_the_reference() {
    for path in examples().into_iter().chain(unproven()) {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut runners: Vec<Runner> = Vec::new();
        let mut outputs: BTreeMap<usize, Vec<Vec<f64>>> = BTreeMap::new();
        for threads in [1, 2] {
            let built =
                compile(&source, BuildOptions { parallel: threads > 1, ..BuildOptions::default() })
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
            let program = built.lowered.program().clone();
            let all = sizes(&program);
            let mut ran = 0;
            let mut runner = Runner::new(built, &all[0], threads).unwrap();
            for (case, sizes) in all.iter().enumerate() {
                if Evaluator::new(&program, &values(&program, sizes)).unwrap().cost() > MAX_COST {
                    continue;
                }
                ran += 1;
                runner.resize(sizes).unwrap_or_else(|error| panic!("{name} {sizes:?}: {error}"));
                let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
                runner.execute().unwrap();
                let outcome: Verification = runner.verify(&inputs).unwrap();
                assert!(outcome.agrees(), "{name} {sizes:?} {threads} threads: {outcome:?}");
                let packed = program.tensor_ids().map(|id| runner.packed(id).to_f64());
                outputs.entry(case).or_default().extend(packed);
            }
            assert!(ran >= 5, "{name}: only {ran} sizes are small enough for the reference");
            runners.push(runner);
        }
        for (case, packed) in outputs {
            // What is not a number, such as a variance of one observation, is `None`.
            let number = |value: &f64| Some(*value).filter(|value| !value.is_nan());
            let numbers = packed.iter().map(|values| values.iter().map(number).collect::<Vec<_>>());
            let packed: Vec<Vec<Option<f64>>> = numbers.collect();
            let (one, two) = packed.split_at(packed.len() / 2);
            assert_eq!(one, two, "{name}, case {case}: 1 and 2 threads differ");
        }
    }
}

/// Code for one list of sizes is right at these, and refuses others.
#[test]
fn examples_for_given_sizes_agree_with_the_reference() {
    for (at, path) in examples().into_iter().enumerate() {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (program, _) = dastac::stur::load(&source).unwrap();
        let all = sizes(&program);
        let cost = |sizes: &&BTreeMap<String, i64>| {
            Evaluator::new(&program, &values(&program, sizes)).unwrap().cost()
        };
        // The most work that the reference can do in time.
        let largest = all.iter().filter(|sizes| cost(sizes) <= MAX_COST).max_by_key(cost).unwrap();
        let threads = 1 + at % 2;
        let options = BuildOptions {
            parallel: threads > 1,
            sizes: values(&program, largest),
            ..BuildOptions::default()
        };
        let built = compile(&source, options).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut runner = Runner::new(built, largest, threads).unwrap();
        let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
        runner.execute().unwrap();
        let outcome = runner.verify(&inputs).unwrap();
        assert!(outcome.agrees(), "{name} {largest:?}: {outcome:?}");
        if let Some(other) = all.iter().find(|sizes| *sizes != largest) {
            let error = runner.resize(other).unwrap_err().to_string();
            assert!(error.contains("alone"), "{name}: {error}");
        }
    }
}

/// The files of real data that stand for those that examples name in lines `# dastac run ..`.
const DATA: &[(&str, &str)] = &[
    ("convolution_flattened", "resnet50/0.98/bottleneck_2_block_group1_1_1.smtx.gz"),
    ("convolution_neighbours", "pointcloud/office.tns.gz"),
    ("convolution_pointcloud", "pointcloud/office.tns.gz"),
    ("convolution_points", "pointcloud/office.tns.gz"),
    ("reachable", "suitesparse/delaunay_n14.mtx.gz"),
    ("triangles", "suitesparse/ca-GrQc.mtx.gz"),
];

/// What examples say of files works on real data, which lies in the folder that `DASTAC_TEST_DATA` names.
#[test]
fn examples_run_on_real_data() {
    let Some(folder) = std::env::var_os("DASTAC_TEST_DATA").map(PathBuf::from) else {
        eprintln!("skipped: DASTAC_TEST_DATA names no folder");
        return;
    };
    for (name, file) in DATA {
        let path = crate::root().join("examples").join(name).with_extension("stur");
        let source = std::fs::read_to_string(&path).unwrap();
        let line = source
            .lines()
            .find(|line| line.starts_with("# dastac run") && line.contains(" --input "));
        let line = line.unwrap_or_else(|| panic!("{name} names no file"));
        let words = line.split_whitespace().skip(4).map(|word| match word.split_once('=') {
            Some((tensor, named)) if named.contains('.') => {
                format!("{tensor}={}", folder.join(file).display())
            }
            _ => word.to_string(),
        });
        let mut command = crate::dastac();
        let output = command.arg("run").arg(&path).args(words).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}\n{error}");
    }
}

/// Every access is asserted, those of packing and unpacking too; one outside of its buffer would end the test's process
/// with a message.
#[test]
fn checked_examples_stay_within_their_buffers() {
    for path in examples() {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // Whether an access stays within its buffer does not depend on how its code is optimised.
        let opt_level = OptLevel::O0;
        let target =
            BuildOptions { parallel: true, checked: true, opt_level, ..BuildOptions::default() };
        let built = compile(&source, target).unwrap_or_else(|error| panic!("{name}: {error}"));
        let program = built.lowered.program().clone();
        let all = sizes(&program);
        let mut runner = Runner::new(built, &all[0], 2).unwrap();
        for sizes in &all {
            if Evaluator::new(&program, &values(&program, sizes)).unwrap().cost() > MAX_COST {
                continue;
            }
            runner.resize(sizes).unwrap();
            let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
            runner.execute().unwrap();
            let outcome = runner.verify(&inputs).unwrap();
            assert!(outcome.agrees(), "{name} {sizes:?}: {outcome:?}");
        }
    }
}

#[test]
fn stored_elements_are_the_used_and_unique_ones() {
    for path in examples() {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let laid = dastac::driver::Analysis::of(&source).unwrap().lay_out().unwrap();
        let inferred = laid.inferred();
        // Different elements may have the same function.
        let mut statements = inferred.rules.iter().flat_map(|rule| &rule.statements);
        let exact = statements.all(|s| s.is_exact() && s.functions.is_empty());
        let program = &inferred.program;
        if inferred.rules.iter().any(|rule| program.is_over_levels(rule.rule)) {
            continue; // which elements are used, only the tensors know that are walked
        }
        for sizes in sizes(program) {
            let symbols = values(program, &sizes);
            let evaluator = Evaluator::new(program, &symbols).unwrap();
            if evaluator.cost() > 20_000 {
                continue;
            }
            let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(11);
            let mut inputs = BTreeMap::new();
            for id in program.tensor_ids().filter(|id| program.tensor(*id).role == Role::Input) {
                inputs.insert(id, evaluator.random_input(id, &mut rng).unwrap());
            }
            let results = evaluator.run(&inputs).unwrap();
            let facts = dastac::run::facts(&laid, &symbols).unwrap();
            // Copies have what is around the elements, too.
            let is_copy =
                |id: &TensorId| inferred.copies.contains_key(id) || inferred.wholes.contains(id);
            for id in program.tensor_ids().filter(|id| !is_copy(id)) {
                let counted = match inputs.get(&id) {
                    Some(dense) => used(&evaluator, &inputs, id, dense),
                    None => distinct(&results[&id]),
                };
                let tensor = &program.tensor(id).name;
                let layout = &laid.layouts[id.0];
                let stored = match layout.padded {
                    false => facts[id.0].unique,
                    true => elements(inferred, layout, &symbols),
                };
                // Where conditions that are not affine decide, what is stored may be more than what is used.
                let agrees = if exact { stored == counted } else { stored >= counted };
                assert!(agrees, "{name} {sizes:?}: {stored}, not {counted} elements of {tensor}");
            }
        }
    }
}

/// Elements that a layout stores.
fn elements(inferred: &Inferred, layout: &Layout, symbols: &[i64]) -> i64 {
    let names = inferred.sets.names.parameters();
    let values: Vec<(String, i64)> = names.into_iter().zip(symbols.iter().copied()).collect();
    layout.stored.fix_params(&values).unwrap().points(100_000).unwrap().len() as i64
}

/// Unique elements of an input that some result depends on: poison each with NaN and see.
fn used(
    evaluator: &Evaluator<'_>,
    inputs: &BTreeMap<TensorId, Dense>,
    id: TensorId,
    dense: &Dense,
) -> i64 {
    let index = |position: usize| {
        let mut rest = position;
        let mut index = vec![0i64; dense.shape.len()];
        for (slot, extent) in index.iter_mut().zip(&dense.shape).rev() {
            *slot = (rest % extent) as i64;
            rest /= extent;
        }
        index
    };
    let elements: usize = dense.shape.iter().product();
    let parts = dense.data.len() / elements.max(1); // two for complex numbers
    let status: Vec<Status> =
        (0..elements).map(|p| evaluator.is_stored(id, &index(p)).unwrap()).collect();
    let mut count = 0;
    for position in 0..elements {
        if status[position] != Status::Unique {
            continue;
        }
        let mut poisoned = inputs.clone();
        let data = &mut poisoned.get_mut(&id).unwrap().data;
        for (other, status) in status.iter().enumerate() {
            let same = match status {
                Status::Redundant { target, .. } => *target == index(position),
                _ => other == position,
            };
            if same {
                data[parts * other] = f64::NAN;
            }
        }
        let results = evaluator.run(&poisoned).unwrap();
        count += i64::from(results.values().any(|r| r.data.iter().any(|v| v.is_nan())));
    }
    count
}

/// Non-zero elements of a result that differ in magnitude: random inputs make equal ones a redundancy.
fn distinct(dense: &Dense) -> i64 {
    let elements = dense.shape.iter().product::<usize>().max(1);
    let parts = (dense.data.len() / elements).max(1); // two for complex numbers
    let magnitude = |parts: &[f64]| parts.iter().fold(0.0, |size: f64, part| size.hypot(*part));
    let mut values: Vec<f64> =
        dense.data.chunks(parts).map(magnitude).filter(|size| *size != 0.0).collect();
    values.sort_by(f64::total_cmp);
    values.dedup_by(|a, b| (*a - *b).abs() <= 1e-13 * b.abs());
    values.len() as i64
}

#[test]
fn layouts_are_proven_bijections() {
    for path in examples() {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let laid = dastac::driver::Analysis::of(&source).unwrap().lay_out().unwrap();
        for (tensor, layout) in laid.program().tensors.iter().zip(&laid.layouts) {
            let proof = layout.prove_bijection().unwrap();
            assert_eq!(proof, Proof::Proven, "{name}, {}", tensor.name);
        }
    }
}

#[test]
fn the_papers_kernels_have_one_piece() {
    // SpMV_L's matrix is the one with two regions, which the paper stores in two buffers.
    for path in examples() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let of_the_paper = ["ttm_", "thp_", "mtt_", "spmv_", "pr2", "pr3", "pr4", "polyreg"];
        if !of_the_paper.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let laid = dastac::driver::Analysis::of(&source).unwrap().lay_out().unwrap();
        for (tensor, layout) in laid.program().tensors.iter().zip(&laid.layouts) {
            let expected = if name == "spmv_l" && tensor.name == "B" { 2 } else { 1 };
            assert!(
                layout.index.pieces.len() <= expected,
                "{name}, {}: {}",
                tensor.name,
                layout.index
            );
        }
    }
}
