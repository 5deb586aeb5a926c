//! Files of inputs, and which sizes they decide.
//!
//! A `.tns` file need not say its shape: then its extents are at least those of its largest coordinates, and symbols
//! that other files or `-p` decide widen them. One without entries says no size at all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dastac::elements::{Complex, Storage};
use dastac::formats;
use dastac::formats::io::{Contents, Data, FileKind};
use dastac::formats::storage::Entries;
use dastac::stur::program::Tensor;
use dastac::stur::{Program, TensorId};

use super::Result;
use super::args::ReadingArgs;
use super::data_file::DataFile;
use super::failure::Failure;
use super::inputs::{self, Extent};
use super::npy::{self, Array};
use super::render::Renderer;
use super::tensors::{self, Reading};

/// An input that is given.
pub enum Given {
    /// A dense array, for a tensor without a format.
    Array(Array),
    /// The stored elements of a file, for a tensor with `:F`.
    Sparse(formats::Tensor, DataFile),
}

/// A file of an input.
pub enum Opened {
    /// An array whose header was read.
    Array(Array),
    /// All of another file.
    Contents(PathBuf, Contents, Reading),
}

impl Opened {
    /// Opens a file; those of tensors without a format may be large arrays, which are read later.
    pub fn open(
        program: &Program,
        id: TensorId,
        path: &Path,
        args: &ReadingArgs,
    ) -> Result<Opened> {
        let tensor = program.tensor(id);
        let mut reading = tensors::reading(args, &tensor.name);
        reading.options.rank = Some(tensor.rank);
        if let Some(contents) = number(path).filter(|_| !path.exists()) {
            if tensor.rank == 0 {
                return Ok(Opened::Contents(path.into(), contents, reading));
            }
            let (name, text) = (&tensor.name, path.display());
            let message =
                format!("`{name}` has {}, and `{text}` is a number", dimensions(tensor.rank));
            return Err(Failure::user(message)
                .hint(format!("name a file of its elements: `--input {name}=PATH`")));
        }
        if tensor.rank == 0 && !path.exists() {
            let name = path.to_string_lossy();
            if name.starts_with(|letter: char| letter.is_ascii_digit() || "+-.".contains(letter))
                && FileKind::of(path).is_none()
            {
                let message = format!("`{name}` is neither a number nor a file");
                return Err(Failure::user(message).hint(format!(
                    "a scalar is a number, `--input {}=2.5`, or a 0-d array in a file",
                    tensor.name
                )));
            }
        }
        let is_packed = path.as_os_str().as_encoded_bytes().to_ascii_lowercase().ends_with(b".gz");
        let special = std::fs::metadata(path).is_ok_and(|file| !file.is_file() && !file.is_dir());
        let array = match FileKind::of(path) {
            Some(kind) => kind == FileKind::Npy && !is_packed,
            None => special,
        };
        if array && tensor.format.is_none() {
            let mut array = npy::open(path)?;
            array.tolerance = reading.tolerance;
            return Opened::Array(array).of_rank(tensor, path);
        }
        let contents = tensors::read(path, &reading.options)?;
        Opened::Contents(path.into(), contents, reading).of_rank(tensor, path)
    }

    /// Fails where a file holds a tensor of another rank.
    fn of_rank(self, tensor: &Tensor, path: &Path) -> Result<Opened> {
        let shape = self.shape();
        let (name, rank, found) = (&tensor.name, tensor.rank, shape.len());
        if rank == found {
            return Ok(self);
        }
        let (file, kind) = (path.display(), FileKind::of(path));
        let (what, end) = match kind.is_none_or(|kind| kind == FileKind::Npy) {
            true => ("array", "npy"),
            false => ("tensor", "tns"),
        };
        let own =
            if rank == 0 { "is a scalar".into() } else { format!("has {}", dimensions(rank)) };
        let held = match (rank, found) {
            (_, 0) => "is a scalar".into(),
            (0, _) => format!("has {}", dimensions(found)),
            _ => format!("has {found}"),
        };
        let failure = Failure::user(format!("`{name}` {own}, but the {what} in `{file}` {held}"));
        let squeezed: Vec<String> =
            shape.iter().filter(|extent| **extent != 1).map(u64::to_string).collect();
        Err(if rank == 0 {
            failure.hint("a scalar is a 0-d array, in Python `numpy.array(1.5)`")
        } else if self.may_be_pattern() && found + 1 == rank {
            failure.hint(format!("`--pattern={name}` reads lines as coordinates without a value"))
        } else if self.is_read_as_pattern() && found == rank + 1 {
            failure.hint("without `--pattern`, the last number of a line is a value")
        } else if squeezed.len() == rank {
            failure.hint(format!(
                "`dastac convert {file} squeezed.{end} --reshape {}` leaves out dimensions of extent 1, as \
                `numpy.squeeze` does",
                squeezed.join(",")
            ))
        } else {
            failure
        })
    }

