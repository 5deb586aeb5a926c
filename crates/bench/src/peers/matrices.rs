//! SciPy, GraphBLAS and Eigen where results are sparse, in a process that measures its own times.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dastac_driver::run::Runner;
use dastac_elements::Storage;
use dastac_formats::storage::Indices;
use dastac_stur::program::TensorId;
use serde_json::{Value, json};

use super::products::{Operand, operand, operands, output};
use super::python::{Process, interpreter};
use super::request::{Ready, Request};
use super::{conversions, eigen};
use crate::Error;
use crate::entries::of_rows;
use crate::job::Job;
use crate::kernels::Call;
use crate::system::System;

/// The program that the process runs.
const SCRIPT: &str = include_str!("products.py");

pub(super) fn system(Request { name, job, shared, .. }: Request<'_>) -> Ready {
    let library = name.split('-').next().unwrap_or(name);
    if ["scipy", "eigen"].contains(&library) && job.threads > 1 {
        return Err("it uses one thread only".into());
    }
    let rows = match job.call {
        Some(Call::Conversion) => Some(conversions::rows(shared)?),
        _ => None,
    };
    let operands = match &rows {
        Some(rows) => vec![operand(rows).ok_or("it takes matrices of 64-bit numbers only")?],
        None => operands(shared)?,
    };
    let (operands, files) = write(&job.places.scratch, operands)?;
    let started = match library {
        "eigen" => with_eigen(job, &operands),
        _ => with_python(name, job, &operands, conversions::formats(shared).as_deref()),
    };
    for file in &files {
        // They are read, or not needed.
        let _ = std::fs::remove_file(file);
    }
    let (process, answer) = started?;
    let text = |key: &str| answer[key].as_str().unwrap_or_default().to_string();
    let detail = format!("{} ({})", text("expression"), text("version"));
    let file =
        |part: &str| job.places.scratch.join(format!("result-{}-{part}.bin", std::process::id()));
    let files = ["positions", "coordinates", "values"].map(file);
    let output = output(shared)?;
    let columns = shared.facts()[output.0].shape.get(1).map_or(1, |extent| *extent as u64);
    Ok(Box::new(Matrices { name: name.into(), detail, process, output, columns, files }))
}

/// Python with the operands, and what it says of the expression.
fn with_python(
    name: &str,
    job: &Job,
    operands: &[Value],
    formats: Option<&[String]>,
) -> Result<(Process, Value), String> {
    let mut process = Process::start(&interpreter(job), SCRIPT, job.threads)?;
    let answer = process.ask(&json!({
        "library": name.split('-').next(),
        "call": job.call,
        "sorted": name.ends_with("-sorted"),
        "threads": job.threads,
        "operands": operands,
        "formats": formats,
    }))?;
    Ok((process, answer))
}

/// The program with Eigen, and what it says of itself.
fn with_eigen(job: &Job, operands: &[Value]) -> Result<(Process, Value), String> {
    let mut command = eigen::command(&job.places.peers, &job.places.scratch, job.call)?;
    for operand in operands {
        for extent in operand["shape"].as_array().into_iter().flatten() {
            command.arg(extent.to_string());
        }
        command.arg(if operand["columns"] == true { "1" } else { "0" });
        for file in operand["files"].as_array().into_iter().flatten() {
            command.arg(file.as_str().unwrap_or_default());
        }
    }
    let mut process = Process::of(command, job.threads)?;
    let version = process.answer()?["version"].clone();
    let version = format!("Eigen {}", version.as_str().unwrap_or("of unknown version"));
    let expression = match job.call {
        Some(Call::SparseTranspose) => "a.transpose()",
        _ => "a * b",
    };
    Ok((process, json!({ "expression": expression, "version": version })))
}

/// The arrays of the operands as files, and what the process is told about them.
fn write(scratch: &Path, operands: Vec<Operand<'_>>) -> Result<(Vec<Value>, Vec<PathBuf>), String> {
    let cannot = |error: std::io::Error| format!("cannot write its inputs: {error}");
    std::fs::create_dir_all(scratch).map_err(cannot)?;
    let integers = |array: &Indices| array.iter().flat_map(u64::to_le_bytes).collect::<Vec<u8>>();
    let (mut all, mut files) = (Vec::new(), Vec::new());
    for (at, operand) in operands.into_iter().enumerate() {
        let arrays = [
            operand.values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            integers(operand.coordinates),
            integers(operand.positions),
        ];
        let mut own = Vec::new();
        for (part, bytes) in arrays.into_iter().enumerate() {
            let file = scratch.join(format!("operand-{}-{at}-{part}.bin", std::process::id()));
            std::fs::write(&file, bytes).map_err(cannot)?;
            own.push(file);
        }
        let (shape, columns) = (operand.shape, operand.columns);
        all.push(json!({ "shape": shape, "columns": columns, "files": own }));
        files.extend(own);
    }
    Ok((all, files))
}

struct Matrices {
    name: String,
    detail: String,
    process: Process,
    output: TensorId,
    columns: u64,
    files: [PathBuf; 3],
}

impl Matrices {
    /// The bytes of a part of the result, of which the process has made files.
    fn read<T>(&self, part: usize, number: impl Fn([u8; 8]) -> T) -> Result<Vec<T>, Error> {
        let file = &self.files[part];
        let bytes = std::fs::read(file).map_err(|error| Error::Peer(error.to_string()))?;
        let _ = std::fs::remove_file(file);
        Ok(bytes.as_chunks().0.iter().map(|bytes| number(*bytes)).collect())
    }
}

impl System for Matrices {
    fn name(&self) -> &str {
        &self.name
    }

    fn detail(&self) -> String {
        self.detail.clone()
    }

    fn process(&self) -> u32 {
        self.process.id()
    }

    fn run(&mut self, _shared: &mut Runner) -> Result<Duration, Error> {
        let answer = self.process.ask(&json!({ "run": 1 })).map_err(Error::Peer)?;
        Ok(Duration::from_nanos(answer["ns"].as_u64().unwrap_or(0)))
    }

    fn forget(&mut self, _shared: &mut Runner) {
        // A process that is gone is told about when it is asked to run.
        let _ = self.process.ask(&json!({ "forget": 1 }));
    }

    fn result(&mut self, _shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
        if tensor != self.output {
            return Err(Error::Peer("it has no such result".into()));
        }
        self.process.ask(&json!({ "write": self.files })).map_err(Error::Peer)?;
        let [positions, coordinates] =
            [self.read(0, i64::from_le_bytes)?, self.read(1, i64::from_le_bytes)?];
        of_rows(&positions, &coordinates, &self.read(2, f64::from_le_bytes)?, self.columns)
    }
}
