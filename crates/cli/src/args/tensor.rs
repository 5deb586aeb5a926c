//! Flags of `convert` and `inspect`: files of tensors.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use dastac::elements::Element;

use super::shared::DefinitionArgs;

pub const CONVERT_EXAMPLES: &str = "\
Examples:
  dastac convert examples/ring.mtx ring.npz
  dastac convert bcsstk13.mtx.gz bcsstk13.npz
  dastac convert graph.mtx graph.npz --format csc --type f32
  dastac convert layer.smtx layer.mtx
  dastac convert scan.tns scan.tns.gz --zero-based --pattern --shape 512,512,64";

pub const INSPECT_EXAMPLES: &str = "\
Examples:
  dastac inspect examples/ring.mtx
  dastac inspect bcsstk13.mtx.gz --no-plot
  dastac inspect nations.tns --format 'compressed(k), compressed(i), dense(j)'
  dastac inspect bcsstk13.mtx.gz --query 'count (i, j) -> (i / 50, j - i)'
  dastac inspect layer.smtx --svg layer.svg --png layer.png";

/// A file of a tensor, and how it is read.
#[derive(Debug, Args)]
pub struct TensorArgs {
    /// The file; the end of its name says what it is
    pub file: PathBuf,
    #[command(flatten)]
    pub lists: ListArgs,
    /// The extents of the tensor in a .tns file [default: those of its largest coordinates]
    #[arg(long, value_name = "EXTENT,..", value_delimiter = ',')]
    pub shape: Option<Vec<u64>>,
    /// What several entries of one element become
    #[arg(long, value_name = "RULE", default_value = "sum")]
    pub duplicates: DuplicateRule,
}

/// What `.tns` files look like, which do not say it themselves.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Coordinates in .tns files count from 0, not from 1
    #[arg(long)]
    pub zero_based: bool,
    /// Lines of a .tns file are coordinates without a value
    #[arg(long)]
    pub pattern: bool,
}

/// What several entries of one element become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DuplicateRule {
    /// Their sum; of truth values, whether any is true
    Sum,
    /// The last one
    Last,
    /// An error
    Refuse,
}

/// The types of elements, each with what it is.
fn element_types() -> impl TypedValueParser<Value = Element> {
    let value = |element: &Element| PossibleValue::new(element.name()).help(element.about());
    PossibleValuesParser::new(Element::OF_TENSORS.iter().map(value))
        .try_map(|name| Element::named(&name).ok_or("there is no such type"))
}

/// What `convert` needs.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    #[command(flatten)]
    pub tensor: TensorArgs,
    /// What to write; the end of its name says what it is
    pub output: PathBuf,
    /// Extents of another box with as many elements, which stand in the same order: columns of a matrix become several
    /// dimensions
    #[arg(long, value_name = "EXTENT,..", value_delimiter = ',')]
    pub reshape: Option<Vec<u64>>,
    /// The format to store the tensor in, which is what a .npz file has, and the order of entries in others: a name
    /// (csr, csc, coo, bcsr(4, 4), ..; `dastac formats` lists them), a code (DCC), or its levels
    #[arg(long, visible_alias = "to", value_name = "FORMAT")]
    pub format: Option<String>,
    #[command(flatten)]
    pub definitions: DefinitionArgs,
    /// The type of the elements [default: that of the file]
    #[arg(long = "type", value_name = "TYPE", value_parser = element_types())]
    pub element: Option<Element>,
}

/// What `inspect` needs.
#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(flatten)]
    pub tensor: TensorArgs,
    /// Also show what the tensor takes in this format
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    #[command(flatten)]
    pub definitions: DefinitionArgs,
    /// Only print this of each group of entries: `count (i, j) -> (i / 50, j - i)`; also max, min, sum, any
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["format", "no_plot", "svg", "png"])]
    pub query: Option<String>,
    /// Leave the picture out
    #[arg(long)]
    pub no_plot: bool,
    /// Write the picture as an SVG file
    #[arg(long, value_name = "PATH")]
    pub svg: Option<PathBuf>,
    /// Write the picture as a PNG file
    #[arg(long, value_name = "PATH")]
    pub png: Option<PathBuf>,
}
