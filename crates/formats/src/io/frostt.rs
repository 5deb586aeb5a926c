//! FROSTT files (`.tns`): a line for each entry, its coordinates and its value, all separated by spaces. `#` begins a
//! comment. A complex value is one word, `1.5-2i`; where the first value is such a one, all are complex.
//!
//! Nothing says the shape, so it is that of the largest coordinates, unless it is given, or the first line is
//! `# shape EXTENT ..`, which is what is written here.

use std::io::{BufRead, Write};

use super::numbers::{Words, is_complex, print_integer, print_value};
use super::text::{Ends, Header, lines, write_parts};
use super::{Contents, Data, Fault, Hint, ReadOptions, WriteError};
use crate::storage::Entries;
use dastac_elements::{Complex, Native, Storage};

/// Reads a tensor.
pub fn read(reader: &mut (dyn BufRead + Send), options: &ReadOptions) -> Result<Contents, Fault> {
    let mut header = Header { reader, lines: 0 };
    let mut shape = options.shape.clone();
    let mut first = Vec::new();
    while first.is_empty() {
        let Some(line) = header.line()? else { break };
        match line.strip_prefix('#') {
            None => first = line.into_bytes(),
            Some(comment) if header.lines == 1 && shape.is_none() => {
                shape = shape_of(comment, header.lines)?;
            }
            Some(_) => {}
        }
    }
    // Every line has as many words as the first one.
    let words = std::str::from_utf8(&first).map_or(0, |line| line.split_whitespace().count());
    let given = shape.as_ref().map(Vec::len);
    let rank = match (given, words) {
        (Some(rank), 0) => rank,
        (None, 0) => {
            return Err(
                Fault::new("it has no entries, so nothing says its shape").hint(Hint::Shape)
            );
        }
        (_, words) => words - usize::from(!options.pattern),
    };
    if rank == 0 || given.is_some_and(|given| given != rank) {
        let wanted = given.unwrap_or(1);
        let value = if options.pattern { "" } else { " and a value" };
        let what = format!("{words} words on a line are not {wanted} coordinates{value}");
        return Err(Fault::at(header.lines, what));
    }
    let last = first.split(|byte| byte.is_ascii_whitespace()).rfind(|word| !word.is_empty());
    let start = Start { rank, options, shape, first: &first };
    match last.is_some_and(is_complex) && !options.pattern {
        true => read_values::<Complex<f64>>(header, start, |words| words.complex()),
        false => read_values::<f64>(header, start, |words| words.float()),
    }
}

/// What is known when the first entry was read.
struct Start<'a> {
    rank: usize,
    options: &'a ReadOptions,
    shape: Option<Vec<u64>>,
    /// The line of the first entry; empty if there are none.
    first: &'a [u8],
}

