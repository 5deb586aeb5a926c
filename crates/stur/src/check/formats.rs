//! `:F` lines as formats of dynamically sparse tensors.
//!
//! ```text
//! format = NAME | CODE | (NAME | CODE) "(" dimension, .. ")" | level, ..
//! level  = ("dense" | "compressed" | "singleton") "(" dimension ("," ("nonunique" | "unordered"))* ")"
//! ```
//!
//! `csc` and `dcsc` are names for matrices, and codes for tensors of rank 3 and 4. Upper and lower case are the same in
//! names and codes.

use std::collections::BTreeMap;

use super::Checker;
use crate::affine::names;
use crate::ast::{FormatItem, FormatWord, Name, Span};
use crate::diagnostic::Diagnostic;
use crate::format::{Format, FormatName, Kind, Level, NAMES, Reason, levels_of_code};
use crate::hint::similar;
use crate::program::{Program, Stored, TensorId};

impl Checker<'_> {
    /// Gives tensors their formats.
    pub(super) fn formats(&mut self, program: &mut Program) {
        let mut seen: BTreeMap<&str, &FormatItem> = BTreeMap::new();
        for item in self.formats.clone() {
            let name = item.tensor.text.as_str();
            if let Some(first) = seen.get(name) {
                if *first != item {
                    let message = format!("`{name}:F` is given twice");
                    let error =
                        Diagnostic::error("E0105", message, item.span, "different from the first");
                    self.report(error.label(first.span, "first here"));
                }
                continue;
            }
            seen.insert(name, item);
            if self.symbol(name).is_some() {
                let message = format!("the symbol `{name}` has a format");
                let error =
                    Diagnostic::error("E0111", message, item.tensor.span, "a symbol, not a tensor");
                self.report(error.hint("take another name for the tensor"));
            }
            let Some(id) = program.find(name) else { continue }; // a warning, with the other structures
            if let Some(format) = self.format(program, id, item)
                && self.may_be_dynamic(program, id, item)
            {
                program.tensors[id.0].format = Some(Stored { format, span: item.span });
            }
        }
        self.reciprocals_of_dynamic(program);
        self.positions(program);
    }

    /// Positions are iterators, of elements that other iterators choose, of tensors whose format puts them in order.
    fn positions(&mut self, program: &Program) {
        let mut found = Vec::new();
        for value in &self.values {
            super::collect_positions(&value.rule.body, &mut |position| found.push(position));
        }
        for (iterator, tensor, subscripts, span) in found {
            let inside = subscripts.iter().any(|one| names(one).contains(iterator.text.as_str()));
            if inside {
                let (name, tensor) = (&iterator.text, &tensor.text);
                let message = format!(
                    "the position `{name}` of an element of `{tensor}` is in its subscripts"
                );
                let label = "which element that is is not known before its position";
                self.report(Diagnostic::error("E0132", message, span, label).hint(format!(
                    "take another iterator for the position, and compare it with `{name}` in a factor of its own"
                )));
            }
            if self.symbol(&iterator.text).is_some() {
                let message = format!("iterator `{}` has the name of a symbol", iterator.text);
                let error =
                    Diagnostic::error("E0107", message, iterator.span, "declared as a symbol");
                self.report(error.hint("the position of an element is an iterator of the rule"));
            }
            let name = &tensor.text;
            let format = program.find(name).and_then(|id| program.tensor(id).format.as_ref());
            match format {
                Some(storage) if storage.format.levels().iter().all(|level| level.ordered) => {}
                Some(storage) => {
                    let message =
                        format!("the position of an element of `{name}`, which is in no order");
                    self.report(
                        Diagnostic::error("E0130", message, span, "known only by search")
                            .label(storage.span, "has a level that is not ordered")
                            .hint("leave `unordered` out of its `:F`"),
                    );
                }
                None => {
                    let message = format!("the position of an element of `{name}`");
                    let label = "not dynamically sparse";
                    self.report(Diagnostic::error("E0130", message, span, label).hint(format!(
                        "positions are those of stored values: give `{name}` a format, such as `{name}:F := csf`"
                    )));
                }
            }
        }
    }

    /// A tensor is structured or dynamic, not both.
    fn may_be_dynamic(&mut self, program: &Program, id: TensorId, item: &FormatItem) -> bool {
        let tensor = program.tensor(id);
        let name = &tensor.name;
        let declared = [(&tensor.unique, ":U"), (&tensor.redundancy, ":R")];
        let declared = declared.into_iter().find_map(|(s, word)| Some((s.as_ref()?, word)));
        let (message, other, label) = if let Some((structure, word)) = declared {
            (format!("`{name}` has both `:F` and `{word}`"), structure.span, "its structure")
        } else if let Some(layout) = &tensor.layout {
            (format!("`{name}` has both `:F` and a place in `layout:`"), layout.span, "its layout")
        } else {
            return true;
        };
        self.report(
            Diagnostic::error("E0127", message, item.span, "known only when it is read")
                .label(other, label)
                .hint("a tensor is either structured, and packed, or dynamically sparse; `:D` goes with both"),
        );
        false
    }

    /// Which elements are stored decides about reciprocals, and is not known.
    fn reciprocals_of_dynamic(&mut self, program: &Program) {
        let mut found = Vec::new();
        for value in &self.values {
            super::collect_reciprocals(&value.rule.body, &mut |name, span| {
                let tensor = program.find(name).map(|id| program.tensor(id));
                if let Some(storage) = tensor.and_then(|tensor| tensor.format.as_ref()) {
                    found.push(
                        Diagnostic::error(
                            "E0313",
                            "the reciprocal of a tensor whose structural zeros are not known",
                            span,
                            "its elements are known only when it is read",
                        )
                        .label(storage.span, "dynamically sparse")
                        .hint(format!("store the reciprocals in `{name}`, or leave `:F` out")),
                    );
                }
            });
        }
        self.diagnostics.extend(found);
    }

    fn format(&mut self, program: &Program, id: TensorId, item: &FormatItem) -> Option<Format> {
        let tensor = program.tensor(id);
        if tensor.rank == 0 {
            let message = format!("the scalar `{}` has a format", tensor.name);
            self.report(Diagnostic::error("E0114", message, item.span, "no subscripts"));
            return None;
        }
        let names = match &item.iterators {
            Some(iterators) => self.format_dimensions(program, id, item, iterators)?,
            None => self.position_names(program, id),
        };
        let spelled = |word: &FormatWord| {
            let one = word.arguments.len() == 1 || kind(&word.word) != Some(Kind::Dense);
            kind(&word.word).is_some()
                && (!word.arguments.is_empty() && one || item.words.len() > 1)
        };
        let found = match item.words.as_slice() {
            [only] if !spelled(only) => named(only, &names),
            words => levels(words, &names, item.span),
        };
        found.map_err(|error| self.report(*error)).ok()
    }

    /// The names that a `:F` line gives to the dimensions.
    fn format_dimensions(
        &mut self,
        program: &Program,
        id: TensorId,
        item: &FormatItem,
        iterators: &[Name],
    ) -> Option<Vec<String>> {
        let tensor = program.tensor(id);
        for (k, name) in iterators.iter().enumerate() {
            let (code, message, label) = if self.symbol(&name.text).is_some() {
                ("E0107", format!("iterator `{}` has the name of a symbol", name.text), "a symbol")
            } else if iterators[..k].contains(name) {
                ("E0110", format!("iterator `{}` stands twice in the head", name.text), "again")
            } else {
                continue;
            };
            self.report(Diagnostic::error(code, message, name.span, label));
            return None;
        }
        if iterators.len() != tensor.rank {
            let subscripts =
                |rank| if rank == 1 { "1 subscript".into() } else { format!("{rank} subscripts") };
            let message = format!(
                "`{}` has {}, not {}",
                tensor.name,
                subscripts(tensor.rank),
                iterators.len()
            );
            let shape = tensor.domain.as_ref().map_or(tensor.span, |domain| domain.span);
            self.report(
                Diagnostic::error("E0112", message, item.tensor.span, subscripts(iterators.len()))
                    .label(shape, format!("{} here", subscripts(tensor.rank))),
            );
            return None;
        }
        Some(iterators.iter().map(|name| name.text.clone()).collect())
    }
}

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

