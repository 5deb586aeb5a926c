//! `:D`, `:U` and `:R` rules as unions of regions.

use std::collections::{BTreeMap, BTreeSet};

use super::{Checker, aspect_key};
use crate::affine::visit_names;
use crate::ast::{Aspect, Expr, ExprKind, Name, ReduceOp, RuleItem, Span, Term};
use crate::coefficient::Coefficient;
use crate::diagnostic::Diagnostic;
use crate::hint::similar;
use crate::parser::statistics::is_statistic;
use crate::parser::words;
use crate::program::{Program, Region, Structure};

impl Checker<'_> {
    /// Gives every tensor its structures; inputs must have dimensions.
    pub(super) fn declare(&mut self, program: &mut Program) {
        for id in program.tensor_ids() {
            let name = program.tensor(id).name.clone();
            let mut built = [Aspect::Domain, Aspect::Unique, Aspect::Redundancy]
                .map(|aspect| self.structure(&name, aspect))
                .into_iter();
            let declared = self.structures.contains_key(&(name.as_str(), 0))
                || self.structures.contains_key(&(name.as_str(), 1));
            self.not_of_reductions(&name);
            let tensor = &mut program.tensors[id.0];
            tensor.domain = built.next().flatten();
            tensor.unique = built.next().flatten();
            tensor.redundancy = built.next().flatten();
            if declared || tensor.rank == 0 || self.is_head(&name) {
                continue;
            }
            let mut error = Diagnostic::error(
                "E0303",
                format!("`{name}` has no dimensions"),
                tensor.span,
                "read here, but neither computed nor declared",
            );
            let known: Vec<&str> = self
                .values
                .iter()
                .map(|value| value.rule.tensor.text.as_str())
                .chain(self.structures.keys().map(|(name, _)| *name))
                .collect();
            let transposed = name.strip_suffix(".T").filter(|own| known.contains(own));
            error = match (similar(&name, known), reduction(&name)) {
                _ if transposed.is_some() => {
                    let own = transposed.unwrap_or_default();
                    error.hint(format!("the transpose of `{own}(i, j)` is `{own}(j, i)`"))
                }
                (_, Some(hint)) => error.hint(hint),
                (Some(close), None) => error.hint(format!("did you mean `{close}`?")),
                (None, None) => {
                    let example = self.dimensions(&name);
                    let example =
                        example.unwrap_or_else(|| format!("`{name}:D(i) := (0 <= i < N)`"));
                    error.hint(match words::function(&name) {
                        Some(word) => {
                            format!("{word}; a tensor is declared, for example {example}")
                        }
                        None => format!("declare them, for example {example}"),
                    })
                }
            };
            self.report(error);
        }
        // Structures of tensors that no rule uses are checked too.
        let unused: Vec<(String, Aspect)> = self
            .structures
            .iter()
            .filter(|((name, _), _)| program.find(name).is_none())
            .map(|((name, _), rule)| ((*name).to_string(), rule.aspect))
            .collect();
        for (name, aspect) in unused {
            self.structure(&name, aspect);
        }
    }

    /// Inference proves declared structures only for sums, so other reductions cannot have them.
    fn not_of_reductions(&mut self, name: &str) {
        let value = self.values.iter().find(|value| value.rule.tensor.text == name);
        let reduction = value.and_then(|value| value.rule.reduction.as_ref());
        let Some(reduction) = reduction.filter(|one| one.operator != ReduceOp::Sum) else { return };
        for (key, word) in [(1, ":U"), (2, ":R")] {
            let Some(rule) = self.structures.get(&(name, key)) else { continue };
            let what = format!("`{word}` of a tensor that is not a sum (`{name}`)");
            let error = Diagnostic::unsupported(what, rule.span, "its structure")
                .label(reduction.span, "not a sum")
                .hint("leave it out: where there is no product, the element is not there");
            self.report(error);
        }
    }

    fn structure(&mut self, name: &str, aspect: Aspect) -> Option<Structure> {
        let rule = *self.structures.get(&(name, aspect_key(aspect)))?;
        let iterators: Vec<String> = rule.iterators.iter().map(|name| name.text.clone()).collect();
        let mut structure = Structure { iterators, regions: Vec::new(), span: rule.span };
        let mut unknown = BTreeSet::new();
        for factors in self.products(&rule.body)? {
            if let Some(region) = self.region(rule, &structure.iterators, &factors, &mut unknown) {
                structure.regions.push(region);
            }
        }
        Some(structure)
    }

    fn region(
        &mut self,
        rule: &RuleItem,
        iterators: &[String],
        factors: &[&Term],
        unknown: &mut BTreeSet<String>,
    ) -> Option<Region> {
        let kind = format!("`{}{}`", rule.tensor.text, rule.aspect);
        let span = factors.iter().skip(1).fold(factors[0].span(), |all, f| all.to(f.span()));
        let mut comparisons = Vec::new();
        let mut symbols: Vec<(Coefficient, Span)> = Vec::new();
        let mut fits = true;
        for factor in factors {
            match factor {
                Term::Comparison(comparison) => comparisons.push(comparison.clone()),
                Term::Access { tensor, span, reciprocal, .. } => {
                    if let Some(symbol) = self.symbol(&tensor.text) {
                        symbols.push((Coefficient::symbol(symbol, *reciprocal), *span));
                        continue;
                    }
                    let message = format!("a tensor in {kind}");
                    self.report(
                        Diagnostic::error("E0203", message, *span, "a value, not a condition")
                            .hint("structures are made of comparisons, numbers and symbols"),
                    );
                    fits = false;
                }
                Term::Call { span, .. } | Term::Reduced { span, .. } => {
                    let message = format!("a function of values in {kind}");
                    self.report(
                        Diagnostic::error("E0203", message, *span, "a value, not a condition")
                            .hint("structures are made of comparisons, numbers and symbols"),
                    );
                    fits = false;
                }
                _ => {}
            }
        }
        let coefficient = self.coefficient(factors)?;
        let first = coefficient.spans.iter().chain(symbols.iter().map(|(_, span)| span)).next();
        let first = first.copied().unwrap_or(span);
        if rule.aspect != Aspect::Redundancy && (coefficient.value != 1.0 || !symbols.is_empty()) {
            let message = format!("a coefficient in {kind}");
            self.report(
                Diagnostic::error("E0204", message, first, "a set has no coefficient")
                    .hint("coefficients belong into `:R`; regions are joined with `+`"),
            );
            fits = false;
        } else if coefficient.value == 0.0 {
            let message = format!("a coefficient of zero in {kind}");
            self.report(
                Diagnostic::error("E0202", message, first, "zero")
                    .hint("leave the region out: what is in neither `:U` nor `:R` is zero"),
            );
            fits = false;
        }
        let known: Vec<&str> = iterators.iter().map(String::as_str).collect();
        self.bounded_names(&comparisons, &known, unknown);
        let mut locals: Vec<String> = Vec::new();
        for operand in comparisons.iter().flat_map(|comparison| &comparison.operands) {
            visit_names(operand, &mut |name, _| {
                if self.symbol(name).is_none()
                    && !known.contains(&name)
                    && !locals.iter().any(|local| local == name)
                {
                    locals.push(name.into());
                }
            });
        }
        let mut value = Some(Coefficient::number(coefficient.value));
        for (symbol, _) in &symbols {
            value = value.and_then(|value| value.times(symbol));
        }
        let coefficient = value?;
        fits.then_some(Region { coefficient, locals, comparisons, span })
    }
}

