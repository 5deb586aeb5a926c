//! What a name by itself is as a factor or argument: an iterator where the rule has one of that name in its head, in a
//! subscript, in a comparison or in a reduction, else a symbol or scalar.
//!
//! Before -> after, `y(i) := N * i * a * x(i)` -> `y(i) := N() * i * a() * x(i)`.

use std::collections::BTreeSet;

use crate::affine::visit_names;
use crate::ast::{File, Item, Name, Operation, Term};

/// Writes the names of symbols and scalars in right-hand sides as accesses.
pub(super) fn resolve(file: &mut File) {
    let mut symbols = BTreeSet::new();
    for item in &file.items {
        if let Item::Symbols(names, _) = item {
            symbols.extend(names.iter().map(|name| name.text.clone()));
        }
    }
    for item in &mut file.items {
        let Item::Rule(rule) = item else { continue };
        let reduced = rule.reduction.iter().flat_map(|reduction| &reduction.iterators);
        let mut iterators: BTreeSet<String> =
            rule.iterators.iter().chain(reduced).map(|name| name.text.clone()).collect();
        iterators_of(&rule.body, &mut iterators);
        iterators.retain(|name| !symbols.contains(name));
        rewrite(&mut rule.body, &iterators);
    }
}

/// Collects the names of a term that are iterators, or symbols within integer expressions.
fn iterators_of(term: &Term, found: &mut BTreeSet<String>) {
    let expressions = match term {
        Term::Access { subscripts, position, .. } => {
            found.extend(position.iter().map(|name| name.text.clone()));
            &subscripts[..]
        }
        Term::Comparison(comparison) => &comparison.operands,
        Term::Reduced { reduction, .. } => {
            found.extend(reduction.iterators.iter().map(|name| name.text.clone()));
            &[]
        }
        _ => &[],
    };
    for expression in expressions {
        visit_names(expression, &mut |name, _| {
            found.insert(name.to_owned());
        });
    }
    term.parts().iter().for_each(|part| iterators_of(part, found));
}

fn rewrite(term: &mut Term, iterators: &BTreeSet<String>) {
    match term {
        Term::Index(name) if !iterators.contains(&name.text) => {
            *term = scalar(name, false);
        }
        Term::Call { operation: Operation::Divide, arguments, .. } => match &arguments[..] {
            [Term::Number { value: 1.0, reciprocal: false, .. }, Term::Index(name)]
                if !iterators.contains(&name.text) =>
            {
                *term = scalar(name, true);
            }
            _ => arguments.iter_mut().for_each(|part| rewrite(part, iterators)),
        },
        _ => term.parts_mut().iter_mut().for_each(|part| rewrite(part, iterators)),
    }
}

fn scalar(name: &Name, reciprocal: bool) -> Term {
    let (tensor, span) = (name.clone(), name.span);
    Term::Access { position: None, tensor, subscripts: Vec::new(), reciprocal, span }
}
