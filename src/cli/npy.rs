//! Arrays of 64-bit or 32-bit floats that programs are given and give back: `.npy` files in C order, and files of sparse tensors, whose zeros are
//! filled in.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use dastac::sparse::io::npy::{self, Header};
use dastac::sparse::io::{FileKind, ReadOptions};
use dastac::sparse::{Build, ElementType, Format, Tensor, Values};
use dastac::stur::program::Element;

use super::Result;
use super::failure::Failure;
use super::output;
use super::source::reason;
use super::tensors;

/// An array whose numbers are not read yet, or not all of them.
pub struct Array {
    path: PathBuf,
    /// The type of its numbers.
    pub element: Element,
    /// Its extents.
    pub shape: Vec<usize>,
    numbers: Numbers,
}

enum Numbers {
    File(BufReader<File>, Header),
    Sparse(Tensor),
}

/// Opens an array and checks that it holds floats in C order.
pub fn open(path: &Path) -> Result<Array> {
    if FileKind::of(path).is_some_and(|kind| kind != FileKind::Npy) {
        return open_sparse(path);
    }
    let name = path.display();
    let unreadable = |why: String| Failure::user(format!("cannot read `{name}`: {why}"));
    let file = File::open(path).map_err(|error| unreadable(reason(&error)))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(unreadable("it is a directory".into()));
    }
    let mut file = BufReader::new(file);
    let header = npy::header(&mut file).map_err(|_| {
        Failure::user(format!("`{name}` is not a .npy file"))
            .hint(format!("write it in Python with `numpy.save(\"{name}\", array)`"))
    })?;
    let element = match header.element() {
        Some(ElementType::F64) => Element::F64,
        Some(ElementType::F32) => Element::F32,
        _ => {
            let kind = &header.descr;
            return Err(Failure::user(format!(
                "`{name}` holds elements of type '{kind}', not 64-bit ('<f8') or 32-bit ('<f4') floats"
            ))
            .hint("convert it in Python with `array.astype(numpy.float64)`"));
        }
    };
    if header.is_fortran() {
        return Err(Failure::user(format!("`{name}` is in Fortran order, not C order"))
            .hint("convert it in Python with `numpy.ascontiguousarray(array)`"));
    }
    let shape = extents(path, &header.shape)?;
    Ok(Array { path: path.into(), element, shape, numbers: Numbers::File(file, header) })
}

fn extents(path: &Path, shape: &[u64]) -> Result<Vec<usize>> {
    let extents = shape.iter().map(|extent| usize::try_from(*extent));
    extents.collect::<std::result::Result<_, _>>().map_err(|_| {
        let name = path.display();
        Failure::user(format!("cannot read `{name}`: it is too large for this machine"))
    })
}

/// Reads the entries of a sparse tensor. Integers and patterns become floats.
fn open_sparse(path: &Path) -> Result<Array> {
    let failed = |error| tensors::storage_failure(&path.display().to_string(), &error);
    let contents = tensors::read(path, &ReadOptions::default())?;
    let tensor = contents
        .tensor(&Format::coo(contents.shape().len()), Build::default())
        .and_then(|tensor| match tensor.values().element() {
            ElementType::F32 => Ok(tensor),
            _ => tensor.cast(ElementType::F64),
        })
        .map_err(failed)?;
    let element = match tensor.values() {
        Values::F32(_) => Element::F32,
        _ => Element::F64,
    };
    let shape = extents(path, tensor.shape())?;
    Ok(Array { path: path.into(), element, shape, numbers: Numbers::Sparse(tensor) })
}

impl Array {
    /// How to make its numbers 32 bits long.
    pub fn rounding_hint(&self) -> String {
        match &self.numbers {
            Numbers::File(..) => "round it in Python with `array.astype(numpy.float32)`".into(),
            Numbers::Sparse(_) => {
                format!("`dastac convert {} a.npz --type f32` rounds it", self.path.display())
            }
        }
    }

    /// Reads the numbers, all of the box. The shape must be one that memory was found for.
    pub fn read(self) -> Result<Vec<f64>> {
        let name = self.path.display().to_string();
        let values = match self.numbers {
            Numbers::File(mut file, header) => header
                .values(&mut file)
                .map_err(|fault| Failure::user(format!("cannot read `{name}`: {fault}")))?,
            Numbers::Sparse(tensor) => tensor
                .to_dense(Build::default())
                .map_err(|error| tensors::storage_failure(&name, &error))?,
        };
        match values.cast(ElementType::F64) {
            Ok(Values::F64(numbers)) => Ok(numbers),
            _ => Err(Failure::Defect(format!("`{name}` does not hold floats"))),
        }
    }
}

/// Writes an array of the given type; no extents make it a 0-d array. A file of another kind gets the elements that are not zero.
pub fn write(path: &Path, shape: &[usize], data: &[f64], element: Element) -> Result<()> {
    let extents: Vec<u64> = shape.iter().map(|extent| *extent as u64).collect();
    if let Some(kind) = FileKind::of(path).filter(|kind| *kind != FileKind::Npy) {
        let failed = |error| tensors::storage_failure(&path.display().to_string(), &error);
        let element = match element {
            Element::F64 => ElementType::F64,
            Element::F32 => ElementType::F32,
        };
        let tensor = Tensor::from_dense(extents, Values::F64(data.to_vec()))
            .and_then(|tensor| tensor.convert(&natural(shape.len()), Build::default()))
            .and_then(|tensor| tensor.cast(element))
            .map_err(failed)?;
        return tensors::write(path, kind, &tensor, &ReadOptions::default(), Build::default());
    }
    output::file(path, &mut |out: &mut dyn Write| {
        npy::write_floats(&extents, data, element == Element::F64, out)
    })
}

/// Rows of matrices, trees of other tensors.
fn natural(rank: usize) -> Format {
    if rank == 2 { Format::csr() } else { Format::csf(rank) }
}
