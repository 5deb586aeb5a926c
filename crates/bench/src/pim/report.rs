//! What is shown of cores inside of memory: tables and figures.

use super::names::{ROWS, STRUCTURED};
use super::{packed, spmv};
use crate::chart::{Chart, Key, Panel, linear, log};
use crate::results::{CaseResults, Results, Simulated};
use crate::stats::geometric_mean;

/// A heading, headings of columns (`>`: of numbers), and cells.
pub type Table = (&'static str, Vec<&'static str>, Vec<Vec<String>>);

/// The tables of what was simulated.
pub fn tables(cases: &[&CaseResults]) -> Vec<Table> {
    let of = |prefix: &str| -> Vec<&CaseResults> {
        cases.iter().copied().filter(|case| case.kernel.starts_with(prefix)).collect()
    };
    let (rows, structured) = (of(ROWS), of(STRUCTURED));
    let mut tables = Vec::new();
    if !rows.is_empty() {
        let headings = [
            "matrix",
            ">rows",
            ">elements",
            ">cores",
            ">C2SR",
            ">CISR",
            ">C2SR/CISR",
            ">runs/CISR",
            ">CISR/split",
            ">cycles split",
        ];
        let mut cells: Vec<Vec<String>> = rows.iter().flat_map(|case| of_matrix(case)).collect();
        cells.extend(spmv::CORES.iter().filter_map(|cores| means(&rows, *cores)));
        let heading = "SpMV on cores inside of memory: load imbalance, and ratios of cycles";
        tables.push((heading, headings.to_vec(), cells));
    }
    if !structured.is_empty() {
        let headings = [
            "kernel",
            ">cores",
            ">with work",
            ">cycles packed",
            ">in boxes",
            ">full",
            ">full/packed",
            ">moved packed",
            ">in boxes",
            ">full",
            ">full/packed",
        ];
        let cells = structured.iter().flat_map(|case| of_kernel(case)).collect();
        let heading =
            "structured tensors on cores inside of memory: cycles, and bytes to banks and back";
        tables.push((heading, headings.to_vec(), cells));
    }
    tables
}

/// What did not run.
pub fn failures(cases: &[&CaseResults]) -> Vec<String> {
    let each = cases.iter().flat_map(|case| {
        let failed = case.pim.iter().filter(|one| !one.failed.is_empty());
        failed.map(|one| {
            let cores = dastac_elements::count(one.cores, "core");
            format!("{}, {}, {cores}: {}", case.title, one.way, one.failed)
        })
    });
    each.collect()
}

/// The cycles of one way over those of another.
fn ratio(case: &CaseResults, cores: usize, one: &str, other: &str) -> Option<f64> {
    let cycles = |way: &str| Some(case.simulated(way, cores)?.cycles.max(1) as f64);
    Some(cycles(one)? / cycles(other)?)
}

/// What a ratio, or a count, looks like.
fn shown<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".into(), text)
}

fn two_digits(value: Option<f64>) -> String {
    shown(value, |value| format!("{value:.2}"))
}

/// Ratios that are shown of a matrix: the cycles of the first over those of the second.
const RATIOS: [(&str, &str); 3] = [("c2sr", "cisr"), ("runs", "cisr"), ("cisr", "split")];

fn of_matrix(case: &CaseResults) -> Vec<Vec<String>> {
    let rows = spmv::CORES.iter().filter(|cores| case.pim.iter().any(|one| one.cores == **cores));
    rows.map(|&cores| {
        let imbalance =
            |way: &str| two_digits(case.simulated(way, cores).and_then(|one| one.imbalance));
        let mut cells = vec![
            case.title.clone(),
            case.n.to_string(),
            shown(case.points, |points| format!("{points:.0}")),
            cores.to_string(),
            imbalance("c2sr"),
            imbalance("cisr"),
        ];
        cells.extend(RATIOS.map(|(one, other)| two_digits(ratio(case, cores, one, other))));
        cells.push(shown(case.simulated("split", cores), |one| one.cycles.to_string()));
        cells
    })
    .collect()
}

