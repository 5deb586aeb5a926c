//! What is compiled, and what compiling makes.

use std::collections::BTreeMap;
use std::sync::Arc;

use dastac::runtime::Executable;

/// What is to be compiled.
#[derive(Clone)]
pub struct Wanted {
    /// The program.
    pub text: String,
    /// What messages call it.
    pub name: String,
    /// Values of symbols that are known.
    pub sizes: BTreeMap<String, i64>,
    /// Whether loops run on several threads.
    pub parallel: bool,
}

/// What compiling made.
pub struct Made {
    /// The program with its code.
    pub executable: Arc<Executable>,
    /// Its warnings, as they are shown.
    pub warnings: String,
    /// Whether it was kept from an earlier time.
    pub kept: bool,
}
