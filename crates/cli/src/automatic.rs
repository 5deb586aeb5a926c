//! `A:F := auto`: a format that is chosen when a file is read.

use std::path::PathBuf;

use dastac::formats::Format;
use dastac::formats::format::is_automatic;
use dastac::formats::inspect::{Choice, choose};
use dastac::human;
use dastac::stur::affine::visit_names;
use dastac::stur::ast::{Aspect, FormatItem, Item, RuleItem, Term};
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
        let along = goes_along(&file.items, name);
        let file = DataFile::new(path, &reading.options);
        let failed = |error| file.failure(error);
        let coo = Format::coo(contents.shape().len());
        let tensor = contents.tensor(&coo, reading.build).map_err(failed)?;
        let Choice { format, bytes, plain } = choose(&tensor, along).map_err(failed)?;
        let (bytes, rows) = (human(bytes), human(plain.1));
        let beside = match format == plain.0.to_string() {
            true => String::new(),
            false => format!("; {} would take {rows}", plain.0),
        };
        terminal
            .renderer
            .note(&format!("`{name}:F := auto` is {format}, which takes {bytes}{beside}"));
        let span = item.format.span;
        source.text.replace_range(span.start..span.end, &format);
    }
    Ok(source)
}

/// Whether all rules that read a tensor are products whose loops go over nothing but its elements, into a result
/// without a format: only there loops go along its diagonals.
fn goes_along(items: &[Item], name: &str) -> bool {
    let has_format = |rule: &RuleItem| {
        let of =
            |item: &Item| matches!(item, Item::Format(one) if one.tensor.text == rule.tensor.text);
        items.iter().any(of)
    };
    let symbols = items.iter().flat_map(|item| match item {
        Item::Symbols(names, _) => names.as_slice(),
        _ => &[],
    });
    let symbols: Vec<&str> = symbols.map(|symbol| symbol.text.as_str()).collect();
    let rules = items.iter().filter_map(|item| match item {
        Item::Rule(rule) if rule.aspect == Aspect::Value && reads(&rule.body, name) => Some(rule),
        _ => None,
    });
    let mut rules = rules.peekable();
    rules.peek().is_some() && rules.all(|rule| !has_format(rule) && is_along(rule, name, &symbols))
}

/// Whether a tensor is read in a term.
fn reads(term: &Term, name: &str) -> bool {
    matches!(term, Term::Access { tensor, .. } if tensor.text == name)
        || term.parts().iter().any(|part| reads(part, name))
}

fn is_along(rule: &RuleItem, name: &str, symbols: &[&str]) -> bool {
    let factors = match &rule.body {
        Term::Product(factors, _) => factors.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut own = Vec::new();
    let mut all: Vec<&str> = rule.iterators.iter().map(|iterator| iterator.text.as_str()).collect();
    for factor in factors {
        let (tensor, subscripts) = match factor {
            Term::Access { tensor, subscripts, position: None, .. } => (tensor, subscripts),
            Term::Number { .. } => continue,
            _ => return false,
        };
        for subscript in subscripts {
            visit_names(subscript, &mut |iterator, _| {
                if tensor.text == name {
                    own.push(iterator);
                }
                if !symbols.contains(&iterator) {
                    all.push(iterator);
                }
            });
        }
    }
    all.iter().all(|iterator| own.contains(iterator))
}
