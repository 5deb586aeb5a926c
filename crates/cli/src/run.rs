//! `dastac run` of a program's text.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dastac::Side;
use dastac::build::BuildOptions;
use dastac::contract::{Sizes, meeting};
use dastac::driver::{Analysis, Indices, Iteration};
use dastac::runtime::is_wide;
use dastac::stur::{Program, TensorId};
use dastac::verify::Reference;

use super::args::{RunArgs, ThreadArgs};
use super::failure::Failure;
use super::opened::Given;
use super::plan::{Inputs, Plan, Request, check_arrays, check_run, fill, write};
use super::progress::Progress;
use super::report::{self, Run};
use super::source::Source;
use super::subject::{Code, Subject, Wanted};
use super::verify::Verdict;
use super::{Outcome, Result, Terminal, automatic, cache, machine, output, timeline};

/// Runs a program, and compiles what of it is not there yet.
pub fn run(terminal: &Terminal, args: &RunArgs) -> Result<Outcome> {
    let source = Source::of(&args.file)?;
    let source = automatic::chosen(terminal, source, &args.inputs, &args.reading)?;
    if let Some(device) = args.device {
        dastac::runtime::cuda::choose(device);
    }
    let failed = |error: dastac::Error| Failure::of(error, &source);
    let progress = Progress::new(terminal.interactive && !args.json);
    // Loops are counted, and passes watched, where they are made.
    let compiles = args.trips || args.passes.time_passes || args.passes.verify_ir;
    let cache = match args.keep.no_cache || compiles {
        true => None,
        false => cache::open(terminal)?,
    };
    let mut subject = Subject::open(terminal, &source, &args.schedule, cache.as_ref(), &progress)?;
    let request = Request {
        symbols: &args.symbols,
        inputs: &args.inputs,
        outputs: &args.outputs,
        reading: &args.reading,
        renderer: &terminal.renderer,
    };
    let extent = |id, dimension| subject.extent(id, dimension);
    let plan = Plan::new(subject.program(), &extent, request, &source)?;
    let threads = threads(terminal, &args.threads);
    let mut wanted = Wanted {
        options: BuildOptions {
            parallel: threads > 1,
            checked: args.checked,
            ..machine::options(&args.machine, &args.threads)?
        },
        iteration: Iteration {
            reserves: args.machine.target.is_host(),
            ..args.walking.iteration(indices(&plan.inputs))
        },
        passes: args.passes,
        sizes: sizes(subject.program(), &plan, args.density),
    };
    if wanted.options.target.takes_sizes() {
        wanted.options.sizes.clone_from(&wanted.sizes.symbols);
    }
    let mut ready = subject.ready(&mut wanted, &plan.symbols, threads, &progress)?;
    super::watchdog::stop();
    let program = subject.program().clone();
    let reference = Reference::of(&program);
    ready.instance_mut().set_density(args.density);
    check_arrays(ready.instance(), &plan, &source)?;
    let moves = plan.moves(reference, ready.instance(), args.verify);
    subject.make_movement(&ready, &wanted, &moves, &progress)?;
    let inputs = Inputs {
        given: plan.inputs,
        keep: args.verify,
        seed: args.seed,
        renderer: &terminal.renderer,
    };
    let dense = fill(ready.instance_mut(), reference, inputs, &source, &progress)?;
    check_run(ready.instance(), args.verify, &source)?;
    let trips = match &mut ready.code {
        Code::Compiled(runner) if args.trips => {
            progress.stage("counting trips of loops");
            Some(runner.trips().map_err(failed)?)
        }
        _ => None,
    };
    if args.timeline.is_some() {
        timeline::watch(ready.instance().executable().kernel())?;
    }
    let mut times = Vec::new();
    for repeat in 1..=args.repeat {
        progress.stage(format!("running ({repeat} of {})", args.repeat));
        // Of several, the last one is reported.
        let kernel = ready.instance().executable().kernel();
        kernel.take_report();
        kernel.take_times();
        let time = ready.instance_mut().execute();
        times.push(time.map_err(|error| failed(error.into()))?);
    }
    let kernel = ready.instance().executable().kernel();
    let (cores, device) = (kernel.take_report(), kernel.take_times());
    if let Some(path) = &args.timeline {
        timeline::write(path, cores.as_ref())?;
    }
    for (id, path) in &plan.outputs {
        progress.stage(format!("writing {}", path.display()));
        write(ready.instance(), *id, path, &source, &args.reading)?;
    }
    let verdict = match args.verify {
        true => {
            let movement = subject.unpacking(&ready, &wanted, &progress)?;
            let reference = reference.with_movement(movement.as_ref());
            Verdict::of(reference, ready.instance(), &dense, &progress).map_err(failed)?
        }
        false => Verdict::NotAsked,
    };
    let compiled = subject.report(&ready, &wanted)?;
    drop(progress);
    let file = source.path.display().to_string();
    let instance = ready.instance();
    let (times, verdict) = (&times[..], &verdict);
    let run = Run { file, instance, compiled, times, threads, trips, cores, device, verdict };
    report::print(run, args.json, printed(&plan.outputs))?;
    Ok(if verdict.disagrees() { Outcome::Disagreement } else { Outcome::Done })
}

/// The command line checked against a program.
pub fn plan(analysis: &Analysis, request: Request<'_>, source: &Source) -> Result<Plan> {
    let extent = |id, dimension| Side::of(&analysis.inferred, id, dimension);
    Plan::new(&analysis.inferred.program, &extent, request, source)
}

/// The sizes of a run: those of its symbols, and what its inputs store.
pub fn sizes(program: &Program, plan: &Plan, density: f64) -> Sizes {
    let stored = plan.inputs.iter().filter_map(|(id, given)| match given {
        Given::Sparse(tensor, _) => Some((*id, tensor.values().len() as u64)),
        Given::Array(_) => None,
    });
    let symbols = program.symbols.iter();
    let symbols = symbols.filter_map(|(name, _)| plan.symbols.get(name).copied()).collect();
    let known = plan.inputs.iter().filter_map(|(id, given)| match given {
        Given::Sparse(tensor, _) => Some((*id, tensor)),
        Given::Array(_) => None,
    });
    let meeting = meeting(program, &known.collect());
    Sizes { symbols, stored: stored.collect(), density, meeting }
}

/// Whether a tensor is printed: standard output is for it alone then.
pub fn printed(outputs: &BTreeMap<TensorId, PathBuf>) -> bool {
    outputs.values().any(|path| output::is_standard(path))
}

/// The width of indices that all given inputs fit.
pub fn indices(given: &[(TensorId, Given)]) -> Indices {
    let wide = |given: &Given| matches!(given, Given::Sparse(tensor, _) if is_wide(tensor));
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
