//! The notation of formats: what stands behind `:F` in a program, and behind `--format`.
//!
//! ```text
//! format = NAME | CODE | (NAME | CODE) "(" dimension, .. ")" | NAME "(" number, .. ")" | level, .. | KIND, ..
//! level  = KIND "(" expression ("," ("nonunique" | "unordered" | "u8" | "u16"))* ")"
//! ```
//!
//! An expression is a quasi-affine one of dimensions: `i`, `j - i`, `i / 4`, `i % 4`, `(i + 2 * j) / 8`; `/` rounds
//! down. It may have functions that are computed from entries, such as `enumerate(i; j)`. A name or code without
//! dimensions stores them in their own order, and so do the kinds of as many levels as there are dimensions: `dense,
//! compressed`, or `compressed` for a vector. `csc` and `dcsc` are names for matrices, and codes for tensors of rank 3
//! and 4. Upper and lower case are the same in names of formats and codes, not in those of dimensions.

mod definition;
mod expression;
mod hybrid;
mod indirect;
mod lex;
mod query;
mod reader;

use std::ops::Range;

use super::{Definition, Definitions, Format, FormatError, Impossible, IndexMap, KINDS, Kind};
use super::{Level, LevelExpr, NotOne, Reason, Width, levels_of_code};
use crate::hint::similar;
pub use definition::definition;
pub(super) use definition::{at, instance};
use expression::{Expression, Scope, list};
pub use hybrid::{hybrid, is_hybrid};
use lex::{Result, Token, fail, lex};
pub use query::query;

struct Parser<'t, 'n, N> {
    text: &'t str,
    tokens: Vec<(Token<'t>, Range<usize>)>,
    at: usize,
    names: &'n [N],
    definitions: &'n Definitions,
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
    parse_with(text, names, &Definitions::default())
}

/// As [`parse`], with formats that are defined elsewhere.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(
    text: &str,
    names: &[impl AsRef<str>],
    definitions: &Definitions,
) -> Result<Format> {
    let tokens = lex(text)?;
    let mut parser = Parser { text, tokens, at: 0, names, definitions };
    let items = parser.items()?;
    if let Some(kinds) = parser.kinds_in_order(&items) {
        let format = Format::new(kinds, (0..names.len()).collect());
        return format.or_else(|error| parser.refused(error, &|at| items[at].span.clone()));
    }
    if let [only] = items.as_slice()
        && !is_level(only, definitions)
    {
        return parser.named(only);
    }
    parser.spelled(&items)
}

/// Whether a text leaves the choice of a format to whoever has the entries: `auto`.
pub fn is_automatic(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("auto")
}

/// Whether one item alone is a level of a vector: `dense(i, j)` is the named format with an order, `dense` too.
fn is_level(item: &Item, definitions: &Definitions) -> bool {
    let Some(kind) = Kind::named(item.word) else { return false };
    let named = definitions.find(kind.word()).is_some();
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

/// `u8`, `u16`.
fn width(word: &str) -> Option<Width> {
    Width::ALL.into_iter().find(|width| width.word() == word)
}

/// What sparse tensors are usually stored in.
fn usual(rank: usize) -> &'static str {
    match rank {
        0 | 1 => {
            "a vector's elements that are not zero are stored by `compressed`, or as a list by `coo`"
        }
        2 => "usual are `csr` (row by row), `csc` (column by column) and `coo` (a list of entries)",
        _ => "usual are `csf` (a tree of fibers) and `coo` (a list of entries)",
    }
}

fn known(definitions: &Definitions) -> String {
    let names: Vec<String> = definitions.iter().map(Definition::head).collect();
    format!(
        "formats have names ({}), codes of one letter a level (`DCC`: dense, compressed, singleton), or are spelled \
        `dense(i), compressed(j)`",
        names.join(", ")
    )
}

