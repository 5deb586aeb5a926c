//! The process that checks a text for the language server, and what it says: lines of JSON on its standard output.
//!
//! First what the checker finds, then what inference finds, with the structure of each tensor, then each layout, then
//! what loops find. It ends itself when it takes too long or too much memory; whoever started it ends it by dropping
//! its [`Run`].

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use dastac::driver::Analysis;
use dastac::stur::{Diagnostic, Severity};
use serde::{Deserialize, Serialize};

use super::super::{infer, layout, this, watchdog};

/// How a process is asked to be a worker. No command for people.
pub const ARGUMENT: &str = "--language-server-worker";

/// Longer than this, nobody waits.
pub const SECONDS: u64 = 20;

/// What a worker says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Said {
    /// What the checker finds, without inference.
    Checked(Vec<Problem>),
    /// Everything that is wrong, and the structure of each tensor if nothing is.
    Inferred(Vec<Problem>, Vec<Fact>),
    /// Where the elements of a tensor are stored.
    Layout(Fact),
    /// The worker is done, or gave up.
    Ended,
}

/// A diagnostic.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// Whether it is an error.
    pub error: bool,
    /// Its code.
    pub code: String,
    /// What it says.
    pub message: String,
    /// Bytes from, bytes to, text; the first one is the place that it is about.
    pub labels: Vec<(usize, usize, String)>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What is known of a tensor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fact {
    /// Its name.
    pub tensor: String,
    /// Lines for people.
    pub text: String,
}

impl Problem {
    fn of(diagnostic: &Diagnostic) -> Problem {
        let labels = diagnostic.labels.iter();
        Problem {
            error: diagnostic.severity == Severity::Error,
            code: diagnostic.code.into(),
            message: diagnostic.message.clone(),
            labels: labels.map(|(span, text)| (span.start, span.end, text.clone())).collect(),
            hint: diagnostic.hint.clone(),
        }
    }
}

/// A worker at work.
pub struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Run {
    /// Starts a worker. `hear` gets what it says, on another thread, until it returns false. `None` if no process can
    /// be started.
    pub fn start(text: &str, mut hear: impl FnMut(Said) -> bool + Send + 'static) -> Option<Run> {
        let mut child = Command::new(this::program()?)
            .arg(ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let text = text.to_owned();
        std::thread::spawn(move || {
            // A worker that ends early does not read everything.
            let _ = input.map(|mut input| input.write_all(text.as_bytes()));
            for line in output.into_iter().flat_map(|output| BufReader::new(output).lines()) {
                let said = line.ok().and_then(|line| serde_json::from_str(&line).ok());
                if !said.is_some_and(&mut hear) {
                    return;
                }
            }
            hear(Said::Ended);
        });
        Some(Run(child))
    }
}

/// What a worker does: reads a text, and says what is known of it.
pub fn serve() {
    watchdog::start(SECONDS);
    let mut text = String::new();
    if std::io::stdin().lock().read_to_string(&mut text).is_err() {
        return;
    }
    let all = |found: &[Diagnostic]| found.iter().map(Problem::of).collect::<Vec<_>>();
    let found = match dastac::stur::load(&text) {
        Ok((_, warnings)) => warnings,
        Err(found) => found,
    };
    say(&Said::Checked(all(&found)));
    let analysis = match Analysis::of(&text) {
        Ok(analysis) => analysis,
        Err(dastac::Error::Program(found)) => {
            return say(&Said::Inferred(all(&found), Vec::new()));
        }
        Err(_) => return,
    };
    let inferred = &analysis.inferred;
    let facts = inferred.program.tensor_ids().filter_map(|id| {
        let text = infer::structure_of(inferred, id).ok()?;
        Some(Fact { tensor: inferred.program.tensor(id).name.clone(), text })
    });
    say(&Said::Inferred(all(&analysis.warnings), facts.collect()));
    let warnings = analysis.warnings.clone();
    let refused = |found: Vec<Diagnostic>| {
        say(&Said::Inferred(all(&[warnings, found].concat()), Vec::new()));
    };
    let laid = match analysis.lay_out() {
        Ok(laid) => laid,
        Err(dastac::Error::Program(found)) => return refused(found),
        Err(_) => return,
    };
    for id in laid.program().tensor_ids() {
        if let Ok(text) = layout::of_tensor(&laid, id) {
            let tensor = laid.program().tensor(id).name.clone();
            say(&Said::Layout(Fact { tensor, text }));
        }
    }
    if let Err(dastac::Error::Program(found)) = laid.lower() {
        refused(found);
    }
}

/// Nobody may be listening any more.
fn say(said: &Said) {
    if let Ok(text) = serde_json::to_string(said) {
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}
