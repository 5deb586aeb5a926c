//! Words and signs of the notation of formats.

use std::ops::Range;

use super::super::FormatError;

/// A word or a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Word(&'t str),
    /// One of `( ) , ; + - * / %`, in definitions also `: = >`.
    Mark(char),
}

/// What is read, or what is wrong with it.
pub(super) type Result<T> = std::result::Result<T, FormatError>;

/// What is wrong with a part of a text.
pub(super) fn fail<T>(
    span: Range<usize>,
    message: impl Into<String>,
    label: &'static str,
    hint: impl Into<String>,
) -> Result<T> {
    let hint = Some(hint.into()).filter(|hint| !hint.is_empty());
    Err(FormatError { message: message.into(), span, label, hint, map: None })
}

/// What is wrong with a part of a text that begins so far behind the beginning of another.
pub(super) fn moved(error: FormatError, by: usize) -> FormatError {
    FormatError { span: error.span.start + by..error.span.end + by, ..error }
}

/// The words and signs of a text, with where they stand.
pub(super) fn lex(text: &str) -> Result<Vec<(Token<'_>, Range<usize>)>> {
    lexed(text, "(),+-*/%;")
}

/// The words and signs of a definition.
pub(super) fn lex_definition(text: &str) -> Result<Vec<(Token<'_>, Range<usize>)>> {
    lexed(text, "(),+-*/%;:=>")
}

/// The words and signs of a hybrid format.
pub(super) fn lex_hybrid(text: &str) -> Result<Vec<(Token<'_>, Range<usize>)>> {
    lexed(text, "(),+-*/%;<>=")
}

fn lexed<'t>(text: &'t str, marks: &str) -> Result<Vec<(Token<'t>, Range<usize>)>> {
    let mut tokens = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        let token = match c {
            c if c.is_whitespace() => continue,
            c if marks.contains(c) => Token::Mark(c),
            c if is_word(c) => {
                while rest.peek().is_some_and(|(_, c)| is_word(*c)) {
                    rest.next();
                }
                let end = rest.peek().map_or(text.len(), |(at, _)| *at);
                tokens.push((Token::Word(&text[start..end]), start..end));
                continue;
            }
            other => {
                let message = format!("`{other}` has no meaning in a format");
                return fail(start..start + other.len_utf8(), message, "unknown", "");
            }
        };
        tokens.push((token, start..start + 1));
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}