fn fail<T>(
    span: Span,
    message: impl Into<String>,
    label: &str,
    hint: impl Into<String>,
) -> Result<T> {
    Err(Box::new(Diagnostic::error("E0126", message, span, label).hint(hint)))
}

fn kind(word: &Name) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| word.text.eq_ignore_ascii_case(kind.word()))
}

/// `csr`, `DCC`, `coo(j, i)`.
fn named(item: &FormatWord, names: &[String]) -> Result<Format> {
    let rank = names.len();
    let text = item.word.text.as_str();
    let lower = text.to_ascii_lowercase();
    let entry = NAMES.iter().find(|entry| entry.name == lower);
    let fits = |entry: &&FormatName| entry.rank.is_none_or(|needed| needed == rank);
    let code = levels_of_code(text);
    let is_code = code.as_ref().is_some_and(|levels| levels.len() == rank);
    let entry = entry.filter(|entry| fits(entry) || !is_code);
    let span = item.word.span;
    let format = match (entry, code) {
        (Some(entry), _) => match Format::named(entry.name, rank) {
            Some(format) => format,
            None => {
                let needed = entry.rank.unwrap_or_default();
                let message =
                    format!("`{lower}` stores tensors of rank {needed}, this one has rank {rank}");
                let hint = "`csf`, `coo` and codes such as `DCC` are for any rank";
                return fail(span, message, "another rank", hint);
            }
        },
        (None, Some(levels)) if levels.len() == rank => {
            checked(levels, (0..rank).collect(), &|_| span)?
        }
        (None, Some(levels)) => {
            let message =
                format!("`{text}` has {} levels, but the tensor has rank {rank}", levels.len());
            let hint =
                "one letter for each dimension: D, C and S for dense, compressed and singleton";
            return fail(span, message, "another rank", hint);
        }
        (None, None) => {
            let all: Vec<&str> = NAMES.iter().map(|entry| entry.name).collect();
            let words = all.iter().copied().chain(Kind::ALL.map(Kind::word));
            let hint = match similar(&lower, words) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!(
                    "formats have names ({}), codes of one letter a level (`DCC`: dense, compressed, singleton), or \
                    are spelled `dense(i), compressed(j)`",
                    all.join(", ")
                ),
            };
            return fail(span, format!("there is no format `{text}`"), "unknown", hint);
        }
    };
    if item.arguments.is_empty() {
        return Ok(format);
    }
    let order = order(item.arguments.iter(), names, item.span)?;
    if order.is_sorted() {
        return Ok(format);
    }
    if entry.is_some_and(|entry| entry.rank.is_some()) {
        let hint = "`csc` is `csr` with columns first; codes take any order: `DC(j, i)`";
        return fail(
            item.span,
            format!("`{lower}` has an order of its own"),
            "another order",
            hint,
        );
    }
    checked(format.levels().to_vec(), order, &|_| span)
}

