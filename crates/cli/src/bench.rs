//! `dastac bench`.

use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dastac::target::file;
use dastac_bench::figures::{self, FIGURES, Figure, Scope, table_systems};
use dastac_bench::gpu;
use dastac_bench::job::{Places, measure_apart};
use dastac_bench::kernels::KERNELS;
use dastac_bench::machine::{Machine, Rates};
use dastac_bench::pim::report as pim;
use dastac_bench::results::{CaseResults, Results};
use dastac_bench::sparse::report as sparse;
use dastac_bench::structured::{self, report as structured_report};
use dastac_bench::workspaces::report as workspaces;
use dastac_bench::{Job, charts, page, peers, summary, svg, table as rows};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::BenchArgs;
use super::failure::Failure;
use super::source::reason;
use super::table::table;
use super::{Outcome, Result, Terminal, described, output, this};

/// Measures, and shows what came out.
pub fn bench(terminal: &Terminal, args: &BenchArgs) -> Result<Outcome> {
    super::watchdog::stop();
    let scope = scope(args)?;
    if let Some(path) = &args.gpu {
        return on_gpu(path, args.summary.as_deref());
    }
    let figures = chosen(args)?;
    let jobs = figures::merged(figures.iter().flat_map(|f| figures::jobs(*f, &scope)).collect());
    if jobs.is_empty() {
        let names = KERNELS.iter().map(|kernel| kernel.name).collect::<Vec<_>>();
        let wanted = args.kernels.join("` or `");
        return Err(Failure::usage(format!(
            "no kernel of these figures has `{wanted}` in its name"
        ))
        .hint(format!("kernels of the table are {}", names.join(", "))));
    }
    let program = this::program().ok_or_else(|| Failure::user("cannot find this program"))?;
    std::fs::create_dir_all(&args.output).map_err(|error| {
        Failure::user(format!("cannot write to `{}`: {}", args.output.display(), reason(&error)))
    })?;
    let path = args.output.join("results.json");
    let described = described::description()?;
    let machine = Machine {
        origin: described.origin.name().to_owned(),
        description: file::print(&described.machine),
        ..Machine::this()
    };
    // Each case is measured in a process of its own, which reads it.
    output::file(&machine_file(args), &mut |out| out.write_all(machine.description.as_bytes()))?;
    let binary = fingerprint(&program);
    let mut results = (!args.fresh)
        .then(|| Results::load(&path, &binary, &machine))
        .flatten()
        .unwrap_or_else(|| Results::new(binary, machine));
    let save = |results: &Results| {
        results.save(&path).map_err(|error| {
            Failure::user(format!("cannot write `{}`: {}", path.display(), reason(&error)))
        })
    };
    if args.report {
        results = Results::read(&path).ok_or_else(|| {
            Failure::user(format!("there are no results in `{}`", path.display()))
                .hint("measure first, without `--report`")
        })?;
    } else {
        results.command = command(args);
        if figures.contains(&Figure::Table) {
            let keys =
                figures::jobs(Figure::Table, &scope).iter().map(Job::key).collect::<Vec<_>>();
            results.table.retain(|key| !keys.contains(key));
            results.table.extend(keys);
        }
        let progress = Bar::new(terminal.interactive, jobs.len());
        // What is simulated does not depend on what this machine can do.
        let probed = jobs.iter().any(|job| job.pim.is_empty());
        if probed {
            probe(&mut results, &scope, &progress)?;
        }
        let mut measured = false;
        for (at, job) in jobs.iter().enumerate() {
            progress.stage(
                at,
                &format!(
                    "{} {}, {}",
                    job.title,
                    job.n,
                    dastac::elements::count(job.threads, "thread")
                ),
            );
            let known = results.cases.get(&job.key());
            let Some(job) = missing(job, known) else { continue };
            let limit = Duration::from_secs(if scope.quick { 30 } else { 120 });
            let case = measure_apart(&program, &job, limit);
            results.cases.insert(job.key(), case);
            measured = true;
            save(&results)?;
        }
        if measured && probed {
            // Others may have been at work the first time: the best of both is nearer to what the machine can do.
            probe(&mut results, &scope, &progress)?;
        }
        save(&results)?;
    }
    let report = reports(&results, args)?;
    // Figures are for looking at; the table can be read.
    let table = figures::jobs(Figure::Table, &scope);
    let shown = if figures.contains(&Figure::Table) { &table } else { &jobs };
    let shown: Vec<&Job> = shown.iter().filter(|job| !job.systems.is_empty()).collect();
    if args.json {
        return json(&results, &shown);
    }
    let (simulated, shown): (Vec<&Job>, Vec<&Job>) =
        shown.into_iter().partition(|job| !job.pim.is_empty());
    let (own, shown): (Vec<&Job>, Vec<&Job>) =
        shown.into_iter().partition(|job| structured::has(job));
    let mut text = match shown.is_empty() {
        true => self::machine(&results) + "\n",
        false => show(&results, &shown, &scope),
    };
    text += &shares(&results, &own);
    text += &cores(&results, &simulated);
    if figures.contains(&Figure::SparseConvolutions) {
        text += &convolutions(&results);
    }
    text += &memory(&results, &shown);
    output::stdout((text + &report).as_bytes())?;
    Ok(Outcome::Done)
}

