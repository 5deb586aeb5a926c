//! Figures as data: panels of lines or bars, made from results.

use super::figures::{
    BUTTERFLIES, FIGURES, FOOTPRINT_SIZE, FOOTPRINTS, Figure, STRIDES, SUMMANDS, TRIANGLES,
};
use super::kernels::{COMBINATIONS, KERNELS, Workload};
use super::peers::{about, label};
use super::pim;
use super::results::{CaseResults, Results};
use super::sparse;
use super::workspaces;

pub use super::chart::{Axis, Chart, Key, Panel};
pub(crate) use super::chart::{linear, log};

fn keys(systems: &[&str]) -> Vec<Key> {
    let key = |system: &&str| Key { label: label(system).into(), class: (*system).to_string() };
    systems.iter().map(key).collect()
}

fn bound() -> Key {
    Key { label: "bound".into(), class: "bound".into() }
}

/// The results of a case.
fn case<'a>(results: &'a Results, kernel: &str, n: i64, threads: usize) -> Option<&'a CaseResults> {
    results.cases.get(&format!("{kernel}/{n}/f64/{threads}"))
}

/// All figures that there are results for.
pub fn charts(results: &Results) -> Vec<Chart> {
    let charts = FIGURES.iter().filter_map(|(name, figure)| {
        let mut chart = chart(results, *figure)?;
        let has_points = |panel: &Panel| match panel {
            Panel::Lines { points, .. } => points.iter().any(|points| !points.is_empty()),
            Panel::Bars { groups, .. } => {
                groups.iter().any(|(_, bars)| bars.iter().any(Option::is_some))
            }
        };
        chart.panels.retain(has_points);
        if matches!(figure, Figure::Threads | Figure::OneThread) {
            // The table's sizes alone are no curves.
            chart.panels.retain(|panel| match panel {
                Panel::Lines { points, .. } => points.iter().any(|points| points.len() > 1),
                Panel::Bars { .. } => true,
            });
        }
        chart.name = (*name).to_string();
        drop_empty(&mut chart);
        (!chart.panels.is_empty()).then_some(chart)
    });
    charts.collect()
}

/// Leaves out the series that no panel shows.
fn drop_empty(chart: &mut Chart) {
    for at in (0..chart.series.len()).rev() {
        let shown = chart.panels.iter().any(|panel| match panel {
            Panel::Lines { points, .. } => !points[at].is_empty(),
            Panel::Bars { groups, .. } => groups.iter().any(|(_, bars)| bars[at].is_some()),
        });
        if shown {
            continue;
        }
        chart.series.remove(at);
        for panel in &mut chart.panels {
            match panel {
                Panel::Lines { points, .. } => drop(points.remove(at)),
                Panel::Bars { groups, .. } => groups.iter_mut().for_each(|(_, bars)| {
                    bars.remove(at);
                }),
            }
        }
    }
}

