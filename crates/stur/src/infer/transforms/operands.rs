//! Which moves of its subscripts leave an operand as it is, up to a coefficient.

use std::cell::RefCell;
use std::collections::BTreeMap;

use dastac_poly::Map;

use super::super::relations::Relations;
use super::super::{InferError, Structured};
use crate::program::TensorId;
use crate::sets::{Affine, Extent, Sets};

use super::shape::Shape;

/// Operands whose redundancy has more pieces are taken to be equal to themselves only.
const MAX_PIECES: usize = 48;

/// A move of subscripts: each position takes a multiple (1 or -1) of an old subscript, plus a number; a negated one is
/// counted from the other end of the dimension.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Move {
    pub source: Vec<(usize, bool)>,
    pub plus: Vec<i64>,
}

impl Move {
    /// Moves by steps.
    pub fn shift(steps: Vec<i64>) -> Move {
        Move { source: (0..steps.len()).map(|k| (k, false)).collect(), plus: steps }
    }

    /// Whether all subscripts stay.
    pub fn is_identity(&self) -> bool {
        let stays = |(k, source): (usize, &(usize, bool))| *source == (k, false);
        self.source.iter().enumerate().all(stays) && self.plus.iter().all(|plus| *plus == 0)
    }
}

/// The operands of a rule.
pub(super) struct Operands<'a, 'b> {
    pub sets: &'b Sets,
    known: &'b dyn Fn(TensorId) -> Option<&'a Structured>,
    pub relations: &'b BTreeMap<TensorId, Relations>,
    decided: RefCell<BTreeMap<(TensorId, Move), bool>>,
}

impl<'a, 'b> Operands<'a, 'b> {
    pub fn new(
        sets: &'b Sets,
        known: &'b dyn Fn(TensorId) -> Option<&'a Structured>,
        relations: &'b BTreeMap<TensorId, Relations>,
    ) -> Self {
        Operands { sets, known, relations, decided: RefCell::default() }
    }

    /// Whether most elements of a tensor stay the same up to a coefficient: all but those beside borders.
    pub fn stays(&self, tensor: TensorId, step: &Move) -> Result<bool, InferError> {
        if step.is_identity() {
            return Ok(true);
        }
        let (Some(relations), Some(operand)) = (self.relations.get(&tensor), (self.known)(tensor))
        else {
            return Ok(false);
        };
        let key = (tensor, step.clone());
        if let Some(known) = self.decided.borrow().get(&key) {
            return Ok(*known);
        }
        let mut holds = false;
        if let Some(map) = self.map(operand, step)? {
            let whole = operand.support.affine_hull()?;
            for (_, pairs) in &relations.0 {
                if pairs.basic_maps()?.len() <= MAX_PIECES {
                    let here = map.intersect(pairs)?.domain()?;
                    holds |= !here.is_empty()? && here.affine_hull()?.is_equal(&whole)?;
                }
            }
        }
        self.decided.borrow_mut().insert(key, holds);
        Ok(holds)
    }

    fn map(&self, operand: &Structured, step: &Move) -> Result<Option<Map>, InferError> {
        let mut images = Vec::new();
        for (k, ((source, negated), plus)) in step.source.iter().zip(&step.plus).enumerate() {
            let bound = single(&operand.extents[k]);
            let image = moved(&operand.iterators[*source], *negated, bound);
            let Some(image) = image.and_then(|i| i.add_scaled(&Affine::constant(*plus), 1)) else {
                return Ok(None);
            };
            images.push(image);
        }
        Ok(Some(self.sets.access(&operand.iterators, &images)?))
    }

    /// The number of values of an iterator that is a subscript by itself, if it is known.
    pub fn extent(&self, shape: &Shape<'_>, iterator: usize) -> Option<Affine> {
        let name = &shape.product.iterators[iterator];
        shape.accesses.iter().find_map(|access| {
            let at = access.subscripts.iter().position(|s| s.as_name() == Some(name))?;
            single(&(self.known)(access.tensor)?.extents[at])
        })
    }
}

/// The bound of an extent that has one only.
pub(super) fn single(extent: &Extent) -> Option<Affine> {
    match extent.regions.as_slice() {
        [bounds] => match bounds.as_slice() {
            [bound] => Some(bound.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// An iterator, or `bound - 1 - iterator`.
pub(super) fn moved(iterator: &str, negated: bool, bound: Option<Affine>) -> Option<Affine> {
    match negated {
        false => Some(Affine::name(iterator)),
        true => {
            bound?.add_scaled(&Affine::constant(-1), 1)?.add_scaled(&Affine::name(iterator), -1)
        }
    }
}
