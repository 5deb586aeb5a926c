//! Answers as text, for workers and for the cache: one line a piece, its condition in isl's notation, a tabulator, and
//! the terms of its value as numbers: how many terms; for each its coefficient, how many factors; for each an exponent
//! and `p NAME` or `f EXPRESSION`.
//!
//! `p0 > 0 <tab> 1 1/2 2 1 p p0 2 f 1 1 i0 1 0 3` is `1/2 * p0 * floor((i0 + 1)/3)^2` where `p0 > 0`.

use super::question::{Answer, Piece};
use crate::{Atom, Floor, LinearExpr, Ratio, Term};
use std::fmt::Write;
use std::str::SplitAsciiWhitespace;

/// Floors in floors: more than any domain has, and few enough for the stack.
const MAX_DEPTH: usize = 64;

impl Answer {
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            // Writing to a string does not fail.
            let _ = write!(text, "{}\t{}", piece.condition, piece.value.len());
            for term in &piece.value {
                let _ = write!(text, " {} {}", term.coefficient, term.factors.len());
                for (atom, exponent) in &term.factors {
                    let _ = write!(text, " {exponent} ");
                    match atom {
                        Atom::Param(name) => {
                            let _ = write!(text, "p {name}");
                        }
                        // Answers are over parameters.
                        Atom::Dim(pos) => {
                            let _ = write!(text, "d {pos}");
                        }
                        Atom::Floor(inner) => {
                            text.push_str("f ");
                            write_expr(&mut text, inner);
                        }
                    }
                }
            }
            text.push('\n');
        }
        text
    }

    /// `None` if this is no answer's text.
    pub(super) fn from_text(text: &str) -> Option<Answer> {
        text.lines().map(piece).collect::<Option<_>>().map(Answer)
    }
}

fn write_expr(text: &mut String, expr: &LinearExpr) {
    let _ = write!(text, "{} {}", expr.constant, expr.params.len());
    for (name, coefficient) in &expr.params {
        let _ = write!(text, " {name} {coefficient}");
    }
    let _ = write!(text, " {}", expr.floors.len());
    for (coefficient, floor) in &expr.floors {
        let _ = write!(text, " {coefficient} {} ", floor.denominator);
        write_expr(text, &floor.numerator);
    }
    let _ = write!(text, " {}", expr.denominator);
}

fn piece(line: &str) -> Option<Piece> {
    let (condition, value) = line.split_once('\t')?;
    let mut words = value.split_ascii_whitespace();
    let value = list(&mut words, |words| {
        let coefficient: Ratio<i128> = words.next()?.parse().ok()?;
        let factors = list(words, |words| {
            let exponent: u32 = words.next()?.parse().ok()?;
            let atom = match words.next()? {
                "p" => Atom::Param(words.next()?.to_owned()),
                "f" => Atom::Floor(Box::new(read_expr(words, 0)?)),
                _ => return None,
            };
            Some((atom, exponent))
        })?;
        Some(Term { coefficient, factors })
    })?;
    words.next().is_none().then(|| Piece { condition: condition.to_owned(), value })
}

/// A number, and as many items.
fn list<'t, T>(
    words: &mut SplitAsciiWhitespace<'t>,
    item: impl Fn(&mut SplitAsciiWhitespace<'t>) -> Option<T>,
) -> Option<Vec<T>> {
    let count: usize = words.next()?.parse().ok()?;
    (0..count).map(|_| item(words)).collect()
}

fn read_expr(words: &mut SplitAsciiWhitespace<'_>, depth: usize) -> Option<LinearExpr> {
    if depth > MAX_DEPTH {
        return None;
    }
    let constant = words.next()?.parse().ok()?;
    let params = list(words, |words| {
        let name = words.next()?.to_owned();
        Some((name, words.next()?.parse().ok()?))
    })?;
    let floors = list(words, |words| {
        let coefficient = words.next()?.parse().ok()?;
        let denominator = words.next()?.parse().ok().filter(|denominator| *denominator > 0)?;
        let numerator = Box::new(read_expr(words, depth + 1)?);
        Some((coefficient, Floor { numerator, denominator }))
    })?;
    let denominator = words.next()?.parse().ok().filter(|denominator| *denominator > 0)?;
    Some(LinearExpr { constant, params, dims: Vec::new(), floors, denominator })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::faulhaber::Budget;
    use crate::counting::question::Question;
    use crate::{Context, Set};

    #[test]
    fn answers_round_trip() {
        let context = Context::new().unwrap();
        for text in [
            "{ [i] : 1 = 0 }",
            "[N] -> { [i, j] : 0 <= i <= j <= N and (i + j) mod 3 = 1 }",
            "[N, M] -> { [i] : 0 <= 3i <= N + 2 * floor((N + floor(M/3))/5) or 0 <= i <= M }",
        ] {
            let question = Question::of_set(&Set::parse(&context, text).unwrap()).unwrap();
            let mut budget = Budget::new(1000, None);
            let answer = crate::counting::sum_up(&context, &question, &mut budget).unwrap();
            let text = answer.to_text();
            assert_eq!(Answer::from_text(&text), Some(answer), "{text}");
        }
    }

    #[test]
    fn other_text_is_no_answer() {
        for text in [
            "x",
            "\t",
            "\t1",
            "\t1 1/0 0",
            "\t1 1 1 1 q",
            "\t0 0",
            "\t99999999999 1",
            "\t1 1 1 1 f 0 0 1 1 0 0 0 1 1",
            "\t1 1 1 1 p",
            "\u{0}",
        ] {
            assert_eq!(Answer::from_text(text), None, "{text:?}");
        }
        let deep = format!("\t1 1 1 1 f {}", "0 0 1 1 2 ".repeat(100_000));
        assert_eq!(Answer::from_text(&deep), None);
        assert_eq!(Answer::from_text(""), Some(Answer::default()));
    }
}
