//! Text: a header line by line, the rest in blocks by several threads; and text that several threads write.

use std::fs::File;
use std::io::{BufRead, Read, Write};

use rayon::prelude::*;

use super::ranges::{Rest, blocks};
use super::{Fault, WriteError};

/// No line of a header is longer.
const MAX_LINE: u64 = 1 << 20;

/// What a block ends with.
#[derive(Clone, Copy)]
pub enum Ends {
    /// A whole line.
    Line,
    /// A whole word.
    Word,
}

/// Where text can be read at any place.
#[derive(Clone, Copy)]
pub enum Origin<'r> {
    /// In a file.
    File(&'r File),
    /// In memory.
    Bytes(&'r [u8]),
    /// Nowhere: it is read once, from the begin to the end.
    Stream,
}

/// Reads the lines of a header.
pub struct Header<'r> {
    /// The text behind the lines that were read.
    reader: &'r mut (dyn BufRead + Send),
    origin: Origin<'r>,
    /// How many lines were read.
    pub lines: u64,
    /// Their bytes.
    offset: u64,
}

impl<'r> Header<'r> {
    /// Begins with the first line of `reader`, which reads what stands in `origin`.
    pub fn new(reader: &'r mut (dyn BufRead + Send), origin: Origin<'r>) -> Header<'r> {
        Header { reader, origin, lines: 0, offset: 0 }
    }

    /// The next line without its end; nothing at the end of the text.
    pub fn line(&mut self) -> Result<Option<String>, Fault> {
        let mut bytes = Vec::new();
        (&mut *self.reader).take(MAX_LINE).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.lines += 1;
        self.offset += bytes.len() as u64;
        if bytes.len() as u64 == MAX_LINE && bytes.last() != Some(&b'\n') {
            return Err(Fault::at(self.lines, "a line of the header is longer than 1 MiB"));
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.strip_prefix('\u{feff}').filter(|_| self.lines == 1).unwrap_or(&line);
        Ok(Some(line.trim().to_string()))
    }

    /// The next line that is neither empty nor a comment, which begins with `comment`.
    pub fn content(&mut self, comment: char) -> Result<Option<String>, Fault> {
        loop {
            match self.line()? {
                Some(line) if line.is_empty() || line.starts_with(comment) => {}
                other => return Ok(other),
            }
        }
    }

    /// How many bytes follow, if that is known.
    pub fn bytes_left(&self) -> Option<u64> {
        let all = match self.origin {
            Origin::File(file) => file.metadata().ok()?.len(),
            Origin::Bytes(all) => all.len() as u64,
            Origin::Stream => return None,
        };
        Some(all.saturating_sub(self.offset))
    }

    /// Room for entries: as many as are claimed, but not more than bytes that follow can hold, if each takes so many.
    pub fn room(&self, claimed: u128, bytes: u64) -> usize {
        let possible = self.bytes_left().map_or(0, |left| left.div_ceil(bytes.max(1)));
        usize::try_from(claimed.min(u128::from(possible))).unwrap_or(0)
    }

    /// Parses the rest in blocks, in parallel, and hands over the results in order: [`blocks`].
    pub fn blocks<T: Default + Send>(
        self,
        ends: Ends,
        parse: impl Fn(&[u8], &mut T) -> Result<u64, Fault> + Sync,
        take: impl FnMut(&mut T) -> Result<(), Fault> + Send,
    ) -> Result<u64, Fault> {
        let rest = match self.origin {
            Origin::Stream => Rest::Stream(self.reader),
            Origin::File(file) => Rest::File(file, self.offset),
            Origin::Bytes(all) => {
                let offset = usize::try_from(self.offset).unwrap_or(all.len());
                Rest::Bytes(&all[offset.min(all.len())..])
            }
        };
        blocks(rest, self.lines, ends, parse, take)
    }
}

/// The lines of a block, numbered from 1.
pub fn lines(block: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut start = 0;
    let mut number = 0;
    let mut ends = memchr::memchr_iter(b'\n', block);
    std::iter::from_fn(move || {
        if start >= block.len() {
            return None;
        }
        let end = ends.next().unwrap_or(block.len());
        let line = &block[start..end];
        start = end + 1;
        number += 1;
        Some((number, line))
    })
}

/// The coordinates of the element of a box with this number, in C order.
pub fn place_of(number: usize, shape: &[u64], element: &mut [u64]) {
    let mut rest = number as u64;
    for (at, extent) in element.iter_mut().zip(shape).rev() {
        // There are elements, so no extent is 0.
        *at = rest % extent;
        rest /= extent;
    }
}

/// Entries that one thread writes at once.
const PART: usize = 1 << 14;

/// Writes entries as text, parts of them at a time in parallel.
pub fn write_parts(
    count: usize,
    out: &mut dyn Write,
    print: &(dyn Fn(usize, &mut Vec<u8>) + Sync),
) -> Result<(), WriteError> {
    let parts = count.div_ceil(PART);
    let threads = rayon::current_num_threads();
    for first in (0..parts).step_by(threads) {
        let texts: Vec<Vec<u8>> = (first..parts.min(first + threads))
            .into_par_iter()
            .map(|part| {
                let mut text = Vec::with_capacity(PART * 24);
                (part * PART..count.min((part + 1) * PART)).for_each(|at| print(at, &mut text));
                text
            })
            .collect();
        texts.iter().try_for_each(|text| out.write_all(text))?;
    }
    Ok(())
}
