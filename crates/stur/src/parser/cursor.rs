//! Where a parser stands in a line, and the errors that it reports.

use std::collections::BTreeSet;

use crate::ast::Span;
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind};

pub(super) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// A position in the tokens of a line.
pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    pub(super) tokens: &'a [Token],
    pub(super) at: usize,
    /// Just after the last token.
    pub(super) end: Span,
    pub(super) nesting: usize,
    pub(super) warnings: Vec<Diagnostic>,
    /// Those of the head of a rule, in its right-hand side.
    pub(super) iterators: BTreeSet<String>,
    /// Names at the beginnings of lines: tensors, also where they are those of functions.
    pub(super) heads: &'a BTreeSet<String>,
    /// Those of them that have no iterators.
    pub(super) scalars: &'a BTreeSet<String>,
    /// Names with types that have subscripts nowhere.
    pub(super) typed: &'a BTreeSet<String>,
}

pub(super) fn error(
    code: &'static str,
    message: impl Into<String>,
    span: Span,
    label: &str,
) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(code, message, span, label))
}

pub(super) fn with_hint(mut error: Box<Diagnostic>, hint: impl Into<String>) -> Box<Diagnostic> {
    error.hint = Some(hint.into());
    error
}

/// A token as a message shows it.
pub(super) fn describe(token: Option<&Token>) -> String {
    match token.map(|token| &token.kind) {
        None => "the end of the line".into(),
        Some(TokenKind::Name(text) | TokenKind::Number(text)) => format!("`{text}`"),
        Some(TokenKind::Mark(mark)) => format!("`{mark}`"),
        Some(TokenKind::Newline | TokenKind::Invalid) => "nothing readable".into(),
    }
}
