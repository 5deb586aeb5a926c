//! Arrays that programs are given: `.npy` files, and files of sparse tensors, whose zeros are filled in.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use dastac::elements::{Element, Kind, Storage};
use dastac::formats::io::npy::{self, Header};
use dastac::formats::io::{Contents, Data, ReadOptions};
use dastac::formats::storage::Place;
use dastac::formats::{Build, Format, StorageError, Tensor};

use super::Result;
use super::data_file::DataFile;
use super::failure::Failure;
use super::source::reason;

/// An array whose numbers are not read yet, or not all of them.
pub struct Array {
    path: PathBuf,
    /// How messages speak of its file.
    pub file: DataFile,
    /// The type of its numbers.
    pub element: Element,
    /// Its extents.
    pub shape: Vec<usize>,
    numbers: Numbers,
    /// By which part redundant elements may differ.
    pub tolerance: Option<f64>,
}

#[expect(clippy::large_enum_variant, reason = "there are few, one for each file")]
enum Numbers {
    File(BufReader<File>, Header),
    Sparse(Tensor),
}

/// Opens an array and checks that it holds numbers or truth values.
pub fn open(path: &Path) -> Result<Array> {
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
    let Some(element) = header.element() else {
        let kind = &header.descr;
        return Err(Failure::user(format!(
            "`{name}` holds elements of type '{kind}', not floats ('<f8', '<f4', '<f2', '|V2' for bf16), complex \
            numbers ('<c16', '<c8'), integers of 8 to 64 bits or truth values ('|b1')"
        ))
        .hint("convert it in Python with `array.astype(numpy.float64)`"));
    };
    let shape = extents(path, &header.shape)?;
    let options = ReadOptions::default();
    Ok(Array {
        path: path.into(),
        file: DataFile::new(path, &options),
        element,
        shape,
        numbers: Numbers::File(file, header),
        tolerance: None,
    })
}

fn extents(path: &Path, shape: &[u64]) -> Result<Vec<usize>> {
    let extents = shape.iter().map(|extent| usize::try_from(*extent));
    extents.collect::<std::result::Result<_, _>>().map_err(|_| {
        let name = path.display();
        Failure::user(format!("cannot read `{name}`: it is too large for this machine"))
    })
}

/// The format in which the contents of another file are kept until they are read as an array.
pub fn format_of(contents: &Contents) -> Format {
    match &contents.data {
        Data::Stored(_) => Format::dense(contents.shape().len()),
        Data::Entries(_) => Format::coo(contents.shape().len()),
    }
}

/// What another file holds as an array, whose zeros are filled in when it is read.
pub fn of_tensor(path: &Path, file: DataFile, tensor: Tensor) -> Result<Array> {
    let element = tensor.values().element();
    let shape = extents(path, tensor.shape())?;
    let numbers = Numbers::Sparse(tensor);
    Ok(Array { path: path.into(), file, element, shape, numbers, tolerance: None })
}

impl Array {
    /// Whether a tensor may hold the file's elements as they are: NumPy's integers have 64 bits and its floats too,
    /// whatever the numbers are. One that does not fit is an error when it is read; as truth values, all do: what is
    /// not 0 is true. Floats are not rounded to shorter ones unasked.
    pub fn fits(&self, element: Element) -> bool {
        let integers = element.kind() != Kind::Float && element.kind() != Kind::Complex;
        let may_fit = match self.element.kind() {
            Kind::Float => integers,
            Kind::Signed | Kind::Unsigned => integers || element.kind() == Kind::Float,
            Kind::Complex => {
                integers || element.kind() == Kind::Float && element.holds(self.element.part())
            }
            Kind::Truth => false,
        };
        may_fit || element.holds(self.element)
    }

    /// How to make its elements those of a tensor.
    pub fn conversion_hint(&self, element: Element) -> String {
        let rounds = !element.is_integer() && element.part() != Element::F64;
        let (verb, name) = (if rounds { "round" } else { "convert" }, element.name());
        match &self.numbers {
            Numbers::File(..) => {
                let kind = python_type(element);
                format!("{verb} it in Python with `array.astype({kind})`")
            }
            Numbers::Sparse(_) => {
                format!("`dastac convert {} a.npz --type {name}` {verb}s it", self.path.display())
            }
        }
    }

    /// Reads the elements, all of the box, for a tensor that they fit, as elements of its type. The shape must be one
    /// that memory was found for.
    pub fn read(self, tensor: &str, element: Element) -> Result<Storage> {
        let name = &self.file.name;
        let values = match self.numbers {
            Numbers::File(mut file, header) => header
                .values(&mut file)
                .map_err(|fault| Failure::user(format!("cannot read `{name}`: {fault}")))?,
            Numbers::Sparse(stored) => {
                let whole = Format::dense(stored.shape().len());
                let whole = stored.convert(&whole, Build::default());
                let whole = whole.map_err(|error| self.file.failure(error))?;
                drop(stored);
                whole.values().clone()
            }
        };
        values.cast(element).map_err(|error| {
            let place = Place::in_array(error.at, &self.shape);
            self.file.misfit(tensor, StorageError::Value { place, error: error.into() })
        })
    }
}

/// What Python calls a type of elements.
fn python_type(element: Element) -> String {
    let bits = 8 * element.bytes();
    match element.kind() {
        _ if element == Element::Bf16 => "ml_dtypes.bfloat16".into(),
        Kind::Float => format!("numpy.float{bits}"),
        Kind::Complex => format!("numpy.complex{bits}"),
        Kind::Signed => format!("numpy.int{bits}"),
        Kind::Unsigned => format!("numpy.uint{bits}"),
        Kind::Truth => "numpy.bool_".into(),
    }
}
