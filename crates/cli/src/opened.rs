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
use dastac::stur::{Program, TensorId};

use super::Result;
use super::args::ReadingArgs;
use super::failure::Failure;
use super::inputs::{self, Extent};
use super::npy::{self, Array};
use super::render::Renderer;
use super::tensors::{self, Reading};

/// An input that is given.
pub enum Given {
    /// A dense array, for a tensor without a format.
    Array(Array),
    /// The stored elements, for a tensor with `:F`.
    Sparse(formats::Tensor),
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
        if tensor.rank == 0 && !path.exists() {
            if let Some(contents) = number(path) {
                return Ok(Opened::Contents(path.into(), contents, reading));
            }
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
            return Ok(Opened::Array(array));
        }
        let contents = tensors::read(path, &reading.options)?;
        if tensor.format.is_some() && contents.shape().len() != tensor.rank {
            let (name, found) = (path.display(), contents.shape().len());
            return Err(Failure::user(format!(
                "`{}` has {}, but the tensor in `{name}` has {found}",
                tensor.name,
                dastac::elements::count(tensor.rank, "dimension")
            )));
        }
        Ok(Opened::Contents(path.into(), contents, reading))
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
        let failed = |error| tensors::storage_failure(&tensor.name, &error);
        if contents.guessed {
            let known = |(dimension, found): (usize, &u64)| {
                let side = extent(id, dimension);
                let size = side.and_then(|side| side.extent(*sizes.get(&side.symbol)?));
                let size = size.and_then(|size| u64::try_from(size).ok());
                size.unwrap_or(0).max(*found)
            };
            let shape: Vec<u64> = contents.shape().iter().enumerate().map(known).collect();
            contents = contents.widened(shape).map_err(failed)?;
        }
        let Some(storage) = &tensor.format else {
            let mut array = npy::of_contents(&path, &contents, reading.build)?;
            array.counts_from_one = match FileKind::of(&path) {
                Some(FileKind::MatrixMarket) => true,
                Some(FileKind::Frostt) => !reading.options.zero_based,
                _ => false,
            };
            array.tolerance = reading.tolerance;
            return Ok(Given::Array(array));
        };
        let built = contents.tensor(&storage.format, reading.build).map_err(failed)?;
        tensors::note_merged(renderer, &path.display().to_string(), &contents, &built);
        Ok(Given::Sparse(built))
    }
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
