//! Flags of `verify`.

use clap::Args;

use super::shared::{FileArgs, ScheduleArgs};

pub const EXAMPLES: &str = "\
Examples:
  dastac verify examples/ttm_ut.stur
  dastac verify examples/ttm_ut.stur --strict --json

Exit code 1 if something is refuted, with --strict also if something is undecided.";

/// What `verify` needs.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub schedule: ScheduleArgs,
    /// Exit code 1 also when something could not be decided
    #[arg(long)]
    pub strict: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}
