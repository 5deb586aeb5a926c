//! Names that are those of inputs without dimensions, since nothing else has them, and may be misspelt.

use std::collections::BTreeMap;

use super::Checker;
use super::checker::warning;
use crate::ast::Span;
use crate::hint::similar;
use crate::program::{Program, Role, TensorId};

/// Shorter names are often like others.
const LEAST: usize = 4;

impl Checker<'_> {
    /// Warns of scalars that are named once, in no declaration, and almost like something else: `alpah` beside `alpha`,
    /// `width` beside the symbol `Width`. They would be drawn at random.
    pub(super) fn misspelt(&mut self, program: &Program) {
        let mut places: BTreeMap<TensorId, Vec<Span>> = BTreeMap::new();
        for access in program
            .rules
            .iter()
            .flat_map(|rule| &rule.products)
            .flat_map(|product| &product.accesses)
        {
            let spans = places.entry(access.tensor).or_default();
            if spans.iter().all(|span| !span.is_at(access.span)) {
                spans.push(access.span);
            }
        }
        let declared = |name: &str| {
            self.types.iter().any(|entry| entry.tensor.text == name && !entry.by_default)
        };
        let is_once = |id: TensorId| {
            let tensor = program.tensor(id);
            let once = places.get(&id).is_some_and(|spans| spans.len() == 1);
            tensor.rank == 0 && tensor.role == Role::Input && once && !declared(&tensor.name)
        };
        let known = program
            .tensor_ids()
            .filter(|id| !is_once(*id))
            .map(|id| program.tensor(id).name.as_str());
        let symbols = program.symbols.iter().map(|(name, _)| name.as_str());
        let known: Vec<&str> = known.chain(symbols).filter(|name| name.len() >= LEAST).collect();
        let mut found = Vec::new();
        for id in program.tensor_ids().filter(|id| is_once(*id)) {
            let name = program.tensor(id).name.as_str();
            // `w1` and `w2` are not meant to be one.
            let others = known.iter().copied().filter(|other| stem(other) != stem(name));
            let span = program.tensor(id).span;
            let before = program.source.get(..span.start).unwrap_or_default().trim_end();
            if before.ends_with("//") {
                let message = format!("a quotient by `{name}`, an input without dimensions");
                found.push(warning("W0112", message, span, "named once, behind `//`").hint(
                    format!(
                        "a comment begins with `#`; `types: {name} = f64` says that it is meant"
                    ),
                ));
                continue;
            }
            if name.len() >= LEAST
                && let Some(close) = similar(name, others)
            {
                let message = format!("`{name}` is an input without dimensions");
                let label = format!("named once, and almost like `{close}`");
                found.push(warning("W0112", message, span, &label).hint(format!(
                    "did you mean `{close}`? `types: {name} = f64` says that it is meant"
                )));
            }
        }
        self.diagnostics.extend(found);
    }
}

/// A name without a number at its end.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit())
}
