//! Redundancy that a head inherits from an operand: the operand's redundancy map, lifted to the head and then checked.
//!
//! A lifted piece `M` with coefficient `c` is kept only if, for every product and every point of its iteration space whose head lies in `M`'s
//! domain, moving the head along `M` (reduction iterators unchanged) stays in the iteration space, in both directions, and changes each
//! factor by a known coefficient, the same total `c` for every product. So `V(i,j)*W(i,j)`, `V(i,j)+W(i,j)`, `V(i,j)*x(k)`, `sum over k of V(i,j)*B(k)`
//! keep the redundancy of `V`, and `V(i,j)*x(j)` loses it.

use dastac_poly::{Map, Set};

use super::{InferError, Redundancy, Space, Structured};
use crate::program::{Rule, TensorId};
use crate::sets::{Affine, Sets};

type Known<'a, 'b> = &'b dyn Fn(TensorId) -> Option<&'a Structured>;

/// Redundancy pieces of a rule's head with disjoint domains, all leading into what is left of the support.
pub(crate) fn pieces<'a>(
    sets: &Sets,
    known: Known<'a, '_>,
    rule: &Rule,
    spaces: &[Space],
    support: &Set,
) -> Result<Vec<Redundancy>, InferError> {
    let mut pieces: Vec<(Map, f64)> = Vec::new();
    for (product, space) in rule.products.iter().zip(spaces) {
        for (access, subscripts) in product.accesses.iter().zip(&space.subscripts) {
            let Some(operand) = known(access.tensor) else { continue };
            for piece in &operand.redundancy {
                let Redundancy::Affine { map, .. } = piece else { continue };
                let Some(lifted) = lift(sets, rule, &product.iterators, subscripts, map)? else {
                    continue;
                };
                let lifted =
                    lifted.intersect_domain(support)?.intersect_range(support)?.simplify()?;
                if lifted.is_empty()? || !lifted.is_single_valued()? {
                    continue;
                }
                if let Some(coefficient) = check(sets, known, rule, spaces, &lifted)? {
                    add(&mut pieces, lifted, coefficient)?;
                }
            }
        }
    }
    Ok(pieces
        .into_iter()
        .map(|(map, coefficient)| Redundancy::Affine { map, coefficient })
        .collect())
}

/// Adds a piece unless it meets those that are there.
fn add(pieces: &mut Vec<(Map, f64)>, map: Map, coefficient: f64) -> Result<(), InferError> {
    if coefficient == 0.0 || !map.domain()?.is_disjoint(&map.range()?)? {
        return Ok(());
    }
    for (other, _) in pieces.iter() {
        let clear = map.domain()?.is_disjoint(&other.domain()?)?
            && map.range()?.is_disjoint(&other.domain()?)?
            && map.domain()?.is_disjoint(&other.range()?)?;
        if !clear {
            return Ok(());
        }
    }
    pieces.push((map, coefficient));
    Ok(())
}

/// The head-to-head map under which an access follows the operand's redundancy map, everything else unchanged.
fn lift(
    sets: &Sets,
    rule: &Rule,
    iterators: &[String],
    subscripts: &[Affine],
    map: &Map,
) -> Result<Option<Map>, InferError> {
    // Only plain head iterators, each once: then the operand's map says where they go.
    let mut positions = Vec::new();
    for subscript in subscripts {
        let position = subscript
            .as_name()
            .and_then(|name| rule.iterators.iter().position(|iterator| iterator == name));
        match position {
            Some(position) if !positions.contains(&position) => positions.push(position),
            _ => return Ok(None),
        }
    }
    debug_assert!(rule.iterators.iter().all(|iterator| iterators.contains(iterator)));
    let access = sets.access(&rule.iterators, subscripts)?;
    let mut lifted = access.apply_range(map)?.apply_range(&access.reverse()?)?;
    for (position, iterator) in rule.iterators.iter().enumerate() {
        if !positions.contains(&position) {
            let coordinate = sets.access(&rule.iterators, &[Affine::name(iterator)])?;
            lifted = lifted.intersect(&coordinate.apply_range(&coordinate.reverse()?)?)?;
        }
    }
    Ok(Some(lifted))
}

/// The coefficient by which the head's value changes along `map`, if it is the same everywhere.
fn check<'a>(
    sets: &Sets,
    known: Known<'a, '_>,
    rule: &Rule,
    spaces: &[Space],
    map: &Map,
) -> Result<Option<f64>, InferError> {
    let mut total: Option<f64> = None;
    let head: Vec<Affine> = rule.iterators.iter().map(|name| Affine::name(name)).collect();
    for (product, space) in rule.products.iter().zip(spaces) {
        let to_head = sets.access(&product.iterators, &head)?;
        // All moves of the head along the map, reduction iterators unchanged.
        let mut moves = to_head.apply_range(map)?.apply_range(&to_head.reverse()?)?;
        for iterator in product.iterators.iter().filter(|it| !rule.iterators.contains(it)) {
            let coordinate = sets.access(&product.iterators, &[Affine::name(iterator)])?;
            moves = moves.intersect(&coordinate.apply_range(&coordinate.reverse()?)?)?;
        }
        let forward = moves.intersect_domain(&space.domain)?;
        let backward = moves.intersect_range(&space.domain)?;
        if !forward.is_equal(&backward)? {
            return Ok(None);
        }
        let mut coefficient = 1.0;
        for (access, subscripts) in product.accesses.iter().zip(&space.subscripts) {
            let Some(operand) = known(access.tensor) else { return Ok(None) };
            let read = sets.access(&product.iterators, subscripts)?;
            let pairs = read.reverse()?.apply_range(&forward)?.apply_range(&read)?;
            let Some(change) = change(operand, &pairs)? else { return Ok(None) };
            coefficient *= if access.reciprocal { change.recip() } else { change };
        }
        if forward.is_empty()? {
            continue;
        }
        match total {
            Some(total) if total != coefficient => return Ok(None),
            _ => total = Some(coefficient),
        }
    }
    Ok(total)
}

/// The `c` with `T(y) = c * T(y')` for all pairs `y -> y'`, if known.
fn change(operand: &Structured, pairs: &Map) -> Result<Option<f64>, InferError> {
    if pairs.is_subset(&operand.support.identity()?)? {
        return Ok(Some(1.0));
    }
    for piece in &operand.redundancy {
        if let Redundancy::Affine { map, coefficient } = piece
            && pairs.is_subset(map)?
        {
            return Ok(Some(*coefficient));
        }
    }
    Ok(None)
}
