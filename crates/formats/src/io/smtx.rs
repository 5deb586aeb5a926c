//! Files of the Deep Learning Matrix Collection (`.smtx`): the pattern of a matrix, `rows, columns, entries` on a line,
//! then where each row begins, then the columns of all entries, from 0.

use std::io::Write;

use super::cursor::Cursor;
use super::numbers::{Words, print_integer};
use super::text::{Ends, Header, write_parts};
use super::{Contents, Data, Fault, WriteError};
use crate::storage::{Entries, Indices, Tensor};
use dastac_elements::Storage;

/// Reads a pattern.
pub fn read(mut header: Header<'_>) -> Result<Contents, Fault> {
    let first = header.line()?.unwrap_or_default();
    let sizes: Option<Vec<u64>> = first.split(',').map(|word| word.trim().parse().ok()).collect();
    let [rows, columns, claimed] = sizes.as_deref().unwrap_or_default() else {
        return Err(Fault::at(
            1,
            format!("the first line must hold rows, columns and entries, not `{}`", shown(&first)),
        )
        .hint("such as `512, 1024, 5243`"));
    };
    let wanted = u128::from(*rows) + 1 + u128::from(*claimed);
    // A number takes at least a digit and a blank.
    let mut numbers: Vec<u64> = Vec::with_capacity(header.room(wanted, 2));
    let last = header.blocks(Ends::Word, parse, |part: &mut Vec<u64>| {
        numbers.extend_from_slice(part);
        if numbers.len() as u128 > wanted {
            let what = format!("there are more numbers than the {wanted} of the first line");
            return Err(Fault::new(what));
        }
        Ok(())
    })?;
    if (numbers.len() as u128) < wanted {
        let found = numbers.len();
        return Err(Fault::at(last.max(1), format!("it ends after {found} of {wanted} numbers")));
    }
    // As many numbers were read, so it fits memory.
    let entries = numbers.split_off(numbers.len() - usize::try_from(*claimed).unwrap_or(0));
    let (starts, row_columns) = (numbers, entries);
    let mut coordinates = Vec::with_capacity(2 * row_columns.len());
    if starts.first() != Some(&0) || starts.last() != Some(claimed) {
        return Err(Fault::at(2, format!("rows must begin at 0 and end at {claimed}")));
    }
    let mut columns_left = row_columns.iter();
    for (row, range) in starts.windows(2).enumerate() {
        if range[1] < range[0] {
            let what = format!("row {row} begins at {} and ends at {}", range[0], range[1]);
            return Err(Fault::at(2, what));
        }
        for _ in range[0]..range[1] {
            let Some(column) = columns_left.next() else { break };
            if column >= columns {
                let what =
                    format!("column {column} of row {row} is not among 0 to {columns} (exclusive)");
                return Err(Fault::at(3, what));
            }
            coordinates.extend([row as u64, *column]);
        }
    }
    if columns_left.next().is_some() {
        return Err(Fault::at(2, "some entries belong to no row"));
    }
    let values = Storage::from(vec![true; row_columns.len()]);
    let entries = Entries::new(vec![*rows, *columns], coordinates, values)?;
    Ok(Contents { data: Data::Entries(entries), about: "DLMC, pattern".into(), guessed: false })
}

fn shown(line: &str) -> String {
    line.chars().take(40).collect::<String>().escape_debug().to_string()
}

fn parse(block: &[u8], numbers: &mut Vec<u64>) -> Result<u64, Fault> {
    numbers.clear();
    let newlines = |text: &[u8]| memchr::memchr_iter(b'\n', text).count() as u64;
    let mut cursor = Cursor { rest: block };
    loop {
        let mut usual = cursor;
        if let Some(number) = usual.unsigned()
            && usual.rest.first().is_none_or(u8::is_ascii_whitespace)
        {
            numbers.push(number);
            cursor = usual;
            continue;
        }
        let mut words = Words(cursor.rest);
        if words.is_empty() {
            return Ok(newlines(block));
        }
        let Some(number) = words.unsigned() else {
            let line = 1 + newlines(&block[..block.len() - words.0.len()]);
            return Err(Fault::at(line, format!("{} is no number", words.shown())));
        };
        numbers.push(number);
        cursor.rest = words.0;
    }
}

/// Writes the pattern of a matrix in `csr`, all whose entries are true.
pub fn write(matrix: &Tensor, out: &mut dyn Write) -> Result<(), WriteError> {
    let second = matrix.levels().get(1);
    let arrays = second.and_then(|level| Some((level.positions()?, level.coordinates()?)));
    let Some((positions, coordinates)) = arrays else { return Ok(()) };
    let shape = matrix.shape();
    writeln!(out, "{}, {}, {}", shape[0], shape[1], coordinates.len())?;
    numbers(positions, out)?;
    numbers(coordinates, out)
}

fn numbers(all: &Indices, out: &mut dyn Write) -> Result<(), WriteError> {
    write_parts(all.len(), out, &|at, text| {
        print_integer(all.at(at), text);
        text.push(b' ');
    })?;
    Ok(out.write_all(b"\n")?)
}
