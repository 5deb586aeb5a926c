//! FROSTT files (`.tns`): a line for each entry, its coordinates and its value, all separated by spaces. `#` begins a
//! comment. A complex value is one word, `1.5-2i`; where the first value is such a one, all are complex. Where a value
//! is an integer that floats of 64 bits round, and all are integers, they are of 64 bits; else all are floats.
//!
//! Nothing says the shape, so it is that of the largest coordinates, unless it is given, or the first line is
//! `# shape EXTENT ..`, which is what is written here.

use std::io::Write;

use super::cursor::Cursor;
use super::numbers::{Integer, Words, is_complex, number_of, print_integer, print_value};
use super::text::{Ends, Header, place_of, write_parts};
use super::{Contents, Data, Fault, Hint, ReadOptions, WriteError};
use crate::storage::Entries;
use dastac_elements::{Complex, Element, Native, Storage, View};

/// Reads a tensor.
pub fn read(mut header: Header<'_>, options: &ReadOptions) -> Result<Contents, Fault> {
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
    let rank = match (given.or(options.rank), words) {
        (Some(rank @ 1..), 0) => rank,
        (_, 0) => {
            return Err(
                Fault::new("it has no entries, so nothing says its shape").hint(Hint::Shape)
            );
        }
        (_, words) => words - usize::from(!options.pattern),
    };
    if rank == 0 || given.is_some_and(|given| given != rank) {
        let wanted = given.unwrap_or(1);
        let value = if options.pattern { "" } else { " and a value" };
        let words = match words {
            1 => "1 word on a line is".into(),
            words => format!("{words} words on a line are"),
        };
        let wanted = number_of(wanted as u128, "coordinate", "coordinates");
        let what = format!("{words} not {wanted}{value}");
        return Err(Fault::at(header.lines, what));
    }
    let last = first.split(|byte| byte.is_ascii_whitespace()).rfind(|word| !word.is_empty());
    let start = Start { rank, options, shape, first: &first };
    match last.is_some_and(is_complex) && !options.pattern {
        true => read_values::<Complex<f64>>(header, start),
        false => read_values::<f64>(header, start),
    }
}

/// No coordinate is larger where nothing says the extents: an extent is one more.
const MOST: u64 = u64::MAX - 1;

/// What is known when the first entry was read.
struct Start<'a> {
    rank: usize,
    options: &'a ReadOptions,
    shape: Option<Vec<u64>>,
    /// The line of the first entry; empty if there are none.
    first: &'a [u8],
}