/// `dense(i), compressed(j)`.
fn levels(words: &[FormatWord], names: &[String], span: Span) -> Result<Format> {
    let mut levels = Vec::new();
    let mut dimensions = Vec::new();
    for item in words {
        let Some(kind) = kind(&item.word) else {
            let hint = match similar(&item.word.text, Kind::ALL.map(Kind::word)) {
                Some(close) => format!("did you mean `{close}`?"),
                None => "levels are `dense`, `compressed` and `singleton`".into(),
            };
            let message = format!("there is no level `{}`", item.word.text);
            return fail(item.word.span, message, "unknown", hint);
        };
        let Some((dimension, words)) = item.arguments.split_first() else {
            let hint = format!("such as `{kind}({})`", names.first().map_or("i", String::as_str));
            let message = "this level does not say which dimension it stores";
            return fail(item.word.span, message, "of which dimension?", hint);
        };
        let mut level = Level::of(kind);
        for word in words {
            match word.text.as_str() {
                "nonunique" => level.unique = false,
                "unordered" => level.ordered = false,
                "unique" => level.unique = true,
                "ordered" => level.ordered = true,
                other => {
                    let message = format!("`{other}` has no meaning here");
                    let hint =
                        "a level stores one dimension, and may be `nonunique` or `unordered`";
                    return fail(word.span, message, "unknown", hint);
                }
            }
        }
        levels.push(level);
        dimensions.push(dimension);
    }
    let order = order(dimensions.into_iter(), names, span)?;
    checked(levels, order, &|level| words.get(level).map_or(span, |word| word.span))
}

/// Each dimension once.
fn order<'n>(
    given: impl Iterator<Item = &'n Name>,
    names: &[String],
    span: Span,
) -> Result<Vec<usize>> {
    let all = names.join(", ");
    let mut order = Vec::new();
    for name in given {
        let text = &name.text;
        match names.iter().position(|known| known == text) {
            None => {
                let hint = format!("the tensor's dimensions: {all}");
                return fail(name.span, format!("there is no dimension `{text}`"), "unknown", hint);
            }
            Some(dimension) if order.contains(&dimension) => {
                let hint = format!("there is one level for each of {all}");
                return fail(name.span, format!("`{text}` is stored twice"), "again", hint);
            }
            Some(dimension) => order.push(dimension),
        }
    }
    match (0..names.len()).find(|dimension| !order.contains(dimension)) {
        None => Ok(order),
        Some(missing) => {
            let hint = format!("there is one level for each of {all}");
            fail(span, format!("no level stores `{}`", names[missing]), "not all dimensions", hint)
        }
    }
}

fn checked(levels: Vec<Level>, order: Vec<usize>, span: &dyn Fn(usize) -> Span) -> Result<Format> {
    Format::new(levels, order).or_else(|error| {
        let (message, hint) = described(error.reason);
        fail(span(error.level), message, "this level", hint)
    })
}

/// What is wrong with a level, and what to write instead.
fn described(reason: Reason) -> (&'static str, &'static str) {
    match reason {
        Reason::Order => (
            "levels that do not store every dimension once",
            "there is one level for each dimension",
        ),
        Reason::Dense => ("a dense level is always ordered and unique", "leave the word out"),
        Reason::Singleton => (
            "a singleton behind a level that is unique",
            "a singleton holds one coordinate for each entry: `compressed(i, nonunique), singleton(j)`",
        ),
        Reason::NotUnique => (
            "a level that is not unique, with no singleton behind it",
            "leave `nonunique` out, or store the next dimension as a singleton",
        ),
    }
}
