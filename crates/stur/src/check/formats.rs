//! `:F` lines as formats of dynamically sparse tensors: the notation is that of [`dastac_formats::format`].

use std::collections::BTreeMap;

use dastac_formats::format::{is_automatic, is_hybrid, parse_with, read_definition, read_hybrid};
use dastac_formats::{Format, FormatError};

use super::Checker;
use crate::affine::names;
use crate::ast::{FormatItem, Name, Span};
use crate::collisions::collision;
use crate::diagnostic::Diagnostic;
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
            if let Some(stored) = self.format(program, id, item)
                && self.may_be_dynamic(program, id, item)
            {
                program.tensors[id.0].format = Some(stored);
            }
        }
        self.positions(program);
    }

    /// Checks positions, `k = pos(T(i, j))`: each is an iterator, its element is chosen by other iterators, and the
    /// format of its tensor is ordered.
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
                Some(storage) if storage.format.numbers_elements() => {}
                Some(storage) if storage.format.levels().iter().all(|level| level.ordered) => {
                    let message = format!(
                        "the position of an element of `{name}`, not all of whose values are elements"
                    );
                    self.report(
                        Diagnostic::error(
                            "E0130",
                            message,
                            span,
                            "counts values that are no elements",
                        )
                        .label(storage.span, "has a bitmap, or levels that do not store dimensions")
                        .hint("choose another format in its `:F`, such as csf"),
                    );
                }
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

    fn format(&mut self, program: &Program, id: TensorId, item: &FormatItem) -> Option<Stored> {
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
        if names.is_empty() {
            return None; // it has no dimensions, which is an error of its own
        }
        let (text, span) = (&item.format.text, item.span);
        let found = match is_hybrid(text) {
            true if tensor.rule().is_some() => {
                self.refuse_hybrid(&tensor.name, item);
                return None;
            }
            true => read_hybrid(text, &names, &self.definitions).map(|hybrid| Stored {
                format: hybrid.whole(),
                hybrid: Some(hybrid),
                span,
            }),
            // Rows or a tree, unless whoever has the data chooses another one.
            false if is_automatic(text) => {
                let rank = tensor.rank;
                let format = if rank == 2 { Format::csr() } else { Format::csf(rank) };
                return Some(Stored { format, hybrid: None, span });
            }
            false => parse_with(text, &names, &self.definitions).map(|format| Stored {
                format,
                hybrid: None,
                span,
            }),
        };
        found.map_err(|error| self.report(wrong_format(&item.format, error))).ok()
    }

    /// A tensor that is computed is not divided into parts.
    fn refuse_hybrid(&mut self, name: &str, item: &FormatItem) {
        let message = format!("the computed tensor `{name}` has a hybrid format");
        let label = "divides a tensor that is given";
        self.report(
            Diagnostic::error("E0126", message, item.format.span, label)
                .hint("take a format with levels, such as csr, for tensors that rules compute"),
        );
    }

    /// Takes a `format` line.
    pub(super) fn define(&mut self, text: &Name) {
        let added = read_definition(&text.text).and_then(|found| self.definitions.add(found));
        added.unwrap_or_else(|error| self.report(wrong_format(text, error)));
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

/// What is wrong with the text of a format.
fn wrong_format(text: &Name, error: FormatError) -> Diagnostic {
    let at = |offset: usize| text.span.start + offset;
    let span = Span::new(at(error.span.start), at(error.span.end));
    let found = error.map.as_ref().and_then(collision);
    let diagnostic = Diagnostic::error("E0126", error.message, span, error.label);
    match found.or(error.hint) {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    }
}
