//! MatrixMarket files (`.mtx`), as Boisvert, Pozo and Remington describe them (NISTIR 5935).
//!
//! `coordinate` and `array`; `real`, `integer` and `pattern`, not `complex`; `general`, `symmetric`, `skew-symmetric`, and `hermitian`, which of
//! real numbers is `symmetric`. Of a matrix with symmetry, an entry off the diagonal stands for two, and may be in either triangle.

use std::io::{BufRead, Write};

use super::numbers::{Words, print_integer, print_value};
use super::text::{Ends, Header, lines, write_parts};
use super::{Contents, Data, Fault, WriteError};
use crate::storage::{ElementType, Entries, Values, tuple};

#[derive(Clone, Copy, PartialEq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

/// What the first line says, and the size line.
struct Kind {
    coordinate: bool,
    element: ElementType,
    symmetry: Symmetry,
    rows: u64,
    columns: u64,
    /// What the header says about how many lines follow.
    claimed: u128,
    /// The words of the first line.
    words: String,
}

/// Reads a matrix.
pub fn read(reader: &mut (dyn BufRead + Send)) -> Result<Contents, Fault> {
    let mut header = Header { reader, lines: 0 };
    let kind = read_header(&mut header)?;
    let mut coordinates: Vec<u64> = Vec::new();
    let mut values = Values::none(kind.element);
    let mut seen: u128 = 0;
    let parse =
        |block: &[u8]| if kind.coordinate { entries(block, &kind) } else { array(block, &kind) };
    let last = header.blocks(Ends::Line, parse, |part: Part| {
        seen += part.stored as u128;
        if seen > kind.claimed {
            return Err(Fault::new(format!(
                "there are more entries than the {} of the header",
                kind.claimed
            )));
        }
        coordinates.extend(part.coordinates);
        values.append(part.values);
        Ok(())
    })?;
    if seen < kind.claimed {
        let what = format!("it ends after {seen} of {} entries", kind.claimed);
        return Err(Fault::at(last, what));
    }
    if !kind.coordinate {
        (coordinates, values) = expand(&kind, values);
    }
    let entries = Entries::new(vec![kind.rows, kind.columns], coordinates, values)?;
    Ok(Contents { data: Data::Entries(entries), about: format!("MatrixMarket, {}", kind.words) })
}

fn read_header(header: &mut Header<'_>) -> Result<Kind, Fault> {
    let first = header.line()?.unwrap_or_default();
    let at = |line: &Header<'_>, reason: String| Fault::at(line.lines.max(1), reason);
    let words: Vec<String> = first.split_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [banner, object, format, field, symmetry] = words[..] else {
        let what = if first.starts_with("%%") {
            "the first line is not complete"
        } else {
            "this is no MatrixMarket file"
        };
        return Err(at(header, what.into()).hint(
            "it begins with a line such as `%%MatrixMarket matrix coordinate real general`",
        ));
    };
    if banner != "%%matrixmarket" || object != "matrix" {
        return Err(at(header, "this is no MatrixMarket file of a matrix".into()).hint(
            "it begins with a line such as `%%MatrixMarket matrix coordinate real general`",
        ));
    }
    let coordinate = match format {
        "coordinate" => true,
        "array" => false,
        other => return Err(at(header, format!("`{other}` is neither `coordinate` nor `array`"))),
    };
    let element = match field {
        "real" | "double" => ElementType::F64,
        "integer" | "unsigned-integer" => ElementType::I64,
        "pattern" if coordinate => ElementType::Bool,
        "pattern" => return Err(at(header, "an array cannot be a pattern".into())),
        "complex" => {
            return Err(at(header, "its values are complex, which dastac does not have".into())
                .hint("write the real and the imaginary part into files of their own"));
        }
        other => return Err(at(header, format!("there are no values of type `{other}`"))),
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" | "hermitian" => Symmetry::Symmetric,
        "skew-symmetric" if element == ElementType::Bool => {
            return Err(at(header, "a pattern cannot be skew-symmetric".into()));
        }
        "skew-symmetric" => Symmetry::Skew,
        other => return Err(at(header, format!("there is no symmetry `{other}`"))),
    };
    let Some(sizes) = header.content('%')? else {
        return Err(at(header, "it ends before the line with its size".into()));
    };
    let mut numbers = Words(sizes.as_bytes());
    let mut size = Vec::new();
    while let Some(number) = numbers.unsigned() {
        size.push(number);
    }
    let (wanted, what) =
        if coordinate { (3, "rows, columns and entries") } else { (2, "rows and columns") };
    if !numbers.is_empty() || size.len() != wanted {
        return Err(at(
            header,
            format!("the size line must hold {what}, not `{}`", sizes.escape_debug()),
        ));
    }
    let (rows, columns) = (size[0], size[1]);
    if symmetry != Symmetry::General && rows != columns {
        return Err(at(
            header,
            format!("a matrix of shape {rows} x {columns} cannot be symmetric"),
        ));
    }
    let (r, c) = (u128::from(rows), u128::from(columns));
    let claimed = match (size.get(2), symmetry) {
        (Some(entries), _) => u128::from(*entries),
        (None, Symmetry::General) => r * c,
        (None, Symmetry::Symmetric) => r * (r + 1) / 2,
        (None, Symmetry::Skew) => r * r.saturating_sub(1) / 2,
    };
    let words = words[2..].join(", ");
    Ok(Kind { coordinate, element, symmetry, rows, columns, claimed, words })
}

