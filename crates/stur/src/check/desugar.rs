//! Reductions within right-hand sides as rules of their own: `P(i, j) := exp(S(i, j) - max(k) S(i, k))` becomes
//! `P.1(i) := max(k) S(i, k)` and `P(i, j) := exp(S(i, j) + -1 * P.1(i))`.

mod bounded;
mod defaults;
mod factored;
mod gathered;
mod grouped;
mod inline;
mod known;
mod masked;
mod merged;
mod names;
mod piecewise;
mod placed;
mod rounded;
mod shared;

use std::collections::BTreeSet;

use bounded::{domain_of, part_of_domain};
use dastac_elements::{Element, Function, Kind};
use known::{Known, typed};
use masked::{Inputs, Mask};
use names::{collect, read, visit_terms};
use shared::{Canonical, Shared};

use crate::ast::{
    Aspect, Expr, ExprKind, File, FormatItem, Item, Name, Operation, ReduceOp, Reduction, RuleItem,
    Span, Term, TypeItem, is_product,
};
use crate::parser::sums::free;

/// The file with a rule for each reduction that is not all of a right-hand side. The rules come before the one that
/// reads them, and compute elements of the type of its head; within comparisons and casts, of the type of what they
/// reduce.
pub(super) fn reductions(file: &File) -> File {
    let mut work = Desugar {
        taken: BTreeSet::new(),
        symbols: BTreeSet::new(),
        inputs: Inputs::of(file),
        known: Known::default(),
        integers: BTreeSet::new(),
        added: Vec::new(),
        shared: Vec::new(),
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
    work.known = Known::of(file, &work.symbols);
    let mut items = Vec::new();
    let (mut types, mut chosen) = (Vec::new(), Vec::new());
    for item in &file.items {
        match item {
            Item::Rule(rule) if rule.aspect == Aspect::Value => {
                let mut rule = rule.clone();
                let head = rule.tensor.text.clone();
                piecewise::rule(&mut rule, &work.symbols);
                grouped::rule(&mut rule);
                inline::sums(&mut rule, &work.symbols);
                if work.known.has_integers(&head) {
                    rounded::rounded(&mut rule.body, &work.known);
                }
                work.shared.clear();
                work.extremes(&mut rule);
                work.merged(file, &mut rule);
                let adds = rule.reduction.as_ref().is_none_or(|one| one.operator == ReduceOp::Sum);
                work.within(&head, &rule.iterators.clone(), &mut rule.body, Place::of(adds));
                let domain = domain_of(file, &rule.tensor.text);
                for Added { mut part, own, mask, conditions, element, items: own_items } in
                    work.added.drain(..)
                {
                    let of = match own {
                        true => read(&part.body),
                        false => vec![head.clone()],
                    };
                    match element {
                        Of::Part => {
                            let finite = work.known.has_integers(&head);
                            types.push((of, part.tensor.text.clone(), (own, finite)));
                        }
                        Of::Type(element) => {
                            chosen.push(typed(&part.tensor.text, element, part.span));
                        }
                        Of::Rule => {}
                    }
                    if !own_items.is_empty() {
                        items.extend(own_items);
                    } else if let Some(mask) = mask {
                        items.extend(work.inputs.restrict(&mut part, &mask).into_iter().flatten());
                    } else {
                        let own = domain.and_then(|domain| part_of_domain(&rule, domain, &part));
                        if own.is_none() {
                            bounded::bound((file, &work.symbols), &rule, &mut part, &conditions);
                        }
                        items.extend(own.map(Item::Rule));
                    }
                    items.push(Item::Rule(part));
                }
                items.push(Item::Rule(rule));
            }
            Item::Rule(rule) => {
                let mut rule = rule.clone();
                piecewise::rule(&mut rule, &work.symbols);
                items.push(Item::Rule(rule));
            }
            Item::Types(entries, span) => {
                items.push(Item::Types(defaults::expanded(entries, file, &work.symbols), *span));
            }
            item => items.push(item.clone()),
        }
    }
    let rules = items.iter().filter_map(|item| match item {
        Item::Rule(rule) if rule.aspect == Aspect::Value => Some(rule.clone()),
        _ => None,
    });
    let rules: Vec<RuleItem> = rules.collect();
    chosen.extend(work.integers.iter().map(|name| typed(name, Element::I64, Span::default())));
    with_types(&mut items, chosen);
    for item in &mut items {
        let Item::Types(entries, _) = item else { continue };
        for rule in &rules {
            let part = types.iter().find(|(_, part, _)| *part == rule.tensor.text);
            let element = match part {
                Some((of, _, (own, finite))) => {
                    let found = element_of(of, &rule.body, entries);
                    let integers = Integers { entries, symbols: &work.symbols, finite: *finite };
                    found.map(|name| wide(name, rule, *own, integers))
                }
                None => complex_head(rule, entries),
            };
            if let Some(element) = element {
                let tensor = rule.tensor.clone();
                entries.retain(|entry| !entry.by_default || entry.tensor.text != tensor.text);
                entries.push(TypeItem { tensor, element, by_default: false });
            }
        }
    }
    let entries: Vec<TypeItem> = items.iter().flat_map(entries_of).cloned().collect();
    for item in &mut items {
        if let Item::Rule(rule) = item {
            squares(&mut rule.body, &entries);
            let said = entries.iter().find(|entry| entry.tensor.text == rule.tensor.text);
            if let Some(most) = said.and_then(|entry| largest(&entry.element.text)) {
                finite(&mut rule.body, most);
            }
        }
    }
    File { items }
}

/// The largest number of a type of integers, as far as numbers of programs are exact: what is infinite among them.
fn largest(element: &str) -> Option<f64> {
    let element = Element::OF_TENSORS.iter().find(|one| one.name() == element)?;
    let bits = 8 * element.bytes() as u32;
    let bits = match element.kind() {
        Kind::Signed => bits - 1,
        Kind::Unsigned => bits,
        _ => return None,
    };
    Some(2f64.powi(bits.min(53) as i32) - 1.0)
}

/// What is infinite among integers is the largest of them.
fn finite(term: &mut Term, most: f64) {
    match term {
        Term::Number { value, .. } if value.is_infinite() => *value = most.copysign(*value),
        _ => term.parts_mut().iter_mut().for_each(|part| finite(part, most)),
    }
}

/// The types that an item says.
fn entries_of(item: &Item) -> &[TypeItem] {
    match item {
        Item::Types(entries, _) => entries,
        _ => &[],
    }
}

/// Adds types of tensors; a place for types, too, where complex numbers are made of real ones and no tensor has a type.
fn with_types(items: &mut Vec<Item>, added: Vec<TypeItem>) {
    let is_made = |item: &Item| match item {
        Item::Rule(rule) => complex_in(&rule.body, &[]).is_some(),
        _ => false,
    };
    if let Some(rule) = items.iter().find(|item| is_made(item) || !added.is_empty())
        && !items.iter().any(|item| matches!(item, Item::Types(..)))
    {
        let span = rule.span();
        items.insert(0, Item::Types(Vec::new(), span));
    }
    let first = items.iter_mut().find_map(|item| match item {
        Item::Types(entries, _) => Some(entries),
        _ => None,
    });
    if let Some(entries) = first {
        let is_added =
            |entry: &TypeItem| added.iter().any(|own| own.tensor.text == entry.tensor.text);
        entries.retain(|entry| !entry.by_default || !is_added(entry));
        entries.extend(added);
    }
}

/// The square of a magnitude is that of a real number, and of a complex one its product with its conjugate.
fn squares(term: &mut Term, entries: &[TypeItem]) {
    term.parts_mut().iter_mut().for_each(|part| squares(part, entries));
    let Term::Call { operation: Operation::Function(Function::Pow), arguments, span } = term else {
        return;
    };
    let span = *span;
    let call = |function: Function, argument: Term| Term::Call {
        operation: Operation::Function(function),
        arguments: vec![argument],
        span,
    };
    if let [magnitude, Term::Number { value: 2.0, reciprocal: false, .. }] = &mut arguments[..]
        && let Term::Call { operation: Operation::Function(Function::Abs), arguments: of, .. } =
            magnitude
        && let [value] = &of[..]
    {
        let value = value.clone();
        match complex_in(&value, entries) {
            Some(_) => {
                let factors = vec![value.clone(), call(Function::Conj, value)];
                *term = call(Function::Real, Term::Product(factors, span));
            }
            None => *magnitude = value,
        }
    }
}

/// The type of a head of which none is said, if what it is computed of is complex.
fn complex_head(rule: &RuleItem, entries: &[TypeItem]) -> Option<Name> {
    let said =
        entries.iter().any(|entry| entry.tensor.text == rule.tensor.text && !entry.by_default);
    let adds = rule.reduction.as_ref().is_none_or(|one| one.operator == ReduceOp::Sum);
    complex_in(&rule.body, entries).filter(|_| adds && !said)
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

/// The type in which a part of a rule is stored: one that holds what is computed of elements of this type, as it is
/// compared, cast or computed with before it is stored in the head. Sums of small integers are i64; what is compared or
/// cast is i64 or f64, so that it is not rounded; 16-bit floats are f32.
fn wide(name: Name, rule: &RuleItem, own: bool, integers: Integers<'_>) -> Name {
    let operator = rule.reduction.as_ref().map(|one| one.operator);
    let Some(element) = Element::named(&name.text) else { return name };
    let exact = matches!(operator, Some(ReduceOp::Min | ReduceOp::Max))
        && matches!(rule.body, Term::Access { reciprocal: false, .. });
    let text = match element {
        // The first that is true is the first of the largest.
        Element::Bool if matches!(operator, Some(ReduceOp::Min | ReduceOp::Max)) => "i64",
        _ if operator == Some(ReduceOp::Or) || exact || element.is_complex() => return name,
        _ if own && !element.is_integer() => "f64",
        Element::F16 | Element::Bf16 => "f32",
        _ if !element.is_integer() => return name,
        _ if integers.include(&rule.body) => "i64",
        // A head of integers says what is wrong.
        _ if !own => return name,
        _ => "f64",
    };
    Name { text: text.into(), span: name.span }
}

/// What tells of integers.
#[derive(Clone, Copy)]
struct Integers<'i> {
    entries: &'i [TypeItem],
    symbols: &'i BTreeSet<String>,
    /// Whether what is infinite is the largest of them.
    finite: bool,
}

impl Integers<'_> {
    /// Whether what is computed of integers is an integer.
    fn include(self, term: &Term) -> bool {
        let all = |parts: &[Term]| parts.iter().all(|part| self.include(part));
        match term {
            Term::Access { reciprocal: true, .. } | Term::Number { reciprocal: true, .. } => false,
            Term::Access { tensor, position, .. } => {
                let said = self.entries.iter().find(|entry| entry.tensor.text == tensor.text);
                let element = said.and_then(|entry| Element::named(&entry.element.text));
                position.is_some()
                    || self.symbols.contains(&tensor.text)
                    || element.is_some_and(|element| element.is_integer())
            }
            Term::Number { value, .. } => {
                value.fract() == 0.0 || self.finite && value.is_infinite()
            }
            Term::Comparison(_) | Term::Index(_) => true,
            Term::Call { operation, arguments, .. } => match operation {
                Operation::Compare(_) => true,
                Operation::Cast(element) => element.is_integer(),
                Operation::Where => all(&arguments[1..]),
                Operation::Min | Operation::Max => all(arguments),
                Operation::Function(Function::Pow) => match &arguments[..] {
                    [base, Term::Number { value, reciprocal: false, .. }] => {
                        is_product(*value) && self.include(base)
                    }
                    _ => false,
                },
                Operation::Function(function) => function.of_integers() && all(arguments),
                Operation::Divide => false,
            },
            other => all(other.parts()),
        }
    }
}

