//! The part of `docs/performance.md` that a run writes: Markdown between two markers.

use std::fmt::Write;

use super::charts::compile_times;
use super::goals::{self, Goal};
use super::machine::Machine;
use super::results::{CaseResults, Measured, Results};
use super::sparse::{self, report};
use super::table;
use super::workspaces;

/// What is written stands between these lines.
pub const MARKERS: [&str; 2] = ["<!-- bench: begin -->", "<!-- bench: end -->"];

/// What is written of sparse tensors stands between these.
pub const SPARSE_MARKERS: [&str; 2] =
    ["<!-- bench sparse: begin -->", "<!-- bench sparse: end -->"];

/// What is written of a network's pruned layers stands between these.
pub const NETWORK_MARKERS: [&str; 2] =
    ["<!-- bench network: begin -->", "<!-- bench network: end -->"];

/// What is written of formats that are chosen stands between these.
pub const FORMATS_MARKERS: [&str; 2] =
    ["<!-- bench formats: begin -->", "<!-- bench formats: end -->"];

/// What is written of conversions stands between these.
pub const CONVERSIONS_MARKERS: [&str; 2] =
    ["<!-- bench conversions: begin -->", "<!-- bench conversions: end -->"];

/// The days since 1970 as a date.
pub fn date(seconds: u64) -> String {
    // Civil from days (H. Hinnant): years begin in March.
    let days = (seconds / 86_400) as i64 + 719_468;
    let era = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

/// A machine in a sentence.
pub fn describe(machine: &Machine) -> String {
    let caches: Vec<String> =
        machine.caches.iter().map(|(name, size)| format!("{name} {size}")).collect();
    let versions: Vec<String> =
        machine.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let described = match machine.description.is_empty() {
        true => String::new(),
        false => format!("; {}", machine.chosen_by()),
    };
    format!(
        "{} CPUs of {}, {}, {} of memory, Linux {}; {}{described}",
        machine.cores,
        machine.cpu,
        caches.join(", "),
        dastac_driver::human(machine.memory),
        machine.system,
        versions.join(", ")
    )
}

/// The text between the markers.
pub fn markdown(results: &Results) -> String {
    let machine = &results.machine;
    let mut text = format!(
        "Measured on {} with `{}` on {}.\n",
        date(machine.time),
        results.command,
        describe(machine)
    );
    if machine.load > 0.5 {
        let _ =
            writeln!(text, "Other processes were at work (load {:.1} at the start).", machine.load);
    }
    for rates in &machine.rates {
        let at = |mib: u64| rates.bandwidth((mib << 20) as f64) / 1e9;
        let _ = writeln!(
            text,
            "\n{} thread{}: {:.0} GFLOP/s (f32 {:.0}); reads {:.1} GB/s of arrays of 8 MiB, {:.1} of 32 MiB, {:.1} of \
            512 MiB.",
            rates.threads,
            if rates.threads == 1 { "" } else { "s" },
            rates.fma64 * 2e-9,
            rates.fma32 * 2e-9,
            at(8),
            at(32),
            at(512)
        );
    }
    let cases = results.table_cases();
    let rows: Vec<table::Row> = cases.iter().map(|case| table::row(results, case)).collect();
    let systems: Vec<&str> = super::figures::table_systems(false)
        .iter()
        .copied()
        .filter(|name| cases.iter().any(|case| case.system(name).is_some_and(Measured::ran)))
        .collect();
    let (headings, cells) = table::cells(&rows, &systems);
    let _ = writeln!(text, "\n### All kernels\n\nMedians in milliseconds.\n");
    write_table(&mut text, &headings, &cells);
    write_gaps(&mut text, cases.iter().copied());
    write_goals(&mut text, "Goals", &goals::of_table(results));
    levels(&mut text, results);
    let times = compile_times(results);
    if !times.is_empty() {
        let _ = writeln!(
            text,
            "\n### From text to machine code\n\nMilliseconds, the shortest of three.\n\n\
            | program | structure | layout | loops | machine code | all |\n|---|--:|--:|--:|--:|--:|"
        );
        for (title, times) in times {
            let cells: Vec<String> = times.iter().map(|ms| format!("{ms:.0}")).collect();
            let all: f64 = times.iter().sum();
            let _ = writeln!(text, "| {title} | {} | {all:.0} |", cells.join(" | "));
        }
    }
    text
}

/// What packing gains: the table of the figures that compare forms of compression.
fn levels(text: &mut String, results: &Results) {
    const FORMS: [&str; 6] = ["dense", "inputs", "dastac", "c-dense", "c-inputs", "c-packed"];
    let mut rows = Vec::new();
    for kernel in super::kernels::KERNELS {
        let key = format!("{}/{}/f64/1", kernel.name, kernel.dense);
        let Some(case) = results.cases.get(&key) else { continue };
        let cells = FORMS.map(|form| {
            case.time(form).map_or_else(|| "-".into(), |t| table::milliseconds(t.median_ns / 1e6))
        });
        if case.time("dense").or(case.time("c-dense")).is_some() {
            rows.push(format!("| {} | {} | {} |", case.title, case.n, cells.join(" | ")));
        }
    }
    if !rows.is_empty() {
        let names = FORMS.map(super::peers::label).join(" | ");
        let _ = writeln!(
            text,
            "\n### Levels of compression\n\nMedians in milliseconds, one thread.\n\n| kernel | n | {names} |\n\
            |---|--:|--:|--:|--:|--:|--:|--:|\n{}",
            rows.join("\n")
        );
    }
}

/// A table in Markdown; headings that begin with `>` are of numbers.
pub(crate) fn write_table(text: &mut String, headings: &[String], cells: &[Vec<String>]) {
    let names: Vec<&str> = headings.iter().map(|h| h.trim_start_matches('>')).collect();
    let rule: Vec<&str> =
        headings.iter().map(|h| if h.starts_with('>') { "--:" } else { "---" }).collect();
    let _ = writeln!(text, "| {} |\n|{}|", names.join(" | "), rule.join("|"));
    for row in cells {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
}

/// Goals, and the part of each that is farthest from its aim.
fn write_goals(text: &mut String, heading: &str, goals: &[Goal]) {
    let _ =
        writeln!(text, "\n### {heading}\n\n| goal | reached | farthest from it |\n|---|--:|---|");
    for goal in goals {
        let worst = goal.worst().map_or(String::new(), |row| {
            format!("{}: {:.2}, wanted {:.2}", row.name, row.value, row.wanted)
        });
        let _ = writeln!(
            text,
            "| {}: {} | {} of {} | {worst} |",
            goal.title,
            goal.target,
            goal.met(),
            goal.rows.len()
        );
    }
}

/// Why cells are empty.
fn write_gaps<'a>(text: &mut String, cases: impl IntoIterator<Item = &'a CaseResults>) {
    let gaps = table::gaps(cases);
    if !gaps.is_empty() {
        let _ = writeln!(text, "\nNot measured:\n");
        gaps.iter().for_each(|gap| {
            let _ = writeln!(text, "- {gap}");
        });
    }
}

/// When and on what machine it was measured, and whether others used it.
fn measured_on(machine: &Machine) -> String {
    let mut text = format!("Measured on {} on {}.\n", date(machine.time), describe(machine));
    if machine.load > 0.5 {
        let load = machine.load;
        let _ = writeln!(text, "Other processes were at work (load {load:.1} at the start).");
    }
    text
}

/// The text between [`SPARSE_MARKERS`]; `None` if no tensor with a format was measured.
pub fn sparse(results: &Results) -> Option<String> {
    let (headings, convolutions) = report::convolutions(results);
    let products = report::product_cases(results);
    let others = report::others(results);
    if convolutions.is_empty() && products.is_empty() && others.is_empty() {
        return None;
    }
    let mut text = measured_on(&results.machine);
    if !convolutions.is_empty() {
        let _ = writeln!(
            text,
            "\n### Convolutions of sparse inputs\n\n\
             A dense filter of three elements in each dimension, one thread. dastac's medians in milliseconds by the \
             percentage of elements that are not there; in parentheses the time of MLIR's sparse compiler, with loops \
             in the same order, over it. Spatial loops are \
             `i`, `j`, `k`, the filter's `p`, `q`, `r`. An asterisk marks the order that dastac chooses itself, if it \
             is one of these; MLIR chooses itself beside it.\n"
        );
        write_table(&mut text, &headings, &convolutions);
        if let Some(verdict) = report::verdict(results) {
            let _ = writeln!(text, "\n{verdict}");
        }
    }
    for (heading, cases) in others {
        let _ = writeln!(text, "\n### {heading}\n");
        let rows: Vec<table::Row> = cases.iter().map(|case| table::row(results, case)).collect();
        let (headings, cells) = table::times(&rows, &report::systems(&cases));
        write_table(&mut text, &headings, &cells);
        write_gaps(&mut text, cases);
    }
    if !products.is_empty() {
        let _ = writeln!(
            text,
            "\n### Sparse matrices\n\n\
             A matrix in rows times a vector, and times a matrix of 32 columns. `n` is the number of entries of \
             matrices that are made. \
             Medians in milliseconds.\n"
        );
        let rows: Vec<table::Row> = products.iter().map(|case| table::row(results, case)).collect();
        let (headings, cells) = table::cells(&rows, &report::systems(&products));
        write_table(&mut text, &headings, &cells);
        write_gaps(&mut text, products);
        for line in report::against(results) {
            let _ = writeln!(text, "\n{line}.");
        }
    }
    let memory = workspaces::report::memory(results);
    if !memory.1.is_empty() {
        let _ = writeln!(text, "\n### Memory of sparse results\n\n{}\n", workspaces::report::PEAK);
        write_table(&mut text, &memory.0, &memory.1);
    }
    let mut goals = sparse::goals::goals(results);
    goals.extend(workspaces::goals::goals(results));
    write_goals(&mut text, "Goals of sparse tensors", &goals);
    Some(text)
}

/// The text between [`NETWORK_MARKERS`]; `None` if no pruned layer was measured beside dense ones.
pub fn network(results: &Results) -> Option<String> {
    let about = "One picture, single precision. dastac's medians in milliseconds by the part of the filters that is \
        pruned; in parentheses the time of PyTorch's dense convolution over it.";
    let goals = ("Goals of pruned layers", sparse::network::goals(results));
    section(results, about, sparse::network::table(results), goals)
}

/// The text between [`FORMATS_MARKERS`]; `None` if no chosen format was measured.
pub fn formats(results: &Results) -> Option<String> {
    let about = "The chosen format's medians in milliseconds, and the times of others over them; how long it took to \
        choose and to make it, and after how many products that has paid for itself.";
    let goals = ("Goals of chosen formats", sparse::formats::goals(results));
    section(results, about, sparse::formats::table(results), goals)
}

/// The text between [`CONVERSIONS_MARKERS`]; `None` if no conversion was measured.
pub fn conversions(results: &Results) -> Option<String> {
    let about = "dastac's medians in milliseconds and in nanoseconds for each entry, and the times of others over \
        them; what the arrays take before and after.";
    let goals = ("Goals of conversions", sparse::conversions::goals(results));
    section(results, about, sparse::conversions::table(results), goals)
}

/// A table with what it is about, and goals of which something was measured, under a heading; `None` without rows.
fn section(
    results: &Results,
    about: &str,
    (headings, rows): (Vec<String>, Vec<Vec<String>>),
    (heading, mut goals): (&str, Vec<Goal>),
) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    let mut text = measured_on(&results.machine);
    let _ = writeln!(text, "\n{about}\n");
    write_table(&mut text, &headings, &rows);
    goals.retain(|goal| !goal.rows.is_empty());
    if !goals.is_empty() {
        write_goals(&mut text, heading, &goals);
    }
    Some(text)
}

