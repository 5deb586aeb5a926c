//! `dastac tune`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dastac::build::BuildOptions;
use dastac::contract::At;
use dastac::driver::Built;
use dastac::run::Runner;
use dastac::sched::Moving;
use dastac::stur::Program;
use dastac::tune::{self, Found, Options, Trial};
use dastac::verify::Reference;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::args::TuneArgs;
use super::check::analyse;
use super::failure::Failure;
use super::json::Ordered;
use super::plan::{Inputs, Request, fill};
use super::progress::Progress;
use super::report::nanoseconds;
use super::run::{plan, sizes, threads};
use super::source::Source;
use super::table::{duration, table};
use super::{Outcome, Result, Terminal, machine, output, schedule};

/// How many of the best schedules are shown.
const SHOWN: usize = 6;

/// The object that `--json` prints.
#[derive(Serialize)]
struct Report {
    /// The program's file as given.
    file: String,
    symbols: Ordered<i64>,
    threads: usize,
    tried: usize,
    rejected: usize,
    /// The `schedule:` line that was found, empty where its own is best left out; none where the program is best as it
    /// is.
    schedule: Option<String>,
    best: Vec<Line>,
    /// The time of the program with its products in steps, as `dastac run` computes them without a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_steps_ns: Option<u64>,
    /// Where it was written.
    written: String,
}

/// A schedule and how fast it is.
#[derive(Serialize)]
struct Line {
    time_ns: u64,
    /// The time of the unchanged program divided by this schedule's.
    speedup: f64,
    /// `None`: the program as it is.
    schedule: Option<String>,
}

/// Searches for schedules and stores the best beside the program.
pub fn tune(terminal: &Terminal, args: &TuneArgs) -> Result<Outcome> {
    let source = Source::of(&args.file)?;
    let failed = |error: dastac::Error| Failure::of(error, &source);
    let path = destination(args, &source)?;
    output::check(&path, &source)?;
    let progress = Progress::new(terminal.interactive && !args.json);
    let analysis = analyse(terminal, &source, &progress)?;
    let request = || Request {
        symbols: &args.symbols,
        inputs: &args.inputs,
        outputs: &[],
        reading: &args.reading,
        renderer: &terminal.renderer,
    };
    let planned = plan(&analysis, request(), &source)?;
    let threads = threads(terminal, &args.threads);
    let target = BuildOptions { parallel: threads > 1, ..machine::own()? };
    let sizes = sizes(&analysis.inferred.program, &planned, dastac::runtime::DEFAULT_DENSITY);
    let stepped = analysis.clone().contracted(At::Sizes(&sizes)).map_err(failed)?;
    progress.stage("finding layouts");
    let laid = analysis.clone().direct().lay_out().map_err(failed)?;
    progress.stage("generating code");
    let built: Built = laid.clone().lower().and_then(|l| l.build(target)).map_err(failed)?;
    super::watchdog::stop();
    let program = built.program().clone();
    let reference = Reference::of(&program);
    let mut runner = Runner::new(built, &planned.symbols, threads).map_err(failed)?;
    let moves = planned.moves(reference, runner.instance(), false);
    if moves.iter().any(|one| *one != Moving::default()) {
        runner.make_movement().map_err(failed)?;
    }
    let inputs =
        |given| Inputs { given, keep: false, seed: args.seed, renderer: &terminal.renderer };
    // Standard input cannot be read again.
    let again = args.inputs.iter().all(|(_, path)| path != Path::new("-"));
    let in_steps = match stepped.is_cut() && again {
        true => {
            progress.stage("timing the program in steps");
            let laid = stepped.lay_out().map_err(failed)?;
            let options = runner.built().options.clone();
            let built = laid.lower().and_then(|lowered| lowered.build(options)).map_err(failed)?;
            let mut own = Runner::new(built, &planned.symbols, threads).map_err(failed)?;
            if moves.iter().any(|one| *one != Moving::default()) {
                own.make_movement().map_err(failed)?;
            }
            // Files are read again.
            let given = inputs(plan(&analysis, request(), &source)?.inputs);
            fill(own.instance_mut(), reference, given, &source, &progress)?;
            own.execute().map_err(failed)?;
            Some(tune::time(&mut own).map_err(failed)?.0)
        }
        false => None,
    };
    fill(runner.instance_mut(), reference, inputs(planned.inputs), &source, &progress)?;
    drop(progress);

    let bar = bar(terminal.interactive && !args.json, args.budget);
    let budget = Duration::from_secs_f64(args.budget);
    let options = Options { budget, seed: args.seed, in_steps };
    let found = tune::tune(&laid, &mut runner, &options, &mut |now| {
        bar.set_position(u64::try_from(now.elapsed.as_millis()).unwrap_or(u64::MAX));
        let (best, plain) = (nanoseconds(now.best), nanoseconds(now.plain));
        let (best, plain) = (duration(best), duration(plain));
        bar.set_message(format!("{} tried, best {best} (as it is: {plain})", now.tried));
    });
    bar.finish_and_clear();
    let found = found.map_err(failed)?;
    let program = laid.program();
    let symbols: Vec<(String, i64)> = {
        let names = program.symbols.iter().map(|(name, _)| name.clone());
        names.zip(runner.symbols().iter().copied()).collect()
    };
    let text = dastac::schedule::file(program, &found.program, &remarks(&found, &symbols, threads));
    output::file(&path, &mut |out| out.write_all(text.as_bytes()))?;
    let plain = plain(&found).map_or(Duration::ZERO, |trial| trial.time);
    let report = Report {
        file: source.path.display().to_string(),
        symbols: Ordered(symbols),
        threads,
        tried: found.tried,
        rejected: found.rejected,
        schedule: found.faster.then(|| found.program.schedule_line().unwrap_or_default()),
        best: found.best.iter().map(|trial| line(program, trial, plain)).collect(),
        in_steps_ns: in_steps.map(nanoseconds),
        written: path.display().to_string(),
    };
    let text = if args.json {
        let text = serde_json::to_string_pretty(&report);
        text.map_err(|error| Failure::Defect(error.to_string()))? + "\n"
    } else {
        human(&report, &found, &used(args, &source, &path))
    };
    output::stdout(text.as_bytes())?;
    Ok(Outcome::Done)
}

