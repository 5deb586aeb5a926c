//! NumPy arrays (`.npy`), also as members of `.npz` files.

use std::io::{Read, Write};

use super::{Fault, WriteError};
use crate::storage::{ElementType, Indices, Slice, Values};

/// Headers are a line of text; anything beyond this is no array of numbers.
const MAX_HEADER: u64 = 1 << 16;

/// Bytes that are read at once: memory grows with what is there, not with what a header says.
const PART: usize = 1 << 20;

/// An array that is not read yet.
pub struct Header {
    /// Its extents.
    pub shape: Vec<u64>,
    /// Its type in NumPy's notation: `<f8`.
    pub descr: String,
    /// The letter of its type: `f`, `i`, `u`, `b`, ..
    kind: char,
    width: u64,
    big_endian: bool,
    fortran: bool,
}

/// Reads a header.
pub fn header(reader: &mut dyn Read) -> Result<Header, Fault> {
    let none = || {
        Fault::new("this is no .npy file")
            .hint("write it in Python with `numpy.save(\"a.npy\", array)`")
    };
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(|_| none())?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err(none());
    }
    let mut length = [0; 4];
    let bytes = if start[6] == 1 { 2 } else { 4 };
    reader.read_exact(&mut length[..bytes]).map_err(|_| none())?;
    let length = u64::from(u32::from_le_bytes(length));
    let mut text = Vec::new();
    reader.take(length.min(MAX_HEADER)).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    dictionary(&text).ok_or_else(|| Fault::new("its header cannot be understood"))
}

/// The value of a key in a dictionary of Python: `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let at = text.find(&format!("'{key}'")).or_else(|| text.find(&format!("\"{key}\"")))?;
    let (_, value) = text[at..].split_once(':')?;
    Some(value.trim_start())
}

fn dictionary(text: &str) -> Option<Header> {
    let descr = value(text, "descr")?;
    let descr = if let Some(quote @ ('\'' | '"')) = descr.chars().next() {
        descr[1..].split(quote).next()?
    } else {
        // A list of fields.
        descr.split_once(']').map_or("", |(fields, _)| fields)
    };
    let fortran = value(text, "fortran_order")?.starts_with("True");
    let (extents, _) = value(text, "shape")?.strip_prefix('(')?.split_once(')')?;
    let extents = extents.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let shape = extents.map(|extent| extent.trim_end_matches('L').parse().ok());
    let number = descr.trim_start_matches(['<', '>', '|', '=']);
    let kind = number.chars().next().filter(char::is_ascii_alphabetic).unwrap_or('V');
    let width = number.get(1..).and_then(|width| width.parse().ok()).unwrap_or(0);
    Some(Header {
        shape: shape.collect::<Option<_>>()?,
        kind,
        width,
        big_endian: descr.starts_with('>'),
        fortran,
        descr: descr.chars().take(40).collect::<String>().escape_debug().to_string(),
    })
}

impl Header {
    /// The type of its elements, if tensors have such.
    pub fn element(&self) -> Option<ElementType> {
        match (self.kind, self.width) {
            ('f', 8) => Some(ElementType::F64),
            ('f', 4) => Some(ElementType::F32),
            ('i', 8) => Some(ElementType::I64),
            ('i', 4) => Some(ElementType::I32),
            ('b', _) => Some(ElementType::Bool),
            _ => None,
        }
    }

    /// Whether its elements stand in the order of columns.
    pub fn is_fortran(&self) -> bool {
        // Both orders are the same for arrays of less than two extents.
        self.fortran && self.shape.iter().filter(|extent| **extent != 1).count() > 1
    }

    fn count(&self) -> Result<u64, Fault> {
        let product = |product: u64, extent: &u64| product.checked_mul(*extent);
        // An extent of 0 makes an array empty, whatever the others are.
        if self.shape.contains(&0) {
            return Ok(0);
        }
        self.shape
            .iter()
            .try_fold(1, product)
            .ok_or_else(|| Fault::new("it is too large for this machine"))
    }

