//! Files: tensors in the formats that others read and write.
//!
//! Text is parsed in blocks of whole lines by all threads, each of which reads the blocks that it takes, and put
//! together in order. What a header claims is never allocated, only compared with what follows it. Any bytes
//! give a tensor or a [`ReadError`].
//!
//! The rules for all kinds of files: entries may come in any order; coordinates out of range are errors; zeros that are
//! written in a coordinate file are entries, those in an array are not; several entries of one element follow
//! [`Duplicates`](crate::storage::Duplicates) when a tensor is built of them.

mod cursor;
mod frostt;
mod matrix_market;
pub mod npy;
mod npz;
mod numbers;
mod ranges;
mod smtx;
mod text;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use self::text::{Header, Origin};
use crate::format::{Format, Hybrid};
use crate::storage::{Build, Entries, StorageError, Tensor};
use dastac_elements::{Element, NoMemory, Storage, View};

/// A kind of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// MatrixMarket, `.mtx`.
    MatrixMarket,
    /// FROSTT, `.tns`.
    Frostt,
    /// Deep Learning Matrix Collection, `.smtx`: a pattern in rows.
    Smtx,
    /// A dense NumPy array, `.npy`.
    Npy,
    /// A sparse SciPy matrix, `.npz`.
    Npz,
    /// A tensor in any format, `.levels.npz`.
    Levels,
}

impl FileKind {
    /// All kinds, by the end of their names.
    pub const ALL: [(&'static str, FileKind); 5] = [
        ("mtx", FileKind::MatrixMarket),
        ("tns", FileKind::Frostt),
        ("smtx", FileKind::Smtx),
        ("npy", FileKind::Npy),
        ("npz", FileKind::Npz),
    ];

    /// The kind of a file by its name; `.gz` may follow, or `:KEY` behind `.npz`.
    pub fn of(path: &Path) -> Option<FileKind> {
        let (path, _) = split_key(path);
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        if name.ends_with(".levels.npz") {
            return Some(FileKind::Levels);
        }
        let (_, end) = name.rsplit_once('.')?;
        FileKind::ALL.iter().find(|(known, _)| *known == end).map(|(_, kind)| *kind)
    }

    /// Whether it is a zip file.
    pub fn is_archive(self) -> bool {
        matches!(self, FileKind::Npz | FileKind::Levels)
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::MatrixMarket => "MatrixMarket",
            FileKind::Frostt => "FROSTT",
            FileKind::Smtx => "DLMC",
            FileKind::Npy => "NumPy array",
            FileKind::Npz => "SciPy",
            FileKind::Levels => "levels",
        }
    }
}

impl FileKind {
    /// What coordinates in a file count from: 1 in lists of entries that do not say otherwise, 0 in arrays.
    pub fn counts_from(self, options: &ReadOptions) -> u64 {
        match self {
            FileKind::MatrixMarket => 1,
            FileKind::Frostt => u64::from(!options.zero_based),
            FileKind::Smtx | FileKind::Npy | FileKind::Npz | FileKind::Levels => 0,
        }
    }
}

/// A path without the key of an array behind it, `a.npz:KEY`, and the key. A file that is there under the whole name
/// has none.
pub fn split_key(path: &Path) -> (PathBuf, Option<String>) {
    let bytes = path.as_os_str().as_encoded_bytes();
    let lower = bytes.to_ascii_lowercase();
    let at = memchr::memmem::rfind(&lower, b".npz:").filter(|_| !path.exists());
    let Some(at) = at else { return (path.into(), None) };
    use std::os::unix::ffi::OsStrExt;
    let file = std::ffi::OsStr::from_bytes(&bytes[..at + 4]);
    (file.into(), Some(String::from_utf8_lossy(&bytes[at + 5..]).into_owned()))
}

/// Why a file was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {reason}", name, line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ReadError {
    /// The file.
    pub name: String,
    /// The line, from 1, of a text file.
    pub line: Option<u64>,
    /// What is wrong.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<Hint>,
}

