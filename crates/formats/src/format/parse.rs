//! The notation of formats: what stands behind `:F` in a program, and behind `--format`.
//!
//! ```text
//! format = NAME | CODE | (NAME | CODE) "(" dimension, .. ")" | level, ..
//! level  = KIND "(" expression ("," ("nonunique" | "unordered"))* ")"
//! ```
//!
//! An expression is a quasi-affine one of dimensions: `i`, `j - i`, `i / 4`, `i % 4`, `(i + 2 * j) / 8`; `/` rounds
//! down. A name or code without dimensions stores them in their own order. `csc` and `dcsc` are names for matrices, and
//! codes for tensors of rank 3 and 4. Upper and lower case are the same in names of formats and codes, not in those of
//! dimensions.

mod expression;
mod lex;

use std::ops::Range;

use super::{Format, FormatError, FormatName, Impossible, IndexMap, KINDS, Kind, Level};
use super::{LevelExpr, NAMES, Reason, levels_of_code};
use crate::hint::similar;
use expression::{Expression, list};
use lex::{Result, Token, fail, lex};

struct Parser<'t, 'n, N> {
    text: &'t str,
    tokens: Vec<(Token<'t>, Range<usize>)>,
    at: usize,
    names: &'n [N],
}

/// A word with its arguments: `compressed(i, nonunique)`.
struct Item<'t> {
    word: &'t str,
    span: Range<usize>,
    /// With the parentheses.
    whole: Range<usize>,
    arguments: Option<Vec<Argument<'t>>>,
}

/// What stands between commas.
struct Argument<'t> {
    tokens: Vec<(Token<'t>, Range<usize>)>,
    span: Range<usize>,
}

impl<'t> Argument<'t> {
    fn word(&self) -> Option<&'t str> {
        match self.tokens[..] {
            [(Token::Word(word), _)] => Some(word),
            _ => None,
        }
    }
}

/// Reads `csr`, `DCC`, `coo(k, i, j)` or `dense(i), compressed(j)` for a tensor with these dimensions.
///
/// # Errors
/// What is no format, or none of this rank.
pub fn parse(text: &str, names: &[impl AsRef<str>]) -> Result<Format> {
    let tokens = lex(text)?;
    let mut parser = Parser { text, tokens, at: 0, names };
    let items = parser.items()?;
    if let [only] = items.as_slice()
        && !is_level(only)
    {
        return parser.named(only);
    }
    parser.spelled(&items)
}

/// Whether one item alone is a level of a vector: `dense(i, j)` is the named format with an order, `dense` too.
fn is_level(item: &Item) -> bool {
    let Some(kind) = Kind::named(item.word) else { return false };
    let named = NAMES.iter().any(|entry| entry.name == kind.word());
    item.arguments.as_ref().is_some_and(|given| !named || given.len() == 1)
}