/// The type of the first complex tensor that makes a term complex.
fn complex_in(term: &Term, entries: &[TypeItem]) -> Option<Name> {
    match term {
        Term::Access { tensor: name, position: None, .. } | Term::Index(name) => {
            let entry = entries.iter().find(|entry| entry.tensor.text == name.text);
            let element = entry.map(|entry| entry.element.clone());
            element.filter(|name| name.text.starts_with("complex"))
        }
        Term::Call { operation: Operation::Function(function), .. }
            if function.is_real_of_complex() =>
        {
            None
        }
        Term::Call { operation: Operation::Function(Function::Complex), span, .. } => {
            Some(Name { text: "complex128".into(), span: *span })
        }
        Term::Call { operation: Operation::Compare(_) | Operation::Cast(_), .. } => None,
        Term::Call { operation: Operation::Where, arguments, .. } => {
            arguments.iter().skip(1).find_map(|part| complex_in(part, entries))
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
    let is_integer =
        |name: &Name| Element::named(&name.text).is_some_and(|element| element.is_integer());
    let integers = said.iter().all(|other| other.is_some_and(is_integer));
    let same =
        integers || said.iter().all(|other| other.is_some_and(|name| name.text == first.text));
    match same {
        true => Some(first.clone()),
        false => complex.map(|name| (*name).clone()),
    }
}

struct Desugar<'f> {
    taken: BTreeSet<String>,
    symbols: BTreeSet<String>,
    inputs: Inputs<'f>,
    known: Known,
    /// Inputs without types that choose elements.
    integers: BTreeSet<String>,
    /// Parts of the rule at hand.
    added: Vec<Added>,
    /// The same of the rule at hand, to be used again.
    shared: Vec<Shared>,
}

/// A part of a rule.
struct Added {
    part: RuleItem,
    /// Whether its elements are of the type of what it reads.
    own: bool,
    /// The sparse input at whose elements its own are needed.
    mask: Option<Mask>,
    /// The comparisons that it is multiplied with.
    conditions: Vec<Term>,
    element: Of,
    /// What else is said of it: its dimensions and its format.
    items: Vec<Item>,
}

/// What the elements of a part are.
#[derive(Clone, Copy)]
enum Of {
    /// Of the type of the head, or of what is read.
    Part,
    /// Of this type.
    Type(Element),
    /// As in a rule of which no type is said.
    Rule,
}

impl Added {
    /// A part of which nothing else is said.
    fn of(part: RuleItem) -> Added {
        let (conditions, items) = (Vec::new(), Vec::new());
        Added { part, own: false, mask: None, conditions, element: Of::Part, items }
    }
}

/// Where a term stands.
#[derive(Clone)]
struct Place {
    /// Sparse inputs that it is multiplied with.
    masks: Vec<Mask>,
    /// Comparisons that it is multiplied with.
    conditions: Vec<Term>,
    /// Whether it is a factor or summand of products that are added up, not an argument.
    is_factor: bool,
    /// Whether it is of the type of its own.
    own: bool,
}

impl Place {
    /// All of the right-hand side of a rule, which adds products or not.
    fn of(adds: bool) -> Place {
        Place { masks: Vec::new(), conditions: Vec::new(), is_factor: adds, own: false }
    }
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
        if let Term::Product(factors, _) = &term {
            let own = factors.iter().filter(|factor| matches!(factor, Term::Comparison(_)));
            inner.conditions.extend(own.cloned());
        }
        match term {
            Term::Product(factors, _) if place.is_factor => {
                inner.masks.extend(self.inputs.among(factors, &self.symbols));
            }
            Term::Call { .. } => inner.is_factor = false,
            Term::Reduced { reduction, .. } => {
                inner.masks = masked::not_bound(&place.masks, reduction);
                let is_free = |condition: &Term| {
                    let names = free(condition);
                    reduction.iterators.iter().all(|one| !names.contains(&one.text))
                };
                inner.conditions.retain(is_free);
                inner.is_factor = reduction.operator == ReduceOp::Sum;
            }
            _ => {}
        }
        for part in term.parts_mut() {
            self.within(head, iterators, part, inner.clone());
        }
        // A quotient by a reduction is one by an element now.
        if place.is_factor
            && let Term::Call { operation: Operation::Divide, arguments, .. } = term
            && let [Term::Number { value: 1.0, reciprocal: false, .. }, divisor] =
                &mut arguments[..]
            && let Term::Access { reciprocal: reciprocal @ false, position: None, .. } = divisor
        {
            *reciprocal = true;
            *term = divisor.clone();
            return;
        }
        self.places(head, iterators, term, &place);
        if place.is_factor {
            self.factored(head, iterators, term, &inner.conditions);
        }
        let Term::Reduced { reduction, body, span } = term else { return };
        let mut outer = self.outer(iterators, body);
        outer.retain(|name| reduction.iterators.iter().all(|one| one.text != name.text));
        let mask = match reduction.operator {
            ReduceOp::Sum => masked::fitting(&place.masks, &outer),
            _ => None,
        };
        if let Some(mask) = &mask {
            outer.clone_from(&mask.iterators);
        }
        let span = *span;
        let own = own && !is_or;
        // What bounds its iterators here may not do so elsewhere.
        let is_bounded = place.conditions.is_empty() || bounded::open(body, &outer).is_empty();
        let canonical = match &mask {
            None if is_bounded => {
                let over = (format!("{own} {:?}", reduction.operator), &reduction.iterators[..]);
                Canonical::of(over, body, &self.symbols)
            }
            _ => None,
        };
        if let Some(element) = self.again(canonical.as_ref(), span) {
            *term = element;
            return;
        }
        let (reduction, body) = (Some(reduction.clone()), (**body).clone());
        let part = self.part(head, outer, (reduction, body), span);
        *term = element(&part, canonical, &mut self.shared);
        let conditions = place.conditions.clone();
        self.added.push(Added { own, mask, conditions, ..Added::of(part) });
    }

    /// The least or largest of integers that do not all fit in the head, as one of i64 that is stored in the head.
    ///
    /// Before -> after, where `A` has i64 and `m` has u8: `m(i) := min(j) A(i, j)` -> `m(i) := m.1(i)`.
    fn extremes(&mut self, rule: &mut RuleItem) {
        let head = rule.tensor.text.clone();
        let is_extreme = |one: &&Reduction| matches!(one.operator, ReduceOp::Min | ReduceOp::Max);
        if let Some(reduction) = rule.reduction.as_ref().filter(is_extreme).cloned()
            && self.known.wraps(&head, &rule.body)
        {
            let (mut body, span) = (rule.body.clone(), rule.span);
            self.within(&head, &rule.iterators.clone(), &mut body, Place::of(false));
            let part = self.part(&head, rule.iterators.clone(), (Some(reduction), body), span);
            (rule.reduction, rule.body) = (None, element(&part, None, &mut self.shared));
            let element = Of::Type(Element::I64);
            self.added.push(Added { element, ..Added::of(part) });
        }
    }

    /// Sums before what a head merges, and copies what subscripts merge in products of several tensors; but where the
    /// program says how the loops of the rule are to be.
    fn merged(&mut self, file: &File, rule: &mut RuleItem) {
        let head = rule.tensor.text.clone();
        let is_sum = rule.reduction.as_ref().is_none_or(|one| one.operator == ReduceOp::Sum);
        if self.known.is_ordered(&head) || !is_sum {
            return;
        }
        let before = match self.known.is_sparse(&head) {
            true => None,
            false => merged::head(file, &self.symbols, rule),
        };
        let Some(merged::Before { iterators, mut body, conditions }) = before else {
            self.operands(file, &head, &mut rule.body);
            return;
        };
        let span = rule.span;
        self.within(&head, &rule.iterators.clone(), &mut body, Place::of(true));
        self.operands(file, &head, &mut body);
        let reduction = rule.reduction.take().map(|mut reduction| {
            reduction.iterators.retain(|name| iterators.iter().all(|own| own.text != name.text));
            reduction
        });
        let part = self.part(&head, iterators, (reduction, body), span);
        let mut factors = vec![element(&part, None, &mut self.shared)];
        factors.extend(conditions);
        rule.body = Term::Product(factors, span);
        self.added.push(Added::of(part));
    }

    /// Replaces operands of products: choices along inner dimensions of sparse matrices, and what subscripts merge.
    fn operands(&mut self, file: &File, head: &str, body: &mut Term) {
        let products = match body {
            Term::Sum(products, _) => products.as_mut_slice(),
            other => std::slice::from_mut(other),
        };
        for product in products {
            let known = (&self.symbols, &self.known);
            for gathered in gathered::gathered(file, known, product) {
                self.gathered(head, product, gathered);
            }
            for (at, iterators, bounds) in merged::copied(file, &self.symbols, product) {
                let Term::Product(factors, _) = &mut *product else { continue };
                let Some(factor) = factors.get_mut(at) else { continue };
                let Term::Access { tensor, .. } = &*factor else { continue };
                if self.known.is_sparse(&tensor.text) {
                    continue;
                }
                let like = self.known.element(&tensor.text).map_or(Of::Rule, Of::Type);
                let span = factor.span();
                let mut all = vec![factor.clone()];
                all.extend(bounds);
                let part = self.part(head, iterators, (None, Term::Product(all, span)), span);
                *factor = element(&part, None, &mut self.shared);
                self.added.push(Added { element: like, ..Added::of(part) });
            }
        }
    }

    /// Replaces sums among the factors of a product that would become many products by elements of tensors.
    fn factored(&mut self, head: &str, iterators: &[Name], product: &mut Term, all: &[Term]) {
        let sums = factored::sums(
            product,
            all,
            &self.known,
            &|term| self.outer(iterators, term),
            &|term, outer| self.is_bounded((head, iterators), (term, outer), all),
        );
        for factored::Sum { at, iterators } in sums {
            let Term::Product(factors, _) = &mut *product else { return };
            let Some(sum) = factors.get_mut(at) else { return };
            let canonical = Canonical::of(("sum".into(), &[]), sum, &self.symbols);
            let span = sum.span();
            if let Some(element) = self.again(canonical.as_ref(), span) {
                *sum = element;
                continue;
            }
            let part = self.part(head, iterators, (None, sum.clone()), span);
            *sum = element(&part, canonical, &mut self.shared);
            let conditions = all.to_vec();
            self.added.push(Added { conditions, ..Added::of(part) });
        }
    }

    /// Replaces a comparison by the matrix that it is.
    fn gathered(&mut self, head: &str, product: &mut Term, gathered: gathered::Gathered) {
        let gathered::Gathered { at, iterators, bounds } = gathered;
        let Term::Product(factors, _) = product else { return };
        let Some(factor) = factors.get_mut(at) else { return };
        let mut body = factor.clone();
        self.within(head, &iterators, &mut body, Place::of(true));
        let span = factor.span();
        let part = self.part(head, iterators.to_vec(), (None, body), span);
        *factor = element(&part, None, &mut self.shared);
        let domain =
            RuleItem { aspect: Aspect::Domain, body: Term::Product(bounds, span), ..part.clone() };
        let format = FormatItem {
            tensor: part.tensor.clone(),
            iterators: None,
            format: Name { text: gathered::FORMAT.into(), span },
            span,
        };
        let items = vec![Item::Rule(domain), Item::Format(format)];
        self.added.push(Added { items, ..Added::of(part) });
    }

    /// Replaces values that choose elements, and are computed of floats, by elements of tensors of integers.
    fn places(&mut self, head: &str, iterators: &[Name], term: &mut Term, place: &Place) {
        for value in placed::places(term, &self.known) {
            let outer = self.outer(iterators, value);
            if !self.is_bounded((head, iterators), (value, &outer), &place.conditions) {
                continue;
            }
            let span = value.span();
            let canonical = Canonical::of(("place".into(), &[]), value, &self.symbols);
            if let Some(element) = self.again(canonical.as_ref(), span) {
                *value = element;
                continue;
            }
            placed::chosen(value, &self.known, &mut self.integers);
            let part = self.part(head, outer, (None, placed::integer(value.clone())), span);
            *value = element(&part, canonical, &mut self.shared);
            let conditions = place.conditions.clone();
            let element = Of::Type(Element::I64);
            self.added.push(Added { conditions, element, ..Added::of(part) });
        }
    }

    /// Whether the iterators of a term are bounded by its subscripts, by the `:D` of the head, or by conditions.
    fn is_bounded(
        &self,
        (head, iterators): (&str, &[Name]),
        (term, outer): (&Term, &[Name]),
        conditions: &[Term],
    ) -> bool {
        let of_head = |name: &str| {
            self.known.is_bounded(head) && iterators.iter().any(|own| own.text == name)
        };
        bounded::open(term, outer)
            .iter()
            .all(|name| of_head(name) || bounded::is_closed(name, conditions, &self.symbols))
    }

    /// The iterators of a term: as in the head, then by appearance.
    fn outer(&self, iterators: &[Name], term: &Term) -> Vec<Name> {
        let mut outer: Vec<Name> = Vec::new();
        visit_terms(term, &mut |name, span| {
            let known = outer.iter().any(|other| other.text == name);
            if !known && !self.symbols.contains(name) {
                outer.push(Name { text: name.into(), span });
            }
        });
        outer.sort_by_key(|name| {
            iterators.iter().position(|other| other.text == name.text).unwrap_or(iterators.len())
        });
        outer
    }

    /// The element of a part of the rule that is the same.
    fn again(&self, canonical: Option<&Canonical>, span: Span) -> Option<Term> {
        let (tensor, subscripts) = canonical?.known(&self.shared)?;
        Some(access(Name { span, ..tensor }, &subscripts, span))
    }

    /// A part of the rule of a tensor.
    fn part(
        &mut self,
        head: &str,
        iterators: Vec<Name>,
        (reduction, body): (Option<Reduction>, Term),
        span: Span,
    ) -> RuleItem {
        RuleItem {
            tensor: Name { text: self.name(head), span },
            aspect: Aspect::Value,
            iterators,
            reduction,
            body,
            part_of: Some(head.into()),
            summed: Vec::new(),
            span,
        }
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

/// The element of a part, which is kept to be used again.
fn element(part: &RuleItem, canonical: Option<Canonical>, shared: &mut Vec<Shared>) -> Term {
    let subscripts: Vec<String> = part.iterators.iter().map(|name| name.text.clone()).collect();
    shared.extend(canonical.and_then(|it| it.shared(&part.tensor, &subscripts)));
    access(part.tensor.clone(), &subscripts, part.span)
}

/// An element of a tensor.
fn access(tensor: Name, subscripts: &[String], span: Span) -> Term {
    let expression = |name: &String| Expr { kind: ExprKind::Name(name.clone()), span };
    let subscripts = subscripts.iter().map(expression).collect();
    Term::Access { position: None, tensor, subscripts, reciprocal: false, span }
}
