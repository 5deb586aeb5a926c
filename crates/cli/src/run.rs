//! `dastac run` of a program's text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dastac::build::BuildOptions;
use dastac::contract::{At, Sizes};
use dastac::driver::{Analysis, Built, Indices, Iteration};
use dastac::run::Runner;
use dastac::runtime::is_wide;
use dastac::stur::TensorId;
use dastac::verify::Reference;

use super::args::{PassArgs, RunArgs, ThreadArgs};
use super::failure::Failure;
use super::opened::Given;
use super::passes::Watch;
use super::plan::{Inputs, Plan, Request, check_arrays, check_run, fill, write};
use super::progress::Progress;
use super::report::{self, Compiled, Run};
use super::schedule::scheduled;
use super::source::Source;
use super::verify::Verdict;
use super::{Outcome, Result, Terminal, inputs, machine};

/// Compiles and runs a program.
pub fn run(terminal: &Terminal, args: &RunArgs) -> Result<Outcome> {
    let source = Source::read(&args.file.file)?;
    let failed = |error: dastac::Error| Failure::of(error, &source);
    let progress = Progress::new(terminal.interactive && !args.json);
    let warm_up = WarmUp::start();
    let analysis = scheduled(terminal, &source, &args.schedule, &progress)?;
    let request = Request {
        symbols: &args.symbols,
        inputs: &args.inputs,
        outputs: &args.outputs,
        reading: &args.reading,
        renderer: &terminal.renderer,
    };
    let plan = plan(&analysis, request, &source)?;
    progress.stage("choosing steps");
    let sizes = sizes(&analysis, &plan, args.density);
    let analysis = analysis.contracted(At::Sizes(&sizes)).map_err(failed)?;
    let threads = threads(terminal, &args.threads);
    drop(warm_up);
    let wanted = Compilation {
        options: BuildOptions {
            parallel: threads > 1,
            checked: args.checked,
            ..machine::options(&args.machine)?
        },
        iteration: Iteration { reserves: true, ..args.walking.iteration(indices(&plan.inputs)) },
        passes: args.passes,
    };
    let built = compile(analysis, wanted, &source, &progress)?;
    super::watchdog::stop();
    let program = built.written().clone();
    let reference = Reference::of(&program);
    let mut runner = Runner::new(built, &plan.symbols, threads).map_err(failed)?;
    runner.set_density(args.density);
    check_arrays(runner.instance(), &plan, &source)?;
    if plan.needs_movement(reference, runner.instance(), args.verify) {
        progress.stage("generating code that packs arrays");
        runner.make_movement().map_err(failed)?;
    }
    let inputs = Inputs {
        given: plan.inputs,
        keep: args.verify,
        seed: args.seed,
        renderer: &terminal.renderer,
    };
    let dense = fill(runner.instance_mut(), reference, inputs, &source, &progress)?;
    check_run(runner.instance(), args.verify, &source)?;
    let trips = match args.trips {
        true => {
            progress.stage("counting trips of loops");
            Some(runner.trips().map_err(failed)?)
        }
        false => None,
    };
    let mut times = Vec::new();
    for repeat in 1..=args.repeat {
        progress.stage(format!("running ({repeat} of {})", args.repeat));
        times.push(runner.execute().map_err(failed)?);
    }
    for (id, path) in &plan.outputs {
        progress.stage(format!("writing {}", path.display()));
        write(runner.instance(), *id, path, &source, &args.reading)?;
    }
    let verdict = match args.verify {
        true => Verdict::of(&program, runner.instance(), &dense, &progress).map_err(failed)?,
        false => Verdict::NotAsked,
    };
    drop(progress);
    let file = source.path.display().to_string();
    let (instance, compiled) = (runner.instance(), compiled(&runner));
    let run = Run { file, instance, compiled, times: &times, threads, trips, verdict: &verdict };
    report::print(run, args.json, printed(&plan.outputs))?;
    Ok(if verdict.disagrees() { Outcome::Disagreement } else { Outcome::Done })
}

/// The command line checked against a program.
pub fn plan(analysis: &Analysis, request: Request<'_>, source: &Source) -> Result<Plan> {
    let extent = |id, dimension| inputs::extent(&analysis.inferred, id, dimension);
    Plan::new(&analysis.inferred.program, &extent, request, source)
}

/// The sizes of a run: those of its symbols, and what its inputs store.
fn sizes(analysis: &Analysis, plan: &Plan, density: f64) -> Sizes {
    let stored = plan.inputs.iter().filter_map(|(id, given)| match given {
        Given::Sparse(tensor) => Some((*id, tensor.values().len() as u64)),
        Given::Array(_) => None,
    });
    let names = analysis.inferred.program.symbols.iter();
    let symbols = names.filter_map(|(name, _)| plan.symbols.get(name).copied()).collect();
    Sizes { symbols, stored: stored.collect(), density }
}

fn compiled(runner: &Runner) -> Compiled {
    let analysis = &runner.built().lowered.laid.analysis;
    Compiled {
        schedule: analysis.written().schedule_line(),
        stages: analysis.timings.0.clone(),
        flops: runner.flops(),
        steps: runner.steps(),
        workspaces: runner.built().lowered.workspaces(),
        before: false,
    }
}

/// MLIR and LLVM getting ready on the other core while isl works on this one.
struct WarmUp(Option<std::thread::JoinHandle<()>>);

impl WarmUp {
    fn start() -> WarmUp {
        WarmUp(Some(std::thread::spawn(dastac::backend::warm_up)))
    }
}

impl Drop for WarmUp {
    /// Waits: the process must not end while LLVM is starting.
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // If it failed, the compilation will say so.
            let _ = thread.join();
        }
    }
}

/// Whether a tensor is printed: standard output is for it alone then.
pub fn printed(outputs: &BTreeMap<TensorId, PathBuf>) -> bool {
    outputs.values().any(|path| path == Path::new("-"))
}

/// The width of indices that all given inputs fit.
pub fn indices(given: &[(TensorId, Given)]) -> Indices {
    let wide = |given: &Given| matches!(given, Given::Sparse(tensor) if is_wide(tensor));
    match given.iter().any(|(_, given)| wide(given)) {
        true => Indices::Wide,
        false => Indices::Narrow,
    }
}

/// The number of threads: what is asked for, or one for each core where OpenMP is there.
pub fn threads(terminal: &Terminal, args: &ThreadArgs) -> usize {
    if let Some(threads) = args.threads {
        return threads as usize;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if cores > 1 && dastac::runtime::openmp::load().is_err() {
        terminal.renderer.note("running on one thread: OpenMP's library (libomp) was not found");
        return 1;
    }
    cores
}

/// What a program is compiled for.
struct Compilation {
    options: BuildOptions,
    iteration: Iteration,
    passes: PassArgs,
}

fn compile(
    analysis: Analysis,
    wanted: Compilation,
    source: &Source,
    progress: &Progress,
) -> Result<Built> {
    let failed = |error: dastac::Error| Failure::of(error, source);
    progress.stage("finding layouts");
    let laid = analysis.lay_out().map_err(failed)?;
    progress.stage("building loops");
    let mut watch = Watch::of(wanted.passes);
    let (lowered, _) = laid.lower_under(wanted.iteration, &mut watch).map_err(failed)?;
    progress.stage("generating code");
    let built = lowered.build_under(wanted.options, &mut watch).map_err(failed)?;
    watch.finish()?;
    Ok(built)
}
