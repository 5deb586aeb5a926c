//! `dastac formats`, and files that define formats.

use std::fmt::Write;
use std::path::PathBuf;

use dastac::formats::format::{Definitions, is_automatic};
use dastac::formats::inspect::{choose, tree};
use dastac::formats::io::ReadOptions;
use dastac::formats::{Build, Format, StorageError, Tensor};
use dastac::stur::collisions::collision;

use super::args::{DefinitionArgs, FormatsAction, FormatsArgs, ShowArgs, SizesArgs};
use super::data_file::DataFile;
use super::failure::Failure;
use super::source::reason;
use super::table::table;
use super::{Outcome, Result, output, tensors};

/// Lists the formats that files define, and those with names; or shows one.
pub fn formats(args: &FormatsArgs) -> Result<Outcome> {
    match &args.action {
        Some(FormatsAction::Show(args)) => show(args)?,
        Some(FormatsAction::Sizes(args)) => sizes(args)?,
        None => output::stdout(text(&definitions(&args.definitions)?).as_bytes())?,
    }
    Ok(Outcome::Done)
}

/// Formats whose sizes are shown where none is given, of matrices; numbers are usual ones.
const OF_MATRICES: &[&str] = &[
    "coo",
    "csc",
    "dcsr",
    "dcsc",
    "dense(i), compressed(j, u16)",
    "dense(i), compressed(j / 256), compressed(j % 256, u8)",
    "bcsr(2, 2)",
    "bcsr(4, 4)",
    "bcsc(4, 4)",
    "bdcsr(4, 4)",
    "bcoo(4, 4)",
    "dia",
    "dia_v",
    "bdia(64)",
    "hybrid(bdia(64) where count(i / 64, j - i) >= 36, csr)",
    "ell",
    "bell(4, 4)",
    "hyb",
    "sell(8, 64)",
    "jds",
    "c2sr(16)",
    "cisr(16)",
    "cisr_plus(16)",
    "csb(256, 256)",
    "csb_csr(256, 256)",
    "csb_dcsr(256, 256)",
    "hicoo(16)",
    "dense(i), bitmap(j)",
    "auto",
];

/// The same, of other tensors.
const OF_TENSORS: &[&str] = &["coo", "hicoo(8)", "hicoo(16)", "dense"];

/// What takes more bytes than so many times those of the first format has no number in the table.
const MOST: u64 = 64;

/// A row for each format: what an entry of each tensor takes.
fn sizes(args: &SizesArgs) -> Result<()> {
    let options = ReadOptions::default();
    let known = definitions(&args.definitions)?;
    let mut headings = vec!["format".to_owned()];
    let mut columns: Vec<Vec<String>> = Vec::new();
    let mut formats: Vec<String> = Vec::new();
    let mut rank = None;
    for path in &args.inputs {
        let file = DataFile::new(path, &options);
        let contents = tensors::read(path, &options)?;
        let own = contents.shape().len();
        if *rank.get_or_insert(own) != own {
            let message = format!("`{}` has another rank than the file before it", path.display());
            return Err(Failure::user(message).hint("compare tensors of one rank at a time"));
        }
        let first = if own == 2 { Format::csr() } else { Format::csf(own) };
        if formats.is_empty() {
            let usual = if own == 2 { OF_MATRICES } else { OF_TENSORS };
            formats = vec![first.to_string()];
            match args.chosen.is_empty() {
                true => formats.extend(usual.iter().map(|text| (*text).to_owned())),
                false => formats.extend(args.chosen.iter().cloned()),
            }
        }
        let tensor = contents.tensor(&first, Build::default());
        let tensor = tensor.map_err(|error| file.failure(error))?;
        let name = path
            .file_name()
            .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
        headings.push(format!(">{name}"));
        let cells = formats.iter().map(|text| size(text, &tensor, &known));
        columns.push(cells.collect::<Result<_>>()?);
    }
    let rows = formats.iter().enumerate().map(|(at, text)| {
        let cells = columns.iter().map(|column| column[at].clone());
        [text.clone()].into_iter().chain(cells).collect()
    });
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    output::stdout(table(&headings, rows.collect()).as_bytes())
}

