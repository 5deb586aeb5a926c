//! Random schedules of every example: the same results as the reference, with threads, and nothing refuted.

use std::collections::BTreeMap;

use dastac::build::BuildOptions;
use dastac::driver::{Analysis, Laid};
use dastac::layout::Proof;
use dastac::run::Runner;
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
