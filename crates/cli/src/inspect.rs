//! `dastac inspect`.

use std::fmt::Write;
use std::path::Path;

use dastac::formats::format::{Hybrid, Query, is_automatic};
use dastac::formats::inspect::{
    Answer, Facts, MatrixFacts, NoOrder, Picture, Spread, Spy, Symmetry, choose, groups,
};
use dastac::formats::storage::product;
use dastac::formats::{Build, Entries, Format, StorageError, Tensor};
use dastac::human;

use super::args::InspectArgs;
use super::data_file::DataFile;
use super::failure::Failure;
use super::formats::definitions;
use super::progress::Progress;
use super::table::table;
use super::{Outcome, Result, Terminal, output, tensors};

/// Dots of the plot in the terminal, in each direction: 80 columns hold it.
const DOTS: usize = 120;

/// Cells of a picture, in each direction.
const CELLS: usize = 512;

/// Shows what a file holds.
pub fn inspect(terminal: &Terminal, args: &InspectArgs) -> Result<Outcome> {
    super::watchdog::stop();
    let name = args.tensor.file.display().to_string();
    let progress = Progress::new(terminal.interactive);
    progress.stage(format!("reading {name}"));
    let options = tensors::options(&args.tensor);
    let file = DataFile::new(&args.tensor.file, &options);
    let contents = tensors::read(&args.tensor.file, &options)?;
    let build = tensors::build(&args.tensor);
    progress.stage("counting");
    let failed = |error| file.failure(error);
    let rank = contents.shape().len();
    // Formats without dense levels take no more than the entries do, whatever the shape is.
    let tensor = contents.tensor(&Format::coo(rank), build).map_err(failed)?;
    tensors::note_merged(&terminal.renderer, &name, &contents, &tensor);
    if let Some(query) = &args.query {
        let query = tensors::query(query, rank)?;
        let text = answers(&query, &tensor.to_entries().map_err(failed)?)?;
        drop(progress);
        output::stdout(text.as_bytes())?;
        return Ok(Outcome::Done);
    }
    let definitions = definitions(&args.definitions)?;
    let asked = match &args.format {
        Some(text) if is_automatic(text) => Some(choose(&tensor, true).map_err(failed)?.format),
        asked => asked.clone(),
    };
    let hybrid =
        asked.as_ref().map(|text| tensors::hybrid(text, rank, &definitions)).transpose()?;
    let hybrid = hybrid.flatten();
    let asked = asked.as_ref().filter(|_| hybrid.is_none());
    let asked = asked.map(|text| tensors::format(text, rank, &definitions)).transpose()?;
    let facts = Facts::of(&tensor).map_err(failed)?;
    let mut text = format!("{name}: {}\n", contents.about);
    text += &facts_of(&tensor, &facts);
    text += &spreads(&facts);
    text += &storage(&tensor, (asked.as_ref(), hybrid.as_ref()), build);
    let entries = tensor.to_entries().map_err(failed)?;
    if !args.no_plot && rank > 0 {
        let spy = Spy::new(&entries, DOTS);
        let _ = write!(text, "\n{}{}", spy.braille(), caption(&spy, rank));
    }
    if args.svg.is_some() || args.png.is_some() {
        progress.stage("drawing");
        let spy = Spy::new(&entries, CELLS);
        if let Some(path) = &args.svg {
            let image = spy.svg(&name);
            output::file(path, &mut |out| out.write_all(image.as_bytes()))?;
        }
        if let Some(path) = &args.png {
            write_png(path, &spy.picture(CELLS))?;
        }
    }
    drop(progress);
    output::stdout(text.as_bytes())?;
    Ok(Outcome::Done)
}

/// A row for each group that has entries.
fn answers(query: &Query, entries: &Entries) -> Result<String> {
    let word = query.aggregate.word();
    let found = groups(query, entries).map_err(|NoOrder| {
        let message = format!("query: complex numbers have no `{word}`");
        Failure::user(message).hint("`count`, `sum` and `any` are for all types of elements")
    })?;
    let mut headings: Vec<String> =
        query.groups.iter().map(|expr| format!(">{}", expr.text(&query.names))).collect();
    headings.push(format!(">{word}"));
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let rows = found.into_iter().map(|group| {
        let mut row: Vec<String> = group.key.iter().map(i128::to_string).collect();
        row.push(match group.answer {
            Answer::Integer(value) => value.to_string(),
            Answer::Float(value) => number(value),
            Answer::Complex(value) => value.to_string(),
            Answer::Truth(value) => value.to_string(),
        });
        row
    });
    Ok(table(&headings, rows.collect()))
}

