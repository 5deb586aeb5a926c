//! Workspaces of results: which kind is chosen, and why.

mod choice;
pub mod model;
mod used;

pub(crate) use choice::choice;
pub use choice::machine;
pub use used::UsedWorkspace;
