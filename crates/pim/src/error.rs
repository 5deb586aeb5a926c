//! Why a program does not run.

use dastac_loops::EvalError;

use crate::fault::Fault;
use crate::link::LinkError;
use crate::profile::ProfileError;

/// Why a program does not run on the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PimError {
    /// A core stopped.
    #[error("the program stopped on {0}")]
    Fault(#[from] Fault),
    /// A file that is no program.
    #[error("the program for cores inside of memory is damaged")]
    Damaged,
    /// A plan that is none.
    #[error("the plan of the program for cores inside of memory is damaged: {0}")]
    Plan(String),
    /// Code that could not be linked.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A profile that is none.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A size that has no value.
    #[error("a size or bound has no value: {0}")]
    Size(#[from] EvalError),
    /// Buffers beyond the addresses of a core.
    #[error("the buffers are larger together than 32-bit addresses reach")]
    Addresses,
    /// Code that is too long.
    #[error("the program has {bytes} bytes of instructions, and a core holds {most}")]
    Instructions {
        /// Its bytes.
        bytes: u64,
        /// Those that a core holds.
        most: u32,
    },
    /// More data than a bank holds.
    #[error("core {core} needs {bytes} bytes of its bank, which has {bank}: {parts}")]
    Bank {
        /// The core.
        core: usize,
        /// Bytes that it needs.
        bytes: u64,
        /// Bytes of a bank.
        bank: u64,
        /// Bytes of each buffer.
        parts: String,
    },
}
