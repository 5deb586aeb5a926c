//! `.npy` files: dense arrays of 64-bit floats in C order.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

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
    /// Its extents.
    pub shape: Vec<usize>,
    file: BufReader<File>,
}

/// Opens an array and checks that it holds 64-bit floats in C order.
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
            Some(number)
        }
        _ => None,
    };
    let Some(number) = number else {
        let kind = dtype.descr();
        return Err(Failure::user(format!(
            "`{name}` holds elements of type {kind}, not 64-bit floats ('<f8')"
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
    Ok(Array { path: path.into(), big_endian, shape, file })
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
        for read in 0..length {
            self.file.read_exact(&mut bytes).map_err(|error| {
                let why = match error.kind() {
                    std::io::ErrorKind::UnexpectedEof => {
                        format!("it ends after {read} of {length} elements")
                    }
                    _ => reason(&error),
                };
                Failure::user(format!("cannot read `{name}`: {why}"))
            })?;
            data.push(if self.big_endian {
                f64::from_be_bytes(bytes)
            } else {
                f64::from_le_bytes(bytes)
            });
        }
        Ok(data)
    }
}

/// Writes an array; no extents make it a 0-d array.
pub fn write(path: &Path, shape: &[usize], data: &[f64]) -> Result<()> {
    let extents: Vec<u64> = shape.iter().map(|extent| *extent as u64).collect();
    output::file(path, &mut |out: &mut dyn Write| {
        let mut array =
            npyz::WriteOptions::new().default_dtype().shape(&extents).writer(out).begin_nd()?;
        array.extend(data)?;
        array.finish()
    })
}
