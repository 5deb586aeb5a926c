//! Memory spaces.
//!
//! They are words of the loop IR, not of a machine: a target replaces [`Space::Main`] by what its machine has.

use serde::{Deserialize, Serialize};

/// The memory that a buffer stands in.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// The memory that the caller and all threads see: RAM of a CPU, global memory of a GPU, the bank of a core.
    #[default]
    Main,
    /// Memory of one thread, reserved while the statement that makes the buffer is executed.
    Stack,
    /// Memory of a block of threads, addressed apart from main memory.
    Shared,
    /// Memory of one core, addressed apart from main memory: data are copied in and out.
    Scratchpad,
}

impl Space {
    /// All spaces, each with its word in the text form.
    pub const ALL: &[(Space, &str)] = &[
        (Space::Main, "main"),
        (Space::Stack, "stack"),
        (Space::Shared, "shared"),
        (Space::Scratchpad, "scratchpad"),
    ];

    /// The word for it in the text form.
    pub fn name(self) -> &'static str {
        Space::ALL.iter().find(|(space, _)| *space == self).map_or("main", |(_, name)| name)
    }

    /// The space of that name.
    pub fn find(name: &str) -> Option<Space> {
        Space::ALL.iter().find(|(_, known)| *known == name).map(|(space, _)| *space)
    }
}
