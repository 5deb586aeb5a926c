//! Flags of `check`.

use clap::Args;

use super::shared::FileArgs;

/// What `check` needs.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub file: FileArgs,
    /// Print one JSON object with all errors and warnings instead of text
    #[arg(long)]
    pub json: bool,
}
