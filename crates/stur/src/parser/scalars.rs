//! Scalars that are compared: `c` in `x(i) * (c > 0)`, where a rule computes `c` and nothing else of this rule has such
//! an iterator, is the element `c()`. So is a name to which `types:` gives a type, and that has subscripts nowhere, in
//! subscripts too: `v(i - w)`.

use std::collections::BTreeSet;

use super::node::{Node, NodeKind};
use crate::ast::Name;
use crate::lexer::{Token, TokenKind};

/// The names at the beginnings of rules without iterators: `c := ..`, `c() := ..`.
pub(super) fn named(lines: &[&[Token]]) -> BTreeSet<String> {
    let names = lines.iter().filter_map(|line| {
        let mut tokens = line.iter().filter(|token| token.kind != TokenKind::Newline);
        let TokenKind::Name(name) = &tokens.next()?.kind else { return None };
        let next = tokens.next()?;
        let is_own =
            next.is(":=") || next.is("(") && tokens.next()?.is(")") && tokens.next()?.is(":=");
        is_own.then(|| name.clone())
    });
    names.collect()
}

/// The names to which `types:` gives types, and that stand before no parenthesis.
pub(super) fn typed(lines: &[&[Token]]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in lines {
        let tokens: Vec<&Token> =
            line.iter().filter(|token| token.kind != TokenKind::Newline).collect();
        let named = |at: usize| match tokens.get(at).map(|token| &token.kind) {
            Some(TokenKind::Name(name)) => Some(name),
            _ => None,
        };
        let follows = |at: usize, mark: &str| tokens.get(at + 1).is_some_and(|next| next.is(mark));
        if named(0).is_some_and(|word| word == "types") && follows(0, ":") {
            let entries = (2..tokens.len()).filter(|at| follows(*at, "="));
            names.extend(entries.filter_map(named).cloned());
        }
    }
    for line in lines {
        for pair in line.windows(2) {
            if let TokenKind::Name(name) = &pair[0].kind
                && ["(", ":"].iter().any(|mark| pair[1].is(mark))
            {
                names.remove(name);
            }
        }
    }
    names
}

/// Has scalars that are compared be elements, and those that have types, wherever an integer may stand. `iterators` are
/// those of the head, and of the reduction that is all of the rule.
pub(super) fn compared(
    node: &mut Node,
    (scalars, typed): (&BTreeSet<String>, &BTreeSet<String>),
    iterators: &BTreeSet<String>,
    is_function: &dyn Fn(&str, &[Node]) -> bool,
) {
    let mut taken = iterators.clone();
    reduced_in(node, &mut taken);
    let typed: BTreeSet<String> = typed.difference(&taken).cloned().collect();
    let typed: BTreeSet<&String> = typed.iter().collect();
    iterators_in(node, is_function, &mut taken);
    let scalars: BTreeSet<&String> = scalars.difference(&taken).collect();
    if !scalars.is_empty() || !typed.is_empty() {
        rewrite(node, (&scalars, &typed), (false, false), is_function);
    }
}

/// The iterators of reductions.
fn reduced_in(node: &Node, found: &mut BTreeSet<String>) {
    if let NodeKind::Reduced(reduction, ..) = &node.kind {
        found.extend(reduction.iterators.iter().map(|name| name.text.clone()));
    }
    node.parts().into_iter().for_each(|part| reduced_in(part, found));
}

/// The names that stand in subscripts or in reductions.
fn iterators_in(
    node: &Node,
    is_function: &dyn Fn(&str, &[Node]) -> bool,
    found: &mut BTreeSet<String>,
) {
    match &node.kind {
        NodeKind::Call { tensor, arguments, .. } if !is_function(&tensor.text, arguments) => {
            found.extend(arguments.iter().flat_map(super::tails::free).map(str::to_owned));
        }
        NodeKind::Reduced(reduction, ..) => {
            found.extend(reduction.iterators.iter().map(|name| name.text.clone()));
        }
        _ => {}
    }
    node.parts().into_iter().for_each(|part| iterators_in(part, is_function, found));
}

/// `is_compared` in comparisons, `is_place` in subscripts.
fn rewrite(
    node: &mut Node,
    (scalars, typed): (&BTreeSet<&String>, &BTreeSet<&String>),
    (is_compared, is_place): (bool, bool),
    is_function: &dyn Fn(&str, &[Node]) -> bool,
) {
    if let NodeKind::Name(name) = &node.kind
        && (is_compared && scalars.contains(name)
            || (is_compared || is_place) && typed.contains(name))
    {
        let tensor = Name { text: name.clone(), span: node.span };
        node.kind = NodeKind::Call { tensor, arguments: Vec::new(), reciprocal: false };
        return;
    }
    let inside = match &node.kind {
        NodeKind::Compare(..) => (true, false),
        NodeKind::Call { tensor, arguments, .. } => (false, !is_function(&tensor.text, arguments)),
        NodeKind::Reduced(..) => (false, false),
        _ => (is_compared, is_place),
    };
    let parts = node.parts_mut().into_iter();
    parts.for_each(|part| rewrite(part, (scalars, typed), inside, is_function));
}
