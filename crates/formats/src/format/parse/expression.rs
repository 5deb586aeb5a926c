//! What a level stores: `j - i`, `i / 4`, `(i + 2 * j) % 8`.

use std::cell::RefCell;
use std::ops::Range;

use super::super::{Indirect, LevelExpr};
use super::lex::{Result, Token, fail};

/// Names as a list.
pub(super) fn list(names: &[impl AsRef<str>]) -> String {
    names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// What names in an expression mean.
pub(super) struct Scope<'n, N> {
    /// The names of the tensor's dimensions.
    pub(super) names: &'n [N],
    /// Numbers with names.
    pub(super) numbers: Vec<(&'n str, i64)>,
    /// The dimension that `..` stands for.
    pub(super) each: Option<usize>,
    /// Functions that were read: they are dimensions behind those with names.
    pub(super) functions: RefCell<Vec<Indirect>>,
}

impl<'n, N: AsRef<str>> Scope<'n, N> {
    /// Of the dimensions of a tensor alone.
    pub(super) fn dimensions(names: &'n [N]) -> Scope<'n, N> {
        Scope { names, numbers: Vec::new(), each: None, functions: RefCell::default() }
    }

    fn meaning(&self, word: &str) -> Option<LevelExpr> {
        if let Ok(number) = word.parse::<i64>() {
            return Some(LevelExpr::constant(number));
        }
        if let Some((_, number)) = self.numbers.iter().find(|(name, _)| *name == word) {
            return Some(LevelExpr::constant(*number));
        }
        if let Some(each) = self.each.filter(|_| word == "..") {
            return Some(LevelExpr::dimension(each));
        }
        let found = self.names.iter().position(|known| known.as_ref() == word);
        found.map(LevelExpr::dimension)
    }
}

/// An expression while it is read.
pub(super) struct Expression<'p, 't, N> {
    pub(super) scope: &'p Scope<'p, N>,
    pub(super) tokens: &'p [(Token<'t>, Range<usize>)],
    /// The next token.
    pub(super) at: usize,
    /// Where the text ends.
    pub(super) end: usize,
}

impl<'t, N: AsRef<str>> Expression<'_, 't, N> {
    pub(super) fn take(&mut self, marks: &[char]) -> Option<(char, Range<usize>)> {
        match self.tokens.get(self.at) {
            Some((Token::Mark(mark), span)) if marks.contains(mark) => {
                self.at += 1;
                Some((*mark, span.clone()))
            }
            _ => None,
        }
    }

    /// `i + 2 * j - 1`.
    pub(super) fn sum(&mut self) -> Result<LevelExpr> {
        let mut sum = LevelExpr::constant(0);
        let mut sign = if self.take(&['-']).is_some() { -1 } else { 1 };
        loop {
            let start = self.at;
            let term = self.term()?;
            let next = term.times(sign).and_then(|term| sum.plus(&term));
            sum = self.fitting(next, start)?;
            match self.take(&['+', '-']) {
                Some(('+', _)) => sign = 1,
                Some(_) => sign = -1,
                None => return Ok(sum),
            }
        }
    }

    /// `2 * i`, `(i + j) / 4 % 8`.
    fn term(&mut self) -> Result<LevelExpr> {
        let start = self.at;
        let mut value = self.atom()?;
        while let Some((mark, span)) = self.take(&['*', '/', '%']) {
            let right = self.atom()?;
            let next = match (mark, value.as_constant(), right.as_constant()) {
                ('*', Some(by), _) => right.times(by),
                ('*', _, Some(by)) => value.times(by),
                ('/', _, Some(by)) if by > 0 => value.quotient(by),
                ('%', _, Some(by)) if by > 0 => value.remainder(by),
                _ => {
                    let hint = "levels store sums of multiples, quotients and remainders by positive numbers";
                    let message = format!("`{mark}` needs a number on its right side");
                    return fail(span, message, "not a number", hint);
                }
            };
            value = self.fitting(next, start)?;
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<LevelExpr> {
        if self.take(&['(']).is_some() {
            let inner = self.sum()?;
            return match self.take(&[')']) {
                Some(_) => Ok(inner),
                None => fail(self.next(), "this parenthesis is not closed", "expected `)`", ""),
            };
        }
        let Some((Token::Word(word), span)) = self.tokens.get(self.at).cloned() else {
            return fail(self.next(), "a dimension is missing here", "missing", "");
        };
        self.at += 1;
        if let Some((Token::Mark('('), _)) = self.tokens.get(self.at) {
            return self.function(word, span);
        }
        match self.scope.meaning(word) {
            Some(meaning) => Ok(meaning),
            None => {
                let numbers = self.scope.numbers.iter().map(|(name, _)| *name);
                let names = self.scope.names.iter().map(AsRef::as_ref).chain(numbers);
                let names: Vec<&str> = names.collect();
                let (what, hint) = match self.scope.names.is_empty() {
                    true => ("number", format!("there are: {}", list(&names))),
                    false => ("dimension", format!("the tensor's dimensions: {}", list(&names))),
                };
                fail(span, format!("there is no {what} `{word}`"), "unknown", hint)
            }
        }
    }

    pub(super) fn next(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.end..self.end, |(_, span)| span.clone())
    }

    fn fitting(&self, value: Option<LevelExpr>, start: usize) -> Result<LevelExpr> {
        let span = self.tokens.get(start).map_or(self.end..self.end, |(_, span)| span.clone());
        value.map_or_else(|| fail(span, "numbers beyond 64 bits", "too large", ""), Ok)
    }
}
