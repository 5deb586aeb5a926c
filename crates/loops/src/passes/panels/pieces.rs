//! Selections in indices: a polyhedron is cut where they change, and each piece visited in the order of its elements.
//!
//! Before -> after, of `A[select(k >= i, p, q)]` where `0 <= k < N`: `A[p]` where `i <= k < N`, `A[q]` where `0 <= k <
//! i`. A band that is stored by diagonals is visited along them: `A[(N - d) * d + i]` for `d`, then for `i`.

use super::ranges::{everywhere, facts, first, last};
use crate::ir::*;
use crate::linear::{Facts, Linear};
use crate::passes::polyhedra::products::not_negative as differences;
use crate::passes::polyhedra::scan::{not_negative, scan};
use crate::passes::tile::selections::written_outside;
use crate::passes::tile::undecided::Known;

/// A value at the points of a polyhedron.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) value: Value,
    /// Expressions that are not negative exactly at the points.
    pub(super) domain: Vec<Index>,
}

/// The most pieces of one value.
const MOST: usize = 8;

/// The pieces of a value; it stays whole if it has too many of them.
pub(super) fn pieces(value: &Value, domain: &[Index], known: &Facts) -> Vec<Piece> {
    let mut list = Vec::new();
    let whole = || vec![Piece { value: value.clone(), domain: domain.to_vec() }];
    match cut(value, domain, known, &mut list) {
        Some(()) if !list.is_empty() => list,
        _ => whole(),
    }
}

fn cut(value: &Value, domain: &[Index], known: &Facts, list: &mut Vec<Piece>) -> Option<()> {
    let mut here = known.clone();
    domain.iter().for_each(|one| here.assume(&not_negative(one)));
    let value = Known { facts: here }.value(value);
    let Some(comparison) = comparison(&value) else {
        list.push(Piece { value, domain: domain.to_vec() });
        return (list.len() <= MOST).then_some(());
    };
    let (before, mut cases) = (list.len(), Vec::new());
    let Condition::Compare(op, left, right) = &comparison else { return None };
    let with = |op: Compare| Condition::Compare(op, left.clone(), right.clone());
    match op {
        // Single points are few: they keep their selections.
        Compare::Eq | Compare::Ne => {
            let mut part = domain.to_vec();
            differences(&with(Compare::Eq), &mut part)?;
            if !is_empty(&part) {
                list.push(Piece { value: value.clone(), domain: part });
            }
            cases.extend([Compare::Lt, Compare::Gt].map(with));
        }
        _ => cases.extend([comparison.clone(), comparison.clone().negate()]),
    }
    let point = list.len();
    for case in cases {
        let mut part = domain.to_vec();
        differences(&case, &mut part)?;
        if !is_empty(&part) {
            cut(&value, &part, known, list)?;
        }
    }
    // What is the same on both sides was not worth a cut.
    if point == before
        && let [one, other] = &list[before..]
        && one.value == other.value
    {
        let value = one.value.clone();
        list.truncate(before);
        list.push(Piece { value, domain: domain.to_vec() });
    }
    Some(())
}

/// Whether a polyhedron is known to have no points.
fn is_empty(domain: &[Index]) -> bool {
    let known = facts(&[domain]);
    domain.iter().any(|one| known.imply(&Condition::Compare(Compare::Lt, one.clone(), 0.into())))
}

/// A comparison that decides about an index.
fn comparison(value: &Value) -> Option<Condition> {
    let mut found = None;
    value.visit_indices(&mut |index| {
        if let Index::Select(condition, ..) = index {
            found = found.take().or_else(|| leading(condition));
        }
    });
    found
}

fn leading(condition: &Condition) -> Option<Condition> {
    match condition {
        Condition::Compare(..) => Some(condition.clone()),
        Condition::And(list) | Condition::Or(list) => list.first().and_then(leading),
    }
}

/// Loops over the points of a piece, with what is executed at each: neighbours in memory one after the other. Where the
/// inner iterator has all values from one on, so many, they are visited side by side.
pub(super) fn visit(
    piece: &Piece,
    (outer, inner, lanes): (VarId, VarId, Option<(Index, i64)>),
    function: &mut Function,
    known: &Facts,
    store: impl Fn(Value) -> Store,
) -> Option<Vec<Stmt>> {
    let beside = |value: &Value, var: VarId| {
        let mut found = false;
        value.visit(&mut |value| {
            if let Value::Load(_, index) = value {
                found |= index.constant_stride(var) == Some(1);
            }
        });
        found
    };
    let plain =
        |value: &Value, order: &[VarId]| value.map_loads(&|index| written_outside(index, order));
    let written = |stmt: Stmt, order: &[VarId]| {
        let mut stmt = stmt;
        if let Stmt::Store(Store { index, value, .. }) = &mut stmt {
            *index = written_outside(index, order);
            *value = plain(value, order);
        }
        stmt
    };
    let here = Stmt::Store(store(piece.value.clone()));
    let (mut order, mut domain) = ([outer, inner], piece.domain.clone());
    let mut body = written(here.clone(), &order);
    if !beside(&plain(&piece.value, &order), inner) {
        // Along diagonals the outer iterator is the inner one and a distance.
        let diagonal = function.fresh_like(outer, "d");
        let by = Index::Var(inner) + Index::Var(diagonal);
        let along = plain(&piece.value.substitute(outer, &by), &[diagonal, inner]);
        if beside(&plain(&piece.value, &[inner, outer]), outer) {
            order = [inner, outer];
            body = written(here, &order);
        } else if beside(&along, inner) {
            order = [diagonal, inner];
            body = written(here.substitute(outer, &by), &order);
            let moved = |one: &Index| {
                let moved = one.substitute(outer, &by);
                Linear::of(&moved).map_or(moved, |linear| linear.to_index())
            };
            domain = domain.iter().map(moved).collect();
        }
    }
    let nested = scan(&domain, &order)?;
    let mut loops = nested.loops(&order, vec![body.clone()]);
    if let Some((start, size)) = lanes
        && order[1] == inner
        && let Some(range) = nested.bounded().next()
    {
        let corners = [
            (inner, start.clone(), start.clone() + (size - 1)),
            (order[0], first(&range), last(&range) - 1),
        ];
        if let Some(condition) = everywhere(&domain, &[inner], &corners, known)
            && condition.as_bool() != Some(false)
        {
            let across = For::new(inner, start.clone(), start + size, vec![body]).unrolled();
            let (lower, upper, mark) = (range.lower, range.upper, Mark::Sequential);
            let body = vec![Stmt::For(across)];
            let whole = vec![Stmt::For(For { var: order[0], lower, upper, step: 1, mark, body })];
            loops = match condition.as_bool() {
                Some(_) => whole,
                None => vec![Stmt::If(If { condition, then: whole, otherwise: loops })],
            };
        }
    }
    let around = nested.around.iter().map(not_negative);
    let unknown = Condition::all(around.filter(|condition| !known.imply(condition)));
    Some(if unknown.as_bool() == Some(true) { loops } else { vec![Stmt::when(unknown, loops)] })
}
