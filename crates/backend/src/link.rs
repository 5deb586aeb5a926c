//! Shared libraries from object code, through the system's C compiler.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// There is no shared library.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The C compiler, needed as a linker, could not be started.
    #[error("linking needs a C compiler: could not run `{program}`: {source}")]
    Missing {
        /// What was run; `CC` in the environment overrides it.
        program: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The C compiler failed.
    #[error("`{program}` failed to link {}: {message}", .path.display())]
    Failed {
        /// What was run.
        program: String,
        /// The file to be made.
        path: PathBuf,
        /// What it said.
        message: String,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Makes the shared library `path` of `object`. It exports the module's functions and nothing else, and its
/// `soname` is the file's name.
///
/// With `openmp`, the name or path of OpenMP's library, the library depends on that one; a folder to look in is only
/// recorded where the loader does not find it by itself. The compiler is `cc`, or what `CC` says. The file appears
/// whole or not at all.
pub fn shared_library(object: &[u8], path: &Path, openmp: Option<&OsStr>) -> Result<(), LinkError> {
    let write_error = |source| LinkError::Write { path: path.to_owned(), source };
    let name =
        path.file_name().ok_or_else(|| write_error(std::io::ErrorKind::InvalidInput.into()))?;
    let temporary = Temporary::new(path).map_err(write_error)?;
    let (input, output) = (temporary.file("module.o"), temporary.file("module.so"));
    fs::write(&input, object).map_err(write_error)?;

    let program =
        std::env::var("CC").ok().filter(|cc| !cc.is_empty()).unwrap_or_else(|| "cc".into());
    let mut soname = OsString::from("-Wl,-soname,");
    soname.push(name);
    let mut words = program.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words).args(["-shared", "-Wl,--as-needed", "-Wl,-z,noexecstack"]).arg(soname);
    command.arg("-o").arg(&output).arg(&input);
    if let Some(place) = openmp {
        command.args(openmp_arguments(place));
    }
    // Functions of numbers; a library that calls none does not depend on it. On x86-64 it brings libmvec with it.
    command.arg("-lm");
    let result = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| LinkError::Missing { program: program.clone(), source })?;
    if !result.status.success() {
        let message = String::from_utf8_lossy(&result.stderr).trim().to_owned();
        return Err(LinkError::Failed { program, path: path.to_owned(), message });
    }
    fs::rename(&output, path).map_err(write_error)
}

/// How to link OpenMP's library: by its file, since the name that linkers look for is not always installed.
fn openmp_arguments(place: &OsStr) -> Vec<OsString> {
    let path = Path::new(place);
    if path.components().count() == 1 {
        // Found by the loader's own search, so the library will be as well.
        let mut name = OsString::from("-l:");
        name.push(place);
        return vec![name];
    }
    let mut arguments = vec![place.to_owned()];
    if let Some(folder) = path.parent().filter(|folder| folder.is_absolute()) {
        let mut rpath = OsString::from("-Wl,-rpath,");
        rpath.push(folder);
        arguments.push(rpath);
    }
    arguments
}

/// A folder beside the file to be made, so that the last step is a rename within one file system.
struct Temporary(PathBuf);

impl Temporary {
    fn new(path: &Path) -> std::io::Result<Temporary> {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        for attempt in 0..100 {
            let name = folder.join(format!(".dastac-link-{}-{attempt}", std::process::id()));
            match fs::create_dir(&name) {
                Ok(()) => return Ok(Temporary(name)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(std::io::ErrorKind::AlreadyExists.into())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing can be done about a folder that does not go away.
        let _ = fs::remove_dir_all(&self.0);
    }
}
