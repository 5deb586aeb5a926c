//! `dastac run`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dastac::build::BuildOptions;
use dastac::driver::{Analysis, Built, Indices, Iteration};
use dastac::formats;
use dastac::formats::io::{FileKind, ReadOptions};
use dastac::run::Runner;
use dastac::runtime::is_wide;
use dastac::stur::reference::Dense;
use dastac::stur::{Program, TensorId};
use dastac::verify::Verification;

use super::args::{PassArgs, RunArgs, SymbolArgs, ThreadArgs};
use super::failure::Failure;
use super::json::{Copy, Ordered, Report, Tensor};
use super::npy::{self, Array};
use super::passes::Watch;
use super::progress::Progress;
use super::schedule::scheduled;
use super::source::Source;
use super::table::{ratio, table};
use super::verify::Verdict;
use super::{Outcome, Result, Terminal, inputs, layout, output, tensors, trips};

/// Compiles and runs a program.
pub fn run(terminal: &Terminal, args: &RunArgs) -> Result<Outcome> {
    let source = Source::read(&args.file.file)?;
    let failed = |error: dastac::Error| Failure::of(error, &source);
    let progress = Progress::new(terminal.interactive && !args.json);
    let warm_up = WarmUp::start();
    let analysis = scheduled(terminal, &source, &args.schedule, &progress)?;
    let files = (args.inputs.as_slice(), args.outputs.as_slice(), &tensors::lists(&args.lists));
    let plan = Plan::new(&analysis, &args.symbols, files, &source)?;
    let threads = threads(terminal, &args.threads);
    drop(warm_up);
    let target =
        BuildOptions { parallel: threads > 1, checked: args.checked, ..BuildOptions::default() };
    let iteration = args.walking.iteration(indices(&plan.inputs));
    let built = compile(analysis, (target, iteration, args.passes), &source, &progress)?;
    super::watchdog::stop();
    let mut runner = Runner::new(built, &plan.symbols, threads).map_err(failed)?;
    runner.set_density(args.density);
    let inputs = Inputs { given: plan.inputs, keep: args.verify, seed: args.seed };
    let dense = fill(&mut runner, inputs, &source, &progress)?;
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
        write(&mut runner, *id, path, (&source, files.2))?;
    }
    let verdict = if args.verify {
        progress.stage("comparing with the reference evaluator");
        Verdict::of(&mut runner, &dense).map_err(failed)?
    } else {
        Verdict::NotAsked
    };
    drop(progress);
    let mut report = report(&runner, &source, &times, threads, &verdict);
    report.trips = trips.as_deref().map(trips::report);
    if args.json {
        let mut text = serde_json::to_string_pretty(&report)
            .map_err(|error| Failure::Defect(error.to_string()))?;
        text.push('\n');
        output::stdout(text.as_bytes())?;
    } else {
        let mut text = human(&runner, &report, &times, &verdict);
        text += &trips
            .as_deref()
            .map_or_else(String::new, |trips| format!("\n{}", trips::human(trips)));
        output::stdout(text.as_bytes())?;
    }
    Ok(if verdict.disagrees() { Outcome::Disagreement } else { Outcome::Done })
}

