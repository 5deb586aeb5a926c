//! Equalities between a head's elements along which the reduction iterators move too.
//!
//! `C(i, j) := A(i, k) * B(k, j)` of lower Toeplitz matrices stays the same if `i`, `j` and `k` rise by one together;
//! of circulant ones `k` also wraps around; of persymmetric ones `(i, j, k) -> (n-1-j, n-1-i, n-1-k)` exchanges the
//! factors. A *candidate* is an injective map `m` of the head's elements, with relations of the reduction iterators
//! for each product. [`proof`] keeps the elements `h` at which these relations are bijections between the terms of
//! `h` and those of `m(h)`, and every term keeps its value, or all of them are multiplied by one coefficient.
//!
//! Candidates are found on integers alone (`shifts`, `signed`): the linear parts of subscripts show how far a move of
//! the iterators moves each operand, and the operand's redundancy says whether it stays the same then ([`operands`]).
//! Steps of one are joined to lines (`lines`).

mod candidate;
mod lines;
mod operands;
mod proof;
mod shape;
mod shifts;
mod signed;

use std::collections::BTreeMap;

use dastac_poly::{Map, Set};

use super::quotient::Quotient;
use super::relations::Relations;
use super::{InferError, Space, Structured};
use crate::coefficient::Coefficient;
use crate::program::{Rule, TensorId};
use crate::semiring::Semiring;
use crate::sets::{Extent, Sets};

use candidate::Candidate;
use operands::Operands;
use proof::Proof;
use shape::shapes;

/// Steps of isl that the search may take for one rule.
const MAX_OPERATIONS: u64 = 4_000_000;
/// Rules with more products are not searched.
const MAX_PRODUCTS: usize = 8;
/// At most this many candidates of each kind are tried for one rule.
const MAX_CANDIDATES: usize = 16;
/// Equalities that hold only where a symbol is less than this are left out.
const LARGE: i64 = 4;
/// A relation is merged again while elements are led to elements that leave, at most so often.
const MAX_ROUNDS: usize = 4;

/// A rule, its products' iteration spaces, the head's extents, and what is known about the operands.
pub(super) struct Searched<'a, 'b> {
    pub sets: &'b Sets,
    pub known: &'b dyn Fn(TensorId) -> Option<&'a Structured>,
    pub rule: &'b Rule,
    pub spaces: &'b [Space],
    pub extents: &'b [Extent],
    /// The redundancy of operands that have any.
    pub relations: &'b BTreeMap<TensorId, Relations>,
}

/// Merges the equalities that are found into the head's quotient. What is too complex is left out.
pub(super) fn merge(
    searched: &Searched<'_, '_>,
    quotient: &mut Quotient,
) -> Result<(), InferError> {
    let Searched { sets, known, rule, spaces, extents, relations } = *searched;
    if rule.iterators.is_empty() || !(1..=MAX_PRODUCTS).contains(&rule.products.len()) {
        return Ok(());
    }
    // What functions of elements make of a move is not known.
    if rule.products.iter().any(|product| !product.functions.is_empty()) {
        return Ok(());
    }
    let Some(shapes) = shapes(rule, spaces) else { return Ok(()) };
    let operands = Operands::new(sets, known, relations);
    sets.context.budgeted(MAX_OPERATIONS, || {
        let proof = Proof { sets, rule, spaces, operands: &operands };
        let mut proven = Vec::new();
        for shift in shifts::shifts(&operands, rule, &shapes)?.into_iter().take(MAX_CANDIDATES) {
            let step = shift.step(sets, rule, &shapes, &operands, &quotient.unique)?;
            for (part, coefficient) in usable(rule, proof.of(&step)?)? {
                for (relation, coefficient) in lines::along(sets, &shift.head, &part, &coefficient)?
                {
                    merged(quotient, &relation, &coefficient)?;
                }
            }
            let whole = quotient.support.clone();
            let around = shift.around(sets, rule, &shapes, &operands, extents, &whole)?;
            if let Some(around) = around {
                tried(&proof, quotient, &around, &mut proven)?;
            }
        }
        let signed = signed::signed(&operands, rule, &shapes, extents, &quotient.support)?;
        for candidate in signed.into_iter().take(MAX_CANDIDATES) {
            tried(&proof, quotient, &candidate, &mut proven)?;
        }
        // Elements that led in a circle do so no longer when some of them have left.
        for (relation, coefficient) in &proven {
            merged(quotient, relation, coefficient)?;
        }
        Ok(())
    })
}

fn tried(
    proof: &Proof<'_, '_>,
    quotient: &mut Quotient,
    candidate: &Candidate,
    proven: &mut Vec<(Map, Coefficient)>,
) -> Result<(), InferError> {
    for (relation, coefficient) in usable(proof.rule, proof.of(candidate)?)? {
        merged(quotient, &relation, &coefficient)?;
        proven.push((relation, coefficient));
    }
    Ok(())
}

/// The equalities that are worth using: they hold at more than a few small sizes, and coefficients, which are factors,
/// have a meaning in the rule's semiring.
fn usable(
    rule: &Rule,
    parts: Vec<(Map, Coefficient)>,
) -> Result<Vec<(Map, Coefficient)>, InferError> {
    let mut kept = Vec::new();
    for (part, coefficient) in parts {
        if rule.semiring != Semiring::SumTimes && !coefficient.is_one() {
            continue;
        }
        let names = part.params()?;
        let large: Vec<String> = names.iter().map(|name| format!("{name} >= {LARGE}")).collect();
        let condition = if large.is_empty() { "1 = 1".into() } else { large.join(" and ") };
        let text = format!("[{}] -> {{ : {condition} }}", names.join(", "));
        let sizes = Set::parse(part.domain()?.context(), &text)?;
        if !part.intersect_params(&sizes)?.is_empty()? {
            kept.push((part, coefficient));
        }
    }
    Ok(kept)
}

fn merged(
    quotient: &mut Quotient,
    relation: &Map,
    coefficient: &Coefficient,
) -> Result<(), InferError> {
    for _ in 0..MAX_ROUNDS {
        if !quotient.merge(relation, coefficient)? {
            break;
        }
    }
    Ok(())
}
