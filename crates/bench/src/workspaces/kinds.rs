//! Kinds of workspaces, over their capacity and over sparsity, beside what the model of costs says of them.

use dastac_driver::workspaces::machine;
use dastac_driver::workspaces::model::Shape;
use dastac_iterate::Kind;

use super::{CONTAINERS, product};
use crate::Job;
use crate::chart::{Chart, Key, Panel};
use crate::charts::log;
use crate::figures::Scope;
use crate::goals::{Goal, Row};
use crate::patterns::Pattern;
use crate::results::Results;

/// A product of random matrices: its rows, those of the second factor, its columns, and the entries in a row of each.
struct Case {
    rows: i64,
    inner: i64,
    columns: i64,
    each: [i64; 2],
}

const fn case(rows: i64, inner: i64, columns: i64, each: [i64; 2]) -> Case {
    Case { rows, inner, columns, each }
}

const CASES: &[Case] = &[
    case(2_000, 2_000, 1_000, [4, 4]),
    case(2_000, 2_000, 1_000, [30, 30]),
    case(2_000, 2_000, 100_000, [4, 4]),
    case(2_000, 2_000, 100_000, [30, 30]),
    case(20_000, 20_000, 1_000_000, [2, 2]),
    case(2_000, 2_000, 1_000_000, [4, 4]),
    case(2_000, 2_000, 1_000_000, [10, 10]),
    case(2_000, 2_000, 1_000_000, [30, 30]),
    case(200, 2_000, 1_000_000, [100, 100]),
    case(100, 2_000, 10_000_000, [4, 4]),
];

/// Capacities of lists and tables.
const CAPACITIES: [i64; 4] = [64, 512, 4096, 1 << 15];

/// The columns of cases that are compared over sparsity.
const WIDE: i64 = 1_000_000;

/// Choices whose time is so near the best are as good.
const NEAR: f64 = 1.0 / 1.1;

impl Case {
    fn shape(&self) -> Shape {
        let points = (self.rows * self.each[0] * self.each[1]) as f64;
        let (rows, coordinates) = (self.rows as f64, self.columns as f64);
        Shape { rows, coordinates, points, bytes: 8.0, first: None }
    }

    /// The points of a row.
    fn points(&self) -> i64 {
        self.each[0] * self.each[1]
    }

    fn name(&self) -> String {
        format!("{}-{}-{}", self.rows, self.columns, self.points())
    }

    fn kernel(&self, kind: Kind) -> String {
        format!("{CONTAINERS}{}-{}", self.name(), asked(kind).replace(", ", "-"))
    }

    /// Its time in milliseconds with a kind of workspace.
    fn measured(&self, results: &Results, kind: Kind) -> Option<f64> {
        let kernel = self.kernel(kind);
        let mut cases = results.cases.values().filter(|case| case.kernel == kernel);
        Some(cases.find_map(|case| case.time("dastac"))?.median_ns / 1e6)
    }

    /// What the model says.
    fn predicted(&self, kind: Kind) -> f64 {
        self.shape().cost(kind, machine()) / 1e6
    }

    /// The kinds that are measured: the one that the model chooses is one of them.
    fn kinds(&self) -> Vec<Kind> {
        let mut kinds = vec![Kind::Dense, Kind::Growing];
        for capacity in CAPACITIES {
            kinds.extend([Kind::List { capacity }, Kind::Hash { capacity }]);
        }
        let chosen = self.shape().best(true, machine());
        if !kinds.contains(&chosen) {
            kinds.push(chosen);
        }
        kinds
    }
}

/// As `schedule:` asks for it.
fn asked(kind: Kind) -> String {
    match kind {
        Kind::Dense | Kind::Sized(_) => "dense".into(),
        Kind::Growing => "list".into(),
        Kind::List { capacity } => format!("list, {capacity}"),
        Kind::Hash { capacity } => format!("hash, {capacity}"),
        Kind::Bucket { rows } => format!("bucket, {rows}"),
    }
}

