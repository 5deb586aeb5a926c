//! NumPy, SciPy and PyTorch, in a Python process that measures its own times. Each question and each answer is one line
//! of JSON.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use dastac_formats::storage::Indices;
use dastac_runtime::Role;
use dastac_stur::program::{Element, TensorId};
use serde_json::{Value, json};

use super::request::{Ready, Request};
use crate::Error;
use crate::job::Job;
use crate::kernels::Call;
use crate::peers::variant::unpacked;
use crate::system::System;
use dastac_driver::driver::Laid;
use dastac_driver::run::Runner;
use dastac_elements::Storage;

/// The program that the process runs.
const SCRIPT: &str = include_str!("peer.py");

pub(super) fn system(Request { name, job, laid, shared }: Request<'_>) -> Ready {
    let call = job.call.ok_or("there is no expression for it")?;
    let output = shared.facts().iter().position(|fact| fact.role != Role::Input);
    let output = TensorId(output.ok_or("nothing is computed")?);
    let sparse = match name {
        "scipy" => {
            if job.threads > 1 {
                return Err("it uses one thread only".into());
            }
            Some(Sparse::write(job, laid, shared)?)
        }
        _ => None,
    };
    let convolution = match call {
        Call::Convolution => Some(super::convolution::described(laid, shared)?),
        _ => None,
    };
    let mut files = write_inputs(job, shared)?;
    let mut process = Process::start(&interpreter(job), SCRIPT, job.threads)?;
    let answer = process.ask(&json!({
        "library": name,
        "call": call,
        "element": if job.single { "f32" } else { "f64" },
        "threads": job.threads,
        "sizes": job.symbols.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "files": files,
        "sparse": sparse.as_ref().map(|sparse| sparse.question.clone()),
        "columns": super::blas::matrix_by_columns(shared, laid),
        "result": shared.facts()[output.0].unique,
        "convolution": convolution,
    }));
    files.extend(sparse.into_iter().flat_map(|sparse| sparse.files));
    for file in &files {
        // They are read, or not needed.
        let _ = std::fs::remove_file(file);
    }
    let answer = answer?;
    let text = |key: &str| answer[key].as_str().unwrap_or_default().to_string();
    let detail = format!("{} ({})", text("expression"), text("version"));
    let file = job.places.scratch.join(format!("result-{}.bin", std::process::id()));
    Ok(Box::new(Python { name: name.into(), detail, process, call, output, file }))
}

/// Inputs as files of numbers.
fn write_inputs(job: &Job, shared: &mut Runner) -> Result<Vec<PathBuf>, String> {
    let cannot = |error: std::io::Error| format!("cannot write its inputs: {error}");
    std::fs::create_dir_all(&job.places.scratch).map_err(cannot)?;
    let mut files = Vec::new();
    let whole = job.call == Some(Call::Convolution);
    for at in 0..shared.facts().len() {
        let fact = &shared.facts()[at];
        if fact.role != Role::Input || (fact.format.is_some() && !whole) {
            continue;
        }
        let unpacked = match whole {
            true => Some(unpacked(shared, TensorId(at))?),
            false => None,
        };
        let file = job.places.scratch.join(format!("input-{}-{at}.bin", std::process::id()));
        let storage = unpacked.as_ref().map_or_else(|| shared.packed(TensorId(at)), Storage::view);
        if !storage.element().is_float() {
            return Err("it computes in floats".into());
        }
        std::fs::write(&file, storage.bytes()).map_err(cannot)?;
        files.push(file);
    }
    Ok(files)
}

/// The arrays of a sparse matrix, as files.
struct Sparse {
    question: Value,
    files: Vec<PathBuf>,
}

