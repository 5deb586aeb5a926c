//! Flags that several commands have, and how their values are read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use dastac::driver::{Indices, Iteration};
use dastac::iterate::Walking;

use super::super::source::is_prefix;

/// A program.
#[derive(Debug, Args)]
pub struct FileArgs {
    /// The program, in STUR; `-` for standard input
    pub file: PathBuf,
    #[command(flatten)]
    pub formats: DefinitionArgs,
}

/// Formats that files define.
#[derive(Debug, Args)]
pub struct DefinitionArgs {
    /// Take the formats that a file defines (`format NAME(..) := ..`, one a line); once for each file
    #[arg(long = "formats", value_name = "PATH")]
    pub formats: Vec<PathBuf>,
}

/// Values of symbols.
#[derive(Debug, Args)]
pub struct SymbolArgs {
    /// The value of a symbol; once for each
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE", value_parser = symbol_value)]
    pub params: Vec<(String, i64)>,
}

/// Number of threads.
#[derive(Debug, Args)]
pub struct ThreadArgs {
    /// Threads for parallel loops; 1 compiles without OpenMP [default: one for each core]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
}

/// How convolutions go over sparse tensors.
#[derive(Debug, Args)]
pub struct WalkingArgs {
    /// How loops go over the stored elements that a subscript of several iterators (a convolution) reaches; for
    /// comparison [default: subsections]
    #[arg(long, value_name = "STRATEGY")]
    pub walking: Option<Strategy>,
}

/// How loops go over sparse levels with sums in their subscripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// Only where something is stored within reach
    Subsections,
    /// Over all of the result, with the window of what is within reach carried along
    Search,
    /// Over all of the result and of the filter, each element searched for
    Locate,
}

impl WalkingArgs {
    /// How dynamic tensors are read, with indices of this width.
    pub fn iteration(&self, indices: Indices) -> Iteration {
        let walking = match self.walking.unwrap_or(Strategy::Subsections) {
            Strategy::Subsections => Walking::Subsections,
            Strategy::Search => Walking::Search,
            Strategy::Locate => Walking::Locate,
        };
        Iteration { indices, walking, ..Iteration::default() }
    }
}

/// Which schedules hold.
#[derive(Debug, Args)]
pub struct ScheduleArgs {
    /// Take the `schedule:` line of a file [default: FILE with the extension .schedule if it is there, else the
    /// program's own]
    #[arg(long, value_name = "PATH")]
    pub schedule: Option<PathBuf>,
    /// Ignore schedules: everything is chosen by the model of the machine
    #[arg(long, conflicts_with = "schedule")]
    pub no_schedule: bool,
}

/// What is to be seen of the passes over loops.
#[derive(Clone, Copy, Debug, Args)]
pub struct PassArgs {
    /// Show on standard error how long each pass over the loops took
    #[arg(long)]
    pub time_passes: bool,
    /// Verify the loops after each pass (slow; a violation is a defect of dastac)
    #[arg(long)]
    pub verify_ir: bool,
}

/// `NAME=VALUE`.
fn symbol_value(text: &str) -> Result<(String, i64), String> {
    let form = "write `NAME=VALUE`, such as `-p N=512`, once for each symbol";
    let (name, value) = text.split_once('=').ok_or_else(|| format!("there is no `=`; {form}"))?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err(format!("there is no name; {form}"));
    }
    if value.is_empty() {
        return Err(format!("there is no value; {form}"));
    }
    match value.parse() {
        Ok(value) => Ok((name.into(), value)),
        Err(error) => Err(match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                format!("`{value}` does not fit 64 bits")
            }
            _ => format!("`{value}` is not an integer; {form}"),
        }),
    }
}

/// The beginning of a C name.
pub fn prefix(text: &str) -> Result<String, String> {
    if is_prefix(text) {
        return Ok(text.into());
    }
    Err("no C name begins like this; use letters, digits and `_`, not a digit first".into())
}

/// Reads `NAME=PATH`, whatever bytes the path has.
pub fn named_path() -> impl TypedValueParser<Value = (String, PathBuf)> {
    OsStringValueParser::new().try_map(|text| {
        let form = "write `NAME=PATH`, such as `B=b.npy`";
        let bytes = text.as_bytes();
        let at = bytes.iter().position(|byte| *byte == b'=').ok_or(form)?;
        let (name, path) = (std::str::from_utf8(&bytes[..at]).map_err(|_| form)?, &bytes[at + 1..]);
        if name.trim().is_empty() || path.is_empty() {
            return Err(form);
        }
        Ok((name.trim().to_owned(), OsStr::from_bytes(path).into()))
    })
}

/// Examples of `formats`.
pub const FORMATS_EXAMPLES: &str = "Examples:
  dastac formats
  dastac formats --formats my.fmt
  dastac formats show 'sell(2, 4)' --input small.mtx --svg sell.svg
  dastac formats sizes a.mtx b.mtx --format 'bdia(50)' --format auto";

/// The arguments of `formats`.
#[derive(Debug, Args)]
pub struct FormatsArgs {
    #[command(flatten)]
    pub definitions: DefinitionArgs,
    #[command(subcommand)]
    pub action: Option<FormatsAction>,
}

/// What `formats` does beside listing them.
#[derive(Debug, Subcommand)]
pub enum FormatsAction {
    /// Draw how a small tensor is stored: the tree of its levels, its arrays and their bytes
    Show(ShowArgs),
    /// Say how many bytes for each entry tensors take in all formats, or in those that are given
    Sizes(SizesArgs),
}

/// The arguments of `formats sizes`.
#[derive(Debug, Args)]
pub struct SizesArgs {
    /// Files of tensors of one rank
    #[arg(required = true, value_name = "PATH")]
    pub inputs: Vec<PathBuf>,
    /// A format beside the first one, which is `csr` or `csf`: a name, a code, levels, or parts; may be repeated
    #[arg(long = "format", value_name = "FORMAT")]
    pub chosen: Vec<String>,
    #[command(flatten)]
    pub definitions: DefinitionArgs,
}

/// The arguments of `formats show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The format: a name, a code, levels, or parts, `hybrid(..)`
    pub format: String,
    /// The file of the tensor
    #[arg(long, value_name = "PATH")]
    pub input: PathBuf,
    /// Write an image too
    #[arg(long, value_name = "PATH")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub definitions: DefinitionArgs,
}
