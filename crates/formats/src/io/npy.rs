//! NumPy arrays (`.npy`), also as members of `.npz` files.

use std::io::{Read, Write};

use rayon::prelude::*;

use super::{Fault, WriteError};
use crate::storage::Indices;
use dastac_elements::{Element, Native, Storage, View, with_type};

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

/// NumPy's code for a type of elements: `f8`.
fn code_of(element: Element) -> &'static str {
    match element {
        Element::F64 => "f8",
        Element::F32 => "f4",
        Element::F16 => "f2",
        // NumPy has no bfloat16. This is what the package ml_dtypes writes: two bytes of no type.
        Element::Bf16 => "V2",
        Element::C128 => "c16",
        Element::C64 => "c8",
        Element::I8 => "i1",
        Element::I16 => "i2",
        Element::I32 => "i4",
        Element::I64 => "i8",
        Element::U8 => "u1",
        Element::U16 => "u2",
        Element::U32 => "u4",
        Element::Bool => "b1",
    }
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
        descr: descr.chars().filter(|letter| !letter.is_control()).take(40).collect(),
    })
}

/// No text has more bytes.
const LONGEST: u64 = 1 << 14;

impl Header {
    /// The type of its elements as tensors hold them. Integers without a sign become longer ones with a sign; those of
    /// 64 bits must fit.
    pub fn element(&self) -> Option<Element> {
        match (self.kind, self.width) {
            ('u', 2) => return Some(Element::I32),
            ('u', 4 | 8) => return Some(Element::I64),
            _ => {}
        }
        let code = format!("{}{}", self.kind, self.width);
        Element::OF_TENSORS.iter().copied().find(|element| code_of(*element) == code)
    }

    /// Bytes of its elements in memory, when all are read; nothing where they are not counted by 64 bits.
    pub fn bytes(&self) -> Option<u64> {
        self.count().ok()?.checked_mul(self.element().map_or(8, Element::bytes) as u64)
    }

    /// Whether its elements stand in the order of columns.
    pub fn is_fortran(&self) -> bool {
        // Both orders are the same for arrays of less than two extents.
        self.fortran && self.shape.iter().filter(|extent| **extent != 1).count() > 1
    }

