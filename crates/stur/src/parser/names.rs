//! What a name by itself is as a factor or argument: an iterator where the rule has one of that name in its head, in a
//! subscript, in a comparison or in a reduction, else a symbol, a constant that no rule is about, or a scalar.
//!
//! Before -> after, `y(i) := N * i * a * pi * x(i)` -> `y(i) := N() * i * a() * 3.141592653589793 * x(i)`.

use std::collections::BTreeSet;
use std::f64::consts::PI;

use dastac_elements::Function;

use crate::affine::visit_names;
use crate::ast::{File, Item, Name, Operation, Term};

/// Writes the names of symbols and scalars in right-hand sides as accesses.
pub(super) fn resolve(file: &mut File) {
    let (mut symbols, mut tensors) = (BTreeSet::new(), BTreeSet::new());
    for item in &file.items {
        match item {
            Item::Symbols(names, _) => symbols.extend(names.iter().map(|name| name.text.clone())),
            Item::Types(entries, _) => {
                tensors.extend(entries.iter().map(|entry| entry.tensor.text.clone()));
            }
            Item::Rule(rule) => {
                tensors.insert(rule.tensor.text.clone());
            }
            _ => {}
        }
    }
    let is_constant = |name: &str| !symbols.contains(name) && !tensors.contains(name);
    for item in &mut file.items {
        let Item::Rule(rule) = item else { continue };
        let reduced = rule.reduction.iter().flat_map(|reduction| &reduction.iterators);
        let mut iterators: BTreeSet<String> =
            rule.iterators.iter().chain(reduced).map(|name| name.text.clone()).collect();
        iterators_of(&rule.body, &mut iterators);
        iterators.retain(|name| !symbols.contains(name));
        let constants: Vec<(&str, f64)> = [("pi", PI), ("inf", f64::INFINITY), ("nan", f64::NAN)]
            .into_iter()
            .filter(|(name, _)| is_constant(name))
            .collect();
        rewrite(&mut rule.body, &iterators, &constants);
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

fn rewrite(term: &mut Term, iterators: &BTreeSet<String>, constants: &[(&str, f64)]) {
    let constant = |name: &str| {
        constants.iter().find(|(constant, _)| *constant == name).map(|(_, value)| *value)
    };
    match term {
        Term::Index(name) if !iterators.contains(&name.text) => {
            *term = scalar(name, constant(&name.text), false);
        }
        Term::Call { operation: Operation::Divide, arguments, .. } => match &arguments[..] {
            [Term::Number { value: 1.0, reciprocal: false, .. }, Term::Index(name)]
                if !iterators.contains(&name.text) =>
            {
                *term = scalar(name, constant(&name.text), true);
            }
            _ => arguments.iter_mut().for_each(|part| rewrite(part, iterators, constants)),
        },
        _ => term.parts_mut().iter_mut().for_each(|part| rewrite(part, iterators, constants)),
    }
}

/// A name by itself: a constant, or a scalar.
fn scalar(name: &Name, constant: Option<f64>, reciprocal: bool) -> Term {
    let (tensor, span) = (name.clone(), name.span);
    match constant {
        // No number is written so.
        Some(value) if value.is_nan() => {
            let number = Term::Number { value: -1.0, reciprocal: false, span };
            let operation = Operation::Function(Function::Sqrt);
            Term::Call { operation, arguments: vec![number], span }
        }
        Some(value) => Term::Number { value, reciprocal, span },
        None => Term::Access { position: None, tensor, subscripts: Vec::new(), reciprocal, span },
    }
}