impl Sparse {
    fn write(job: &Job, laid: &Laid, shared: &Runner) -> Result<Sparse, String> {
        let operands = super::sparse::operands(laid, shared)?;
        let integers =
            |array: &Indices| array.iter().flat_map(u64::to_le_bytes).collect::<Vec<u8>>();
        let arrays = [
            operands.values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            integers(operands.coordinates),
            integers(operands.positions),
        ];
        let cannot = |error: std::io::Error| format!("cannot write its inputs: {error}");
        std::fs::create_dir_all(&job.places.scratch).map_err(cannot)?;
        let mut files = Vec::new();
        for (at, bytes) in arrays.into_iter().enumerate() {
            let name = format!("sparse-{}-{at}.bin", std::process::id());
            files.push(job.places.scratch.join(name));
            std::fs::write(&files[at], bytes).map_err(cannot)?;
        }
        let question =
            json!({ "shape": operands.shape, "columns": operands.columns, "files": files });
        Ok(Sparse { question, files })
    }
}

/// Python with the packages of the peers, or the system's.
pub(super) fn interpreter(job: &Job) -> PathBuf {
    let python = job.places.peers.join("bin/python");
    if python.exists() { python } else { PathBuf::from("python3") }
}

/// A running process.
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    pub(super) fn start(python: &Path, script: &str, threads: usize) -> Result<Process, String> {
        let mut command = Command::new(python);
        command.args(["-c", script]);
        Process::of(command, threads)
    }

    /// Starts a program that answers as Python does.
    pub(super) fn of(mut command: Command, threads: usize) -> Result<Process, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null());
        for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
            command.env(variable, threads.to_string());
        }
        let mut child =
            command.spawn().map_err(|error| format!("its process does not start: {error}"))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => {
                Ok(Process { child, input, output: BufReader::new(output) })
            }
            _ => Err("its process has no input or output".into()),
        }
    }

    /// Its number among the system's processes.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The answer to a question.
    pub(super) fn ask(&mut self, question: &Value) -> Result<Value, String> {
        let gone = |error: std::io::Error| format!("its process does not answer: {error}");
        writeln!(self.input, "{question}").and_then(|()| self.input.flush()).map_err(gone)?;
        self.answer()
    }

    /// What it says next.
    pub(super) fn answer(&mut self) -> Result<Value, String> {
        let gone = |error: std::io::Error| format!("its process does not answer: {error}");
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(gone)?;
        let answer: Value =
            serde_json::from_str(&line).map_err(|_| "its process ended without an answer")?;
        match answer["error"].as_str() {
            Some(error) => Err(error.to_string()),
            None => Ok(answer),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It holds nothing that would be lost.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Python {
    name: String,
    detail: String,
    process: Process,
    call: Call,
    output: TensorId,
    file: PathBuf,
}

impl Python {
    fn ask(&mut self, question: &Value) -> Result<Value, Error> {
        self.process.ask(question).map_err(Error::Peer)
    }
}

impl System for Python {
    fn name(&self) -> &str {
        &self.name
    }

    fn detail(&self) -> String {
        self.detail.clone()
    }

    fn run(&mut self, _shared: &mut Runner) -> Result<Duration, Error> {
        let answer = self.ask(&json!({ "run": 1 }))?;
        Ok(Duration::from_nanos(answer["ns"].as_u64().unwrap_or(0)))
    }

    fn forget(&mut self, _shared: &mut Runner) {
        // The process makes a new array for each result.
    }

    fn result(&mut self, shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
        if tensor != self.output {
            return Err(
                dastac_driver::Error::UnknownTensor(shared.facts()[tensor.0].name.clone()).into()
            );
        }
        let file = self.file.display().to_string();
        self.ask(&json!({ "write": file }))?;
        let bytes = std::fs::read(&self.file).map_err(|error| Error::Peer(error.to_string()))?;
        let _ = std::fs::remove_file(&self.file);
        let element = shared.facts()[tensor.0].element;
        let numbers: Vec<f64> = match element {
            Element::F64 => {
                let each = bytes.as_chunks().0.iter();
                each.map(|bytes| f64::from_le_bytes(*bytes)).collect()
            }
            Element::F32 => {
                let each = bytes.as_chunks().0.iter();
                each.map(|bytes| f32::from_le_bytes(*bytes).into()).collect()
            }
            element => {
                return Err(Error::Peer(format!("it has no elements of type {}", element.name())));
            }
        };
        let found = Storage::of_numbers(element, &numbers)?;
        match self.call {
            Call::Square => Ok(shared.pack(tensor, found.view())?),
            _ => Ok(found),
        }
    }
}