/// Writes a computed tensor: of one with `:F` what is stored, unless the file is an array.
fn write(
    runner: &mut Runner,
    id: TensorId,
    path: &Path,
    (source, options): (&Source, &ReadOptions),
) -> Result<()> {
    let failed = |error: dastac::Error| Failure::of(error, source);
    let kind = FileKind::of(path).filter(|kind| *kind != FileKind::Npy);
    if let (Some(kind), Some(_)) = (kind, &runner.facts()[id.0].format) {
        let result = runner.result_entries(id).map_err(failed)?;
        return tensors::write(path, kind, &result, options, formats::Build::default());
    }
    let array = runner.unpacked(id).map_err(failed)?;
    npy::write(path, &runner.shape(id).map_err(failed)?, &array, options)
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

/// The command line checked against the program.
pub struct Plan {
    /// Values of the symbols.
    pub symbols: BTreeMap<String, i64>,
    /// Arrays of the inputs that are given.
    pub inputs: Vec<(TensorId, Given)>,
    outputs: BTreeMap<TensorId, PathBuf>,
}

impl Plan {
    /// Checks what is given.
    pub fn new(
        analysis: &Analysis,
        symbols: &SymbolArgs,
        (inputs, outputs, options): Files<'_>,
        source: &Source,
    ) -> Result<Plan> {
        let program = &analysis.inferred.program;
        let inputs = inputs::input_files(program, inputs)?;
        let outputs = inputs::output_files(program, outputs)?;
        for path in outputs.values() {
            output::check(path, source)?;
        }
        let given =
            inputs.iter().map(|(id, path)| Ok((*id, Given::open(program, *id, path, options)?)));
        let given: Vec<(TensorId, Given)> = given.collect::<Result<_>>()?;
        let shapes: Vec<(TensorId, Vec<u64>)> =
            given.iter().map(|(id, given)| (*id, given.shape())).collect();
        let shapes = shapes.iter().map(|(id, shape)| (*id, shape.as_slice()));
        let mut sizes = inputs::sizes(&analysis.inferred, shapes);
        let stored = |id: TensorId| match given.iter().find(|(other, _)| *other == id) {
            Some((_, Given::Sparse(tensor))) => Some(tensor.values().len()),
            _ => None,
        };
        for (name, count) in inputs::counts(&analysis.inferred, stored) {
            sizes.entry(name).or_insert(count);
        }
        let values = inputs::symbols(program, symbols, &sizes)?;
        let symbols = analysis.inferred.symbol_values(&values);
        Ok(Plan { symbols, inputs: given, outputs })
    }
}

/// The files of inputs and outputs by names, and how those of them are read that do not say it themselves.
pub type Files<'a> = (&'a [(String, PathBuf)], &'a [(String, PathBuf)], &'a ReadOptions);

/// An input that is given.
pub enum Given {
    /// All elements.
    Array(Array),
    /// Those that are stored, of a tensor with `:F`.
    Sparse(formats::Tensor),
}

impl Given {
    fn open(program: &Program, id: TensorId, path: &Path, options: &ReadOptions) -> Result<Given> {
        let tensor = program.tensor(id);
        let Some(storage) = &tensor.format else {
            return npy::open(path, options).map(Given::Array);
        };
        let contents = tensors::read(path, options)?;
        if contents.shape().len() != tensor.rank {
            let (name, found) = (path.display(), contents.shape().len());
            return Err(Failure::user(format!(
                "`{}` has {} dimensions, but the tensor in `{name}` has {found}",
                tensor.name, tensor.rank
            )));
        }
        let built = contents.tensor(&storage.format, formats::Build::default());
        let built = built.map_err(|error| tensors::storage_failure(&tensor.name, &error))?;
        Ok(Given::Sparse(built))
    }

