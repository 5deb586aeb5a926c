//! Proves candidates: along the map of a candidate, the terms of an element and those of its image correspond one to
//! one, and all of them change by the same coefficient.

use dastac_poly::{Map, Set};

use super::super::{InferError, Space};
use crate::coefficient::Coefficient;
use crate::program::Rule;
use crate::sets::Sets;

use super::candidate::{Candidate, Way};
use super::operands::Operands;

/// For elements of a candidate's domain, the coefficient by which a product's terms change, or `None` where there are
/// no terms at either end. Elements for which this is not known are in none of the sets.
type Changes = Vec<(Option<Coefficient>, Set)>;

pub(super) struct Proof<'a, 'b> {
    pub sets: &'b Sets,
    pub rule: &'b Rule,
    pub spaces: &'b [Space],
    pub operands: &'b Operands<'a, 'b>,
}

impl Proof<'_, '_> {
    /// The parts of a candidate that hold, by coefficient.
    pub fn of(&self, candidate: &Candidate) -> Result<Vec<(Map, Coefficient)>, InferError> {
        let map = &candidate.map;
        if map.is_empty()? || !map.is_injective()? || !map.is_single_valued()? {
            return Ok(Vec::new());
        }
        let mut taken = vec![false; self.rule.products.len()];
        let mut agreed: Changes = vec![(None, map.domain()?)];
        for (product, ways) in candidate.ways.iter().enumerate() {
            let mut best: Option<(usize, Changes)> = None;
            for to in (0..taken.len()).filter(|to| !taken[*to]) {
                let (next, whole) = self.best(product, to, ways, map, &agreed)?;
                if whole || best.is_none() && !next.is_empty() {
                    best = Some((to, next));
                }
                if whole {
                    break;
                }
            }
            let Some((to, next)) = best else { return Ok(Vec::new()) };
            taken[to] = true;
            agreed = next;
        }
        let mut parts = Vec::new();
        for (coefficient, points) in agreed {
            if let Some(coefficient) = coefficient {
                parts.push((map.intersect_domain(&points)?.coalesce()?, coefficient));
            }
        }
        Ok(parts)
    }

    /// What all ways of one product to another show together, and whether that is known for all elements.
    fn best(
        &self,
        product: usize,
        to: usize,
        ways: &[Way],
        map: &Map,
        agreed: &Changes,
    ) -> Result<(Changes, bool), InferError> {
        let mut open = agreed.clone();
        let mut all: Changes = Vec::new();
        for way in ways.iter().filter(|way| way.to == to) {
            for (change, at) in joined(&open, &self.changes(product, way, map)?)? {
                for (_, points) in &mut open {
                    *points = points.subtract(&at)?.coalesce()?;
                }
                add(&mut all, change, at)?;
            }
            let mut rest = Vec::new();
            for (change, points) in open {
                if !points.is_empty()? {
                    rest.push((change, points));
                }
            }
            open = rest;
            if open.is_empty() {
                break;
            }
        }
        Ok((all, open.is_empty()))
    }

