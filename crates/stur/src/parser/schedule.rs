//! `schedule:`: `A -> reorder(i, k, j), tile(k, 64), unroll(i=4, j=3)`.

use super::{Parser, Result, error, with_hint};
use crate::ast::{Directive, GroupItem, Name, ScheduleItem, SchedulePart, Span};
use crate::hint;
use crate::lexer::TokenKind;

const DIRECTIVES: &str = "directives are `reorder(i, k, j)`, `tile(i=64)`, `unroll(i=4)`, `vectorize(j)`, \
    `parallel(i)`, `contract((A, B), C)`, `workspace(hash, 4096)` and `expand(A)`";

/// Groups within groups, which a product of few factors does not need.
const MAX_DEPTH: usize = 64;

impl Parser<'_> {
    pub(super) fn schedule_item(&mut self) -> Result<ScheduleItem> {
        let head = self.name("the name of a tensor")?;
        self.expect("->")?;
        let mut parts = vec![self.schedule_part()?];
        while self.eat(",") {
            parts.push(self.schedule_part()?);
        }
        Ok(ScheduleItem { head, parts })
    }

    fn schedule_part(&mut self) -> Result<SchedulePart> {
        let word = self.name("a directive such as `tile(i=64)`")?;
        let known = Directive::ALL.into_iter().find(|directive| directive.word() == word.text);
        let Some(directive) = known else {
            let message = format!("`{}` is not a directive of a schedule", word.text);
            let error = error("E0003", message, word.span, "unknown");
            let words = Directive::ALL.map(Directive::word);
            return Err(match hint::similar(&word.text, words) {
                Some(close) => with_hint(error, format!("did you mean `{close}`?")),
                None => with_hint(error, DIRECTIVES),
            });
        };
        self.expect("(")?;
        if directive.has_groups() {
            let groups = match directive {
                Directive::Workspace => self.words("a kind of workspace or a capacity")?,
                Directive::Expand => self.words("a tensor, or `none`")?,
                _ => self.groups(0)?,
            };
            let span = word.span.to(self.previous());
            return Ok(SchedulePart { directive, loops: Vec::new(), groups, span });
        }
        let mut loops = vec![self.scheduled_loop(directive)?];
        while self.eat(",") {
            loops.push(self.scheduled_loop(directive)?);
        }
        self.expect(")")?;
        let span = word.span.to(self.previous());
        Ok(SchedulePart { directive, loops, groups: Vec::new(), span })
    }

    /// `hash, 4096)`: words and numbers, with the parenthesis that closes them.
    fn words(&mut self, what: &str) -> Result<Vec<GroupItem>> {
        let mut words = Vec::new();
        loop {
            let start = self.span();
            words.push(match self.peek().map(|token| token.kind.clone()) {
                Some(TokenKind::Number(text)) => {
                    self.at += 1;
                    GroupItem::Factor(Name { text, span: start })
                }
                _ => GroupItem::Factor(self.name(what)?),
            });
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(words)
    }

    /// `(X, B), X)`: factors and groups, with the parenthesis that closes them.
    fn groups(&mut self, depth: usize) -> Result<Vec<GroupItem>> {
        let mut parts = vec![self.group(depth)?];
        while self.eat(",") {
            parts.push(self.group(depth)?);
        }
        self.expect(")")?;
        Ok(parts)
    }

    fn group(&mut self, depth: usize) -> Result<GroupItem> {
        let start = self.span();
        if depth > MAX_DEPTH {
            let error = error("E0003", "too many groups within groups", start, "one more here");
            return Err(with_hint(error, "a group of one factor needs no parentheses"));
        }
        if self.eat("(") {
            let parts = self.groups(depth + 1)?;
            return Ok(GroupItem::Group(parts, start.to(self.previous())));
        }
        if let Some(TokenKind::Number(text)) = self.peek().map(|token| token.kind.clone()) {
            self.at += 1;
            return Ok(GroupItem::Factor(Name { text, span: start }));
        }
        Ok(GroupItem::Factor(self.name("a factor's tensor, its number, or a group `(A, B)`")?))
    }

    /// `i`; with a size `i=64` or `i, 64`.
    fn scheduled_loop(&mut self, directive: Directive) -> Result<(Name, Option<i64>)> {
        let name = self.name("an iterator")?;
        if !directive.has_sizes() {
            if self.is("=") {
                let message = format!("`{}` takes no sizes", directive.word());
                let hint = "iterators are given alone: `reorder(i, k, j)`, `vectorize(j)`";
                return Err(with_hint(error("E0003", message, self.span(), "a size"), hint));
            }
            return Ok((name, None));
        }
        if !self.eat("=") && !self.eat(",") {
            let hint = format!("write `{0}({1}=8)`, or `{0}({1}, 8)`", directive.word(), name.text);
            return Err(with_hint(self.expected("a size"), hint));
        }
        let start = self.span();
        let negative = self.eat("-");
        let size = match self.peek().map(|token| token.kind.clone()) {
            Some(TokenKind::Number(text)) => text.parse::<i64>().ok(),
            _ => None,
        };
        let Some(size) = size else {
            let hint = format!("each loop has a size: `{0}({1}=8)`", directive.word(), name.text);
            return Err(with_hint(self.expected("an integer"), hint));
        };
        self.at += 1;
        let span = Span::new(name.span.start, start.to(self.previous()).end);
        let name = Name { span, ..name };
        Ok((name, Some(if negative { -size } else { size })))
    }
}