    /// Of how many numbers an element consists.
    fn parts(&self) -> usize {
        if self.kind == 'c' { 2 } else { 1 }
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

    /// Reads elements of so many bytes, each made of its bytes, the lowest first.
    fn elements<T>(
        &self,
        reader: &mut dyn Read,
        width: usize,
        element: impl Fn(&[u8]) -> T,
    ) -> Result<Vec<T>, Fault> {
        let count = self.count()?;
        let mut all = Vec::new();
        let mut bytes = Vec::new();
        while (all.len() as u64) < count {
            let left = (count - all.len() as u64).min((PART / width) as u64);
            bytes.clear();
            let read = (&mut *reader).take(left * width as u64).read_to_end(&mut bytes)?;
            if self.big_endian {
                bytes.chunks_exact_mut(width / self.parts()).for_each(<[u8]>::reverse);
            }
            all.extend(bytes.chunks_exact(width).map(&element));
            if (read as u64) < left * width as u64 {
                return Err(Fault::new(format!("it ends after {} of {count} elements", all.len())));
            }
        }
        Ok(all)
    }

    /// Reads numbers as values, in C order.
    pub fn values(&self, reader: &mut dyn Read) -> Result<Storage, Fault> {
        let values = self.values_as_stored(reader)?;
        match self.is_fortran() {
            true => transposed(&values, &self.shape),
            false => Ok(values),
        }
    }

    fn values_as_stored(&self, reader: &mut dyn Read) -> Result<Storage, Fault> {
        match (self.kind, self.width) {
            ('u', 2) => {
                let wide = |bytes: &[u8]| i32::from(i16::of_bytes(bytes).cast_unsigned());
                return Ok(Storage::from(self.elements(reader, 2, wide)?));
            }
            ('u', 4) => {
                let wide = |bytes: &[u8]| i64::from(u32::of_bytes(bytes));
                return Ok(Storage::from(self.elements(reader, 4, wide)?));
            }
            ('u', 8) => {
                let all = self.elements(reader, 8, i64::of_bytes)?;
                if let Some(at) = all.iter().position(|value| *value < 0) {
                    let value = all[at].cast_unsigned();
                    return Err(Fault::new(format!(
                        "element {at} is {value}, which does not fit 64 bits with a sign"
                    )));
                }
                return Ok(Storage::from(all));
            }
            _ => {}
        }
        match self.element() {
            Some(element) => with_type!(element, T => {
                Ok(Storage::from(self.elements(reader, size_of::<T>(), T::of_bytes)?))
            }),
            None => Err(Fault::new(format!(
                "it holds elements of type {}, not of {}",
                self.descr,
                Element::names()
            ))
            .hint("convert it in Python with `array.astype(numpy.float64)`")),
        }
    }

    /// Reads numbers that are positions or coordinates.
    pub(super) fn indices(&self, reader: &mut dyn Read, what: &str) -> Result<Vec<u64>, Fault> {
        let signed = |number: i64| u64::try_from(number).ok();
        if self.is_fortran() {
            return Err(Fault::new(format!("`{what}` is in Fortran order")));
        }
        let all: Vec<Option<u64>> = match (self.kind, self.width) {
            ('i', 8) => self.elements(reader, 8, |bytes| signed(i64::of_bytes(bytes)))?,
            ('i', 4) => self.elements(reader, 4, |bytes| signed(i32::of_bytes(bytes).into()))?,
            ('u', 8) => {
                self.elements(reader, 8, |bytes| Some(i64::of_bytes(bytes).cast_unsigned()))?
            }
            ('u', 4) => self.elements(reader, 4, |bytes| Some(u32::of_bytes(bytes).into()))?,
            ('i', 2) => self.elements(reader, 2, |bytes| signed(i16::of_bytes(bytes).into()))?,
            ('i', 1) => self.elements(reader, 1, |bytes| signed(i8::of_bytes(bytes).into()))?,
            ('u', 2) => self.elements(reader, 2, |bytes| {
                Some(u64::from(i16::of_bytes(bytes).cast_unsigned()))
            })?,
            ('u', 1) => self.elements(reader, 1, |bytes| Some(bytes[0].into()))?,
            _ => {
                return Err(Fault::new(format!(
                    "`{what}` has type {}, no integers of at most 64 bits",
                    self.descr
                )));
            }
        };
        let negative = || Fault::new(format!("`{what}` holds a negative number"));
        all.into_iter().map(|number| number.ok_or_else(negative)).collect()
    }

    /// Reads offsets, which may be negative.
    pub(super) fn offsets(&self, reader: &mut dyn Read) -> Result<Vec<i64>, Fault> {
        match (self.kind, self.width) {
            ('i', 8) => self.elements(reader, 8, i64::of_bytes),
            ('i', 4) => self.elements(reader, 4, |bytes| i32::of_bytes(bytes).into()),
            _ => Err(Fault::new(format!(
                "`offsets` has type {}, no integers of 32 or 64 bits",
                self.descr
            ))),
        }
    }

    /// Reads a line of text.
    pub(super) fn text(&self, reader: &mut dyn Read) -> Result<String, Fault> {
        let width = match self.kind {
            'S' => 1,
            'U' => 4,
            _ => return Err(Fault::new(format!("`format` has type {}, no text", self.descr))),
        };
        let mut bytes = Vec::new();
        reader.take(self.width.saturating_mul(width).min(LONGEST)).read_to_end(&mut bytes)?;
        let letters = bytes.iter().filter(|byte| byte.is_ascii_graphic() || **byte == b' ');
        let text: String = letters.map(|byte| char::from(*byte)).collect();
        Ok(text.trim().to_owned())
    }
}

/// Reads an array: its extents, and its elements in row-major order.
pub(super) fn read_values(reader: &mut dyn Read) -> Result<(Vec<u64>, Storage), Fault> {
    let header = header(reader)?;
    let values = header.values(reader)?;
    Ok((header.shape, values))
}

/// Elements in C order of those that stand in the order of columns: the first coordinate varies fastest.
fn transposed(values: &Storage, shape: &[u64]) -> Result<Storage, Fault> {
    let failed = |_| Fault::new("there is no memory to bring it to C order");
    let mut sorted = Storage::zeroed(values.element(), values.len()).map_err(failed)?;
    let Some((last, outer)) = shape.split_last() else { return Ok(sorted) };
    // As many elements were read, so extents and products of them fit memory.
    let extents: Vec<usize> = outer.iter().map(|e| usize::try_from(*e).unwrap_or(0)).collect();
    let last = usize::try_from(*last).unwrap_or(0).max(1);
    let stride: usize = extents.iter().product();
    with_type!(values.element(), T => {
        let from = values.typed::<T>();
        let Some(to) = sorted.as_mut_slice::<T>() else { return Ok(sorted) };
        to.par_chunks_mut(last).enumerate().for_each(|(number, row)| {
            let (mut rest, mut at, mut width) = (number, 0, stride);
            for extent in extents.iter().rev() {
                width /= extent;
                at += rest % extent * width;
                rest /= extent;
            }
            for (to, from) in row.iter_mut().zip(from[at..].iter().step_by(stride)) {
                *to = *from;
            }
        });
    });
    Ok(sorted)
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

/// Writes an array.
pub fn write_slice(shape: &[u64], values: View<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    let (element, code) = (values.element(), code_of(values.element()));
    let order = if element.bytes() == 1 || code.starts_with('V') { '|' } else { '<' };
    write_header(&format!("{order}{code}"), shape, out)?;
    out.write_all(values.bytes())
}

/// Writes an array.
pub(super) fn write_values(
    shape: &[u64],
    values: &Storage,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    Ok(write_slice(shape, values.view(), out)?)
}

/// Writes positions or coordinates, as integers with a sign: SciPy knows no others. Nothing if one does not fit.
pub(super) fn write_indices(indices: &Indices, out: &mut dyn Write) -> Result<(), WriteError> {
    write_indices_of(indices, &[indices.len() as u64], out)
}

/// As [`write_indices`], as an array of a shape.
pub(super) fn write_indices_of(
    indices: &Indices,
    shape: &[u64],
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let narrow = indices.iter().all(|index| i32::try_from(index).is_ok());
    write_header(if narrow { "<i4" } else { "<i8" }, shape, out)?;
    let too_large = |_| WriteError::Unsuited {
        reason: "an index is beyond what SciPy's integers of 64 bits hold".into(),
        hint: "write a `.tns` file".into(),
    };
    if narrow {
        let all: Vec<i32> = indices.iter().map(|i| i32::try_from(i).unwrap_or(i32::MAX)).collect();
        out.write_all(View::of(&all).bytes())?;
    } else {
        let all: Result<Vec<i64>, _> = indices.iter().map(i64::try_from).collect();
        out.write_all(View::of(&all.map_err(too_large)?).bytes())?;
    }
    Ok(())
}
