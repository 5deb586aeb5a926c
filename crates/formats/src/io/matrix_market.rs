//! MatrixMarket files (`.mtx`), as Boisvert, Pozo and Remington describe them (NISTIR 5935).
//!
//! `coordinate` and `array`; `real`, `complex`, `integer` and `pattern`; `general`, `symmetric`, `skew-symmetric` and
//! `hermitian`, which of real numbers is `symmetric`. Of a matrix with symmetry, an entry off the diagonal stands for
//! two, and may be in either triangle.

use std::io::Write;

use rayon::prelude::*;

use super::cursor::Cursor;
use super::numbers::{Integer, Words, number_of, print_integer, print_parts};
use super::text::{Ends, Header, lines, place_of, write_parts};
use super::{Contents, Data, Fault, WriteError};
use crate::storage::{Entries, tuple};
use dastac_elements::{Complex, Element, Kind as ElementKind, Native, View, with_type};

#[derive(Clone, Copy, PartialEq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
    /// The element on the other side of the diagonal is the conjugate one.
    Hermitian,
}

/// The type of values that the first line names.
#[derive(Clone, Copy, PartialEq)]
enum FieldType {
    Real,
    Complex,
    Integer,
    Pattern,
}

/// A type of values that a file has.
trait Field: Native {
    /// What a value must be, for messages.
    const WANTED: &'static str;

