//! `.npy` files: dense arrays of 64-bit or 32-bit floats in C order.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use dastac::stur::program::Element;
use npyz::{DType, NpyHeader, Order, TypeChar, WriterBuilder};

use super::Result;
use super::failure::Failure;
use super::output;
use super::source::reason;

/// Headers are a line of text; anything beyond this is no array of numbers.
const MAX_HEADER: u64 = 1 << 16;

/// An array whose numbers are not read yet.
pub struct Array {
    path: PathBuf,
    big_endian: bool,
    /// The type of its numbers.
    pub element: Element,
    /// Its extents.
    pub shape: Vec<usize>,
    file: BufReader<File>,
}

/// Opens an array and checks that it holds floats in C order.
pub fn open(path: &Path) -> Result<Array> {
    let name = path.display();
    let unreadable = |why: String| Failure::user(format!("cannot read `{name}`: {why}"));
    let file = File::open(path).map_err(|error| unreadable(reason(&error)))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(unreadable("it is a directory".into()));
    }
    let mut file = BufReader::new(file);
    let header = NpyHeader::from_reader((&mut file).take(MAX_HEADER)).map_err(|_| {
        Failure::user(format!("`{name}` is not a .npy file"))
            .hint(format!("write it in Python with `numpy.save(\"{name}\", array)`"))
    })?;
    let dtype = header.dtype();
    let number = match &dtype {
        DType::Plain(number)
            if number.type_char() == TypeChar::Float && number.size_field() == 8 =>
        {
            Some((number, Element::F64))
        }
        DType::Plain(number)
            if number.type_char() == TypeChar::Float && number.size_field() == 4 =>
        {
            Some((number, Element::F32))
        }
        _ => None,
    };
    let Some((number, element)) = number else {
        let kind = dtype.descr();
        return Err(Failure::user(format!(
            "`{name}` holds elements of type {kind}, not 64-bit ('<f8') or 32-bit ('<f4') floats"
        ))
        .hint("convert it in Python with `array.astype(numpy.float64)`"));
    };
    let order = header.order();
    let shape: Vec<usize> = header
        .shape()
        .iter()
        .map(|extent| usize::try_from(*extent))
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| unreadable("it is too large for this machine".into()))?;
    // Both orders are the same for arrays of less than two extents.
    if order == Order::Fortran && shape.iter().filter(|extent| **extent != 1).count() > 1 {
        return Err(Failure::user(format!("`{name}` is in Fortran order, not C order"))
            .hint("convert it in Python with `numpy.ascontiguousarray(array)`"));
    }
    let big_endian = number.endianness() == npyz::Endianness::Big;
    Ok(Array { path: path.into(), big_endian, element, shape, file })
}

impl Array {
    /// Reads the numbers. The shape must be one that memory was found for.
    pub fn read(mut self) -> Result<Vec<f64>> {
        let name = self.path.display();
        let length = self.shape.iter().product::<usize>();
        let mut data: Vec<f64> = Vec::new();
        data.try_reserve_exact(length).map_err(|_| {
            Failure::user(format!("no memory for the {length} elements of `{name}`"))
        })?;
        let mut bytes = [0; 8];
        let width = self.element.bytes() as usize;
        for read in 0..length {
            self.file.read_exact(&mut bytes[..width]).map_err(|error| {
                let why = match error.kind() {
                    std::io::ErrorKind::UnexpectedEof => {
                        format!("it ends after {read} of {length} elements")
                    }
                    _ => reason(&error),
                };
                Failure::user(format!("cannot read `{name}`: {why}"))
            })?;
            if self.big_endian {
                bytes[..width].reverse();
            }
            data.push(match self.element {
                Element::F64 => f64::from_le_bytes(bytes),
                Element::F32 => {
                    f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
                }
            });
        }
        Ok(data)
    }
}

/// Writes an array of the given type; no extents make it a 0-d array.
pub fn write(path: &Path, shape: &[usize], data: &[f64], element: Element) -> Result<()> {
    let extents: Vec<u64> = shape.iter().map(|extent| *extent as u64).collect();
    output::file(path, &mut |out: &mut dyn Write| match element {
        Element::F64 => {
            let options = npyz::WriteOptions::new().default_dtype();
            let mut array = options.shape(&extents).writer(out).begin_nd()?;
            array.extend(data)?;
            array.finish()
        }
        Element::F32 => {
            let options = npyz::WriteOptions::<f32>::new().default_dtype();
            let mut array = options.shape(&extents).writer(out).begin_nd()?;
            array.extend(data.iter().map(|value| *value as f32))?;
            array.finish()
        }
    })
}