/// Geometric means over all matrices.
fn means(cases: &[&CaseResults], cores: usize) -> Option<Vec<String>> {
    let mean = |of: &dyn Fn(&CaseResults) -> Option<f64>| {
        geometric_mean(cases.iter().filter_map(|case| of(case)))
    };
    let imbalance = |way: &str| mean(&|case| case.simulated(way, cores)?.imbalance);
    let mut cells = vec!["geometric mean".into(), String::new(), String::new(), cores.to_string()];
    cells.extend([Some(imbalance("c2sr")?), imbalance("cisr")].map(two_digits));
    cells.extend(
        RATIOS.map(|(one, other)| two_digits(mean(&|case| ratio(case, cores, one, other)))),
    );
    cells.push(String::new());
    Some(cells)
}

/// Forms of a program.
const FORMS: [&str; 3] = ["packed", "boxes", "full"];

fn of_kernel(case: &CaseResults) -> Vec<Vec<String>> {
    let rows = packed::CORES.iter().filter(|cores| case.pim.iter().any(|one| one.cores == **cores));
    rows.map(|&cores| {
        let of = |way: &str| case.simulated(way, cores);
        let moved = |way: &str| Some(of(way)?.moved as f64);
        let over = moved("full").zip(moved("packed")).map(|(full, packed)| full / packed.max(1.0));
        let mut cells = vec![
            case.title.clone(),
            cores.to_string(),
            shown(of("packed"), |one| one.used.to_string()),
        ];
        cells.extend(FORMS.map(|way| shown(of(way), |one| one.cycles.to_string())));
        cells.push(two_digits(ratio(case, cores, "full", "packed")));
        cells.extend(FORMS.map(|way| shown(of(way), |one| dastac_driver::human(one.moved))));
        cells.push(two_digits(over));
        cells
    })
    .collect()
}

fn key(label: &str, class: &str) -> Key {
    Key { label: label.into(), class: class.into() }
}

fn cases<'a>(results: &'a Results, prefix: &str) -> Vec<&'a CaseResults> {
    results.cases.values().filter(|case| case.kernel.starts_with(prefix)).collect()
}

/// Bars of imbalance and of run times on most cores, and how imbalance grows.
pub fn rows(results: &Results) -> Chart {
    let cases = cases(results, ROWS);
    let most = spmv::CORES[spmv::CORES.len() - 1];
    let ways = ["c2sr", "cisr", "runs", "split"];
    let imbalances = cases.iter().map(|case| {
        let of = |way: &str| case.simulated(way, most)?.imbalance;
        (case.title.clone(), ways.map(of).to_vec())
    });
    let times = cases.iter().map(|case| {
        let bars = ways.map(|way| ratio(case, most, way, "cisr"));
        (case.title.clone(), bars.to_vec())
    });
    let line = |of: &dyn Fn(&CaseResults, usize) -> Option<f64>| -> Vec<(f64, f64)> {
        let mean = |cores: usize| geometric_mean(cases.iter().filter_map(|case| of(case, cores)));
        spmv::CORES.iter().filter_map(|cores| Some((*cores as f64, mean(*cores)?))).collect()
    };
    let imbalance = |way: &str| line(&|case, cores| case.simulated(way, cores)?.imbalance);
    let time = |way: &str| line(&|case, cores| ratio(case, cores, way, "cisr"));
    Chart {
        name: String::new(),
        title: "Sparse rows on cores inside of memory".into(),
        caption: format!(
            "A sparse matrix times a vector on {most} simulated cores: rows by their number modulo that of cores \
             (C2SR), to the core with the fewest elements so far (CISR), in runs of equal work, and split where a core \
             has its share. Load imbalance is the largest over the mean number of elements of a core; run times are \
             cycles over those of CISR. Lines are geometric means of all matrices. The figures are the 8th and 9th of \
             the paper on UniSparse."
        ),
        series: vec![
            key("C2SR", "c-packed"),
            key("CISR", "mkl"),
            key("runs of equal work", "untiled"),
            key("rows split", "dastac"),
        ],
        panels: vec![
            Panel::Bars {
                title: "load imbalance".into(),
                y: log("largest over mean"),
                groups: imbalances.collect(),
                line: Some(1.0),
            },
            Panel::Bars {
                title: "run time".into(),
                y: log("cycles over CISR's"),
                groups: times.collect(),
                line: Some(1.0),
            },
            Panel::Lines {
                title: "load imbalance".into(),
                x: log("cores"),
                y: log("largest over mean"),
                points: ways.map(imbalance).to_vec(),
                names: Vec::new(),
            },
            Panel::Lines {
                title: "run time".into(),
                x: log("cores"),
                y: log("cycles over CISR's"),
                points: ways.map(time).to_vec(),
                names: Vec::new(),
            },
        ],
    }
}

