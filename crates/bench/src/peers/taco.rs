//! TACO: the C that its binary generates for the formats of the paper's Table 2, compiled and run here.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bindings::c::Compiler;
use crate::bindings::taco::{Input, Level, TacoKernel};
use dastac_elements::Storage;
use dastac_formats::storage::Indices;
use dastac_formats::{Kind, Tensor};
use dastac_runtime::Role;
use dastac_stur::program::TensorId;

use super::request::{Ready, Request};
use super::variant::MOST;
use crate::Error;
use crate::system::System;
use dastac_driver::run::Runner;

/// What TACO is told about a kernel: expression, and formats of the result and the inputs.
struct Formats {
    kernel: &'static str,
    expression: &'static str,
    formats: &'static [&'static str],
}

const fn of(
    kernel: &'static str,
    expression: &'static str,
    formats: &'static [&'static str],
) -> Formats {
    Formats { kernel, expression, formats }
}

const TTM: &str = "A(i,j,k)=B(i,j,l)*C(k,l)";
const THP: &str = "A(i,j,k)=B(i,j,k)*C(i,j,k)";
const MTT: &str = "A(i,j)=B(i,k,l)*C(k,j)*D(l,j)";
const SPMV: &str = "A(i)=B(i,j)*C(j)";
const SPMM: &str = "A(i,k)=B(i,j)*C(j,k)";

/// The paper's Table 2, but for the results of MTTKRP: with a compressed second level, TACO appends an element for each
/// product instead of summing them.
const TABLE: &[Formats] = &[
    of("ttm_dp", TTM, &["dsd", "dsd", "dd"]),
    of("ttm_j", TTM, &["dsd", "dsd", "dd"]),
    of("ttm_ut", TTM, &["dsd", "dsd", "dd"]),
    of("thp_dp", THP, &["dsd", "dsd", "ddd"]),
    of("thp_i", THP, &["sdd", "sdd", "ddd"]),
    of("thp_j", THP, &["dsd", "dsd", "ddd"]),
    of("mtt_d", MTT, &["dd", "dss", "dd", "ds"]),
    of("mtt_jut", MTT, &["dd", "dsd", "dd", "ds"]),
    of("mtt_j", MTT, &["dd", "ddd", "dd", "ds"]),
    of("spmv_l", SPMV, &["d", "ds", "d"]),
    of("spmv_ut", SPMV, &["d", "ds", "d"]),
    of("spmv_d", SPMV, &["d", "ds", "d"]),
    of("spmv", SPMV, &["d", "ds", "d"]),
    of("spmm", SPMM, &["dd", "ds", "dd"]),
];

