//! Rates of structured kernels as shares of what the machine does at best: of the dense matrix product's multiply-adds,
//! or, where that takes longer, of reading the stored bytes once.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Value, json};

use super::names::{PREFIX, UNIT};
use crate::peers;
use crate::results::{CaseResults, Outcome, Results};

/// How many of the programs with the smallest shares are printed.
const WORST: usize = 5;

/// A case as a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The kernel's name.
    pub kernel: String,
    /// Its name in tables.
    pub title: String,
    /// Threads.
    pub threads: usize,
    /// Values of symbols.
    pub symbols: Vec<(String, i64)>,
    /// dastac's time in milliseconds.
    pub ms: Option<f64>,
    /// What is reached of the rate that bounds it: 1 is all.
    pub share: Option<f64>,
    /// Which rate bounds it: `gemm` or `reading`.
    pub of: Option<&'static str>,
    /// Points of the iteration domains: one multiply-add each.
    pub points: Option<f64>,
    /// Bytes of all packed tensors.
    pub stored: f64,
    /// Bytes of elements that the points read, over those of the packed inputs.
    pub read_over_stored: Option<f64>,
    /// Milliseconds from text to machine code.
    pub compile_ms: f64,
    /// Bytes of machine code.
    pub code_bytes: Option<u64>,
    /// The fastest peer, and its time over dastac's.
    pub peer: Option<(String, f64)>,
    /// `right`, `wrong`, or why there is nothing to compare.
    pub outcome: String,
    /// The program.
    pub source: String,
}

impl Row {
    /// Whether it was compiled and its results are right.
    pub fn is_right(&self) -> bool {
        self.outcome == RIGHT && self.ms.is_some()
    }
}

const RIGHT: &str = "right";

/// Cases as rows. Points are counted for one thread and for more alike.
pub fn rows(results: &Results, cases: &[&CaseResults]) -> Vec<Row> {
    cases.iter().map(|case| row(results, case)).collect()
}

fn row(results: &Results, case: &CaseResults) -> Row {
    let time = case.time("dastac");
    let bound = bound(results, case);
    let inputs: f64 =
        case.tensors.iter().filter(|tensor| tensor.input).map(|tensor| tensor.packed).sum();
    let failed = case.system("dastac").and_then(|measured| match &measured.outcome {
        Outcome::Gap { reason } => Some(reason.clone()),
        Outcome::Wrong { error, .. } => Some(format!("wrong: two runs differ by {error:.0e}")),
        Outcome::Time { .. } => None,
    });
    let outcome = match &case.check {
        Some(check) if !check.agrees => format!("wrong by {:.0e} at {}", check.error, check.at),
        _ => failed.unwrap_or_else(|| RIGHT.into()),
    };
    let best = case.best(&peers::names());
    Row {
        kernel: case.kernel.clone(),
        title: case.title.clone(),
        threads: case.threads,
        symbols: case.symbols.clone(),
        ms: time.map(|time| time.median_ns / 1e6),
        share: bound.zip(time).map(|((ns, _), time)| ns / time.median_ns),
        of: bound.map(|(_, of)| of),
        points: case.points,
        stored: case.bytes,
        read_over_stored: case.read.filter(|_| inputs > 0.0).map(|read| read / inputs),
        compile_ms: case.stages.iter().map(|(_, ns)| *ns as f64 / 1e6).sum(),
        code_bytes: case.code,
        peer: best
            .zip(time)
            .map(|((name, peer), own)| (name.to_string(), peer.median_ns / own.median_ns)),
        outcome,
        source: case.source.clone(),
    }
}

