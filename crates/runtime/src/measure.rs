//! Compiled programs of a folder, run, compared with expected results and measured: on a machine with a device but
//! without the compiler.
//!
//! The folder has a file `cases.json`, for each case `NAME.cuda.dastac` and `NAME.grid.dastac`, and `NAME.expected`,
//! which [`expect`] writes: the values of the results as 64-bit floats, lowest byte first, one tensor after the other.
//! Inputs are drawn at random, the same for all targets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::instance::Instance;
use crate::package::Package;
use crate::program::{Role, TensorId};

/// The file with the cases.
pub const CASES: &str = "cases.json";
/// The seed of the inputs.
const SEED: u64 = 1;
/// Numbers that differ by less, relative to their size, are the same.
const TOLERANCE: f64 = 1e-6;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The name of its files.
    pub name: String,
    /// The values of the symbols.
    pub symbols: BTreeMap<String, i64>,
    /// Part of the elements that sparse inputs have.
    #[serde(default)]
    pub density: Option<f64>,
}

/// What was found out about a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The case.
    pub name: String,
    /// Seconds of each run, transfers included.
    pub seconds: Vec<f64>,
    /// Numbers that were compared.
    pub compared: usize,
    /// How many are wrong.
    pub wrong: usize,
    /// Why there is nothing to compare.
    pub error: Option<String>,
}

/// Why nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A file that cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A list of cases that is none.
    #[error("{}: {source}", .path.display())]
    Cases {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A program that cannot be loaded or run.
    #[error("{name}: {source}")]
    Program {
        /// The case.
        name: String,
        /// Why.
        source: Error,
    },
}

type Result<T> = std::result::Result<T, MeasureError>;

/// The cases of a folder.
///
/// # Errors
/// No list of cases.
pub fn cases(folder: &Path) -> Result<Vec<Case>> {
    let path = folder.join(CASES);
    let text = read(&path)?;
    serde_json::from_slice(&text).map_err(|source| MeasureError::Cases { path, source })
}

/// Writes what is expected of all cases: the results of a target that needs no device.
///
/// # Errors
/// Files that are not there; programs that cannot be run.
pub fn expect(folder: &Path, target: &str) -> Result<()> {
    for case in cases(folder)? {
        let (values, _) = run(folder, &case, target, 1)?;
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let path = folder.join(format!("{}.expected", case.name));
        std::fs::write(&path, bytes).map_err(|source| MeasureError::File { path, source })?;
    }
    Ok(())
}

/// Runs all cases for a target, each so many times, and compares their results with those that are expected.
///
/// # Errors
/// Files that are not there. A program that cannot be run is part of what is found out.
pub fn measure(folder: &Path, target: &str, repeats: usize) -> Result<Vec<Measured>> {
    let mut all = Vec::new();
    for case in cases(folder)? {
        let expected = read(&folder.join(format!("{}.expected", case.name)))?;
        let expected = expected.chunks_exact(8).map(|bytes| {
            let bytes: [u8; 8] = bytes.try_into().unwrap_or_default();
            f64::from_le_bytes(bytes)
        });
        let mut measured = Measured {
            name: case.name.clone(),
            seconds: Vec::new(),
            compared: 0,
            wrong: 0,
            error: None,
        };
        match run(folder, &case, target, repeats) {
            Ok((values, times)) => {
                let expected: Vec<f64> = expected.collect();
                measured.seconds = times.iter().map(Duration::as_secs_f64).collect();
                measured.compared = expected.len();
                let missing = expected.len().abs_diff(values.len());
                let pairs = expected.iter().zip(&values);
                measured.wrong = missing + pairs.filter(|(x, y)| !same(**x, **y)).count();
            }
            Err(MeasureError::Program { source, .. }) => measured.error = Some(source.to_string()),
            Err(error) => return Err(error),
        }
        all.push(measured);
    }
    Ok(all)
}

/// Whether two numbers are the same but for rounding.
fn same(expected: f64, found: f64) -> bool {
    let close = (expected - found).abs() <= TOLERANCE * expected.abs().max(1.0);
    close || expected == found || expected.is_nan() && found.is_nan()
}

/// The values of the results of a case, and how long each run took.
fn run(
    folder: &Path,
    case: &Case,
    target: &str,
    repeats: usize,
) -> Result<(Vec<f64>, Vec<Duration>)> {
    let bytes = read(&folder.join(format!("{}.{target}.dastac", case.name)))?;
    let failed = |source| MeasureError::Program { name: case.name.clone(), source };
    let executable = Package::from_bytes(&bytes).and_then(Package::load_kernel).map_err(failed)?;
    let mut instance = Instance::new(executable, &case.symbols, 0).map_err(failed)?;
    if let Some(density) = case.density {
        instance.set_density(density);
    }
    instance.draw_inputs(SEED, |_| false).map_err(failed)?;
    let mut times = Vec::new();
    for _ in 0..repeats.max(1) {
        times.push(instance.execute().map_err(failed)?);
    }
    let results = (0..instance.facts().len())
        .map(TensorId)
        .filter(|tensor| instance.facts()[tensor.0].role != Role::Input);
    Ok((results.flat_map(|tensor| instance.values(tensor)).collect(), times))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| MeasureError::File { path: path.to_owned(), source })
}
