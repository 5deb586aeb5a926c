//! What a file says of its tensors: their types, and whether they are computed, bounded, sparse, or have ordered loops.

use std::collections::{BTreeMap, BTreeSet};

use dastac_elements::{Element, Function};

use super::names::read;
use crate::ast::{Aspect, File, Item, Name, Operation, Span, Term, TypeItem};

/// What is known of the elements of the tensors of a file.
#[derive(Default)]
pub(super) struct Known {
    /// The types that are said of each tensor,
    said: BTreeMap<String, Element>,
    /// and of all of which none is said.
    others: Option<Element>,
    /// Tensors with rules.
    computed: BTreeSet<String>,
    /// Tensors with a `:D`.
    bounded: BTreeSet<String>,
    /// Tensors with formats.
    sparse: BTreeSet<String>,
    /// Tensors whose rules' loops have an order or a schedule.
    ordered: BTreeSet<String>,
    symbols: BTreeSet<String>,
}

impl Known {
    pub(super) fn of(file: &File, symbols: &BTreeSet<String>) -> Known {
        let (mut said, mut others) = (BTreeMap::new(), None);
        let mut computed = BTreeSet::new();
        let (mut bounded, mut sparse) = (BTreeSet::new(), BTreeSet::new());
        let mut ordered = BTreeSet::new();
        for item in &file.items {
            match item {
                Item::Types(entries, _) => {
                    for TypeItem { tensor, element, .. } in entries {
                        let element = Element::named(&element.text);
                        match tensor.text == TypeItem::OTHERS {
                            true => others = element,
                            false => said.extend(element.map(|own| (tensor.text.clone(), own))),
                        }
                    }
                }
                Item::Rule(rule) if rule.aspect == Aspect::Value => {
                    computed.insert(rule.tensor.text.clone());
                }
                Item::Rule(rule) if rule.aspect == Aspect::Domain => {
                    bounded.insert(rule.tensor.text.clone());
                }
                Item::Iters(orders, _) => {
                    ordered.extend(orders.iter().map(|order| order.head.text.clone()));
                }
                Item::Schedule(all, _) => {
                    ordered.extend(all.iter().map(|one| one.head.text.clone()));
                }
                Item::Format(format) => {
                    sparse.insert(format.tensor.text.clone());
                }
                _ => {}
            }
        }
        for tensor in &computed {
            if let (Some(element), false) = (others, said.contains_key(tensor)) {
                said.insert(tensor.clone(), element);
            }
        }
        Known { said, others, computed, bounded, sparse, ordered, symbols: symbols.clone() }
    }

    /// The type that is said of a tensor, or of all others.
    pub(super) fn element(&self, tensor: &str) -> Option<Element> {
        self.said.get(tensor).copied().or(self.others)
    }

    /// Whether the program says in which order the loops of a tensor's rule are, or how they are cut.
    pub(super) fn is_ordered(&self, tensor: &str) -> bool {
        self.ordered.contains(tensor)
    }

    /// Whether a tensor has a `:D`.
    pub(super) fn is_bounded(&self, tensor: &str) -> bool {
        self.bounded.contains(tensor)
    }

    /// Whether a tensor has a format.
    pub(super) fn is_sparse(&self, tensor: &str) -> bool {
        self.sparse.contains(tensor)
    }

    /// Whether integers that a rule computes may not fit in its head, which has integers and no format.
    pub(super) fn wraps(&self, head: &str, value: &Term) -> bool {
        let own = self.said.get(head);
        let own =
            own.filter(|own| own.is_integer() && !matches!(own, Element::I64 | Element::Bool));
        let is_integer =
            |tensor: &String| self.has_integers(tensor) || self.symbols.contains(tensor);
        // Others have no rule with such a head, and extremes of sums and products have other zeros.
        own.is_some_and(|own| !self.fits(value, *own))
            && values(value).is_some_and(|all| all.len() == 1)
            && read(value).iter().all(is_integer)
            && !self.sparse.contains(head)
    }

