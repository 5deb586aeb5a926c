//! What can be wrong with a file of a compiled program.

/// Why a file is no compiled program that can be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It begins otherwise.
    #[error("it is no compiled program")]
    Other,
    /// It is too short or too long, or its checksum is not that of its bytes.
    #[error("it is damaged")]
    Damaged,
    /// Another version of the format wrote it.
    #[error("it has version {found}, but this program reads {expected}")]
    Version {
        /// The version that it says.
        found: u64,
        /// The only one that is read.
        expected: u64,
    },
    /// Its description cannot be read.
    #[error("its description: {0}")]
    Description(String),
    /// Parts of its description that do not fit each other.
    #[error("its description contradicts itself: {0}")]
    Contradiction(&'static str),
    /// The text of another program.
    #[error("its text is not that of its code")]
    Text,
}
