//! Files of tensors: what `convert`, `inspect` and `run --input` read.

use std::io::Write;
use std::path::Path;

use dastac::elements::{Element, View};
use dastac::formats::format::{
    Definitions, Hybrid, Query, default_names, is_hybrid, parse_with, read_hybrid, read_query,
};
use dastac::formats::io::{self, Contents, FileKind, Hint, ReadError, ReadOptions, WriteError};
use dastac::formats::{Build, Duplicates, Format, FormatError, Tensor};
use dastac::runtime::available_memory;
use dastac::stur::collisions::collision;

use super::Result;
use super::args::{DuplicateRule, ListArgs, ReadingArgs, TensorArgs};
use super::data_file::DataFile;
use super::failure::Failure;
use super::output;
use super::render::Renderer;
use super::source::reason;

/// How a file is read.
pub fn options(args: &TensorArgs) -> ReadOptions {
    let ListArgs { zero_based, pattern } = args.lists;
    ReadOptions { zero_based, pattern, shape: args.shape.clone(), ..ReadOptions::default() }
}

/// How the file of a program's tensor is read and written.
pub struct Reading {
    /// What it does not say itself.
    pub options: ReadOptions,
    /// How a tensor is built of its entries.
    pub build: Build,
    /// By which part redundant elements may differ.
    pub tolerance: Option<f64>,
}

/// What flags say about the file of a program's tensor.
pub fn reading(args: &ReadingArgs, tensor: &str) -> Reading {
    let shape = args.shapes.iter().rfind(|(name, _)| name == tensor);
    Reading {
        options: ReadOptions {
            zero_based: ReadingArgs::holds(&args.zero_based, tensor),
            pattern: ReadingArgs::holds(&args.pattern, tensor),
            shape: shape.map(|(_, extents)| extents.clone()),
            array: Some(tensor.into()),
            ..ReadOptions::default()
        },
        build: in_memory(ReadingArgs::of(&args.duplicates, tensor).unwrap_or(DuplicateRule::Sum)),
        tolerance: ReadingArgs::of(&args.tolerance, tensor),
    }
}

/// How a tensor is built of its entries: in the memory that there is.
pub fn build(args: &TensorArgs) -> Build {
    in_memory(args.duplicates)
}

fn in_memory(rule: DuplicateRule) -> Build {
    let duplicates = match rule {
        DuplicateRule::Sum => Duplicates::Sum,
        DuplicateRule::Last => Duplicates::Last,
        DuplicateRule::Refuse => Duplicates::Refuse,
    };
    Build { duplicates, memory: available_memory(), ..Build::default() }
}

/// Reads a file.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Contents> {
    io::read(path, options).map_err(read_failure)
}

fn read_failure(error: ReadError) -> Failure {
    let failure = match error.line {
        Some(_) => Failure::user(error.to_string()),
        None => Failure::user(format!("cannot read `{}`: {}", error.name, error.reason)),
    };
    match error.hint {
        Some(Hint::Text(hint)) => failure.hint(hint),
        Some(Hint::Shape) => {
            failure.hint("`--shape 2,3,6` does; in `dastac run`, `--shape NAME=2,3,6`")
        }
        Some(Hint::ZeroBased) => {
            failure.hint("`--zero-based` reads files whose coordinates count from 0")
        }
        Some(Hint::Values) => {
            failure.hint("without `--pattern`, the last number of a line is a value")
        }
        None => failure,
    }
}

/// The kind of a file to write.
pub fn kind_of(path: &Path) -> Result<FileKind> {
    FileKind::of(path).ok_or_else(|| {
        Failure::user(format!(
            "cannot write `{}`: the name does not say what kind of file it is",
            path.display()
        ))
        .hint(io::endings())
    })
}

/// The kind of a file of an output; nothing for standard output (`-`). What is no regular file is an array.
pub fn kind_of_output(path: &Path) -> Result<Option<FileKind>> {
    if output::is_standard(path) {
        return Ok(None);
    }
    let special = std::fs::metadata(path).is_ok_and(|file| !file.is_file() && !file.is_dir());
    match FileKind::of(path) {
        None if special => Ok(Some(FileKind::Npy)),
        _ => kind_of(path).map(Some),
    }
}

/// Fails where files of a kind cannot hold tensors of a rank, before anything is computed.
pub fn check_kind(path: &Path, kind: FileKind, rank: usize, element: Element) -> Result<()> {
    let checked = io::check_elements(rank, element, kind);
    checked.map_err(|error| write_failure(&path.display().to_string(), error))
}

