//! Integers that choose elements and are computed of floats: tensors of integers of their own, which code reads as it
//! reads those of inputs.
//!
//! - `h(floor(x(n) * B)) := 1` has `h.1(n) := i64(where(floor(x(n) * B) = floor(x(n) * B), floor(x(n) * B), -2^62))`,
//!   and is `h(h.1(n)) := 1`: what is not a number is no place.
//! - `T(floor(u(n)) + 1)` reads `T(P.1(n) + 1)`: what is computed of integers stays, `min`, `max`, `abs`, `//` and `%`
//!   too.
//! - `x(p(n))`, where `p` has floats, has `i64(where(floor(p(n)) = p(n), p(n), -2^62))`: what is not whole is no place.

use std::collections::{BTreeMap, BTreeSet};

use dastac_elements::{Element, Function};

use super::names::{bound_in, read};
use crate::ast::{
    Aspect, CompareOp, File, Item, Name, Operation, PLACE, Span, Term, TypeItem, is_product,
};

/// No place of a dimension, and exact as a float.
const NOWHERE: f64 = -((1u64 << 62) as f64);

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

    /// Whether iterators of a value in a rule are bound by what it reads, or may be by the `:D` of the head.
    pub(super) fn bounds(&self, head: &str, value: &Term, iterators: &[Name]) -> bool {
        let mut bound = BTreeSet::new();
        bound_in(value, &mut bound);
        self.bounded.contains(head) || iterators.iter().all(|name| bound.contains(&name.text))
    }

    /// The type that is said of a tensor, or of all others.
    pub(super) fn element(&self, tensor: &str) -> Option<Element> {
        self.said.get(tensor).copied().or(self.others)
    }

    /// Whether the program says in which order the loops of a tensor's rule are, or how they are cut.
    pub(super) fn is_ordered(&self, tensor: &str) -> bool {
        self.ordered.contains(tensor)
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
    fn is_constant(&self, term: &Term) -> bool {
        match term {
            Term::Access { tensor, .. } => self.symbols.contains(&tensor.text),
            Term::Number { .. } => true,
            _ => false,
        }
    }

    /// Whether integers of integers are computed where they are read.
    fn keeps(&self, value: &Term) -> bool {
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

    /// Whether all elements of a tensor are integers that are said to be.
    pub(super) fn has_integers(&self, tensor: &str) -> bool {
        self.said.get(tensor).is_some_and(|element| element.is_integer())
    }

    /// Whether its elements are floats. Inputs of which no type is said are integers where they choose elements.
    fn has_floats(&self, tensor: &str) -> bool {
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

/// The values among those of a comparison `(value = k)` with an iterator that stands in a subscript, that are to be
/// tensors of integers of their own, each with the integers that it is made of.
pub(super) fn places<'t>(term: &'t mut Term, known: &Known) -> Vec<&'t mut Term> {
    let Term::Call { operation: Operation::Compare(CompareOp::Eq), arguments, .. } = term else {
        return Vec::new();
    };
    let [value, Term::Index(place)] = &mut arguments[..] else { return Vec::new() };
    let is_sparse = read(value).iter().any(|tensor| known.sparse.contains(tensor));
    if !place.text.contains(PLACE) || is_sparse {
        return Vec::new();
    }
    let mut found = Vec::new();
    match leaves(value, known) {
        true => within(value, known, &mut found),
        false => found.push(value),
    }
    found
}

/// Whether what is computed of integers is computed of nothing else but values that are whole by themselves.
fn leaves(value: &Term, known: &Known) -> bool {
    is_whole(value)
        || match value {
            Term::Access { tensor, position: None, reciprocal: false, .. } => {
                !known.has_floats(&tensor.text)
            }
            Term::Number { value, .. } => value.fract() == 0.0,
            Term::Index(_) => true,
            other => known.keeps(other) && other.parts().iter().all(|part| leaves(part, known)),
        }
}

/// Whether a value is an integer or not a number, whatever it is computed of.
fn is_whole(value: &Term) -> bool {
    use Function::{Ceil, Floor, FloorDivide, Round, Sign, Trunc};
    match value {
        Term::Call { operation: Operation::Cast(element), .. } => element.is_integer(),
        Term::Call { operation: Operation::Compare(_), .. } => true,
        Term::Call { operation: Operation::Function(function), arguments, .. } => {
            let of_integer = matches!(function, Function::Pow)
                && matches!(arguments[..], [_, Term::Number { value, reciprocal: false, .. }] if is_product(value));
            matches!(function, Floor | Ceil | FloorDivide | Round | Sign | Trunc)
                || of_integer && is_whole(&arguments[0])
        }
        _ => false,
    }
}

/// The values that are whole by themselves among those of an integer, if they are not computed of integers.
fn within<'t>(value: &'t mut Term, known: &Known, found: &mut Vec<&'t mut Term>) {
    let has_own = !is_near(value, &|tensor| !known.has_floats(tensor), known);
    // Where one of the summands is no place, the sum is none.
    let is_linear = matches!(value, Term::Sum(..) | Term::Product(..)) && known.keeps(value);
    match is_linear {
        true => value.parts_mut().iter_mut().for_each(|part| within(part, known, found)),
        false if has_own => found.push(value),
        false => {}
    }
}

