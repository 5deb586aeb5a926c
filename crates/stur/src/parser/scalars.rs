//! Scalars that are compared: `c` in `x(i) * (c > 0)`, where a rule computes `c` and nothing else of this rule has such
//! an iterator, is the element `c()`.

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

/// Has scalars that are compared be elements. `iterators` are those of the head.
pub(super) fn compared(
    node: &mut Node,
    scalars: &BTreeSet<String>,
    iterators: &BTreeSet<String>,
    is_function: &dyn Fn(&str, &[Node]) -> bool,
) {
    let mut taken = iterators.clone();
    iterators_in(node, is_function, &mut taken);
    let scalars: BTreeSet<&String> = scalars.difference(&taken).collect();
    if !scalars.is_empty() {
        rewrite(node, &scalars, false);
    }
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

fn rewrite(node: &mut Node, scalars: &BTreeSet<&String>, is_compared: bool) {
    if let NodeKind::Name(name) = &node.kind
        && is_compared
        && scalars.contains(name)
    {
        let tensor = Name { text: name.clone(), span: node.span };
        node.kind = NodeKind::Call { tensor, arguments: Vec::new(), reciprocal: false };
        return;
    }
    let is_compared = match &node.kind {
        NodeKind::Compare(..) => true,
        NodeKind::Call { .. } | NodeKind::Reduced(..) => false,
        _ => is_compared,
    };
    node.parts_mut().into_iter().for_each(|part| rewrite(part, scalars, is_compared));
}
