//! Integers that choose elements and are computed of floats: tensors of integers of their own, which code reads as it
//! reads those of inputs.
//!
//! - `h(floor(x(n) * B)) := 1` has `h.1(n) := i64(where(floor(x(n) * B) = floor(x(n) * B), floor(x(n) * B), -2^62))`,
//!   and is `h(h.1(n)) := 1`: what is not a number is no place.
//! - `T(floor(u(n)) + 1)` reads `T(P.1(n) + 1)`: what is computed of integers stays, `min`, `max`, `abs`, `//` and `%`
//!   too.
//! - `T(f(n) + a)`, where `f` has floats, reads `T(P.1(n) + a)`: the sum is whole where `f(n)` is.
//! - `x(p(n))`, where `p` has floats, has `i64(where(floor(p(n)) = p(n), p(n), -2^62))`: what is not whole is no place.

use std::collections::BTreeSet;

use dastac_elements::{Element, Function};

use super::known::Known;
use super::names::read;
use crate::ast::{CompareOp, Operation, PLACE, Term, is_product};

/// No place of a dimension, and exact as a float.
const NOWHERE: f64 = -((1u64 << 62) as f64);

/// The values among those of a comparison `(value = k)` with an iterator that stands in a subscript, that are to be
/// tensors of integers of their own, each with the integers that it is made of.
pub(super) fn places<'t>(term: &'t mut Term, known: &Known) -> Vec<&'t mut Term> {
    let Term::Call { operation: Operation::Compare(CompareOp::Eq), arguments, .. } = term else {
        return Vec::new();
    };
    let [value, Term::Index(place)] = &mut arguments[..] else { return Vec::new() };
    let is_sparse = read(value).iter().any(|tensor| known.is_sparse(tensor));
    if !place.text.contains(PLACE) || is_sparse {
        return Vec::new();
    }
    let mut found = Vec::new();
    if leaves(value, known) {
        within(value, known, &mut found);
        return found;
    }
    match apart(value, known) {
        true => {
            for part in value.parts_mut() {
                match is_certain(part, known) {
                    true => within(part, known, &mut found),
                    false => found.push(part),
                }
            }
        }
        false => found.push(value),
    }
    found
}

/// Has what is added to integers be one value, if a value is such a sum: it is an integer where that is one.
///
/// Before -> after, of floats `f`: `f(n) + a + 0.5 * f(n)` -> `(f(n) + 0.5 * f(n)) + a`.
fn apart(value: &mut Term, known: &Known) -> bool {
    let Term::Sum(parts, span) = value else { return false };
    if !parts.iter().any(|part| is_certain(part, known)) {
        return false;
    }
    let (integers, mut floats): (Vec<Term>, Vec<Term>) =
        std::mem::take(parts).into_iter().partition(|part| is_certain(part, known));
    match floats.len() {
        1 => parts.append(&mut floats),
        _ => parts.push(Term::Sum(floats, *span)),
    }
    parts.extend(integers);
    true
}

/// Whether what is computed of integers is computed of nothing else but values that are whole by themselves.
fn leaves(value: &Term, known: &Known) -> bool {
    of_integers(value, &|tensor| !known.has_floats(tensor), known)
}

/// Whether that is known without what has no type.
fn is_certain(value: &Term, known: &Known) -> bool {
    of_integers(value, &|tensor| known.has_integers(tensor), known)
}

fn of_integers(value: &Term, is_integer: &dyn Fn(&str) -> bool, known: &Known) -> bool {
    is_whole(value)
        || match value {
            Term::Access { tensor, position: None, reciprocal: false, .. } => {
                known.is_constant(value) || is_integer(&tensor.text)
            }
            Term::Number { value, .. } => value.fract() == 0.0,
            Term::Index(_) => true,
            other => {
                let mut parts = other.parts().iter();
                known.keeps(other) && parts.all(|part| of_integers(part, is_integer, known))
            }
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
            if known.is_untyped_input(&tensor.text) {
                found.insert(tensor.text.clone());
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
            g(n) := t(f(n) + k(n) - x(n)) * (k(n) > 0)
            c:D(h) := (0 <= h < N)",
        );
        expect_test::expect![[r#"
            types: f = f64, k = i32, h.1 = i64, a.1 = i64, a.2 = i64, b.1 = i64, c.1 = i64, d.1 = i64, e.1 = i64, g.1 = i64, p = i64, q = i64, x = i64
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
            g.1(n) := i64(where((floor(f(n) + (-1) * x(n)) = (f(n) + (-1) * x(n))), f(n) + (-1) * x(n), -4.611686018427388e18))
            g(n) := t(t.at1) * ((g.1(n) + k(n)) = t.at1) * (k(n) > 0)
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
