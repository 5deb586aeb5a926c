//! `:F`: `B:F(i, j) := dense(i), compressed(j)`, `B:F := csr`; and definitions of formats, `format mine := ..`, whose
//! notation [`dastac_formats::format`] reads.

use super::{Parser, Result, describe, error, with_hint};
use crate::ast::{FormatItem, Name, Span};

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
        let format = self.rest("a format or a level").map_err(|error| with_hint(error, HINT))?;
        Ok(FormatItem { tensor, iterators, format, span: whole })
    }

    /// The text of what is left of the line, which begins with a name.
    pub(super) fn rest(&mut self, what: &str) -> Result<Name> {
        let first = self.name(what)?;
        self.at = self.tokens.len();
        let span = first.span.to(self.previous());
        let text = self.source.get(span.start..span.end).unwrap_or(&first.text);
        Ok(Name { text: text.to_owned(), span })
    }

    /// After `(`: `i, j)`, one name or more.
    fn format_names(&mut self, what: &str) -> Result<Vec<Name>> {
        let open = self.previous();
        let names = self.names(what)?;
        self.close(open)?;
        Ok(names)
    }
}
