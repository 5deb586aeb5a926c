//! The object that `dastac check --json` prints.

use dastac::Error;
use dastac::driver::Analysis;
use dastac::stur::ast::Span;
use dastac::stur::{Diagnostic, Severity};
use serde::Serialize;

use super::failure::Failure;
use super::lines::Lines;
use super::output::stdout;
use super::progress::Progress;
use super::source::Source;
use super::{Outcome, Result, Terminal};

/// All diagnostics of a program.
#[derive(Serialize)]
struct Report<'a> {
    /// The program's file as given.
    file: String,
    errors: usize,
    warnings: usize,
    /// In the order of their first labels.
    diagnostics: Vec<Shown<'a>>,
}

/// A diagnostic.
#[derive(Serialize)]
struct Shown<'a> {
    severity: &'static str,
    code: &'static str,
    message: &'a str,
    /// The first one is the place that it is about.
    labels: Vec<Label<'a>>,
    hint: Option<&'a str>,
}

/// A place in the program's text.
#[derive(Serialize)]
struct Label<'a> {
    text: &'a str,
    /// Bytes of the text, the end exclusive.
    start: Place,
    end: Place,
}

#[derive(Serialize)]
struct Place {
    byte: usize,
    line: usize,
    column: usize,
}

/// Prints the diagnostics of a program; exit code 1 where one is an error.
pub fn print(terminal: &Terminal, source: &Source) -> Result<Outcome> {
    let progress = Progress::new(terminal.interactive);
    progress.stage("inferring structures");
    let failed = |error| Failure::of(error, source);
    let diagnostics = match Analysis::of(&source.text) {
        Ok(mut analysis) => {
            progress.stage("looking for loops");
            let mut found = analysis.obstacles().map_err(failed)?;
            found.append(&mut analysis.warnings);
            found.sort_by_key(Diagnostic::place);
            found
        }
        Err(Error::Program(diagnostics)) => diagnostics,
        Err(error) => return Err(failed(error)),
    };
    drop(progress);
    let lines = Lines::of(&source.text);
    let count = |severity| diagnostics.iter().filter(|one| one.severity == severity).count();
    let report = Report {
        file: source.name.clone(),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        diagnostics: diagnostics.iter().map(|one| shown(one, &lines)).collect(),
    };
    let text = serde_json::to_string_pretty(&report);
    let text = text.map_err(|error| Failure::Defect(error.to_string()))?;
    stdout(format!("{text}\n").as_bytes())?;
    Ok(if report.errors == 0 { Outcome::Done } else { Outcome::Disagreement })
}

fn shown<'a>(diagnostic: &'a Diagnostic, lines: &Lines) -> Shown<'a> {
    let label = |(span, text): &'a (Span, String)| Label {
        text,
        start: place(span.start, lines),
        end: place(span.end.max(span.start), lines),
    };
    Shown {
        severity: match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        code: diagnostic.code,
        message: &diagnostic.message,
        labels: diagnostic.labels.iter().map(label).collect(),
        hint: diagnostic.hint.as_deref(),
    }
}

fn place(byte: usize, lines: &Lines) -> Place {
    let (line, column) = lines.place(byte);
    Place { byte, line, column }
}
