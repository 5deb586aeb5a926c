//! `dastac check`.

use dastac::driver::Analysis;
use dastac::elements::count;
use dastac::stur::Role;

use super::args::CheckArgs;
use super::failure::Failure;
use super::output::stdout;
use super::progress::Progress;
use super::source::Source;
use super::{Outcome, Result, Terminal, diagnostics};

/// Reads a program, checks it, infers structures, and shows its warnings.
pub fn analyse(terminal: &Terminal, source: &Source, progress: &Progress) -> Result<Analysis> {
    progress.stage("inferring structures");
    let analysis = Analysis::of(&source.text).map_err(|error| Failure::of(error, source))?;
    terminal.renderer.warnings(&analysis.warnings, source);
    Ok(analysis)
}

/// Reports diagnostics only.
pub fn check(terminal: &Terminal, args: &CheckArgs) -> Result<Outcome> {
    let source = Source::of(&args.file)?;
    if args.json {
        return diagnostics::print(terminal, &source);
    }
    let progress = Progress::new(terminal.interactive);
    let analysis = analyse(terminal, &source, &progress)?;
    progress.stage("looking for loops");
    let obstacles = analysis.obstacles().map_err(|error| Failure::of(error, &source))?;
    if !obstacles.is_empty() {
        return Err(Failure::Program(obstacles, source));
    }
    drop(progress);
    let program = &analysis.inferred.program;
    let inputs = program.tensors.iter().filter(|tensor| tensor.role == Role::Input).count();
    let dynamic = match program.tensors.iter().filter(|tensor| tensor.format.is_some()).count() {
        0 => String::new(),
        some => format!(", {some} dynamic"),
    };
    let mut text = format!(
        "ok: {} ({}{dynamic}), {}, {}",
        count(program.tensors.len(), "tensor"),
        count(inputs, "input"),
        count(program.rules.len(), "rule"),
        count(program.symbols.len(), "symbol"),
    );
    if !analysis.warnings.is_empty() {
        text += &format!(", {}", count(analysis.warnings.len(), "warning"));
    }
    stdout(format!("{text}\n").as_bytes())?;
    Ok(Outcome::Done)
}