/// The entries of a block.
struct Part {
    coordinates: Vec<u64>,
    values: Values,
    /// Without those that symmetry adds.
    stored: usize,
}

fn entries(block: &[u8], kind: &Kind) -> Result<(Part, u64), Fault> {
    let mut coordinates = Vec::with_capacity(block.len() / 8);
    let mut stored = 0;
    let mut count = 0;
    let mut values = Values::none(kind.element);
    for (line, text) in lines(block) {
        count = line;
        let mut words = Words(text);
        if words.is_empty() || words.0[0] == b'%' {
            continue;
        }
        let row = coordinate(&mut words, line, "row", kind.rows)?;
        let column = coordinate(&mut words, line, "column", kind.columns)?;
        let mirrored = kind.symmetry != Symmetry::General && row != column;
        let on_diagonal = kind.symmetry == Symmetry::Skew && row == column;
        let zero = match &mut values {
            Values::Bool(all) => {
                all.extend(std::iter::repeat_n(true, 1 + usize::from(mirrored)));
                // Some write a value all the same: what a pattern has is only that it is there.
                let _ = words.float();
                false
            }
            Values::I64(all) => {
                let value = words
                    .signed()
                    .ok_or_else(|| no_value(&mut words, line, "an integer of 64 bits"))?;
                all.push(value);
                if mirrored {
                    let skew = kind.symmetry == Symmetry::Skew;
                    let other = if skew { value.checked_neg() } else { Some(value) };
                    all.push(
                        other
                            .ok_or_else(|| Fault::at(line, format!("{value} cannot be negated")))?,
                    );
                }
                value == 0
            }
            Values::F64(all) => {
                let value = words.float().ok_or_else(|| no_value(&mut words, line, "a number"))?;
                all.push(value);
                if mirrored {
                    all.push(if kind.symmetry == Symmetry::Skew { -value } else { value });
                }
                value == 0.0
            }
            Values::F32(_) | Values::I32(_) => false,
        };
        if on_diagonal && !zero {
            let element = tuple(&[row + 1, column + 1]);
            return Err(Fault::at(
                line,
                format!("the element {element} of a skew-symmetric matrix is not 0"),
            ));
        }
        if !words.is_empty() {
            return Err(Fault::at(line, format!("there is {} behind the entry", words.shown())));
        }
        coordinates.extend([row, column]);
        if mirrored {
            coordinates.extend([column, row]);
        }
        stored += 1;
    }
    Ok((Part { coordinates, values, stored }, count))
}