pub(super) fn system(Request { job, shared, .. }: Request<'_>) -> Ready {
    let binary = job
        .places
        .taco
        .as_ref()
        .ok_or("not installed: build it, and name its binary with `--taco PATH`")?;
    // The name of a kernel may be followed by a hyphen and the name of the matrix.
    let kernel = job.kernel.split('-').next().unwrap_or_default();
    let formats = TABLE.iter().find(|formats| formats.kernel == kernel);
    let formats = formats.ok_or("it has no format for what is symmetric")?;
    let parallel = job.threads > 1;
    if parallel && ![SPMV, SPMM].contains(&formats.expression) {
        return Err("it does not parallelise this".into());
    }
    if job.single {
        return Err("it is measured with 64-bit elements only".into());
    }
    let compiler = Compiler::find().ok_or("no C compiler was found: install clang-22")?;
    let names = ["A", "B", "C", "D"];
    let mut command = Command::new(binary);
    command.arg(formats.expression);
    for (name, format) in names.iter().zip(formats.formats) {
        command.arg(format!("-f={name}:{format}"));
    }
    if parallel {
        command.arg("-s=parallelize(i,CPUThread,NoRaces)");
    }
    let output = command
        .args(["-print-kernels", "-print-nocolor"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start `{}`: {error}", binary.display()))?;
    if !output.status.success() {
        return Err(format!("it failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let facts = shared.facts().to_vec();
    let find = |name: &str| facts.iter().position(|fact| fact.name == name).map(TensorId);
    let symbol = |name: &str| {
        let value = job.symbols.iter().find(|(symbol, _)| symbol == name).map(|(_, value)| *value);
        value.and_then(|value| i32::try_from(value).ok()).unwrap_or(0)
    };
    let mut inputs = Vec::new();
    for (name, format) in names.iter().zip(formats.formats).skip(1) {
        let id = find(name).ok_or("a tensor is missing")?;
        let fact = &facts[id.0];
        if shared.bound(id).is_some() {
            inputs.push(parts(shared, id)?);
            continue;
        }
        let dimensions = extents(shared, id)?;
        let levels = levels(&job.kernel, name, format, &dimensions, &symbol);
        let whole = !format.contains('s');
        if whole && fact.dense_bytes > MOST {
            let bytes = dastac_driver::human(fact.dense_bytes);
            return Err(format!("its dense `{name}` takes {bytes}"));
        }
        let values = match whole {
            true => shared.unpacked(id).map_err(|error| error.to_string())?.to_f64(),
            false => shared.packed(id).to_f64(),
        };
        inputs.push((dimensions, levels, values));
    }
    let result = find("A").filter(|id| facts[id.0].role != Role::Input);
    let result = result.ok_or("a tensor is missing")?;
    let dimensions = extents(shared, result)?;
    let compressed: Vec<bool> = formats.formats[0].chars().map(|level| level == 's').collect();
    let scratch = job.places.scratch.clone();
    let name = format!("{}-taco", job.kernel);
    let kernel = Owned::new(inputs, |inputs| {
        let place = (scratch.as_path(), name.as_str());
        TacoKernel::new(&compiler, &text, place, parallel, (dimensions, &compressed), inputs)
            .map_err(|error| error.to_string())
    })?;
    if parallel {
        dastac_runtime::openmp::set_threads(job.threads).map_err(|error| error.to_string())?;
    }
    let detail = format!("{} {}", formats.expression, formats.formats.join(" "));
    let whole = !compressed.contains(&true);
    Ok(Box::new(Taco { name: "taco", detail, result, whole, kernel }))
}

/// A text of TACO's for inputs in the formats that dastac has them in, and a dense result; what is not in a format is
/// whole.
pub(super) fn compiled(
    shared: &mut Runner,
    (compiler, text, place): (&Compiler, &str, (&Path, &str)),
    (result, inputs): (TensorId, &[TensorId]),
    (name, detail): (&'static str, String),
) -> Result<Box<dyn System>, String> {
    let dimensions = extents(shared, result)?;
    let dense = vec![false; dimensions.len()];
    let inputs = inputs.iter().map(|id| parts(shared, *id)).collect::<Result<_, _>>()?;
    let kernel = Owned::new(inputs, |inputs| {
        TacoKernel::new(compiler, text, place, false, (dimensions, &dense), inputs)
            .map_err(|error| error.to_string())
    })?;
    Ok(Box::new(Taco { name, detail, result, whole: true, kernel }))
}

fn extents(shared: &Runner, id: TensorId) -> Result<Vec<i32>, String> {
    let extents = shared.facts()[id.0].shape.iter().map(|extent| i32::try_from(*extent));
    extents.collect::<Result<_, _>>().map_err(|_| "its extents do not fit 32 bits".into())
}

/// An input in its format, or whole.
fn parts(shared: &mut Runner, id: TensorId) -> Result<Parts, String> {
    let dimensions = extents(shared, id)?;
    if let Some(bound) = shared.bound(id) {
        let (levels, values) = stored(bound).ok_or("its arrays do not fit 32 bits")?;
        return Ok((dimensions, levels, values));
    }
    let values = shared.unpacked(id).map_err(|error| error.to_string())?.to_f64();
    Ok((dimensions.clone(), vec![Level::Dense; dimensions.len()], values))
}

/// The levels and values of a dynamic tensor, whose levels are TACO's.
fn stored(tensor: &Tensor) -> Option<(Vec<Level>, Vec<f64>)> {
    let narrow = |array: &Indices| -> Option<Vec<i32>> {
        array.iter().map(|at| i32::try_from(at).ok()).collect()
    };
    let levels = tensor.levels().iter().map(|level| match level.kind() {
        kind if kind == Kind::DENSE => Some(Level::Dense),
        kind if kind == Kind::COMPRESSED => Some(Level::Compressed {
            positions: narrow(level.positions()?)?,
            coordinates: narrow(level.coordinates()?)?,
        }),
        _ => None,
    });
    let values = tensor.values().as_slice::<f64>()?.to_vec();
    Some((levels.collect::<Option<_>>()?, values))
}

/// The levels of an input: which coordinates there are follows from the kernel's structure.
fn levels(
    kernel: &str,
    tensor: &str,
    format: &str,
    extents: &[i32],
    symbol: &dyn Fn(&str) -> i32,
) -> Vec<Level> {
    let (rows, columns) = (extents[0], extents.get(1).copied().unwrap_or(1));
    // The coordinates below coordinate `i` of the level before.
    let below = |i: i32| -> std::ops::Range<i32> {
        match (kernel, tensor) {
            ("ttm_ut" | "spmv_ut", _) => i..columns,
            ("mtt_jut", "B") => i + 1..columns,
            ("spmv_l", _) if i == 0 => 0..columns,
            ("spmv_l", _) => i - 1..i,
            ("ttm_j" | "thp_j", _) | ("mtt_j" | "mtt_jut", "D") => symbol("J")..symbol("J") + 1,
            _ => i..(i + 1).min(columns),
        }
    };
    let mut levels = Vec::new();
    for (at, kind) in format.chars().enumerate() {
        levels.push(match (kind, at) {
            ('s', 0) => {
                let only = symbol("I");
                Level::Compressed { positions: vec![0, 1], coordinates: vec![only] }
            }
            ('s', 1) => {
                let (mut positions, mut coordinates) = (vec![0], Vec::new());
                for i in 0..rows {
                    coordinates.extend(below(i));
                    positions.push(coordinates.len() as i32);
                }
                Level::Compressed { positions, coordinates }
            }
            // Below the one coordinate of each row, the same again.
            ('s', _) => Level::Compressed {
                positions: (0..=rows.min(columns)).collect(),
                coordinates: (0..rows.min(columns)).collect(),
            },
            _ => Level::Dense,
        });
    }
    levels
}

/// What inputs are made of: extents, levels, values.
type Parts = (Vec<i32>, Vec<Level>, Vec<f64>);

/// A kernel whose inputs live as long as this process, which measures one job.
struct Owned(TacoKernel<'static>);

impl Owned {
    fn new(
        parts: Vec<Parts>,
        make: impl FnOnce(Vec<Input<'static>>) -> Result<TacoKernel<'static>, String>,
    ) -> Result<Owned, String> {
        let inputs = parts.into_iter().map(|(dimensions, levels, values)| Input {
            dimensions,
            levels,
            values: Vec::leak(values),
        });
        make(inputs.collect()).map(Owned)
    }
}

struct Taco {
    name: &'static str,
    detail: String,
    result: TensorId,
    whole: bool,
    kernel: Owned,
}

impl System for Taco {
    fn name(&self) -> &str {
        self.name
    }

    fn detail(&self) -> String {
        self.detail.clone()
    }

    fn run(&mut self, _shared: &mut Runner) -> Result<Duration, Error> {
        let start = Instant::now();
        self.kernel.0.run();
        Ok(start.elapsed())
    }

    fn forget(&mut self, _shared: &mut Runner) {
        self.kernel.0.values().fill(f64::NAN);
    }

    fn result(&mut self, shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
        if tensor != self.result {
            return Err(
                dastac_driver::Error::UnknownTensor(shared.facts()[tensor.0].name.clone()).into()
            );
        }
        let element = shared.facts()[tensor.0].element;
        let found = Storage::of_numbers(element, self.kernel.0.values())?;
        // All levels dense: the whole box.
        if self.whole { Ok(shared.pack(tensor, found.view())?) } else { Ok(found) }
    }
}
