//! What a header says beside the module.

use std::collections::BTreeMap;

use dastac_loops::{BufferId, SymbolId};

/// What a header says beside the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderOptions {
    /// Put in front of every function's name: [`dastac_target::CodeOptions::prefix`].
    pub prefix: String,
    /// The include guard; made from the prefix or the first function when empty.
    pub guard: String,
    /// What the header is about: its first lines.
    pub doc: String,
    /// What each function does, by name.
    pub functions: BTreeMap<String, String>,
    /// What each buffer holds, by name.
    pub buffers: BTreeMap<String, String>,
    /// The name of the header's file, for the example; made from the guard when empty.
    pub file: String,
    /// What a caller does, in order: the example at the end of the header. Without it, that is one call.
    pub steps: Vec<Step>,
}

/// Something that a caller does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Calls a function. Buffers that no call before this one took are allocated before it.
    Call(String),
    /// Tells a count that a function has found: the parameter is the last element of the buffer.
    Count {
        /// The parameter.
        parameter: SymbolId,
        /// The buffer.
        starts: BufferId,
    },
}