fn coordinate(words: &mut Words<'_>, line: u64, what: &str, extent: u64) -> Result<u64, Fault> {
    match words.unsigned() {
        Some(number) if (1..=extent).contains(&number) => Ok(number - 1),
        Some(number) => Err(Fault::at(line, format!("{what} {number} is not among 1 to {extent}"))),
        None if words.is_empty() => Err(Fault::at(line, format!("the {what} is missing"))),
        None => {
            Err(Fault::at(line, format!("the {what} is {}, not a positive integer", words.shown())))
        }
    }
}

fn no_value(words: &mut Words<'_>, line: u64, wanted: &str) -> Fault {
    if words.is_empty() {
        return Fault::at(line, "the value is missing");
    }
    Fault::at(line, format!("the value is {}, not {wanted}", words.shown()))
}

/// The values of an array; where they stand follows from their number.
fn array(block: &[u8], kind: &Kind) -> Result<(Part, u64), Fault> {
    let mut values = Values::none(kind.element);
    let mut count = 0;
    for (line, text) in lines(block) {
        count = line;
        let mut words = Words(text);
        if text.first() == Some(&b'%') {
            continue;
        }
        while !words.is_empty() {
            match &mut values {
                Values::I64(all) => all.push(
                    words
                        .signed()
                        .ok_or_else(|| no_value(&mut words, line, "an integer of 64 bits"))?,
                ),
                Values::F64(all) => {
                    all.push(words.float().ok_or_else(|| no_value(&mut words, line, "a number"))?);
                }
                Values::F32(_) | Values::I32(_) | Values::Bool(_) => {}
            }
        }
    }
    Ok((Part { coordinates: Vec::new(), stored: values.len(), values }, count))
}

/// Entries of an array that was read, by columns: those that are not zero.
fn expand(kind: &Kind, values: Values) -> (Vec<u64>, Values) {
    let mut coordinates = Vec::new();
    let mut kept = Values::none(kind.element);
    let (mut row, mut column) = (0, 0);
    let first = |column: u64| match kind.symmetry {
        Symmetry::General => 0,
        Symmetry::Symmetric => column,
        Symmetry::Skew => column + 1,
    };
    let mut places = std::iter::from_fn(|| {
        if row < first(column) {
            row = first(column);
        }
        while row >= kind.rows {
            column += 1;
            row = first(column);
            if column >= kind.columns {
                return None;
            }
        }
        row += 1;
        Some([row - 1, column])
    });
    macro_rules! keep {
        ($values:expr, $kept:expr, $zero:expr) => {
            for value in $values {
                let Some([row, column]) = places.next() else { break };
                if value == $zero {
                    continue;
                }
                coordinates.extend([row, column]);
                $kept.push(value);
                if kind.symmetry != Symmetry::General && row != column {
                    coordinates.extend([column, row]);
                    $kept.push(if kind.symmetry == Symmetry::Skew { $zero - value } else { value });
                }
            }
        };
    }
    match (values, &mut kept) {
        (Values::F64(values), Values::F64(kept)) => keep!(values, kept, 0.0),
        (Values::I64(values), Values::I64(kept)) => keep!(values, kept, 0i64),
        _ => {}
    }
    (coordinates, kept)
}

/// Writes a matrix: `coordinate`, `general`, entries in the order of storage. Of a pattern, those that are true.
pub fn write(entries: &Entries, out: &mut dyn Write) -> Result<(), WriteError> {
    let values = entries.values();
    let (field, kept) = match values.element() {
        ElementType::F32 | ElementType::F64 => ("real", values.len() as u64),
        ElementType::I32 | ElementType::I64 => ("integer", values.len() as u64),
        ElementType::Bool => ("pattern", values.nonzeros()),
    };
    let shape = entries.shape();
    writeln!(out, "%%MatrixMarket matrix coordinate {field} general")?;
    writeln!(out, "{} {} {kept}", shape[0], shape[1])?;
    let pattern = values.element() == ElementType::Bool;
    write_parts(entries.len(), out, &|at, text| {
        if pattern && values.is(at, 0.0) {
            return;
        }
        let element = entries.at(at);
        print_integer(element[0] + 1, text);
        text.push(b' ');
        print_integer(element[1] + 1, text);
        if !pattern && let Some(value) = values.get(at) {
            text.push(b' ');
            print_value(value, text);
        }
        text.push(b'\n');
    })
}