/// Whether it is computed of integers in a way that needs no integers of its own. Inputs without types are integers
/// where they choose, but not in what is rounded or cast.
fn is_near(value: &Term, is_integer: &dyn Fn(&str) -> bool, known: &Known) -> bool {
    let all = |parts: &[Term], is_integer: &dyn Fn(&str) -> bool| {
        parts.iter().all(|part| is_near(part, is_integer, known))
    };
    match value {
        Term::Access { tensor, position: None, reciprocal: false, .. } => {
            known.is_constant(value) || is_integer(&tensor.text)
        }
        Term::Number { value, .. } => value.fract() == 0.0,
        Term::Index(_) => true,
        Term::Call {
            operation: Operation::Function(Function::Floor) | Operation::Cast(Element::I64),
            arguments,
            ..
        } => all(arguments, &|tensor| known.has_integers(tensor)),
        other => known.keeps(other) && all(other.parts(), is_integer),
    }
}

/// The integer that a value is, and no place where it is none.
pub(super) fn integer(value: Term) -> Term {
    let span = value.span();
    let call = |operation, arguments| Term::Call { operation, arguments, span };
    let whole = match is_whole(&value) {
        true => value.clone(),
        false => call(Operation::Function(Function::Floor), vec![value.clone()]),
    };
    let nowhere = Term::Number { value: NOWHERE, reciprocal: false, span };
    let test = call(Operation::Compare(CompareOp::Eq), vec![whole, value.clone()]);
    let chosen = call(Operation::Where, vec![test, value, nowhere]);
    call(Operation::Cast(Element::I64), vec![chosen])
}

/// The inputs without types that a value is made of by sums, products and the like: integers.
pub(super) fn chosen(value: &Term, known: &Known, found: &mut BTreeSet<String>) {
    use Function::{Abs, FloorDivide, Mod};
    let parts = match value {
        Term::Access { tensor, position: None, .. } => {
            let name = &tensor.text;
            let is_known = known.said.contains_key(name) || known.computed.contains(name);
            if !is_known && !known.is_constant(value) {
                found.insert(name.clone());
            }
            return;
        }
        Term::Sum(parts, _) | Term::Product(parts, _) => parts,
        Term::Call { operation: Operation::Where, arguments, .. } => &arguments[1..],
        Term::Call {
            operation:
                Operation::Min
                | Operation::Max
                | Operation::Divide
                | Operation::Function(Abs | FloorDivide | Mod),
            arguments,
            ..
        } => arguments,
        _ => return,
    };
    parts.iter().for_each(|part| chosen(part, known, found));
}

