//! The layers of ResNet50 with pruned filters and dense pictures, one picture at a time, in single precision, beside
//! dense ones (table 7 of "Unified Convolution Framework").
//!
//! Channels come first, in pictures and in filters, as PyTorch has them, and dastac chooses the loops.

use std::path::Path;

use super::layers::{LAYERS, Layer, file_of, measured};
use crate::Job;
use crate::charts::{Chart, Panel, log};
use crate::figures::Scope;
use crate::goals::{Goal, Row};
use crate::kernels::Call;
use crate::patterns::Pattern;
use crate::results::{CaseResults, Results};
use crate::stats::geometric_mean;
use crate::table::milliseconds;

/// What the names of kernels begin with.
pub const PREFIX: &str = "network";

/// Parts of the filters that are not there, where no files say it.
const PRUNED: [&str; 2] = ["0.8", "0.98"];

/// How many times as fast as PyTorch dastac should be on the geometric mean, by the part that is not there.
const WANTED: [(&str, f64); 2] = [("0.8", 2.0), ("0.98", 10.0)];

/// The program: a picture with all that is read, padding included, and filters of which a few elements are stored.
fn source(layer: &Layer) -> String {
    let (extent, step) = match layer.stride {
        1 => ("P + R - 1".to_string(), String::new()),
        by => (format!("{by} * P + R - {by}"), format!("{by} * ")),
    };
    format!(
        "symbols: P, C, M, R\n\
         O(f, h, w) := I(c, {step}h + r, {step}w + q) * F(f, c, r, q)\n\
         I:D(c, h, w) := (0 <= c < C) * (0 <= h < {extent}) * (0 <= w < {extent})\n\
         F:D(f, c, r, q) := (0 <= f < M) * (0 <= c < C) * (0 <= r < R) * (0 <= q < R)\n\
         F:F := DCCC\n\
         O:D(f, h, w) := (0 <= f < M) * (0 <= h < P) * (0 <= w < P)\n"
    )
}

fn kernel(at: usize, pruned: &str) -> String {
    format!("{PREFIX}{:02}-{pruned}", at + 1)
}

/// The parts that are not there of which a folder has filters: the names of its folders, in order.
fn densities(folder: Option<&Path>) -> Vec<String> {
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
    let names = entries.into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let part = |name: &String| name.parse::<f64>().ok().filter(|part| (0.0..1.0).contains(part));
    let mut found: Vec<(f64, String)> =
        names.filter_map(|name| Some((part(&name)?, name))).collect();
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    match found.is_empty() {
        true => PRUNED.map(String::from).to_vec(),
        false => found.into_iter().map(|(_, name)| name).collect(),
    }
}

