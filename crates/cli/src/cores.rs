//! Where the time of cores inside of memory went, for people.

use std::fmt::Write;

use dastac::elements::count;
use dastac::runtime::pim::{LaunchReport, Report};

use super::table::{duration, table};

/// The report for people: what a run took on the machine, and a line for each launch.
pub fn human(report: &Report) -> String {
    let Report { profile, seconds, launches, .. } = report;
    let mut text = format!(
        "on `{profile}`: {} ({} to banks, {} on cores, {} from banks, {} to launch)\n",
        time(seconds.total()),
        time(seconds.to_banks),
        time(seconds.cores),
        time(seconds.from_banks),
        time(seconds.launches)
    );
    let headings = [
        "program",
        ">cores",
        ">threads",
        ">cycles",
        ">instructions",
        ">imbalance",
        ">memory",
        ">bytes",
    ];
    text += &table(&headings, launches.iter().map(row).collect());
    let steps: u64 = launches.iter().map(|one| one.counters.instructions).sum();
    let _ = writeln!(text, "{} simulated", count(steps, "instruction"));
    text
}

fn row(launch: &LaunchReport) -> Vec<String> {
    let counters = &launch.counters;
    let cycles: u64 = launch.per_core.iter().map(|core| core.cycles).sum();
    // Shares are shown, not computed with.
    #[allow(clippy::cast_precision_loss)]
    let memory = 100.0 * counters.memory as f64 / cycles.max(1) as f64;
    let moved: u64 = launch.transfers.iter().map(|one| one.bytes).sum();
    vec![
        launch.program.clone(),
        launch.cores.to_string(),
        launch.threads.to_string(),
        counters.cycles.to_string(),
        counters.instructions.to_string(),
        format!("{:.2}", launch.imbalance),
        format!("{memory:.0}%"),
        dastac::human(moved),
    ]
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn time(seconds: f64) -> String {
    duration((seconds * 1e9).round() as u64)
}
