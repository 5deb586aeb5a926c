//! Flags about the cache of compiled programs.

use clap::{Args, ValueEnum};

pub const EXAMPLES: &str = "\
Examples:
  dastac cache              # where compiled programs are kept, and how many
  dastac cache clear        # remove them all
  dastac run examples/spmv_ut.stur -p M=512 -p N=512 --no-cache";

/// What `cache` needs.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// What to do [default: show what is kept]
    pub action: Option<CacheAction>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// What to do with the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CacheAction {
    /// Remove all compiled programs
    Clear,
}

/// Whether compiled programs are kept.
#[derive(Clone, Copy, Debug, Args)]
pub struct KeepArgs {
    /// Neither take the program's code from the cache on disk nor keep it there
    #[arg(long)]
    pub no_cache: bool,
}