/// What was measured on a machine with a GPU.
fn on_gpu(path: &Path, document: Option<&Path>) -> Result<Outcome> {
    let measured = gpu::read(path).map_err(|error| {
        Failure::user(format!("`{}`: {error}", path.display()))
            .hint("`./x gpu` makes a folder whose runner writes such a file")
    })?;
    let (headings, cells) = gpu::cells(&measured);
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let [above, below] = gpu::notes(&measured);
    output::stdout(format!("{above}\n{}{below}\n", table(&headings, cells)).as_bytes())?;
    if let Some(document) = document {
        summarise(document, vec![(gpu::MARKERS, Some(gpu::markdown(&measured)))])?;
    }
    Ok(Outcome::Done)
}

/// Writes texts between their markers into a document.
fn summarise(path: &Path, parts: Vec<([&str; 2], Option<String>)>) -> Result<()> {
    let cannot = |why: String| Failure::user(format!("`{}`: {why}", path.display()));
    let mut document = std::fs::read_to_string(path).map_err(|error| cannot(reason(&error)))?;
    for ([begin, end], text) in parts {
        let Some(text) = text else { continue };
        document = summary::replace(&document, [begin, end], &text).ok_or_else(|| {
            cannot("there is no place for the summary".into())
                .hint(format!("it goes between the lines `{begin}` and `{end}`"))
        })?;
    }
    output::file(path, &mut |out| out.write_all(document.as_bytes()))
}

/// What was measured, as JSON.
fn json(results: &Results, jobs: &[&Job]) -> Result<Outcome> {
    let cases = jobs.iter().filter_map(|job| results.cases.get(&job.key()));
    let value = structured_report::json(results, &cases.collect::<Vec<_>>());
    let mut text = serde_json::to_string_pretty(&value)
        .map_err(|error| Failure::user(format!("results cannot be written: {error}")))?;
    text.push('\n');
    output::stdout(text.as_bytes())?;
    Ok(Outcome::Done)
}

/// Kernels over structured operands beside a dense matrix product, and the programs that are farthest from it.
fn shares(results: &Results, jobs: &[&Job]) -> String {
    let cases = jobs.iter().filter_map(|job| results.cases.get(&job.key()));
    let rows = structured_report::rows(results, &cases.collect::<Vec<_>>());
    if rows.is_empty() {
        return String::new();
    }
    let (headings, cells) = structured_report::cells(&rows);
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    format!("\n{}{}", table(&headings, cells), structured_report::notes(&rows))
}

/// What was simulated: tables, and why something was not.
fn cores(results: &Results, jobs: &[&Job]) -> String {
    let cases: Vec<&CaseResults> =
        jobs.iter().filter_map(|job| results.cases.get(&job.key())).collect();
    let mut text = String::new();
    for (heading, headings, cells) in pim::tables(&cases) {
        text += &format!("\n{heading}\n{}", table(&headings, cells));
    }
    let gaps = rows::gaps(cases.iter().copied()).into_iter().chain(pim::failures(&cases));
    gaps.for_each(|gap| text += &format!("  {gap}\n"));
    text
}