impl<'t, N: AsRef<str>> Parser<'t, '_, N> {
    fn items(&mut self) -> Result<Vec<Item<'t>>> {
        let mut items = Vec::new();
        loop {
            let (word, span) = self.word("a format or a level", &|| known(self.definitions))?;
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

    /// The levels of `dense, compressed`, one for each dimension in their order; not those of a name such as `dense`.
    fn kinds_in_order(&self, items: &[Item]) -> Option<Vec<Level>> {
        let alone = |item: &Item| match items {
            [_] => self.definitions.find(item.word).is_none(),
            _ => true,
        };
        let level = |item: &Item| {
            let kind = Kind::named(item.word).filter(|_| item.arguments.is_none() && alone(item));
            kind.map(Level::of)
        };
        let levels: Option<Vec<Level>> = items.iter().map(level).collect();
        levels.filter(|levels| levels.len() == self.names.len())
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
        let code = levels_of_code(item.word);
        let fits = |found: &&Definition| found.rank().is_none_or(|needed| needed == rank);
        let is_code = code.as_ref().is_some_and(|levels| levels.len() == rank);
        let found = self.definitions.find(&lower);
        let found = found.filter(|found| fits(found) || !is_code);
        let format = match found {
            Some(found) if !found.parameters.is_empty() => return self.with_numbers(found, item),
            Some(found) => self.of_name(found, &[], item)?,
            None => self.of_code(code, item)?,
        };
        let Some(arguments) = &item.arguments else { return Ok(format) };
        let order = self.order(arguments, item)?;
        if order.is_sorted() {
            return Ok(format);
        }
        if found.is_some_and(|found| found.rank().is_some()) {
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

    /// `bcsr(4, 4)`: a format with parameters.
    fn with_numbers(&self, found: &Definition, item: &Item) -> Result<Format> {
        let needed = found.parameters.len();
        let given = item.arguments.as_deref().unwrap_or_default();
        let example = vec!["4"; needed].join(", ");
        let hint = format!("such as `{}({example})`, of `{}`", found.name, found.head());
        if given.len() != needed {
            let numbers = dastac_elements::count(needed, "number");
            let message =
                format!("`{}` needs {numbers}: {}", found.name, found.parameters.join(", "));
            return fail(item.whole.clone(), message, "its parameters", hint);
        }
        let mut numbers = Vec::new();
        for argument in given {
            match argument.word().and_then(|word| word.parse::<i64>().ok()) {
                Some(number) if number > 0 => numbers.push(number),
                _ => {
                    let message = "a parameter of a format is a positive number";
                    return fail(argument.span.clone(), message, "not a positive number", hint);
                }
            }
        }
        self.of_name(found, &numbers, item)
    }

    fn of_name(&self, found: &Definition, numbers: &[i64], item: &Item) -> Result<Format> {
        let rank = self.names.len();
        if let Some(needed) = found.rank().filter(|needed| *needed != rank) {
            let name = &found.name;
            return fail(
                item.span.clone(),
                format!("`{name}` stores tensors of rank {needed}, this one has rank {rank}"),
                "another rank",
                "`csf`, `coo`, `hicoo(4)` and codes such as `DCC` are for any rank",
            );
        }
        // What is wrong with these numbers is said where they are given.
        instance(found, numbers, rank).map_err(|error| FormatError {
            message: format!("`{}` with these numbers: {}", found.name, error.message),
            span: item.whole.clone(),
            label: "this format",
            ..error
        })
    }

    fn of_code(&self, code: Option<Vec<Level>>, item: &Item) -> Result<Format> {
        let (rank, span) = (self.names.len(), item.span.clone());
        let Some(levels) = code else {
            let names = self.definitions.iter().map(|found| found.name.as_str());
            let lower = item.word.to_ascii_lowercase();
            let close = similar(&lower, names.chain(KINDS.iter().map(|kind| kind.word())));
            let known = || known(self.definitions);
            let hint = match close {
                _ if ["sparse", "compressed"].contains(&&lower[..]) => usual(rank).into(),
                Some(close) => format!("did you mean `{close}`?"),
                None => known(),
            };
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
        let scope = Scope::dimensions(self.names);
        for argument in given {
            let dimension = self.expression(argument, &scope)?.as_dimension();
            let Some(dimension) = dimension.filter(|at| *at < self.names.len()) else {
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
        let scope = Scope::dimensions(self.names);
        for item in items {
            let (level, expr) = self.level(item, &scope)?;
            levels.push(level);
            exprs.push(expr);
        }
        let whole = 0..self.text.trim_end().len();
        let span = |level: usize| items.get(level).map_or(whole.clone(), |item| item.whole.clone());
        let functions = scope.functions.take();
        let indirect = !functions.is_empty();
        let map = IndexMap::with_functions(self.names.len(), exprs.clone(), functions);
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
            (Reason::Repeated | Reason::NotDerived | Reason::Several, Some(item)) => {
                let first = item.arguments.as_ref().and_then(|all| all.first());
                first.map_or(item.whole.clone(), |argument| argument.span.clone())
            }
            _ => span(level),
        };
        let stored = NotOne { rank: self.names.len(), levels: exprs, dimension: 0 };
        self.refused(error, &expression).map_err(|refused| match error.reason {
            Reason::Missing { dimension } if !indirect => {
                FormatError { map: Some(NotOne { dimension, ..stored }), ..refused }
            }
            _ => refused,
        })
    }

    fn level(&self, item: &Item, scope: &Scope<'_, N>) -> Result<(Level, LevelExpr)> {
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
                Some(word) if let Some(width) = width(word) => level.width = Some(width),
                _ => {
                    let hint = "a level stores one dimension, and may be `nonunique` or `unordered`, and `u8` or `u16`";
                    let message =
                        format!("`{}` has no meaning here", &self.text[argument.span.clone()]);
                    return fail(argument.span.clone(), message, "unknown", hint);
                }
            }
        }
        Ok((level, self.expression(expr, scope)?))
    }

    fn expression(&self, argument: &Argument, scope: &Scope<'_, N>) -> Result<LevelExpr> {
        let (tokens, end) = (&argument.tokens[..], argument.span.end);
        let mut expression = Expression { scope, tokens, at: 0, end };
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
                let name = self.names.get(dimension).map_or("a function", AsRef::as_ref);
                let message = format!("no level stores `{name}`");
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
            Reason::Several => fail(
                span,
                "a padded level that may have several coordinates below a position",
                "this coordinate",
                "such as `ragged(enumerate(i; j)), dense(i), padded(j)`",
            ),
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
            Reason::Width => fail(
                span.clone(),
                format!("a {} level stores no coordinates", self.kind_at(&span)),
                "this level",
                "leave the width out",
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
