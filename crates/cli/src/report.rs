//! What `dastac run` says: for people, or as one JSON object.

use std::time::Duration;

use dastac::contract::{Expanded, Stepped};
use dastac::elements::count;
use dastac::runtime::cuda::DeviceTimes;
use dastac::runtime::{Instance, TensorFacts};
use dastac::trips::FunctionTrips;
use dastac::workspaces::UsedWorkspace;

use super::failure::Failure;
use super::json::{self, Copy, Ordered, Report, Tensor};
use super::render::to_stderr;
use super::table::{duration, ratio, table};
use super::verify::Verdict;
use super::{Result, cores, layout, output, trips};

/// What is known of a run when it is over.
pub struct Run<'a> {
    /// The program's file as given.
    pub file: String,
    /// What ran.
    pub instance: &'a Instance<'static>,
    /// How the code came to be.
    pub compiled: Compiled,
    /// How long each repeat took.
    pub times: &'a [Duration],
    /// Threads that parallel loops ran on.
    pub threads: usize,
    /// How often loops ran, if they were counted.
    pub trips: Option<Vec<FunctionTrips>>,
    /// What cores inside of memory counted in the last run.
    pub cores: Option<dastac::runtime::pim::Report>,
    /// How long kernels and copies of a device took in the last run.
    pub device: Option<DeviceTimes>,
    /// What a comparison with the reference found.
    pub verdict: &'a Verdict,
}

/// How code came to be: compiled just now, or loaded.
pub struct Compiled {
    /// The `schedule:` line that held, if any.
    pub schedule: Option<String>,
    /// How long each stage took, in their order; of code that was compiled before, of loading it.
    pub stages: Vec<(&'static str, Duration)>,
    /// Floating-point operations of one run, if they could be counted.
    pub flops: Option<u128>,
    /// Rules with products in steps.
    pub steps: Vec<Stepped>,
    /// Operands that are read from copies with all of their elements.
    pub expanded: Vec<Expanded>,
    /// The workspaces of results.
    pub workspaces: Vec<UsedWorkspace>,
    /// Whether it was compiled before.
    pub before: bool,
}

/// Prints the report; on standard error where something else has standard output.
pub fn print(run: Run<'_>, json: bool, aside: bool) -> Result<()> {
    let report = report(&run);
    let text = match json {
        true => {
            let text = serde_json::to_string_pretty(&report);
            text.map_err(|error| Failure::Defect(error.to_string()))? + "\n"
        }
        false => human(&run, &report),
    };
    if aside {
        to_stderr(&text);
        return Ok(());
    }
    output::stdout(text.as_bytes())
}

/// A time as an integer.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn report(run: &Run<'_>) -> Report {
    let Compiled { schedule, stages, flops, steps, expanded, workspaces, .. } = &run.compiled;
    let names = run.instance.executable().program().sizes.symbols.iter().cloned();
    let (max_error, verify_note) = match run.verdict {
        Verdict::NotAsked => (None, None),
        Verdict::NotCompared(note) => (None, Some(note.clone())),
        // JSON has no infinity, and null means something else.
        Verdict::Compared(verification) => (Some(verification.max_error.min(f64::MAX)), None),
    };
    let stage = |(name, time): &(&str, Duration)| ((*name).to_string(), nanoseconds(*time));
    Report {
        file: run.file.clone(),
        symbols: Ordered(names.zip(run.instance.symbols().iter().copied()).collect()),
        schedule: schedule.clone(),
        steps: steps.iter().map(json::Steps::of).collect(),
        expanded: expanded.iter().map(json::Expanded::of).collect(),
        workspaces: workspaces.iter().map(json::Workspace::of).collect(),
        compile_ns: nanoseconds(stages.iter().map(|(_, time)| *time).sum()),
        stages_ns: Ordered(stages.iter().map(stage).collect()),
        run_ns: run.times.iter().map(|time| nanoseconds(*time)).collect(),
        threads: run.threads,
        tensors: tensors(run.instance),
        trips: run.trips.as_deref().map(trips::report),
        flops: *flops,
        pim: run.cores.clone(),
        cuda: run.device.map(on_device),
        max_error,
        verify_note,
        checks: run.verdict.checks(),
    }
}

fn tensors(instance: &Instance<'_>) -> Vec<Tensor> {
    let tensor = |facts: &TensorFacts| Tensor {
        facts: facts.clone(),
        copies: copies(instance, &facts.name),
    };
    instance.facts().iter().map(tensor).collect()
}

/// The copies that are read in place of a tensor.
fn copies(instance: &Instance<'_>, name: &str) -> Vec<Copy> {
    let tensor = |id: dastac::runtime::TensorId| instance.facts()[id.0].name.clone();
    let own = instance.conversions().into_iter().filter(|copy| tensor(copy.tensor) == name);
    own.map(|copy| Copy {
        rule: tensor(copy.rule),
        format: copy.to,
        bytes: copy.bytes,
        is_part: copy.is_part,
    })
    .collect()
}