/// The time in nanoseconds at the rate that bounds a case, and which rate that is: dastac's dense matrix product on as
/// many threads, or reading what is stored once.
fn bound(results: &Results, case: &CaseResults) -> Option<(f64, &'static str)> {
    let unit = |known: &&CaseResults| known.kernel == UNIT && known.threads == case.threads;
    let unit = results.cases.values().find(unit)?;
    let each = unit.time("dastac")?.median_ns / unit.points?;
    let bandwidth = results.machine.rates(case.threads)?.bandwidth(case.bytes);
    let (compute, reading) = (case.points? * each, case.bytes / bandwidth * 1e9);
    let bound = if reading > compute { (reading, "reading") } else { (compute, "gemm") };
    // A result that is zero by its structure takes nothing.
    (bound.0 > 0.0).then_some(bound)
}

/// Headings and cells; headings that begin with `>` are of numbers.
pub fn cells(rows: &[Row]) -> (Vec<String>, Vec<Vec<String>>) {
    let headings = [
        "kernel",
        "sizes",
        ">threads",
        ">ms",
        ">share",
        "of",
        ">stored",
        ">read/stored",
        ">compile, ms",
        ">code, KiB",
        ">peer/dastac",
        "peer",
        "outcome",
    ];
    let shown = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    let cells = rows.iter().map(|row| {
        let sizes: Vec<String> =
            row.symbols.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let peer = row.peer.as_ref();
        vec![
            row.title.clone(),
            sizes.join(" "),
            row.threads.to_string(),
            shown(row.ms.map(|ms| format!("{ms:.3}"))),
            shown(row.share.map(|share| format!("{share:.2}"))),
            row.of.unwrap_or("").into(),
            dastac_driver::human(row.stored as u64),
            shown(row.read_over_stored.map(|ratio| format!("{ratio:.1}"))),
            format!("{:.0}", row.compile_ms),
            shown(row.code_bytes.map(|bytes| format!("{:.1}", bytes as f64 / 1024.0))),
            shown(peer.map(|(_, ratio)| format!("{ratio:.2}"))),
            peer.map_or("", |(name, _)| peers::label(name)).into(),
            row.outcome.clone(),
        ]
    });
    (headings.map(String::from).to_vec(), cells.collect())
}

/// How many are right, the median share, and the texts of the programs that are wrong, were refused, or have the
/// smallest shares.
pub fn notes(rows: &[Row]) -> String {
    let own: Vec<&Row> = rows.iter().filter(|row| row.kernel != UNIT).collect();
    let (right, failed): (Vec<&Row>, Vec<&Row>) = own.iter().partition(|row| row.is_right());
    let mut text = format!("\n{} of {} right", right.len(), own.len());
    let mut ranked: Vec<(f64, &Row)> =
        right.iter().filter_map(|row| Some((row.share?, *row))).collect();
    ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
    let shares: Vec<f64> = ranked.iter().map(|(share, _)| *share).collect();
    if let Some(median) = crate::stats::median(&shares) {
        let half = shares.iter().filter(|share| **share >= 0.5).count();
        let _ = write!(
            text,
            "; shares: median {median:.2}, at least 0.5 in {half} of {}",
            shares.len()
        );
    }
    text.push('\n');
    let sizes = |row: &Row| {
        let sizes = row.symbols.iter().map(|(name, value)| format!(" -p {name}={value}"));
        sizes.collect::<String>()
    };
    for row in &failed {
        let threads = row.threads;
        let _ = write!(text, "\n{}, {threads} threads: {}\n", row.title, row.outcome);
        let _ = write!(text, "#{}\n{}\n", sizes(row), row.source.trim_end());
    }
    for (share, row) in ranked.iter().take(WORST) {
        let (threads, of) = (row.threads, row.of.unwrap_or(""));
        let _ = write!(text, "\n{}, {threads} threads: {share:.3} of {of}\n", row.title);
        let _ = write!(text, "#{}\n{}\n", sizes(row), row.source.trim_end());
    }
    text
}

/// Rows and what they are made of.
pub fn json(results: &Results, cases: &[&CaseResults]) -> Value {
    let structured = cases.iter().filter(|case| case.kernel.starts_with(PREFIX));
    let rows = rows(results, &structured.copied().collect::<Vec<_>>());
    json!({ "machine": results.machine, "structured": rows, "cases": cases })
}
