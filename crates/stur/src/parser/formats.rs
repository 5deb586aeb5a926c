//! `:F`: `B:F(i, j) := dense(i), compressed(j)`, `B:F := csr`.

use super::{Parser, Result, describe, error, with_hint};
use crate::ast::{FormatItem, FormatWord, Name, Span};

const HINT: &str =
    "a format is a name or levels: `B:F := csr`, `B:F(i, j) := dense(i), compressed(j)`";

impl Parser<'_> {
    pub(super) fn format(&mut self, whole: Span) -> Result<FormatItem> {
        let tensor = self.name("the name of a tensor")?;
        self.expect(":")?;
        self.name("`F`")?;
        let iterators = match self.eat("(") {
            true => Some(self.format_names("an iterator")?),
            false => None,
        };
        if !self.eat(":=") {
            let message = format!("expected `:=` after the head, found {}", describe(self.peek()));
            return Err(with_hint(error("E0012", message, self.span(), "expected `:=`"), HINT));
        }
        let mut words = vec![self.format_word()?];
        while self.eat(",") {
            words.push(self.format_word()?);
        }
        if let Err(error) = self.finish() {
            return Err(with_hint(error, HINT));
        }
        Ok(FormatItem { tensor, iterators, words, span: whole })
    }

    fn format_word(&mut self) -> Result<FormatWord> {
        let word = match self.name("a format or a level") {
            Ok(word) => word,
            Err(error) => return Err(with_hint(error, HINT)),
        };
        let arguments = match self.eat("(") {
            true => self.format_names("a dimension")?,
            false => Vec::new(),
        };
        let span = word.span.to(self.previous());
        Ok(FormatWord { word, arguments, span })
    }

    /// After `(`: `i, j)`, one name or more.
    fn format_names(&mut self, what: &str) -> Result<Vec<Name>> {
        let open = self.previous();
        let names = self.names(what)?;
        self.close(open)?;
        Ok(names)
    }
}
