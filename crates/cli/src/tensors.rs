//! Files of tensors: what `convert`, `inspect` and `run --input` read.

use std::path::Path;

use dastac::formats::format::{default_names, parse};
use dastac::formats::io::{self, Contents, FileKind, Hint, ReadError, ReadOptions, WriteError};
use dastac::formats::{Build, Duplicates, Format, FormatError, StorageError, Tensor};
use dastac::runtime::available_memory;

use super::Result;
use super::args::{DuplicateRule, ListArgs, TensorArgs};
use super::failure::Failure;
use super::output;
use super::source::reason;

/// How a file is read.
pub fn options(args: &TensorArgs) -> ReadOptions {
    ReadOptions { shape: args.shape.clone(), ..lists(&args.lists) }
}

/// How `.tns` files are read and written.
pub fn lists(args: &ListArgs) -> ReadOptions {
    ReadOptions { zero_based: args.zero_based, pattern: args.pattern, shape: None }
}

/// How a tensor is built of its entries: in the memory that there is.
pub fn build(args: &TensorArgs) -> Build {
    let duplicates = match args.duplicates {
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
        Some(Hint::Shape) => failure.hint("`--shape` does"),
        Some(Hint::ZeroBased) => {
            failure.hint("`--zero-based` reads files whose coordinates count from 0")
        }
        Some(Hint::Pattern) => failure.hint("`--pattern` reads files without values"),
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

/// Writes a file, compressed if its name says so.
pub fn write(
    path: &Path,
    kind: FileKind,
    tensor: &Tensor,
    options: &ReadOptions,
    build: Build,
) -> Result<()> {
    let name = path.display().to_string();
    let failure = |error: WriteError| {
        match error {
        WriteError::Unsuited { reason, hint } => {
            Failure::user(format!("cannot write `{name}`: {reason}")).hint(hint)
        }
        WriteError::Values => Failure::user(format!("cannot write `{name}`: {error}")).hint(
            "`dastac convert .. --type bool` makes it a pattern; `.mtx` and `.npz` files keep values",
        ),
        WriteError::Storage(error) => storage_failure(&name, &error),
        WriteError::Io(error) => {
            Failure::user(format!("cannot write `{name}`: {}", reason(&error)))
        }
    }
    };
    io::check_write(tensor, kind).map_err(failure)?;
    let gzip = name.to_ascii_lowercase().ends_with(".gz");
    let mut failed = None;
    let written = output::file(path, &mut |out| {
        io::write(tensor, kind, gzip, options, build, out).map_err(|error| match error {
            WriteError::Io(error) => error,
            other => {
                let error = std::io::Error::other(other.to_string());
                failed = Some(other);
                error
            }
        })
    });
    match failed {
        Some(error) => Err(failure(error)),
        None => written,
    }
}

/// The format that a text names, of a tensor whose dimensions are called `i`, `j`, ..
pub fn format(text: &str, rank: usize) -> Result<Format> {
    parse(text, &default_names(rank)).map_err(|error| format_failure(text, error))
}

fn format_failure(text: &str, error: FormatError) -> Failure {
    let failure = Failure::user(format!("format `{text}`: {}", error.message));
    match error.hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Why a tensor could not be made of what a file holds.
pub fn storage_failure(name: &str, error: &StorageError) -> Failure {
    let failure = Failure::user(format!("`{name}`: {error}"));
    match error {
        StorageError::Memory { .. } => failure.hint(
            "formats with fewer dense levels take less, such as `--format coo`; docs/formats.md explains them",
        ),
        StorageError::Duplicate { .. } => {
            failure.hint("`--duplicates sum` adds them up, `--duplicates last` takes the last one")
        }
        StorageError::Cast(_) => failure.hint("`--type f64` keeps it"),
        _ => failure,
    }
}
