//! Text in blocks: one thread reads (and decompresses), all parse.

use std::io::{BufRead, Read, Write};
use std::sync::mpsc::sync_channel;

use rayon::prelude::*;

use super::{Fault, WriteError};

/// Bytes of a block. Long enough that handing it over costs nothing, short enough that all of them stay in the caches.
const BLOCK: usize = 1 << 19;

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

impl Ends {
    fn is_end(self, byte: u8) -> bool {
        byte == b'\n' || matches!(self, Ends::Word) && byte.is_ascii_whitespace()
    }
}

/// Reads the lines of a header.
pub struct Header<'r> {
    /// The text behind the lines that were read.
    pub reader: &'r mut (dyn BufRead + Send),
    /// How many lines were read.
    pub lines: u64,
}

impl Header<'_> {
    /// The next line without its end; nothing at the end of the text.
    pub fn line(&mut self) -> Result<Option<String>, Fault> {
        let mut bytes = Vec::new();
        (&mut *self.reader).take(MAX_LINE).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.lines += 1;
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

    /// Parses the rest in blocks, in parallel, and hands over the results in order. A fault's line counts within its
    /// block, and `parse` returns how many lines its block has. Gives the number of all lines.
    pub fn blocks<T: Send>(
        self,
        ends: Ends,
        parse: impl Fn(&[u8]) -> Result<(T, u64), Fault> + Sync,
        mut take: impl FnMut(T) -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        let threads = rayon::current_num_threads();
        let Header { reader, mut lines } = self;
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel(2 * threads);
            scope.spawn(move || {
                let mut rest = Vec::new();
                loop {
                    let block = next_block(reader, &mut rest, ends);
                    let last = !matches!(&block, Ok(Some(_)));
                    // Nobody listens any more after a fault.
                    if send.send(block.transpose()).is_err() || last {
                        return;
                    }
                }
            });
            let mut open = true;
            while open {
                let mut batch: Vec<Vec<u8>> = Vec::new();
                let mut failed = None;
                while batch.len() < threads {
                    match receive.recv() {
                        Ok(Some(Ok(block))) => batch.push(block),
                        Ok(Some(Err(error))) => {
                            failed = Some(error);
                            break;
                        }
                        Ok(None) | Err(_) => {
                            open = false;
                            break;
                        }
                    }
                }
                let parsed: Vec<_> = batch.par_iter().map(|block| parse(block)).collect();
                for result in parsed {
                    let (part, count) = result.map_err(|fault| Fault {
                        line: fault.line.map(|line| line + lines),
                        ..fault
                    })?;
                    lines += count;
                    take(part)
                        .map_err(|fault| Fault { line: fault.line.or(Some(lines)), ..fault })?;
                }
                if let Some(error) = failed {
                    return Err(Fault { line: Some(lines + 1), ..Fault::from(error) });
                }
            }
            Ok(lines)
        })
    }
}

/// The next bytes up to an end, and what follows it in `rest`.
fn next_block(
    reader: &mut dyn BufRead,
    rest: &mut Vec<u8>,
    ends: Ends,
) -> std::io::Result<Option<Vec<u8>>> {
    let mut block = std::mem::take(rest);
    loop {
        let before = block.len();
        block.reserve(BLOCK);
        let read = reader.take(BLOCK as u64).read_to_end(&mut block)?;
        if read == 0 {
            return Ok((!block.is_empty()).then_some(block));
        }
        if let Some(end) = block[before..].iter().rposition(|byte| ends.is_end(*byte)) {
            *rest = block.split_off(before + end + 1);
            return Ok(Some(block));
        }
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