    /// Whether a value is an element of a type, or one of a type that this one holds, where conditions hold.
    fn fits(&self, value: &Term, own: Element) -> bool {
        let all = |parts: &[Term]| parts.iter().all(|part| self.fits(part, own));
        match value {
            Term::Access { tensor, position: None, reciprocal: false, .. } => {
                let of = self.said.get(&tensor.text);
                of.is_some_and(|of| *of == own || *of == Element::Bool)
            }
            Term::Number { value, .. } => value.is_infinite(),
            Term::Product(factors, _) => {
                let is_value = |factor: &&Term| {
                    let compares =
                        matches!(factor, Term::Call { operation: Operation::Compare(_), .. });
                    !compares && !factor.is_condition()
                };
                let values: Vec<&Term> = factors.iter().filter(is_value).collect();
                values.len() == 1 && self.fits(values[0], own)
            }
            Term::Call { operation: Operation::Where, arguments, .. } => all(&arguments[1..]),
            Term::Call { operation: Operation::Min | Operation::Max, arguments, .. } => {
                all(arguments)
            }
            _ => false,
        }
    }

    /// Whether a term is a number or symbol.
    pub(super) fn is_constant(&self, term: &Term) -> bool {
        match term {
            Term::Access { tensor, .. } => self.symbols.contains(&tensor.text),
            Term::Number { .. } => true,
            _ => false,
        }
    }

    /// Whether integers of integers are computed where they are read.
    pub(super) fn keeps(&self, value: &Term) -> bool {
        use Function::{Abs, FloorDivide, Mod};
        match value {
            Term::Sum(..) => true,
            Term::Product(factors, _) => {
                let varies =
                    |factor: &&Term| !self.is_constant(factor) && !matches!(factor, Term::Index(_));
                factors.iter().filter(varies).count() <= 1
            }
            Term::Call { operation, arguments, .. } => match operation {
                Operation::Min | Operation::Max | Operation::Function(Abs) => true,
                Operation::Divide | Operation::Function(FloorDivide | Mod) => {
                    arguments.get(1).is_some_and(|by| self.is_constant(by))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a tensor is an input of which no type is said.
    pub(super) fn is_untyped_input(&self, tensor: &str) -> bool {
        let is_known = self.said.contains_key(tensor) || self.computed.contains(tensor);
        !is_known && !self.symbols.contains(tensor)
    }

    /// Whether all elements of a tensor are integers that are said to be.
    pub(super) fn has_integers(&self, tensor: &str) -> bool {
        self.said.get(tensor).is_some_and(|element| element.is_integer())
    }

    /// Whether its elements are real numbers that may be fractions; those of no type are.
    pub(super) fn is_fractional(&self, tensor: &str) -> bool {
        !self.symbols.contains(tensor) && self.element(tensor).is_none_or(|one| one.is_float())
    }

    /// Whether its elements are floats. Inputs of which no type is said are integers where they choose elements.
    pub(super) fn has_floats(&self, tensor: &str) -> bool {
        match self.said.get(tensor) {
            Some(element) => element.is_float(),
            None => self.computed.contains(tensor),
        }
    }
}

/// What a product is of where its conditions hold; none of a sum.
fn values(term: &Term) -> Option<Vec<&Term>> {
    let is_value = |factor: &&Term| {
        let compares = matches!(factor, Term::Call { operation: Operation::Compare(_), .. });
        !compares && !factor.is_condition()
    };
    match term {
        Term::Sum(..) => None,
        Term::Product(factors, _) => Some(factors.iter().filter(is_value).collect()),
        other => Some(vec![other]),
    }
}

/// The type of a tensor.
pub(super) fn typed(tensor: &str, element: Element, span: Span) -> TypeItem {
    let name = |text: &str| Name { text: text.into(), span };
    TypeItem { tensor: name(tensor), element: name(element.name()), by_default: false }
}
