//! The formats with names, and those that a program or a file defines.

use std::sync::LazyLock;

use super::definition::Definition;
use super::expression::{Atom, LevelExpr};
use super::parse::{at, definition, instance};
use super::{Format, FormatError};

/// Formats that a program or a file defines. All those with names of their own are known besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    own: Vec<Definition>,
}

/// A test reads them all.
static LIBRARY: LazyLock<Vec<Definition>> =
    LazyLock::new(|| read(include_str!("library.fmt")).unwrap_or_default());

/// The formats with names, which are defined as programs define theirs. One with several is printed with the first.
pub fn library() -> &'static [Definition] {
    &LIBRARY
}

impl Definitions {
    /// Those of a text: `format NAME(..) := ..`, one a line, and comments, which begin with `#`.
    ///
    /// # Errors
    /// What is no definition, or defines a format a second time.
    pub fn parse(text: &str) -> Result<Definitions, FormatError> {
        let mut all = Definitions::default();
        all.read(text)?;
        Ok(all)
    }

    /// Adds those of a text.
    ///
    /// # Errors
    /// As [`Definitions::parse`].
    pub fn read(&mut self, text: &str) -> Result<(), FormatError> {
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let code = line.split('#').next().unwrap_or_default();
            if !code.trim().is_empty() {
                let found = definition(code).and_then(|found| self.add(found));
                found.map_err(|error| at(start, error))?;
            }
            start += line.len();
        }
        Ok(())
    }

    /// Adds one more.
    ///
    /// # Errors
    /// One of this name is known.
    pub fn add(&mut self, definition: Definition) -> Result<(), FormatError> {
        let name = definition.name.to_ascii_lowercase();
        if self.find(&name).is_some() {
            let own = self.own.iter().any(|known| known.name.eq_ignore_ascii_case(&name));
            let first = definition.text.find(&definition.name).unwrap_or_default();
            return Err(FormatError {
                message: format!("there is a format `{name}` already"),
                span: first..first + definition.name.len(),
                label: if own { "again" } else { "a format of the language" },
                hint: Some("take another name".into()),
                map: None,
            });
        }
        self.own.push(definition);
        Ok(())
    }

    /// The definition of a name, in upper or lower case.
    pub fn find(&self, name: &str) -> Option<&Definition> {
        let mut all = self.iter();
        all.find(|definition| definition.name.eq_ignore_ascii_case(name))
    }

    /// Those of their own.
    pub fn iter_own(&self) -> impl Iterator<Item = &Definition> {
        self.own.iter()
    }

    /// Those of their own, then those with names.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.own.iter().chain(library())
    }
}

/// The definitions of a text, each with the comment above it.
fn read(text: &str) -> Result<Vec<Definition>, FormatError> {
    let (mut all, mut about) = (Vec::new(), "");
    for line in text.lines() {
        match line.strip_prefix('#') {
            Some(comment) => about = comment.trim(),
            None if line.trim().is_empty() => about = "",
            None => all.push(Definition { about: about.to_owned(), ..definition(line)? }),
        }
    }
    Ok(all)
}

impl Format {
    /// The format of a name, if there is one for the rank.
    pub fn named(name: &str, rank: usize) -> Option<Format> {
        let found = library().iter().find(|definition| definition.name == name)?;
        let fits = found.parameters.is_empty() && found.rank().is_none_or(|needed| needed == rank);
        fits.then(|| instance(found, &[], rank).ok()).flatten()
    }

    /// Its name, if it has one without parameters.
    pub fn name(&self) -> Option<&'static str> {
        let mut named = library().iter().filter(|found| found.parameters.is_empty());
        let own =
            named.find(|found| Format::named(&found.name, self.rank()).as_ref() == Some(self));
        own.filter(|_| self.rank() > 0).map(|found| found.name.as_str())
    }

    /// Its name with the numbers that it needs, if it has one: `bcsr(4, 4)`.
    pub fn named_text(&self) -> Option<String> {
        if let Some(name) = self.name() {
            return Some(name.to_owned());
        }
        let mut numbers = Vec::new();
        self.map().levels().iter().for_each(|expr| divisors(expr, &mut numbers));
        for function in self.map().functions() {
            numbers.extend(function.numbers());
            function.inputs().into_iter().for_each(|expr| divisors(expr, &mut numbers));
        }
        numbers.sort_unstable();
        numbers.dedup();
        let fits = |found: &&Definition| found.rank().is_none_or(|rank| rank == self.rank());
        library().iter().filter(fits).find_map(|found| {
            let chosen = choices(&numbers, found.parameters.len())
                .find(|chosen| instance(found, chosen, self.rank()).as_ref() == Ok(self))?;
            let chosen: Vec<String> = chosen.iter().map(i64::to_string).collect();
            Some(format!("{}({})", found.name, chosen.join(", ")))
        })
    }
}

/// All that an expression divides by.
fn divisors(expr: &LevelExpr, found: &mut Vec<i64>) {
    for (atom, _) in &expr.terms {
        if let Atom::Quotient(inner, by) | Atom::Remainder(inner, by) = atom {
            found.push(*by);
            divisors(inner, found);
        }
    }
}

/// All lists of so many of some numbers, at most a thousand.
fn choices(numbers: &[i64], count: usize) -> impl Iterator<Item = Vec<i64>> + '_ {
    let base = numbers.len();
    let all = u32::try_from(count).ok().and_then(|count| base.checked_pow(count)).unwrap_or(0);
    (0..if count == 0 { 0 } else { all.min(1000) }).map(move |choice| {
        let digit = |at: usize| numbers[choice / base.pow(at as u32) % base];
        (0..count).map(digit).collect()
    })
}
