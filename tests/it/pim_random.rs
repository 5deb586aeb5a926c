//! Random programs over structured tensors on cores inside of memory, compared with this computer's processor: the same
//! bits, whatever machine runs them. Elements are small integers, so that sums are exact in every order and type.

use std::collections::BTreeMap;
use std::sync::Arc;

use dastac::backend::PimTarget;
use dastac::build::BuildOptions;
use dastac::driver::{Analysis, Built, Lowered};
use dastac::run::Runner;
use dastac::runtime::Role;
use dastac::runtime::pim::plan::Configuration;
use dastac::runtime::pim::{Device, Profile};
use dastac::stur::TensorId;
use dastac_bench::structured::random::{Limits, draw};

/// Programs of a test run.
const PROGRAMS: u64 = 2;

/// Types of all elements of a program, in turns.
const TYPES: [&str; 4] = ["f64", "f32", "i64", "i32"];

/// A program with elements of this type.
fn typed(source: &str, element: &str) -> String {
    let (program, _) = dastac::stur::load(source).unwrap();
    let types = program.tensors.iter().map(|tensor| format!("{} = {element}", tensor.name));
    let types = format!("types: {}\n", types.collect::<Vec<_>>().join(", "));
    let mut lines: Vec<String> = source.lines().map(|line| format!("{line}\n")).collect();
    let after = lines.iter().position(|line| line.starts_with("symbols:"));
    lines.insert(after.map_or(0, |at| at + 1), types);
    lines.concat()
}

/// The bits of what a program computes.
fn bits(built: Built, symbols: &BTreeMap<String, i64>) -> Result<Vec<u64>, String> {
    let text = |error: dastac::Error| error.to_string();
    let mut runner = Runner::new(built, symbols, 1).map_err(text)?;
    let facts: Vec<Role> = runner.facts().iter().map(|fact| fact.role).collect();
    for (id, _) in facts.iter().enumerate().filter(|(_, role)| **role == Role::Input) {
        runner.fill_packed(TensorId(id), |at| ((at * 5 + id) % 7) as f64 - 3.0);
    }
    runner.execute().map_err(text)?;
    let computed = facts.iter().enumerate().filter(|(_, role)| **role == Role::Output);
    let bits = computed.flat_map(|(id, _)| {
        let view = runner.packed(TensorId(id));
        // Zeros of both signs are one number.
        (0..view.len()).map(|at| (view.number(at) + 0.0).to_bits()).collect::<Vec<_>>()
    });
    Ok(bits.collect())
}

fn built(lowered: &Lowered, machine: Option<&Configuration>) -> Result<Built, String> {
    let mut options = BuildOptions::default();
    if machine.is_some() {
        let target =
            PimTarget::new("blimp", Some(1), Some(1)).map_err(|error| error.to_string())?;
        options.target = Arc::new(target);
    }
    let mut built = lowered.clone().build(options).map_err(|error| error.to_string())?;
    if let Some(machine) = machine {
        let code = &mut built.code.code.bytes;
        *code = Device::configure(code, machine).map_err(|error| error.to_string())?;
    }
    Ok(built)
}

fn check(source: &str, sizes: &[Vec<(String, i64)>]) -> Result<(), String> {
    let lowered = Analysis::of(source).and_then(|analysis| analysis.lay_out()?.lower());
    let lowered = lowered.map_err(|error| error.to_string())?;
    let host = built(&lowered, None)?;
    for (profile, cores, threads) in [("blimp", 5, 1), ("upmem", 3, 4)] {
        let profile = Profile::named(profile).map_err(|error| error.to_string())?;
        let machine = Configuration { profile, cores, threads };
        let pim = built(&lowered, Some(&machine))?;
        for sizes in sizes {
            let symbols: BTreeMap<String, i64> = sizes.iter().cloned().collect();
            let [expected, found] = [host.clone(), pim.clone()].map(|built| bits(built, &symbols));
            if expected? != found? {
                return Err(format!("{sizes:?} on `{}`: other bits", machine.profile.name));
            }
        }
    }
    Ok(())
}

#[test]
fn random_programs_compute_the_same_bits_as_on_the_processor() {
    let mut wrong = Vec::new();
    for number in 0..PROGRAMS {
        let drawn = draw(19, number, Limits::up_to(12));
        let source = typed(&drawn.source, TYPES[number as usize % TYPES.len()]);
        if let Err(why) = check(&source, &drawn.checks) {
            wrong.push(format!("program {number}: {why}\n{source}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
