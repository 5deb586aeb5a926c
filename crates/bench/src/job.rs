//! One program at one size, with one number of threads: measured in a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::kernels::{Call, Workload};
use super::patterns::Pattern;
use super::results::{CaseResults, Measured, Outcome};
use crate::Error;
use dastac_driver::contract::{At, Sizes};
use dastac_driver::driver::Analysis;
use dastac_loops::machine::Machine;
use dastac_loops::machine_file;
use dastac_runtime::symbol_values;
use dastac_stur::infer::Inferred;

/// The first argument of a process that measures: it reads a job from standard input, and writes a case to standard
/// output.
pub const WORKER_ARGUMENT: &str = "--measure-one-job";

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The kernel's name.
    pub kernel: String,
    /// Its name in tables.
    pub title: String,
    /// Its size.
    pub n: i64,
    /// The program.
    pub source: String,
    /// Values of its symbols.
    pub symbols: Vec<(String, i64)>,
    /// Dynamic inputs, and which of their elements there are.
    #[serde(default)]
    pub inputs: Vec<(String, Pattern)>,
    /// What libraries do.
    pub call: Option<Call>,
    /// 32-bit elements instead of 64-bit ones.
    pub single: bool,
    /// Threads.
    pub threads: usize,
    /// Names of systems ([`super::peers::SYSTEMS`]).
    pub systems: Vec<String>,
    /// Of the random data.
    pub seed: u64,
    /// Seconds that all systems together should be measured for.
    pub budget: f64,
    /// A system that takes longer than this, in seconds, is run only once.
    pub patience: f64,
    /// Where peers are, and where files may be written.
    pub places: Places,
    /// Values of the symbols at which dastac's results are compared with the dense evaluator before times are taken.
    #[serde(default)]
    pub checks: Vec<Vec<(String, i64)>>,
    /// Numbers of cores inside of memory that are simulated; without any, this computer is measured.
    #[serde(default)]
    pub pim: Vec<usize>,
}

/// Where things are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Places {
    /// Python's virtual environment with MKL, OpenBLAS and packages, as `./x bench --peers` makes it.
    pub peers: PathBuf,
    /// For files of no lasting interest.
    pub scratch: PathBuf,
    /// TACO's binary.
    pub taco: Option<PathBuf>,
    /// The folder of TACO-UCF's sources, built in `build`.
    #[serde(default)]
    pub taco_ucf: Option<PathBuf>,
    /// The file that describes the machine; without one, what is known of it without measuring counts.
    #[serde(default)]
    pub machine: Option<PathBuf>,
}

impl Places {
    /// What passes decide by, if there is a file that says it.
    ///
    /// # Errors
    /// A file that cannot be read or describes no machine.
    pub fn machine(&self) -> Result<Option<Machine>, Error> {
        let Some(path) = &self.machine else { return Ok(None) };
        let failed =
            |error: &dyn std::fmt::Display| Error::Machine(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        machine_file::parse(&text).map(Some).map_err(|error| failed(&error))
    }
}

impl Job {
    /// A kernel of the table at size `n`.
    pub fn of(kernel: &Workload, n: i64, threads: usize, systems: &[&str]) -> Job {
        Job {
            kernel: kernel.name.into(),
            title: kernel.title.into(),
            n,
            source: kernel.source.into(),
            symbols: kernel.values(n),
            inputs: Vec::new(),
            call: kernel.call,
            single: false,
            threads,
            systems: systems.iter().map(|name| (*name).to_string()).collect(),
            seed: 1,
            budget: 1.0,
            patience: 10.0,
            places: Places::default(),
            checks: Vec::new(),
            pim: Vec::new(),
        }
    }

    /// A key that no other job on the same machine has.
    pub fn key(&self) -> String {
        let element = if self.single { "f32" } else { "f64" };
        format!("{}/{}/{element}/{}", self.kernel, self.n, self.threads)
    }

