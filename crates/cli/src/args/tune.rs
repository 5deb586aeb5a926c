//! Flags of `tune`.

use std::path::PathBuf;

use clap::Args;

use super::reading::ReadingArgs;
use super::shared::{FileArgs, SymbolArgs, ThreadArgs, named_path};

pub const EXAMPLES: &str = "\
Examples:
  dastac tune examples/ttm_ut.stur -p M=256 -p N=256 -p P=256 -p Q=256
  dastac tune examples/ttm_ut.stur -p M=64 -p N=64 -p P=64 -p Q=64 --threads 1 --budget 120 -o small.schedule
  dastac run examples/ttm_ut.stur -p M=64 -p N=64 -p P=64 -p Q=64 --threads 1 --schedule small.schedule";

/// What `tune` needs.
#[derive(Debug, Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// Read an input from a .npy (or .mtx, .tns, .smtx, .npz, also .npz:KEY) file; a scalar may be a number,
    /// `alpha=2.5`. Inputs without one are drawn at random, on their structure
    #[arg(long = "input", value_name = "NAME=PATH", value_parser = named_path())]
    pub inputs: Vec<(String, PathBuf)>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// How long to search, about
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = budget)]
    pub budget: f64,
    /// Seed of the search and of the random inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where to keep the result [default: FILE with the extension .schedule]
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A positive number of seconds.
fn budget(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("write seconds, from 0.01 to 1000000".into()),
    }
}