/// A document with the text between two markers replaced; `None` if it does not have them.
pub fn replace(document: &str, [begin, end]: [&str; 2], text: &str) -> Option<String> {
    let (before, rest) = document.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{}{end}{after}", wrapped(text)))
}

/// Columns of documents.
const COLUMNS: usize = 120;

/// Text with its long lines broken between words, but for rows of tables.
fn wrapped(text: &str) -> String {
    let mut all = String::new();
    for line in text.lines() {
        // An item of a list goes on below its first word.
        let indent = if line.starts_with("- ") { "  " } else { "" };
        // With a space behind it.
        let mut length = 0;
        for word in line.split(' ') {
            let more = word.chars().count() + 1;
            if !line.starts_with('|') && length > 0 && length + more > COLUMNS + 1 {
                let _ = write!(all, "\n{indent}{word}");
                length = indent.len() + more;
                continue;
            }
            let space = if length > 0 { " " } else { "" };
            let _ = write!(all, "{space}{word}");
            length += more;
        }
        all.push('\n');
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_767_225_599), "2025-12-31");
    }

    #[test]
    fn only_what_is_between_markers_is_replaced() {
        let document = format!("a\n{}\nold\n{}\nb\n", MARKERS[0], MARKERS[1]);
        let expected = format!("a\n{}\nnew\n{}\nb\n", MARKERS[0], MARKERS[1]);
        assert_eq!(replace(&document, MARKERS, "new\n"), Some(expected));
        assert_eq!(replace("a", MARKERS, "new"), None);
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        let words = |count: usize| vec!["word"; count].join(" ");
        let (fits, long) = (words(24), words(25));
        let row = format!("| {long} |");
        let text = format!("{fits}\n\n{long}\n- {long}\n{row}\n  a\n");
        let wanted = format!("{fits}\n\n{fits}\nword\n- {}\n  word word\n{row}\n  a\n", words(23));
        assert_eq!(wrapped(&text), wanted);
        assert_eq!(wrapped(&wanted), wanted);
    }
}
