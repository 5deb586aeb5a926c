//! Queries as they are read.
//!
//! ```text
//! query = ("count" | "max" | "min" | "sum" | "any") "(" dimension, .. ")" "->" "(" [expression, ..] ")"
//! ```

use super::super::query::{Aggregate, Query};
use super::expression::Scope;
use super::lex::{Result, fail, lex_definition};
use super::reader::{Reader, read, tokens_of};

const SHAPE: &str =
    "such as `count (i, j) -> (i / 50, j - i)`; others are `max`, `min`, `sum` and `any`";

/// Reads a query of tensors of a rank.
///
/// # Errors
/// What is none, or one of another rank.
pub fn query(text: &str, rank: usize) -> Result<Query> {
    let tokens = lex_definition(text)?;
    let mut reader = Reader::new(&tokens, text, SHAPE);
    let (word, span) = reader.name("what is asked")?;
    let Some(aggregate) = Aggregate::ALL.into_iter().find(|known| known.word() == word) else {
        return fail(span, format!("`{word}` cannot be asked"), "unknown", SHAPE);
    };
    let first = reader.next().start;
    reader.marks(&['('], "a list of dimensions, as `(i, j)`,")?;
    let names = match reader.take(')') {
        true => Vec::new(),
        false => reader.names("a dimension")?,
    };
    let dimensions = first..reader.last();
    reader.distinct(names.iter(), text)?;
    if names.len() != rank {
        let named = dastac_elements::count(names.len(), "dimension");
        let message = format!("the query has {named}, the tensor has rank {rank}");
        return fail(dimensions, message, "another rank", "one name for each dimension");
    }
    reader.marks(&['-', '>'], "`->`")?;
    reader.marks(&['('], "a list of expressions, as `(i / 50, j - i)`,")?;
    let spans = match reader.take(')') {
        true => Vec::new(),
        false => reader.parts("an expression of the dimensions")?,
    };
    if !reader.is_done() {
        return fail(reader.next(), "the query ends before this", "not expected", SHAPE);
    }
    let scope = Scope::dimensions(&names);
    let groups = spans.iter().map(|span| read(&tokens_of(text, span)?, &scope, span));
    let groups = groups.collect::<Result<_>>()?;
    if !scope.functions.borrow().is_empty() {
        let hint = "groups are sums of multiples, quotients and remainders of dimensions";
        return fail(0..text.trim_end().len(), "a group that is computed", "in this query", hint);
    }
    Ok(Query { aggregate, names, groups })
}