/// The type of a tensor.
pub(super) fn typed(tensor: &str, element: Element, span: Span) -> TypeItem {
    let name = |text: &str| Name { text: text.into(), span };
    TypeItem { tensor: name(tensor), element: name(element.name()), by_default: false }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::reductions;
    use crate::ast::{Aspect, Item};
    use crate::parse;

    /// The rules that a program has after this, the formats of their heads, and the types.
    pub(in super::super) fn rules(source: &str) -> String {
        let (file, found) = parse(source);
        assert_eq!(found, []);
        let file = reductions(&file);
        let mut text = String::new();
        for item in &file.items {
            match item {
                Item::Rule(rule) if rule.aspect == Aspect::Value => {
                    text += &format!("{}\n", Item::Rule(rule.clone()));
                }
                Item::Types(..) | Item::Format(_) => text += &format!("{item}\n"),
                _ => {}
            }
        }
        text
    }

    #[test]
    fn integers_of_floats_are_tensors() {
        let found = rules(
            "symbols: N, M
            types: f = f64, k = i32
            x:D(n) := (0 <= n < N)
            t:D(m) := (0 <= m < M)
            h:D(m) := (0 <= m < M)
            h(floor(x(n) * M)) := x(n)
            a(n) := t(floor(x(n)) + 1) + t(floor(x(n))) * t(max(floor(x(n)), 0))
            b(n) := t(f(n))
            c(h) := h(floor(h * 0.5) % 2)
            d(n) := t(p(n) * q(n))
            e(n) := t(p(n) * M + floor(x(n) / 2))
            c:D(h) := (0 <= h < N)",
        );
        expect_test::expect![[r#"
            types: f = f64, k = i32, h.1 = i64, a.1 = i64, a.2 = i64, b.1 = i64, c.1 = i64, d.1 = i64, e.1 = i64, p = i64, q = i64
            h.1(n) := i64(where((floor(x(n) * M()) = floor(x(n) * M())), floor(x(n) * M()), -4.611686018427388e18))
            h(h.at1) := x(n) * (h.1(n) = h.at1)
            a.1(n) := i64(where((floor(x(n)) = floor(x(n))), floor(x(n)), -4.611686018427388e18))
            a.2(n) := i64(where((floor(max(floor(x(n)), 0)) = max(floor(x(n)), 0)), max(floor(x(n)), 0), -4.611686018427388e18))
            a(n) := t(t.at1_) * ((a.1(n) + 1) = t.at1_) + t(t.at1_) * (a.1(n) = t.at1_) * t(t.at1__) * (a.2(n) = t.at1__)
            b.1(n) := i64(where((floor(f(n)) = f(n)), f(n), -4.611686018427388e18))
            b(n) := t(t.at1) * (b.1(n) = t.at1)
            c.1(h) := i64(where((floor((floor(h * 0.5) % 2)) = (floor(h * 0.5) % 2)), (floor(h * 0.5) % 2), -4.611686018427388e18))
            c(h) := h(h.at1) * (c.1(h) = h.at1)
            d.1(n) := i64(where((floor(p(n) * q(n)) = p(n) * q(n)), p(n) * q(n), -4.611686018427388e18))
            d(n) := t(t.at1) * (d.1(n) = t.at1)
            e.1(n) := i64(where((floor(x(n) * 2^-1) = floor(x(n) * 2^-1)), floor(x(n) * 2^-1), -4.611686018427388e18))
            e(n) := t(t.at1_) * ((p(n) * M() + e.1(n)) = t.at1_)
        "#]].assert_eq(&found);
    }

    #[test]
    fn integers_of_integers_stay() {
        let found = rules(
            "symbols: N, M
            types: k = i32
            A:F := csr
            t:D(m) := (0 <= m < M)
            A:D(n, m) := (0 <= n < N) * (0 <= m < N)
            a(n) := t(p(n)) + t(min(q(n), M - 1)) * t(floor(k(n) / 2)) + t(k(n) // M)
            b(floor(A(n, m))) := 1
            c(n) := (sum(j) t(j) * (floor(x(n)) = j))",
        );
        expect_test::expect![[r#"
            types: k = i32
            A:F := csr
            a.1(n) := sum(t.at1_) t(t.at1_) * (floor(k(n) * 2^-1) = t.at1_)
            a(n) := t(t.at1) * (p(n) = t.at1) + t(t.at1_) * (min(q(n), M() + (-1)) = t.at1_) * a.1(n) + t(t.at1) * ((k(n) // M()) = t.at1)
            b(b.at1) := 1 * (floor(A(n, m)) = b.at1)
            c(n) := t(j) * (floor(x(n)) = j)
        "#]].assert_eq(&found);
    }
}
