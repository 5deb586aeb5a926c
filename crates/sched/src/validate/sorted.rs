//! Reads that sort their subscripts, which are made for tensors that are symmetric in many positions.
//!
//! For each order that the subscripts may have there is a set of points at which every minimum and maximum is one of
//! its operands, so that the read is a plain one: `T[min(i, j), max(i, j)]` is `T[i, j]` where `i <= j`.

use dastac_loops::{Condition, Index, VarId};
use dastac_poly::Set;
use dastac_stur::infer::Read;
use dastac_stur::sets::Affine;

use super::points::Lift;
use super::{Stop, Validator};

/// At most this many orders are tried, which is enough for five positions.
const MAX_ORDERS: usize = 120;

impl Validator<'_> {
    /// Proves that `emitted` is the position of the element that a read with sorted subscripts reads.
    pub(super) fn sorted_address(
        &self,
        vars: &[VarId],
        lift: &Lift,
        emitted: &Index,
        read: &Read,
    ) -> Result<(), Stop> {
        let orders = orders(&read.sorted, read.subscripts.len());
        let orders = orders.ok_or_else(|| {
            Stop::undecided("a read of a tensor that is symmetric in many positions")
        })?;
        for order in orders {
            let subscripts: Vec<Affine> =
                order.iter().map(|&k| read.subscripts[k].clone()).collect();
            for (here, images) in &lift.pieces {
                let mut conditions = Vec::new();
                for pair in read.sorted.iter().flat_map(|class| class.windows(2)) {
                    let value = |k: usize| self.isl_names(&subscripts[k]).substitute(images);
                    let (Some(low), Some(high)) = (value(pair[0]), value(pair[1])) else {
                        return Err(Stop::undecided("a subscript beyond 64 bits"));
                    };
                    conditions.push(format!("{low} <= {high}"));
                }
                let here = here.intersect(&self.set(vars, &conditions)?)?.coalesce()?;
                if here.is_empty()? {
                    continue;
                }
                let emitted = self.decided(vars, &here, emitted, &mut Vec::new())?;
                let lift = Lift { map: lift.map.clone(), pieces: vec![(here, images.clone())] };
                self.address(vars, &lift, &emitted, read.tensor, &subscripts)?;
            }
        }
        Ok(())
    }

    /// The same value on a set, where each minimum and maximum is replaced by the operand that it is there. `known`
    /// remembers the results of comparisons.
    fn decided(
        &self,
        vars: &[VarId],
        here: &Set,
        index: &Index,
        known: &mut Vec<(Condition, bool)>,
    ) -> Result<Index, Stop> {
        let mut go = |index: &Index| self.decided(vars, here, index, known);
        Ok(match index {
            Index::Const(_) | Index::Symbol(_) | Index::Var(_) => index.clone(),
            Index::Select(..) | Index::Within(_) => index.clone(),
            Index::Add(left, right) => go(left)? + go(right)?,
            Index::Sub(left, right) => go(left)? - go(right)?,
            Index::Mul(left, right) => go(left)? * go(right)?,
            Index::FloorDiv(value, by) => go(value)?.floor_div(*by),
            Index::Mod(value, by) => go(value)?.modulo(*by),
            Index::Quotient(left, right) => go(left)?.quotient(go(right)?),
            Index::Load(buffer, index) => Index::Load(*buffer, Box::new(go(index)?)),
            Index::ExactDiv(value, by) => go(value)?.exact_div(*by),
            Index::Min(left, right) | Index::Max(left, right) => {
                let (left, right) = (go(left)?, go(right)?);
                let smallest = matches!(index, Index::Min(..));
                let (first, second) = (left.clone(), right.clone());
                if self.holds(vars, here, left.clone().at_most(right.clone()), known)? {
                    if smallest { first } else { second }
                } else if self.holds(vars, here, right.at_most(left), known)? {
                    if smallest { second } else { first }
                } else if smallest {
                    first.min(second)
                } else {
                    first.max(second)
                }
            }
        })
    }

    /// Whether a condition is known to hold on a set.
    fn holds(
        &self,
        vars: &[VarId],
        here: &Set,
        condition: Condition,
        known: &mut Vec<(Condition, bool)>,
    ) -> Result<bool, Stop> {
        if let Some((_, holds)) = known.iter().find(|(other, _)| *other == condition) {
            return Ok(*holds);
        }
        let holds = match self.naming.condition(&condition) {
            Some(text) => here.is_subset(&self.set(vars, &[text])?)?,
            None => false,
        };
        known.push((condition, holds));
        Ok(holds)
    }
}

/// All ways to permute positions within their classes, as the position that comes to stand at each place. `None` if
/// there are too many.
fn orders(classes: &[Vec<usize>], rank: usize) -> Option<Vec<Vec<usize>>> {
    let mut orders: Vec<Vec<usize>> = vec![(0..rank).collect()];
    for class in classes {
        for (place, &target) in class.iter().enumerate() {
            // Each position of the class that has no place yet comes here.
            let mut next = Vec::new();
            for order in &orders {
                for &other in &class[place..] {
                    let mut order = order.clone();
                    order.swap(target, other);
                    next.push(order);
                }
            }
            if next.len() > MAX_ORDERS {
                return None;
            }
            orders = next;
        }
    }
    Some(orders)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::orders;

    #[test]
    fn all_orders_once() {
        let found = orders(&[vec![0, 2, 3], vec![1, 4]], 6).unwrap();
        assert_eq!(found.len(), 12);
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 12);
        for order in found {
            let first: BTreeSet<usize> = [0, 2, 3].iter().map(|&k| order[k]).collect();
            assert_eq!((first, order[5]), ([0, 2, 3].into(), 5));
        }
        assert_eq!(orders(&[(0..5).collect()], 5).unwrap().len(), 120);
        assert!(orders(&[(0..6).collect()], 6).is_none());
    }
}