/// `dense`, `compressed` and `singleton`.
fn kinds() -> String {
    let words: Vec<String> = KINDS.iter().map(|kind| format!("`{kind}`")).collect();
    match words.split_last() {
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

fn known() -> String {
    let names: Vec<&str> = NAMES.iter().map(|name| name.name).collect();
    format!(
        "formats have names ({}, bsr(4, 4)), codes of one letter a level (`DCC`: dense, compressed, singleton), or are \
        spelled `dense(i), compressed(j)`",
        names.join(", ")
    )
}

impl<'t, N: AsRef<str>> Parser<'t, '_, N> {
    fn items(&mut self) -> Result<Vec<Item<'t>>> {
        let mut items = Vec::new();
        loop {
            let (word, span) = self.word("a format or a level", &known)?;
            let mut item = Item { word, whole: span.clone(), span, arguments: None };
            if self.take('(') {
                item.arguments = Some(self.arguments(&item)?);
                item.whole.end = self.tokens[self.at - 1].1.end;
            }
            items.push(item);
            if self.at == self.tokens.len() {
                return Ok(items);
            }
            if !self.take(',') {
                let span = self.tokens[self.at].1.clone();
                return fail(span, "levels are separated by commas", "expected `,`", "");
            }
        }
    }

    fn arguments(&mut self, item: &Item) -> Result<Vec<Argument<'t>>> {
        let mut arguments = Vec::new();
        loop {
            let argument = self.argument();
            if argument.tokens.is_empty() {
                let hint = format!("such as `{}({})`", item.word, self.list());
                return fail(self.next_span(), "a dimension is missing here", "missing", hint);
            }
            arguments.push(argument);
            if self.take(')') {
                return Ok(arguments);
            }
            if !self.take(',') {
                let span = self.next_span();
                return fail(span, "this parenthesis is not closed", "expected `)`", "");
            }
        }
    }

    /// The tokens up to a comma or a closing parenthesis.
    fn argument(&mut self) -> Argument<'t> {
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
        let tokens = self.tokens[first..self.at].to_vec();
        let start = tokens.first().map_or(0, |(_, span)| span.start);
        let end = tokens.last().map_or(0, |(_, span)| span.end);
        Argument { tokens, span: start..end }
    }

    fn word(&mut self, what: &str, hint: &dyn Fn() -> String) -> Result<(&'t str, Range<usize>)> {
        match self.tokens.get(self.at).cloned() {
            Some((Token::Word(word), span)) => {
                self.at += 1;
                Ok((word, span))
            }
            _ => fail(self.next_span(), format!("{what} is missing here"), "missing", hint()),
        }
    }

    fn take(&mut self, mark: char) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|(token, _)| *token == Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    fn next_span(&self) -> Range<usize> {
        let end = self.text.len();
        self.tokens.get(self.at).map_or(end..end, |(_, span)| span.clone())
    }

    fn list(&self) -> String {
        list(self.names)
    }

    /// `csr`, `DCC`, `coo(j, i)`.
    fn named(&self, item: &Item) -> Result<Format> {
        let rank = self.names.len();
        let lower = item.word.to_ascii_lowercase();
        if ["bsr", "bcsr"].contains(&lower.as_str()) {
            return self.blocks(item);
        }
        let code = levels_of_code(item.word);
        let fits = |entry: &&FormatName| entry.rank.is_none_or(|needed| needed == rank);
        let is_code = code.as_ref().is_some_and(|levels| levels.len() == rank);
        let entry = NAMES.iter().find(|entry| entry.name == lower);
        let entry = entry.filter(|entry| fits(entry) || !is_code);
        let format = match entry {
            Some(entry) => self.of_name(entry, item)?,
            None => self.of_code(code, item)?,
        };
        let Some(arguments) = &item.arguments else { return Ok(format) };
        let order = self.order(arguments, item)?;
        if order.is_sorted() {
            return Ok(format);
        }
        if entry.is_some_and(|entry| entry.rank.is_some()) {
            return fail(
                item.whole.clone(),
                format!("`{lower}` has an order of its own"),
                "another order",
                "`csc` is `csr` with columns first; codes take any order: `DC(j, i)`",
            );
        }
        let permuted = format.with_order(order);
        permuted.or_else(|error| self.refused(error, &|_| item.span.clone()))
    }

    /// `bsr(4, 4)`: dense blocks in rows of blocks.
    fn blocks(&self, item: &Item) -> Result<Format> {
        let [i, j] = self.names else {
            return fail(
                item.span.clone(),
                format!(
                    "`{}` stores matrices, this tensor has rank {}",
                    item.word,
                    self.names.len()
                ),
                "another rank",
                "blocks of other tensors are spelled: `dense(i / 4), compressed(j / 4), .., dense(i % 4), ..`",
            );
        };
        let number = |argument: &Argument| self.text[argument.span.clone()].parse::<u64>().ok();
        let sizes: Vec<u64> =
            item.arguments.iter().flatten().filter_map(number).filter(|size| *size > 0).collect();
        let given = item.arguments.as_ref().map_or(0, Vec::len);
        let &[height, width] = sizes.as_slice() else {
            let message = format!("`{}` needs the height and the width of its blocks", item.word);
            return fail(item.whole.clone(), message, "no blocks", "such as `bsr(4, 4)`");
        };
        if given != 2 || height == 1 || width == 1 {
            let message = format!("`{}` has blocks of at least 2 x 2 elements", item.word);
            return fail(item.whole.clone(), message, "other blocks", "such as `bsr(4, 4)`");
        }
        let (i, j) = (i.as_ref(), j.as_ref());
        let text = format!(
            "dense({i} / {height}), compressed({j} / {width}), dense({i} % {height}), dense({j} % {width})"
        );
        parse(&text, self.names).map_err(|error| FormatError { span: item.whole.clone(), ..error })
    }

    fn of_name(&self, entry: &FormatName, item: &Item) -> Result<Format> {
        let rank = self.names.len();
        Format::named(entry.name, rank).map_or_else(
            || {
                let (name, needed) = (entry.name, entry.rank.unwrap_or_default());
                fail(
                    item.span.clone(),
                    format!("`{name}` stores tensors of rank {needed}, this one has rank {rank}"),
                    "another rank",
                    "`csf`, `coo` and codes such as `DCC` are for any rank",
                )
            },
            Ok,
        )
    }

    fn of_code(&self, code: Option<Vec<Level>>, item: &Item) -> Result<Format> {
        let (rank, span) = (self.names.len(), item.span.clone());
        let Some(levels) = code else {
            let names = NAMES.iter().map(|entry| entry.name);
            let lower = item.word.to_ascii_lowercase();
            let close = similar(&lower, names.chain(KINDS.iter().map(|kind| kind.word())));
            let hint = close.map_or_else(known, |close| format!("did you mean `{close}`?"));
            return fail(span, format!("there is no format `{}`", item.word), "unknown", hint);
        };
        if levels.len() != rank {
            let (word, count) = (item.word, levels.len());
            let message = format!(
                "`{word}` has {}, but the tensor has rank {rank}",
                dastac_elements::count(count, "level")
            );
            let hint =
                "one letter for each dimension: D, C and S for dense, compressed and singleton";
            return fail(span, message, "another rank", hint);
        }
        let format = Format::new(levels, (0..rank).collect());
        format.or_else(|error| self.refused(error, &|_| item.span.clone()))
    }

    /// Each dimension once.
    fn order(&self, given: &[Argument], item: &Item) -> Result<Vec<usize>> {
        let mut order = Vec::new();
        let hint = || format!("there is one level for each of {}", self.list());
        for argument in given {
            let Some(dimension) = self.expression(argument)?.as_dimension() else {
                let message = "an order is one of dimensions";
                return fail(argument.span.clone(), message, "not a dimension", self.list());
            };
            if order.contains(&dimension) {
                let message = format!("`{}` is stored twice", self.names[dimension].as_ref());
                return fail(argument.span.clone(), message, "again", hint());
            }
            order.push(dimension);
        }
        match (0..self.names.len()).find(|dimension| !order.contains(dimension)) {
            None => Ok(order),
            Some(missing) => {
                let message = format!("no level stores `{}`", self.names[missing].as_ref());
                fail(item.whole.clone(), message, "not all dimensions", hint())
            }
        }
    }

    /// `dense(i), compressed(j)`.
    fn spelled(&self, items: &[Item]) -> Result<Format> {
        let (mut levels, mut exprs) = (Vec::new(), Vec::new());
        for item in items {
            let (level, expr) = self.level(item)?;
            levels.push(level);
            exprs.push(expr);
        }
        let whole = 0..self.text.trim_end().len();
        let span = |level: usize| items.get(level).map_or(whole.clone(), |item| item.whole.clone());
        let map = IndexMap::new(self.names.len(), exprs.clone());
        let error = match map {
            Ok(map) => match Format::with_map(levels, map) {
                Ok(format) => return Ok(format),
                Err(error) => error,
            },
            Err(error) => {
                let dimension = error.dimension;
                let twice = |at: &usize| exprs[..*at].contains(&exprs[*at]);
                match (0..exprs.len()).find(twice) {
                    Some(level) => Impossible { level, reason: Reason::Repeated },
                    None => {
                        Impossible { level: items.len(), reason: Reason::Missing { dimension } }
                    }
                }
            }
        };
        let expression = |level: usize| match (error.reason, items.get(level)) {
            (Reason::Repeated | Reason::NotDerived, Some(item)) => {
                let first = item.arguments.as_ref().and_then(|all| all.first());
                first.map_or(item.whole.clone(), |argument| argument.span.clone())
            }
            _ => span(level),
        };
        self.refused(error, &expression)
    }

    fn level(&self, item: &Item) -> Result<(Level, LevelExpr)> {
        let Some(kind) = Kind::named(item.word) else {
            let close = similar(item.word, KINDS.iter().map(|kind| kind.word()));
            let hint = match close {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("levels are {}", kinds()),
            };
            let message = format!("there is no level `{}`", item.word);
            return fail(item.span.clone(), message, "unknown", hint);
        };
        let Some([expr, words @ ..]) = item.arguments.as_deref() else {
            let first = self.names.first().map_or("i", AsRef::as_ref);
            let message = "this level does not say which dimension it stores";
            let hint = format!("such as `{kind}({first})`");
            return fail(item.span.clone(), message, "of which dimension?", hint);
        };
        let mut level = Level::of(kind);
        for argument in words {
            match argument.word() {
                Some("nonunique") => level.unique = false,
                Some("unordered") => level.ordered = false,
                Some("unique") => level.unique = true,
                Some("ordered") => level.ordered = true,
                _ => {
                    let hint =
                        "a level stores one dimension, and may be `nonunique` or `unordered`";
                    let message =
                        format!("`{}` has no meaning here", &self.text[argument.span.clone()]);
                    return fail(argument.span.clone(), message, "unknown", hint);
                }
            }
        }
        Ok((level, self.expression(expr)?))
    }

    fn expression(&self, argument: &Argument) -> Result<LevelExpr> {
        let (tokens, end) = (&argument.tokens[..], argument.span.end);
        let mut expression = Expression { names: self.names, tokens, at: 0, end };
        let value = expression.sum()?;
        match argument.tokens.get(expression.at) {
            None => Ok(value),
            Some((_, span)) => {
                let hint = "such as `j - i`, `i / 4`, `i % 4`";
                fail(span.clone(), "this is no expression of dimensions", "not expected", hint)
            }
        }
    }

    /// The word of the level that begins at a place.
    fn kind_at(&self, span: &Range<usize>) -> &str {
        let text = self.text.get(span.clone()).unwrap_or_default();
        text.split('(').next().unwrap_or_default().trim()
    }

    /// What is wrong with a format, and what to write instead.
    fn refused(&self, error: Impossible, span: &dyn Fn(usize) -> Range<usize>) -> Result<Format> {
        let span = span(error.level);
        let hint = || format!("there is one level for each of {}", self.list());
        match error.reason {
            Reason::Missing { dimension } => {
                let message = format!("no level stores `{}`", self.names[dimension].as_ref());
                let hint =
                    format!("the coordinates of the levels must tell all of {} apart", self.list());
                fail(span, message, "not all dimensions", hint)
            }
            Reason::Order => {
                fail(span, "levels that do not store every dimension once", "this level", hint())
            }
            Reason::Repeated => {
                let text = self.text.get(span.clone()).unwrap_or_default();
                fail(span.clone(), format!("`{text}` is stored twice"), "again", hint())
            }
            Reason::NotDerived => fail(
                span,
                "an offset level whose coordinate does not follow from those of the levels before it",
                "this coordinate",
                "such as `compressed(j - i), dense(i), offset(j)`",
            ),
            Reason::Fixed => fail(
                span.clone(),
                format!("a {} level is always ordered and unique", self.kind_at(&span)),
                "this level",
                "leave the word out",
            ),
            Reason::Singleton => fail(
                span,
                "a singleton behind a level that is unique",
                "this level",
                "a singleton holds one coordinate for each entry: `compressed(i, nonunique), singleton(j)`",
            ),
            Reason::NotUnique => fail(
                span,
                "a level that is not unique, with no singleton behind it",
                "this level",
                "leave `nonunique` out, or store the next dimension as a singleton",
            ),
        }
    }
}
