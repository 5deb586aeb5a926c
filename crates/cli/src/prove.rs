//! `dastac verify`.

use dastac::contract::At;
use dastac::driver::{Analysis, Lowered};
use dastac::layout::Proof;
use dastac::sched::validate::Check;
use serde::Serialize;

use super::args::VerifyArgs;
use super::failure::Failure;
use super::output::stdout;
use super::progress::Progress;
use super::schedule::scheduled;
use super::source::Source;
use super::table::table;
use super::{Outcome, Result, Terminal};

/// The object that `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    /// The program's file as given.
    file: String,
    /// All properties, in order.
    checks: Vec<Line<'a>>,
    proven: usize,
    undecided: usize,
    refuted: usize,
}

/// One property of one tensor.
#[derive(Serialize)]
struct Line<'a> {
    tensor: &'a str,
    property: &'static str,
    claim: &'static str,
    /// `proven`, `undecided` or `refuted`.
    result: &'static str,
    /// Why it is undecided, or the counter-example.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

/// Proves a program's loops.
pub fn verify(terminal: &Terminal, args: &VerifyArgs) -> Result<Outcome> {
    let source = Source::of(&args.file)?;
    let failed = |error: dastac::Error| Failure::of(error, &source);
    let progress = Progress::new(terminal.interactive && !args.json);
    let analysis = scheduled(terminal, &source, &args.schedule, &progress)?;
    progress.stage("finding layouts");
    let laid = analysis.contracted(At::All).and_then(Analysis::lay_out).map_err(failed)?;
    progress.stage("building loops");
    let lowered = laid.lower().map_err(failed)?;
    progress.stage("proving");
    let checks = lowered.prove().map_err(failed)?;
    drop(progress);
    let report = report(&lowered, &checks, &args.file.file.display().to_string());
    let text = if args.json {
        let text = serde_json::to_string_pretty(&report);
        text.map_err(|error| Failure::Defect(error.to_string()))? + "\n"
    } else {
        human(&report)
    };
    stdout(text.as_bytes())?;
    let bad = report.refuted > 0 || args.strict && report.undecided > 0;
    Ok(if bad { Outcome::Disagreement } else { Outcome::Done })
}

/// All properties as a table, and how many are proven, undecided and refuted.
pub fn table_of(lowered: &Lowered, checks: &[Check]) -> (String, [usize; 3]) {
    let report = report(lowered, checks, "");
    (human(&report), [report.proven, report.undecided, report.refuted])
}

fn report<'a>(lowered: &'a Lowered, checks: &'a [Check], file: &str) -> Report<'a> {
    let program = lowered.program();
    let checks: Vec<Line<'_>> = checks
        .iter()
        .map(|check| {
            let (result, why) = match &check.proof {
                Proof::Proven => ("proven", None),
                Proof::Undecided(why) => ("undecided", Some(why.as_str())),
                Proof::Refuted(why) => ("refuted", Some(why.as_str())),
            };
            let tensor = program.tensor(check.tensor).name.as_str();
            let (property, claim) = (check.property.name(), check.property.about());
            Line { tensor, property, claim, result, why }
        })
        .collect();
    let count = |result| checks.iter().filter(|line| line.result == result).count();
    let (proven, undecided, refuted) = (count("proven"), count("undecided"), count("refuted"));
    Report { file: file.into(), checks, proven, undecided, refuted }
}

fn human(report: &Report<'_>) -> String {
    let rows = report.checks.iter().map(|line| {
        let result = match line.why {
            Some(why) => format!("{} ({why})", line.result),
            None => line.result.into(),
        };
        vec![line.tensor.into(), line.claim.into(), result]
    });
    let mut text = table(&["tensor", "claim, for all sizes", "result"], rows.collect());
    let mut parts = vec![format!("{} proven", report.proven)];
    for (count, what) in [(report.undecided, "undecided"), (report.refuted, "refuted")] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    text += &format!("\n{}\n", parts.join(", "));
    if report.refuted > 0 {
        text += "what is refuted is a defect of dastac: please report it\n";
    }
    text
}
