//! The integration tests of the project: one binary, because each links LLVM statically and is large.

use std::path::Path;

mod arrows;
mod bench;
mod checks;
mod circles;
mod cli;
mod complex;
mod diagnostics;
mod differential;
mod documents;
mod editors;
mod elements;
mod examples;
mod formats;
mod fuzzing;
mod gpu;
mod kernels;
mod lsp;
mod numpy;
mod pim;
mod pim_random;
mod pim_rows;
mod programs;
mod prove;
mod results;
mod schedules;
mod sent;
mod setup_script;
mod sources;
mod sparse;
mod terms;
mod trips;
mod widths;

/// The command, without a cache of compiled programs: tests must not depend on each other, or on what ran before.
fn dastac() -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_dastac"));
    command.env("DASTAC_CACHE_DIR", "off").env("DASTAC_MACHINE", "detected");
    command
}

/// The folder of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("crates/cli is two folders deep")
}
