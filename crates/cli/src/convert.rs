//! `dastac convert`.

use dastac::formats::format::is_automatic;
use dastac::formats::inspect::choose;
use dastac::formats::io::FileKind;
use dastac::formats::storage::product;
use dastac::formats::{Format, Tensor};
use dastac::human;

use super::args::ConvertArgs;
use super::data_file::DataFile;
use super::formats::definitions;
use super::progress::Progress;
use super::{Outcome, Result, Terminal, output, tensors};

/// Reads a tensor and writes it as another file.
pub fn convert(terminal: &Terminal, args: &ConvertArgs) -> Result<Outcome> {
    super::watchdog::stop();
    let kind = tensors::kind_of(&args.output)?;
    let options = tensors::options(&args.tensor);
    let build = tensors::build(&args.tensor);
    let (from, to) = (args.tensor.file.display().to_string(), args.output.display().to_string());
    let progress = Progress::new(terminal.interactive);
    progress.stage(format!("reading {from}"));
    let contents = tensors::read(&args.tensor.file, &options)?;
    let rank = args.reshape.as_ref().map_or(contents.shape().len(), Vec::len);
    let file = DataFile::new(&args.tensor.file, &options);
    let stored = |error| file.failure(error);
    let whole = |format: &Format| match &args.reshape {
        None => contents.tensor(format, build),
        Some(shape) => {
            let entries = contents.tensor(&Format::coo(contents.shape().len()), build);
            let entries = entries.and_then(|tensor| tensor.to_entries()?.reshaped(shape.clone()));
            Tensor::from_entries(&entries?, format, build)
        }
    };
    let asked = match &args.format {
        Some(text) if is_automatic(text) => {
            let entries = whole(&Format::coo(rank)).map_err(stored)?;
            Some(choose(&entries, true).map_err(stored)?.format)
        }
        asked => asked.clone(),
    };
    let hybrid = match &asked {
        Some(text) => tensors::hybrid(text, rank, &definitions(&args.definitions)?)?,
        None => None,
    };
    let format = match &asked {
        Some(_) if hybrid.is_some() => Format::csf(rank),
        Some(text) => tensors::format(text, rank, &definitions(&args.definitions)?)?,
        None if kind == FileKind::Levels && args.reshape.is_none() => contents.natural_format(),
        None if kind == FileKind::Npy => Format::dense(rank),
        None if rank == 2 => Format::csr(),
        None => Format::csf(rank),
    };
    progress.stage("converting");
    let mut tensor = whole(&format).map_err(stored)?;
    tensors::note_merged(&terminal.renderer, &from, &contents, &tensor);
    drop(contents);
    if let Some(element) = args.element {
        let read = tensor.values().element().name();
        let keep = format!("`--type {read}` keeps it");
        tensor = tensor.cast(element).map_err(|error| stored(error).hint(keep))?;
    }
    progress.stage(format!("writing {to}"));
    if let Some(hybrid) = &hybrid {
        let parts = tensor.decompose(hybrid, build).map_err(stored)?;
        tensors::write_parts(&args.output, kind, hybrid, &parts)?;
        drop(progress);
        let parts: Vec<String> = parts.iter().map(|part| summary(&to, part)).collect();
        output::stdout(parts.concat().as_bytes())?;
        return Ok(Outcome::Done);
    }
    tensors::write(&args.output, kind, &tensor, &options, build)?;
    drop(progress);
    output::stdout(summary(&to, &tensor).as_bytes())?;
    Ok(Outcome::Done)
}

fn summary(name: &str, tensor: &Tensor) -> String {
    let entries = match tensor.entry_count() {
        1 => "1 entry".to_string(),
        many => format!("{many} entries"),
    };
    format!(
        "{name}: {}, {} of type {}, stored as {} in {}\n",
        product(tensor.shape()),
        entries,
        tensor.values().element(),
        tensor.format(),
        human(tensor.bytes())
    )
}