/// Writes the page, the figures and the summary; says where.
fn reports(results: &Results, args: &BenchArgs) -> Result<String> {
    let write =
        |path: &Path, text: &str| output::file(path, &mut |out| out.write_all(text.as_bytes()));
    let index = args.output.join("index.html");
    write(&index, &page::page(results))?;
    for chart in charts::charts(results) {
        let file = args.output.join(format!("figure-{}.svg", chart.name));
        write(&file, &svg::svg(&chart, true))?;
    }
    if let Some(path) = &args.summary {
        let tables = (!results.table.is_empty()).then(|| summary::markdown(results));
        let parts = vec![
            (summary::MARKERS, tables),
            (summary::SPARSE_MARKERS, summary::sparse(results)),
            (summary::NETWORK_MARKERS, summary::network(results)),
            (summary::FORMATS_MARKERS, summary::formats(results)),
            (summary::CONVERSIONS_MARKERS, summary::conversions(results)),
        ];
        summarise(path, parts)?;
    }
    Ok(format!("\nreport: {}\n", index.display()))
}

/// The job with what is still to be measured: all of it, beside each other, if anything is.
fn missing(job: &Job, known: Option<&CaseResults>) -> Option<Job> {
    let Some(known) = known else { return Some(job.clone()) };
    if job.systems.iter().all(|name| known.system(name).is_some()) {
        return None;
    }
    let mut job = job.clone();
    for measured in &known.systems {
        if !job.systems.contains(&measured.system) {
            job.systems.push(measured.system.clone());
        }
    }
    Some(job)
}

fn scope(args: &BenchArgs) -> Result<Scope> {
    let cores = dastac_bench::affinity::allowed().len().max(1);
    let mut threads: Vec<usize> = match args.threads.is_empty() {
        true if cores > 1 => vec![1, cores],
        true => vec![1],
        false => args.threads.iter().map(|count| *count as usize).collect(),
    };
    threads.sort_unstable();
    threads.dedup();
    for name in &args.systems {
        if peers::about(name).is_none() {
            let known: Vec<&str> = peers::SYSTEMS.iter().map(|about| about.name).collect();
            return Err(Failure::usage(format!("there is no system `{name}`"))
                .hint(format!("known are {}", known.join(", "))));
        }
    }
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO);
    let here = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    Ok(Scope {
        quick: args.quick,
        threads,
        kernels: args.kernels.clone(),
        size: args.size,
        systems: args.systems.clone(),
        seed: args.seed.unwrap_or(now.as_secs()),
        budget: args.budget.unwrap_or(0.0),
        matrices: args.matrices.clone(),
        layers: args.layers.clone(),
        random: args.random.map(|seed| figures::Random { seed, count: args.count }),
        places: Places {
            peers: here(args.peers.clone().unwrap_or_else(|| args.output.join("peers"))),
            scratch: here(args.output.join("scratch")),
            taco: args.taco.clone().map(here),
            taco_ucf: args.taco_ucf.clone().map(here),
            machine: Some(here(machine_file(args))),
        },
    })
}

/// The file with the description of the machine.
fn machine_file(args: &BenchArgs) -> PathBuf {
    args.output.join("machine.txt")
}

/// The figures that are asked for.
fn chosen(args: &BenchArgs) -> Result<Vec<Figure>> {
    if args.figures.is_empty() {
        return Ok(match args.quick {
            true => vec![Figure::Table],
            false => FIGURES.iter().map(|(_, figure)| *figure).collect(),
        });
    }
    let mut chosen = Vec::new();
    for name in &args.figures {
        match FIGURES.iter().find(|(known, _)| known == name) {
            Some((_, figure)) => chosen.push(*figure),
            None => {
                let known: Vec<&str> = FIGURES.iter().map(|(name, _)| *name).collect();
                return Err(Failure::usage(format!("there is no figure `{name}`"))
                    .hint(format!("known are {}", known.join(", "))));
            }
        }
    }
    Ok(chosen)
}

/// Peaks and bandwidths for each number of threads; of several measurements the best, since they are bounds.
fn probe(results: &mut Results, scope: &Scope, progress: &Bar) -> Result<()> {
    for &threads in &scope.threads {
        progress.stage(
            0,
            &format!("what the machine can do, {}", dastac::elements::count(threads, "thread")),
        );
        let mut rates =
            Rates::measure(threads).map_err(|error| Failure::user(error.to_string()))?;
        match results.machine.rates.iter_mut().find(|known| known.threads == threads) {
            None => results.machine.rates.push(rates),
            Some(known) => {
                rates.fma64 = rates.fma64.max(known.fma64);
                rates.fma32 = rates.fma32.max(known.fma32);
                for (new, old) in rates.read.iter_mut().zip(&known.read) {
                    new.1 = new.1.max(old.1);
                }
                *known = rates;
            }
        }
    }
    Ok(())
}