/// Every case with every kind, on one thread.
pub fn jobs(scope: &Scope) -> Vec<Job> {
    let mut jobs = Vec::new();
    for case in CASES {
        for kind in case.kinds() {
            let asked = asked(kind);
            let source = format!("{}schedule: C -> workspace({asked})\n", product("csr"));
            let job = scope.program(&case.kernel(kind), case.rows, source, &["dastac"]);
            let part = |each: i64, of: i64| Pattern::Uniform(each as f64 / of as f64);
            let symbols = [("M", case.rows), ("N", case.inner), ("K", case.columns)];
            let [first, second] = case.each;
            jobs.push(Job {
                symbols: symbols.map(|(name, size)| (name.into(), size)).to_vec(),
                inputs: vec![
                    ("A".into(), part(first, case.inner)),
                    ("B".into(), part(second, case.columns)),
                ],
                title: format!("{} points in rows of {}, {asked}", case.points(), case.columns),
                // They are many.
                budget: job.budget / 5.0,
                ..job
            });
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

/// How near each choice of the model is to the best kind.
pub fn choices(results: &Results) -> Vec<Row> {
    let rows = CASES.iter().filter_map(|case| {
        let chosen = case.shape().best(true, machine());
        let time = case.measured(results, chosen)?;
        let all = case.kinds().into_iter().filter_map(|kind| case.measured(results, kind));
        let best = all.fold(f64::INFINITY, f64::min);
        let (points, columns, kind) = (case.points(), case.columns, asked(chosen));
        let name = format!("{points} points in rows of {columns}: {kind}");
        Some(Row { name, value: best / time, wanted: NEAR })
    });
    rows.collect()
}

/// The goal for the choices.
pub fn goal(results: &Results) -> Goal {
    Goal {
        title: "The choice of workspaces".into(),
        target: "the time of the best kind, at most 10% more, in 9 of 10 cases".into(),
        rows: choices(results),
    }
}

/// Times and predictions.
pub fn picture(results: &Results) -> Chart {
    type Kinds = fn(i64) -> Kind;
    let kinds: [(&str, Kinds, &str); 3] = [
        ("list", |capacity| Kind::List { capacity }, "c-packed"),
        ("hash table", |capacity| Kind::Hash { capacity }, "mkl"),
        ("dense", |_| Kind::Dense, "dastac"),
    ];
    let series = kinds.iter().flat_map(|(name, _, class)| {
        let measured = Key { label: (*name).into(), class: (*class).into() };
        let model = Key { label: format!("{name}, model"), class: "bound".into() };
        [measured, model]
    });
    let mut panels = Vec::new();
    for case in CASES {
        let points = kinds.iter().flat_map(|(_, kind, _)| {
            let times = CAPACITIES.iter().filter_map(|capacity| {
                Some((*capacity as f64, case.measured(results, kind(*capacity))?))
            });
            let times: Vec<(f64, f64)> = times.collect();
            let model = times
                .iter()
                .zip(CAPACITIES)
                .map(|((x, _), capacity)| (*x, case.predicted(kind(capacity))));
            let model = model.collect();
            [times, model]
        });
        panels.push(Panel::Lines {
            title: format!(
                "{} points in each of {} rows of {}",
                case.points(),
                case.rows,
                case.columns
            ),
            x: log("capacity"),
            y: log("ms"),
            points: points.collect(),
            names: Vec::new(),
        });
    }
    let middle = CAPACITIES[2];
    let mut wide: Vec<&Case> = CASES.iter().filter(|case| case.columns == WIDE).collect();
    wide.sort_by_key(|case| case.points());
    let points = kinds.iter().flat_map(|(_, kind, _)| {
        // For each point, so that rows are comparable.
        let each =
            |case: &Case, time: f64| (case.points() as f64, time * 1e6 / case.shape().points);
        let known =
            wide.iter().filter_map(|case| Some((*case, case.measured(results, kind(middle))?)));
        let known: Vec<(&Case, f64)> = known.collect();
        let times = known.iter().map(|(case, time)| each(case, *time)).collect();
        let model =
            known.iter().map(|(case, _)| each(case, case.predicted(kind(middle)))).collect();
        [times, model]
    });
    panels.push(Panel::Lines {
        title: format!("over sparsity: rows of {WIDE}, capacity {middle}"),
        x: log("points in a row"),
        y: log("ns for a point"),
        points: points.collect(),
        names: Vec::new(),
    });
    let all = choices(results);
    let good = all.iter().filter(|row| row.value >= row.wanted).count();
    Chart {
        name: String::new(),
        title: "Kinds of workspaces".into(),
        caption: format!(
            "Products of random sparse matrices on one thread, with each kind of workspace, over its capacity, and \
            what the model of costs says. The model's choice is within 10% of the best kind in {good} of {} cases.",
            all.len()
        ),
        series: series.collect(),
        panels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_asked_for_as_programs_do() {
        for kind in CASES.iter().flat_map(Case::kinds) {
            let line = format!("schedule: C -> workspace({})\n", asked(kind));
            dastac_stur::load(&format!("{}{line}", product("csr"))).unwrap();
        }
    }

    #[test]
    fn names_differ() {
        let mut names: Vec<String> = CASES
            .iter()
            .flat_map(|case| case.kinds().into_iter().map(|kind| case.kernel(kind)))
            .collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