    fn shape(&self) -> Vec<u64> {
        match self {
            Given::Array(array) => array.shape.iter().map(|extent| *extent as u64).collect(),
            Given::Sparse(tensor) => tensor.shape().to_vec(),
        }
    }
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

fn compile(
    analysis: Analysis,
    (target, iteration, passes): (BuildOptions, Iteration, PassArgs),
    source: &Source,
    progress: &Progress,
) -> Result<Built> {
    let failed = |error: dastac::Error| Failure::of(error, source);
    progress.stage("finding layouts");
    let laid = analysis.lay_out().map_err(failed)?;
    progress.stage("building loops");
    let lowered = laid.lower_for(iteration).map_err(failed)?;
    progress.stage("generating code");
    let mut watch = Watch::of(passes);
    let built = lowered.build_under(target, &mut watch).map_err(failed)?;
    watch.finish()?;
    Ok(built)
}

/// Where inputs come from.
pub struct Inputs {
    /// Arrays that are given; the others are drawn at random.
    pub given: Vec<(TensorId, Given)>,
    /// Whether somebody looks at the numbers again.
    pub keep: bool,
    /// Seed of the random ones.
    pub seed: u64,
}

/// Packs the given inputs and draws the others; all that are known as dense arrays, for verification.
pub fn fill(
    runner: &mut Runner,
    inputs: Inputs,
    source: &Source,
    progress: &Progress,
) -> Result<BTreeMap<TensorId, Dense>> {
    let failed = |error: dastac::Error| Failure::of(error, source);
    let mut given = BTreeMap::new();
    for (id, array) in inputs.given {
        let array = match array {
            Given::Array(array) => array,
            Given::Sparse(tensor) => {
                runner.bind(id, tensor).map_err(failed)?;
                given.insert(id, Dense { shape: Vec::new(), data: Vec::new() });
                continue;
            }
        };
        let fact = &runner.facts()[id.0];
        progress.stage(format!("reading `{}`", fact.name));
        let (name, packed_shape) = (fact.name.clone(), runner.shape(id).map_err(failed)?);
        let shape = array.shape.clone();
        if shape != packed_shape {
            let error = dastac::runtime::Error::Shape {
                tensor: name,
                expected: packed_shape,
                found: shape,
            };
            return Err(failed(error.into()));
        }
        if !array.fits(fact.element) {
            let (own, other) = (fact.element.name(), array.element);
            let message =
                format!("`{name}` has elements of type {own}, but the array's are of type {other}");
            return Err(Failure::user(message).hint(array.conversion_hint(fact.element)));
        }
        let what = format!("the dense array of `{name}`");
        dastac::runtime::check_memory(&what, fact.dense_bytes)
            .map_err(|error| failed(error.into()))?;
        let data = array.read(fact.element)?;
        runner.set_input(id, &data, &shape).map_err(failed)?;
        // Only a verification looks at the numbers again.
        let data = if inputs.keep { data } else { Vec::new() };
        given.insert(id, Dense { shape, data });
    }
    progress.stage("drawing random inputs");
    let drawn = runner.random_inputs(inputs.seed, &given).map_err(failed)?;
    given.extend(drawn);
    Ok(given)
}

/// A time as an integer.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn report(
    runner: &Runner,
    source: &Source,
    times: &[Duration],
    threads: usize,
    verdict: &Verdict,
) -> Report {
    let analysis = &runner.built().lowered.laid.analysis;
    let names = analysis.inferred.program.symbols.iter().map(|(name, _)| name.clone());
    let stages = analysis.timings.0.iter();
    let (max_error, verify_note) = match verdict {
        Verdict::NotAsked => (None, None),
        Verdict::TooLarge(note) => (None, Some(note.clone())),
        // JSON has no infinity, and null means something else.
        Verdict::Compared(verification) => (Some(verification.max_error.min(f64::MAX)), None),
    };
    Report {
        file: source.path.display().to_string(),
        symbols: Ordered(names.zip(runner.symbols().iter().copied()).collect()),
        schedule: analysis.inferred.program.schedule_line(),
        compile_ns: nanoseconds(analysis.timings.total()),
        stages_ns: Ordered(
            stages.map(|(stage, time)| ((*stage).to_string(), nanoseconds(*time))).collect(),
        ),
        run_ns: times.iter().map(|time| nanoseconds(*time)).collect(),
        threads,
        tensors: runner
            .facts()
            .iter()
            .map(|fact| Tensor {
                name: fact.name.clone(),
                role: role_of(fact.role),
                shape: fact.shape.clone(),
                unique: fact.unique,
                packed_bytes: fact.packed_bytes,
                dense_bytes: fact.dense_bytes,
                index: fact.index.clone(),
                pieces: fact.pieces,
                format: fact.format.clone(),
                copies: copies(runner, &fact.name),
            })
            .collect(),
        trips: None,
        flops: runner.flops(),
        max_error,
        verify_note,
    }
}

/// The copies that are read in place of a tensor.
fn copies(runner: &Runner, name: &str) -> Vec<Copy> {
    let tensor = |id: dastac::runtime::TensorId| runner.facts()[id.0].name.clone();
    let own =
        runner.instance().conversions().into_iter().filter(|copy| tensor(copy.tensor) == name);
    own.map(|copy| Copy { rule: tensor(copy.rule), format: copy.to, bytes: copy.bytes }).collect()
}

