//! `A:F := auto`: a format that is chosen when a file is read.

use std::path::PathBuf;

use dastac::formats::Format;
use dastac::formats::format::is_automatic;
use dastac::formats::inspect::{Choice, choose};
use dastac::human;
use dastac::stur::ast::{FormatItem, Item};
use dastac::stur::parse;

use super::args::ReadingArgs;
use super::data_file::DataFile;
use super::source::Source;
use super::{Result, Terminal, tensors};

/// The program with formats for the inputs that leave the choice to what their files hold; a note says which.
pub fn chosen(
    terminal: &Terminal,
    mut source: Source,
    inputs: &[(String, PathBuf)],
    reading: &ReadingArgs,
) -> Result<Source> {
    let (file, _) = parse(&source.text);
    let items = file.items.iter().filter_map(|item| match item {
        Item::Format(item) if is_automatic(&item.format.text) => Some(item),
        _ => None,
    });
    let items: Vec<&FormatItem> = items.collect();
    // From the last one on, so that the places of those before stay.
    for item in items.into_iter().rev() {
        let name = &item.tensor.text;
        let Some((_, path)) = inputs.iter().find(|(input, _)| input == name) else { continue };
        let reading = tensors::reading(reading, name);
        let contents = tensors::read(path, &reading.options)?;
        let file = DataFile::new(path, &reading.options);
        let failed = |error| file.failure(error);
        let coo = Format::coo(contents.shape().len());
        let tensor = contents.tensor(&coo, reading.build).map_err(failed)?;
        let Choice { format, bytes, plain } = choose(&tensor).map_err(failed)?;
        let (bytes, rows) = (human(bytes), human(plain.1));
        let beside = match format == plain.0 {
            true => String::new(),
            false => format!("; {} would take {rows}", plain.0),
        };
        terminal
            .renderer
            .note(&format!("`{name}:F := auto` is {format}, which takes {bytes}{beside}"));
        let span = item.format.span;
        source.text.replace_range(span.start..span.end, &format.to_string());
    }
    Ok(source)
}
