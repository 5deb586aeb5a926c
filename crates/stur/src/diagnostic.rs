//! User errors: a message, labelled spans of the source, and a hint. Rendered by the command line only.

use crate::ast::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program has no meaning, or one that is not supported yet.
    Error,
    /// The program has a meaning that is probably not what was wanted.
    Warning,
}

/// A user error or warning.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable code such as `E0103`, for documentation and search.
    pub code: &'static str,
    /// One line without a full stop.
    pub message: String,
    /// Labelled spans; the first is the primary one.
    pub labels: Vec<(Span, String)>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error with its primary label.
    pub fn error(
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Self {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            labels: vec![(span, label.into())],
            hint: None,
        }
    }

    /// An error for something that has a meaning but that this version cannot compile.
    pub fn unsupported(what: impl Into<String>, span: Span, label: impl Into<String>) -> Self {
        Diagnostic::error("E0900", format!("not supported yet: {}", what.into()), span, label)
    }

    /// A warning with its primary label.
    pub fn warning(
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message, span, label) }
    }

    /// Where it begins: diagnostics are shown in the order of the text.
    pub fn place(&self) -> usize {
        self.labels.first().map_or(0, |(span, _)| span.start)
    }

    /// Adds a secondary label.
    pub fn label(mut self, span: Span, label: impl Into<String>) -> Self {
        self.labels.push((span, label.into()));
        self
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
