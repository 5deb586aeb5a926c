//! Reductions that a rule has several times, under other names of iterators: they are computed once, and what follows
//! from both being the same tensor is found, as that a covariance matrix is symmetric.
//!
//! `C(i, j) := (X(k, i) - (max(t) X(t, i))) * (X(k, j) - (max(s) X(s, j)))` has one tensor `C.1(i) := max(t) X(t, i)`.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{bound_in, visit_terms};
use crate::ast::{Name, Term};
use crate::check::structures::rename_term;

/// A reduction of a rule that is a tensor.
pub(super) struct Shared {
    text: String,
    tensor: Name,
    /// Its subscripts, as numbers of free iterators by appearance.
    order: Vec<usize>,
}

/// A reduction without the names of its iterators.
pub(super) struct Canonical {
    text: String,
    /// The iterators that it does not reduce over, by appearance.
    free: Vec<String>,
}

impl Canonical {
    /// Of how a body is reduced, and over which iterators; none are needed of what is not reduced. None where an
    /// iterator has no bounds in the body: those that it has elsewhere may be others.
    pub(super) fn of(
        (how, over): (String, &[Name]),
        body: &Term,
        symbols: &BTreeSet<String>,
    ) -> Option<Canonical> {
        let mut names: Vec<String> = Vec::new();
        visit_terms(body, &mut |name, _| {
            if !symbols.contains(name) && names.iter().all(|known| known != name) {
                names.push(name.into());
            }
        });
        let reduced = |name: &String| over.iter().any(|one| one.text == *name);
        let free: Vec<String> = names.iter().filter(|name| !reduced(name)).cloned().collect();
        let mut bound = BTreeSet::new();
        bound_in(body, &mut bound);
        if !free.iter().all(|name| bound.contains(name)) {
            return None;
        }
        let canonical: Vec<String> = (0..names.len()).map(|number| format!(".{number}")).collect();
        let renamed: BTreeMap<&str, &str> =
            names.iter().map(String::as_str).zip(canonical.iter().map(String::as_str)).collect();
        let mut body = body.clone();
        rename_term(&mut body, &renamed);
        let over: BTreeSet<&str> = over
            .iter()
            .map(|name| renamed.get(name.text.as_str()).copied().unwrap_or(&name.text))
            .collect();
        let text = format!("{how} {over:?} {body}");
        Some(Canonical { text, free })
    }

    /// The element of a tensor that the rule has already and that is the same.
    pub(super) fn known(&self, all: &[Shared]) -> Option<(Name, Vec<String>)> {
        let same = all.iter().find(|one| one.text == self.text)?;
        let subscripts = same.order.iter().map(|at| self.free[*at].clone()).collect();
        Some((same.tensor.clone(), subscripts))
    }

    /// The tensor that it is, with these subscripts.
    pub(super) fn shared(self, tensor: &Name, subscripts: &[String]) -> Option<Shared> {
        let at = |name: &String| self.free.iter().position(|one| one == name);
        let order = subscripts.iter().map(at).collect::<Option<_>>()?;
        Some(Shared { text: self.text, tensor: tensor.clone(), order })
    }
}
