//! Measures one job: its program, its data, what it takes at least, and the times of all systems.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::time::Duration;

use crate::affinity;
use dastac_runtime::Role;
use dastac_stur::program::TensorId;

use super::fill::fill;
use super::job::{Job, analyse, symbols_of, tell};
use super::kernels::Call;
use super::peers;
use super::results::{CaseResults, Footprint};
use super::structured::checked;
use super::system::System;
use super::turns::{Candidate, Packed, agree, turns};
use crate::Error;
use dastac_driver::build::BuildOptions;
use dastac_driver::driver::{Built, Laid};
use dastac_driver::run::{Runner, facts};
use dastac_runtime::TensorFacts;

/// Measures a job in this process.
///
/// # Errors
/// A program that cannot be compiled, or does not fit into memory.
pub fn measure(job: &Job) -> Result<CaseResults, Error> {
    tell("its compilation");
    if !job.pim.is_empty() {
        return super::pim::measure(job);
    }
    if job.systems.is_empty() {
        return facts_only(job);
    }
    let machine = job.places.machine()?;
    let target = BuildOptions { parallel: job.threads > 1, machine, ..BuildOptions::default() };
    let laid = analyse(job)?;
    let built = laid.clone().lower()?.build(target)?;
    let mut case = job.case();
    case.stages = stages(&built);
    // The first kernel starts OpenMP, which must see all CPUs.
    if job.threads > 1 {
        dastac_runtime::openmp::set_threads(job.threads)?;
    }
    case.loops = digest(&built);
    case.code = checked::code_bytes(&built);
    if !job.checks.is_empty() {
        tell("its comparison with the dense evaluator");
        case.check = Some(checked::check(&built, job)?);
    }
    tell("its data");
    let mut symbols: BTreeMap<String, i64> = job.symbols.iter().cloned().collect();
    for (_, pattern) in &job.inputs {
        symbols.extend(pattern.sizes()?);
    }
    let mut shared = Runner::new(built, &symbols, job.threads)?;
    let cpus: Vec<usize> = affinity::allowed().into_iter().rev().take(job.threads).collect();
    fill(&mut shared, job)?;
    count(&mut case, &shared, &laid, job);
    let mut systems: Vec<Candidate> = Vec::new();
    for name in &job.systems {
        tell(name);
        let made = match name.as_str() {
            "dastac" if job.call != Some(Call::Conversion) => {
                Ok(Box::new(Packed) as Box<dyn System>)
            }
            name => peers::system(peers::Request { name, job, laid: &laid, shared: &mut shared }),
        };
        systems.push(Candidate::new(name.clone(), made));
    }
    affinity::pin(&cpus);
    agree(&mut systems, &mut shared);
    turns(&mut systems, &mut shared, job);
    case.systems = systems.into_iter().map(Candidate::measured).collect();
    Ok(case)
}

/// Compiles only: footprints at the given sizes, and how long the stages take, the shortest of some tries.
fn facts_only(job: &Job) -> Result<CaseResults, Error> {
    let mut case = job.case();
    for _ in 0..3 {
        let laid = analyse(job)?;
        if case.tensors.is_empty() && !job.symbols.is_empty() {
            let symbols = symbols_of(job, laid.inferred())?;
            case.tensors = footprints(&laid, &symbols, &facts(&laid, &symbols)?);
            case.bytes = case.tensors.iter().map(|tensor| tensor.packed).sum();
        }
        let built = laid.lower()?.build(BuildOptions::default())?;
        let stages = stages(&built);
        let total = |stages: &[(String, u64)]| stages.iter().map(|(_, ns)| ns).sum::<u64>();
        if case.stages.is_empty() || total(&stages) < total(&case.stages) {
            case.stages = stages;
        }
    }
    Ok(case)
}

/// What tells a program's loops from those of others.
fn digest(built: &Built) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(built.lowered.kernel.module.to_string().as_bytes());
    format!("{:016x}", hasher.finish())
}

/// How long each stage of the compiler took, in nanoseconds.
fn stages(built: &Built) -> Vec<(String, u64)> {
    let stages = built.lowered.laid.analysis.timings.0.iter();
    let nanoseconds = |time: &Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    stages.map(|(stage, time)| ((*stage).to_string(), nanoseconds(time))).collect()
}