    /// Whether all numbers of a list may be coordinates.
    fn may_be_pattern(&self) -> bool {
        let Opened::Contents(path, Contents { data: Data::Entries(entries), .. }, reading) = self
        else {
            return false;
        };
        let is_coordinate = |at| {
            let value = entries.values().get(at).and_then(|value| value.number().to_i64());
            value.is_some_and(|value| value >= 0)
        };
        FileKind::of(path) == Some(FileKind::Frostt)
            && !reading.options.pattern
            && (0..entries.len()).all(is_coordinate)
    }

    fn is_read_as_pattern(&self) -> bool {
        matches!(self, Opened::Contents(path, _, reading)
            if FileKind::of(path) == Some(FileKind::Frostt) && reading.options.pattern)
    }

    fn shape(&self) -> Vec<u64> {
        match self {
            Opened::Array(array) => array.shape.iter().map(|extent| *extent as u64).collect(),
            Opened::Contents(_, contents, _) => contents.shape().to_vec(),
        }
    }

    fn is_guessed(&self) -> bool {
        matches!(self, Opened::Contents(_, contents, _) if contents.guessed)
    }

    /// The symbols that are extents of inputs: what files say comes first, then the largest coordinates in those that
    /// do not say it.
    pub fn sizes(opened: &[(TensorId, Opened)], extent: Extent<'_>) -> BTreeMap<String, i64> {
        let shapes = |guessed: bool| {
            let inputs = opened.iter().filter(move |(_, opened)| opened.is_guessed() == guessed);
            inputs.map(|(id, opened)| (*id, opened.shape())).collect::<Vec<_>>()
        };
        let said = shapes(false);
        let mut sizes =
            inputs::sizes(extent, said.iter().map(|(id, shape)| (*id, shape.as_slice())));
        let mut least = BTreeMap::new();
        for (id, shape) in shapes(true).into_iter().filter(|(_, shape)| !shape.contains(&0)) {
            for (name, size) in inputs::sizes(extent, [(id, shape.as_slice())]) {
                let known = least.entry(name).or_insert(size);
                *known = size.max(*known);
            }
        }
        for (name, size) in least {
            sizes.entry(name).or_insert(size);
        }
        sizes
    }

    /// The input as it is given to the program, when sizes are known.
    pub fn finish(
        self,
        program: &Program,
        id: TensorId,
        extent: Extent<'_>,
        sizes: &BTreeMap<String, i64>,
        renderer: &Renderer,
    ) -> Result<Given> {
        let tensor = program.tensor(id);
        let (path, mut contents, reading) = match self {
            Opened::Array(array) => return Ok(Given::Array(array)),
            Opened::Contents(path, contents, reading) => (path, contents, reading),
        };
        let file = DataFile::new(&path, &reading.options);
        if contents.guessed {
            let known = |(dimension, found): (usize, &u64)| {
                let side = extent(id, dimension);
                let size = side.and_then(|side| side.extent(*sizes.get(&side.symbol)?));
                let size = size.and_then(|size| u64::try_from(size).ok());
                size.unwrap_or(0).max(*found)
            };
            let shape: Vec<u64> = contents.shape().iter().enumerate().map(known).collect();
            contents = contents.widened(shape).map_err(|error| file.failure(error))?;
        }
        let format = match &tensor.format {
            Some(storage) => storage.format.clone(),
            None => npy::format_of(&contents),
        };
        let built = contents.tensor(&format, reading.build).map_err(|error| file.failure(error))?;
        tensors::note_merged(renderer, &file.name, &contents, &built);
        if tensor.format.is_some() {
            return Ok(Given::Sparse(built, file));
        }
        let mut array = npy::of_tensor(&path, file, built)?;
        array.tolerance = reading.tolerance;
        Ok(Given::Array(array))
    }
}

/// `1 dimension`, `2 dimensions`.
fn dimensions(rank: usize) -> String {
    dastac::elements::count(rank, "dimension")
}

/// The number that stands in the place of a file: `2.5`, `-3`, `1e-3`, `1+2j`.
fn number(text: &Path) -> Option<Contents> {
    let text = text.to_str()?;
    let values = if let Ok(whole) = text.parse::<i64>() {
        Storage::from(vec![whole])
    } else if let Ok(value) = text.parse::<f64>() {
        Storage::from(vec![value])
    } else {
        Storage::from(vec![text.parse::<Complex<f64>>().ok()?])
    };
    let entries = Entries::new(Vec::new(), Vec::new(), values).ok()?;
    Some(Contents { data: Data::Entries(entries), about: "a number".into(), guessed: false })
}