fn chart(results: &Results, figure: Figure) -> Option<Chart> {
    let most = results.machine.rates.iter().map(|rates| rates.threads).max().unwrap_or(1);
    match figure {
        Figure::Table if results.table_cases().is_empty() => None,
        Figure::Table => Some(roofline(results)),
        Figure::Threads if most == 1 => None,
        Figure::Threads => Some(rates(results, most)),
        Figure::OneThread => Some(rates(results, 1)),
        Figure::Memory => Some(memory(results)),
        Figure::Levels => Some(variants(
            results,
            &["dense", "inputs", "dastac"],
            |kernel| kernel.dense,
            "Levels of compression",
            "How many times faster than with nothing packed, on one thread: only inputs packed, inputs and outputs \
            packed. The figure is the paper's 13.",
        )),
        Figure::Systems => Some(variants(
            results,
            &["c-dense", "c-inputs", "c-packed", "dastac"],
            |kernel| kernel.dense,
            "Compression of different systems",
            "How many times faster than StructTensor's loops on dense buffers, on one thread. The figure is the \
            paper's 19, with clang for Polygeist.",
        )),
        Figure::Tiling => Some(variants(
            results,
            &["untiled", "dastac", "small", "large"],
            |kernel| kernel.table[0],
            "Tiling",
            "How many times faster than dastac's loops without tiles, on one thread: with the tiles that the model \
            chooses, and with blocks for caches of a quarter and of four times their size. The figure is the paper's \
            20.",
        )),
        Figure::Scaling => Some(scaling(results, most)),
        Figure::Summands => Some(family(
            results,
            "diagonals",
            SUMMANDS,
            "Number of summands",
            "summands",
            "A sum of products of matrices with strided diagonals, of size 2^14, packed and in dense boxes (which fit \
            into memory for one summand only). The figure is the paper's 14.",
        )),
        Figure::Polyhedra => Some(family(
            results,
            "butterfly",
            BUTTERFLIES,
            "Number of polyhedra",
            "k: a half of the number of polyhedra",
            "A block butterfly matrix of size 2^14 times a vector. The matrix always has the same number of elements. \
            The figure is the paper's 15.",
        )),
        Figure::Strides => Some(family(
            results,
            "band",
            STRIDES,
            "Distance of elements",
            "stride",
            "A strided band matrix of size 2^14 times a vector, from tridiagonal to diagonal. The figure is the \
            paper's 16, at a size whose dense box fits into memory.",
        )),
        Figure::Density => Some(family(
            results,
            "sub_triangle",
            TRIANGLES,
            "Density",
            "size of the triangle",
            "A triangle in the corner of a matrix of size 2^14, times a vector. The figure is the paper's 17.",
        )),
        Figure::Structured => None, // its shares are a table
        Figure::Compile => Some(compile(results)),
        Figure::Combinations => Some(ratios(
            results,
            COMBINATIONS,
            &["c-packed", "untiled", "dastac"],
            |kernel| kernel.table[kernel.table.len() - 1],
            "Combinations",
            "How many times faster than the same loops in C, on one thread: dastac's loops without tiles, and in \
            tiles.",
        )),
        Figure::SparseConvolutions => Some(sparse::report::curves(results)),
        Figure::SparseMatrices => Some(sparse::report::bars(results)),
        Figure::SparseStrategies => Some(sparse::pictures::strategies(results)),
        Figure::SparseLayers => Some(sparse::pictures::layers(results)),
        Figure::SparseFilters => Some(sparse::pictures::filters(results)),
        Figure::SparseNetwork => Some(sparse::network::chart(results)),
        Figure::Formats => Some(sparse::formats::chart(results)),
        Figure::Conversions => Some(sparse::conversions::chart(results)),
        Figure::SparseImages => Some(sparse::pictures::images(results)),
        Figure::WorkspaceProducts => Some(workspaces::report::products(results)),
        Figure::WorkspaceDiscordant => Some(workspaces::report::discordant(results)),
        Figure::WorkspaceKinds => Some(workspaces::kinds::picture(results)),
        Figure::PimRows => Some(pim::report::rows(results)),
        Figure::PimStructured => Some(pim::report::structured(results)),
    }
}

/// Billions of operations each second, as the program writes them.
fn rate(case: &CaseResults, system: &str) -> Option<f64> {
    Some(case.flops? / case.time(system)?.median_ns)
}

fn rates(results: &Results, threads: usize) -> Chart {
    let systems = ["dastac", "c-packed", "mkl", "openblas", "numpy", "torch", "taco"];
    let panels = KERNELS.iter().map(|kernel| {
        let cases: Vec<&CaseResults> =
            kernel.sweep.iter().filter_map(|n| case(results, kernel.name, *n, threads)).collect();
        let line = |each: &dyn Fn(&CaseResults) -> Option<f64>| -> Vec<(f64, f64)> {
            cases.iter().filter_map(|case| Some((case.n as f64, each(case)?))).collect()
        };
        let mut points: Vec<Vec<(f64, f64)>> =
            systems.iter().map(|system| line(&|case| rate(case, system))).collect();
        points.push(line(&|case| Some(case.flops? / case.bound(&results.machine)?.0)));
        Panel::Lines {
            title: kernel.title.into(),
            x: log("n"),
            y: linear("GFLOP/s"),
            points,
            names: Vec::new(),
        }
    });
    let mut series = keys(&systems);
    series.push(bound());
    let plural = if threads == 1 { "one thread" } else { "all threads" };
    Chart {
        name: String::new(),
        title: format!("All kernels over sizes, {plural}"),
        caption: format!(
            "Operations of the structure's iterations each second, higher is better; the dashed line is what the \
            machine can do. The figure is the paper's {}.",
            if threads == 1 { 11 } else { 10 }
        ),
        series,
        panels: panels.collect(),
    }
}

