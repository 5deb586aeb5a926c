//! Programs on cores inside of memory, compared with the reference evaluator.

use std::collections::BTreeMap;
use std::sync::Arc;

use dastac::backend::PimTarget;
use dastac::build::BuildOptions;
use dastac::driver::{Built, compile};
use dastac::run::Runner;
use dastac::runtime::pim::plan::Configuration;
use dastac::runtime::pim::{Device, Profile};
use dastac::stur::reference::Evaluator;
use expect_test::expect;

use crate::dastac;
use crate::examples::{MAX_COST, examples, sizes, values};

/// So many cores of a machine, each with so many threads.
fn machine(profile: &str, cores: usize, threads: usize) -> Configuration {
    Configuration { profile: Profile::named(profile).unwrap(), cores, threads }
}

/// What does not agree with the reference at small sizes.
fn wrong(name: &str, built: Built, machine: &Configuration) -> Vec<String> {
    let program = built.lowered.program().clone();
    let all = sizes(&program);
    let mut runner = match Runner::new(built, &all[0], 1) {
        Ok(runner) => runner,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let mut wrong = Vec::new();
    // 0, 7, and one that is not square.
    for sizes in [&all[0], &all[3], &all[5]] {
        if Evaluator::new(&program, &values(&program, sizes)).unwrap().cost() > MAX_COST {
            continue;
        }
        runner.resize(sizes).unwrap();
        let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
        let profile = &machine.profile.name;
        match runner.execute().and_then(|_| runner.verify(&inputs)) {
            Ok(outcome) if outcome.agrees() => {}
            Ok(outcome) => wrong.push(format!("{name} {sizes:?} on {profile}: {outcome:?}")),
            Err(error) => wrong.push(format!("{name} {sizes:?} on {profile}: {error}")),
        }
    }
    wrong
}

#[test]
fn examples_agree_on_all_machines() {
    let target = PimTarget::new("blimp", Some(1), Some(1)).unwrap();
    let options = BuildOptions { target: Arc::new(target), ..BuildOptions::default() };
    let folder = crate::root().join("examples");
    let mut all = Vec::new();
    for path in examples().into_iter().filter(|path| path.starts_with(&folder)) {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let built = match compile(&source, options.clone()) {
            Ok(built) => built,
            Err(error) => {
                all.push(format!("{name}: {error}"));
                continue;
            }
        };
        for machine in [machine("blimp", 5, 1), machine("upmem", 3, 4)] {
            let mut built = built.clone();
            built.code.code.bytes = Device::configure(&built.code.code.bytes, &machine).unwrap();
            all.extend(wrong(&name, built, &machine));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The command's output, both kinds, without what depends on the computer.
fn output(arguments: &[&str]) -> String {
    let output = dastac().args(arguments).current_dir(crate::root()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines()
        .filter(|line| !line.starts_with("compiled in"))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn what_cannot_be_asked_for() {
    let run = |more: &[&str]| {
        let first = ["run", "examples/spmv_csr.stur", "-p", "M=4", "-p", "N=4"];
        output(&[&first[..], more].concat())
    };
    let asked: [&[&str]; 5] = [
        &["--target", "pim", "--profile", "other"],
        &["--target", "pim", "--profile", "blimp", "--threads", "2"],
        &["--target", "pim", "--cores", "0"],
        &["--cores", "4"],
        &["--target", "pim", "--cpu", "znver4"],
    ];
    let build = ["build", "examples/spmv_csr.stur", "--target", "pim", "-o", "kernel.so"];
    let all: String = asked.iter().map(|more| run(more)).chain([output(&build)]).collect();
    expect![[r#"
        error: there is no profile `other`; known are blimp, upmem
        error: `blimp` has 1 to 1 threads, not 2
        error: `upmem` has 1 to 2560 cores, not 0
        error: a processor has no profile and no number of cores; those are for cores inside of memory (`pim`)
        error: cores inside of memory are no CPU of a name; they have a profile
        error: cores inside of memory have neither libraries nor object files
        help: end the name in .elf for an executable, or in .dastac for a program that `dastac run` takes
    "#]]
    .assert_eq(&all);
}

#[test]
fn counters_do_not_depend_on_the_run() {
    let arguments = [
        "run",
        "examples/spmv_csr.stur",
        "-p",
        "M=60",
        "-p",
        "N=50",
        "--target",
        "pim",
        "--profile",
        "upmem",
        "--cores",
        "7",
        "--threads",
        "11",
        "--json",
        "--verify",
    ];
    let pim = |text: &str| {
        let report: serde_json::Value = serde_json::from_str(text).unwrap();
        assert!(report["max_error"].as_f64().unwrap() < 1e-9);
        report["pim"].clone()
    };
    let first = dastac().args(arguments).current_dir(crate::root()).output().unwrap();
    let second = dastac().args(arguments).current_dir(crate::root()).output().unwrap();
    let [first, second] = [first, second].map(|one| pim(&String::from_utf8_lossy(&one.stdout)));
    assert_eq!(first, second);
    assert_eq!(first["profile"], "upmem");
    let launch = &first["launches"][0];
    assert_eq!((launch["cores"].as_u64(), launch["index_bits"].as_u64()), (Some(7), Some(32)));
    for core in launch["per_core"].as_array().unwrap() {
        let causes = ["issue", "scratchpad", "memory", "pipeline", "waiting"];
        let sum: u64 = causes.iter().map(|cause| core[*cause].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), core["cycles"].as_u64(), "all cycles have a cause");
    }
}
