//! The file of this program.

use std::path::PathBuf;
use std::sync::OnceLock;

static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Says it, before anything asks.
pub fn set(program: Option<PathBuf>) {
    // Another call in this process is of the same program.
    let _ = PROGRAM.set(program);
}

/// The file to start for another process of this program, if it is known.
pub fn program() -> Option<PathBuf> {
    PROGRAM.get().cloned().flatten()
}
