//! Functions that are computed from entries, as they are read.
//!
//! ```text
//! function = "enumerate" "(" expression, .. ";" expression ")"
//!          | "balance" "(" "count" "(" expression ")" "," number ["," order] ")"
//!          | "reorder" "(" aggregate "(" expression ")" "," order ["," number] ")"
//! order    = "ascending" | "descending"
//! ```

use std::ops::Range;

use super::super::indirect::Direction;
use super::super::{Aggregate, Indirect, LevelExpr};
use super::expression::Expression;
use super::lex::{Result, Token, fail};

const SHAPE: &str =
    "functions are `enumerate(i; j)`, `balance(count(i), 8)` and `reorder(count(i), descending)`";

impl<'t, N: AsRef<str>> Expression<'_, 't, N> {
    /// A function, whose name was read.
    pub(super) fn function(&mut self, word: &str, span: Range<usize>) -> Result<LevelExpr> {
        let first = self.at - 1;
        self.expect('(')?;
        let function = match word {
            "enumerate" => {
                let mut group = vec![self.sum()?];
                while self.take(&[',']).is_some() {
                    group.push(self.sum()?);
                }
                self.expect(';')?;
                Indirect::Enumerate { group, along: self.sum()? }
            }
            "balance" => {
                let by = self.next();
                let (aggregate, rows) = self.query()?;
                if aggregate != Aggregate::Count {
                    return fail(by, "rows are balanced by their counts", "not `count`", SHAPE);
                }
                self.expect(',')?;
                let buckets = self.number()?;
                let order = self.take(&[',']).map(|_| self.direction()).transpose()?;
                Indirect::Balance { rows, buckets, order }
            }
            "reorder" => {
                let (by, rows) = self.query()?;
                self.expect(',')?;
                let direction = self.direction()?;
                let window = self.take(&[',']).map(|_| self.number()).transpose()?;
                Indirect::Reorder { rows, by, direction, window }
            }
            _ => return fail(span, format!("there is no function `{word}`"), "unknown", SHAPE),
        };
        self.expect(')')?;
        let rank = self.scope.names.len();
        let nested = |expr: &&LevelExpr| expr.dimensions().iter().any(|at| *at >= rank);
        if function.inputs().iter().any(nested) {
            let whole = self.tokens[first].1.start..self.tokens[self.at - 1].1.end;
            return fail(whole, "a function of a function", "this one", SHAPE);
        }
        let mut known = self.scope.functions.borrow_mut();
        let at = known.iter().position(|other| *other == function).unwrap_or_else(|| {
            known.push(function);
            known.len() - 1
        });
        Ok(LevelExpr::dimension(rank + at))
    }

    /// `count(i)`.
    fn query(&mut self) -> Result<(Aggregate, LevelExpr)> {
        let (word, span) = self.word()?;
        let Some(aggregate) = Aggregate::ALL.into_iter().find(|known| known.word() == word) else {
            let hint = "such as `count(i)`; others are `max`, `min`, `sum` and `any`";
            return fail(span, format!("`{word}` cannot be asked"), "unknown", hint);
        };
        self.expect('(')?;
        let rows = self.sum()?;
        self.expect(')')?;
        Ok((aggregate, rows))
    }

    fn direction(&mut self) -> Result<Direction> {
        let (word, span) = self.word()?;
        match Direction::ALL.into_iter().find(|known| known.word() == word) {
            Some(direction) => Ok(direction),
            None => fail(
                span,
                format!("there is no order `{word}`"),
                "unknown",
                "orders are `ascending` and `descending`",
            ),
        }
    }

    /// A positive number.
    fn number(&mut self) -> Result<i64> {
        let span = self.next();
        match self.sum()?.as_constant().filter(|number| *number > 0) {
            Some(number) => Ok(number),
            None => fail(span, "this is no positive number", "not a positive number", SHAPE),
        }
    }

    fn word(&mut self) -> Result<(&'t str, Range<usize>)> {
        match self.tokens.get(self.at).cloned() {
            Some((Token::Word(word), span)) => {
                self.at += 1;
                Ok((word, span))
            }
            _ => fail(self.next(), "a word is missing here", "missing", SHAPE),
        }
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        match self.take(&[mark]) {
            Some(_) => Ok(()),
            None => fail(self.next(), format!("`{mark}` is missing here"), "missing", SHAPE),
        }
    }
}
