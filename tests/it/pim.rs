//! Programs on cores inside of memory, compared with the reference evaluator.

use std::collections::BTreeMap;
use std::sync::Arc;

use dastac::backend::PimTarget;
use dastac::build::BuildOptions;
use dastac::driver::compile;
use dastac::run::Runner;
use dastac::stur::reference::Evaluator;

use crate::examples::{MAX_COST, examples, sizes, values};

/// Options for so many cores of a machine, each with so many threads.
fn options(profile: &str, cores: usize, threads: usize) -> BuildOptions {
    let target = PimTarget::new(profile, Some(cores), Some(threads)).unwrap();
    BuildOptions { target: Arc::new(target), ..BuildOptions::default() }
}

/// Runs every example at small sizes; each machine is a profile with cores and threads.
fn check(profile: &str, cores: usize, threads: usize) {
    let mut wrong = Vec::new();
    let folder = crate::root().join("examples");
    for path in examples().into_iter().filter(|path| path.starts_with(&folder)) {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let built = match compile(&source, options(profile, cores, threads)) {
            Ok(built) => built,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let program = built.lowered.program().clone();
        let all = sizes(&program);
        let mut runner = match Runner::new(built, &all[0], 1) {
            Ok(runner) => runner,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        // 0, 7, and one that is not square.
        for sizes in [&all[0], &all[3], &all[5]] {
            if Evaluator::new(&program, &values(&program, sizes)).unwrap().cost() > MAX_COST {
                continue;
            }
            runner.resize(sizes).unwrap();
            let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
            let outcome = runner.execute().and_then(|_| runner.verify(&inputs));
            match outcome {
                Ok(outcome) if outcome.agrees() => {}
                Ok(outcome) => wrong.push(format!("{name} {sizes:?}: {outcome:?}")),
                Err(error) => wrong.push(format!("{name} {sizes:?}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{profile}:\n{}", wrong.join("\n"));
}

#[test]
fn examples_agree_on_blimp() {
    check("blimp", 5, 1);
}

#[test]
fn examples_agree_on_upmem() {
    check("upmem", 3, 4);
}
