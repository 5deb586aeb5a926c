//! From text to tokens. Any text is accepted: what is no token becomes a diagnostic and an [`TokenKind::Invalid`]
//! token, so that the parser can leave out the line that holds it and go on with the next.

use crate::ast::Span;
use crate::diagnostic::Diagnostic;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A letter, then letters, digits, `_`, `.`.
    Name(String),
    /// Digits, with a fraction or an exponent if any; never a sign.
    Number(String),
    /// An operator or a mark of punctuation.
    Mark(&'static str),
    /// The end of a line of the text.
    Newline,
    /// Already reported.
    Invalid,
}

/// A token where it is written.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

impl Token {
    pub fn is(&self, mark: &str) -> bool {
        matches!(self.kind, TokenKind::Mark(m) if m == mark)
    }
}

/// Longer marks first: `<=` is not `<` and `=`.
const MARKS: &[&str] = &[
    ":=", "->", "..", "**", "//", "==", "!=", "<=", ">=", ":", ";", ",", "(", ")", "+", "-", "*",
    "/", "%", "^", "=", "<", ">", "@",
];

/// Splits a text into tokens.
pub(crate) fn lex(source: &str) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut lexer = Lexer { source, at: 0, tokens: Vec::new(), diagnostics: Vec::new() };
    if source.starts_with('\u{feff}') {
        lexer.at = '\u{feff}'.len_utf8();
    }
    while lexer.at < source.len() {
        lexer.step();
    }
    (lexer.tokens, lexer.diagnostics)
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    tokens: Vec<Token>,
    diagnostics: Vec<Diagnostic>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    /// Takes `length` bytes as a token.
    fn push(&mut self, length: usize, kind: TokenKind) {
        let span = Span::new(self.at, self.at + length);
        self.tokens.push(Token { kind, span });
        self.at += length;
    }

    fn step(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        match first {
            '\n' => self.push(1, TokenKind::Newline),
            ' ' | '\t' | '\r' => self.at += 1,
            '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
            'a'..='z' | 'A'..='Z' => {
                let name = &rest[..name_length(rest)];
                self.push(name.len(), TokenKind::Name(name.into()));
            }
            '0'..='9' => self.number(),
            _ => match MARKS.iter().find(|mark| rest.starts_with(**mark)) {
                // Another spelling of a power.
                Some(&"**") => self.push(2, TokenKind::Mark("^")),
                Some(mark) => self.push(mark.len(), TokenKind::Mark(mark)),
                None => self.invalid(first),
            },
        }
    }

    fn number(&mut self) {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut length = digits(0);
        if bytes.get(length) == Some(&b'.') && digits(length + 1) > 0 {
            length += 1 + digits(length + 1);
        }
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            let exponent = digits(length + 1 + sign);
            if exponent > 0 {
                length += 1 + sign + exponent;
            }
        }
        let tail = name_length(&rest[length..]);
        if tail == 0 {
            let text = rest[..length].to_string();
            return self.push(length, TokenKind::Number(text));
        }
        let text = rest[..length + tail].to_string();
        let span = Span::new(self.at, self.at + text.len());
        let error = Diagnostic::error("E0002", format!("`{text}` is no number"), span, "malformed");
        let hint = match &text.as_bytes()[length..] {
            [b'.', b'.', ..] => {
                "iterators have no ranges, but comparisons: `sum(j) A(i, j) * (0 <= j < N)`".into()
            }
            [b'j' | b'J' | b'i' | b'I'] => format!(
                "a product is written with `*`: `{0} * {1}`; an imaginary number is `complex(0, {0})`",
                &text[..length],
                &text[length..]
            ),
            [b'.', ..] => format!("write a digit after the point: `{}.0`", &text[..length]),
            _ => format!(
                "a product is written with `*`: `{} * {}`",
                &text[..length],
                &text[length..]
            ),
        };
        self.diagnostics.push(error.hint(hint));
        self.push(text.len(), TokenKind::Invalid);
    }

    /// One error for a run of characters that begin no token.
    fn invalid(&mut self, first: char) {
        let rest = self.rest();
        let length = rest
            .char_indices()
            .find(|(_, c)| c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || *c == '#')
            .map_or(rest.len(), |(at, _)| at)
            .max(first.len_utf8());
        // A mark ends the run: `é(` is one bad character and a parenthesis.
        let length = (first.len_utf8()..length)
            .find(|at| {
                rest.is_char_boundary(*at) && MARKS.iter().any(|m| rest[*at..].starts_with(m))
            })
            .unwrap_or(length);
        let span = Span::new(self.at, self.at + length);
        let shown: String = rest[..length].chars().take(8).flat_map(shown_as).collect();
        let mut error = Diagnostic::error(
            "E0001",
            format!("`{shown}` is not part of the language"),
            span,
            "unexpected character",
        );
        let hint = match first {
            '≤' => Some("write `<=`"),
            '≥' => Some("write `>=`"),
            '≠' => Some("write `!=`"),
            '−' | '–' => Some("write `-`"),
            '·' | '×' | '∗' => Some("write `*`"),
            '_' => Some("a name begins with a letter"),
            '.' if rest.starts_with(".*") => Some("products of elements are `A(i, j) * B(i, j)`"),
            '.' if rest.starts_with("./") => Some("quotients of elements are `A(i, j) / B(i, j)`"),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_alphabetic())
                && !rest.starts_with(".T") =>
            {
                Some("functions are written `f(x)`, casts `f32(x)`")
            }
            '²' => Some("a square is `a^2`"),
            '√' => Some("a root is `sqrt(a)`"),
            'Σ' | '∑' => Some("a sum is `sum(j) A(i, j)`"),
            '∏' | 'Π' => Some("a product is `prod(j) A(i, j)`"),
            '~' | '¬' => Some("where `a` is 0: `not(a)`"),
            '.' if rest.starts_with(".T") => Some("the transpose of `A(i, j)` is `A(j, i)`"),
            '.' => Some("a number begins with a digit: `0.5`"),
            '[' | ']' | '{' | '}' => Some("subscripts and groups stand in `(` and `)`"),
            '|' if !rest.starts_with("||") => {
                Some("an absolute value is `abs(x)`; one of two holds: `a or b`")
            }
            '&' | '|' => Some("both hold: `a * b` or `a and b`; one of them holds: `a or b`"),
            '!' => Some("unequal is `!=`; where `a` is 0: `not(a)`"),
            '?' => Some("a choice is `where(test, a, b)`"),
            '\'' => Some("the transpose of `A(i, j)` is `A(j, i)`"),
            c if c.is_alphabetic() => {
                Some("names are made of the letters a-z and A-Z, digits, `_` and `.`")
            }
            _ => None,
        };
        if let Some(hint) = hint {
            error = error.hint(hint);
        }
        // One of several brackets on a line says enough.
        let is_bracket = |text: &str| text.starts_with(['[', ']']);
        let again = self.diagnostics.last().is_some_and(|last| {
            let before = self.source.get(last.place()..self.at).unwrap_or_default();
            last.code == "E0001" && is_bracket(before) && !before.contains('\n')
        });
        if !again || !is_bracket(&self.source[self.at..]) {
            self.diagnostics.push(error);
        }
        self.push(length, TokenKind::Invalid);
    }
}

/// A character as messages show it.
fn shown_as(c: char) -> impl Iterator<Item = char> {
    let quote = matches!(c, '\'' | '"').then_some(c);
    let escaped = quote.is_none().then(|| c.escape_debug());
    quote.into_iter().chain(escaped.into_iter().flatten())
}

/// Bytes of name characters that `text` begins with.
fn name_length(text: &str) -> usize {
    text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.').count()
}