/// Cycles over cores, for each kernel, and bytes moved.
pub fn structured(results: &Results) -> Chart {
    let cases = cases(results, STRUCTURED);
    let line = |case: &CaseResults, way: &str, of: &dyn Fn(&Simulated) -> f64| {
        let point = |cores: &usize| Some((*cores as f64, of(case.simulated(way, *cores)?)));
        packed::CORES.iter().filter_map(point).collect::<Vec<(f64, f64)>>()
    };
    let panel = |case: &&CaseResults, what: &str, of: &dyn Fn(&Simulated) -> f64| Panel::Lines {
        title: case.title.clone(),
        x: log("cores"),
        y: log(what),
        points: FORMS.map(|way| line(case, way, of)).to_vec(),
        names: Vec::new(),
    };
    let cycles = cases.iter().map(|case| panel(case, "cycles", &|one| one.cycles as f64));
    let moved = cases
        .iter()
        .map(|case| panel(case, "KiB to banks and back", &|one| one.moved as f64 / 1024.0));
    let used = Panel::Lines {
        title: "cores with work".into(),
        x: log("cores"),
        y: linear("part of them"),
        points: {
            let of = |case: &CaseResults| {
                line(case, "packed", &|one| one.used as f64 / one.cores.max(1) as f64)
            };
            let first = cases.first().map(|case| of(case)).unwrap_or_default();
            vec![first, Vec::new(), Vec::new()]
        },
        names: Vec::new(),
    };
    Chart {
        name: String::new(),
        title: "Structured tensors on cores inside of memory".into(),
        caption: "Cycles of the slowest core, and bytes to banks and from them, on 1 to 1,024 simulated cores: tensors \
                  packed, the same loops on boxes, and programs that know nothing of the structure (the pruned layer \
                  has its filter in rows, or dense)."
            .into(),
        series: vec![
            key("packed", "dastac"),
            key("the same loops on boxes", "untiled"),
            key("without structure", "dense"),
        ],
        panels: cycles.chain(moved).chain([used]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(kernel: &str, ways: &[(&str, u64, Option<f64>)], cores: usize) -> CaseResults {
        let simulated = |(way, cycles, imbalance): &(&str, u64, Option<f64>)| Simulated {
            way: (*way).into(),
            cores,
            used: cores,
            cycles: *cycles,
            imbalance: *imbalance,
            moved: 10 * cycles,
            ..Simulated::default()
        };
        CaseResults {
            kernel: kernel.into(),
            title: "a".into(),
            n: 4096,
            points: Some(9000.0),
            pim: ways.iter().map(simulated).collect(),
            ..CaseResults::default()
        }
    }

    #[test]
    fn tables_have_ratios_and_means() {
        let ways = [
            ("c2sr", 300, Some(4.0)),
            ("cisr", 200, Some(2.0)),
            ("runs", 100, None),
            ("split", 50, Some(1.0)),
        ];
        let rows = case("pim-spmv-a", &ways, 256);
        let mut packed = case("pim-structured-b", &[("packed", 100, None), ("full", 200, None)], 4);
        packed.pim[1].failed = "too large".into();
        let tables = tables(&[&rows, &packed]);
        assert_eq!(tables.len(), 2);
        let row = ["a", "4096", "9000", "256", "4.00", "2.00", "1.50", "0.50", "4.00", "50"];
        assert_eq!(tables[0].2[0], row);
        assert_eq!(tables[0].2[1][4..9], row[4..9], "the mean of one");
        assert_eq!(tables[1].2[0][..7], ["a", "4", "4", "100", "-", "-", "-"]);
        assert_eq!(failures(&[&rows, &packed]), ["a, full, 4 cores: too large"]);
    }
}
