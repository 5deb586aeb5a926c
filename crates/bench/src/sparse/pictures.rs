//! The figures of convolutions with channels, strategies, filters and images.

use super::images::{self, ORDERS as IMAGE_ORDERS};
use super::layers::{BESIDE, LAYERS, kernel as layer_kernel, pruned_kernel};
use super::report::key;
use super::strategies::{self, FILTERS, ORDERS, SPARSITIES};
use super::{CHOSEN, case};
use crate::charts::{Chart, Key, Panel, linear, log};
use crate::results::{CaseResults, Results};
use crate::stats::geometric_mean;

/// A system's time in milliseconds.
fn time(case: &CaseResults, system: &str) -> Option<f64> {
    case.time(system).map(|time| time.median_ns / 1e6)
}

/// Systems with the classes that colour them.
const STRATEGIES: [(&str, &str); 6] = [
    ("dastac", "dastac"),
    ("search", "large"),
    ("locate", "small"),
    ("mlir", "c-packed"),
    ("taco-ucf", "taco"),
    ("torch", "torch"),
];

/// Milliseconds over what is there, for each number of filters and order; and how far the window search is behind.
pub fn strategies(results: &Results) -> Chart {
    let mut panels = Vec::new();
    let there = |sparsity: f64| 100.0 - sparsity;
    for &filters in FILTERS {
        let many = if filters == 1 { "one filter".into() } else { format!("{filters} filters") };
        for order in ORDERS {
            let line = |system: &str| {
                let points = SPARSITIES.iter().filter_map(|sparsity| {
                    let case = strategies::measured(results, filters, order, *sparsity)?;
                    Some((there(*sparsity), time(case, system)?))
                });
                points.collect::<Vec<(f64, f64)>>()
            };
            let name = if order == CHOSEN { "dastac's order" } else { "n, h, w, r, q, c, f" };
            panels.push(Panel::Lines {
                title: format!("{many}, {name}"),
                x: log("elements that are there, %"),
                y: log("ms"),
                points: STRATEGIES.iter().map(|(system, _)| line(system)).collect(),
                names: Vec::new(),
            });
        }
        let points = STRATEGIES.iter().map(|(system, _)| {
            let ahead = SPARSITIES.iter().filter(|_| strategies::SEARCHES.contains(system));
            let ahead = ahead.filter_map(|sparsity| {
                let ratio = strategies::over_search(results, system, filters, *sparsity)?;
                Some((there(*sparsity), ratio))
            });
            ahead.collect()
        });
        let points = points.collect();
        panels.push(Panel::Lines {
            title: format!("{many}: beside window searches"),
            x: log("elements that are there, %"),
            y: log("times faster"),
            points,
            names: Vec::new(),
        });
    }
    let mut any = FILTERS.iter().flat_map(|filters| {
        SPARSITIES.iter().find_map(|at| strategies::measured(results, *filters, CHOSEN, *at))
    });
    let places =
        any.next().map_or_else(String::new, |case| format!(" of {0} x {0} places", case.n));
    Chart {
        name: String::new(),
        title: "Strategies of convolutions".into(),
        caption: format!(
            "A picture{places} with 64 channels, stored DCCC, under a window of 3 x 3, on one thread: going over \
             non-empty subsections, over all of the \
             result with a window search (as TACO-UCF does), and locating elements; under the loops of the paper, \
             where others are measured too, and those \
             that dastac chooses. The figure is the 16th of the paper on sparse convolutions."
        ),
        series: STRATEGIES.map(|(system, class)| key(system, class)).to_vec(),
        panels,
    }
}

/// What is measured on layers.
const ON_LAYERS: [(&str, &str); 5] = [
    ("dense", "dense"),
    ("torch", "torch"),
    ("mlir", "c-packed"),
    ("taco-ucf", "taco"),
    ("dastac", "dastac"),
];

/// Bars of milliseconds for each layer, by number of threads.
pub fn layers(results: &Results) -> Chart {
    let mut panels = Vec::new();
    let threads: Vec<usize> = results.machine.rates.iter().map(|rates| rates.threads).collect();
    for threads in threads {
        let groups = LAYERS.iter().enumerate().filter_map(|(at, layer)| {
            let key = format!("{}/{}/f64/{threads}", layer_kernel(at), layer.extent());
            let case = results.cases.get(&key)?;
            let bars = ON_LAYERS.iter().map(|(system, _)| time(case, system)).collect();
            Some((format!("L{} {}", at + 1, layer.title()), bars))
        });
        let plural = if threads == 1 { "" } else { "s" };
        panels.push(Panel::Bars {
            title: format!("{threads} thread{plural}"),
            y: log("ms"),
            groups: groups.collect(),
            line: None,
        });
    }
    Chart {
        name: String::new(),
        title: "Layers with sparse inputs".into(),
        caption: "Milliseconds of the layers of ResNet50 on one picture, of whose elements 80% are zero, stored DDDC, \
                  with loops n, h, w, r, q, c, f; beside dense \
                  ones. The figure is the 15th of the paper on sparse convolutions."
            .into(),
        series: ON_LAYERS.map(|(system, class)| key(system, class)).to_vec(),
        panels,
    }
}

