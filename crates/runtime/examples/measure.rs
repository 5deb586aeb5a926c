//! Runs the compiled programs of a folder, compares what they compute with what the processor computes, and prints what
//! was measured, a line of JSON for each case; nothing of the compiler is in it.
//!
//! ```text
//! measure FOLDER TARGET [PART]  runs the programs whose cases have PART in their names on `cuda` or `grid`
//! ```

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use dastac_runtime::measure::{cases, measure};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, target, part) = match &arguments[..] {
        [folder, target] => (Path::new(folder), target, ""),
        [folder, target, part] => (Path::new(folder), target, part.as_str()),
        _ => {
            eprintln!("usage: measure FOLDER cuda|grid [PART]");
            return ExitCode::from(2);
        }
    };
    dastac_runtime::cuda::queue_first(true);
    let all = match cases(folder) {
        Ok(all) => all,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut right = true;
    for case in all.iter().filter(|case| case.name.contains(part)) {
        let found = measure(folder, case, target);
        right &= found.error.is_none() && found.wrong == 0;
        let mut out = std::io::stdout().lock();
        // Each line is written when it is known: a run that is stopped leaves what it found.
        let line = serde_json::to_string(&found).unwrap_or_default();
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
