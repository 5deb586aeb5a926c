//! Compiled programs of a folder, run, compared with what a processor computes and measured: on a machine with a device
//! but without the compiler.
//!
//! The folder has a file `cases.json`, and for each program `NAME.cuda.dastac`, `NAME.grid.dastac` and
//! `NAME.cpu.dastac`, of which the last one computes what is expected, on the processor of the machine that measures.
//! Inputs are drawn at random, the same for all targets, or read from files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dastac_elements::Element;
use dastac_formats::io::{self, ReadOptions};
use serde::{Deserialize, Serialize};

use crate::bound::build;
use crate::error::Error;
use crate::instance::Instance;
use crate::package::Package;
use crate::program::{Role, TensorId};

/// The file with the cases.
pub const CASES: &str = "cases.json";
/// The target that computes what is expected.
pub const EXPECTED: &str = "cpu";
/// The seed of the inputs.
const SEED: u64 = 1;

/// What is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The name of its program's files.
    pub program: String,
    /// The values of the symbols. Where there are `others`, names that the program lacks mean nothing.
    #[serde(default)]
    pub symbols: BTreeMap<String, i64>,
    /// Values of symbols that are not named, in turn.
    #[serde(default)]
    pub others: Vec<i64>,
    /// Part of the elements that sparse inputs have.
    #[serde(default)]
    pub density: Option<f64>,
    /// Files of the folder for inputs.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// How often it is run, if not once.
    #[serde(default)]
    pub repeat: Option<usize>,
    /// What peers compute in its place: a name that means something to them.
    #[serde(default)]
    pub peer: Option<String>,
}

/// What was found out about a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The case.
    pub name: String,
    /// Seconds of each run, transfers included.
    pub seconds: Vec<f64>,
    /// Seconds of its kernels, as the device measures them; nothing without a device.
    pub kernels: Vec<f64>,
    /// Seconds of copies to the device and from it, of the last run.
    pub copies: [f64; 2],
    /// Kernels that the last run started.
    pub launches: usize,
    /// Bytes of all inputs and results, packed.
    pub bytes: f64,
    /// Seconds that the processor took.
    pub processor: f64,
    /// Numbers that were compared.
    pub compared: usize,
    /// How many are wrong.
    pub wrong: usize,
    /// The largest difference, relative to the largest number of its tensor.
    pub difference: f64,
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
    /// An input that cannot be read.
    #[error("{name}: {what}")]
    Input {
        /// The case.
        name: String,
        /// Why.
        what: String,
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

/// Runs a case for a target and compares its results with those of the processor. What goes wrong is part of what is
/// found out.
pub fn measure(folder: &Path, case: &Case, target: &str) -> Measured {
    let mut measured = Measured { name: case.name.clone(), ..Measured::default() };
    if let Err(error) = compared(folder, case, target, &mut measured) {
        measured.error = Some(error.to_string());
    }
    measured
}

/// Values of a tensor, and the type of its elements.
type Values = (Element, Vec<f64>);

fn compared(folder: &Path, case: &Case, target: &str, measured: &mut Measured) -> Result<()> {
    let mut expected = measured.clone();
    let right = run(folder, &Case { repeat: None, ..case.clone() }, EXPECTED, &mut expected)?;
    measured.processor = expected.seconds.first().copied().unwrap_or(0.0);
    let found = run(folder, case, target, measured)?;
    for ((element, right), (_, found)) in right.iter().zip(&found) {
        compare(*element, right, found, measured);
    }
    measured.wrong += right.len().abs_diff(found.len());
    Ok(())
}

/// Compares the values of a tensor.
fn compare(element: Element, right: &[f64], found: &[f64], measured: &mut Measured) {
    measured.compared += right.len();
    measured.wrong += right.len().abs_diff(found.len());
    let finite = right.iter().map(|value| value.abs()).filter(|value| value.is_finite());
    let largest = finite.fold(f64::MIN_POSITIVE, f64::max);
    let tolerance = match element {
        Element::F64 | Element::C128 => 1e-9,
        one if one.is_integer() => 0.0,
        _ => 1e-3,
    };
    for (right, found) in right.iter().zip(found) {
        if right == found || right.is_nan() && found.is_nan() {
            continue;
        }
        let difference = (right - found).abs() / largest;
        // A difference that is no number is wrong, too.
        if difference.is_nan() || difference > tolerance {
            measured.wrong += 1;
        }
        measured.difference = measured.difference.max(difference);
    }
}

/// The values of the results of a case; how long each run took goes to `measured`.
fn run(folder: &Path, case: &Case, target: &str, measured: &mut Measured) -> Result<Vec<Values>> {
    let bytes = read(&folder.join(format!("{}.{target}.dastac", case.program)))?;
    let failed = |source| MeasureError::Program { name: case.name.clone(), source };
    let executable = Package::from_bytes(&bytes).and_then(Package::load_kernel).map_err(failed)?;
    let mut symbols = case.symbols.clone();
    let names = &executable.program().sizes.symbols;
    if !case.others.is_empty() {
        symbols.retain(|name, _| names.contains(name));
    }
    for (name, value) in names.iter().zip(case.others.iter().cycle()) {
        symbols.entry(name.clone()).or_insert(*value);
    }
    let mut instance = Instance::new(executable, &symbols, 0).map_err(failed)?;
    if let Some(density) = case.density {
        instance.set_density(density);
    }
    let mut given = Vec::new();
    for (name, file) in &case.files {
        let tensor = instance.facts().iter().position(|fact| fact.name == *name);
        let wrong = |what: String| MeasureError::Input { name: case.name.clone(), what };
        let tensor = tensor.ok_or_else(|| wrong(format!("there is no `{name}`")))?;
        let contents = io::read(&folder.join(file), &ReadOptions::default());
        let contents = contents.map_err(|error| wrong(error.to_string()))?;
        let format = &instance.executable().program().sizes.tensors[tensor].format;
        let format = format.clone().ok_or_else(|| wrong(format!("`{name}` has no format")))?;
        let stored = contents.tensor(&format, build());
        let stored = stored.map_err(|error| wrong(error.to_string()))?;
        instance.bind(TensorId(tensor), stored).map_err(failed)?;
        given.push(TensorId(tensor));
    }
    instance.draw_inputs(SEED, |tensor| given.contains(&tensor)).map_err(failed)?;
    for _ in 0..case.repeat.unwrap_or(1).max(1) {
        instance.executable().kernel().take_times();
        let taken = instance.execute().map_err(failed)?;
        measured.seconds.push(taken.as_secs_f64());
        if let Some(times) = instance.executable().kernel().take_times() {
            measured.kernels.push(times.kernels.as_secs_f64());
            measured.copies = [times.to_device, times.to_host].map(|one| one.as_secs_f64());
            measured.launches = times.launches;
        }
    }
    measured.bytes = instance.facts().iter().map(|fact| fact.packed_bytes as f64).sum();
    let results = (0..instance.facts().len())
        .map(TensorId)
        .filter(|tensor| instance.facts()[tensor.0].role != Role::Input);
    Ok(results
        .map(|tensor| (instance.facts()[tensor.0].element, instance.values(tensor)))
        .collect())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| MeasureError::File { path: path.to_owned(), source })
}