/// Points, operations and bytes, from the inferred structure.
fn count(case: &mut CaseResults, runner: &Runner, laid: &Laid, job: &Job) {
    let statements = runner.iterations();
    let sum = |each: &dyn Fn(u128, usize) -> u128| {
        let counts = statements.as_ref()?.iter();
        Some(counts.map(|(count, factors)| each(*count, *factors)).sum::<u128>() as f64)
    };
    case.points = sum(&|count, _| count);
    case.flops = sum(&|count, factors| count * factors.max(1) as u128);
    if let Some(points) = stored_points(runner, job) {
        (case.points, case.flops) = (Some(points), Some(2.0 * points));
    }
    case.read = sum(&|count, factors| 8 * count * factors as u128);
    case.bytes = runner.facts().iter().map(|fact| fact.packed_bytes as f64).sum();
    case.tensors = footprints(laid, runner.symbols(), runner.facts());
}

/// Points of a product with a sparse matrix: each element of a row meets all of a row of a second sparse matrix;
/// each entry meets each column of the dense factor. Those of a conversion are its entries.
fn stored_points(runner: &Runner, job: &Job) -> Option<f64> {
    if matches!(job.call, Some(Call::SparseProduct | Call::SparseColumns)) {
        return peers::multiply_adds(runner);
    }
    if !matches!(job.call, Some(Call::SparseVector | Call::SparseMatrix | Call::Conversion)) {
        return None;
    }
    let ids = || (0..runner.facts().len()).map(TensorId);
    let entries = ids().find_map(|id| runner.bound(id))?.entry_count();
    if job.call == Some(Call::Conversion) {
        return Some(entries as f64);
    }
    let factors = ids().filter(|id| runner.bound(*id).is_none());
    let columns = factors.filter_map(|id| runner.facts()[id.0].shape.get(1)).next();
    Some(entries as f64 * columns.map_or(1.0, |columns| *columns as f64))
}

