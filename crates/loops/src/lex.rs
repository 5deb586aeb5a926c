//! Tokens of the text form.

use crate::ir::{Compare, MathFunction};
use crate::print::RESERVED;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    Name(&'a str),
    Integer(&'a str),
    Float(&'a str),
    Sign(&'static str),
    Other(char),
    End,
}

impl Token<'_> {
    pub(crate) fn describe(self) -> String {
        match self {
            Token::Name(text) | Token::Integer(text) | Token::Float(text) => format!("`{text}`"),
            Token::Sign(text) => format!("`{text}`"),
            Token::Other(c) => format!("`{}`", c.escape_debug()),
            Token::End => "the end of the text".to_owned(),
        }
    }
}

const SIGNS: &[&str] = &[
    "+=", "==", "!=", "<=", ">=", "=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{",
    "}", ",", ":", "$", "..",
];
pub(crate) const COMPARISONS: &[(&str, Compare)] = &[
    ("==", Compare::Eq),
    ("!=", Compare::Ne),
    ("<", Compare::Lt),
    ("<=", Compare::Le),
    (">", Compare::Gt),
    (">=", Compare::Ge),
];

pub(crate) struct Place<'a> {
    pub(crate) token: Token<'a>,
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// For an opening parenthesis: whether it encloses a condition.
    pub(crate) condition: bool,
}

/// Length of the longest prefix of characters that satisfy `of`.
fn span(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|c| !of(c)).unwrap_or(text.len())
}

fn number(text: &str) -> Token<'_> {
    let mut end = span(text, |c| c.is_ascii_digit());
    let integer = end;
    if text[end..].starts_with('.') {
        end += 1 + span(&text[end + 1..], |c| c.is_ascii_digit());
    }
    if text[end..].starts_with(['e', 'E']) {
        let signed = usize::from(text[end + 1..].starts_with(['+', '-']));
        let digits = span(&text[end + 1 + signed..], |c| c.is_ascii_digit());
        if digits > 0 {
            end += 1 + signed + digits;
        }
    }
    if end == integer { Token::Integer(&text[..end]) } else { Token::Float(&text[..end]) }
}

pub(crate) fn tokens(text: &str) -> Vec<Place<'_>> {
    let mut places: Vec<Place> = Vec::new();
    // Open parentheses; a condition inside one makes a condition of all around it up to the nearest call.
    let mut open: Vec<usize> = Vec::new();
    let (mut line, mut rest, mut start) = (1, text, text);
    loop {
        let blank = rest.trim_start();
        let skipped = &rest[..rest.len() - blank.len()];
        if let Some(last) = skipped.rfind('\n') {
            line += skipped.matches('\n').count();
            start = &rest[last + 1..];
        }
        rest = blank;
        if rest.starts_with('#') {
            rest = &rest[span(rest, |c| c != '\n')..];
            continue;
        }
        let column = 1 + start[..start.len() - rest.len()].chars().count();
        let (token, length) = match rest.chars().next() {
            None => (Token::End, 0),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let end = span(rest, |c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                (Token::Name(&rest[..end]), end)
            }
            Some(c) if c.is_ascii_digit() => match number(rest) {
                token @ (Token::Integer(text) | Token::Float(text)) => (token, text.len()),
                token => (token, 1),
            },
            Some(c) => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (Token::Sign(sign), sign.len()),
                None => (Token::Other(c), c.len_utf8()),
            },
        };
        let decides = match token {
            Token::Sign(sign) => COMPARISONS.iter().any(|(known, _)| *known == sign),
            Token::Name(name) => RESERVED.contains(&name),
            _ => false,
        };
        match token {
            Token::Sign("(") => open.push(places.len()),
            Token::Sign(")") => {
                if let Some(at) = open.pop()
                    && places[at].condition
                    && !calls(&places[..at])
                    && let Some(outer) = open.last()
                {
                    places[*outer].condition = true;
                }
            }
            _ if decides => {
                if let Some(inner) = open.last() {
                    places[*inner].condition = true;
                }
            }
            _ => {}
        }
        places.push(Place { token, line, column, condition: false });
        if token == Token::End {
            return places;
        }
        rest = &rest[length..];
    }
}

/// Whether the parenthesis after `before` encloses the arguments of a call.
fn calls(before: &[Place]) -> bool {
    let call = ["min", "max", "exact", "select", "sum", "index", "truth", "compare", "cast"];
    matches!(before.last().map(|place| place.token), Some(Token::Name(name))
        if call.contains(&name) || MathFunction::from_name(name).is_some())
}
