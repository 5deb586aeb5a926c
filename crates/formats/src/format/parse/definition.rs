//! Definitions of formats, as they are read and as they are used.
//!
//! ```text
//! definition = "format" NAME ["(" parameter, .. ")"] ":=" "(" dimension, .. ")" "->" "(" expression, .. ")" primitive*
//! primitive  = ("merge" | "split") "(" level, .. ")" | ("trim" | "fill") "(" level "," level ")"
//! ```
//!
//! `(..)` in place of dimensions stands for those of any tensor, and an expression with `..` for one of each dimension.
//! `(..)` behind a primitive stands for all levels. Levels are counted from 0; in their numbers `rank` is the number of
//! dimensions.

use std::ops::Range;

use super::super::definition::{Action, Definition, Mutation, Primitive, format_of};
use super::super::{Format, FormatError, LevelExpr};
use super::expression::{Expression, Scope};
use super::lex::{Result, Token, fail, lex_definition, moved};

const SHAPE: &str =
    "such as `format bcsr(r, c) := (i, j) -> (i / r, j / c, i % r, j % c) merge(0, 1) trim(1, 1)`";

/// Reads one definition.
///
/// # Errors
/// What is none.
pub fn definition(text: &str) -> Result<Definition> {
    let tokens = lex_definition(text)?;
    let end = text.trim_end().len();
    let mut reader = Reader { tokens: &tokens, at: 0, end, shape: SHAPE };
    let found = reader.definition(text)?;
    probe(&found).map(|()| found)
}

/// Whether a definition makes a format of some parameters, which says most of what may be wrong with it: with powers of
/// two, which divide each other, in one order or the other.
fn probe(definition: &Definition) -> Result<()> {
    let count = definition.parameters.len();
    let ranks = definition.rank().map_or(vec![2, 3], |rank| vec![rank]);
    for rank in ranks {
        let mut wrong = None;
        for rising in [false, true] {
            let power = |at: usize| 4i64 << (2 * if rising { at } else { count - 1 - at }).min(40);
            let numbers: Vec<i64> = (0..count).map(power).collect();
            match instance(definition, &numbers, rank) {
                Ok(_) => {
                    wrong = None;
                    break;
                }
                Err(error) => wrong = Some(error),
            }
        }
        if let Some(error) = wrong {
            return Err(error);
        }
    }
    Ok(())
}

/// The format of a definition with its parameters' numbers, for tensors of a rank. Errors are about the definition's
/// text.
///
/// # Errors
/// A map that does not tell all elements apart, or levels that cannot follow each other, with these numbers.
pub(crate) fn instance(definition: &Definition, numbers: &[i64], rank: usize) -> Result<Format> {
    let names = definition.names(rank);
    let known = definition.parameters.iter().map(String::as_str).zip(numbers.iter().copied());
    let mut scope = Scope { names: &names, numbers: known.collect(), each: None };
    let mut exprs = Vec::new();
    for span in &definition.exprs {
        let tokens = tokens_of(definition, span)?;
        let every = tokens.iter().any(|(token, _)| *token == Token::Word(".."));
        let each = if every { (0..rank).map(Some).collect() } else { vec![None] };
        for each in each {
            scope.each = each;
            exprs.push(read(&tokens, &scope, span)?);
        }
    }
    scope = Scope { names: &names[..0], each: None, ..scope };
    scope.numbers.push(("rank", i64::try_from(rank).unwrap_or(i64::MAX)));
    let mut mutations = vec![Mutation::default(); exprs.len()];
    for primitive in &definition.primitives {
        for level in levels_of(definition, primitive, &scope, exprs.len())? {
            let mutation = &mut mutations[level];
            match primitive.action {
                Action::Merge => mutation.merged = true,
                Action::Split => mutation.merged = false,
                Action::Trim => mutation.trimmed = true,
                Action::Fill => mutation.trimmed = false,
            }
        }
    }
    let first = definition.exprs.first().map_or(0, |span| span.start);
    let last = definition.exprs.last().map_or(definition.text.len(), |span| span.end);
    format_of(rank, &exprs, &mutations, first..last)
}

