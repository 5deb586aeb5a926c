//! The command `dastac`; the library beside it has all of it.

use std::process::ExitCode;

/// Runs the command that the arguments name.
fn main() -> ExitCode {
    dastac_cli::command(std::env::args_os(), std::env::current_exe().ok())
}
