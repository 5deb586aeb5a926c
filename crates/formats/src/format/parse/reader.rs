//! What definitions of formats and queries are read with.

use std::ops::Range;

use super::super::LevelExpr;
use super::expression::{Expression, Scope};
use super::lex::{Result, Token, fail, lex_definition, moved};

/// The tokens of a part of a text.
pub(super) fn tokens_of<'t>(
    text: &'t str,
    span: &Range<usize>,
) -> Result<Vec<(Token<'t>, Range<usize>)>> {
    let tokens = lex_definition(text.get(span.clone()).unwrap_or_default());
    let tokens = tokens.map_err(|error| moved(error, span.start))?;
    let by = span.start;
    Ok(tokens.into_iter().map(|(token, at)| (token, at.start + by..at.end + by)).collect())
}

pub(super) fn read(
    tokens: &[(Token<'_>, Range<usize>)],
    scope: &Scope<'_, String>,
    span: &Range<usize>,
) -> Result<LevelExpr> {
    let mut expression = Expression { scope, tokens, at: 0, end: span.end };
    let value = expression.sum()?;
    match tokens.get(expression.at) {
        None => Ok(value),
        Some((_, span)) => {
            let hint = "such as `j - i`, `i / 4`, `i % 4`";
            fail(span.clone(), "this is no expression of dimensions", "not expected", hint)
        }
    }
}

/// A definition or a query while it is read.
pub(super) struct Reader<'p, 't> {
    tokens: &'p [(Token<'t>, Range<usize>)],
    /// The next token.
    at: usize,
    /// Where the text ends.
    end: usize,
    /// What the whole looks like, as a hint.
    shape: &'static str,
}

impl<'p, 't> Reader<'p, 't> {
    pub(super) fn new(
        tokens: &'p [(Token<'t>, Range<usize>)],
        text: &str,
        shape: &'static str,
    ) -> Self {
        Reader { tokens, at: 0, end: text.trim_end().len(), shape }
    }

    /// Whether all was read.
    pub(super) fn is_done(&self) -> bool {
        self.at == self.tokens.len()
    }

    /// `i, j)`.
    pub(super) fn names(&mut self, what: &str) -> Result<Vec<String>> {
        let mut names = vec![self.name(what)?.0.to_owned()];
        loop {
            if self.take(')') {
                return Ok(names);
            }
            self.marks(&[','], "`,` or `)`")?;
            names.push(self.name(what)?.0.to_owned());
        }
    }

    /// The places of parts with commas between, and a closing parenthesis.
    pub(super) fn parts(&mut self, what: &str) -> Result<Vec<Range<usize>>> {
        let mut parts = Vec::new();
        loop {
            let (first, mut open) = (self.at, 0usize);
            while let Some((token, _)) = self.tokens.get(self.at) {
                match token {
                    Token::Mark(',' | ')') if open == 0 => break,
                    Token::Mark('(') => open += 1,
                    Token::Mark(')') => open -= 1,
                    _ => {}
                }
                self.at += 1;
            }
            match &self.tokens[first..self.at] {
                [] => {
                    return fail(
                        self.next(),
                        format!("{what} is missing here"),
                        "missing",
                        self.shape,
                    );
                }
                [only] => parts.push(only.1.clone()),
                [head, .., tail] => parts.push(head.1.start..tail.1.end),
            }
            if self.take(')') {
                return Ok(parts);
            }
            self.marks(&[','], "`)`")?;
        }
    }

    pub(super) fn distinct<'n>(
        &self,
        names: impl Iterator<Item = &'n String>,
        text: &str,
    ) -> Result<()> {
        let mut seen: Vec<&String> = Vec::new();
        for name in names {
            let known = match name.as_str() {
                "rank" => true,
                _ => seen.contains(&name),
            };
            if known || name.parse::<i64>().is_ok() {
                let message = format!("`{name}` cannot be another name here");
                let hint = "dimensions and parameters have names of their own; `rank` is the number of dimensions";
                return fail(0..text.trim_end().len(), message, "in this format", hint);
            }
            seen.push(name);
        }
        Ok(())
    }

    pub(super) fn word(&mut self, wanted: &str) -> Result<()> {
        match self.tokens.get(self.at) {
            Some((Token::Word(word), _)) if *word == wanted => {
                self.at += 1;
                Ok(())
            }
            _ => fail(self.next(), format!("`{wanted}` is missing here"), "missing", self.shape),
        }
    }

    pub(super) fn name(&mut self, what: &str) -> Result<(&'t str, Range<usize>)> {
        match self.tokens.get(self.at) {
            Some((Token::Word(word), span)) if word.starts_with(|c: char| c.is_alphabetic()) => {
                self.at += 1;
                Ok((*word, span.clone()))
            }
            _ => fail(self.next(), format!("{what} is missing here"), "missing", self.shape),
        }
    }

    /// Takes `..`.
    pub(super) fn every(&mut self) -> bool {
        let found = matches!(self.tokens.get(self.at), Some((Token::Word(".."), _)));
        self.at += usize::from(found);
        found
    }

    pub(super) fn take(&mut self, mark: char) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|(token, _)| *token == Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    pub(super) fn marks(&mut self, marks: &[char], what: &str) -> Result<()> {
        for mark in marks {
            if !self.take(*mark) {
                return fail(self.next(), format!("{what} is missing here"), "missing", self.shape);
            }
        }
        Ok(())
    }

    /// Where the next token is.
    pub(super) fn next(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.end..self.end, |(_, span)| span.clone())
    }

    /// Where the last token that was read ends.
    pub(super) fn last(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |at| self.tokens[at].1.end)
    }
}