/// Every kernel of the table in the roofline, on one thread.
fn roofline(results: &Results) -> Chart {
    let mut points = vec![Vec::new(), Vec::new()];
    let (mut roof, mut cached, mut names) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(rates) = results.machine.rates(1) {
        let peak = rates.fma64 * 2e-9;
        let line = |bytes: u64| {
            let bandwidth = rates.bandwidth(bytes as f64) / 1e9;
            vec![(0.05, 0.05 * bandwidth), (peak / bandwidth, peak), (300.0, peak)]
        };
        (roof, cached) = (line(1 << 40), line(8 << 20));
    }
    for case in results.table_cases() {
        if case.threads == 1 && !case.single {
            let Some(multiply_adds) = case.points else { continue };
            // Two operations each, however the program writes them.
            let at = |time: f64| (2.0 * multiply_adds / case.bytes, 2.0 * multiply_adds / time);
            let best = case.best(&super::peers::names());
            if let Some(time) = case.time("dastac") {
                points[0].push(at(time.median_ns));
                names.push(format!("{} {}", case.title, case.n));
            }
            points[1].extend(best.map(|(_, time)| at(time.median_ns)));
        }
    }
    let (dastac, peer) = (points.remove(0), points.remove(0));
    Chart {
        name: String::new(),
        title: "Roofline".into(),
        caption: "Every kernel of the table, on one thread: multiply-adds (two operations each) each second over \
                  multiply-adds for each byte. The dashed \
                  lines are reading, from memory and from arrays of 8 MiB, up to the rate of multiply-adds. Smaller \
                  arrays are read from faster caches."
            .into(),
        series: vec![
            Key { label: "dastac".into(), class: "dastac dots".into() },
            Key { label: "best peer".into(), class: "mkl dots".into() },
            Key { label: "bound, from memory".into(), class: "bound".into() },
            Key { label: "from 8 MiB".into(), class: "bound".into() },
        ],
        panels: vec![Panel::Lines {
            title: String::new(),
            x: log("operations for each byte"),
            y: log("GFLOP/s"),
            points: vec![dastac, peer, roof, cached],
            names,
        }],
    }
}

fn memory(results: &Results) -> Chart {
    let groups = FOOTPRINTS.iter().filter_map(|name| {
        let case = case(results, name, FOOTPRINT_SIZE, 1)?;
        let sum = |each: &dyn Fn(&super::results::Footprint) -> f64| -> f64 {
            case.tensors.iter().map(each).sum()
        };
        let dense = sum(&|tensor| tensor.dense);
        let manual = sum(&|tensor| if tensor.input { tensor.declared } else { tensor.dense });
        let packed = sum(&|tensor| tensor.packed);
        let title = KERNELS.iter().find(|kernel| kernel.name == *name).map_or("", |k| k.title);
        Some((title.to_string(), vec![Some(dense / manual), Some(dense / packed)]))
    });
    Chart {
        name: String::new(),
        title: "Memory".into(),
        caption: "Bytes of dense boxes over bytes that are allocated, for dimensions of 10000: StructTensor's manual \
                  layout has the unique elements of inputs, \
                  and whole outputs; dastac stores what the computation uses. The figure is the paper's 12."
            .into(),
        series: vec![
            Key { label: "StructTensor's layout".into(), class: "c-packed".into() },
            Key { label: "dastac".into(), class: "dastac".into() },
        ],
        panels: vec![Panel::Bars {
            title: String::new(),
            y: log("times smaller"),
            groups: groups.collect(),
            line: Some(1.0),
        }],
    }
}

/// Systems against the first of them, for the kernels of the paper.
fn variants(
    results: &Results,
    systems: &[&str],
    n: impl Fn(&Workload) -> i64,
    title: &str,
    caption: &str,
) -> Chart {
    ratios(results, KERNELS, systems, n, title, caption)
}

fn ratios(
    results: &Results,
    kernels: &[Workload],
    systems: &[&str],
    n: impl Fn(&Workload) -> i64,
    title: &str,
    caption: &str,
) -> Chart {
    let groups = kernels.iter().filter_map(|kernel| {
        let case = case(results, kernel.name, n(kernel), 1)?;
        let first = case.time(systems[0]);
        let ratios =
            systems.iter().map(|system| Some(first?.median_ns / case.time(system)?.median_ns));
        Some((format!("{} {}", kernel.title, case.n), ratios.collect()))
    });
    Chart {
        name: String::new(),
        title: title.into(),
        caption: caption.into(),
        series: keys(systems),
        panels: vec![Panel::Bars {
            title: String::new(),
            y: log("times faster"),
            groups: groups.collect(),
            line: Some(1.0),
        }],
    }
}

