//! The table of all kernels: dastac, its peers, ratios, the machine's bound.

use super::peers::{self, names};
use super::results::{CaseResults, Outcome, Results};

/// A case as a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The kernel's name in the paper.
    pub title: String,
    /// Its size.
    pub n: i64,
    /// Elements of 32 bits.
    pub single: bool,
    /// Threads.
    pub threads: usize,
    /// dastac's time in milliseconds.
    pub dastac: Option<f64>,
    /// Its spread: the median distance from the median, relative.
    pub spread: Option<f64>,
    /// The fastest peer and its time in milliseconds.
    pub best: Option<(String, f64)>,
    /// The bound in milliseconds, and whether reading decides it.
    pub bound: Option<(f64, bool)>,
    /// Each system's time in milliseconds, or what is shown instead.
    pub systems: Vec<(String, Result<f64, String>)>,
}

impl Row {
    /// The best peer's time over dastac's: above 1, dastac is faster.
    pub fn against_peer(&self) -> Option<f64> {
        Some(self.best.as_ref()?.1 / self.dastac?)
    }

    /// The bound over dastac's time: 1 is all that the machine can do.
    pub fn of_bound(&self) -> Option<f64> {
        Some(self.bound?.0 / self.dastac?)
    }
}

/// A case as a row.
pub fn row(results: &Results, case: &CaseResults) -> Row {
    let milliseconds = |ns: f64| ns / 1e6;
    let dastac = case.time("dastac");
    let systems = case.systems.iter().map(|measured| {
        let shown = match &measured.outcome {
            Outcome::Time { time, .. } => Ok(milliseconds(time.median_ns)),
            Outcome::Wrong { error, .. } => Err(format!("differs ({error:.0e})")),
            Outcome::Gap { .. } => Err("-".into()),
        };
        (measured.system.clone(), shown)
    });
    Row {
        title: case.title.clone(),
        n: case.n,
        single: case.single,
        threads: case.threads,
        dastac: dastac.map(|time| milliseconds(time.median_ns)),
        spread: dastac.map(|time| time.mad_ns / time.median_ns),
        best: case
            .best(&names())
            .map(|(name, time)| (name.to_string(), milliseconds(time.median_ns))),
        bound: case.bound(&results.machine).map(|(ns, memory)| (milliseconds(ns), memory)),
        systems: systems.collect(),
    }
}

/// Headings and cells of rows; headings that begin with `>` are of numbers.
pub fn cells(rows: &[Row], systems: &[&str]) -> (Vec<String>, Vec<Vec<String>>) {
    let fixed =
        ["kernel", ">n", "type", ">threads", ">dastac, ms", ">+-", ">bound, ms", ">of bound"];
    let mut headings: Vec<String> = fixed.map(String::from).to_vec();
    headings.extend([">best peer, ms", "", ">best/dastac"].map(String::from));
    let shown: Vec<&str> = systems.iter().copied().filter(|name| *name != "dastac").collect();
    headings.extend(shown.iter().map(|name| format!(">{}", peers::label(name))));
    let cells = rows.iter().map(|row| {
        let number = |value: Option<f64>| value.map_or_else(|| "-".into(), milliseconds);
        let best = row.best.as_ref();
        let mut cells = vec![
            row.title.clone(),
            row.n.to_string(),
            if row.single { "f32" } else { "f64" }.to_string(),
            row.threads.to_string(),
            number(row.dastac),
            row.spread.map_or_else(|| "-".into(), |spread| format!("{:.0}%", spread * 100.0)),
            number(row.bound.map(|(ms, _)| ms)),
            row.of_bound().map_or_else(|| "-".into(), |of| format!("{:.0}%", of * 100.0)),
            number(best.map(|(_, ms)| *ms)),
            best.map_or_else(String::new, |(name, _)| peers::label(name).to_string()),
            row.against_peer().map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}")),
        ];
        cells.extend(shown.iter().map(|name| {
            match row.systems.iter().find(|(system, _)| system == name) {
                Some((_, Ok(ms))) => milliseconds(*ms),
                Some((_, Err(text))) => text.clone(),
                None => String::new(),
            }
        }));
        cells
    });
    (headings, cells.collect())
}

