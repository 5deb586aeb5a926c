//! Files of tensors in the words of messages.

use std::path::Path;

use dastac::formats::StorageError;
use dastac::formats::io::{FileKind, ReadOptions};

use super::failure::Failure;

/// A file of a tensor, as messages speak of it.
#[derive(Clone)]
pub struct DataFile {
    /// Its name.
    pub name: String,
    /// What coordinates in it count from.
    pub first: u64,
}

impl DataFile {
    /// A file that is read or written in some way.
    pub fn new(path: &Path, options: &ReadOptions) -> DataFile {
        let first = FileKind::of(path).map_or(0, |kind| kind.counts_from(options));
        DataFile { name: path.display().to_string(), first }
    }

    /// Why a tensor could not be made of what it holds.
    pub fn failure(&self, error: StorageError) -> Failure {
        let error = error.counting_from(self.first);
        let failure = Failure::user(format!("`{}`: {error}", self.name));
        match error {
            StorageError::Memory { .. } => failure.hint(
                "formats with fewer dense levels take less, such as `--format coo`; docs/formats.md explains them",
            ),
            StorageError::Duplicate { .. } => {
                failure.hint("`--duplicates sum` adds them up, `--duplicates last` takes the last one")
            }
            _ => failure,
        }
    }

    /// Why elements do not become those of a program's tensor, if it is for a value that its type cannot hold.
    pub fn misfit(&self, tensor: &str, error: StorageError) -> Failure {
        let declared = match &error {
            StorageError::Value { error, .. } => Some(error.value.element().name()),
            _ => None,
        };
        let failure = self.failure(error);
        match declared {
            Some(element) => failure.hint(format!(
                "`types: {tensor} = {element}` in the program declares elements of that type"
            )),
            None => failure,
        }
    }
}
