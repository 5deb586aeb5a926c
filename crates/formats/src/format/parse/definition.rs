//! Definitions of formats, as they are read and as they are used.
//!
//! ```text
//! definition = "format" NAME ["(" parameter, .. ")"] ":=" "(" dimension, .. ")" "->" "(" expression, .. ")" primitive*
//! primitive  = ("merge" | "split") "(" level, .. ")" | ("trim" | "fill") "(" level "," level ")"
//!            | "width" "(" level "," bits ")"
//! ```
//!
//! `(..)` in place of dimensions stands for those of any tensor, and an expression with `..` for one of each dimension.
//! `(..)` behind a primitive stands for all levels. Levels are counted from 0; in their numbers `rank` is the number of
//! dimensions.

use super::super::definition::{Action, Definition, Mutation, Primitive, format_of};
use super::super::{Format, FormatError, Width};
use super::expression::Scope;
use super::lex::{Result, Token, fail, lex_definition, moved};
use super::reader::{Reader, read, tokens_of};

const SHAPE: &str =
    "such as `format bcsr(r, c) := (i, j) -> (i / r, j / c, i % r, j % c) merge(0, 1) trim(1, 1)`";

/// Reads one definition.
///
/// # Errors
/// What is none.
pub fn definition(text: &str) -> Result<Definition> {
    let tokens = lex_definition(text)?;
    let mut reader = Reader::new(&tokens, text, SHAPE);
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
    let mut scope = Scope { numbers: known.collect(), ..Scope::dimensions(&names) };
    let mut exprs = Vec::new();
    for span in &definition.exprs {
        let tokens = tokens_of(&definition.text, span)?;
        let every = tokens.iter().any(|(token, _)| *token == Token::Word(".."));
        let each = if every { (0..rank).map(Some).collect() } else { vec![None] };
        for each in each {
            scope.each = each;
            exprs.push(read(&tokens, &scope, span)?);
        }
    }
    let functions = scope.functions.take();
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
                Action::Width => mutation.width = width_of(definition, primitive, &scope)?,
            }
        }
    }
    let first = definition.exprs.first().map_or(0, |span| span.start);
    let last = definition.exprs.last().map_or(definition.text.len(), |span| span.end);
    format_of((rank, functions), &exprs, &mutations, first..last)
}

/// The levels that a primitive is about.
fn levels_of(
    definition: &Definition,
    primitive: &Primitive,
    scope: &Scope<'_, String>,
    count: usize,
) -> Result<Vec<usize>> {
    let spans = match (primitive.action, primitive.levels.as_deref()) {
        (Action::Width, Some([level, _])) => std::slice::from_ref(level),
        (Action::Width, _) => {
            let message = "`width` needs a level and how many bits its coordinates have";
            let hint = "such as `width(1, 16)`";
            return fail(primitive.span.clone(), message, "not two numbers", hint);
        }
        (_, Some(spans)) => spans,
        (_, None) => return Ok((0..count).collect()),
    };
    let mut levels = Vec::new();
    for span in spans {
        let number = read(&tokens_of(&definition.text, span)?, scope, span)?.as_constant();
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

/// How many bits the coordinates of a level have: 8 or 16, or 32, which all have that fit.
fn width_of(
    definition: &Definition,
    primitive: &Primitive,
    scope: &Scope<'_, String>,
) -> Result<Option<Width>> {
    let Some([_, span]) = primitive.levels.as_deref() else { return Ok(None) };
    let bits = read(&tokens_of(&definition.text, span)?, scope, span)?.as_constant();
    let found = Width::ALL.into_iter().find(|width| Some(8 * width.bytes().cast_signed()) == bits);
    match found {
        None if bits != Some(32) => {
            let message = "coordinates have 8, 16 or 32 bits";
            let hint = "those that do not fit into 32 bits get 64";
            fail(span.clone(), message, "not a width", hint)
        }
        width => Ok(width),
    }
}

impl Reader<'_, '_> {
    fn definition(&mut self, text: &str) -> Result<Definition> {
        self.word("format")?;
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
        while !self.is_done() {
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
        let hint = "primitives are `merge`, `split`, `trim`, `fill` and `width`";
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
}

/// A definition that is wrong, in a text around it.
pub(crate) fn at(start: usize, error: FormatError) -> FormatError {
    moved(error, start)
}
