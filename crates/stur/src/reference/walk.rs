//! One rule by a walk over what its operands store, for tensors whose boxes are too large for the dense evaluator.
//!
//! A product is zero where a factor with `:F` is not stored. So the stored elements of one such factor are enumerated;
//! for each of them those of the next one whose coordinates fit; and so on. What the coordinates leave open of the
//! product's iterators are plain loops. At each point the product is computed as the dense evaluator does it (see
//! [`Reading`]). Operands are given: what other rules compute is not computed again.
//!
//! A result with a fill has elements where any factor is stored: all others are the fill. A product such as
//! `tanh(A(i, j) + B(i, j))` is zero only where neither is stored. In both cases the elements of a result with `:F` are
//! found first, and then computed like elements that are asked for.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use super::elements::{Elements, Entries, Walk, WalkError, Walked};
use super::joins::{count, each, rule_kind};
use super::number::{self, Number};
use super::reading::{Arithmetic, Reading};
use super::structure::{Cell, Status};
use super::{EvalError, Evaluator, index_at, position};
use crate::program::{Rule, TensorId};

/// An element that is summed up.
struct Sum {
    value: Number,
    stored: bool,
}

impl Evaluator<'_> {
    /// At most how many products a walk of a rule computes, up to some number beyond `limit`.
    ///
    /// # Errors
    /// A rule that is not walked.
    pub fn walk_cost(&self, rule: &Rule, walk: &Walk<'_>, limit: u128) -> Result<u128, WalkError> {
        let wanted = self.wanted(rule, walk, limit)?;
        let walk = Walk { wanted: wanted.as_deref(), progress: &mut |_| {}, ..*walk };
        let mut cost = 0u128;
        for product in &rule.products {
            let plan = self.plan(rule, product, &walk)?;
            let each = plan.nest.count().max(1);
            let combinations = count(&plan.joins, &mut Vec::new(), limit / each + 1)?;
            cost = cost.saturating_add(combinations.saturating_mul(each));
        }
        Ok(cost)
    }

    /// Computes the elements of a rule's head that some product reaches, in no order. All others have the value of a
    /// sum over nothing, or are the fill of a result that has one.
    ///
    /// # Errors
    /// A rule that is not walked; as for [`Evaluator::run`].
    pub fn walk(&self, rule: &Rule, walk: &mut Walk<'_>) -> Result<Vec<Walked>, WalkError> {
        let wanted = self.wanted(rule, walk, u128::MAX)?;
        let operands = walk.operands;
        let own = Walk { operands, wanted: wanted.as_deref(), progress: &mut *walk.progress };
        let sums = self.sums(rule, own)?;
        let element = self.program.tensor(rule.head).element;
        let walked = |index: Vec<i64>, sum: &Sum| Walked {
            index,
            value: sum.value.stored(element).held(),
            stored: sum.stored,
        };
        if self.program.tensor(rule.head).redundancy.is_none() {
            let all = sums.into_iter();
            return Ok(all.map(|(index, sum)| walked(index, &sum)).collect());
        }
        let mut all = Vec::new();
        let mut take = |index: Vec<i64>, target: &[i64], coefficient: Option<f64>| {
            let Some(sum) = sums.get(target) else { return };
            let value = sum.value.stored(element);
            let value = coefficient.map_or(value, |factor| value.scaled(factor, element));
            all.push(walked(index, &Sum { value, ..*sum }));
        };
        if let Some(asked) = walk.wanted {
            for entry in 0..asked.len() {
                let index = asked.at(entry).to_vec();
                match self.is_stored(rule.head, &index)? {
                    Status::Zero => {}
                    Status::Unique => take(index.clone(), &index, None),
                    Status::Redundant { target, coefficient } => {
                        take(index, &target, Some(coefficient));
                    }
                }
            }
            return Ok(all);
        }
        let shape = self.shape(rule.head);
        for (at, cell) in self.cells(rule.head)?.into_iter().enumerate() {
            let index = index_at(shape, at);
            match cell {
                Cell::Zero => {}
                Cell::Unique => take(index.clone(), &index, None),
                Cell::Redundant { target, coefficient } => {
                    take(index, &index_at(shape, target), Some(coefficient));
                }
            }
        }
        Ok(all)
    }

    /// The sums of a rule's products at unique elements of its head.
    fn sums(&self, rule: &Rule, walk: Walk<'_>) -> Result<HashMap<Vec<i64>, Sum>, WalkError> {
        let head = self.program.tensor(rule.head);
        let (semiring, kind) = (rule.semiring, rule_kind(head.element));
        let arithmetic = Arithmetic { semiring, kind, has_fill: rule.fill.is_some() };
        let plain = self.is_plain(rule.head)?;
        let reading = Reading::new(self, walk.operands);
        // Elements that are not unique have no sum.
        let mut sums: HashMap<Vec<i64>, Option<Sum>> = HashMap::new();
        let mut done = 0u128;
        for product in &rule.products {
            let plan = self.plan(rule, product, &walk)?;
            let mut chosen = vec![0; plan.joins.len()];
            each(&plan.joins, 0, &mut Vec::new(), &mut chosen, &mut |fixed, chosen| {
                plan.nest.for_each(fixed, &mut |point| {
                    done += 1;
                    if done.is_multiple_of(1 << 20) {
                        (walk.progress)(done);
                    }
                    let index: Vec<i64> = plan.head.iter().map(|slot| point[*slot]).collect();
                    let inside = position(self.shape(rule.head), &index).is_some();
                    if !inside && !plain && !self.in_domain(rule.head, &index)? {
                        return Ok(());
                    }
                    if let Some(None) = sums.get(&index) {
                        return Ok(());
                    }
                    let term = reading.term(&plan, arithmetic, chosen, point)?;
                    let Some(term) = term else { return Ok(()) };
                    if !inside {
                        return Err(EvalError::OutsideBox { tensor: self.name(rule.head), index });
                    }
                    let sum = match sums.entry(index) {
                        std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                        std::collections::hash_map::Entry::Vacant(entry) => {
                            let is_unique =
                                plain || self.is_stored(rule.head, entry.key())? == Status::Unique;
                            let value = Number::of(kind, self.program.start(rule.head));
                            entry.insert(is_unique.then_some(Sum { value, stored: false }))
                        }
                    };
                    let Some(sum) = sum else { return Ok(()) };
                    sum.stored |= term.stored;
                    if let Some(value) = term.value {
                        sum.value = number::add(semiring, sum.value, value);
                    }
                    Ok(())
                })
            })?;
        }
        Ok(sums.into_iter().filter_map(|(index, sum)| Some((index, sum?))).collect())
    }

    /// The unique elements to compute, if they are not all: those that the wanted ones are multiples of, or those that
    /// a result with a fill has.
    fn wanted<'w>(
        &self,
        rule: &Rule,
        walk: &Walk<'w>,
        limit: u128,
    ) -> Result<Option<Cow<'w, Entries>>, WalkError> {
        let all: BTreeSet<Vec<i64>> = match walk.wanted {
            None if self.is_placed(rule, walk)? => self.placed(rule, walk.operands, limit)?,
            None => return Ok(None),
            Some(wanted) if self.program.tensor(rule.head).redundancy.is_none() => {
                return Ok(Some(Cow::Borrowed(wanted)));
            }
            Some(wanted) => {
                let mut targets = BTreeSet::new();
                for entry in 0..wanted.len() {
                    let index = wanted.at(entry);
                    match self.is_stored(rule.head, index)? {
                        Status::Zero => false,
                        Status::Unique => targets.insert(index.to_vec()),
                        Status::Redundant { target, .. } => targets.insert(target),
                    };
                }
                targets
            }
        };
        let count = all.len();
        Ok(Some(Cow::Owned(Entries {
            shape: self.shape(rule.head).to_vec(),
            coordinates: all.into_iter().collect::<Vec<_>>().concat(),
            values: vec![1i64; count].into(),
        })))
    }

    /// Whether the elements of a result have to be found before they are computed, and can be.
    fn is_placed(&self, rule: &Rule, walk: &Walk<'_>) -> Result<bool, WalkError> {
        if rule.fill.is_some() || self.program.tensor(rule.head).format.is_none() {
            return Ok(rule.fill.is_some());
        }
        let mut is_open = false;
        for product in &rule.products {
            if !self.needs_some(rule, product, walk.operands)? {
                return Ok(false);
            }
            is_open |= self.plan(rule, product, walk)?.joins.is_empty();
        }
        Ok(is_open)
    }

    /// Where any factor of a rule is stored.
    fn placed(
        &self,
        rule: &Rule,
        operands: &HashMap<TensorId, Elements>,
        limit: u128,
    ) -> Result<BTreeSet<Vec<i64>>, WalkError> {
        let mut all = BTreeSet::new();
        let mut cost = 0u128;
        for product in &rule.products {
            for (at, access) in product.accesses.iter().enumerate() {
                let Some(Elements::Stored(entries)) = operands.get(&access.tensor) else {
                    continue;
                };
                let plan = self.plan_of_one(rule, product, at, entries)?;
                let points = plan.nest.count().saturating_mul(entries.len() as u128);
                cost = cost.saturating_add(points);
                if cost > limit {
                    return Err(WalkError::Unsupported("its factors fit in too many ways"));
                }
                let mut chosen = vec![0; plan.joins.len()];
                each(&plan.joins, 0, &mut Vec::new(), &mut chosen, &mut |fixed, _| {
                    plan.nest.for_each(fixed, &mut |point| {
                        let index: Vec<i64> = plan.head.iter().map(|slot| point[*slot]).collect();
                        if position(self.shape(rule.head), &index).is_some() {
                            all.insert(index);
                        }
                        Ok(())
                    })
                })?;
            }
        }
        Ok(all)
    }
}
