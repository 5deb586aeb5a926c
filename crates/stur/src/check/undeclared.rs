//! What an input without dimensions is told: the dimensions that it would have by the iterators it is read with.

use super::Checker;
use crate::affine::names;
use crate::ast::{Expr, ExprKind, RuleItem, Term};
use crate::parser::means::bounds;

impl Checker<'_> {
    /// Dimensions for an input: for `w(j)` in `X(i, j) * w(j)`, with `X:D(i, j) := (0 <= i < N) * (0 <= j < D)`, these
    /// are `w:D(j) := (0 <= j < D)`.
    pub(super) fn dimensions(&self, input: &str) -> Option<String> {
        let read = |rule: &RuleItem| {
            let mut found = Vec::new();
            reads(&rule.body, &mut found);
            let own = found.iter().find(|(name, _)| *name == input)?;
            let mut iterators: Vec<String> = Vec::new();
            let mut regions = Vec::new();
            for subscript in own.1 {
                let by_itself = match &subscript.kind {
                    ExprKind::Name(name) if self.symbol(name).is_none() => Some(name),
                    _ => None,
                };
                let of_iterator = by_itself.and_then(|name| self.extent(rule, &found, name));
                // The name of an iterator, or another one for what is more than an iterator.
                let first = names(subscript).into_iter().find(|name| self.symbol(name).is_none());
                let letters = ["i", "j", "k", "l", "m", "n", "p", "q", "r"];
                let mut choices = first.into_iter().chain(letters);
                let is_free = |name: &&str| {
                    self.symbol(name).is_none() && iterators.iter().all(|other| other != name)
                };
                let name = choices.find(is_free)?.to_string();
                let (low, high) = of_iterator.unwrap_or(("0".into(), "< ..".into()));
                regions.push(format!("({low} <= {name} {high})"));
                iterators.push(name);
            }
            let head = iterators.join(", ");
            Some(format!("`{input}:D({head}) := {}`", regions.join(" * ")))
        };
        self.values.iter().find_map(|value| read(value.rule))
    }

    /// The bounds of the first dimension that an iterator goes along by itself, of what a rule reads or computes.
    fn extent(
        &self,
        rule: &RuleItem,
        found: &[(&str, &[Expr])],
        iterator: &str,
    ) -> Option<(String, String)> {
        let is_iterator =
            |one: &Expr| matches!(&one.kind, ExprKind::Name(name) if name == iterator);
        let along = |(tensor, at): (&str, usize)| {
            let domain = self.structures.get(&(tensor, 0))?;
            bounds(domain, at)
        };
        let read = found.iter().filter_map(|(tensor, subscripts)| {
            Some((*tensor, subscripts.iter().position(is_iterator)?))
        });
        let of_head = rule.iterators.iter().position(|name| name.text == iterator);
        let of_head = of_head.map(|at| (rule.tensor.text.as_str(), at));
        read.chain(of_head).find_map(along)
    }
}

/// The elements that a term reads.
fn reads<'t>(term: &'t Term, found: &mut Vec<(&'t str, &'t [Expr])>) {
    if let Term::Access { tensor, subscripts, .. } = term {
        found.push((&tensor.text, subscripts));
    }
    term.parts().iter().for_each(|part| reads(part, found));
}
