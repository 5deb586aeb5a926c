//! `dastac run` of a program that was compiled before. The code is run as it is; the compiler only reads the program's
//! text again, for the reference evaluator.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dastac::Side;
use dastac::package::original;
use dastac::runtime::package::{Origin, Package};
use dastac::runtime::{self, Executable, Instance};
use dastac::stur::{Program, TensorId};
use dastac::verify::Reference;

use super::args::RunArgs;
use super::failure::Failure;
use super::plan::{Inputs, Plan, Request, check_arrays, check_run, fill, write};
use super::progress::Progress;
use super::report::{self, Compiled, Run};
use super::source::{Source, reason};
use super::verify::Verdict;
use super::{Outcome, Result, Terminal, run, timeline};

/// Whether a file is named as a compiled program is.
pub fn is_named(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "dastac")
}

/// Runs a compiled program.
pub fn run(terminal: &Terminal, args: &RunArgs) -> Result<Outcome> {
    refuse_options_of_compilation(args)?;
    let progress = Progress::new(terminal.interactive && !args.json);
    let Loaded { executable, program, source, schedule, took } = load(&args.file.file)?;
    super::watchdog::stop();
    let failed = |error: dastac::Error| Failure::of(error, &source);
    let request = Request {
        symbols: &args.symbols,
        inputs: &args.inputs,
        outputs: &args.outputs,
        reading: &args.reading,
        renderer: &terminal.renderer,
    };
    let extent = |id, dimension| extent(&executable, id, dimension);
    let plan = Plan::new(&program, &extent, request, &source)?;
    let threads = threads(terminal, args, &executable);
    let instance = Instance::new(Arc::clone(&executable), &plan.symbols, threads);
    let mut instance = instance.map_err(|error| failed(error.into()))?;
    instance.set_density(args.density);
    check_arrays(&instance, &plan, &source)?;
    let inputs = Inputs {
        given: plan.inputs,
        keep: args.verify,
        seed: args.seed,
        renderer: &terminal.renderer,
    };
    let reference = Reference::of(&program);
    let dense = fill(&mut instance, reference, inputs, &source, &progress)?;
    check_run(&instance, args.verify, &source)?;
    if args.timeline.is_some() {
        timeline::watch(instance.executable().kernel())?;
    }
    let mut times = Vec::new();
    for repeat in 1..=args.repeat {
        progress.stage(format!("running ({repeat} of {})", args.repeat));
        // Of several, the last one is reported.
        let kernel = instance.executable().kernel();
        kernel.take_report();
        kernel.take_times();
        times.push(instance.execute().map_err(|error| failed(error.into()))?);
    }
    for (id, path) in &plan.outputs {
        progress.stage(format!("writing {}", path.display()));
        write(&instance, *id, path, &source, &args.reading)?;
    }
    let verdict = match args.verify {
        true => Verdict::of(reference, &instance, &dense, &progress).map_err(failed)?,
        false => Verdict::NotAsked,
    };
    drop(progress);
    let compiled = Compiled {
        schedule,
        stages: vec![("load", took)],
        flops: None,
        steps: Vec::new(),
        expanded: Vec::new(),
        workspaces: Vec::new(),
        before: true,
    };
    let kernel = instance.executable().kernel();
    let (cores, device) = (kernel.take_report(), kernel.take_times());
    if let Some(path) = &args.timeline {
        timeline::write(path, cores.as_ref())?;
    }
    let run = Run {
        file: source.name.clone(),
        instance: &instance,
        compiled,
        times: &times,
        threads,
        trips: None,
        cores,
        device,
        verdict: &verdict,
    };
    report::print(run, args.json, run::printed(&plan.outputs))?;
    Ok(if verdict.disagrees() { Outcome::Disagreement } else { Outcome::Done })
}

/// A compiled program in this process.
struct Loaded {
    executable: Arc<Executable>,
    /// What it was compiled from.
    program: Program,
    /// Its file, with the text of the program.
    source: Source,
    schedule: Option<String>,
    took: Duration,
}

fn load(path: &Path) -> Result<Loaded> {
    let start = Instant::now();
    let name = path.display().to_string();
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::user(format!("cannot read `{name}`: {}", reason(&error))))?;
    let mut source = Source { path: path.into(), name, text: String::new() };
    let failed = |error: runtime::Error| Failure::of(error.into(), &source);
    let mut package = Package::from_bytes(&bytes).map_err(failed)?;
    let origin = std::mem::take(&mut package.origin);
    let program =
        original(&package.program, &origin).map_err(|error| Failure::of(error, &source))?;
    let executable = package.load().map_err(failed)?;
    let Origin { text, schedule } = origin;
    source.text = text;
    Ok(Loaded { executable, program, source, schedule, took: start.elapsed() })
}

/// Fails for what decides how a program is compiled: it is compiled already.
fn refuse_options_of_compilation(args: &RunArgs) -> Result<()> {
    let options = [
        ("--schedule", args.schedule.schedule.is_some()),
        ("--no-schedule", args.schedule.no_schedule),
        ("--walking", args.walking.walking.is_some()),
        ("--target", args.machine.target.target.is_some()),
        ("--cpu", args.machine.cpu.is_some()),
        ("--machine", args.machine.machine.is_some()),
        ("--checked", args.checked),
        ("--trips", args.trips),
        ("--time-passes", args.passes.time_passes),
        ("--verify-ir", args.passes.verify_ir),
    ];
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let text =
                format!("`{option}` is about compiling, and a compiled program is run as it is");
            let hint = "give it to `dastac run` or `dastac build` of the program's text";
            Err(Failure::user(text).hint(hint))
        }
    }
}

/// The number of threads: one where the code has no parallel loops.
fn threads(terminal: &Terminal, args: &RunArgs, executable: &Executable) -> usize {
    if executable.kernel().is_parallel() {
        return run::threads(terminal, &args.threads);
    }
    if args.threads.threads.is_some_and(|threads| threads > 1) {
        terminal.renderer.note("running on one thread: the program has no code for several");
    }
    1
}

/// The symbol that the extent of a tensor's dimension tells, if it tells one.
fn extent(executable: &Executable, id: TensorId, dimension: usize) -> Option<Side<String>> {
    let sizes = &executable.program().sizes;
    let side = Side::of_index(sizes.tensors.get(id.0)?.extents.get(dimension)?)?;
    let name = sizes.symbols.get(side.symbol)?.clone();
    Some(side.map(|_| name))
}