/// The format that `auto` is for a tensor.
fn automatic(text: &str, tensor: &Tensor) -> Result<Option<String>> {
    let failed = |error: StorageError| Failure::user(format!("`auto`: {error}"));
    let choice = is_automatic(text).then(|| choose(tensor, true)).transpose().map_err(failed)?;
    Ok(choice.map(|choice| choice.format))
}

/// How many bytes each entry takes in a format.
fn size(text: &str, tensor: &Tensor, known: &Definitions) -> Result<String> {
    let rank = tensor.shape().len();
    let chosen = automatic(text, tensor)?;
    let text = chosen.as_deref().unwrap_or(text);
    let memory = tensor.bytes().saturating_mul(MOST);
    let build = Build { padding: None, memory, ..Build::default() };
    let made = match tensors::hybrid(text, rank, known)? {
        Some(hybrid) => tensor.decompose(&hybrid, build),
        None => tensor.convert(&tensors::format(text, rank, known)?, build).map(|one| vec![one]),
    };
    let bytes: u64 = match made {
        Ok(parts) => parts.iter().map(Tensor::bytes).sum(),
        Err(StorageError::Memory { .. }) => return Ok(format!("> {MOST}x")),
        Err(StorageError::Width { .. }) => return Ok("-".into()),
        Err(error) => return Err(Failure::user(format!("`{text}`: {error}"))),
    };
    // Sizes are shown, not computed with.
    #[allow(clippy::cast_precision_loss)]
    let each = bytes as f64 / tensor.entry_count() as f64;
    Ok(if each.is_finite() { format!("{each:.1}") } else { format!("{bytes} in all") })
}

/// Shows how a tensor is stored.
fn show(args: &ShowArgs) -> Result<()> {
    let options = ReadOptions::default();
    let file = DataFile::new(&args.input, &options);
    let failed = |error| file.failure(error);
    let contents = tensors::read(&args.input, &options)?;
    let (rank, known) = (contents.shape().len(), definitions(&args.definitions)?);
    let build = Build::default();
    let chosen = match is_automatic(&args.format) {
        true => {
            automatic(&args.format, &contents.tensor(&Format::coo(rank), build).map_err(failed)?)?
        }
        false => None,
    };
    let format = chosen.as_ref().unwrap_or(&args.format);
    let all = match tensors::hybrid(format, rank, &known)? {
        Some(hybrid) => {
            let whole = contents.tensor(&Format::csf(rank), build).map_err(failed)?;
            whole.decompose(&hybrid, build).map_err(failed)?
        }
        None => {
            let format = tensors::format(format, rank, &known)?;
            vec![contents.tensor(&format, build).map_err(failed)?]
        }
    };
    let texts: Vec<String> = all.iter().map(tree::text).collect();
    output::stdout(texts.join("\n").as_bytes())?;
    if let Some(path) = &args.svg {
        for (at, tensor) in all.iter().enumerate() {
            let numbered = path.with_extension(format!("{at}.svg"));
            let path = if all.len() == 1 { path } else { &numbered };
            tensors::through(path, &mut |out| Ok(out.write_all(tree::svg(tensor).as_bytes())?))?;
        }
    }
    Ok(())
}

fn text(definitions: &Definitions) -> String {
    let width = definitions.iter().map(|found| found.head().len()).max().unwrap_or(0);
    let mut text = String::new();
    for found in definitions.iter() {
        let _ = writeln!(text, "{:width$}  {}", found.head(), found.body());
        if !found.about.is_empty() {
            let _ = writeln!(text, "{:width$}  {}", "", found.about);
        }
    }
    text
}

/// The formats that files define.
pub fn definitions(args: &DefinitionArgs) -> Result<Definitions> {
    let mut all = Definitions::default();
    for path in &args.formats {
        read(path, &mut all)?;
    }
    Ok(all)
}

fn read(path: &PathBuf, all: &mut Definitions) -> Result<()> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::user(format!("cannot read `{name}`: {}", reason(&error))))?;
    all.read(&text).map_err(|error| {
        let line = 1 + text[..error.span.start].matches('\n').count();
        let shown = text.get(error.span.clone()).unwrap_or_default();
        let message = format!("{name}:{line}: {}", error.message);
        let failure = Failure::user(match shown {
            "" => message,
            shown => format!("{message}: `{shown}`"),
        });
        match error.map.as_ref().and_then(collision).or(error.hint) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}