/// Headings and cells of rows that are times alone: of dastac, then of others with what they are over it.
pub fn times(rows: &[Row], systems: &[&str]) -> (Vec<String>, Vec<Vec<String>>) {
    let shown: Vec<&str> = systems.iter().copied().filter(|name| *name != "dastac").collect();
    let mut headings = vec!["kernel".to_string(), ">threads".into(), ">dastac, ms".into()];
    headings.extend(shown.iter().map(|name| format!(">{}", peers::label(name))));
    let cells = rows.iter().map(|row| {
        let own = row.dastac.map_or_else(|| "-".into(), milliseconds);
        let mut cells = vec![row.title.clone(), row.threads.to_string(), own];
        cells.extend(shown.iter().map(|name| {
            match row.systems.iter().find(|(system, _)| system == name) {
                Some((_, Ok(ms))) => match row.dastac {
                    Some(own) => format!("{} ({:.2})", milliseconds(*ms), ms / own),
                    None => milliseconds(*ms),
                },
                Some((_, Err(text))) => text.clone(),
                None => String::new(),
            }
        }));
        cells
    });
    (headings, cells.collect())
}

/// Milliseconds with three digits.
pub fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms >= 99.95 => format!("{ms:.0}"),
        ms if ms >= 9.995 => format!("{ms:.1}"),
        ms if ms >= 0.995 => format!("{ms:.2}"),
        ms => format!("{ms:.3}"),
    }
}

/// Why cells are empty, each reason once with the systems and kernels that it is about.
pub fn gaps<'a>(cases: impl IntoIterator<Item = &'a CaseResults>) -> Vec<String> {
    let mut reasons: Vec<(String, String, Vec<String>)> = Vec::new();
    let mut all = 0;
    for case in cases {
        all += 1;
        for measured in &case.systems {
            let reason = match &measured.outcome {
                Outcome::Gap { reason } => reason.clone(),
                Outcome::Wrong { error, .. } => {
                    format!(
                        "its results differ from dastac's by {error:.1e}: the time does not count"
                    )
                }
                Outcome::Time { .. } => continue,
            };
            let label = peers::label(&measured.system).to_string();
            let place = format!("{} {}", case.title, case.n);
            match reasons.iter_mut().find(|(l, r, _)| *l == label && *r == reason) {
                Some((_, _, places)) if !places.contains(&place) => places.push(place),
                Some(_) => {}
                None => reasons.push((label, reason, vec![place])),
            }
        }
    }
    let lines = reasons.into_iter().map(|(label, reason, places)| {
        let of = match places.len() {
            many if many > 6 || all == 0 => format!("{many} of the kernels and sizes"),
            _ => places.join(", "),
        };
        format!("{label}, {of}: {reason}")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;
    use expect_test::expect;

    #[test]
    fn a_row_has_ratios_and_says_what_is_missing() {
        let results = sample();
        let rows: Vec<Row> = results.cases.values().map(|case| row(&results, case)).collect();
        let (headings, cells) =
            cells(&rows, &["dastac", "c-packed", "mkl", "openblas", "numpy", "taco"]);
        let lines = [headings].into_iter().chain(cells).map(|cells| cells.join(" | ") + "\n");
        expect![[r#"
            kernel | >n | type | >threads | >dastac, ms | >+- | >bound, ms | >of bound | >best peer, ms |  | >best/dastac | >C loops, packed | >MKL | >OpenBLAS | >NumPy | >TACO
            TTM_UT | 192 | f64 | 1 | 20.0 | 2% | 16.0 | 80% | 24.0 | MKL | 1.20 | 120 | 24.0 | - | differs (5e-1) | 
            TTM_UT | 256 | f64 | 1 | 50.0 | 2% | 40.0 | 80% | 60.0 | MKL | 1.20 | 300 | 60.0 | - | differs (5e-1) | 
        "#]].assert_eq(&lines.collect::<String>());
        expect![[r#"
            OpenBLAS, TTM_UT 192, TTM_UT 256: not <installed>
            NumPy, TTM_UT 192, TTM_UT 256: its results differ from dastac's by 5.0e-1: the time does not count"#]].assert_eq(&gaps(results.cases.values()).join("\n"));
    }

    #[test]
    fn milliseconds_have_three_digits() {
        let texts = [0.00123, 0.9949, 1.0, 9.994, 12.34, 99.96, 1234.5].map(milliseconds);
        assert_eq!(texts, ["0.001", "0.995", "1.00", "9.99", "12.3", "100", "1234"]);
    }
}
