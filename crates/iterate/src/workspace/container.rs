//! What a workspace is to the statements around it, whatever its kind.

use dastac_loops::{BufferId, Function, Index, Stmt, Workspace};

/// What kinds of workspaces differ in where they are opened.
pub(super) trait Container {
    /// Whether a statement uses it.
    fn is_used(&self, stmt: &Stmt) -> bool;

    /// Whether all levels of the result are inside of it.
    fn is_whole(&self) -> bool;

    /// Statements with the workspace open around them, and empty.
    fn open(&self, function: &mut Function, body: Vec<Stmt>) -> Vec<Stmt>;

    /// Whether a buffer holds elements, which nothing but filling needs.
    fn is_value(&self, buffer: BufferId) -> bool;
}

/// Statements with memory.
pub(super) fn workspace(buffer: BufferId, size: Index, zero: bool, body: Vec<Stmt>) -> Stmt {
    Stmt::Workspace(Workspace { buffer, size, zero, instead: None, body })
}
