//! A machine, and where its numbers are from.

use std::path::PathBuf;

use dastac_backend::Processor;
use dastac_loops::machine::Machine;

/// A machine, and where its numbers are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What passes decide by.
    pub machine: Machine,
    /// Where that is from.
    pub origin: Origin,
}

/// Where a description is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// What the processor and the system say of themselves; what they do not say is as on most computers.
    Detected,
    /// It was measured on this computer.
    Measured(Measurement),
    /// A file.
    File(PathBuf),
}

impl Origin {
    /// In a word.
    pub fn name(&self) -> &'static str {
        match self {
            Origin::Detected => "detected",
            Origin::Measured(_) => "measured",
            Origin::File(_) => "file",
        }
    }
}

/// When something was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// Seconds since 1970.
    pub at: u64,
    /// How long it took, compiling included.
    pub milliseconds: u64,
}

impl Description {
    /// This computer, without measuring anything.
    pub fn detected() -> Description {
        let machine = Processor::host().machine().with_threads(true);
        Description { machine, origin: Origin::Detected }
    }
}
