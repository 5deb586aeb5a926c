//! Where results go: standard output, and files that appear whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::CommandFactory;

use super::Result;
use super::failure::Failure;
use super::source::{Source, reason};

/// As many links are followed by Linux.
const MAX_LINKS: usize = 40;

/// Writes to standard output; a reader that has gone away is no error.
pub fn stdout(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::NoReader),
        Err(error) => Err(Failure::user(format!("cannot write the output: {}", reason(&error)))),
    }
}

/// Writes to standard output as it is made; a reader that has gone away is no error.
pub fn stream(write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
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

/// Whether two paths name one file, which may not be there yet.
pub fn same_file(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let path = &behind_links(path);
        fs::canonicalize(path).or_else(|_| {
            let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            Ok::<_, io::Error>(fs::canonicalize(folder.unwrap_or(Path::new(".")))?.join(name))
        })
    };
    matches!((place(one), place(other)), (Ok(one), Ok(other)) if one == other)
}

/// What a link to a file that is not there yet leads to.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().map_or_else(|| target.clone(), |folder| folder.join(&target));
    }
    path
}

/// Refuses early what would fail late: to write over the program itself, or into a folder that is not there.
pub fn check(path: &Path, source: &Source) -> Result<()> {
    if is_standard(path) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(Failure::user(format!(
            "cannot write `{}`: there is no folder `{}`",
            path.display(),
            folder.display()
        )));
    }
    if same_file(path, &source.path) {
        return Err(Failure::usage(format!(
            "writing `{}` would overwrite the program",
            path.display()
        )));
    }
    Ok(())
}

/// Whether a path stands for standard output: `-`.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes a file through a temporary one beside it, so that it appears whole or not at all. What is no regular file (a
/// pipe, a device) is written directly, and `-` is standard output.
pub fn file(path: &Path, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if is_standard(path) {
        return stream(write);
    }
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

/// Removes what interrupted processes have left of the same file.
fn remove_left_over(target: &Path, name: &OsStr) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else { return };
    let begin = format!(".{}.", name.to_string_lossy());
    for entry in entries.flatten() {
        let own = entry.file_name();
        let process = own.to_str().and_then(|own| own.strip_prefix(&begin)?.split_once('-'));
        let Some((process, attempt)) = process else { continue };
        let numbers = [process, attempt].iter().all(|part| part.parse::<u32>().is_ok());
        if numbers && Path::new("/proc/self").exists() && !Path::new("/proc").join(process).exists()
        {
            // Somebody else may have done so.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn temporary_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?;
    remove_left_over(target, name);
    for attempt in 0..100 {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{attempt}", std::process::id()));
        let path = target.with_file_name(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