/// What is measured on pruned filters.
const ON_FILTERS: [(&str, &str); 4] =
    [("dastac", "dastac"), ("mlir", "c-packed"), ("taco-ucf", "taco"), ("dense", "dense")];

/// How much sparse inputs gain beside pruned filters, for each system; and milliseconds at the highest sparsity.
pub fn filters(results: &Results) -> Chart {
    let of =
        |at: usize, sparsity: f64| case(results, &pruned_kernel(at, sparsity), LAYERS[at].extent());
    let gain = |system: &str, sparsity: f64| {
        let ratios = (0..LAYERS.len()).filter_map(|at| {
            Some(time(of(at, BESIDE[0])?, system)? / time(of(at, sparsity)?, system)?)
        });
        geometric_mean(ratios)
    };
    let line = |system: &str| {
        let points =
            BESIDE.iter().filter_map(|sparsity| Some((*sparsity, gain(system, *sparsity)?)));
        points.collect::<Vec<(f64, f64)>>()
    };
    let most = BESIDE[BESIDE.len() - 1];
    let groups = LAYERS.iter().enumerate().filter_map(|(at, layer)| {
        let case = of(at, most)?;
        let bars = ON_FILTERS.iter().map(|(system, _)| time(case, system)).collect();
        Some((format!("L{} {}", at + 1, layer.title()), bars))
    });
    let mut gains: Vec<Vec<(f64, f64)>> =
        ON_FILTERS.iter().map(|(system, _)| line(system)).collect();
    gains[ON_FILTERS.len() - 1].clear(); // what is stored whole gains nothing
    Chart {
        name: String::new(),
        title: "Layers with pruned filters".into(),
        caption: "The layers of ResNet50 with filters of which 80% are pruned, stored DDDC, on one thread: how many \
                  times faster they are with sparse inputs (DDDC as well) \
                  than with dense ones, geometric mean of all layers; and milliseconds with inputs of which 80% are \
                  zero. The table is that of section 6.4 of the paper on the \
                  unified convolution framework."
            .into(),
        series: ON_FILTERS.map(|(system, class)| key(system, class)).to_vec(),
        panels: vec![
            Panel::Bars {
                title: format!("inputs of which {most}% are zero"),
                y: log("ms"),
                groups: groups.collect(),
                line: None,
            },
            Panel::Lines {
                title: "times faster than with dense inputs".into(),
                x: linear("elements of inputs that are zero, %"),
                y: linear("times faster"),
                points: gains,
                names: Vec::new(),
            },
        ],
    }
}

/// Classes of the loop orders of images, and of the order that is chosen.
const CLASSES: [&str; 5] = ["mkl", "openblas", "numpy", "taco", "dastac"];

/// Bars of what loop orders take over the best of them, image by image.
pub fn images(results: &Results) -> Chart {
    let orders = || IMAGE_ORDERS.iter().copied().chain([CHOSEN]);
    let of = |case: &CaseResults| {
        let name = case.kernel.strip_prefix(images::PREFIX)?;
        let (name, order) = name.rsplit_once('-')?;
        Some((name.to_string(), order.to_string(), time(case, "dastac")?))
    };
    let all: Vec<(String, String, f64)> = results.cases.values().filter_map(of).collect();
    let mut names: Vec<&String> = all.iter().map(|(name, ..)| name).collect();
    names.dedup();
    let groups = names.into_iter().map(|name| {
        let time = |order: &str| {
            all.iter().find(|(own, other, _)| own == name && other == order).map(|(.., ms)| *ms)
        };
        let best = orders().filter_map(time).reduce(f64::min);
        let bars = orders().map(|order| Some(time(order)? / best?)).collect();
        (name.clone(), bars)
    });
    let series = orders().zip(CLASSES).map(|(order, class)| Key {
        label: if order == CHOSEN { "dastac's order".into() } else { order.to_string() },
        class: class.into(),
    });
    Chart {
        name: String::new(),
        title: "Loop orders on images".into(),
        caption: "Time of a convolution with a window of 3 x 3 over that of the best loop order, on one thread: a \
                  picture of strokes, a band, a graph and places anywhere, all in \
                  rows; matrices of files as pictures. The figure is the 20th of the paper on sparse convolutions."
            .into(),
        series: series.collect(),
        panels: vec![Panel::Bars {
            title: String::new(),
            y: log("over the best"),
            groups: groups.collect(),
            line: Some(1.0),
        }],
    }
}