    fn changes(&self, product: usize, way: &Way, map: &Map) -> Result<Changes, InferError> {
        let (from, to) = (&self.rule.products[product], &self.rule.products[way.to]);
        let (domain, target) = (&self.spaces[product].domain, &self.spaces[way.to].domain);
        let head = self.rule.subscripts();
        let from_head = self.sets.access(&from.iterators, &head)?;
        let to_head = self.sets.access(&to.iterators, &head)?;
        let terms = from_head.intersect_domain(domain)?;
        let images = to_head.intersect_domain(target)?;
        let moves = terms.apply_range(map)?.apply_range(&images.reverse()?)?;
        let moves = moves.intersect(&way.reductions)?;
        let sign = from.coefficient.is_sign_negative() != to.coefficient.is_sign_negative();
        let mut parts: Vec<(Coefficient, Map)> = vec![(Coefficient::sign(sign), moves)];
        for (access, partner) in way.pairing.iter().enumerate() {
            let tensor = from.accesses[access].tensor;
            let read =
                self.sets.access(&from.iterators, &self.spaces[product].subscripts[access])?;
            let other =
                self.sets.access(&to.iterators, &self.spaces[way.to].subscripts[*partner])?;
            let back = other.reverse()?;
            let mut pairs: Vec<(Coefficient, Map)> = Vec::new();
            match self.operands.relations.get(&tensor) {
                None => pairs.push((Coefficient::one(), read.apply_range(&back)?)),
                Some(relations) => {
                    for (change, relation) in &relations.0 {
                        let change = match from.accesses[access].reciprocal {
                            true => change.recip(),
                            false => Some(change.clone()),
                        };
                        if let Some(change) = change {
                            pairs.push((change, read.apply_range(relation)?.apply_range(&back)?));
                        }
                    }
                }
            }
            let mut next: Vec<(Coefficient, Map)> = Vec::new();
            for (so_far, mut rest) in parts {
                for (change, pairs) in &pairs {
                    let Some(total) = so_far.times(change) else { continue };
                    let here = rest.intersect(pairs)?;
                    if here.is_empty()? {
                        continue;
                    }
                    rest = rest.subtract(pairs)?;
                    match next.iter_mut().find(|(c, _)| *c == total) {
                        Some((_, union)) => *union = union.union(&here)?.coalesce()?,
                        None => next.push((total, here.coalesce()?)),
                    }
                }
            }
            parts = next;
            if parts.is_empty() {
                break;
            }
        }
        self.where_bijective(map, &terms, &images, parts)
    }

    /// Where the parts together are a bijection between the terms of an element and those of its image.
    fn where_bijective(
        &self,
        map: &Map,
        terms: &Map,
        images: &Map,
        parts: Vec<(Coefficient, Map)>,
    ) -> Result<Changes, InferError> {
        let mut moved: Option<Map> = None;
        for (_, part) in &parts {
            moved = Some(match moved {
                None => part.clone(),
                Some(moved) => moved.union(part)?,
            });
        }
        let domain = map.domain()?;
        let back = map.reverse()?;
        let mut open = terms.intersect_range(&domain)?;
        let mut missed = images.intersect_range(&map.range()?)?;
        let some = open.range()?.union(&missed.range()?.apply(&back)?)?;
        let none = domain.subtract(&some)?;
        if let Some(moved) = &moved {
            if !moved.is_single_valued()? || !moved.is_injective()? {
                return Ok(Vec::new());
            }
            open = terms.intersect_domain(&terms.domain()?.subtract(&moved.domain()?)?)?;
            missed = images.intersect_domain(&images.domain()?.subtract(&moved.range()?)?)?;
        }
        let unknown = open.range()?.union(&missed.range()?.apply(&back)?)?;
        let mut changes: Changes = vec![(None, none.subtract(&unknown)?)];
        let heads: Vec<Set> = parts
            .iter()
            .map(|(_, part)| Ok(part.domain()?.apply(terms)?))
            .collect::<Result<_, InferError>>()?;
        for (k, (coefficient, _)) in parts.into_iter().enumerate() {
            let mut at = heads[k].subtract(&unknown)?;
            // Terms of one element that change differently.
            for (other, others) in heads.iter().enumerate() {
                if other != k {
                    at = at.subtract(others)?;
                }
            }
            changes.push((Some(coefficient), at.coalesce()?));
        }
        Ok(changes)
    }
}

/// Where the products so far and one more agree on a coefficient.
fn joined(agreed: &Changes, changes: &Changes) -> Result<Changes, InferError> {
    let mut next: Changes = Vec::new();
    for (so_far, points) in agreed {
        for (change, at) in changes {
            let total = match (so_far, change) {
                (so_far, None) => so_far,
                (None, change) => change,
                (so_far, change) if so_far == change => so_far,
                _ => continue,
            };
            let both = points.intersect(at)?;
            if both.is_empty()? {
                continue;
            }
            add(&mut next, total.clone(), both)?;
        }
    }
    Ok(next)
}

fn add(all: &mut Changes, change: Option<Coefficient>, at: Set) -> Result<(), InferError> {
    match all.iter_mut().find(|(known, _)| *known == change) {
        Some((_, union)) => *union = union.union(&at)?.coalesce()?,
        None => all.push((change, at)),
    }
    Ok(())
}
