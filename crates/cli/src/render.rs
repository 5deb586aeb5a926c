//! Diagnostics and errors as text, in rustc's style.

use std::io::Write;
use std::ops::Range;

use annotate_snippets::{
    AnnotationKind, Group, Level, Renderer as Snippets, Snippet, normalize_untrusted_str,
};
use dastac::stur::ast::Span;
use dastac::stur::{Diagnostic, Severity};

use super::args::Color;
use super::failure::{Failure, defect};
use super::source::Source;

/// More are not read by anyone.
const MAX_SHOWN: usize = 20;

/// Renders for stderr.
pub struct Renderer {
    snippets: Snippets,
}

impl Renderer {
    /// A renderer with or without colours.
    pub fn new(color: Color) -> Renderer {
        let styled = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
            }
        };
        Renderer { snippets: if styled { Snippets::styled() } else { Snippets::plain() } }
    }

    /// Shows why a command stopped.
    pub fn failure(&self, failure: &Failure) {
        to_stderr(&self.text(failure));
    }

    /// Why a command stopped, as it is shown.
    pub fn text(&self, failure: &Failure) -> String {
        match failure {
            Failure::NoReader => String::new(),
            Failure::Defect(what) => defect(what),
            Failure::User(message) | Failure::Usage(message) => {
                let hints: Vec<&str> = message.hints.iter().map(String::as_str).collect();
                self.message(Level::ERROR, &message.text, &hints)
            }
            Failure::Program(diagnostics, source) => self.summarised(diagnostics, source),
        }
    }

    /// Shows warnings.
    pub fn warnings(&self, warnings: &[Diagnostic], source: &Source) {
        to_stderr(&self.diagnostics(warnings, source));
    }

    /// Shows a warning that is not about a place in a text.
    pub fn warning(&self, text: &str, hint: &str) {
        to_stderr(&self.message(Level::WARNING, text, &[hint]));
    }

    /// Shows something that is worth knowing but no error.
    pub fn note(&self, text: &str) {
        to_stderr(&self.message(Level::NOTE, text, &[]));
    }

    fn message(&self, level: Level<'_>, text: &str, hints: &[&str]) -> String {
        let mut lines =
            self.snippets.render(&[Group::with_title(level.primary_title(normalize(text)))]) + "\n";
        for hint in hints {
            let hint = Group::with_title(Level::HELP.primary_title(normalize(hint)));
            lines += &(self.snippets.render(&[hint]) + "\n");
        }
        lines
    }

    fn summarised(&self, diagnostics: &[Diagnostic], source: &Source) -> String {
        let mut text = self.diagnostics(diagnostics, source);
        let hidden = diagnostics.len().saturating_sub(MAX_SHOWN);
        if hidden > 0 {
            text += &self.message(
                Level::NOTE,
                &match hidden {
                    1 => "1 more is not shown".to_string(),
                    _ => format!("{hidden} more are not shown"),
                },
                &[],
            );
        }
        let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        if errors > 1 {
            let total = format!("{} has {errors} errors", source.name);
            text += &self.message(Level::ERROR, &total, &[]);
        }
        text
    }

    /// Diagnostics as they are shown.
    pub fn diagnostics(&self, diagnostics: &[Diagnostic], source: &Source) -> String {
        diagnostics.iter().take(MAX_SHOWN).map(|d| self.diagnostic(d, source)).collect()
    }

    fn diagnostic(&self, diagnostic: &Diagnostic, source: &Source) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(normalize(&diagnostic.message)).id(diagnostic.code);
        let mut group = Group::with_title(title);
        if !diagnostic.labels.is_empty() {
            let mut snippet = Snippet::source(source.text.as_str()).path(source.name.as_str());
            for (position, (span, label)) in diagnostic.labels.iter().enumerate() {
                let kind =
                    if position == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
                let annotation = kind.span(range(*span, &source.text));
                snippet = snippet.annotation(if label.is_empty() {
                    annotation
                } else {
                    annotation.label(normalize(label))
                });
            }
            group = group.element(snippet);
        }
        if let Some(hint) = &diagnostic.hint {
            group = group.element(Level::HELP.message(normalize(hint)));
        }
        self.snippets.render(&[group]) + "\n\n"
    }
}

/// A span as a range that can be sliced: within the text, at character boundaries.
fn range(span: Span, text: &str) -> Range<usize> {
    let boundary = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = boundary(span.start);
    start..boundary(span.end).max(start)
}

fn normalize(text: &str) -> String {
    normalize_untrusted_str(text)
}

/// Writes to stderr; if that fails there is nobody to tell.
pub fn to_stderr(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
