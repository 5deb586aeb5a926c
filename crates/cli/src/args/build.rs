//! Flags of `build`.

use std::path::PathBuf;

use clap::Args;

use super::super::machine::MachineArgs;
use super::shared::{FileArgs, PassArgs, ScheduleArgs, ThreadArgs, WalkingArgs, prefix};

pub const EXAMPLES: &str = "\
Examples:
  dastac build examples/ttm_ut.stur -o libttm.so --header ttm.h
  dastac build examples/ttm_ut.stur -o ttm.o --prefix my_ --threads 1

A parallel library needs OpenMP's run-time library (libomp) where it is used, and runs on as many
threads as OMP_NUM_THREADS says; with --threads 1 it needs nothing.";

/// What `build` needs.
#[derive(Debug, Args)]
pub struct BuildArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub passes: PassArgs,
    /// What to make: a shared library (.so), an object file (.o), or a program (.dastac) that `dastac run` takes
    /// without compiling it
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,
    /// Also write the C header
    #[arg(long, value_name = "PATH")]
    pub header: Option<PathBuf>,
    /// Put in front of the names of exported functions [default: the name of FILE and an underscore]
    #[arg(long, value_name = "TEXT", value_parser = prefix)]
    pub prefix: Option<String>,
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Assert that every access of the generated code stays within its buffer: one that does not is reported, and the
    /// process aborts
    #[arg(long)]
    pub checked: bool,
    #[command(flatten)]
    pub threads: ThreadArgs,
    #[command(flatten)]
    pub schedule: ScheduleArgs,
    #[command(flatten)]
    pub walking: WalkingArgs,
}
