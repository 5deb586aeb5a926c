//! What commands are given, and what they say when they are done.

use super::render::Renderer;

/// What a command says when it went as wished.
pub enum Outcome {
    /// All is well.
    Done,
    /// A result that is not the expected one, already reported.
    Disagreement,
}

/// How this process talks to its user.
pub struct Terminal {
    /// Renders diagnostics and errors for stderr.
    pub renderer: Renderer,
    /// Whether a moving picture may be shown on stderr.
    pub interactive: bool,
}
