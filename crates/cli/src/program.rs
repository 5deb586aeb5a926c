//! Reading a program.

use std::io::Read;
use std::path::Path;

use dastac::runtime::package::Package;

use super::args::FileArgs;
use super::failure::{Failure, Result};
use super::formats::definitions;
use super::source::{Source, reason};

/// Programs are written by people: beyond this it is another kind of file.
const MAX_BYTES: u64 = 16 << 20;

impl Source {
    /// Reads a program; the formats that files define stand behind its lines.
    pub fn of(args: &FileArgs) -> Result<Source> {
        let mut source = Source::read(&args.file)?;
        for line in definitions(&args.formats)?.iter_own() {
            source.text += &format!("\n{}", line.text);
        }
        Ok(source)
    }

    /// Reads a file, or standard input for `-`.
    pub fn read(path: &Path) -> Result<Source> {
        let stdin = path == Path::new("-");
        let name = if stdin { "<stdin>".to_string() } else { path.display().to_string() };
        let cannot = |error: std::io::Error| {
            let failure = Failure::user(format!("cannot read `{name}`: {}", reason(&error)));
            let with_extension = path.with_extension("stur");
            if error.kind() == std::io::ErrorKind::NotFound
                && path.extension().is_none()
                && with_extension.exists()
            {
                return failure.hint(format!("there is `{}`", with_extension.display()));
            }
            failure
        };
        let mut bytes = Vec::new();
        if stdin {
            std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
        } else {
            let file = std::fs::File::open(path).map_err(cannot)?;
            if file.metadata().map_err(cannot)?.is_dir() {
                return Err(Failure::user(format!("`{name}` is a directory"))
                    .hint("name a program, a file that ends in .stur"));
            }
            file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
        }
        if bytes.len() as u64 > MAX_BYTES {
            let limit = dastac::human(MAX_BYTES);
            return Err(Failure::user(format!("`{name}` is larger than {limit}: not a program")));
        }
        if Package::is_package(&bytes) {
            return Err(Failure::user(format!("`{name}` is a compiled program, not its text"))
                .hint("`dastac run` runs it if its name ends in .dastac"));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
            Failure::user(format!("`{name}` is not UTF-8 text: line {line}, byte {at} of the file"))
                .hint("programs are plain text; a .npy file goes to `--input`")
        })?;
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_string);
        Ok(Source { path: path.into(), name, text })
    }
}
