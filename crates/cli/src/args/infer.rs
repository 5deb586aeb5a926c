//! Flags of `infer`.

use clap::Args;

use super::shared::FileArgs;

pub const EXAMPLES: &str = "\
Examples:
  dastac infer examples/symmetric_matvec.stur
  dastac infer examples/symmetric_matvec.stur --isl";

/// What `infer` needs.
#[derive(Debug, Args)]
pub struct InferArgs {
    #[command(flatten)]
    pub file: FileArgs,
    /// Add the sets in isl's notation, as comments
    #[arg(long)]
    pub isl: bool,
}