/// Whether two structure rules say the same but for the names of their iterators.
pub(super) fn same(first: &RuleItem, second: &RuleItem) -> bool {
    if first.iterators.len() != second.iterators.len() {
        return false;
    }
    let rename = first
        .iterators
        .iter()
        .zip(&second.iterators)
        .map(|(to, from)| (from.text.as_str(), to.text.as_str()))
        .collect();
    renamed(&second.body, &rename) == first.body
}

fn renamed(term: &Term, names: &BTreeMap<&str, &str>) -> Term {
    let mut term = term.clone();
    rename_term(&mut term, names);
    term
}

/// Gives iterators other names, but for those of reductions inside.
pub(super) fn rename_term(term: &mut Term, names: &BTreeMap<&str, &str>) {
    let new = |name: &mut Name| {
        if let Some(new) = names.get(name.text.as_str()) {
            name.text = (*new).into();
        }
    };
    match term {
        Term::Access { subscripts, position, .. } => {
            subscripts.iter_mut().for_each(|s| rename(s, names));
            position.iter_mut().for_each(new);
        }
        Term::Index(name) => new(name),
        Term::Reduced { reduction, body, .. } => {
            let mut names = names.clone();
            reduction.iterators.iter().for_each(|name| {
                names.remove(name.text.as_str());
            });
            rename_term(body, &names);
        }
        Term::Comparison(comparison) => {
            comparison.operands.iter_mut().for_each(|o| rename(o, names))
        }
        other => other.parts_mut().iter_mut().for_each(|term| rename_term(term, names)),
    }
}

/// Gives iterators of an expression other names.
pub(super) fn rename(expr: &mut Expr, names: &BTreeMap<&str, &str>) {
    match &mut expr.kind {
        ExprKind::Int(_) => {}
        ExprKind::Name(name) => {
            if let Some(new) = names.get(name.as_str()) {
                *name = (*new).into();
            }
        }
        ExprKind::Neg(inner) => rename(inner, names),
        ExprKind::Binary(_, left, right) => {
            rename(left, names);
            rename(right, names);
        }
    }
}

/// What to write where a tensor has the name of a reduction: `sum(x)`.
fn reduction(name: &str) -> Option<String> {
    // Of a module, such as `np.sum`.
    let name = name.rsplit_once('.').map_or(name, |(_, own)| own);
    if name == "dot" {
        return Some("a product of two vectors is a sum: `sum(i) x(i) * y(i)`".into());
    }
    let known = ReduceOp::ALL.iter().any(|one| one.word() == name) || is_statistic(name);
    known.then(|| {
        format!("a reduction names iterators, and what follows is reduced: `{name}(i) x(i)`")
    })
}