/// What tells this binary from others.
fn fingerprint(program: &Path) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(&std::fs::read(program).unwrap_or_default());
    format!("{:016x}", hasher.finish())
}

/// The command line, for whoever wants to do the same.
fn command(args: &BenchArgs) -> String {
    let mut words = vec!["dastac bench".to_string()];
    words.extend(args.quick.then(|| "--quick".to_string()));
    words.extend(args.figures.iter().map(|name| format!("--figure {name}")));
    words.extend(args.random.map(|seed| format!("--random {seed} --count {}", args.count)));
    words.extend(args.size.map(|size| format!("--size {size}")));
    words.extend(args.kernels.iter().map(|name| format!("--kernel {name}")));
    words.join(" ")
}

/// Convolutions of sparse inputs, order by order.
fn convolutions(results: &Results) -> String {
    let (headings, cells) = sparse::convolutions(results);
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let verdict = sparse::verdict(results).unwrap_or_default();
    format!(
        "\nmilliseconds by sparsity, (MLIR's over these), * the order that is chosen:\n{}{verdict}\n",
        table(&headings, cells)
    )
}

/// What sparse results took, if any were measured.
fn memory(results: &Results, jobs: &[&Job]) -> String {
    let cases = jobs.iter().filter_map(|job| results.cases.get(&job.key())).collect();
    let (headings, cells) = workspaces::memory_of(cases);
    if cells.is_empty() {
        return String::new();
    }
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    format!("\n{}\n{}", workspaces::PEAK, table(&headings, cells))
}

/// The table, and why cells are empty.
fn show(results: &Results, jobs: &[&Job], scope: &Scope) -> String {
    let cases: Vec<&CaseResults> =
        jobs.iter().filter_map(|job| results.cases.get(&job.key())).collect();
    let rows: Vec<rows::Row> = cases.iter().map(|case| rows::row(results, case)).collect();
    let mut systems = sparse::systems(&cases);
    if jobs.iter().any(|job| results.table.contains(&job.key())) {
        systems.retain(|name| table_systems(scope.quick).contains(name));
    }
    let (headings, cells) = rows::cells(&rows, &systems);
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut text = machine(results);
    text += "\n";
    text += &table(&headings, cells);
    let gaps = rows::gaps(cases.iter().copied());
    if !gaps.is_empty() {
        text += "\nnot measured:\n";
        gaps.iter().for_each(|gap| text += &format!("  {gap}\n"));
    }
    text
}

/// The machine in a few lines.
fn machine(results: &Results) -> String {
    let machine = &results.machine;
    let caches: Vec<String> =
        machine.caches.iter().map(|(name, size)| format!("{name} {size}")).collect();
    let mut text = format!(
        "{}, {} CPUs, {}, load {:.1}\n",
        machine.cpu,
        machine.cores,
        caches.join(", "),
        machine.load
    );
    if !machine.description.is_empty() {
        text += &format!("{}\n", machine.chosen_by());
    }
    for rates in &machine.rates {
        let at = |bytes: f64| rates.bandwidth(bytes) / 1e9;
        text += &format!(
            "{} thread{}: {:.1} GFLOP/s (f32 {:.1}), reads {:.1} GB/s of 1 MiB, {:.1} of 8 MiB, {:.1} of 512 MiB\n",
            rates.threads,
            if rates.threads == 1 { "" } else { "s" },
            rates.fma64 * 2e-9,
            rates.fma32 * 2e-9,
            at(f64::from(1 << 20)),
            at(f64::from(8 << 20)),
            at(f64::from(512 << 20)),
        );
    }
    text
}

/// How far it is.
struct Bar {
    bar: ProgressBar,
    start: Instant,
}

impl Bar {
    fn new(interactive: bool, jobs: usize) -> Bar {
        let target = match interactive {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(jobs as u64), target);
        let template = "{bar:30} {pos}/{len} {msg} ({elapsed}, {eta} to go)";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar { bar, start: Instant::now() }
    }

    fn stage(&self, done: usize, what: &str) {
        self.bar.set_position(done as u64);
        self.bar.set_message(what.to_string());
        if self.bar.is_hidden() && std::env::var_os("DASTAC_BENCH_LOG").is_some() {
            super::render::to_stderr(&format!(
                "{:6.1} s {what}\n",
                self.start.elapsed().as_secs_f64()
            ));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
