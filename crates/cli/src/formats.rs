//! `dastac formats`, and files that define formats.

use std::fmt::Write;
use std::path::PathBuf;

use dastac::formats::format::Definitions;
use dastac::stur::collisions::collision;

use super::args::DefinitionArgs;
use super::failure::Failure;
use super::source::reason;
use super::{Outcome, Result, output};

/// Lists the formats that files define, and those with names.
pub fn formats(args: &DefinitionArgs) -> Result<Outcome> {
    output::stdout(text(&definitions(args)?).as_bytes())?;
    Ok(Outcome::Done)
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
