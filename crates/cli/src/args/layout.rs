//! Flags of `layout`.

use clap::Args;

use super::shared::{FileArgs, SymbolArgs};

/// What `layout` needs.
#[derive(Debug, Args)]
pub struct LayoutArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
}