fn line(text: &mut String, label: &str, what: &str) {
    let _ = writeln!(text, "  {label:10}  {what}");
}

fn facts_of(tensor: &Tensor, facts: &Facts) -> String {
    let mut text = String::new();
    line(&mut text, "shape", &product(tensor.shape()));
    let density = facts.density.map_or(String::new(), |density| match density {
        0.0 => ", the tensor is zero".into(),
        density if density >= 1e-4 => format!(", {:.3}% of the elements", density * 100.0),
        density => format!(", {:.2e} of the elements", density),
    });
    line(&mut text, "entries", &format!("{}{density}", facts.entries));
    let element = tensor.values().element();
    let values = facts.values.map_or(String::new(), |values| {
        let range = if values.least <= values.largest {
            let what = if element.is_complex() { "magnitudes " } else { "" };
            format!(", {what}from {} to {}", number(values.least), number(values.largest))
        } else {
            String::new()
        };

        let zeros =
            if values.zeros > 0 { format!(", {} of them 0", values.zeros) } else { String::new() };
        let odd = if values.not_finite > 0 {
            format!(", {} infinite or not a number", values.not_finite)
        } else {
            String::new()
        };
        range + &zeros + &odd
    });
    line(&mut text, "values", &format!("{element}{values}"));
    if let Some(matrix) = &facts.matrix {
        line(&mut text, "structure", &structure(matrix, facts));
        line(
            &mut text,
            "bandwidth",
            &format!(
                "{} below, {} above the diagonal",
                matrix.lower_bandwidth, matrix.upper_bandwidth
            ),
        );
    }
    text
}

/// Six digits are enough to look at.
fn number(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value}");
    }
    if (1e-3..1e6).contains(&value.abs()) {
        return format!("{value:.4}");
    }
    let text = format!("{value:.4e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        None => text,
    }
}

fn structure(matrix: &MatrixFacts, facts: &Facts) -> String {
    let symmetry = match matrix.symmetry {
        None => "not square",
        Some(Symmetry::Symmetric) => "symmetric",
        Some(Symmetry::Skew) => "skew-symmetric",
        Some(Symmetry::Pattern) => "symmetric pattern, other values",
        Some(Symmetry::None) => "not symmetric",
    };
    let shape = match (matrix.lower_bandwidth, matrix.upper_bandwidth) {
        _ if facts.entries == 0 => "",
        (0, 0) => ", diagonal",
        (0, _) => ", upper triangular",
        (_, 0) => ", lower triangular",
        _ => "",
    };
    format!("{symmetry}{shape}")
}

/// How entries are spread over each dimension.
fn spreads(facts: &Facts) -> String {
    if facts.spreads.is_empty() {
        return String::new();
    }
    let names: Vec<String> = match facts.matrix {
        Some(_) => vec!["rows".into(), "columns".into()],
        None => dastac::formats::format::default_names(facts.spreads.len()),
    };
    let rows = facts.spreads.iter().zip(&names).map(|(spread, name)| {
        // Shown, not computed with.
        #[allow(clippy::cast_precision_loss)]
        let mean = facts.entries as f64 / spread.extent.max(1) as f64;
        vec![
            name.clone(),
            spread.extent.to_string(),
            (spread.extent - spread.used).to_string(),
            spread.least.to_string(),
            spread.median.to_string(),
            if mean >= 0.01 || facts.entries == 0 {
                format!("{mean:.2}")
            } else {
                format!("{mean:.1e}")
            },
            spread.most.to_string(),
        ]
    });
    let headings =
        ["entries per slice", ">slices", ">empty", ">least", ">median", ">mean", ">most"];
    let mut text = format!("\n{}", table(&headings, rows.collect()));
    if facts.matrix.is_some() && facts.entries > 0 {
        text += &histogram(&facts.spreads[0]);
    }
    text
}

