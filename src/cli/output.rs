//! Where results go: standard output, and files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::CommandFactory;

use super::Result;
use super::failure::Failure;
use super::source::{Source, reason};

/// Writes to standard output; a reader that has gone away is no error.
pub fn stdout(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::NoReader),
        Err(error) => Err(Failure::user(format!("cannot write the output: {}", reason(&error)))),
    }
}

/// A completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::args::Cli::command(), "dastac", &mut script);
    stdout(&script)
}

/// Refuses to write over the program itself.
pub fn not_the_source(path: &Path, source: &Source) -> Result<()> {
    let same = match (fs::canonicalize(path), fs::canonicalize(&source.path)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    if same {
        return Err(Failure::usage(format!(
            "writing `{}` would overwrite the program",
            path.display()
        )));
    }
    Ok(())
}

/// Writes a file through a temporary one beside it, so that it appears whole or not at all. What is no regular file (a pipe, a device) is
/// written directly.
pub fn file(path: &Path, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let cannot = |error: io::Error| {
        Failure::user(format!("cannot write `{}`: {}", path.display(), reason(&error)))
    };
    // The file that a link points to is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let existing = fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(Failure::user(format!("cannot write `{}`: it is a directory", path.display())));
    }
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        let mut out = BufWriter::new(OpenOptions::new().write(true).open(&target).map_err(cannot)?);
        return write(&mut out).and_then(|()| out.flush()).map_err(cannot);
    }
    let (temporary, file) = temporary_beside(&target).map_err(cannot)?;
    let mut out = BufWriter::new(file);
    let result = write(&mut out)
        .and_then(|()| out.flush())
        .and_then(|()| match &existing {
            Some(metadata) => fs::set_permissions(&temporary, metadata.permissions()),
            None => Ok(()),
        })
        .and_then(|()| fs::rename(&temporary, &target));
    if result.is_err() {
        // Nothing can be done about one that does not go away.
        let _ = fs::remove_file(&temporary);
    }
    result.map_err(cannot)
}

fn temporary_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?.to_string_lossy();
    for attempt in 0..100 {
        let path = target.with_file_name(format!(".{name}.{}-{attempt}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