    fn elements<const N: usize, T>(
        &self,
        reader: &mut dyn Read,
        element: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, Fault> {
        let count = self.count()?;
        let mut all = Vec::new();
        let mut bytes = Vec::new();
        while (all.len() as u64) < count {
            let left = (count - all.len() as u64).min((PART / N) as u64);
            bytes.clear();
            let read = (&mut *reader).take(left * N as u64).read_to_end(&mut bytes)?;
            all.extend(bytes.chunks_exact(N).map(|bytes| {
                let mut one = [0; N];
                one.copy_from_slice(bytes);
                if self.big_endian {
                    one.reverse();
                }
                element(one)
            }));
            if (read as u64) < left * N as u64 {
                return Err(Fault::new(format!("it ends after {} of {count} elements", all.len())));
            }
        }
        Ok(all)
    }

    /// Reads numbers as values.
    pub fn values(&self, reader: &mut dyn Read) -> Result<Values, Fault> {
        match self.element() {
            Some(ElementType::F64) => Ok(Values::F64(self.elements(reader, f64::from_le_bytes)?)),
            Some(ElementType::F32) => Ok(Values::F32(self.elements(reader, f32::from_le_bytes)?)),
            Some(ElementType::I64) => Ok(Values::I64(self.elements(reader, i64::from_le_bytes)?)),
            Some(ElementType::I32) => Ok(Values::I32(self.elements(reader, i32::from_le_bytes)?)),
            Some(ElementType::Bool) => Ok(Values::Bool(self.elements(reader, |[byte]| byte != 0)?)),
            None if self.kind == 'c' => {
                Err(Fault::new("its values are complex, which dastac does not have")
                    .hint("write the real and the imaginary part into files of their own"))
            }
            None => Err(Fault::new(format!(
                "it holds elements of type {}, not of f32, f64, i32, i64 or bool",
                self.descr
            ))
            .hint("convert it in Python with `array.astype(numpy.float64)`")),
        }
    }

    /// Reads numbers that are positions or coordinates.
    pub(super) fn indices(&self, reader: &mut dyn Read, what: &str) -> Result<Vec<u64>, Fault> {
        let signed = |number: i64| u64::try_from(number).ok();
        let all: Vec<Option<u64>> = match (self.kind, self.width) {
            ('i', 8) => self.elements(reader, |bytes| signed(i64::from_le_bytes(bytes)))?,
            ('i', 4) => self.elements(reader, |bytes| signed(i32::from_le_bytes(bytes).into()))?,
            ('u', 8) => self.elements(reader, |bytes| Some(u64::from_le_bytes(bytes)))?,
            ('u', 4) => self.elements(reader, |bytes| Some(u32::from_le_bytes(bytes).into()))?,
            _ => {
                return Err(Fault::new(format!(
                    "`{what}` has type {}, no integers of 32 or 64 bits",
                    self.descr
                )));
            }
        };
        let negative = || Fault::new(format!("`{what}` holds a negative number"));
        all.into_iter().map(|number| number.ok_or_else(negative)).collect()
    }

    /// Reads one word.
    pub(super) fn text(&self, reader: &mut dyn Read) -> Result<String, Fault> {
        let width = match self.kind {
            'S' => 1,
            'U' => 4,
            _ => return Err(Fault::new(format!("`format` has type {}, no text", self.descr))),
        };
        let mut bytes = Vec::new();
        reader.take(self.width.saturating_mul(width).min(64)).read_to_end(&mut bytes)?;
        let letters = bytes.iter().filter(|byte| byte.is_ascii_graphic());
        Ok(letters.map(|byte| char::from(*byte)).collect())
    }
}

/// Reads an array: its extents, and its elements in row-major order.
pub(super) fn read_values(reader: &mut dyn Read) -> Result<(Vec<u64>, Values), Fault> {
    let header = header(reader)?;
    if header.is_fortran() {
        return Err(Fault::new("it is in Fortran order, not C order")
            .hint("convert it in Python with `numpy.ascontiguousarray(array)`"));
    }
    let values = header.values(reader)?;
    Ok((header.shape, values))
}

/// Writes a header: version 1.0, padded so that elements begin at a multiple of 64 bytes.
pub(super) fn write_header(descr: &str, shape: &[u64], out: &mut dyn Write) -> std::io::Result<()> {
    let extents: String = shape.iter().map(|extent| format!("{extent},")).collect();
    let extents = if shape.len() > 1 { extents.trim_end_matches(',') } else { &extents };
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    let padding = 63 - (10 + text.len()) % 64;
    text += &" ".repeat(padding);
    text.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    let length = u16::try_from(text.len()).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(text.as_bytes())
}

fn write_elements<const N: usize, T: Copy>(
    all: &[T],
    out: &mut dyn Write,
    bytes: impl Fn(T) -> [u8; N],
) -> std::io::Result<()> {
    let mut buffer = Vec::with_capacity(N * all.len().min(PART / N));
    for part in all.chunks(PART / N) {
        buffer.clear();
        part.iter().for_each(|element| buffer.extend_from_slice(&bytes(*element)));
        out.write_all(&buffer)?;
    }
    Ok(())
}

/// Writes an array.
pub fn write_slice(shape: &[u64], values: Slice<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    let descr = match values {
        Slice::F32(_) => "<f4",
        Slice::F64(_) => "<f8",
        Slice::I32(_) => "<i4",
        Slice::I64(_) => "<i8",
        Slice::Bool(_) => "|b1",
    };
    write_header(descr, shape, out)?;
    match values {
        Slice::F32(all) => write_elements(all, out, f32::to_le_bytes),
        Slice::F64(all) => write_elements(all, out, f64::to_le_bytes),
        Slice::I32(all) => write_elements(all, out, i32::to_le_bytes),
        Slice::I64(all) => write_elements(all, out, i64::to_le_bytes),
        Slice::Bool(all) => write_elements(all, out, |value| [u8::from(value)]),
    }
}

/// Writes an array.
pub(super) fn write_values(
    shape: &[u64],
    values: &Values,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    Ok(write_slice(shape, values.as_slice(), out)?)
}

/// Writes positions or coordinates, as integers with a sign: SciPy knows no others. Nothing if one does not fit.
pub(super) fn write_indices(indices: &Indices, out: &mut dyn Write) -> Result<(), WriteError> {
    let narrow = indices.iter().all(|index| i32::try_from(index).is_ok());
    write_header(if narrow { "<i4" } else { "<i8" }, &[indices.len() as u64], out)?;
    let too_large = |_| WriteError::Unsuited {
        reason: "an index is beyond what SciPy's integers of 64 bits hold".into(),
        hint: "write a `.tns` file".into(),
    };
    if narrow {
        let all: Vec<i32> = indices.iter().map(|i| i32::try_from(i).unwrap_or(i32::MAX)).collect();
        write_elements(&all, out, i32::to_le_bytes)?;
    } else {
        let all: Result<Vec<i64>, _> = indices.iter().map(i64::try_from).collect();
        write_elements(&all.map_err(too_large)?, out, i64::to_le_bytes)?;
    }
    Ok(())
}
