//! How tensors are stored: the entries of `layout:` and `types:`.

use super::Checker;
use crate::ast::{LayoutItem, LayoutPart, Name, Span};
use crate::diagnostic::Diagnostic;
use crate::hint::similar;
use crate::program::{Element, LayoutChoice, Program, TensorId};

/// The largest alignment, in elements.
const MAX_ALIGN: i64 = 512;

/// Element types that the language names and this version cannot compute with.
const LATER: &[&str] = &["f128", "i1", "u16", "u32", "u64"];

impl Checker<'_> {
    /// Gives tensors what `layout:` and `types:` say about them.
    pub(super) fn storage(&mut self, program: &mut Program) {
        let mut seen: Vec<&Name> = Vec::new();
        for entry in self.layouts {
            let Some(id) = self.stored(program, "layout", &entry.tensor, &mut seen) else {
                continue;
            };
            program.tensors[id.0].layout = self.layout_choice(program, id, entry);
        }
        seen.clear();
        for entry in self.types {
            let Some(id) = self.stored(program, "types", &entry.tensor, &mut seen) else {
                continue;
            };
            let known = Element::OF_TENSORS.iter().find(|known| known.name() == entry.element.text);
            match known {
                Some(element) => program.tensors[id.0].element = *element,
                None => self.unknown_element(&entry.element),
            }
        }
    }

    fn unknown_element(&mut self, name: &Name) {
        let error = if LATER.contains(&name.text.as_str()) {
            let what = format!("elements of type {}", name.text);
            Diagnostic::unsupported(what, name.span, "this type")
        } else {
            let message = format!("unknown element type `{}`", name.text);
            Diagnostic::error("E0120", message, name.span, "unknown")
        };
        self.report(
            error.hint(format!("element types are {}; f64 is the default", Element::names())),
        );
    }

    /// The tensor that an entry names, each at most once.
    fn stored<'n>(
        &mut self,
        program: &Program,
        directive: &str,
        name: &'n Name,
        seen: &mut Vec<&'n Name>,
    ) -> Option<TensorId> {
        if let Some(first) = seen.iter().find(|other| other.text == name.text) {
            let message = format!("`{directive}:` lists `{}` twice", name.text);
            let error = Diagnostic::error("E0102", message, name.span, "again");
            self.report(error.label(first.span, "first here"));
            return None;
        }
        seen.push(name);
        let found = program.find(&name.text);
        if found.is_none() {
            let message = format!("`{directive}:` names `{}`, which no rule uses", name.text);
            let mut error = Diagnostic::error("E0117", message, name.span, "unknown");
            let known = program.tensors.iter().map(|tensor| tensor.name.as_str());
            if let Some(close) = similar(&name.text, known) {
                error = error.hint(format!("did you mean `{close}`?"));
            }
            self.report(error);
        }
        found
    }

    fn layout_choice(
        &mut self,
        program: &Program,
        id: TensorId,
        entry: &LayoutItem,
    ) -> Option<LayoutChoice> {
        let mut choice = LayoutChoice { order: None, align: None, span: entry.tensor.span };
        let mut seen: Vec<(&str, Span)> = Vec::new();
        for part in &entry.parts {
            let (word, span) = match part {
                LayoutPart::Order(_, span) => ("order", *span),
                LayoutPart::Align(_, span) => ("align", *span),
            };
            if let Some((_, first)) = seen.iter().find(|(other, _)| *other == word) {
                let message = format!("`{word}` is given twice for `{}`", entry.tensor.text);
                let error = Diagnostic::error("E0102", message, span, "again");
                self.report(error.label(*first, "first here"));
                return None;
            }
            seen.push((word, span));
            match part {
                LayoutPart::Order(names, span) => {
                    choice.order = Some(self.position_order(program, id, names, *span)?);
                    if choice.align.is_none() {
                        choice.span = *span;
                    }
                }
                LayoutPart::Align(elements, span) => {
                    let fits = (1..=MAX_ALIGN).contains(elements) && elements.count_ones() == 1;
                    let Some(align) = u32::try_from(*elements).ok().filter(|_| fits) else {
                        let message = format!("rows cannot be aligned to {elements} elements");
                        let label = "not a power of two up to 512";
                        let error = Diagnostic::error("E0119", message, *span, label);
                        self.report(error.hint(
                            "as many elements as a vector has: 8 for f64 and 512-bit vectors",
                        ));
                        return None;
                    };
                    choice.align = Some(align);
                    choice.span = *span;
                }
            }
        }
        Some(choice)
    }

    /// `order(j, i)` as positions; all of them, each once.
    fn position_order(
        &mut self,
        program: &Program,
        id: TensorId,
        names: &[Name],
        span: Span,
    ) -> Option<Vec<usize>> {
        let tensor = program.tensor(id);
        let positions = self.position_names(program, id);
        let hint = match positions.is_empty() {
            true => "leave it out: there is nothing to order".to_string(),
            false => format!("its positions are `{}`", positions.join(", ")),
        };
        let mut order: Vec<usize> = Vec::new();
        for name in names {
            let found = positions.iter().position(|position| *position == name.text);
            let (message, label) = match found {
                Some(position) if !order.contains(&position) => {
                    order.push(position);
                    continue;
                }
                Some(_) => (format!("`order` names `{}` twice", name.text), "again"),
                None => {
                    let tensor = &tensor.name;
                    (format!("`{}` is no position of `{tensor}`", name.text), "unknown")
                }
            };
            self.report(Diagnostic::error("E0118", message, name.span, label).hint(hint));
            return None;
        }
        if let Some(missing) = (0..positions.len()).find(|k| !order.contains(k)) {
            let message =
                format!("`order` leaves out `{}` of `{}`", positions[missing], tensor.name);
            self.report(Diagnostic::error("E0118", message, span, "not all positions").hint(hint));
            return None;
        }
        Some(order)
    }

    /// The names of a tensor's positions: those in its `:D`, its `:U`, or the head of its rule. A tensor with
    /// subscripts has one of these.
    pub(super) fn position_names(&self, program: &Program, id: TensorId) -> Vec<String> {
        let tensor = program.tensor(id);
        if let Some(structure) = tensor.domain.as_ref().or(tensor.unique.as_ref()) {
            return structure.iterators.clone();
        }
        let head = self.values.iter().find(|value| value.rule.tensor.text == tensor.name);
        head.map_or(Vec::new(), |value| {
            value.rule.iterators.iter().map(|name| name.text.clone()).collect()
        })
    }
}
