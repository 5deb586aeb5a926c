//! Flags of `layout`.

use clap::Args;

use super::shared::{FileArgs, SymbolArgs};

pub const EXAMPLES: &str = "\
Examples:
  dastac layout examples/ttm_ut.stur
  dastac layout examples/ttm_ut.stur -p M=64 -p N=64 -p P=64 -p Q=64";

/// What `layout` needs.
#[derive(Debug, Args)]
pub struct LayoutArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
}