/// A type of values.
trait Value: Native {
    /// Reads a value.
    fn read(words: &mut Words<'_>) -> Option<Self>;

    /// Reads a value that is written in the usual form.
    fn read_usual(cursor: &mut Cursor<'_>) -> Option<Self>;

    /// Whether an integer so large may have been rounded.
    fn is_large(self) -> bool;

    /// The values as integers of 64 bits, if all are, with those in place of which others were read.
    fn integers(values: &[Self], exact: &[(usize, i64)]) -> Option<Vec<i64>>;
}

impl Value for f64 {
    fn read(words: &mut Words<'_>) -> Option<f64> {
        words.float()
    }

    fn read_usual(cursor: &mut Cursor<'_>) -> Option<f64> {
        cursor.blank()?;
        cursor.float()
    }

    fn is_large(self) -> bool {
        self.abs() >= EXACT
    }

    fn integers(values: &[f64], exact: &[(usize, i64)]) -> Option<Vec<i64>> {
        if exact.is_empty() {
            return None;
        }
        let mut exact = exact.iter().peekable();
        let whole = |(at, value): (usize, &f64)| match exact.next_if(|(other, _)| *other == at) {
            Some((_, value)) => Some(*value),
            None => (value.trunc() == *value && value.abs() < EXACT).then_some(*value as i64),
        };
        values.iter().enumerate().map(whole).collect()
    }
}

/// All integers below it are floats.
const EXACT: f64 = (1u64 << 53) as f64;

impl Value for Complex<f64> {
    fn read(words: &mut Words<'_>) -> Option<Complex<f64>> {
        words.complex()
    }

    fn read_usual(_: &mut Cursor<'_>) -> Option<Complex<f64>> {
        None
    }

    fn is_large(self) -> bool {
        false
    }

    fn integers(_: &[Complex<f64>], _: &[(usize, i64)]) -> Option<Vec<i64>> {
        None
    }
}

/// Reads all entries.
fn read_values<T: Value>(header: Header<'_>, start: Start<'_>) -> Result<Contents, Fault> {
    let Start { rank, options, shape, first } = start;
    let parser = Parser { rank, options, shape: shape.as_deref() };
    let mut largest = vec![0; rank];
    let mut coordinates = Vec::new();
    let (mut values, mut exact, mut entries) = (Vec::new(), Vec::new(), 0);
    let mut take = |part: &mut Part<T>| {
        for (largest, coordinate) in largest.iter_mut().zip(&part.largest) {
            *largest = (*coordinate).max(*largest);
        }
        coordinates.extend_from_slice(&part.coordinates);
        exact.extend(part.exact.iter().map(|(at, value)| (values.len() + at, *value)));
        values.extend_from_slice(&part.values);
        entries += part.entries;
        Ok(())
    };
    let mut part = Part::default();
    let (lines, of_first) = (header.lines, parser.parse(first, &mut part));
    of_first.map_err(|fault| Fault { line: Some(lines), ..fault })?;
    take(&mut part)?;
    header.blocks(Ends::Line, |block, part| parser.parse(block, part), take)?;
    let (shape, guessed) = match shape {
        Some(shape) => (shape, false),
        None => (largest, true),
    };
    let values = match options.pattern {
        true => Storage::from(vec![true; entries]),
        false => match T::integers(&values, &exact) {
            Some(integers) => Storage::from(integers),
            None => Storage::from(values),
        },
    };
    let about = match (options.pattern, values.element()) {
        (true, _) => "FROSTT, pattern",
        (false, Element::I64) => "FROSTT, integer",
        (false, element) if element.is_complex() => "FROSTT, complex",
        (false, _) => "FROSTT",
    };
    Ok(Contents {
        data: Data::Entries(Entries::checked(shape, coordinates, values)),
        about: about.into(),
        guessed,
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

#[derive(Default)]
struct Part<T> {
    coordinates: Vec<u64>,
    /// One more than the largest coordinates.
    largest: Vec<u64>,
    /// Numbers; none of a pattern.
    values: Vec<T>,
    /// Integers that were rounded, by the numbers of their values.
    exact: Vec<(usize, i64)>,
    entries: usize,
}

impl<T: Value> Part<T> {
    /// Adds a value that was read at the beginning of a text.
    fn push(&mut self, value: T, text: &[u8]) {
        if value.is_large()
            && let Some(integer) = Words(text).signed()
        {
            self.exact.push((self.values.len(), integer));
        }
        self.values.push(value);
    }
}

struct Parser<'a> {
    rank: usize,
    options: &'a ReadOptions,
    shape: Option<&'a [u64]>,
}

impl Parser<'_> {
    fn parse<T: Value>(&self, block: &[u8], part: &mut Part<T>) -> Result<u64, Fault> {
        part.coordinates.clear();
        part.values.clear();
        part.exact.clear();
        part.largest.clear();
        part.largest.resize(self.rank, 0);
        let mut cursor = Cursor { rest: block };
        let mut line = 0;
        while !cursor.rest.is_empty() {
            line += 1;
            let (mut usual, before) = (cursor, part.coordinates.len());
            if self.usual_entry(&mut usual, part).is_some() {
                cursor = usual;
            } else {
                part.coordinates.truncate(before);
                self.any_entry(cursor.line(), line, part)?;
            }
        }
        part.entries = part.coordinates.len() / self.rank.max(1);
        for entry in part.coordinates.chunks_exact(self.rank.max(1)) {
            for (largest, coordinate) in part.largest.iter_mut().zip(entry) {
                *largest = coordinate.saturating_add(1).max(*largest);
            }
        }
        Ok(line)
    }

    /// The entry of a line that has the usual form and nothing wrong.
    fn usual_entry<T: Value>(&self, cursor: &mut Cursor<'_>, part: &mut Part<T>) -> Option<()> {
        let base = u64::from(!self.options.zero_based);
        for dimension in 0..self.rank {
            if dimension > 0 {
                cursor.blank()?;
            }
            let coordinate = cursor.unsigned()?.wrapping_sub(base);
            let extent = self.shape.map_or(MOST, |shape| shape[dimension]);
            part.coordinates.push(Some(coordinate).filter(|coordinate| *coordinate < extent)?);
        }
        if self.options.pattern {
            return cursor.line_end();
        }
        let word = cursor.rest;
        let value = T::read_usual(cursor)?;
        cursor.line_end()?;
        part.push(value, word);
        Some(())
    }

    /// The entry of a line, unless that is empty or a comment.
    fn any_entry<T: Value>(&self, text: &[u8], line: u64, part: &mut Part<T>) -> Result<(), Fault> {
        let mut words = Words(text);
        if words.is_empty() || words.0[0] == b'#' {
            return Ok(());
        }
        for dimension in 0..self.rank {
            part.coordinates.push(self.coordinate(&mut words, line, dimension)?);
        }
        if !self.options.pattern {
            let missing = words.is_empty();
            let word = words.0;
            let value = T::read(&mut words).ok_or_else(|| {
                if missing {
                    return Fault::at(line, "the value is missing");
                }
                Fault::at(line, format!("the value is {}, not a number", words.shown()))
            })?;
            part.push(value, word);
        }
        if !words.is_empty() {
            return Err(Fault::at(line, format!("there is {} behind the entry", words.shown())));
        }
        Ok(())
    }

    fn coordinate(&self, words: &mut Words<'_>, line: u64, dimension: usize) -> Result<u64, Fault> {
        let which = dimension + 1;
        let base = u64::from(!self.options.zero_based);
        let extent = self.shape.map_or(MOST, |shape| shape[dimension]);
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
            None => {
                let shown = words.shown();
                let fault =
                    |what: &str| Fault::at(line, format!("coordinate {which} is {shown}, {what}"));
                Err(match words.integer() {
                    Some(Integer::Negative) => fault("which is negative"),
                    Some(Integer::TooLarge) => fault("which does not fit 64 bits"),
                    _ if self.options.pattern && which == self.rank => {
                        fault("not an integer").hint(Hint::Values)
                    }
                    _ => fault("not an integer"),
                })
            }
        }
    }
}

/// Writes the elements of a dense array that are not zero.
pub fn write_dense(
    shape: &[u64],
    values: View<'_>,
    zero_based: bool,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    write_shape(shape, out)?;
    let base = u64::from(!zero_based);
    write_parts(values.len(), out, &|at, text| {
        let Some(value) = values.get(at).filter(|value| !value.number().is(0.0)) else { return };
        let mut element = vec![0; shape.len()];
        place_of(at, shape, &mut element);
        for coordinate in element {
            print_integer(coordinate + base, text);
            text.push(b' ');
        }
        print_value(value, text);
        text.push(b'\n');
    })
}

fn write_shape(shape: &[u64], out: &mut dyn Write) -> Result<(), WriteError> {
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    Ok(writeln!(out, "# shape {}", extents.join(" "))?)
}

/// Writes a tensor, its shape in a comment.
pub fn write(entries: &Entries, zero_based: bool, out: &mut dyn Write) -> Result<(), WriteError> {
    write_shape(entries.shape(), out)?;
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