/// Reads all entries, their values as `read` does.
fn read_values<T: Native>(
    header: Header<'_>,
    start: Start<'_>,
    read: fn(&mut Words<'_>) -> Option<T>,
) -> Result<Contents, Fault> {
    let Start { rank, options, shape, first } = start;
    let parser = Parser { rank, options, shape: shape.as_deref(), read };
    let mut largest = vec![0; rank];
    let mut coordinates = Vec::new();
    let (mut values, mut entries) = (Vec::new(), 0);
    let mut take = |part: Part<T>| {
        for (largest, coordinate) in largest.iter_mut().zip(part.largest) {
            *largest = coordinate.max(*largest);
        }
        coordinates.extend(part.coordinates);
        values.extend(part.values);
        entries += part.entries;
        Ok(())
    };
    let (part, _) =
        parser.parse(first).map_err(|fault| Fault { line: Some(header.lines), ..fault })?;
    take(part)?;
    header.blocks(Ends::Line, |block| parser.parse(block), take)?;
    let shape = match shape {
        Some(shape) => shape,
        None => largest,
    };
    let values = match options.pattern {
        true => Storage::from(vec![true; entries]),
        false => Storage::from(values),
    };
    let about = match (options.pattern, values.element().is_complex()) {
        (true, _) => "FROSTT, pattern",
        (false, true) => "FROSTT, complex",
        (false, false) => "FROSTT",
    };
    Ok(Contents {
        data: Data::Entries(Entries::new(shape, coordinates, values)?),
        about: about.into(),
    })
}

/// `shape 3 4 5`.
fn shape_of(comment: &str, line: u64) -> Result<Option<Vec<u64>>, Fault> {
    let Some(extents) = comment.trim().strip_prefix("shape ") else { return Ok(None) };
    let mut words = Words(extents.as_bytes());
    let mut shape = Vec::new();
    while !words.is_empty() {
        match words.unsigned() {
            Some(extent) => shape.push(extent),
            None => {
                return Err(Fault::at(
                    line,
                    format!("an extent is {}, not a number", words.shown()),
                ));
            }
        }
    }
    Ok(Some(shape))
}

struct Part<T> {
    coordinates: Vec<u64>,
    /// One more than the largest coordinates.
    largest: Vec<u64>,
    /// Numbers; none of a pattern.
    values: Vec<T>,
    entries: usize,
}

struct Parser<'a, T> {
    rank: usize,
    options: &'a ReadOptions,
    shape: Option<&'a [u64]>,
    read: fn(&mut Words<'_>) -> Option<T>,
}

impl<T> Parser<'_, T> {
    fn parse(&self, block: &[u8]) -> Result<(Part<T>, u64), Fault> {
        let mut coordinates = Vec::with_capacity(block.len() / 4);
        let mut largest = vec![0u64; self.rank];
        let mut values = Vec::new();
        let mut entries = 0;
        let mut count = 0;
        for (line, text) in lines(block) {
            count = line;
            let mut words = Words(text);
            if words.is_empty() || words.0[0] == b'#' {
                continue;
            }
            for (dimension, largest) in largest.iter_mut().enumerate() {
                let coordinate = self.coordinate(&mut words, line, dimension)?;
                *largest = coordinate.saturating_add(1).max(*largest);
                coordinates.push(coordinate);
            }
            if !self.options.pattern {
                let missing = words.is_empty();
                values.push((self.read)(&mut words).ok_or_else(|| {
                    if missing {
                        return Fault::at(line, "the value is missing");
                    }
                    Fault::at(line, format!("the value is {}, not a number", words.shown()))
                })?);
            }
            if !words.is_empty() {
                return Err(Fault::at(
                    line,
                    format!("there is {} behind the entry", words.shown()),
                ));
            }
            entries += 1;
        }
        Ok((Part { coordinates, largest, values, entries }, count))
    }

    fn coordinate(&self, words: &mut Words<'_>, line: u64, dimension: usize) -> Result<u64, Fault> {
        let which = dimension + 1;
        let base = u64::from(!self.options.zero_based);
        let extent = self.shape.map_or(u64::MAX - 1, |shape| shape[dimension]);
        match words.unsigned() {
            Some(0) if base == 1 => {
                Err(Fault::at(line, format!("coordinate {which} is 0, but they count from 1"))
                    .hint(Hint::ZeroBased))
            }
            Some(number) if number - base < extent => Ok(number - base),
            Some(number) => {
                let what = format!("coordinate {which} is {number}, beyond the extent {extent}");
                Err(Fault::at(line, what))
            }
            None if words.is_empty() => {
                Err(Fault::at(line, format!("coordinate {which} is missing")))
            }
            None => Err(Fault::at(
                line,
                format!("coordinate {which} is {}, not an integer", words.shown()),
            )
            .hint(Hint::Pattern)),
        }
    }
}

/// Writes a tensor, its shape in a comment.
pub fn write(entries: &Entries, zero_based: bool, out: &mut dyn Write) -> Result<(), WriteError> {
    let shape: Vec<String> = entries.shape().iter().map(u64::to_string).collect();
    writeln!(out, "# shape {}", shape.join(" "))?;
    let base = u64::from(!zero_based);
    write_parts(entries.len(), out, &|at, text| {
        for coordinate in entries.at(at) {
            print_integer(coordinate + base, text);
            text.push(b' ');
        }
        if let Some(value) = entries.values().get(at) {
            print_value(value, text);
        }
        text.push(b'\n');
    })
}
