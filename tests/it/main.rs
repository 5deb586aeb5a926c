//! The integration tests of the project: one binary, because each links LLVM statically and is large.

use std::path::Path;

mod arrows;
mod bench;
mod cli;
mod diagnostics;
mod differential;
mod examples;
mod formats;
mod kernels;
mod prove;
mod results;
mod schedules;
mod setup_script;
mod sparse;
mod trips;

/// The folder of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("crates/cli is two folders deep")
}
