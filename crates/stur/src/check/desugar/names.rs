//! The names in terms.

use std::collections::BTreeSet;

use crate::affine::visit_names;
use crate::ast::{ExprKind, Span, Term};

/// The names that bound themselves: subscripts. What is compared may have no bounds of its own, as `i` in `(j <= i)`.
pub(super) fn bound_in(term: &Term, names: &mut BTreeSet<String>) {
    match term {
        Term::Access { subscripts, .. } => {
            names.extend(subscripts.iter().filter_map(|subscript| match &subscript.kind {
                ExprKind::Name(name) => Some(name.clone()),
                _ => None,
            }));
        }
        other => other.parts().iter().for_each(|part| bound_in(part, names)),
    }
}

/// All names of tensors.
pub(super) fn collect(term: &Term, names: &mut BTreeSet<String>) {
    if let Term::Access { tensor, .. } = term {
        names.insert(tensor.text.clone());
    }
    term.parts().iter().for_each(|part| collect(part, names));
}

/// All tensors that a term reads.
pub(super) fn read(term: &Term) -> Vec<String> {
    let mut names = BTreeSet::new();
    collect(term, &mut names);
    names.into_iter().collect()
}

/// Calls `visit` with each name of an iterator or symbol.
pub(super) fn visit_terms(term: &Term, visit: &mut dyn FnMut(&str, Span)) {
    match term {
        Term::Access { subscripts, position, .. } => {
            subscripts.iter().for_each(|subscript| visit_names(subscript, visit));
            if let Some(position) = position {
                visit(&position.text, position.span);
            }
        }
        Term::Comparison(comparison) => {
            comparison.operands.iter().for_each(|operand| visit_names(operand, visit));
        }
        Term::Index(name) => visit(&name.text, name.span),
        other => other.parts().iter().for_each(|part| visit_terms(part, visit)),
    }
}