/// What to do about a file that was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hint {
    /// In words.
    #[error("{0}")]
    Text(String),
    /// Say the shape: [`ReadOptions::shape`].
    #[error("say its shape")]
    Shape,
    /// Count coordinates from 0: [`ReadOptions::zero_based`].
    #[error("read it with coordinates that count from 0")]
    ZeroBased,
    /// Expect values: without [`ReadOptions::pattern`].
    #[error("read it with values, not as a pattern")]
    Values,
}

impl From<&str> for Hint {
    fn from(text: &str) -> Hint {
        Hint::Text(text.into())
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Hint {
        Hint::Text(text)
    }
}

/// What is wrong, without the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Fault {
    /// The line, from 1, of a text file.
    pub line: Option<u64>,
    /// What is wrong.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<Hint>,
}

impl Fault {
    fn new(reason: impl Into<String>) -> Fault {
        Fault { line: None, reason: reason.into(), hint: None }
    }

    fn at(line: u64, reason: impl Into<String>) -> Fault {
        Fault { line: Some(line), ..Fault::new(reason) }
    }

    fn hint(self, hint: impl Into<Hint>) -> Fault {
        Fault { hint: Some(hint.into()), ..self }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        let text = error.to_string();
        Fault::new(text.split(" (os error").next().unwrap_or(&text).to_lowercase())
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Fault {
        Fault::new(error.to_string())
    }
}

/// How files are read that do not say everything themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// `.tns`: coordinates count from 0, not from 1.
    pub zero_based: bool,
    /// `.tns`: lines are coordinates without a value.
    pub pattern: bool,
    /// `.tns`: the extents; without them, the largest coordinates say them.
    pub shape: Option<Vec<u64>>,
    /// `.tns`: how many coordinates an entry has, for a file without entries; its extents are then 0 until it is
    /// [widened](Contents::widened).
    pub rank: Option<usize>,
    /// `.npz`: which array of several is read (`numpy.savez`) where the file's name has no key.
    pub array: Option<String>,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there are few, one for each file")]
pub enum Data {
    /// Entries in the order of the file.
    Entries(Entries),
    /// A tensor in a format: of a dense array, all elements.
    Stored(Tensor),
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// What it holds.
    pub data: Data,
    /// What it says of itself: `MatrixMarket, real, symmetric`.
    pub about: String,
    /// Whether nothing says the extents, so that they are those of the largest coordinates.
    pub guessed: bool,
}

impl Contents {
    /// Extents.
    pub fn shape(&self) -> &[u64] {
        match &self.data {
            Data::Entries(entries) => entries.shape(),
            Data::Stored(tensor) => tensor.shape(),
        }
    }

    /// The same entries in a larger box.
    ///
    /// # Errors
    /// Entries outside of it.
    pub fn widened(self, shape: Vec<u64>) -> Result<Contents, StorageError> {
        let data = match self.data {
            Data::Entries(entries) => Data::Entries(entries.widened(shape)?),
            dense => dense,
        };
        Ok(Contents { data, guessed: false, ..self })
    }

    /// How many entries there are in a list of entries that is a pattern.
    pub fn pattern_entries(&self) -> Option<usize> {
        match &self.data {
            Data::Entries(entries) if entries.values().element() == Element::Bool => {
                Some(entries.len())
            }
            _ => None,
        }
    }

    /// The format that its contents take when none is asked for: `csr` for matrices, `csf` for other sparse tensors,
    /// `dense` for arrays.
    pub fn natural_format(&self) -> Format {
        match (&self.data, self.shape().len()) {
            (Data::Stored(tensor), _) => tensor.format().clone(),
            (Data::Entries(_), 2) => Format::csr(),
            (Data::Entries(_), rank) => Format::csf(rank),
        }
    }