/// All layers, by the part that is not there.
pub fn jobs(scope: &Scope) -> Vec<Job> {
    let systems = ["dastac", "dense", "torch"];
    let mut jobs = Vec::new();
    for &threads in &scope.threads {
        for pruned in densities(scope.layers.as_deref()) {
            for (at, layer) in measured(scope) {
                let file = scope.layers.as_deref().and_then(|folder| file_of(folder, &pruned, at));
                let part = pruned.parse::<f64>().unwrap_or(0.0);
                let filters = match file {
                    Some(path) => Pattern::Filters { path, window: [layer.window; 2], first: true },
                    None if scope.layers.is_some() => continue,
                    None => Pattern::Uniform(1.0 - part),
                };
                let symbols = [
                    ("P", layer.outputs),
                    ("C", layer.channels),
                    ("M", layer.filters),
                    ("R", layer.window),
                ];
                let name = kernel(at, &pruned);
                let job = scope.program(&name, layer.extent(), source(layer), &systems);
                jobs.push(Job {
                    title: format!("L{} {}, {pruned}", at + 1, layer.title()),
                    symbols: symbols.map(|(name, value)| (name.to_string(), value)).to_vec(),
                    inputs: vec![("F".into(), filters)],
                    call: Some(Call::Convolution),
                    single: true,
                    threads,
                    budget: job.budget / 4.0,
                    patience: 1.0,
                    ..job
                });
            }
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

/// The cases of a part and a number of threads, by layer.
fn cases<'a>(results: &'a Results, pruned: &str, threads: usize) -> Vec<(usize, &'a CaseResults)> {
    let of = |at: usize| {
        let key = format!("{}/{}/f32/{threads}", kernel(at, pruned), LAYERS[at].extent());
        Some((at, results.cases.get(&key)?))
    };
    (0..LAYERS.len()).filter_map(of).collect()
}

/// The parts and numbers of threads that there are results for.
fn measurements(results: &Results) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for case in results.cases.values().filter(|case| case.kernel.starts_with(PREFIX)) {
        let Some((_, pruned)) = case.kernel.split_once('-') else { continue };
        let one = (pruned.to_string(), case.threads);
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found.sort();
    found
}

fn ms(case: &CaseResults, system: &str) -> Option<f64> {
    case.time(system).map(|time| time.median_ns / 1e6)
}

/// How many times as fast as PyTorch.
fn ahead(case: &CaseResults) -> Option<f64> {
    Some(ms(case, "torch")? / ms(case, "dastac")?)
}

/// Bars of how many times as fast as PyTorch, layer by layer.
pub fn chart(results: &Results) -> Chart {
    const SYSTEMS: [(&str, &str); 2] = [("dense", "dense"), ("dastac", "dastac")];
    let panels = measurements(results).into_iter().map(|(pruned, threads)| {
        let groups = cases(results, &pruned, threads).into_iter().map(|(at, case)| {
            let bar = |system: &str| Some(ms(case, "torch")? / ms(case, system)?);
            let bars = SYSTEMS.map(|(system, _)| bar(system)).to_vec();
            (format!("L{} {}", at + 1, LAYERS[at].title()), bars)
        });
        let plural = if threads == 1 { "" } else { "s" };
        Panel::Bars {
            title: format!("{pruned} of the filters pruned, {threads} thread{plural}"),
            y: log("times as fast as PyTorch"),
            groups: groups.collect(),
            line: Some(1.0),
        }
    });
    Chart {
        name: String::new(),
        title: "Layers with pruned filters beside dense ones".into(),
        caption: "The layers of ResNet50 on one picture, in single precision, channels first: how many times as fast \
                  as PyTorch's dense convolution dastac is with pruned filters, and with dense ones. The table is the \
                  seventh of the paper on the unified convolution framework, on processors."
            .into(),
        series: SYSTEMS.map(|(system, class)| super::report::key(system, class)).to_vec(),
        panels: panels.collect(),
    }
}

/// A row for each layer: milliseconds of dastac and PyTorch, in parentheses the second over the first.
pub fn table(results: &Results) -> (Vec<String>, Vec<Vec<String>>) {
    let all = measurements(results);
    let mut headings = vec!["layer".to_string()];
    headings.extend(all.iter().map(|(pruned, threads)| {
        let plural = if *threads == 1 { "" } else { "s" };
        format!(">{pruned}, {threads} thread{plural}")
    }));
    let mut rows = Vec::new();
    for (at, layer) in LAYERS.iter().enumerate() {
        let cells = all.iter().map(|(pruned, threads)| {
            let case = cases(results, pruned, *threads).into_iter().find(|(own, _)| *own == at);
            let Some((_, case)) = case else { return String::new() };
            match (ms(case, "dastac"), ahead(case)) {
                (Some(own), Some(ahead)) => format!("{} ({ahead:.2})", milliseconds(own)),
                (Some(own), None) => milliseconds(own),
                (None, _) => "-".into(),
            }
        });
        let cells: Vec<String> = cells.collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let name = format!("L{} {}, {} pixels", at + 1, layer.title(), layer.outputs);
            rows.push([vec![name], cells].concat());
        }
    }
    let mean = |(pruned, threads): &(String, usize)| {
        let cases = cases(results, pruned, *threads);
        let mean = geometric_mean(cases.into_iter().filter_map(|(_, case)| ahead(case)));
        mean.map_or_else(String::new, |mean| format!("({mean:.2})"))
    };
    if !rows.is_empty() {
        rows.push([vec!["geometric mean".to_string()], all.iter().map(mean).collect()].concat());
    }
    (headings, rows)
}

/// What is wanted beside PyTorch.
pub fn goals(results: &Results) -> Vec<Goal> {
    let mut rows = Vec::new();
    let mut single = Vec::new();
    for (pruned, threads) in measurements(results) {
        let cases = cases(results, &pruned, threads);
        let plural = if threads == 1 { "" } else { "s" };
        let mean = geometric_mean(cases.iter().filter_map(|(_, case)| ahead(case)));
        let wanted = WANTED.iter().find(|(part, _)| *part == pruned).map(|(_, wanted)| *wanted);
        if let (Some(value), Some(wanted)) = (mean, wanted) {
            let name = format!("{pruned}, {threads} thread{plural}");
            rows.push(Row { name, value, wanted });
        }
        single.extend(cases.into_iter().filter_map(|(_, case)| {
            let name = format!("{}, {threads} thread{plural}", case.title);
            Some(Row { name, value: ahead(case)?, wanted: 1.0 })
        }));
    }
    vec![
        Goal {
            title: "Pruned layers beside PyTorch".into(),
            target:
                "2 times as fast as dense ones at 80% and 10 times at 98%, on the geometric mean"
                    .into(),
            rows,
        },
        Goal {
            title: "Every pruned layer".into(),
            target: "no layer slower than PyTorch's dense one".into(),
            rows: single,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn programs_are_well_formed() {
        for layer in &LAYERS {
            dastac_stur::load(&source(layer)).unwrap();
        }
        expect![[r#"
            symbols: P, C, M, R
            O(f, h, w) := I(c, 2 * h + r, 2 * w + q) * F(f, c, r, q)
            I:D(c, h, w) := (0 <= c < C) * (0 <= h < 2 * P + R - 2) * (0 <= w < 2 * P + R - 2)
            F:D(f, c, r, q) := (0 <= f < M) * (0 <= c < C) * (0 <= r < R) * (0 <= q < R)
            F:F := DCCC
            O:D(f, h, w) := (0 <= f < M) * (0 <= h < P) * (0 <= w < P)
        "#]]
        .assert_eq(&source(&LAYERS[0]));
    }

    #[test]
    fn folders_say_what_is_pruned() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(densities(Some(folder.path())), ["0.8", "0.98"]);
        for name in ["0.95", "0.5", "other", "7"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(densities(Some(folder.path())), ["0.5", "0.95"]);
        assert_eq!(densities(None), ["0.8", "0.98"]);
    }
}
