//! One rule by a walk over what its operands store, for tensors whose boxes are too large for the dense evaluator.
//!
//! A product is zero where a factor with `:F` is not stored. So the stored elements of one such factor are enumerated;
//! for each of them those of the next one whose coordinates fit; and so on. What the coordinates leave open of the
//! product's iterators are plain loops. At each point the product is computed as the dense evaluator does it. Operands
//! are given: what other rules compute is not computed again.

use std::collections::HashMap;

use super::dense::position;
use super::elements::{Elements, Walk, WalkError, Walked};
use super::joins::{Plan, count, each, rule_kind};
use super::number::{self, Kind, Number};
use super::{EvalError, Evaluator};
use crate::program::{Rule, TensorId};
use crate::semiring::Semiring;

impl Evaluator<'_> {
    /// At most how many products a walk of a rule computes, up to some number beyond `limit`.
    ///
    /// # Errors
    /// A rule that is not walked.
    pub fn walk_cost(&self, rule: &Rule, walk: &Walk<'_>, limit: u128) -> Result<u128, WalkError> {
        let mut cost = 0u128;
        for product in &rule.products {
            let plan = self.plan(rule, product, walk)?;
            let each = plan.nest.count().max(1);
            let combinations = count(&plan.joins, &mut Vec::new(), limit / each + 1)?;
            cost = cost.saturating_add(combinations.saturating_mul(each));
        }
        Ok(cost)
    }

    /// Computes the elements of a rule's head that some product reaches, in no order. All others have the value of a
    /// sum over nothing.
    ///
    /// # Errors
    /// A rule that is not walked; as for [`Evaluator::run`].
    pub fn walk(&self, rule: &Rule, walk: &mut Walk<'_>) -> Result<Vec<Walked>, WalkError> {
        let element = self.program.tensor(rule.head).element;
        let (semiring, kind) = (rule.semiring, rule_kind(element));
        let plain = self.is_plain(rule.head)?;
        let mut sums: HashMap<Vec<i64>, Number> = HashMap::new();
        let mut done = 0u128;
        for product in &rule.products {
            let plan = self.plan(rule, product, walk)?;
            let progress = &mut *walk.progress;
            let operands = walk.operands;
            let mut chosen = vec![0; plan.joins.len()];
            each(&plan.joins, 0, &mut Vec::new(), &mut chosen, &mut |fixed, chosen| {
                plan.nest.for_each(fixed, &mut |point| {
                    done += 1;
                    if done.is_multiple_of(1 << 20) {
                        progress(done);
                    }
                    let index: Vec<i64> = plan.head.iter().map(|slot| point[*slot]).collect();
                    if !plain && !self.in_domain(rule.head, &index)? {
                        return Ok(());
                    }
                    let term = self.term(&plan, (semiring, kind), operands, chosen, point)?;
                    let Some(term) = term else { return Ok(()) };
                    if position(self.shape(rule.head), &index).is_none() {
                        return Err(EvalError::OutsideBox { tensor: self.name(rule.head), index });
                    }
                    let zero = Number::of(kind, self.program.zero(rule.head));
                    let sum = sums.entry(index).or_insert(zero);
                    *sum = number::add(semiring, *sum, term);
                    Ok(())
                })
            })?;
        }
        let finish = |(index, value): (Vec<i64>, Number)| Walked {
            index,
            value: value.stored(element).held(),
        };
        Ok(sums.into_iter().map(finish).collect())
    }

    /// The product at a point; `None` where it is structurally zero.
    fn term(
        &self,
        plan: &Plan<'_>,
        (semiring, kind): (Semiring, Kind),
        operands: &HashMap<TensorId, Elements>,
        chosen: &[usize],
        point: &[i64],
    ) -> Result<Option<Number>, EvalError> {
        let mut term = plan.constant;
        let mut arguments = Vec::new();
        for (at, read) in plan.reads.iter().enumerate() {
            let joined = plan.joins.iter().zip(chosen).find(|(join, _)| join.read == Some(at));
            let value = match (joined, operands.get(&read.tensor)) {
                (Some((join, entry)), _) => Number::read(&join.entries.values, *entry),
                (None, Some(Elements::All(array))) => {
                    let subscripts = read.subscripts.iter().map(|code| code.eval(point));
                    let index: Vec<i64> = subscripts.collect::<Result<_, _>>()?;
                    position(&array.shape, &index).and_then(|at| Number::read(&array.data, at))
                }
                _ => return Err(EvalError::MissingInput { tensor: self.name(read.tensor) }),
            };
            let Some(value) = value else {
                if read.argument {
                    arguments.push(None);
                    continue;
                }
                return Ok(None);
            };
            let value = if read.reciprocal { value.reciprocal() } else { value };
            arguments.push(Some(value));
            if !read.argument {
                term = number::multiply(semiring, term, value.as_kind(kind));
            }
        }
        for function in &plan.functions {
            let value = function.value(point, &arguments)?;
            if value.is_zero() && !semiring.is_of_values() {
                return Ok(None);
            }
            let value = value.number();
            let value = if function.reciprocal { value.reciprocal() } else { value };
            term = number::multiply(semiring, term, value);
        }
        Ok(Some(term))
    }
}
