//! The notation of formats: what stands behind `:F` in a program, and behind `--format`.
//!
//! ```text
//! format = NAME | CODE | (NAME | CODE) "(" dimension, .. ")" | level, ..
//! level  = ("dense" | "compressed" | "singleton") "(" dimension ("," ("nonunique" | "unordered"))* ")"
//! ```
//!
//! A name or code without dimensions stores them in their own order. `csc` and `dcsc` are names for
//! matrices, and codes for tensors of rank 3 and 4. Upper and lower case are
//! the same in names of formats and codes, not in those of dimensions.

use std::ops::Range;

use dastac_stur::format::levels_of_code;

use super::{Format, FormatError, FormatName, Impossible, Kind, Level, NAMES, Reason};

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    Open,
    Close,
    Comma,
}

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
    arguments: Option<Vec<(&'t str, Range<usize>)>>,
}

type Result<T> = std::result::Result<T, FormatError>;

fn fail<T>(span: Range<usize>, message: impl Into<String>, hint: Option<String>) -> Result<T> {
    Err(FormatError { message: message.into(), span, hint })
}

/// Reads `csr`, `DCC`, `coo(k, i, j)` or `dense(i), compressed(j)` for a tensor with these dimensions.
///
/// # Errors
/// What is no format, or none of this rank.
pub fn parse(text: &str, names: &[impl AsRef<str>]) -> Result<Format> {
    let tokens = lex(text)?;
    let mut parser = Parser { text, tokens, at: 0, names };
    let items = parser.items()?;
    let spelled =
        |item: &Item| kind(item.word).is_some() && (item.arguments.is_some() || items.len() > 1);
    if let [only] = items.as_slice()
        && !(spelled(only) && parser.is_spelled(only))
    {
        return parser.named(only);
    }
    parser.spelled(&items)
}

fn lex(text: &str) -> Result<Vec<(Token<'_>, Range<usize>)>> {
    let mut tokens = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        let token = match c {
            c if c.is_whitespace() => continue,
            '(' => Token::Open,
            ')' => Token::Close,
            ',' => Token::Comma,
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
                return fail(start..start + other.len_utf8(), message, None);
            }
        };
        tokens.push((token, start..start + 1));
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

fn kind(word: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| word.eq_ignore_ascii_case(kind.word()))
}

