//! The goals of the project, and the ratios of one run that are compared with them.

use super::results::{CaseResults, Results};

pub use super::goal::{Goal, Row};

fn name(case: &CaseResults) -> String {
    let threads =
        if case.threads == 1 { "1 thread".into() } else { format!("{} threads", case.threads) };
    format!("{} {}, {threads}", case.title, case.n)
}

/// A library's time over dastac's.
fn against(case: &CaseResults, systems: &[&str]) -> Option<f64> {
    Some(case.best(systems)?.1.median_ns / case.time("dastac")?.median_ns)
}

/// All goals that there are results for.
pub fn goals(results: &Results) -> Vec<Goal> {
    let mut goals = of_table(results);
    goals.extend(super::sparse::goals::goals(results));
    goals.extend(super::workspaces::goals::goals(results));
    goals
}

/// Those about the kernels of the table.
pub fn of_table(results: &Results) -> Vec<Goal> {
    let mut most = 1;
    let mut cases = results.table_cases();
    cases.retain(|case| case.time("dastac").is_some());
    cases.iter().for_each(|case| most = most.max(case.threads));
    let wide = |case: &&&CaseResults| !case.single;
    let of = |kernels: &[&str]| -> Vec<&CaseResults> {
        let starts = |case: &&&CaseResults| kernels.iter().any(|k| case.kernel.starts_with(k));
        cases.iter().filter(wide).filter(starts).copied().collect()
    };
    let row = |case: &CaseResults, value: f64, wanted: f64| Row { name: name(case), value, wanted };
    let bounded = of(&["thp", "mtt", "spmv"]);
    let mut goals = vec![
        Goal {
            title: "Memory-bound kernels at the bound".into(),
            target: "THP, MTT, SpMV: within 1.1 times the time that reading takes".into(),
            rows: bounded
                .iter()
                .filter_map(|case| {
                    let bound = case.bound(&results.machine)?.0;
                    Some(row(case, bound / case.time("dastac")?.median_ns, 1.0 / 1.1))
                })
                .collect(),
        },
        Goal {
            title: "Never slower than a peer".into(),
            target: "THP, MTT, SpMV: at most 5% slower than the best peer".into(),
            rows: bounded
                .iter()
                .filter_map(|case| Some(row(case, against(case, &super::peers::names())?, 0.95)))
                .collect(),
        },
        Goal {
            title: "TTM as fast as MKL".into(),
            target: "at least the rate of MKL's gemm on the packed contraction".into(),
            rows: of(&["ttm"])
                .iter()
                .filter_map(|case| Some(row(case, against(case, &["mkl"])?, 1.0)))
                .collect(),
        },
        Goal {
            title: "PR2 faster than MKL".into(),
            target: "at least 1.8 times as fast as the better of syrk and gemm".into(),
            rows: of(&["pr2"])
                .iter()
                .filter_map(|case| Some(row(case, against(case, &["mkl"])?, 1.8)))
                .collect(),
        },
        Goal {
            title: "PR3 and PR4 at half the peak".into(),
            target:
                "at least 50% of the rate of multiply-adds, one for each unique element and row"
                    .into(),
            rows: of(&["pr3", "pr4"])
                .iter()
                .filter_map(|case| {
                    let rates = results.machine.rates(case.threads)?;
                    let compute = case.points? / rates.fma64 * 1e9;
                    Some(row(case, compute / case.time("dastac")?.median_ns, 0.5))
                })
                .collect(),
        },
    ];
    let pairs = cases.iter().filter(wide).filter(|case| case.threads == 1);
    goals.push(Goal {
        title: format!("{most} threads"),
        target: format!(
            "at least {:.1} times as fast as one, where one takes more than 1 ms",
            0.9 * most as f64
        ),
        rows: pairs
            .filter_map(|one| {
                let all = cases.iter().filter(wide);
                let mut same = all.filter(|c| c.kernel == one.kernel && c.n == one.n);
                let most = same.find(|case| case.threads == most && most > 1)?;
                let (one, most) = (one.time("dastac")?, most.time("dastac").map(|t| (*most, t))?);
                let (case, time) = most;
                (one.median_ns > 1e6).then(|| Row {
                    name: format!("{} {}", case.title, case.n),
                    value: one.median_ns / time.median_ns,
                    wanted: 0.9 * case.threads as f64,
                })
            })
            .collect(),
    });
    let singles = cases.iter().filter(|case| case.single);
    goals.push(Goal {
        title: "f32 at twice the rate".into(),
        target: "32-bit elements take half the time of 64-bit ones (1.8 counts as reached)".into(),
        rows: singles
            .filter_map(|single| {
                let all = cases.iter().filter(wide);
                let mut same = all.filter(|c| c.kernel == single.kernel && c.n == single.n);
                let double = same.find(|case| case.threads == single.threads)?;
                let ratio = double.time("dastac")?.median_ns / single.time("dastac")?.median_ns;
                Some(row(single, ratio, 1.8))
            })
            .collect(),
    });
    goals.retain(|goal| !goal.rows.is_empty());
    goals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn only_what_was_measured_is_judged() {
        let goals = goals(&sample());
        let titles: Vec<&str> = goals.iter().map(|goal| goal.title.as_str()).collect();
        assert_eq!(titles, ["TTM as fast as MKL"]);
        let row = goals[0].worst().unwrap();
        assert_eq!((row.name.as_str(), row.met()), ("TTM_UT 192, 1 thread", true));
        assert!((row.value - 1.2).abs() < 1e-9);
    }
}