/// What tensors take: packed, by their declarations alone, and dense.
fn footprints(laid: &Laid, symbols: &[i64], facts: &[TensorFacts]) -> Vec<Footprint> {
    let inferred = laid.inferred();
    let values: Vec<(String, i64)> = inferred
        .parameter_values(symbols)
        .map(|values| {
            let names = values.into_iter();
            names.map(|(name, value)| (inferred.sets.names.isl(&name).to_string(), value)).collect()
        })
        .unwrap_or_default();
    let each = facts.iter().enumerate().map(|(at, fact)| {
        // What the declarations alone tell of an input: unique elements, used or not.
        let declared = || {
            let unique = inferred.tensors[at].unique.fix_params(&values).ok()?.card().ok()?;
            let count = unique.eval(&values, &[]).ok()?.to_integer();
            Some(count as f64 * fact.element.bytes() as f64)
        };
        Footprint {
            name: fact.name.clone(),
            input: fact.role == Role::Input,
            packed: fact.packed_bytes as f64,
            declared: declared().unwrap_or(fact.dense_bytes as f64),
            dense: fact.dense_bytes as f64,
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::find;
    use crate::patterns::Pattern;
    use crate::results::Outcome;
    use crate::sparse;

    fn job(kernel: &str, n: i64, systems: &[&str]) -> Job {
        let mut job = Job::of(find(kernel).unwrap(), n, 1, systems);
        for (name, value) in &mut job.symbols {
            // Rows of a regression are many, for times; counts need few.
            *value = if kernel.starts_with("pr") && name == "M" { 11 } else { *value };
        }
        job.budget = 0.01;
        job.places.peers = "there is no such folder".into();
        job
    }

    /// Points among `n^rank` for which the condition holds.
    fn points(n: i64, rank: u32, condition: impl Fn(&[i64]) -> bool) -> f64 {
        let all = (0..n.pow(rank)).filter(|at| {
            let index: Vec<i64> = (0..rank).map(|k| at / n.pow(k) % n).collect();
            condition(&index)
        });
        all.count() as f64
    }

    #[test]
    fn counts_are_those_of_brute_force() {
        let n = 5;
        let all = |rank: u32| points(n, rank, |_| true);
        let up = points(n, 2, |x| x[0] <= x[1]);
        let below = points(n, 2, |x| x[0] < x[1]);
        let leslie = points(n, 2, |x| x[0] == 0 || x[1] == x[0] - 1);
        let sorted = |rank: u32| points(n, rank, |x| x.is_sorted());
        // Points, factors, and elements of all tensors.
        let expected = [
            ("ttm_dp", all(3), 2.0, 3.0 * all(2)),
            ("ttm_ut", up * all(2), 2.0, 2.0 * up * all(1) + all(2)),
            ("thp_i", all(2), 2.0, 3.0 * all(2)),
            ("mtt_j", all(3), 3.0, all(3) + 3.0 * all(1)),
            ("mtt_jut", below * all(1), 3.0, below * all(1) + 2.0 * (all(1) - 1.0) + all(1)),
            ("mtt_d", all(1), 3.0, 4.0 * all(1)),
            ("spmv_ut", up, 2.0, up + 2.0 * all(1)),
            ("spmv_l", leslie, 2.0, leslie + 2.0 * all(1)),
            ("pr2", 11.0 * sorted(2), 2.0, 11.0 * all(1) + sorted(2)),
            ("pr4", 11.0 * sorted(4), 4.0, 11.0 * all(1) + sorted(4)),
        ];
        for (kernel, points, factors, elements) in expected {
            let case = measure(&job(kernel, n, &["dastac"])).unwrap();
            assert_eq!(case.points, Some(points), "{kernel}");
            assert_eq!(case.flops, Some(points * factors), "{kernel}");
            assert_eq!(case.bytes, elements * 8.0, "{kernel}");
            assert!(case.time("dastac").is_some(), "{kernel}");
        }
    }

    #[test]
    fn other_forms_and_c_agree() {
        let systems =
            ["dastac", "untiled", "inputs", "dense", "small", "c-packed", "c-inputs", "c-dense"];
        let folder = tempfile::tempdir().unwrap();
        for (kernel, single) in [("ttm_ut", false), ("pr2", true), ("spmv_l", false)] {
            let mut job = job(kernel, 6, &systems);
            job.places.scratch = folder.path().into();
            job.single = single;
            let case = measure(&job).unwrap();
            for measured in &case.systems {
                let compiled = crate::bindings::c::Compiler::find().is_some();
                if compiled || !measured.system.starts_with("c-") {
                    assert!(measured.time().is_some(), "{kernel}: {measured:?}");
                }
            }
        }
    }

    #[test]
    fn sparse_tensors_are_measured_beside_other_systems() {
        let folder = tempfile::tempdir().unwrap();
        let scope = crate::figures::Scope {
            quick: true,
            threads: vec![1],
            kernels: vec!["conv2-pqij-80".into(), "spmm-band".into()],
            size: None,
            systems: Vec::new(),
            seed: 7,
            budget: 0.01,
            matrices: None,
            layers: None,
            random: None,
            places: crate::job::Places {
                peers: "there is no such folder".into(),
                scratch: folder.path().into(),
                taco: None,
                taco_ucf: None,
                machine: None,
            },
        };
        let jobs = sparse::convolutions(&scope).into_iter().chain(sparse::products(&scope));
        for mut job in jobs {
            for (_, value) in &mut job.symbols {
                *value = (*value).min(20);
            }
            for (_, pattern) in &mut job.inputs {
                if let Pattern::Band(entries, _) = pattern {
                    *entries = 50;
                }
            }
            let case = measure(&job).unwrap();
            assert!(case.time("dastac").is_some() && !case.loops.is_empty(), "{case:?}");
            for measured in &case.systems {
                let there = match &measured.outcome {
                    Outcome::Gap { reason } => reason.starts_with("not installed"),
                    outcome => matches!(outcome, Outcome::Time { .. }),
                };
                assert!(there || measured.system == "scipy", "{measured:?}");
            }
            let points = job.call.map(|_| case.points.unwrap());
            assert!(points.is_none_or(|points| points > 0.0 && points <= 50.0 * 20.0));
        }
    }

    #[test]
    fn what_is_missing_says_how_to_get_it() {
        let case = measure(&job("spmv_ut", 6, &["dastac", "mkl", "taco"])).unwrap();
        for system in ["mkl", "taco"] {
            let Some(Outcome::Gap { reason }) = case.system(system).map(|m| &m.outcome) else {
                panic!("{system} is there");
            };
            assert!(reason.starts_with("not installed") && reason.contains("--"), "{reason}");
        }
        let case = measure(&job("pr3", 3, &["dastac", "mkl"])).unwrap();
        let gap = &case.system("mkl").unwrap().outcome;
        assert!(matches!(gap, Outcome::Gap { reason } if reason.contains("no routine")));
    }
}