fn known() -> String {
    let names: Vec<String> = NAMES.iter().map(|name| format!("`{}`", name.name)).collect();
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
            let (word, span) = self.word("a format or a level", known)?;
            let mut item = Item { word, span, arguments: None };
            if self.take(&Token::Open) {
                item.arguments = Some(self.arguments(&item)?);
            }
            items.push(item);
            if self.at == self.tokens.len() {
                return Ok(items);
            }
            if !self.take(&Token::Comma) {
                let span = self.tokens[self.at].1.clone();
                return fail(span, "levels are separated by commas", None);
            }
        }
    }

    fn arguments(&mut self, item: &Item) -> Result<Vec<(&'t str, Range<usize>)>> {
        let mut arguments = Vec::new();
        loop {
            let hint = format!("such as `{}({})`", item.word, self.list());
            arguments.push(self.word("a dimension", || hint)?);
            if self.take(&Token::Close) {
                return Ok(arguments);
            }
            if !self.take(&Token::Comma) {
                let span = self.next_span();
                return fail(span, "this parenthesis is not closed", None);
            }
        }
    }

    fn word(
        &mut self,
        what: &str,
        hint: impl FnOnce() -> String,
    ) -> Result<(&'t str, Range<usize>)> {
        match self.tokens.get(self.at).cloned() {
            Some((Token::Word(word), span)) => {
                self.at += 1;
                Ok((word, span))
            }
            _ => fail(self.next_span(), format!("{what} is missing here"), Some(hint())),
        }
    }

    fn take(&mut self, token: &Token<'_>) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|(found, _)| found == token);
        self.at += usize::from(found);
        found
    }

    fn next_span(&self) -> Range<usize> {
        let end = self.text.len();
        self.tokens.get(self.at).map_or(end..end, |(_, span)| span.clone())
    }

    fn list(&self) -> String {
        self.names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
    }

    /// Whether one item is a level of a vector: `dense(i)` of a matrix is the named format with an order that is too short.
    fn is_spelled(&self, item: &Item) -> bool {
        kind(item.word) != Some(Kind::Dense)
            || item.arguments.as_ref().is_some_and(|given| given.len() == 1)
    }

    fn dimension(&self, (name, span): &(&str, Range<usize>)) -> Result<usize> {
        match self.names.iter().position(|known| known.as_ref() == *name) {
            Some(dimension) => Ok(dimension),
            None => fail(
                span.clone(),
                format!("there is no dimension `{name}`"),
                Some(format!("the tensor's dimensions: {}", self.list())),
            ),
        }
    }

    /// `csr`, `DCC`, `coo(j, i)`.
    fn named(&self, item: &Item) -> Result<Format> {
        let rank = self.names.len();
        let lower = item.word.to_ascii_lowercase();
        let name = NAMES.iter().find(|entry| entry.name == lower);
        let fits = |entry: &&FormatName| entry.rank.is_none_or(|needed| needed == rank);
        let is_code = || levels_of_code(item.word).is_some_and(|levels| levels.len() == rank);
        let name = name.filter(|entry| fits(entry) || !is_code());
        let format = match name {
            Some(entry) => match Format::named(entry.name, rank) {
                Some(format) => format,
                None => {
                    let needed = entry.rank.unwrap_or_default();
                    return fail(
                        item.span.clone(),
                        format!(
                            "`{lower}` stores tensors of rank {needed}, this one has rank {rank}"
                        ),
                        Some("`csf`, `coo` and codes such as `DCC` are for any rank".into()),
                    );
                }
            },
            None => {
                let Some(levels) = levels_of_code(item.word) else {
                    return fail(
                        item.span.clone(),
                        format!("there is no format `{}`", item.word),
                        Some(known()),
                    );
                };
                if levels.len() != rank {
                    return fail(
                        item.span.clone(),
                        format!(
                            "`{}` has {} levels, but the tensor has rank {rank}",
                            item.word,
                            levels.len()
                        ),
                        None,
                    );
                }
                self.checked(levels, (0..rank).collect(), item.span.clone())?
            }
        };
        let Some(arguments) = &item.arguments else { return Ok(format) };
        let order = self.order(arguments.iter(), item.span.clone())?;
        if order == (0..rank).collect::<Vec<_>>() {
            return Ok(format);
        }
        if name.is_some_and(|entry| entry.rank.is_some()) {
            return fail(
                item.span.clone(),
                format!("`{lower}` has an order of its own"),
                Some("`csc` is `csr` with columns first; codes take any order: `DC(j, i)`".into()),
            );
        }
        self.checked(format.levels().to_vec(), order, item.span.clone())
    }

    /// `dense(i), compressed(j)`.
    fn spelled(&self, items: &[Item]) -> Result<Format> {
        let mut levels = Vec::new();
        let mut dimensions = Vec::new();
        for item in items {
            let Some(kind) = kind(item.word) else {
                return fail(
                    item.span.clone(),
                    format!("there is no level `{}`", item.word),
                    Some("levels are `dense`, `compressed` and `singleton`".into()),
                );
            };
            let Some([dimension, words @ ..]) = item.arguments.as_deref() else {
                return fail(
                    item.span.clone(),
                    "this level does not say which dimension it stores",
                    Some(format!(
                        "such as `{}({})`",
                        item.word,
                        self.names.first().map_or("i", AsRef::as_ref)
                    )),
                );
            };
            let mut level = Level { kind, ordered: true, unique: true };
            for (word, span) in words {
                match *word {
                    "nonunique" => level.unique = false,
                    "unordered" => level.ordered = false,
                    "unique" => level.unique = true,
                    "ordered" => level.ordered = true,
                    _ => {
                        let hint =
                            "a level stores one dimension, and may be `nonunique` or `unordered`";
                        let message = format!("`{word}` has no meaning here");
                        return fail(span.clone(), message, Some(hint.into()));
                    }
                }
            }
            levels.push(level);
            dimensions.push(dimension);
        }
        let order = self.order(dimensions.into_iter(), 0..self.text.len())?;
        self.checked(levels, order, 0..self.text.len())
    }

    /// Each dimension once.
    fn order<'a>(
        &self,
        given: impl Iterator<Item = &'a (&'t str, Range<usize>)>,
        whole: Range<usize>,
    ) -> Result<Vec<usize>>
    where
        't: 'a,
    {
        let mut order = Vec::new();
        for name in given {
            let dimension = self.dimension(name)?;
            if order.contains(&dimension) {
                return fail(name.1.clone(), format!("`{}` is stored twice", name.0), None);
            }
            order.push(dimension);
        }
        match (0..self.names.len()).find(|dimension| !order.contains(dimension)) {
            None => Ok(order),
            Some(missing) => fail(
                whole,
                format!("no level stores `{}`", self.names[missing].as_ref()),
                Some(format!("there is one level for each of {}", self.list())),
            ),
        }
    }

    fn checked(&self, levels: Vec<Level>, order: Vec<usize>, span: Range<usize>) -> Result<Format> {
        Format::new(levels, order).or_else(|error| {
            let (message, hint) = described(error);
            fail(span, message, hint.map(Into::into))
        })
    }
}

/// What is wrong with a format, and what to write instead.
fn described(Impossible { level, reason }: Impossible) -> (String, Option<&'static str>) {
    let level = level + 1;
    match reason {
        Reason::Order => ("the levels do not store every dimension once".into(), None),
        Reason::Dense => ("a dense level is always ordered and unique".into(), None),
        Reason::Singleton => (
            format!("level {level} is a singleton, but the one before it is unique"),
            Some(
                "a singleton holds one coordinate for each position of the level before, so that one holds a coordinate for each entry: \
                 `compressed(i, nonunique), singleton(j)`",
            ),
        ),
        Reason::NotUnique => (
            format!("level {level} is not unique, but no singleton follows it"),
            Some("leave `nonunique` out, or store the next dimension as a singleton"),
        ),
    }
}