fn destination(args: &TuneArgs, source: &Source) -> Result<PathBuf> {
    let path = args.output.clone().or_else(|| schedule::beside(source));
    path.ok_or_else(|| {
        Failure::usage("there is no file beside which the schedule could be kept")
            .hint("name one: `-o kernel.schedule`")
    })
}

fn bar(shown: bool, budget: f64) -> ProgressBar {
    if !shown {
        return ProgressBar::hidden();
    }
    let length = u64::try_from(Duration::from_secs_f64(budget).as_millis()).unwrap_or(u64::MAX);
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {msg} ({elapsed}, {eta} left)") {
        bar.set_style(style);
    }
    bar
}

/// The trial of the program as it is.
fn plain(found: &Found) -> Option<&Trial> {
    found.best.iter().find(|trial| trial.schedules.is_none())
}

/// What the file says for people.
fn remarks(found: &Found, symbols: &[(String, i64)], threads: usize) -> Vec<String> {
    let sizes: Vec<String> =
        symbols.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let threads = format!("{threads} thread{}", if threads == 1 { "" } else { "s" });
    let mut remarks = vec![format!(
        "Found by `dastac tune` at {}; tried: {}.",
        [sizes.join(" "), threads].join(" on ").trim_start_matches(" on "),
        found.tried
    )];
    let time = |trial: Option<&Trial>| trial.map(|trial| duration(nanoseconds(trial.time)));
    let plain = time(plain(found)).unwrap_or_default();
    let steps =
        |steps| format!("In steps, as without a schedule: {}.", duration(nanoseconds(steps)));
    remarks.extend(found.in_steps.map(steps));
    remarks.push(match found.faster {
        true => {
            let best = time(found.best.first()).unwrap_or_default();
            format!("{best}; {plain} without it.")
        }
        false if found.in_steps.is_some() => "Nothing is faster than that.".into(),
        false => format!("Nothing is faster than the program as it is: {plain}."),
    });
    remarks
}

fn line(program: &Program, trial: &Trial, plain: Duration) -> Line {
    let schedule = trial.schedules.as_ref().map(|schedules| {
        let mut program = program.clone();
        for (rule, schedule) in program.rules.iter_mut().zip(schedules) {
            rule.schedule = schedule.clone();
        }
        program.schedule_line().unwrap_or_default()
    });
    let speedup = plain.as_secs_f64() / trial.time.as_secs_f64().max(1e-9);
    Line { time_ns: nanoseconds(trial.time), speedup, schedule }
}

/// Which commands take what was found from now on.
fn used(args: &TuneArgs, source: &Source, path: &Path) -> String {
    let (shown, program) = (path.display(), &source.name);
    match schedule::beside(source) {
        Some(beside) if output::same_file(&beside, path) => {
            "what `dastac run` and `build` use from now on".into()
        }
        _ if args.file.file == Path::new("-") => {
            format!("`--schedule {shown}` takes it")
        }
        _ => format!(
            "`dastac run {program} --schedule {shown}` takes it, and so do `emit`, `build` and `verify`"
        ),
    }
}

fn human(report: &Report, found: &Found, used: &str) -> String {
    let place = report.best.iter().position(|line| line.schedule.is_none()).unwrap_or(0);
    let shown = report.best.iter().enumerate();
    let shown = shown.filter(|(at, _)| *at < SHOWN || *at == place).map(|(_, line)| line);
    let rows = shown.map(|line| {
        let schedule = match &line.schedule {
            None if found.in_steps.is_some() => "no steps, no schedule".to_owned(),
            None => "the program as it is".to_owned(),
            Some(line) if line.is_empty() => "no schedule".to_owned(),
            Some(line) => line.trim_start_matches("schedule: ").to_owned(),
        };
        vec![duration(line.time_ns), format!("{:.2}x", line.speedup), schedule]
    });
    let mut text = table(&[">time", ">speed", "schedule"], rows.collect());
    text += &format!(
        "\n{} schedule{} tried in {} on {} thread{}\n",
        report.tried,
        if report.tried == 1 { "" } else { "s" },
        duration(nanoseconds(found.elapsed)),
        report.threads,
        if report.threads == 1 { "" } else { "s" }
    );
    if report.rejected > 0 {
        text += &format!(
            "{} of them gave other results or no code, and were left out: please report this defect of dastac\n",
            report.rejected
        );
    }
    if let Some(steps) = report.in_steps_ns {
        text += &format!("in steps, as it is run without a schedule: {}\n", duration(steps));
    }
    text += &match &report.schedule {
        None if report.in_steps_ns.is_some() => {
            format!("{}: nothing is faster than the program in steps\n", report.written)
        }
        Some(_) => format!("{}: {used}\n", report.written),
        None => format!("{}: nothing is faster than the program as it is\n", report.written),
    };
    text
}
