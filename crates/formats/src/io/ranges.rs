//! Text read by several threads at once, each the byte ranges that it takes in turn, handed over in order.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Fault;
use super::text::Ends;

/// Bytes of a block. Long enough that handing it over costs nothing, short enough that it and what is made of it stay
/// in a core's cache.
const BLOCK: usize = 1 << 18;

/// Bytes that are read beyond a block at first, where its last line ends.
const BEYOND: usize = 1 << 12;

/// The text of a file behind its header.
pub enum Rest<'r> {
    /// It comes one block after the other, from a pipe or out of a compressed file.
    Stream(&'r mut (dyn BufRead + Send)),
    /// It can be read at any place: blocks begin at this offset.
    File(&'r File, u64),
    /// It is in memory.
    Bytes(&'r [u8]),
}

/// A block of whole lines (or words), and where blocks go on.
enum Source<'r> {
    Stream { reader: &'r mut (dyn BufRead + Send), rest: Vec<u8> },
    Places { place: Place<'r>, next: u64, length: u64 },
}

#[derive(Clone, Copy)]
enum Place<'r> {
    File(&'r File),
    Bytes(&'r [u8]),
}

/// What threads take from, in order.
struct Supply<'r> {
    source: Source<'r>,
    /// How many blocks were taken.
    taken: usize,
    ended: bool,
}

/// What threads hand over to, in order.
struct Receipt<F> {
    take: F,
    /// How many blocks were handed over.
    done: usize,
    /// Lines so far, those of the header too.
    lines: u64,
    fault: Option<Fault>,
}

/// Parses text in blocks, in parallel, and hands over the results in order. A fault's line counts within its block, and
/// `parse` returns how many lines its block has; `before` are before the first. What is handed over may be used again
/// for a later block. Gives the number of all lines.
pub fn blocks<T: Default + Send>(
    rest: Rest<'_>,
    before: u64,
    ends: Ends,
    parse: impl Fn(&[u8], &mut T) -> Result<u64, Fault> + Sync,
    take: impl FnMut(&mut T) -> Result<(), Fault> + Send,
) -> Result<u64, Fault> {
    let source = match rest {
        Rest::Stream(reader) => Source::Stream { reader, rest: Vec::new() },
        Rest::File(file, next) => {
            let length = file.metadata()?.len();
            Source::Places { place: Place::File(file), next, length }
        }
        Rest::Bytes(all) => {
            Source::Places { place: Place::Bytes(all), next: 0, length: all.len() as u64 }
        }
    };
    let supply = Mutex::new(Supply { source, taken: 0, ended: false });
    let receipt = Mutex::new(Receipt { take, done: 0, lines: before, fault: None });
    let turn = Condvar::new();
    let work = || {
        let (mut block, mut part) = (Vec::new(), T::default());
        while let Some((number, piece)) = next_piece(&supply, &mut block, ends) {
            let parsed = match piece.and_then(|piece| piece.whole(&mut block, ends)) {
                Ok(text) => parse(text, &mut part),
                Err(error) => Err(Fault { line: Some(1), ..Fault::from(error) }),
            };
            let mut receipt = lock(&receipt);
            while receipt.done < number {
                receipt = turn.wait(receipt).unwrap_or_else(PoisonError::into_inner);
            }
            if !receipt.hand_over(parsed, &mut part) {
                lock(&supply).ended = true;
            }
            turn.notify_all();
        }
    };
    rayon::scope(|scope| {
        for _ in 0..rayon::current_num_threads() {
            scope.spawn(|_| work());
        }
    });
    let receipt = receipt.into_inner().unwrap_or_else(PoisonError::into_inner);
    receipt.fault.map_or(Ok(receipt.lines), Err)
}

impl<F> Receipt<F> {
    /// Takes over what a block gave; whether more is wanted.
    fn hand_over<T>(&mut self, parsed: Result<u64, Fault>, part: &mut T) -> bool
    where
        F: FnMut(&mut T) -> Result<(), Fault>,
    {
        self.done += 1;
        if self.fault.is_some() {
            return false;
        }
        let lines = self.lines;
        let taken = parsed.and_then(|count| {
            self.lines += count;
            (self.take)(part).map_err(|fault| match fault.line {
                None => Fault { line: Some(self.lines - lines), ..fault },
                Some(_) => fault,
            })
        });
        let at = |fault: Fault| Fault { line: fault.line.map(|line| line + lines), ..fault };
        self.fault = taken.err().map(at);
        self.fault.is_none()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic leaves behind is not read: the panic goes on.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is to be made a block of.
enum Piece<'r> {
    /// The block was read already.
    Read,
    /// A range of the text's bytes, whose lines begin in it.
    Range { place: Place<'r>, from: u64, to: u64 },
}

/// The next piece with its number; of a stream, it is read to `block`. Nothing at the end.
fn next_piece<'r>(
    supply: &Mutex<Supply<'r>>,
    block: &mut Vec<u8>,
    ends: Ends,
) -> Option<(usize, io::Result<Piece<'r>>)> {
    let mut supply = lock(supply);
    if supply.ended {
        return None;
    }
    let piece = match &mut supply.source {
        Source::Stream { reader, rest } => match next_block(*reader, rest, block, ends) {
            Ok(true) => Ok(Piece::Read),
            Ok(false) => return None,
            Err(error) => {
                supply.ended = true;
                Err(error)
            }
        },
        Source::Places { next, length, .. } if *next >= *length => return None,
        Source::Places { place, next, length } => {
            let from = *next;
            *next = (from + BLOCK as u64).min(*length);
            Ok(Piece::Range { place: *place, from, to: *next })
        }
    };
    supply.taken += 1;
    Some((supply.taken - 1, piece))
}

impl<'r> Piece<'r> {
    /// The whole lines that begin in the piece.
    fn whole<'b>(self, block: &'b mut Vec<u8>, ends: Ends) -> io::Result<&'b [u8]>
    where
        'r: 'b,
    {
        let (place, from, to) = match self {
            Piece::Read => return Ok(block),
            Piece::Range { place, from, to } => (place, from, to),
        };
        // A line begins behind an end: that may be the last byte of the range before.
        let start = from.saturating_sub(1);
        let all = match place {
            Place::Bytes(all) => &all[usize_of(start)..],
            Place::File(file) => {
                let wanted = usize_of(to - start);
                read_at(file, start, block, wanted + BEYOND)?;
                let mut filled = block.len();
                // A line without an end in sight: it is read to its end, but only where it begins.
                while filled >= wanted
                    && (from == 0 || first_end(&block[..wanted - 1], ends).is_some())
                    && first_end(&block[wanted - 1..], ends).is_none()
                {
                    read_at(file, start, block, 2 * filled)?;
                    if block.len() < 2 * filled {
                        break;
                    }
                    filled = block.len();
                }
                &block[..]
            }
        };
        let inside = usize_of(to - start).min(all.len());
        let begin = match from {
            0 => 0,
            _ => match first_end(&all[..inside.saturating_sub(1)], ends) {
                Some(end) => end + 1,
                None => return Ok(&[]),
            },
        };
        let last = inside.saturating_sub(1);
        let end = first_end(&all[last..], ends).map_or(all.len(), |end| last + end + 1);
        Ok(&all[begin..end])
    }
}

/// What is inside of memory, or of a block.
#[allow(clippy::cast_possible_truncation)]
fn usize_of(bytes: u64) -> usize {
    bytes as usize
}

fn first_end(text: &[u8], ends: Ends) -> Option<usize> {
    match ends {
        Ends::Line => memchr::memchr(b'\n', text),
        Ends::Word => text.iter().position(u8::is_ascii_whitespace),
    }
}

/// Fills a block from a place of a file; it is shorter only where the file ends.
fn read_at(file: &File, offset: u64, block: &mut Vec<u8>, length: usize) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    block.resize(length, 0);
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut block[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    block.truncate(filled);
    Ok(())
}

/// Reads the next bytes up to the end of a line or word, and what follows it to `rest`; whether there were any.
fn next_block(
    reader: &mut dyn BufRead,
    rest: &mut Vec<u8>,
    block: &mut Vec<u8>,
    ends: Ends,
) -> io::Result<bool> {
    block.clear();
    block.append(rest);
    loop {
        let before = block.len();
        block.reserve(BLOCK);
        let read = reader.take(BLOCK as u64).read_to_end(block)?;
        if read == 0 {
            return Ok(!block.is_empty());
        }
        let end = match ends {
            Ends::Line => memchr::memrchr(b'\n', &block[before..]),
            Ends::Word => block[before..].iter().rposition(u8::is_ascii_whitespace),
        };
        if let Some(end) = end {
            rest.extend_from_slice(&block[before + end + 1..]);
            block.truncate(before + end + 1);
            return Ok(true);
        }
    }
}
