//! `dastac formats`, and files that define formats.

use std::fmt::Write;
use std::path::PathBuf;

use dastac::formats::format::Definitions;
use dastac::formats::inspect::tree;
use dastac::formats::io::ReadOptions;
use dastac::formats::{Build, Format};
use dastac::stur::collisions::collision;

use super::args::{DefinitionArgs, FormatsAction, FormatsArgs, ShowArgs};
use super::data_file::DataFile;
use super::failure::Failure;
use super::source::reason;
use super::{Outcome, Result, output, tensors};

/// Lists the formats that files define, and those with names; or shows one.
pub fn formats(args: &FormatsArgs) -> Result<Outcome> {
    match &args.action {
        Some(FormatsAction::Show(args)) => show(args)?,
        None => output::stdout(text(&definitions(&args.definitions)?).as_bytes())?,
    }
    Ok(Outcome::Done)
}

/// Shows how a tensor is stored.
fn show(args: &ShowArgs) -> Result<()> {
    let options = ReadOptions::default();
    let file = DataFile::new(&args.input, &options);
    let failed = |error| file.failure(error);
    let contents = tensors::read(&args.input, &options)?;
    let (rank, known) = (contents.shape().len(), definitions(&args.definitions)?);
    let build = Build::default();
    let all = match tensors::hybrid(&args.format, rank, &known)? {
        Some(hybrid) => {
            let whole = contents.tensor(&Format::csf(rank), build).map_err(failed)?;
            whole.decompose(&hybrid, build).map_err(failed)?
        }
        None => {
            let format = tensors::format(&args.format, rank, &known)?;
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
