//! Sums within functions that are multiplied with a sparse input: the sum in
//! `E(i, j) := M(i, j) * exp(sum(k) Q(i, k) * K(j, k))` is computed where `M` stores an element, and nowhere else.
//!
//! It becomes `E.1(i, j) := sum(k, p) (p = pos(M(i, j))) * Q(i, k) * K(j, k)`, with the dimensions and the format of
//! `M`. Where `M` stores nothing, the product that reads it is zero whatever the function gives. A stored zero keeps
//! its sum.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{
    Aspect, CompareOp, Comparison, Expr, ExprKind, File, FormatItem, Item, Name, Reduction,
    RuleItem, Span, Term,
};
use crate::parser::sums::free;

/// Formats that have positions for all of their elements, and that results can have without a conversion.
const FORMATS: [&str; 5] = ["csr", "csc", "dcsr", "dcsc", "csf"];

/// More elements than a tensor can store.
const POSITIONS: i64 = 1 << 40;

/// A factor that is a sparse input.
#[derive(Clone)]
pub(super) struct Mask {
    tensor: Name,
    /// Its subscripts: distinct iterators.
    pub(super) iterators: Vec<Name>,
}

/// The sparse inputs of a file, with their dimensions and formats.
pub(super) struct Inputs<'f>(BTreeMap<&'f str, (&'f RuleItem, &'f FormatItem)>);

impl<'f> Inputs<'f> {
    pub(super) fn of(file: &'f File) -> Inputs<'f> {
        let mut domains = BTreeMap::new();
        let mut formats = Vec::new();
        let mut computed = BTreeSet::new();
        for item in &file.items {
            match item {
                Item::Rule(rule) if rule.aspect == Aspect::Domain => {
                    domains.insert(rule.tensor.text.as_str(), rule);
                }
                Item::Rule(rule) if rule.aspect == Aspect::Value => {
                    computed.insert(rule.tensor.text.as_str());
                }
                Item::Format(format) if FORMATS.contains(&format.format.text.as_str()) => {
                    formats.push(format);
                }
                _ => {}
            }
        }
        let inputs = formats.into_iter().filter_map(|format| {
            let name = format.tensor.text.as_str();
            let domain = *domains.get(name).filter(|_| !computed.contains(name))?;
            Some((name, (domain, format)))
        });
        Inputs(inputs.collect())
    }

    /// The factors of a product that are sparse inputs.
    pub(super) fn among(&self, factors: &[Term], symbols: &BTreeSet<String>) -> Vec<Mask> {
        let mask = |factor: &Term| {
            let Term::Access { position: None, tensor, subscripts, reciprocal: false, .. } = factor
            else {
                return None;
            };
            self.0.get(tensor.text.as_str())?;
            let name = |one: &Expr| match &one.kind {
                ExprKind::Name(text) if !symbols.contains(text) => {
                    Some(Name { text: text.clone(), span: one.span })
                }
                _ => None,
            };
            let iterators = subscripts.iter().map(name).collect::<Option<Vec<Name>>>()?;
            let distinct: BTreeSet<&str> = iterators.iter().map(|one| one.text.as_str()).collect();
            let is_mask = distinct.len() == iterators.len();
            is_mask.then(|| Mask { tensor: tensor.clone(), iterators })
        };
        factors.iter().filter_map(mask).collect()
    }

    /// Restricts the rule of a sum to the elements of a mask that has its iterators. Gives what else is to be said of
    /// its head.
    pub(super) fn restrict(&self, rule: &mut RuleItem, mask: &Mask) -> Option<[Item; 2]> {
        let reduction = rule.reduction.as_mut()?;
        let (domain, format) = self.0.get(mask.tensor.text.as_str())?;
        let mut taken = free(&rule.body);
        taken.extend(reduction.iterators.iter().map(|name| name.text.clone()));
        let mut names = (0..).map(|number| format!("{}.{number}", mask.tensor.text));
        let position = names.find(|name| !taken.contains(name))?;
        let span = rule.body.span();
        let body = std::mem::replace(&mut rule.body, Term::Sum(Vec::new(), span));
        rule.body = Term::Product(places(mask, &position, body, span), span);
        reduction.iterators.push(Name { text: position, span });
        let tensor = rule.tensor.clone();
        let domain = RuleItem {
            tensor: tensor.clone(),
            part_of: rule.part_of.clone(),
            ..RuleItem::clone(domain)
        };
        Some([Item::Rule(domain), Item::Format(FormatItem { tensor, ..FormatItem::clone(format) })])
    }
}

/// The mask that has just some iterators.
pub(super) fn fitting(masks: &[Mask], iterators: &[Name]) -> Option<Mask> {
    let has = |mask: &Mask, name: &Name| mask.iterators.iter().any(|one| one.text == name.text);
    let fits = |mask: &&Mask| {
        mask.iterators.len() == iterators.len() && iterators.iter().all(|name| has(mask, name))
    };
    masks.iter().find(fits).cloned()
}

/// The masks that mean the same within a reduction.
pub(super) fn not_bound(masks: &[Mask], reduction: &Reduction) -> Vec<Mask> {
    let bound = |name: &Name| reduction.iterators.iter().any(|one| one.text == name.text);
    masks.iter().filter(|mask| !mask.iterators.iter().any(bound)).cloned().collect()
}

/// The factors of a body where a mask stores an element, at some position.
fn places(mask: &Mask, position: &str, body: Term, span: Span) -> Vec<Term> {
    let name = |text: &str| Expr { kind: ExprKind::Name(text.into()), span };
    let integer = |value| Expr { kind: ExprKind::Int(value), span };
    let stored = Term::Access {
        position: Some(Name { text: position.into(), span }),
        tensor: mask.tensor.clone(),
        subscripts: mask.iterators.iter().map(|one| name(&one.text)).collect(),
        reciprocal: false,
        span,
    };
    let range = Comparison {
        operands: vec![integer(0), name(position), integer(POSITIONS)],
        operators: vec![CompareOp::Le, CompareOp::Lt],
        span,
    };
    vec![Term::Comparison(range), stored, body]
}
