//! Kernels over structured tensors on 1 to 1,024 cores: packed, in boxes, and without what is known of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use dastac_backend::PimTarget;
use dastac_driver::build::BuildOptions;
use dastac_driver::driver::Built;
use dastac_driver::run::Runner;
use dastac_runtime::Role;
use dastac_runtime::pim::plan::Configuration;
use dastac_runtime::pim::{Device, Profile};
use dastac_stur::program::TensorId;

use super::names::{PROFILE, STRUCTURED};
use crate::Error;
use crate::fill::fill;
use crate::job::{Job, analyse, tell};
use crate::patterns::Pattern;
use crate::results::{CaseResults, Simulated};
use crate::scope::Scope;
use crate::sparse::layers::{LAYERS, Layer, file};
use crate::structured::checked;

/// Numbers of cores.
pub const CORES: [usize; 6] = [1, 4, 16, 64, 256, 1024];

/// A program, and what it is where nothing is known of its tensors.
struct Kernel {
    name: &'static str,
    title: &'static str,
    source: &'static str,
    symbols: &'static [(&'static str, i64)],
    /// Smaller sizes, for where there is little time.
    quick: &'static [(&'static str, i64)],
    /// Sizes at which results are compared with the dense evaluator.
    checked: &'static [(&'static str, i64)],
}

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "ttm_ut",
        title: "TTM_UT",
        source: include_str!("../../../../examples/ttm_ut.stur"),
        symbols: &[("M", 1000), ("N", 1000), ("P", 4), ("Q", 4)],
        quick: &[("M", 100), ("N", 100), ("P", 4), ("Q", 4)],
        checked: &[("M", 9), ("N", 8), ("P", 3), ("Q", 5)],
    },
    Kernel {
        name: "pr2",
        title: "PR2",
        source: include_str!("../../../../examples/pr2.stur"),
        symbols: &[("M", 16), ("N", 1000)],
        quick: &[("M", 16), ("N", 100)],
        checked: &[("M", 5), ("N", 9)],
    },
    Kernel {
        name: "spmv_ut",
        title: "packed triangle times vector",
        source: include_str!("../../../../examples/spmv_ut.stur"),
        symbols: &[("M", 2500), ("N", 2500)],
        quick: &[("M", 200), ("N", 200)],
        checked: &[("M", 9), ("N", 8)],
    },
    Kernel {
        name: "pruned",
        title: "pruned layer",
        source: include_str!("../../../../examples/convolution_flattened.stur"),
        symbols: &[],
        quick: &[],
        checked: &[("Q", 4), ("C", 3), ("M", 5), ("N", 4)],
    },
];

/// The layer of ResNet50 that is pruned, and a small part of it where there is little time.
const LAYER: usize = 23;
const SMALL: Layer = Layer { outputs: 7, window: 3, channels: 16, filters: 64, stride: 1 };

/// Which part of its filters is not there, if no file says it.
const PRUNED: f64 = 0.8;

/// All kernels.
pub fn jobs(scope: &Scope) -> Vec<Job> {
    let jobs = KERNELS.iter().map(|kernel| {
        let (mut symbols, mut inputs) = (kernel.symbols.to_vec(), Vec::new());
        if scope.quick {
            symbols = kernel.quick.to_vec();
        }
        if symbols.is_empty() {
            let layer = if scope.quick { SMALL } else { LAYERS[LAYER] };
            let weights = scope.layers.as_deref().filter(|_| !scope.quick);
            let filters = weights.and_then(|folder| file(folder, LAYER));
            let drawn = Pattern::Uniform(1.0 - PRUNED);
            let filters = filters.map(|file| Pattern::Factor { file, second: false });
            inputs.push(("F".to_string(), filters.unwrap_or(drawn)));
            let Layer { outputs, channels, filters, .. } = layer;
            symbols = vec![("Q", filters), ("C", channels), ("M", outputs), ("N", outputs)];
        }
        let named = |symbols: &[(&str, i64)]| {
            symbols.iter().map(|(name, value)| ((*name).to_string(), *value)).collect()
        };
        let n = symbols.iter().map(|(_, value)| *value).max().unwrap_or(0);
        let (kernel_name, source) = (format!("{STRUCTURED}{}", kernel.name), kernel.source);
        Job {
            title: kernel.title.into(),
            symbols: named(&symbols),
            inputs,
            single: true,
            checks: vec![named(kernel.checked)],
            pim: CORES.to_vec(),
            seed: 1,
            ..scope.program(&kernel_name, n, source.into(), &["dastac"])
        }
    });
    jobs.filter(|job| scope.has(&job.kernel)).collect()
}