/// The report for people.
fn human(run: &Run<'_>, report: &Report) -> String {
    let rows = run.instance.facts().iter().map(|fact| {
        vec![
            fact.name.clone(),
            fact.role.name().into(),
            layout::shape(&fact.shape),
            fact.unique.to_string(),
            dastac::human(fact.packed_bytes),
            dastac::human(fact.dense_bytes),
            ratio(fact.dense_bytes, fact.packed_bytes),
            fact.index.clone(),
        ]
    });
    let headings =
        ["tensor", "role", "shape", ">stored", ">packed", ">dense", ">dense/packed", "position"];
    let mut text = table(&headings, rows.collect());
    text += &format!("\n{}", layout::total(run.instance.facts()));
    for Tensor { facts, copies } in &report.tensors {
        for copy in copies {
            let (name, from) = (&facts.name, facts.format.as_deref().unwrap_or_default());
            let bytes = dastac::human(copy.bytes);
            if copy.is_part {
                text += &format!(
                    "`{}` reads a part of `{name}` in {}, {bytes}\n",
                    copy.rule, copy.format
                );
                continue;
            }
            let why = match copy.format.as_str() {
                "dense" => "its loops come to all elements, stored or not".into(),
                _ => format!("no order of its loops walks it in {from}"),
            };
            text += &format!(
                "`{}` reads `{name}` in {}, a copy of {bytes}: {why}\n",
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
    for one in &run.compiled.steps {
        let Stepped { plan, operations, direct } = one;
        let counted = match (operations, direct) {
            (Some(operations), Some(direct)) => {
                format!(": {operations} operations in place of {direct}")
            }
            _ => String::new(),
        };
        text += &format!(
            "`{}` in steps, {}{counted}\n{}\n",
            plan.head,
            plan.contract.join(", "),
            plan.rules.iter().map(|rule| format!("  {rule}")).collect::<Vec<_>>().join("\n")
        );
    }
    for Expanded { copy, of, is_result } in &run.compiled.expanded {
        text += &match is_result {
            false => format!(
                "`{copy}` is `{of}` with all of its elements, which products read many times\n"
            ),
            true => format!(
                "`{copy}` is `{of}` with what is around its elements, which is computed faster\n"
            ),
        };
    }
    for one in &run.compiled.workspaces {
        text += &workspace(one);
    }
    if let Some(line) = &report.schedule {
        text += &format!("{line}\n");
    }
    let total = duration(report.compile_ns);
    text += &match run.compiled.before {
        true => format!("compiled before, loaded in {total}\n"),
        false => format!("compiled in {total} ({})\n", stages.join(", ")),
    };
    text += &match &run.cores {
        Some(cores) => cores::human(cores),
        None => timing(report, run.times),
    };
    text += &report.cuda.as_ref().map(device).unwrap_or_default();
    text += &run.verdict.human();
    if let Some(trips) = &run.trips {
        text += &format!("\n{}", trips::human(trips));
    }
    text
}

/// Times of a device in the units of reports.
fn on_device(times: DeviceTimes) -> json::Device {
    json::Device {
        launches: times.launches as u64,
        kernels_ns: nanoseconds(times.kernels),
        to_device_ns: nanoseconds(times.to_device),
        to_host_ns: nanoseconds(times.to_host),
        bytes_to_device: times.bytes_to_device,
        bytes_to_host: times.bytes_to_host,
    }
}

/// `on the device: 3.1 ms (2.0 ms to it, 0.8 ms in 2 kernels, 0.3 ms from it)`.
fn device(device: &json::Device) -> String {
    let [to, kernels, from] =
        [device.to_device_ns, device.kernels_ns, device.to_host_ns].map(duration);
    let (total, launches) = (
        duration(device.to_device_ns + device.kernels_ns + device.to_host_ns),
        count(device.launches, "kernel"),
    );
    format!("on the device: {total} ({to} to it, {kernels} in {launches}, {from} from it)\n")
}

/// `C(i, k)` in a dense workspace for each i.
fn workspace(one: &UsedWorkspace) -> String {
    let UsedWorkspace { tensor, kind, capacity, outside, inside, reason, choice } = one;
    let choice = choice.iter().map(|choice| format!(" ({choice})")).collect::<String>();
    let kind = match (&**kind, capacity) {
        ("bucket", Some(rows)) => format!("buckets of points, each for {rows} coordinates,"),
        ("list", None) => "a growing list of points".into(),
        ("list", Some(capacity)) => format!("a list of at most {}", count(*capacity, "point")),
        ("hash", Some(capacity)) => format!("a hash table of {}", count(*capacity, "point")),
        ("dense or list", _) => {
            "a dense workspace where sizes let it be small, else a growing list of points,".into()
        }
        _ => "a dense workspace".to_owned(),
    };
    let each = match outside.is_empty() {
        true => String::new(),
        false => format!(", one for each `{}`", outside.join(", ")),
    };
    let inside = inside.join(", ");
    format!("`{tensor}` comes together in {kind}{choice} over `{inside}`{each}: {reason}\n")
}

/// How long the computation took.
fn timing(report: &Report, times: &[Duration]) -> String {
    let mut sorted = times.to_vec();
    sorted.sort();
    let (Some(least), Some(median)) = (sorted.first(), sorted.get(sorted.len() / 2)) else {
        return String::new();
    };
    let threads = count(report.threads, "thread");
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
        text += &format!(", {}, {rate}", count(flops, "floating-point operation"));
    }
    text + "\n"
}