    /// A tensor of its contents.
    pub fn tensor(&self, format: &Format, build: Build) -> Result<Tensor, StorageError> {
        match &self.data {
            Data::Entries(entries) => Tensor::from_entries(entries, format, build),
            Data::Stored(tensor) => tensor.convert(format, build),
        }
    }
}

/// Reads a file, whose name says its kind.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Contents, ReadError> {
    let name = path.display().to_string();
    let fail = |fault: Fault| ReadError {
        name: name.clone(),
        line: fault.line,
        reason: fault.reason,
        hint: fault.hint,
    };
    let Some(kind) = FileKind::of(path) else {
        return Err(fail(
            Fault::new("the name does not say what kind of file it is").hint(endings()),
        ));
    };
    let (path, key) = split_key(path);
    let open = || {
        let file = File::open(&path)?;
        if file.metadata()?.is_dir() {
            return Err(Fault::new("it is a directory"));
        }
        Ok(file)
    };
    read_file(open().map_err(fail)?, kind, key.as_deref(), options).map_err(fail)
}

/// Which endings are known.
pub fn endings() -> String {
    let known = FileKind::ALL.map(|(end, kind)| format!(".{end} ({})", kind.name()));
    format!("known are {}, the texts also with .gz", known.join(", "))
}

/// Reads bytes as a file of a kind; `.gz` is told from its first bytes.
pub fn read_bytes(
    bytes: &[u8],
    kind: FileKind,
    options: &ReadOptions,
) -> Result<Contents, ReadError> {
    let fail = |fault: Fault| ReadError {
        name: "<bytes>".into(),
        line: fault.line,
        reason: fault.reason,
        hint: fault.hint,
    };
    if kind.is_archive() {
        return npz::read(io::Cursor::new(bytes), None, options).map_err(fail);
    }
    read_stream(bytes, Origin::Bytes(bytes), kind, options).map_err(fail)
}

fn read_file(
    file: File,
    kind: FileKind,
    key: Option<&str>,
    options: &ReadOptions,
) -> Result<Contents, Fault> {
    if kind.is_archive() {
        return npz::read(BufReader::new(file), key, options);
    }
    let origin = if file.metadata()?.is_file() { Origin::File(&file) } else { Origin::Stream };
    read_stream(&file, origin, kind, options)
}

/// Reads what comes out of a stream, which may stand in `origin` too.
fn read_stream(
    stream: impl Read + Send,
    origin: Origin<'_>,
    kind: FileKind,
    options: &ReadOptions,
) -> Result<Contents, Fault> {
    let mut reader = BufReader::with_capacity(1 << 16, stream);
    let packed = reader.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let origin = if packed { Origin::Stream } else { origin };
    let mut reader: Box<dyn BufRead + Send> = if packed {
        let unpacked = flate2::bufread::MultiGzDecoder::new(reader);
        Box::new(BufReader::with_capacity(1 << 16, unpacked))
    } else {
        Box::new(reader)
    };
    match kind {
        FileKind::MatrixMarket => matrix_market::read(Header::new(&mut *reader, origin)),
        FileKind::Frostt => frostt::read(Header::new(&mut *reader, origin), options),
        FileKind::Smtx => smtx::read(Header::new(&mut *reader, origin)),
        FileKind::Npy | FileKind::Npz | FileKind::Levels => {
            let (shape, values) = npy::read_values(&mut *reader)?;
            let about = format!("{}, {}", FileKind::Npy.name(), values.element());
            Ok(Contents {
                data: Data::Stored(Tensor::from_dense(shape, values)?),
                about,
                guessed: false,
            })
        }
    }
}

