//! Flags of `run`.

use std::path::PathBuf;

use clap::Args;

use super::super::machine::MachineArgs;
use super::cache::KeepArgs;
use super::reading::ReadingArgs;
use super::shared::{
    FileArgs, PassArgs, ScheduleArgs, SymbolArgs, ThreadArgs, WalkingArgs, named_path,
};

pub const EXAMPLES: &str = "\
Examples:
  dastac run examples/ttm_ut.stur -p M=64 -p N=64 -p P=64 -p Q=64 --verify
  dastac run examples/ttm_ut.stur -p M=512 -p N=512 -p P=512 -p Q=512 --threads 8 --repeat 10
  dastac run examples/symmetric_matvec.stur -p N=500 --input B=b.npy --input x=x.npy --output y=y.npy
  dastac run examples/symmetric_matvec.stur -p N=500 --json | python3 -m json.tool

Arrays are .npy files (NumPy) of any type that fits, in either order: the full, dense array of
the tensor's box; a scalar is a 0-d array. Packing and unpacking happen inside. An input that contradicts its
declared structure is an error. Inputs may also be sparse: .mtx, .tns, .smtx, .npz, whose zeros
are filled in.";

/// What `run` needs.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// Read an input from a .npy (or .mtx, .tns, .smtx, .npz, also .npz:KEY) file; a scalar may be a number,
    /// `alpha=2.5`. Inputs without one are drawn at random, on their structure
    #[arg(long = "input", value_name = "NAME=PATH", value_parser = named_path())]
    pub inputs: Vec<(String, PathBuf)>,
    /// Write a computed tensor to a .npy file, as a dense array, or its non-zero elements to a .mtx, .tns, .. file; `-`
    /// prints it
    #[arg(long = "output", value_name = "NAME=PATH", value_parser = named_path())]
    pub outputs: Vec<(String, PathBuf)>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub passes: PassArgs,
    /// Seed of the random inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Part of the elements, from 0 to 1, that random inputs with `:F` have
    #[arg(long, value_name = "PART", default_value_t = dastac::runtime::DEFAULT_DENSITY, value_parser = density)]
    pub density: f64,
    #[command(flatten)]
    pub machine: MachineArgs,
    /// The number of the device to run on, for targets that have devices [default: 0]
    #[arg(long, value_name = "NUMBER")]
    pub device: Option<usize>,
    #[command(flatten)]
    pub threads: ThreadArgs,
    #[command(flatten)]
    pub schedule: ScheduleArgs,
    #[command(flatten)]
    pub walking: WalkingArgs,
    #[command(flatten)]
    pub keep: KeepArgs,
    /// How often to run the computation; all times are reported
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub repeat: u32,
    /// Run once more before, on one thread, and count how often each loop runs: beside, how often it needs to on sparse
    /// tensors
    #[arg(long)]
    pub trips: bool,
    /// Draw what cores inside of memory did over time, as SVG
    #[arg(long, value_name = "PATH")]
    pub timeline: Option<PathBuf>,
    /// Compare all results with the reference evaluator; exit code 1 when they disagree
    #[arg(long)]
    pub verify: bool,
    /// Assert that every access of the generated code stays within its buffer: one that does not is reported, and the
    /// process aborts
    #[arg(long)]
    pub checked: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

fn density(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "a number from 0 to 1, such as 0.05".into())
}