/// How many rows have so many entries, a line for each power of two.
fn histogram(spread: &Spread) -> String {
    let empty = spread.extent - spread.used;
    let mut bars: Vec<(String, u64)> = Vec::new();
    if empty > 0 {
        bars.push(("0".into(), empty));
    }
    let first = spread.powers.iter().position(|count| *count > 0).unwrap_or(0);
    for (power, count) in spread.powers.iter().enumerate().skip(first) {
        let (low, high) = (1u64 << power, (1u64 << power) * 2 - 1);
        bars.push((if low == high { low.to_string() } else { format!("{low}-{high}") }, *count));
    }
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let rows = bars.into_iter().map(|(range, count)| {
        // At most 40.
        let length = usize::try_from(u128::from(count) * 40 / u128::from(most)).unwrap_or(40);
        let bar = if count > 0 { "#".repeat(length.max(1)) } else { String::new() };
        vec![range, count.to_string(), bar]
    });
    format!("\n{}", table(&[">entries", ">rows", ""], rows.collect()))
}

/// What the tensor takes in several formats.
fn storage(
    tensor: &Tensor,
    (asked, hybrid): (Option<&Format>, Option<&Hybrid>),
    build: Build,
) -> String {
    let rank = tensor.shape().len();
    let names: &[&str] =
        if rank == 2 { &["csr", "csc", "dcsr", "coo", "dense"] } else { &["csf", "coo", "dense"] };
    let mut formats: Vec<Format> =
        names.iter().filter_map(|name| Format::named(name, rank)).collect();
    if let Some(asked) = asked.filter(|asked| !formats.contains(asked)) {
        formats.insert(0, asked.clone());
    }
    let size = |made: std::result::Result<u64, StorageError>| match made {
        Ok(bytes) => human(bytes),
        Err(StorageError::Memory { bytes, .. }) => {
            format!("{} at least, more than there is", human(bytes))
        }
        Err(error) => error.to_string(),
    };
    let parts = hybrid.map(|hybrid| {
        let parts = tensor.decompose(hybrid, build);
        let bytes = parts.map(|parts| parts.iter().map(Tensor::bytes).sum());
        vec![hybrid.to_string(), size(bytes)]
    });
    let rows = formats.iter().map(|format| {
        let dense = format.above_blocks().is_empty();
        let bytes = if dense {
            // What is known without making it.
            let width = tensor.values().element().bytes();
            let elements = tensor
                .shape()
                .iter()
                .fold(1u128, |product, extent| product.saturating_mul(u128::from(*extent)));
            human(elements.saturating_mul(width as u128))
        } else {
            size(tensor.convert(format, build).map(|converted| converted.bytes()))
        };
        vec![format.to_string(), bytes]
    });
    let rows = parts.into_iter().chain(rows);
    format!("\n{}", table(&["format", ">bytes"], rows.collect()))
}

fn caption(spy: &Spy, rank: usize) -> String {
    let [rows, columns] = spy.extents;
    let cell = |extent: u64, cells: usize| extent.div_ceil((cells as u64).max(1)).max(1);
    let (height, width) = (cell(rows, spy.height), cell(columns, spy.width));
    let of = match (height, width) {
        (1, 1) => "an element".to_string(),
        _ => format!("up to {height} x {width} elements"),
    };
    let slices = if rank > 2 { " of the first two dimensions, entries of all others" } else { "" };
    format!("a dot is {of}{slices}\n")
}

fn write_png(path: &Path, picture: &Picture) -> Result<()> {
    output::file(path, &mut |out| {
        // An image without pixels is none.
        let (width, height) = (picture.width.max(1), picture.height.max(1));
        let blank = [255];
        let grey = if picture.grey.is_empty() { &blank[..] } else { &picture.grey };
        let mut encoder = png::Encoder::new(out, width, height);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(std::io::Error::from)?;
        writer.write_image_data(grey).map_err(std::io::Error::from)?;
        writer.finish().map_err(std::io::Error::from)
    })
}
