//! The integration tests of the project: one binary, because each links LLVM statically and is large.

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