fn tokens_of<'d>(
    definition: &'d Definition,
    span: &Range<usize>,
) -> Result<Vec<(Token<'d>, Range<usize>)>> {
    let tokens = lex_definition(definition.text.get(span.clone()).unwrap_or_default());
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

/// The levels that a primitive is about.
fn levels_of(
    definition: &Definition,
    primitive: &Primitive,
    scope: &Scope<'_, String>,
    count: usize,
) -> Result<Vec<usize>> {
    let Some(spans) = &primitive.levels else { return Ok((0..count).collect()) };
    let mut levels = Vec::new();
    for span in spans {
        let number = read(&tokens_of(definition, span)?, scope, span)?.as_constant();
        match number.and_then(|number| usize::try_from(number).ok()).filter(|at| *at < count) {
            Some(level) => levels.push(level),
            None => {
                let counted = dastac_elements::count(count, "level");
                let message = match number {
                    Some(number) => format!("there is no level {number}"),
                    None => "this is not the number of a level".into(),
                };
                let hint = format!("the map has {counted}, which are counted from 0");
                return fail(span.clone(), message, "not a level", hint);
            }
        }
    }
    match (primitive.action.is_of_range(), &levels[..]) {
        (true, &[first, last]) if first <= last => Ok((first..=last).collect()),
        (true, _) => fail(
            primitive.span.clone(),
            format!("`{}` needs the first and the last level", primitive.action.word()),
            "no range of levels",
            format!("such as `{}(0, 1)`", primitive.action.word()),
        ),
        (false, _) => Ok(levels),
    }
}

/// A definition or a query while it is read.
pub(super) struct Reader<'p, 't> {
    pub(super) tokens: &'p [(Token<'t>, Range<usize>)],
    /// The next token.
    pub(super) at: usize,
    /// Where the text ends.
    pub(super) end: usize,
    /// What the whole looks like, as a hint.
    pub(super) shape: &'static str,
}

impl<'t> Reader<'_, 't> {
    fn definition(&mut self, text: &str) -> Result<Definition> {
        self.word("format", self.shape)?;
        let (name, _) = self.name("the name of the format")?;
        let parameters = match self.take('(') {
            true => self.names("a parameter")?,
            false => Vec::new(),
        };
        self.marks(&[':', '='], "`:=`")?;
        self.marks(&['('], "the dimensions, as `(i, j)`")?;
        let dimensions = match self.every() {
            true => {
                self.marks(&[')'], "`)`")?;
                None
            }
            false => Some(self.names("a dimension")?),
        };
        self.distinct(dimensions.iter().flatten().chain(&parameters), text)?;
        self.marks(&['-', '>'], "`->`")?;
        self.marks(&['('], "the levels' expressions, as `(j, i)`")?;
        let exprs = self.parts("an expression of the dimensions")?;
        let mut primitives = Vec::new();
        while self.at < self.tokens.len() {
            primitives.push(self.primitive()?);
        }
        Ok(Definition {
            name: name.to_owned(),
            about: String::new(),
            parameters,
            dimensions,
            text: text.trim_end().to_owned(),
            exprs,
            primitives,
        })
    }

    fn primitive(&mut self) -> Result<Primitive> {
        let hint = "primitives are `merge`, `split`, `trim` and `fill`";
        let (word, span) = self.name("`merge(..)` or `trim(..)`")?;
        let Some(action) = Action::ALL.into_iter().find(|action| action.word() == word) else {
            return fail(span, format!("there is no primitive `{word}`"), "unknown", hint);
        };
        self.marks(&['('], "the numbers of levels, in `(` and `)`")?;
        let levels = match self.every() {
            true => {
                self.marks(&[')'], "`)`")?;
                None
            }
            false => Some(self.parts("the number of a level")?),
        };
        Ok(Primitive { action, levels, span: span.start..self.last() })
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

    fn word(&mut self, wanted: &str, hint: &str) -> Result<()> {
        match self.tokens.get(self.at) {
            Some((Token::Word(word), _)) if *word == wanted => {
                self.at += 1;
                Ok(())
            }
            _ => fail(self.next(), format!("`{wanted}` is missing here"), "missing", hint),
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
    fn every(&mut self) -> bool {
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

    pub(super) fn next(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.end..self.end, |(_, span)| span.clone())
    }

    pub(super) fn last(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |at| self.tokens[at].1.end)
    }
}

/// A definition that is wrong, in a text around it.
pub(crate) fn at(start: usize, error: FormatError) -> FormatError {
    moved(error, start)
}
