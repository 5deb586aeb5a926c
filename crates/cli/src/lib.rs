//! The `dastac` command: the only part of the project that touches the terminal. It is a library, so that the Python
//! package can be the command too; [`texts`] has what commands print as values.
//!
//! Invariants: results go to stdout and everything else to stderr; stdout holds a complete result or nothing; files
//! appear whole or not at all. Exit codes: 0 done, 1 the program or the given data are at fault (or a verification
//! disagrees), 2 the command line is, 101 a defect of dastac itself.

mod args;
mod automatic;
mod bench;
mod build;
mod cache;
mod check;
mod convert;
mod cores;
mod data_file;
mod describe;
mod described;
mod diagnostics;
mod emit;
mod failure;
mod folders;
mod formats;
mod infer;
mod inputs;
mod inspect;
mod json;
mod layout;
mod lines;
mod lsp;
mod machine;
mod man;
mod npy;
mod opened;
mod output;
mod package;
mod passes;
mod plan;
mod program;
mod progress;
mod prove;
mod render;
mod report;
mod run;
mod schedule;
mod source;
mod subject;
mod table;
mod tensors;
mod terminal;
pub mod texts;
mod this;
mod timeline;
mod trips;
mod tune;
mod verify;
mod version;
mod watchdog;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use dastac::poly::counting;
use dastac_bench::{job, worker};

use args::{Cli, Command};
use failure::{Failure, Result};
use render::Renderer;
use terminal::{Outcome, Terminal};

/// Runs the command that arguments name, the first of which is the program's name, and reports. `program` is the file
/// that is this command, for the processes that it starts: without it, none are started.
pub fn command(args: impl IntoIterator<Item = OsString>, program: Option<PathBuf>) -> ExitCode {
    ExitCode::from(code(args, program))
}

/// As [`command`], with the exit code as a number.
pub fn code(args: impl IntoIterator<Item = OsString>, program: Option<PathBuf>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    this::set(program);
    // What this process is asked to do when it is started by another one of it, which reads and writes pipes: no
    // command for people.
    let first = args.get(1).map(OsString::as_os_str);
    if first.is_some_and(|first| first == counting::WORKER_ARGUMENT) {
        counting::serve();
        return 0;
    }
    if first.is_some_and(|first| first == job::WORKER_ARGUMENT) {
        return if configure_counting().is_ok() && worker::serve() { 0 } else { 1 };
    }
    if first.is_some_and(|first| first == lsp::worker::ARGUMENT) {
        if configure_counting().is_ok() {
            lsp::worker::serve();
        }
        return 0;
    }
    report_panics();
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) if error.kind() == ErrorKind::DisplayVersion => {
            return finish(
                &Renderer::new(args::Color::Auto),
                version::print().map(|()| Outcome::Done),
            );
        }
        Err(error) => error.exit(),
    };
    let terminal = Terminal {
        renderer: Renderer::new(cli.color),
        interactive: std::io::stderr().is_terminal(),
    };
    if let Err(failure) = configure_counting() {
        return finish(&terminal.renderer, Err(failure));
    }
    // A language server stays; its workers have limits of their own.
    if !matches!(cli.command, Command::Lsp) {
        watchdog::start(cli.compile_limit);
    }
    let outcome = match &cli.command {
        Command::Check(args) => check::check(&terminal, args),
        Command::Infer(args) => infer::infer(&terminal, args),
        Command::Layout(args) => layout::layout(&terminal, args),
        Command::Emit(args) => emit::emit(&terminal, args),
        Command::Run(args) if package::is_named(&args.file.file) => package::run(&terminal, args),
        Command::Run(args) => run::run(&terminal, args),
        Command::Tune(args) => tune::tune(&terminal, args),
        Command::Verify(args) => prove::verify(&terminal, args),
        Command::Build(args) => build::build(&terminal, args),
        Command::Passes(args) => passes::passes(*args),
        Command::Formats(args) => formats::formats(args),
        Command::Convert(args) => convert::convert(&terminal, args),
        Command::Inspect(args) => inspect::inspect(&terminal, args),
        Command::Bench(args) => bench::bench(&terminal, args),
        Command::Cache(args) => cache::cache(&terminal, args),
        Command::Machine(args) => describe::show(&terminal, args),
        Command::Lsp => lsp::serve(),
        Command::Man { folder } => man::man(folder.as_deref()),
        Command::Completions { shell } => output::completions(*shell).map(|()| Outcome::Done),
    };
    finish(&terminal.renderer, outcome)
}

/// Counts in processes of this program, and remembers counts in the user's cache folder; variables of the environment
/// say otherwise.
fn configure_counting() -> Result<()> {
    let mut config = counting::Config::of_program(this::program());
    config.memory = config.memory.min(dastac::runtime::available_memory() / 4 * 3);
    counting::configure(config.with_env().map_err(Failure::usage)?);
    Ok(())
}

fn finish(renderer: &Renderer, outcome: Result<Outcome>) -> u8 {
    match outcome {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::Disagreement) => 1,
        Err(failure) => {
            let code = failure.exit_code();
            renderer.failure(&failure);
            code
        }
    }
}

/// A defect shows as one line that asks for a report, not as a backtrace (unless `RUST_BACKTRACE` asks for one).
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let what = panic.payload_as_str().unwrap_or("unknown");
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
        let what = format!("{what}{}", place.unwrap_or_default());
        render::to_stderr(&failure::defect(&what));
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            render::to_stderr(&format!("{}\n", std::backtrace::Backtrace::force_capture()));
        }
    }));
}