/// Why a tensor was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file cannot hold such tensors.
    #[error("{reason}")]
    Unsuited {
        /// Why.
        reason: String,
        /// What to do about it.
        hint: String,
    },
    /// A file of patterns, for a tensor that is none.
    #[error("a DLMC file holds a pattern, and would lose the values")]
    Values,
    /// The tensor does not fit.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There is no memory for a copy.
    #[error(transparent)]
    Memory(#[from] NoMemory),
    /// The operating system's reason.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Whether a tensor can be written as a file of a kind.
pub fn check_write(tensor: &Tensor, kind: FileKind) -> Result<(), WriteError> {
    check_elements(tensor.shape().len(), tensor.values().element(), kind)
}

/// Whether tensors of a rank, with elements of a type, can be written as files of a kind.
pub fn check_elements(rank: usize, element: Element, kind: FileKind) -> Result<(), WriteError> {
    let matrices = [FileKind::MatrixMarket, FileKind::Smtx].contains(&kind);
    if matrices && rank != 2 {
        return Err(WriteError::Unsuited {
            reason: format!("a {} file holds a matrix, not a tensor of rank {rank}", kind.name()),
            hint: "`.tns` files hold sparse tensors of any rank, `.npy` files dense ones".into(),
        });
    }
    if [FileKind::Frostt, FileKind::Npz, FileKind::Levels].contains(&kind) && rank == 0 {
        return Err(WriteError::Unsuited {
            reason: format!("a {} file holds no scalar", kind.name()),
            hint: "`.npy` files do".into(),
        });
    }
    if kind == FileKind::Smtx && element != Element::Bool {
        return Err(WriteError::Values);
    }
    Ok(())
}

/// Writes a tensor as a file of a kind, compressed if asked for.
pub fn write(
    tensor: &Tensor,
    kind: FileKind,
    gzip: bool,
    options: &ReadOptions,
    build: Build,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    check_write(tensor, kind)?;
    if gzip && !kind.is_archive() {
        let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::default());
        write(tensor, kind, false, options, build, &mut packed)?;
        packed.finish()?;
        return Ok(());
    }
    match kind {
        FileKind::MatrixMarket => matrix_market::write(&tensor.to_entries()?, out),
        FileKind::Frostt => frostt::write(&tensor.to_entries()?, options.zero_based, out),
        FileKind::Smtx => smtx::write(&tensor.convert(&Format::csr(), build)?, out),
        FileKind::Npy => npy::write_values(tensor.shape(), &tensor.to_dense(build)?, out),
        FileKind::Npz => npz::write(tensor, out),
        FileKind::Levels => npz::levels::write(tensor, out),
    }
}

/// Writes the parts of a tensor in a hybrid format, as `.levels.npz`.
pub fn write_parts(
    hybrid: &Hybrid,
    parts: &[Tensor],
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    npz::levels::write_parts(hybrid, parts, out)
}

/// Writes the elements of a dense array, in C order, that are not zero (all of them to `.npy`), without a list of them
/// where the file needs none.
pub fn write_dense(
    shape: &[u64],
    values: View<'_>,
    kind: FileKind,
    gzip: bool,
    options: &ReadOptions,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    check_elements(shape.len(), values.element(), kind)?;
    if gzip && !kind.is_archive() {
        let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::default());
        write_dense(shape, values, kind, false, options, &mut packed)?;
        packed.finish()?;
        return Ok(());
    }
    match kind {
        FileKind::MatrixMarket => matrix_market::write_dense(shape, values, out),
        FileKind::Frostt => frostt::write_dense(shape, values, options.zero_based, out),
        FileKind::Npy => Ok(npy::write_slice(shape, values, out)?),
        FileKind::Smtx => smtx::write(&rows(shape, values)?, out),
        FileKind::Levels => {
            let whole = Tensor::from_dense(shape.to_vec(), Storage::copy_of(values)?)?;
            npz::levels::write(&whole, out)
        }
        FileKind::Npz if shape.len() == 2 => npz::write(&rows(shape, values)?, out),
        FileKind::Npz => {
            let whole = Tensor::from_dense(shape.to_vec(), Storage::copy_of(values)?)?;
            npz::write(&whole.convert(&Format::coo(shape.len()), Build::default())?, out)
        }
    }
}

/// The rows of a dense matrix.
fn rows(shape: &[u64], values: View<'_>) -> Result<Tensor, StorageError> {
    Tensor::rows_of_dense(shape, values)
}

/// Writes a dense array as plain text: a row of a matrix on a line, an element of a vector on a line.
pub fn write_plain(shape: &[u64], values: View<'_>, out: &mut dyn Write) -> Result<(), WriteError> {
    let columns = match shape {
        [.., columns] if shape.len() > 1 => usize::try_from(*columns).unwrap_or(usize::MAX),
        _ => 1,
    };
    text::write_parts(values.len(), out, &|at, text| {
        if let Some(value) = values.get(at) {
            numbers::print_value(value, text);
        }
        text.push(if (at + 1) % columns.max(1) == 0 { b'\n' } else { b' ' });
    })
}