/// The report for people.
fn human(runner: &Runner, report: &Report, times: &[Duration], verdict: &Verdict) -> String {
    let rows = report.tensors.iter().map(|tensor| {
        vec![
            tensor.name.clone(),
            tensor.role.into(),
            layout::shape(&tensor.shape),
            tensor.unique.to_string(),
            dastac::human(tensor.packed_bytes),
            dastac::human(tensor.dense_bytes),
            ratio(tensor.dense_bytes, tensor.packed_bytes),
            tensor.index.clone(),
        ]
    });
    let headings =
        ["tensor", "role", "shape", ">stored", ">packed", ">dense", ">dense/packed", "position"];
    let mut text = table(&headings, rows.collect());
    text += &format!("\n{}", layout::total(runner.facts()));
    for tensor in &report.tensors {
        for copy in &tensor.copies {
            let (name, from) = (&tensor.name, tensor.format.as_deref().unwrap_or_default());
            let bytes = dastac::human(copy.bytes);
            text += &format!(
                "`{}` reads `{name}` in {}, a copy of {bytes}: no order of its loops walks it in {from}\n",
                copy.rule, copy.format
            );
        }
    }
    let stages: Vec<String> = report
        .stages_ns
        .0
        .iter()
        .map(|(stage, time)| format!("{stage} {}", duration(*time)))
        .collect();
    if let Some(line) = &report.schedule {
        text += &format!("{line}\n");
    }
    text += &format!("compiled in {} ({})\n", duration(report.compile_ns), stages.join(", "));
    text += &timing(report, times);
    text += &match verdict {
        Verdict::NotAsked => String::new(),
        Verdict::TooLarge(note) => format!("not verified: {note}\n"),
        Verdict::Compared(verification) if verification.agrees() => {
            let error = match verification.max_error {
                0.0 => "0".to_string(),
                error => format!("{error:.1e}"),
            };
            format!("agrees with the reference evaluator (largest error {error})\n")
        }
        Verdict::Compared(Verification { stored: Some((tensor, index, stored)), .. }) => {
            let (is, should) = if *stored { ("is", "should not") } else { ("is not", "should") };
            format!(
                "DISAGREES with the reference evaluator: {tensor}{index:?} {is} stored, but {should} be\n"
            )
        }
        Verdict::Compared(verification) => match &verification.at {
            Some((tensor, index, wanted, found)) => format!(
                "DISAGREES with the reference evaluator: {tensor}{index:?} is {found}, but should be {wanted} (error \
                {:.1e})\n",
                verification.max_error
            ),
            None => "DISAGREES with the reference evaluator\n".into(),
        },
    };
    text
}

/// How long the computation took.
fn timing(report: &Report, times: &[Duration]) -> String {
    let mut sorted = times.to_vec();
    sorted.sort();
    let (Some(least), Some(median)) = (sorted.first(), sorted.get(sorted.len() / 2)) else {
        return String::new();
    };
    let threads =
        format!("{} thread{}", report.threads, if report.threads == 1 { "" } else { "s" });
    let mut text = format!("ran in {} on {threads}", duration(nanoseconds(*least)));
    if times.len() > 1 {
        text += &format!(" (least of {}; median {})", times.len(), duration(nanoseconds(*median)));
    }
    if let Some(flops) = report.flops.filter(|flops| *flops > 0 && !least.is_zero()) {
        // A rate is shown with three digits.
        #[allow(clippy::cast_precision_loss)]
        let rate = flops as f64 / least.as_secs_f64() / 1e9;
        let rate = if rate < 0.1 {
            format!("{:.1} MFLOP/s", rate * 1e3)
        } else {
            format!("{rate:.2} GFLOP/s")
        };
        text += &format!(", {flops} floating-point operations, {rate}");
    }
    text + "\n"
}

/// Nanoseconds for people: three digits.
pub fn duration(nanoseconds: u64) -> String {
    #[allow(clippy::cast_precision_loss)]
    let seconds = nanoseconds as f64 / 1e9;
    let (value, unit) = match nanoseconds {
        0..=999 => return format!("{nanoseconds} ns"),
        1_000..=999_999 => (seconds * 1e6, "us"),
        1_000_000..=999_999_999 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    if value >= 100.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// The word for where values come from.
fn role_of(role: dastac::runtime::Role) -> &'static str {
    match role {
        dastac::runtime::Role::Input => "input",
        dastac::runtime::Role::Output => "output",
        dastac::runtime::Role::Intermediate => "intermediate",
    }
}
