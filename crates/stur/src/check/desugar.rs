//! Reductions within right-hand sides as rules of their own: `P(i, j) := exp(S(i, j) - max(k) S(i, k))` becomes
//! `P.1(i) := max(k) S(i, k)` and `P(i, j) := exp(S(i, j) + -1 * P.1(i))`.

mod inline;
mod masked;

use std::collections::BTreeSet;

use dastac_elements::Function;
use masked::{Inputs, Mask};

use crate::affine::visit_names;
use crate::ast::{
    Aspect, Expr, ExprKind, File, Item, Name, Operation, ReduceOp, RuleItem, Term, TypeItem,
};

/// The file with a rule for each reduction that is not all of a right-hand side. The rules come before the one that
/// reads them, and compute elements of the type of its head; within comparisons and casts, of the type of what they
/// reduce.
pub(super) fn reductions(file: &File) -> File {
    let mut work = Desugar {
        taken: BTreeSet::new(),
        symbols: BTreeSet::new(),
        inputs: Inputs::of(file),
        added: Vec::new(),
    };
    for item in &file.items {
        match item {
            Item::Symbols(names, _) => {
                work.symbols.extend(names.iter().map(|name| name.text.clone()));
            }
            Item::Rule(rule) => {
                if rule.aspect == Aspect::Value {
                    // Structures may be those of a part: what `infer` prints can be pasted.
                    work.taken.insert(rule.tensor.text.clone());
                }
                collect(&rule.body, &mut work.taken);
            }
            _ => {}
        }
    }
    let mut items = Vec::new();
    let mut types = Vec::new();
    for item in &file.items {
        match item {
            Item::Rule(rule) if rule.aspect == Aspect::Value => {
                let mut rule = rule.clone();
                let head = rule.tensor.text.clone();
                inline::sums(&mut rule, &work.symbols);
                let adds = rule.reduction.as_ref().is_none_or(|one| one.operator == ReduceOp::Sum);
                let place = Place { masks: Vec::new(), is_factor: adds, own: false };
                work.within(&head, &rule.iterators.clone(), &mut rule.body, place);
                let domain = domain_of(file, &rule.tensor.text);
                for (mut part, own, mask) in work.added.drain(..) {
                    let of = match own {
                        true => read(&part.body),
                        false => vec![head.clone()],
                    };
                    types.push((of, part.tensor.clone(), part.body.clone()));
                    if let Some(mask) = mask {
                        items.extend(work.inputs.restrict(&mut part, &mask).into_iter().flatten());
                    } else {
                        let own = domain.and_then(|domain| part_of_domain(&rule, domain, &part));
                        items.extend(own.map(Item::Rule));
                    }
                    items.push(Item::Rule(part));
                }
                items.push(Item::Rule(rule));
            }
            item => items.push(item.clone()),
        }
    }
    for item in &mut items {
        let Item::Types(entries, _) = item else { continue };
        for (of, part, body) in &types {
            if let Some(element) = element_of(of, body, entries) {
                entries.push(TypeItem { tensor: part.clone(), element });
            }
        }
    }
    File { items }
}

/// The type of a part of a rule, which is that of some tensors: real if its value is real, as `abs(z(i))` is where `z`
/// is complex, and complex if it is complex, as what is summed in `abs(sum(i) z(i))` is.
fn element_of(tensors: &[String], body: &Term, entries: &[TypeItem]) -> Option<Name> {
    let found = common(tensors, entries);
    let named = |name: &Name, text: &str| Name { text: text.into(), span: name.span };
    match (found, complex_in(body, entries)) {
        (Some(name), None) if name.text == "complex128" => Some(named(&name, "f64")),
        (Some(name), None) if name.text == "complex64" => Some(named(&name, "f32")),
        (Some(name), Some(complex)) if !name.text.starts_with("complex") => Some(complex),
        (None, complex) => complex,
        (found, _) => found,
    }
}

