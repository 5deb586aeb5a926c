//! Runs the compiled programs of a folder and prints what was measured, as JSON; nothing of the compiler is in it.
//!
//! ```text
//! measure FOLDER expect          writes the results that are expected, computed on this computer's processor
//! measure FOLDER TARGET [COUNT]  runs each program COUNT times (11) on `cuda` or `grid`, and compares its results
//! ```

use std::path::Path;
use std::process::ExitCode;

use dastac_runtime::measure::{expect, measure};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let found = match &arguments[..] {
        [folder, what] if what == "expect" => {
            expect(Path::new(folder), "grid").map(|()| Vec::new())
        }
        [folder, target] => measure(Path::new(folder), target, 11),
        [folder, target, count] => measure(Path::new(folder), target, count.parse().unwrap_or(11)),
        _ => {
            eprintln!("usage: measure FOLDER expect | FOLDER cuda|grid [COUNT]");
            return ExitCode::from(2);
        }
    };
    match found {
        Ok(all) => {
            println!("{}", serde_json::to_string_pretty(&all).unwrap_or_default());
            let right = all.iter().all(|one| one.error.is_none() && one.wrong == 0);
            if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