/// What several entries of one element become in a pattern: one, which is worth a note.
pub fn note_merged(renderer: &Renderer, name: &str, contents: &Contents, tensor: &Tensor) {
    let Some(entries) = contents.pattern_entries().filter(|_| !tensor.format().has_blocks()) else {
        return;
    };
    match (entries as u64).saturating_sub(tensor.entry_count()) {
        0 => {}
        1 => renderer.note(&format!("`{name}` has an entry twice, which a pattern holds once")),
        merged => renderer.note(&format!(
            "`{name}` has {merged} entries at places of others, each of which a pattern holds once"
        )),
    }
}

/// Why a file was not written.
fn write_failure(name: &str, error: WriteError) -> Failure {
    match error {
        WriteError::Unsuited { reason, hint } => {
            Failure::user(format!("cannot write `{name}`: {reason}")).hint(hint)
        }
        WriteError::Values => Failure::user(format!("cannot write `{name}`: {error}")).hint(
            "`dastac convert .. --type bool` makes it a pattern; `.mtx` and `.npz` files keep values",
        ),
        WriteError::Storage(error) => DataFile { name: name.into(), first: 0 }.failure(error),
        WriteError::Io(error) => {
            Failure::user(format!("cannot write `{name}`: {}", reason(&error)))
        }
        WriteError::Memory(error) => Failure::user(format!("cannot write `{name}`: {error}")),
    }
}

/// Writes a file, compressed if its name says so.
pub fn write(
    path: &Path,
    kind: FileKind,
    tensor: &Tensor,
    options: &ReadOptions,
    build: Build,
) -> Result<()> {
    io::check_write(tensor, kind)
        .map_err(|error| write_failure(&path.display().to_string(), error))?;
    let gzip = is_packed(path);
    through(path, &mut |out| io::write(tensor, kind, gzip, options, build, out))
}

/// Writes the parts of a tensor in a hybrid format as a file.
pub fn write_parts(path: &Path, kind: FileKind, hybrid: &Hybrid, parts: &[Tensor]) -> Result<()> {
    if kind != FileKind::Levels {
        let name = path.display();
        let message = format!("cannot write `{name}`: a {} file holds no parts", kind.name());
        return Err(
            Failure::user(message).hint("hybrid formats go to files named `NAME.levels.npz`")
        );
    }
    through(path, &mut |out| io::write_parts(hybrid, parts, out))
}

/// Writes a dense array as a file: what of it is not zero, unless the file is an array.
pub fn write_dense(
    path: &Path,
    kind: FileKind,
    shape: &[u64],
    values: View<'_>,
    options: &ReadOptions,
) -> Result<()> {
    let gzip = is_packed(path);
    through(path, &mut |out| io::write_dense(shape, values, kind, gzip, options, out))
}

/// Writes to standard output.
pub fn print(
    write: &mut dyn FnMut(&mut dyn Write) -> std::result::Result<(), WriteError>,
) -> Result<()> {
    collected("-", write, &mut |write| output::stream(write))
}

fn is_packed(path: &Path) -> bool {
    path.to_string_lossy().to_ascii_lowercase().ends_with(".gz")
}

pub fn through(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> std::result::Result<(), WriteError>,
) -> Result<()> {
    collected(&path.display().to_string(), write, &mut |write| output::file(path, write))
}

type Writing<'a> = &'a mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>;

/// Writes somewhere, and tells what is wrong in the words of files.
fn collected(
    name: &str,
    write: &mut dyn FnMut(&mut dyn Write) -> std::result::Result<(), WriteError>,
    to: &mut dyn FnMut(Writing<'_>) -> Result<()>,
) -> Result<()> {
    let mut failed = None;
    let written = to(&mut |out| {
        write(out).map_err(|error| match error {
            WriteError::Io(error) => error,
            other => {
                let error = std::io::Error::other(other.to_string());
                failed = Some(other);
                error
            }
        })
    });
    match failed {
        Some(error) => Err(write_failure(name, error)),
        None => written,
    }
}

/// The format that a text names, of a tensor whose dimensions are called `i`, `j`, ..
pub fn format(text: &str, rank: usize, definitions: &Definitions) -> Result<Format> {
    let found = parse_with(text, &default_names(rank), definitions);
    found.map_err(|error| notation_failure("format", text, error))
}

/// A format that an option gives, if it is hybrid.
pub fn hybrid(text: &str, rank: usize, definitions: &Definitions) -> Result<Option<Hybrid>> {
    if !is_hybrid(text) {
        return Ok(None);
    }
    let found = read_hybrid(text, &default_names(rank), definitions);
    found.map(Some).map_err(|error| notation_failure("format", text, error))
}

/// A query that `--query` gives.
pub fn query(text: &str, rank: usize) -> Result<Query> {
    read_query(text, rank).map_err(|error| notation_failure("query", text, error))
}

fn notation_failure(what: &str, text: &str, error: FormatError) -> Failure {
    let failure = Failure::user(format!("{what} `{text}`: {}", error.message));
    match error.map.as_ref().and_then(collision).or(error.hint) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