/// The type of the first complex tensor that makes a term complex.
fn complex_in(term: &Term, entries: &[TypeItem]) -> Option<Name> {
    match term {
        Term::Access { tensor, position: None, .. } => {
            let entry = entries.iter().find(|entry| entry.tensor.text == tensor.text);
            let element = entry.map(|entry| entry.element.clone());
            element.filter(|name| name.text.starts_with("complex"))
        }
        Term::Call { operation: Operation::Function(function), .. }
            if function.of_complex() && *function != Function::Conj =>
        {
            None
        }
        Term::Call { operation: Operation::Compare(_) | Operation::Cast(_), .. } => None,
        Term::Call { operation: Operation::Where, arguments, .. } => {
            arguments.iter().skip(1).find_map(|part| complex_in(part, entries))
        }
        Term::Index(name) => {
            let entry = entries.iter().find(|entry| entry.tensor.text == name.text);
            let element = entry.map(|entry| entry.element.clone());
            element.filter(|name| name.text.starts_with("complex"))
        }
        other => other.parts().iter().find_map(|part| complex_in(part, entries)),
    }
}

/// The type of what is computed of some tensors, if it is said and not that of tensors without one: that of all of
/// them, else of the first one with complex numbers, else none.
fn common(tensors: &[String], entries: &[TypeItem]) -> Option<Name> {
    let said = tensors.iter().map(|tensor| {
        entries.iter().find(|entry| entry.tensor.text == *tensor).map(|entry| &entry.element)
    });
    let said: Vec<Option<&Name>> = said.collect();
    let complex = said.iter().flatten().find(|name| name.text.starts_with("complex"));
    let first = said.first().copied().flatten()?;
    let same = said.iter().all(|other| other.is_some_and(|name| name.text == first.text));
    match same {
        true => Some(first.clone()),
        false => complex.map(|name| (*name).clone()),
    }
}

/// All tensors that a term reads.
fn read(term: &Term) -> Vec<String> {
    let mut names = BTreeSet::new();
    collect(term, &mut names);
    names.into_iter().collect()
}

/// The `:D` of a tensor.
fn domain_of<'f>(file: &'f File, tensor: &str) -> Option<&'f RuleItem> {
    file.items.iter().find_map(|item| match item {
        Item::Rule(rule) if rule.aspect == Aspect::Domain && rule.tensor.text == tensor => {
            Some(rule)
        }
        _ => None,
    })
}

/// The `:D` of a part of a rule, from that of the head: without it, an iterator of the head that is no subscript in the
/// part would have no bounds there. Before -> after, of `y(k) := 1 + sum(n) cos(k * n) * x(n)` with
/// `y:D(k) := (0 <= k < N)`: `y.1:D(k) := (0 <= k < N)`.
fn part_of_domain(rule: &RuleItem, domain: &RuleItem, part: &RuleItem) -> Option<RuleItem> {
    let mut bound = BTreeSet::new();
    bound_in(&part.body, &mut bound);
    if part.iterators.iter().all(|name| bound.contains(&name.text)) {
        return None;
    }
    let mut own = Vec::new();
    for name in &part.iterators {
        let at = rule.iterators.iter().position(|other| other.text == name.text)?;
        own.push(domain.iterators.get(at)?.clone());
    }
    let factors = match &domain.body {
        Term::Product(factors, _) => factors.clone(),
        other => vec![other.clone()],
    };
    let others = |name: &str| {
        domain.iterators.iter().any(|one| one.text == name)
            && !own.iter().any(|one| one.text == name)
    };
    let mut kept = Vec::new();
    for factor in factors {
        let Term::Comparison(_) = &factor else { return None };
        let mut all = true;
        visit_terms(&factor, &mut |name, _| all &= !others(name));
        if all {
            kept.push(factor);
        }
    }
    let body = match kept.len() {
        0 => return None,
        1 => kept.remove(0),
        _ => Term::Product(kept, domain.span),
    };
    Some(RuleItem {
        tensor: part.tensor.clone(),
        aspect: Aspect::Domain,
        iterators: own,
        reduction: None,
        body,
        part_of: part.part_of.clone(),
        summed: Vec::new(),
        span: domain.span,
    })
}

/// The names that bound themselves: subscripts, and what is compared.
fn bound_in(term: &Term, names: &mut BTreeSet<String>) {
    match term {
        Term::Access { subscripts, .. } => {
            names.extend(subscripts.iter().filter_map(|subscript| match &subscript.kind {
                ExprKind::Name(name) => Some(name.clone()),
                _ => None,
            }));
        }
        Term::Comparison(_) => visit_terms(term, &mut |name, _| {
            names.insert(name.into());
        }),
        other => other.parts().iter().for_each(|part| bound_in(part, names)),
    }
}