    /// Reads a value.
    fn read(words: &mut Words<'_>) -> Option<Self>;

    /// Reads a value that is written in the usual form.
    fn read_usual(cursor: &mut Cursor<'_>) -> Option<Self>;

    /// The value on the other side of the diagonal, if there is one.
    fn mirrored(self, symmetry: Symmetry) -> Option<Self> {
        if symmetry == Symmetry::Skew { self.negated() } else { Some(self) }
    }

    /// Whether an element on the diagonal may have this value.
    fn may_be_on_diagonal(self, symmetry: Symmetry) -> bool {
        symmetry != Symmetry::Skew || self == Self::default()
    }
}

impl Field for f64 {
    const WANTED: &'static str = "a number";

    fn read(words: &mut Words<'_>) -> Option<f64> {
        words.float()
    }

    fn read_usual(cursor: &mut Cursor<'_>) -> Option<f64> {
        cursor.blank()?;
        cursor.float()
    }
}

impl Field for Complex<f64> {
    const WANTED: &'static str = "a number";

    fn read(words: &mut Words<'_>) -> Option<Complex<f64>> {
        Some(Complex::new(words.float()?, words.float()?))
    }

    fn read_usual(cursor: &mut Cursor<'_>) -> Option<Complex<f64>> {
        cursor.blank()?;
        let real = cursor.float()?;
        cursor.blank()?;
        Some(Complex::new(real, cursor.float()?))
    }

    fn mirrored(self, symmetry: Symmetry) -> Option<Self> {
        match symmetry {
            Symmetry::Skew => Some(-self),
            Symmetry::Hermitian => Some(self.conj()),
            Symmetry::General | Symmetry::Symmetric => Some(self),
        }
    }

    fn may_be_on_diagonal(self, symmetry: Symmetry) -> bool {
        match symmetry {
            Symmetry::Skew => self == Complex::default(),
            Symmetry::Hermitian => self.im == 0.0,
            Symmetry::General | Symmetry::Symmetric => true,
        }
    }
}

impl Field for i64 {
    const WANTED: &'static str = "an integer of 64 bits";

    fn read(words: &mut Words<'_>) -> Option<i64> {
        words.signed()
    }

    fn read_usual(cursor: &mut Cursor<'_>) -> Option<i64> {
        cursor.blank()?;
        cursor.signed()
    }
}

impl Field for bool {
    const WANTED: &'static str = "nothing";

    /// Some files give a value all the same: a pattern only says that it is there.
    fn read(words: &mut Words<'_>) -> Option<bool> {
        let _ = words.float();
        Some(true)
    }

    fn read_usual(_: &mut Cursor<'_>) -> Option<bool> {
        Some(true)
    }
}

/// What the first line says, and the size line.
struct Kind {
    coordinate: bool,
    field: FieldType,
    symmetry: Symmetry,
    rows: u64,
    columns: u64,
    /// What the header says about how many lines follow.
    claimed: u128,
    /// The words of the first line.
    words: String,
}

/// Reads a matrix.
pub fn read(mut header: Header<'_>) -> Result<Contents, Fault> {
    let kind = read_header(&mut header)?;
    let entries = match kind.field {
        FieldType::Real => read_entries::<f64>(header, &kind)?,
        FieldType::Complex => read_entries::<Complex<f64>>(header, &kind)?,
        FieldType::Integer => read_entries::<i64>(header, &kind)?,
        FieldType::Pattern => read_entries::<bool>(header, &kind)?,
    };
    Ok(Contents {
        data: Data::Entries(entries),
        about: format!("MatrixMarket, {}", kind.words),
        guessed: false,
    })
}

fn read_entries<T: Field>(header: Header<'_>, kind: &Kind) -> Result<Entries, Fault> {
    // An entry takes at least `1 1` and a line end, an element of an array a digit and a blank.
    let room = header.room(kind.claimed, if kind.coordinate { 4 } else { 2 });
    let mut values: Vec<T> = Vec::with_capacity(room);
    let mut coordinates: Vec<u64> = Vec::with_capacity(if kind.coordinate { 2 * room } else { 0 });
    let mut seen: u128 = 0;
    let parse = |block: &[u8], part: &mut Part<T>| match kind.coordinate {
        true => entries(block, kind, part),
        false => array(block, part),
    };
    let last = header.blocks(Ends::Line, parse, |part: &mut Part<T>| {
        seen += part.stored as u128;
        if seen > kind.claimed {
            let (claimed, entries) = (kind.claimed, number_of(kind.claimed, "entry", "entries"));
            let what = match claimed {
                0 => "there are entries, but the header says that there are none".into(),
                _ => format!("there are more than the {entries} of the header"),
            };
            return Err(Fault::new(what));
        }
        coordinates.extend_from_slice(&part.coordinates);
        values.extend_from_slice(&part.values);
        Ok(())
    })?;
    if seen < kind.claimed {
        let what =
            format!("it ends after {seen} of {}", number_of(kind.claimed, "entry", "entries"));
        return Err(Fault::at(last, what));
    }
    if !kind.coordinate {
        (coordinates, values) = expand(kind, values)?;
    }
    Ok(Entries::checked(vec![kind.rows, kind.columns], coordinates, values.into()))
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
    let field = match field {
        "real" | "double" => FieldType::Real,
        "integer" | "unsigned-integer" => FieldType::Integer,
        "pattern" if coordinate => FieldType::Pattern,
        "pattern" => return Err(at(header, "an array cannot be a pattern".into())),
        "complex" => FieldType::Complex,
        other => return Err(at(header, format!("there are no values of type `{other}`"))),
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "hermitian" if field == FieldType::Complex => Symmetry::Hermitian,
        "hermitian" => Symmetry::Symmetric,
        "skew-symmetric" if field == FieldType::Pattern => {
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
        (None, Symmetry::Symmetric | Symmetry::Hermitian) => r * (r + 1) / 2,
        (None, Symmetry::Skew) => r * r.saturating_sub(1) / 2,
    };
    let words = words[2..].join(", ");
    Ok(Kind { coordinate, field, symmetry, rows, columns, claimed, words })
}

/// The entries of a block.
#[derive(Default)]
struct Part<T> {
    coordinates: Vec<u64>,
    values: Vec<T>,
    /// Without those that symmetry adds.
    stored: usize,
}

impl<T> Part<T> {
    fn clear(&mut self) {
        self.coordinates.clear();
        self.values.clear();
        self.stored = 0;
    }
}

/// An entry of a line, with coordinates from 0.
struct Entry<T> {
    row: u64,
    column: u64,
    value: T,
}

fn entries<T: Field>(block: &[u8], kind: &Kind, part: &mut Part<T>) -> Result<u64, Fault> {
    part.clear();
    let mut cursor = Cursor { rest: block };
    let mut line = 0;
    while !cursor.rest.is_empty() {
        line += 1;
        let mut usual = cursor;
        let entry = match usual_entry(&mut usual, kind) {
            Some(entry) => {
                cursor = usual;
                entry
            }
            None => match any_entry(cursor.line(), line, kind)? {
                Some(entry) => entry,
                None => continue,
            },
        };
        let Entry { row, column, value } = entry;
        part.values.push(value);
        part.coordinates.extend_from_slice(&[row, column]);
        part.stored += 1;
        if kind.symmetry == Symmetry::General {
            continue;
        }
        if row != column {
            let other = value.mirrored(kind.symmetry);
            part.values
                .push(other.ok_or_else(|| Fault { line: Some(line), ..not_negated(value) })?);
            part.coordinates.extend_from_slice(&[column, row]);
        } else if !value.may_be_on_diagonal(kind.symmetry) {
            return Err(Fault { line: Some(line), ..not_on_diagonal(row, kind) });
        }
    }
    Ok(line)
}

/// The entry of a line that has the usual form and nothing wrong.
fn usual_entry<T: Field>(cursor: &mut Cursor<'_>, kind: &Kind) -> Option<Entry<T>> {
    let row = cursor.unsigned()?.wrapping_sub(1);
    cursor.blank()?;
    let column = cursor.unsigned()?.wrapping_sub(1);
    let value = T::read_usual(cursor)?;
    cursor.line_end()?;
    (row < kind.rows && column < kind.columns).then_some(Entry { row, column, value })
}

/// The entry of a line, or nothing of one that is empty or a comment.
fn any_entry<T: Field>(text: &[u8], line: u64, kind: &Kind) -> Result<Option<Entry<T>>, Fault> {
    let mut words = Words(text);
    if words.is_empty() || words.0[0] == b'%' {
        return Ok(None);
    }
    let row = coordinate(&mut words, line, "row", kind.rows)?;
    let column = coordinate(&mut words, line, "column", kind.columns)?;
    let value = T::read(&mut words).ok_or_else(|| no_value(&mut words, line, T::WANTED))?;
    if !words.is_empty() {
        return Err(Fault::at(line, format!("there is {} behind the entry", words.shown())));
    }
    Ok(Some(Entry { row, column, value }))
}

fn coordinate(words: &mut Words<'_>, line: u64, what: &str, extent: u64) -> Result<u64, Fault> {
    match words.unsigned() {
        Some(number) if (1..=extent).contains(&number) => return Ok(number - 1),
        Some(number) => {
            return Err(Fault::at(line, format!("{what} {number} is not among 1 to {extent}")));
        }
        None if words.is_empty() => {
            return Err(Fault::at(line, format!("the {what} is missing")));
        }
        None => {}
    }
    let shown = words.shown();
    Err(Fault::at(
        line,
        match words.integer() {
            Some(Integer::Negative) => format!("the {what} is {shown}, which is negative"),
            Some(Integer::TooLarge) => format!("{what} {shown} is not among 1 to {extent}"),
            _ => format!("the {what} is {shown}, not a positive integer"),
        },
    ))
}

fn not_negated<T: Field>(value: T) -> Fault {
    Fault::new(format!("{value} cannot be negated"))
}

fn not_on_diagonal(row: u64, kind: &Kind) -> Fault {
    let element = tuple(&[row + 1, row + 1]);
    Fault::new(match kind.symmetry {
        Symmetry::Hermitian => format!("the element {element} of a hermitian matrix is not real"),
        _ => format!("the element {element} of a skew-symmetric matrix is not 0"),
    })
}

fn no_value(words: &mut Words<'_>, line: u64, wanted: &str) -> Fault {
    if words.is_empty() {
        return Fault::at(line, "the value is missing");
    }
    let shown = words.shown();
    Fault::at(
        line,
        match words.integer() {
            Some(Integer::TooLarge | Integer::Negative) => {
                format!("the value {shown} does not fit 64 bits")
            }
            _ => format!("the value is {shown}, not {wanted}"),
        },
    )
}

/// The values of an array; where they stand follows from their number.
fn array<T: Field>(block: &[u8], part: &mut Part<T>) -> Result<u64, Fault> {
    part.clear();
    let mut count = 0;
    for (line, text) in lines(block) {
        count = line;
        let mut words = Words(text);
        if text.first() == Some(&b'%') {
            continue;
        }
        while !words.is_empty() {
            let value = T::read(&mut words);
            part.values.push(value.ok_or_else(|| no_value(&mut words, line, T::WANTED))?);
        }
    }
    part.stored = part.values.len();
    Ok(count)
}

/// Entries of an array that was read, by columns: those that are not zero.
fn expand<T: Field>(kind: &Kind, values: Vec<T>) -> Result<(Vec<u64>, Vec<T>), Fault> {
    let mut coordinates = Vec::new();
    let mut kept = Vec::new();
    let (mut row, mut column) = (0, 0);
    let first = |column: u64| match kind.symmetry {
        Symmetry::General => 0,
        Symmetry::Symmetric | Symmetry::Hermitian => column,
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
    for value in values {
        let Some([row, column]) = places.next() else { break };
        if value == T::default() {
            continue;
        }
        if row == column && !value.may_be_on_diagonal(kind.symmetry) {
            return Err(not_on_diagonal(row, kind));
        }
        coordinates.extend([row, column]);
        kept.push(value);
        if kind.symmetry != Symmetry::General && row != column {
            coordinates.extend([column, row]);
            kept.push(value.mirrored(kind.symmetry).ok_or_else(|| not_negated(value))?);
        }
    }
    Ok((coordinates, kept))
}

/// Writes the elements of a dense matrix that are not zero.
pub fn write_dense(shape: &[u64], values: View<'_>, out: &mut dyn Write) -> Result<(), WriteError> {
    let kept = with_type!(values.element(), T => {
        values.typed::<T>().par_iter().filter(|value| !value.is(0.0)).count()
    });
    let pattern = values.element() == Element::Bool;
    writeln!(out, "%%MatrixMarket matrix coordinate {} general", field_of(values.element()))?;
    writeln!(out, "{} {} {kept}", shape[0], shape[1])?;
    write_parts(values.len(), out, &|at, text| {
        let Some(value) = values.get(at).filter(|value| !value.number().is(0.0)) else { return };
        let mut element = [0; 2];
        place_of(at, shape, &mut element);
        print_integer(element[0] + 1, text);
        text.push(b' ');
        print_integer(element[1] + 1, text);
        if !pattern {
            text.push(b' ');
            print_parts(value, text);
        }
        text.push(b'\n');
    })
}

/// What the first line calls values of a type.
fn field_of(element: Element) -> &'static str {
    match element.kind() {
        ElementKind::Float => "real",
        ElementKind::Complex => "complex",
        ElementKind::Signed | ElementKind::Unsigned => "integer",
        ElementKind::Truth => "pattern",
    }
}

/// Writes a matrix: `coordinate`, `general`, entries in the order of storage. Of a pattern, those that are true.
pub fn write(entries: &Entries, out: &mut dyn Write) -> Result<(), WriteError> {
    let values = entries.values();
    let field = field_of(values.element());
    let kept = match values.element() {
        Element::Bool => values.nonzeros(),
        _ => values.len() as u64,
    };
    let shape = entries.shape();
    writeln!(out, "%%MatrixMarket matrix coordinate {field} general")?;
    writeln!(out, "{} {} {kept}", shape[0], shape[1])?;
    let pattern = values.element() == Element::Bool;
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
            print_parts(value, text);
        }
        text.push(b'\n');
    })
}