fn scaling(results: &Results, most: usize) -> Chart {
    let systems = ["dastac", "c-packed", "mkl", "openblas"];
    let groups = KERNELS.iter().filter_map(|kernel| {
        let n = *kernel.table.last()?;
        let one = case(results, kernel.name, n, 1)?;
        let all = case(results, kernel.name, n, most).filter(|_| most > 1)?;
        let ratios = systems
            .iter()
            .map(|system| Some(one.time(system)?.median_ns / all.time(system)?.median_ns));
        Some((format!("{} {n}", kernel.title), ratios.collect()))
    });
    Chart {
        name: String::new(),
        title: "Scaling".into(),
        caption: format!(
            "How many times faster on {most} threads than on one; a rate of {most} is all that there is, unless \
            caches add up. The figure is the paper's 18."
        ),
        series: keys(&systems),
        panels: vec![Panel::Bars {
            title: String::new(),
            y: linear("times faster"),
            groups: groups.collect(),
            line: Some(most as f64),
        }],
    }
}

fn family(
    results: &Results,
    name: &str,
    parameters: &[i64],
    title: &str,
    x: &str,
    caption: &str,
) -> Chart {
    let cases: Vec<&CaseResults> =
        parameters.iter().filter_map(|n| case(results, name, *n, 1)).collect();
    let line = |each: &dyn Fn(&CaseResults) -> Option<f64>| -> Vec<(f64, f64)> {
        cases.iter().filter_map(|case| Some((case.n as f64, each(case)?))).collect()
    };
    let panel = |title: &str, y: Axis, points: Vec<Vec<(f64, f64)>>| Panel::Lines {
        title: title.into(),
        x: log(x),
        y,
        points,
        names: Vec::new(),
    };
    let compile = |case: &CaseResults| {
        let total: u64 = case.stages.iter().map(|(_, ns)| ns).sum();
        (total > 0).then_some(total as f64 / 1e6)
    };
    let smaller = |case: &CaseResults| {
        let sum = |each: fn(&super::results::Footprint) -> f64| -> f64 {
            case.tensors.iter().map(each).sum()
        };
        Some(sum(|tensor| tensor.dense) / sum(|tensor| tensor.packed))
    };
    Chart {
        name: String::new(),
        title: title.into(),
        caption: caption.into(),
        series: keys(&["dastac", "dense"]),
        panels: vec![
            panel(
                "Rate",
                log("GFLOP/s"),
                vec![line(&|case| rate(case, "dastac")), line(&|case| rate(case, "dense"))],
            ),
            panel("Memory", log("times smaller"), vec![line(&smaller), Vec::new()]),
            panel("Text to machine code", log("ms"), vec![line(&compile), Vec::new()]),
        ],
    }
}

/// Groups of a compiler's stages that are shown as one.
const STAGES: &[(&str, &[&str])] =
    &[("structure", &["parse", "infer"]), ("layout", &["layout"]), ("loops", &["loops", "tile"])];

/// Of a case compiled only: title, milliseconds of `STAGES`, and of the back end.
pub fn compile_times(results: &Results) -> Vec<(String, Vec<f64>)> {
    let names = KERNELS.iter().map(|kernel| (kernel.name, kernel.title));
    let regressions = super::kernels::REGRESSIONS.iter().map(|(name, title, _)| (*name, *title));
    let rows = names.chain(regressions).filter_map(|(name, title)| {
        let case = case(results, name, 0, 1).filter(|case| !case.stages.is_empty())?;
        let sum = |wanted: &dyn Fn(&str) -> bool| -> f64 {
            let stages = case.stages.iter().filter(|(stage, _)| wanted(stage));
            stages.map(|(_, ns)| *ns as f64 / 1e6).sum()
        };
        let mut times: Vec<f64> =
            STAGES.iter().map(|(_, stages)| sum(&|stage| stages.contains(&stage))).collect();
        times.push(sum(&|stage| !STAGES.iter().any(|(_, stages)| stages.contains(&stage))));
        Some((title.to_string(), times))
    });
    rows.collect()
}

fn compile(results: &Results) -> Chart {
    let groups = compile_times(results).into_iter().map(|(title, times)| {
        let front: f64 = times[..times.len() - 1].iter().sum();
        (title, vec![Some(front), times.last().copied()])
    });
    Chart {
        name: String::new(),
        title: "Compile times".into(),
        caption: "Milliseconds from text to loops, which is what the paper's Table 1 has (280 to 470 for these \
                  kernels, 1760 and 43180 for all moments of PR3 and \
                  PR4, on its machine), and from loops to machine code; the shortest of three."
            .into(),
        series: vec![
            Key { label: "text to loops".into(), class: "dastac".into() },
            Key { label: "loops to machine code".into(), class: "untiled".into() },
        ],
        panels: vec![Panel::Bars {
            title: String::new(),
            y: log("ms"),
            groups: groups.collect(),
            line: None,
        }],
    }
}

/// Whether a system is not part of dastac.
pub fn is_peer(system: &str) -> bool {
    about(system).is_some_and(|about| about.peer)
}
