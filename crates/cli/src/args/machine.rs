//! Flags of `machine`.

use std::path::PathBuf;

use clap::Args;

pub const EXAMPLES: &str = "\
Examples:
  dastac machine                        # what is known of this computer, and where it is from
  dastac machine --measure              # measure it again
  dastac machine > m.txt                # a file for --machine, to be edited
  dastac machine --machine m.txt        # what such a file describes";

/// What `machine` needs.
#[derive(Debug, Args)]
pub struct DescribeArgs {
    /// Measure this computer now, and keep the result in the place of what is kept
    #[arg(long, conflicts_with = "machine")]
    pub measure: bool,
    /// Show the machine that this file describes
    #[arg(long, value_name = "PATH")]
    pub machine: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}
