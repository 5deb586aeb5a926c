//! What commands compile for where no flag says it.

use std::ffi::OsString;
use std::path::Path;

use dastac::machine::{self, Description, Origin};
use dastac::target::file;

use super::failure::Failure;
use super::source::reason;
use super::{Result, folders};

/// Names the file that describes the machine; `detected` for what is known without measuring.
pub const VARIABLE: &str = "DASTAC_MACHINE";
/// In the place of a file: nothing is measured.
pub const DETECTED: &str = "detected";

/// The description that commands use where no flag says otherwise: that of the variable, or else the measured one,
/// which is measured if this computer never was; where measurements cannot be kept, the detected one.
pub fn description() -> Result<Description> {
    match variable() {
        Some(text) if text == DETECTED => Ok(Description::detected()),
        Some(path) => in_file(Path::new(&path))
            .map_err(|failure| failure.hint(format!("{VARIABLE} names it"))),
        None => match folders::machines() {
            Some(Ok(cache)) => machine::measured(&cache)
                .map_err(|error| Failure::Defect(format!("cannot measure this machine: {error}"))),
            Some(Err(_)) | None => Ok(Description::detected()),
        },
    }
}

/// What the variable says, if it says anything.
pub fn variable() -> Option<OsString> {
    std::env::var_os(VARIABLE).filter(|text| !text.is_empty())
}

/// The machine that a file describes.
pub fn in_file(path: &Path) -> Result<Description> {
    let failed =
        |what: &dyn std::fmt::Display| Failure::user(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(&reason(&error)))?;
    let machine = file::parse(&text)
        .map_err(|error| failed(&error).hint("`dastac machine` prints this machine's"))?;
    Ok(Description { machine, origin: Origin::File(path.to_path_buf()) })
}
