//! What the folder of `./x gpu` measured on a machine with a GPU, as tables.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;

use crate::summary::write_table;

/// Where a document has the table.
pub const MARKERS: [&str; 2] = ["<!-- bench gpu: begin -->", "<!-- bench gpu: end -->"];

/// A file of measurements.
#[derive(Clone, Debug, Deserialize)]
pub struct Measurements {
    /// The name of the device.
    pub device: String,
    /// The version of its driver.
    pub driver: String,
    /// The day, as `2026-11-26`.
    pub date: String,
    /// Versions of the libraries beside dastac.
    pub libraries: BTreeMap<String, String>,
    /// What was measured.
    pub cases: Vec<Case>,
    /// Whether small programs are right.
    pub examples: Examples,
}

/// Programs that were run at small sizes and compared with the processor.
#[derive(Clone, Debug, Deserialize)]
pub struct Examples {
    /// How many runs there were.
    pub count: usize,
    /// Those with wrong numbers.
    pub wrong: Vec<String>,
    /// Those that ended in an error, with its message.
    pub failed: BTreeMap<String, String>,
}

/// A program at a size.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// The program and its sizes.
    pub name: String,
    /// Seconds of the kernels of each run.
    pub kernels: Vec<f64>,
    /// Bytes of all arguments, packed.
    pub bytes: f64,
    /// Numbers that are wrong.
    pub wrong: usize,
    /// Why there are none.
    pub error: Option<String>,
    /// Seconds of libraries' calls.
    #[serde(default)]
    pub peers: BTreeMap<String, f64>,
    /// Multiply-adds of the dense computation.
    pub dense: Option<f64>,
    /// The part of them that dastac executes.
    pub part: Option<f64>,
    /// The group whose cases are one row.
    #[serde(default)]
    pub group: Option<String>,
}

impl Case {
    /// The least time of the kernels.
    fn seconds(&self) -> Option<f64> {
        self.kernels.iter().copied().reduce(f64::min).filter(|seconds| *seconds > 0.0)
    }

    /// The fastest call that computes with the same numbers: not one that rounds them.
    fn peer(&self) -> Option<(&str, f64)> {
        let exact = self.peers.iter().filter(|(name, _)| !name.contains("tf32"));
        let best = exact.min_by(|left, right| left.1.total_cmp(right.1));
        best.map(|(name, seconds)| (name.as_str(), *seconds))
    }

    /// How many times as long the library takes.
    fn faster(&self) -> Option<f64> {
        self.seconds().zip(self.peer()).map(|(own, (_, other))| other / own)
    }

    /// Whether there is something to compare.
    fn is_right(&self) -> bool {
        self.error.is_none() && self.wrong == 0
    }
}

/// Why there are no measurements in a file.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// It holds something else.
    #[error("it holds no measurements of `./x gpu`: {0}")]
    Parse(#[from] serde_json::Error),
}

/// The measurements of a file.
///
/// # Errors
/// A file that cannot be read, or holds something else.
pub fn read(path: &Path) -> Result<Measurements, GpuError> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// A table: headings, of which those of numbers begin with `>`, and rows.
pub fn cells(measured: &Measurements) -> (Vec<String>, Vec<Vec<String>>) {
    let headings =
        ["program", ">ms", ">GB/s", ">TFLOP/s", "library", ">its ms", ">faster", ">rate"];
    let row = |case: &Case| {
        let number = |value: Option<f64>, digits: usize| {
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
        };
        let (own, peer) = (case.seconds(), case.peer());
        let useful = case.dense.zip(case.part).map(|(dense, part)| 2.0 * dense * part);
        let faster = case.faster();
        vec![
            case.name.clone(),
            match (&case.error, case.wrong) {
                (Some(_), _) => "failed".to_owned(),
                (None, 1..) => "wrong".to_owned(),
                _ => number(own.map(|own| own * 1e3), 3),
            },
            number(own.map(|own| case.bytes / own / 1e9), 0),
            number(own.zip(useful).map(|(own, useful)| useful / own / 1e12), 1),
            peer.map_or("-", |(name, _)| name).to_owned(),
            number(peer.map(|(_, seconds)| seconds * 1e3), 3),
            number(faster, 2),
            number(faster.zip(case.part).map(|(faster, part)| faster * part), 2),
        ]
    };
    let alone = measured.cases.iter().filter(|case| case.group.is_none()).map(row);
    let rows = alone.chain(groups(measured).into_iter().map(|(name, cases)| {
        let found: Vec<f64> = cases.iter().filter_map(|case| case.faster()).collect();
        let mean = (found.iter().map(|one| one.ln()).sum::<f64>() / found.len() as f64).exp();
        let library = cases.iter().find_map(|case| case.peer()).map_or("-", |(name, _)| name);
        let mut cells = vec!["-".to_owned(); headings.len()];
        cells[0] = format!("{name}: mean of {}", found.len());
        cells[4] = library.to_owned();
        if mean.is_finite() {
            cells[6] = format!("{mean:.2}");
        }
        cells
    }));
    (headings.map(str::to_owned).to_vec(), rows.collect())
}