/// A job's program where nothing is known of its tensors: neither structure nor equal factors nor formats.
fn without_structure(job: &Job) -> Job {
    let lines = job.source.lines().filter(|line| !line.contains(":U") && !line.contains(":F"));
    let mut source: String = lines.map(|line| format!("{line}\n")).collect();
    if job.kernel.ends_with("pr2") {
        source = source.replace("* B(x, i2)", "* C(x, i2)");
        source += "C:D(x, i) := (0 <= x < M) * (0 <= i < N)\n";
    }
    Job { source, inputs: Vec::new(), ..job.clone() }
}

/// All forms of a program, on all numbers of cores.
///
/// # Errors
/// A program that cannot be compiled or computes something else.
pub(super) fn measure(job: &Job) -> Result<CaseResults, Error> {
    let mut case = job.case();
    let target = PimTarget::new(PROFILE, Some(1), Some(1)).map_err(dastac_driver::Error::from)?;
    let options = BuildOptions { target: Arc::new(target), ..BuildOptions::default() };
    for way in ["packed", "boxes", "full"] {
        tell("its compilation");
        let job = if way == "full" { without_structure(job) } else { job.clone() };
        if way == "boxes" && !job.inputs.is_empty() {
            // Elements that only the data has are in no box.
            continue;
        }
        let mut laid = analyse(&job)?;
        if way != "packed" {
            laid = laid.uncompressed_where(|_| true)?;
        }
        let built = laid.lower()?.build(options.clone())?;
        let check = checked::check(&built, &job)?;
        if !check.agrees || way == "packed" {
            case.check = Some(check);
        }
        let mut first = None;
        for &cores in &job.pim {
            tell("dastac");
            match run(&built, &job, cores) {
                Err(error) => case.pim.push(Simulated {
                    way: way.into(),
                    cores,
                    failed: error.to_string(),
                    ..Simulated::default()
                }),
                Ok((report, result)) => {
                    if *first.get_or_insert_with(|| result.clone()) != result {
                        let text = format!("{cores} cores compute something else than one");
                        return Err(Error::Peer(text));
                    }
                    case.pim.push(Simulated::of(way, &report));
                }
            }
        }
    }
    if let Some(check) = case.check.as_ref().filter(|check| !check.agrees) {
        return Err(Error::Peer(format!("its results are wrong: {}", check.at)));
    }
    Ok(case)
}

/// What cores counted, and the bits of what they computed.
fn run(
    built: &Built,
    job: &Job,
    cores: usize,
) -> Result<(dastac_runtime::pim::Report, Vec<u64>), Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Peer(error.to_string());
    let profile = Profile::named(PROFILE).map_err(|error| failed(&error))?;
    let machine = Configuration { profile, cores, threads: 1 };
    let mut built = built.clone();
    built.code.code.bytes =
        Device::configure(&built.code.code.bytes, &machine).map_err(|error| failed(&error))?;
    let symbols: BTreeMap<String, i64> = job.symbols.iter().cloned().collect();
    let mut runner = Runner::new(built, &symbols, 1)?;
    fill(&mut runner, job)?;
    runner.execute()?;
    let report = runner.instance().executable().kernel().take_report().unwrap_or_default();
    let outputs = (0..runner.facts().len()).filter(|at| runner.facts()[*at].role == Role::Output);
    let bits = outputs.flat_map(|at| {
        let view = runner.packed(TensorId(at));
        (0..view.len()).map(|place| view.number(place).to_bits()).collect::<Vec<u64>>()
    });
    let bits = bits.collect();
    Ok((report, bits))
}