/// All names of tensors.
fn collect(term: &Term, names: &mut BTreeSet<String>) {
    if let Term::Access { tensor, .. } = term {
        names.insert(tensor.text.clone());
    }
    term.parts().iter().for_each(|part| collect(part, names));
}

struct Desugar<'f> {
    taken: BTreeSet<String>,
    symbols: BTreeSet<String>,
    inputs: Inputs<'f>,
    /// Rules, whether their elements are of the type of what they read, and the sparse inputs at whose elements theirs
    /// are needed.
    added: Vec<(RuleItem, bool, Option<Mask>)>,
}

/// Where a term stands.
#[derive(Clone)]
struct Place {
    /// Sparse inputs that it is multiplied with.
    masks: Vec<Mask>,
    /// Whether it is a factor or summand of products that are added up, not an argument.
    is_factor: bool,
    /// Whether it is of the type of its own.
    own: bool,
}

impl Desugar<'_> {
    /// Replaces the reductions within a term by elements of tensors, which are of types of their `own` within
    /// comparisons and casts.
    fn within(&mut self, head: &str, iterators: &[Name], term: &mut Term, place: Place) {
        let apart = matches!(
            term,
            Term::Call { operation: Operation::Compare(_) | Operation::Cast(_), .. }
        );
        // Whether there is one is of the type of the rule.
        let is_or =
            matches!(term, Term::Reduced { reduction, .. } if reduction.operator == ReduceOp::Or);
        let own = place.own;
        let mut inner = Place { own: own && !is_or || apart, ..place.clone() };
        match term {
            Term::Product(factors, _) if place.is_factor => {
                inner.masks.extend(self.inputs.among(factors, &self.symbols));
            }
            Term::Call { .. } => inner.is_factor = false,
            Term::Reduced { reduction, .. } => {
                inner.masks = masked::not_bound(&place.masks, reduction);
                inner.is_factor = reduction.operator == ReduceOp::Sum;
            }
            _ => {}
        }
        for part in term.parts_mut() {
            self.within(head, iterators, part, inner.clone());
        }
        let Term::Reduced { reduction, body, span } = term else { return };
        let reduced = |name: &str| reduction.iterators.iter().any(|one| one.text == name);
        let mut free: Vec<Name> = Vec::new();
        let mut add = |name: &str, span| {
            let known = free.iter().any(|other| other.text == name);
            if !known && !reduced(name) && !self.symbols.contains(name) {
                free.push(Name { text: name.into(), span });
            }
        };
        visit_terms(body, &mut add);
        // As in the head, then by appearance.
        free.sort_by_key(|name| {
            iterators.iter().position(|other| other.text == name.text).unwrap_or(iterators.len())
        });
        let mask = match reduction.operator {
            ReduceOp::Sum => masked::fitting(&place.masks, &free),
            _ => None,
        };
        if let Some(mask) = &mask {
            free.clone_from(&mask.iterators);
        }
        let name = self.name(head);
        let tensor = Name { text: name, span: *span };
        let expression =
            |name: &Name| Expr { kind: ExprKind::Name(name.text.clone()), span: name.span };
        let element = Term::Access {
            position: None,
            tensor: tensor.clone(),
            subscripts: free.iter().map(expression).collect(),
            reciprocal: false,
            span: *span,
        };
        let rule = RuleItem {
            tensor,
            aspect: Aspect::Value,
            iterators: free,
            reduction: Some(reduction.clone()),
            body: (**body).clone(),
            part_of: Some(head.into()),
            summed: Vec::new(),
            span: *span,
        };
        self.added.push((rule, own && !is_or, mask));
        *term = element;
    }

    /// A name that no tensor has.
    fn name(&mut self, head: &str) -> String {
        let mut number = 1;
        loop {
            let name = format!("{head}.{number}");
            if self.taken.insert(name.clone()) {
                return name;
            }
            number += 1;
        }
    }
}

/// Calls `visit` with each name of an iterator or symbol.
fn visit_terms(term: &Term, visit: &mut dyn FnMut(&str, crate::ast::Span)) {
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