    /// The program, with the element type that is asked for.
    ///
    /// # Errors
    /// A program that is not well-formed.
    pub fn program(&self) -> Result<String, Error> {
        if !self.single {
            return Ok(self.source.clone());
        }
        let (program, _) =
            dastac_stur::load(&self.source).map_err(dastac_driver::Error::Program)?;
        let types: Vec<String> =
            program.tensors.iter().map(|tensor| format!("{} = f32", tensor.name)).collect();
        let types = format!("types: {}\n", types.join(", "));
        let mut text = String::new();
        let mut placed = false;
        for line in self.source.lines() {
            text += line;
            text.push('\n');
            if line.starts_with("symbols:") {
                text += &types;
                placed = true;
            }
        }
        Ok(if placed { text } else { types + &text })
    }

    /// A case without measurements, each system a gap for this reason.
    pub fn failed(&self, reason: &str) -> CaseResults {
        let gap = |system: &String| Measured {
            system: system.clone(),
            detail: String::new(),
            peak: None,
            prepared: None,
            outcome: Outcome::Gap { reason: reason.into() },
        };
        CaseResults { systems: self.systems.iter().map(gap).collect(), ..self.case() }
    }

    /// A case without anything.
    pub fn case(&self) -> CaseResults {
        // The text tells what was measured where no file has it.
        let (source, symbols) = match self.checks.is_empty() {
            true => (String::new(), Vec::new()),
            false => (self.source.clone(), self.symbols.clone()),
        };
        CaseResults {
            source,
            symbols,
            kernel: self.kernel.clone(),
            title: self.title.clone(),
            n: self.n,
            single: self.single,
            threads: self.threads,
            ..CaseResults::default()
        }
    }
}

/// Tells the waiting process which system runs now, so that it knows which one failed if nothing more is heard.
pub(super) fn tell(system: &str) {
    let mut out = std::io::stdout().lock();
    // It does not matter if no process is waiting.
    let _ = writeln!(out, "{PREFIX}{system}").and_then(|()| out.flush());
}

/// What lines begin with that say what is being done.
const PREFIX: &str = "> ";

/// Measures a job in a process of its own, `program` with [`WORKER_ARGUMENT`]. Whatever happens to it, there is a case:
/// a system that crashes, or is not heard of for so long, is a gap, and the others are measured without it.
pub fn measure_apart(program: &Path, job: &Job, limit: Duration) -> CaseResults {
    let mut job = job.clone();
    let mut gaps = Vec::new();
    loop {
        let (mut case, culprit) = match run(program, &job, limit) {
            Ok(case) => (case, None),
            Err((reason, culprit)) => (job.failed(&reason), culprit.map(|name| (name, reason))),
        };
        match culprit {
            Some((name, reason)) if name != "dastac" && job.systems.contains(&name) => {
                job.systems.retain(|system| *system != name);
                let outcome = Outcome::Gap { reason };
                gaps.push(Measured {
                    system: name,
                    detail: String::new(),
                    peak: None,
                    prepared: None,
                    outcome,
                });
            }
            _ => {
                case.systems.extend(gaps);
                return case;
            }
        }
    }
}

/// A case; or why there is none, and what was being done.
fn run(
    program: &Path,
    job: &Job,
    limit: Duration,
) -> Result<CaseResults, (String, Option<String>)> {
    let nothing = |reason: String| (reason, None);
    let text = serde_json::to_string(job).map_err(|error| nothing(error.to_string()))?;
    let mut command = Command::new(program);
    command
        .arg(WORKER_ARGUMENT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Threads that wait must not take cores from whoever is measured next.
        .env("KMP_BLOCKTIME", "1")
        .env("OPENBLAS_THREAD_TIMEOUT", "4")
        .env("MKL_DYNAMIC", "FALSE");
    let intel = job.places.peers.join("lib/libiomp5.so");
    if job.systems.iter().any(|system| system.starts_with("mkl")) && intel.exists() {
        // One OpenMP for all: two of them in one process would share cores badly.
        command.env(dastac_runtime::openmp::VARIABLE, intel);
    }
    let mut child =
        command.spawn().map_err(|error| nothing(format!("cannot start a process: {error}")))?;
    let (Some(mut input), Some(out), Some(mut err)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(nothing("a process without input and output".into()));
    };
    // A process that is gone is told about below.
    let writer = std::thread::spawn(move || drop(input.write_all(text.as_bytes())));
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = err.read_to_string(&mut text);
        text
    });
    let (sender, lines) = channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let (mut doing, mut result, mut silent) = (None, None, false);
    loop {
        match lines.recv_timeout(limit) {
            Ok(line) => match line.strip_prefix(PREFIX) {
                Some(system) => doing = Some(system.to_string()),
                None => result = serde_json::from_str(&line).ok(),
            },
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                silent = true;
                let _ = child.kill();
                break;
            }
        }
    }
    let status = child.wait();
    let _ = (writer.join(), reader.join());
    let errors = errors.join().unwrap_or_default();
    if let Some(case) = result {
        return Ok(case);
    }
    let reason = match status {
        _ if silent => {
            let what = doing.as_deref().unwrap_or("the process");
            format!("{what} did not end within {} s", limit.as_secs())
        }
        Err(error) => error.to_string(),
        Ok(status) => {
            let words = errors.trim().lines().last().unwrap_or("it said nothing").to_string();
            format!("its process ended with {status}: {words}")
        }
    };
    Err((reason, doing))
}