/// The cases of each group.
fn groups(measured: &Measurements) -> BTreeMap<&str, Vec<&Case>> {
    let mut groups: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in &measured.cases {
        if let Some(group) = &case.group {
            groups.entry(group).or_default().push(case);
        }
    }
    groups
}

/// What stands above and below the table.
pub fn notes(measured: &Measurements) -> [String; 2] {
    let mut above = format!("{}, driver {}, {}", measured.device, measured.driver, measured.date);
    for (name, version) in &measured.libraries {
        let _ = write!(above, ", {name} {version}");
    }
    let Examples { count, wrong, failed } = &measured.examples;
    let mut below = format!("{count} runs of examples at small sizes: {} wrong", wrong.len());
    let _ = write!(below, ", {} failed", failed.len());
    for (name, error) in failed {
        let _ = write!(below, "\n  {name}: {error}");
    }
    for (name, cases) in groups(measured) {
        let wrong: Vec<&str> =
            cases.iter().filter(|case| !case.is_right()).map(|case| case.name.as_str()).collect();
        let mut found: Vec<(f64, &str)> =
            cases.iter().filter_map(|case| Some((case.faster()?, case.name.as_str()))).collect();
        found.sort_by(|left, right| left.0.total_cmp(&right.0));
        let _ = write!(below, ".\n{name}: {} files, wrong or failed {}", cases.len(), wrong.len());
        for name in wrong {
            let _ = write!(below, " ({name})");
        }
        let slower = found.iter().filter(|(faster, _)| *faster < 1.0).count();
        let _ = write!(below, ", slower than the library on {slower}");
        if let Some((faster, name)) = found.first() {
            let short = name.rsplit('/').next().unwrap_or(name);
            let _ = write!(below, ",\n  {faster:.2} of its speed on `{short}`");
        }
    }
    [above, below]
}

/// The table for a document.
pub fn markdown(measured: &Measurements) -> String {
    let (headings, rows) = cells(measured);
    let [above, below] = notes(measured);
    let mut text = format!("{above}.\n\n");
    write_table(&mut text, &headings, &rows);
    text + &format!("\n{below}.\n")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn measurements_become_a_table() {
        let text = r#"{"device": "D", "driver": "5", "date": "2026-01-02", "libraries": {"torch": "2"},
            "cases": [
                {"name": "ttm/N=4", "kernels": [0.003, 0.002], "bytes": 4e9, "wrong": 0, "error": null,
                 "peers": {"cuBLAS": 0.003, "cuBLAS, tf32": 0.001}, "dense": 1e12, "part": 0.5},
                {"name": "bad", "kernels": [0.001], "bytes": 8, "wrong": 1, "error": null},
                {"name": "v/a", "kernels": [0.002], "bytes": 8, "wrong": 0, "error": null, "group": "v, files",
                 "peers": {"cuSPARSE": 0.001}},
                {"name": "v/b", "kernels": [0.001], "bytes": 8, "wrong": 0, "error": null, "group": "v, files",
                 "peers": {"cuSPARSE": 0.008}}],
            "examples": {"count": 2, "wrong": [], "failed": {"x:3": "no memory"}}}"#;
        let measured: Measurements = serde_json::from_str(text).unwrap();
        expect![[r#"
            D, driver 5, 2026-01-02, torch 2.

            | program | ms | GB/s | TFLOP/s | library | its ms | faster | rate |
            |---|--:|--:|--:|---|--:|--:|--:|
            | ttm/N=4 | 2.000 | 2000 | 500.0 | cuBLAS | 3.000 | 1.50 | 0.75 |
            | bad | wrong | 0 | - | - | - | - | - |
            | v, files: mean of 2 | - | - | - | cuSPARSE | - | 2.00 | - |

            2 runs of examples at small sizes: 0 wrong, 1 failed
              x:3: no memory.
            v, files: 2 files, wrong or failed 0, slower than the library on 1,
              0.50 of its speed on `a`.
        "#]]
        .assert_eq(&markdown(&measured));
    }
}
