//! Hybrid formats, as they are read.
//!
//! ```text
//! hybrid    = "hybrid" "(" part "where" condition, .. "," part ")" | "hyb"
//! part      = format of one word | "(" format ")"
//! condition = measure ("<" | "<=" | ">" | ">=") (number | "auto")
//! measure   = aggregate "(" expression, .. ")" | expression
//! ```

use std::ops::Range;

use super::super::hybrid::{Comparison, Condition, Hybrid, Measure, Part};
use super::super::{Aggregate, Definitions};
use super::expression::{Expression, Scope};
use super::lex::{Result, Token, fail, lex_hybrid, moved};
use super::parse_with;

const SHAPE: &str = "such as `hybrid(bdia(50) where count(i / 50, j - i) >= 25, csr)`";
/// Of each row, as many entries as make it smallest in `ell`, and a list of the others (Bell and Garland, SC 2009).
const HYB: &str = "hybrid(ell where enumerate(i; j) < auto, coo)";

type Tokens<'t> = [(Token<'t>, Range<usize>)];

/// Whether a text begins as that of a hybrid format does.
pub fn is_hybrid(text: &str) -> bool {
    let word = text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    ["hybrid", "hyb"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Reads a hybrid format of a tensor with these dimensions.
///
/// # Errors
/// What is none.
pub fn hybrid(text: &str, names: &[impl AsRef<str>], definitions: &Definitions) -> Result<Hybrid> {
    if text.trim().eq_ignore_ascii_case("hyb") {
        let whole = 0..text.trim_end().len();
        if names.len() != 2 {
            let message = format!("`hyb` stores matrices, this tensor has rank {}", names.len());
            return fail(whole, message, "another rank", SHAPE);
        }
        return hybrid(HYB, &["i", "j"], definitions);
    }
    let tokens = lex_hybrid(text)?;
    let end = text.trim_end().len();
    let (Some((Token::Mark('('), _)), Some((Token::Mark(')'), last))) =
        (tokens.get(1), tokens.last())
    else {
        return fail(0..end, "the parts of a hybrid format are missing", "expected `(..)`", SHAPE);
    };
    let inner = &tokens[2..tokens.len() - 1];
    let mut parts = Vec::new();
    let spans = split(inner, |token| *token == Token::Mark(','));
    for (at, tokens) in spans.iter().enumerate() {
        let reading = Reading { text, names, definitions, end: last.start };
        let part = reading.part(tokens)?;
        let is_last = at + 1 == spans.len();
        let span = reading.span(tokens);
        match (&part.condition, is_last) {
            (None, false) => {
                return fail(
                    span,
                    "this part does not say which entries it takes",
                    "no `where`",
                    SHAPE,
                );
            }
            (Some(_), true) => {
                let message = "the last part of a hybrid format takes all that is left";
                return fail(span, message, "has a condition", SHAPE);
            }
            _ => parts.push(part),
        }
    }
    if parts.len() < 2 {
        return fail(0..end, "a hybrid format has two parts or more", "only one", SHAPE);
    }
    Ok(Hybrid { parts })
}

/// What stands between the signs outside of parentheses that are asked for.
fn split<'a, 't>(
    tokens: &'a Tokens<'t>,
    is_end: impl Fn(&Token<'t>) -> bool,
) -> Vec<&'a Tokens<'t>> {
    let (mut parts, mut first, mut open) = (Vec::new(), 0, 0i32);
    for (at, (token, _)) in tokens.iter().enumerate() {
        match token {
            Token::Mark('(') => open += 1,
            Token::Mark(')') => open -= 1,
            token if open == 0 && is_end(token) => {
                parts.push(&tokens[first..at]);
                first = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[first..]);
    parts
}

struct Reading<'r, N> {
    text: &'r str,
    names: &'r [N],
    definitions: &'r Definitions,
    end: usize,
}

impl<N: AsRef<str>> Reading<'_, N> {
    fn span(&self, tokens: &Tokens<'_>) -> Range<usize> {
        match tokens {
            [] => self.end..self.end,
            [only] => only.1.clone(),
            [head, .., tail] => head.1.start..tail.1.end,
        }
    }

    fn part(&self, tokens: &Tokens<'_>) -> Result<Part> {
        let pieces = split(tokens, |token| *token == Token::Word("where"));
        let own = match pieces[0] {
            [(Token::Mark('('), _), inner @ .., (Token::Mark(')'), _)] => inner,
            whole => whole,
        };
        let span = self.span(own);
        if own.is_empty() {
            return fail(span, "the format of a part is missing", "missing", SHAPE);
        }
        let format = parse_with(&self.text[span.clone()], self.names, self.definitions);
        let format = format.map_err(|error| moved(error, span.start))?;
        let condition = match pieces[1..] {
            [] => None,
            [condition] => Some(self.condition(condition)?),
            _ => return fail(self.span(tokens), "a part with two conditions", "this part", SHAPE),
        };
        Ok(Part { format, condition })
    }

    fn condition(&self, tokens: &Tokens<'_>) -> Result<Condition> {
        let is_sign = |token: &Token<'_>| matches!(token, Token::Mark('<' | '>'));
        let pieces = split(tokens, is_sign);
        let &[measure, bound] = &pieces[..] else {
            let span = self.span(tokens);
            return fail(
                span,
                "a condition compares once",
                "expected `<`, `<=`, `>` or `>=`",
                SHAPE,
            );
        };
        let less = tokens[measure.len()].0 == Token::Mark('<');
        let (equal, bound) = match bound {
            [(Token::Mark('='), _), rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let comparison = match (less, equal) {
            (true, false) => Comparison::Less,
            (true, true) => Comparison::AtMost,
            (false, false) => Comparison::More,
            (false, true) => Comparison::AtLeast,
        };
        let span = self.span(bound);
        let shown = self.text.get(span.clone()).unwrap_or_default();
        let number = shown.parse::<f64>().ok().filter(|number| number.is_finite());
        let threshold = match (shown, number) {
            ("auto", _) => None,
            (_, Some(number)) => Some(number),
            _ => return fail(span, "a threshold is a number or `auto`", "not a number", SHAPE),
        };
        Ok(Condition { measure: self.measure(measure)?, comparison, threshold })
    }

    fn measure(&self, tokens: &Tokens<'_>) -> Result<Measure> {
        let scope = Scope::dimensions(self.names);
        let read = |tokens: &Tokens<'_>| {
            let mut expression =
                Expression { scope: &scope, tokens, at: 0, end: self.span(tokens).end };
            let value = expression.sum()?;
            match tokens.get(expression.at) {
                None => Ok(value),
                Some((_, span)) => {
                    fail(span.clone(), "this is no expression of dimensions", "not expected", SHAPE)
                }
            }
        };
        if let [(Token::Word(word), _), (Token::Mark('('), _), inner @ .., (Token::Mark(')'), _)] =
            tokens
            && let Some(aggregate) = Aggregate::ALL.into_iter().find(|known| known.word() == *word)
        {
            let groups = split(inner, |token| *token == Token::Mark(','));
            let groups: Vec<_> = match inner {
                [] => Vec::new(),
                _ => groups.into_iter().map(read).collect::<Result<_>>()?,
            };
            if !scope.functions.borrow().is_empty() {
                return fail(
                    self.span(tokens),
                    "a group that is computed",
                    "in this condition",
                    SHAPE,
                );
            }
            return Ok(Measure::Query { aggregate, groups });
        }
        let expr = read(tokens)?;
        Ok(Measure::Value { expr, functions: scope.functions.take() })
    }
}