/// The values of a program's symbols in a job, in declaration order.
pub(super) fn symbols_of(job: &Job, inferred: &Inferred) -> Result<Vec<i64>, Error> {
    let names: Vec<String> =
        inferred.program.symbols.iter().map(|(name, _)| name.clone()).collect();
    Ok(symbol_values(&names, &job.symbols.iter().cloned().collect())?)
}

/// The layouts of a job's program. Programs of the structured figure are in the steps that `dastac run` would choose at
/// these sizes; those that peers compute beside are as they were written.
pub(super) fn analyse(job: &Job) -> Result<dastac_driver::driver::Laid, Error> {
    let analysis = Analysis::of(&job.program()?)?;
    if job.checks.is_empty() {
        return Ok(analysis.lay_out()?);
    }
    let symbols = symbols_of(job, &analysis.inferred)?;
    let sizes = Sizes { symbols, ..Sizes::default() };
    Ok(analysis.contracted(At::Sizes(&sizes))?.lay_out()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::find;
    use std::os::unix::fs::PermissionsExt;

    fn job(systems: &[&str]) -> Job {
        Job::of(find("spmv_d").unwrap(), 7, 1, systems)
    }

    fn reason(case: &CaseResults, system: &str) -> String {
        match &case.system(system).unwrap().outcome {
            Outcome::Gap { reason } => reason.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// A program that measures nothing: it crashes, or says nothing more, on behalf of one system, and without it
    /// answers with a case.
    fn stand_in(folder: &Path, fate: &str) -> PathBuf {
        let case = serde_json::to_string(&job(&["dastac"]).failed("not run")).unwrap();
        let text = format!(
            "#!/bin/sh\njob=$(cat)\necho '> dastac'\ncase $job in *openblas*) echo '> openblas'; {fate} ;; esac\n\
            echo '{case}'\n"
        );
        let path = folder.join("stand-in");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_system_that_crashes_or_hangs_is_a_gap_and_the_others_are_measured() {
        let folder = tempfile::tempdir().unwrap();
        for (fate, limit, expected) in [
            ("echo broken >&2; exit 3", 20, "its process ended with exit status: 3: broken"),
            ("exec sleep 30", 1, "openblas did not end within 1 s"),
        ] {
            let program = stand_in(folder.path(), fate);
            let job = job(&["dastac", "openblas"]);
            let case = measure_apart(&program, &job, Duration::from_secs(limit));
            assert_eq!(reason(&case, "openblas"), expected);
            assert_eq!(reason(&case, "dastac"), "not run");
        }
        let case = measure_apart(&folder.path().join("none"), &job(&["dastac"]), Duration::MAX);
        assert!(reason(&case, "dastac").starts_with("cannot start a process"));
    }

    #[test]
    fn a_program_gets_the_types_that_are_asked_for() {
        let mut job = job(&["dastac"]);
        assert_eq!(job.program().unwrap(), job.source);
        job.single = true;
        let program = job.program().unwrap();
        assert!(program.contains("\ntypes: A = f32, B = f32, C = f32\n"), "{program}");
        let (program, _) = dastac_stur::load(&program).unwrap();
        let single = |tensor: &dastac_stur::program::Tensor| tensor.element.bytes() == 4;
        assert!(program.tensors.iter().all(single));
        assert_eq!(job.key(), "spmv_d/7/f32/1");
    }
}
