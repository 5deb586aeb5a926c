//! Shapes of the dense arrays, as the parent module defines them.

use super::code::{Code, Relation, relations};
use super::interval::{Interval, linear, narrow};
use super::{EvalError, Evaluator};
use crate::ast::{BinaryOp, CompareOp, Comparison, Expr, ExprKind};
use crate::program::{Rule, TensorId};

impl Evaluator<'_> {
    pub(super) fn box_of(&self, id: TensorId) -> Result<Vec<usize>, EvalError> {
        let tensor = self.program.tensor(id);
        let rule = tensor.rule().map(|rule| &self.program.rules[rule.0]);
        let declared = tensor.domain.as_ref().or(match rule {
            None => tensor.unique.as_ref(),
            Some(_) => None,
        });
        match (declared, rule) {
            (Some(structure), _) => {
                let mut shape = vec![0; tensor.rank];
                for region in &structure.regions {
                    let slots: Vec<String> =
                        structure.iterators.iter().chain(&region.locals).cloned().collect();
                    let relations = relations(&region.comparisons, &slots, &self.symbols)?;
                    let mut ranges = vec![Interval::ALL; slots.len()];
                    narrow(&mut ranges, &relations);
                    let comparisons = &region.comparisons;
                    for (position, extent) in shape.iter_mut().enumerate() {
                        let direct = self.direct_bound(comparisons, &slots, position)?;
                        if !ranges[position].is_empty() && ranges[position].low < 0 {
                            let tensor = tensor.name.clone();
                            return Err(EvalError::NegativeIndex {
                                tensor,
                                position: position + 1,
                            });
                        }
                        let found = bound_or_range(direct, ranges[position], &slots[position])?;
                        *extent = found.max(*extent);
                    }
                }
                Ok(shape)
            }
            (None, Some(rule)) => self.head_box(rule),
            (None, None) if tensor.rank == 0 => Ok(Vec::new()),
            // The checker lets no other input through.
            (None, None) => Err(EvalError::Unbounded { iterator: tensor.name.clone() }),
        }
    }

    fn head_box(&self, rule: &Rule) -> Result<Vec<usize>, EvalError> {
        let mut shape = vec![0; rule.iterators.len()];
        for product in rule.bounding() {
            let slots = &product.iterators;
            let comparisons = affine_parts(&product.comparisons, slots);
            let (mut ranges, limits) = self.limits(rule, product)?;
            // Two for each subscript.
            let subscripts = product.accesses.iter().flat_map(|access| &access.subscripts);
            let affine = subscripts.flat_map(|subscript| [is_affine(subscript, slots); 2]);
            let mut limits: Vec<Relation> = limits
                .into_iter()
                .zip(affine)
                .filter_map(|(l, affine)| affine.then_some(l))
                .collect();
            limits.extend(relations(&comparisons, slots, &self.symbols)?);
            narrow(&mut ranges, &limits);
            let reads = self.reads(product)?;
            for (name, extent) in rule.iterators.iter().zip(&mut shape) {
                let Some(slot) = slots.iter().position(|slot| slot == name) else { continue };
                let mut bound = self.direct_bound(&comparisons, slots, slot)?;
                for read in &reads {
                    for (subscript, extent) in read.subscripts.iter().zip(self.shape(read.tensor)) {
                        if matches!(subscript, Code::Slot(other) if *other == slot) {
                            let extent = *extent as i128;
                            bound = Some(bound.map_or(extent, |bound| bound.min(extent)));
                        }
                    }
                }
                *extent = bound_or_range(bound, ranges[slot], name)?.max(*extent);
            }
        }
        Ok(shape)
    }

    /// The smallest exclusive upper bound that a chain puts on a slot by itself: `slot < ..` or `slot <= ..` against
    /// symbols and numbers, also across a chain's middle (`0 <= i <= j < N` bounds `i` by `N`).
    fn direct_bound(
        &self,
        comparisons: &[Comparison],
        slots: &[String],
        slot: usize,
    ) -> Result<Option<i128>, EvalError> {
        let mut smallest: Option<i128> = None;
        for comparison in comparisons {
            let codes: Vec<Code> = comparison
                .operands
                .iter()
                .map(|operand| Code::new(operand, slots, &self.symbols))
                .collect::<Result<_, _>>()?;
            for (from, left) in codes.iter().enumerate() {
                for (to, right) in codes.iter().enumerate() {
                    let Some(strict) = below(&comparison.operators, from, to) else { continue };
                    let difference =
                        Code::Op(BinaryOp::Sub, Box::new(left.clone()), Box::new(right.clone()));
                    // slot + constant < 0 means slot < -constant; floor(slot / c) < b means slot < c * b.
                    let bound = match linear(&difference) {
                        Some((terms, constant)) if terms == [(slot, 1)] => {
                            i128::from(!strict) - constant
                        }
                        Some(_) => continue,
                        None => match quotient(&difference, slot) {
                            Some((divisor, constant)) => {
                                (i128::from(!strict) - constant).saturating_mul(divisor)
                            }
                            None => continue,
                        },
                    };
                    smallest = Some(smallest.map_or(bound, |smallest| smallest.min(bound)));
                }
            }
        }
        Ok(smallest)
    }
}

/// Chains of comparisons without the operands that are not affine in the slots. Shapes do not depend on these operands,
/// whatever values the symbols have.
fn affine_parts(comparisons: &[Comparison], slots: &[String]) -> Vec<Comparison> {
    let mut parts = Vec::new();
    for comparison in comparisons {
        let affine: Vec<bool> =
            comparison.operands.iter().map(|operand| is_affine(operand, slots)).collect();
        let mut from = 0;
        while from < affine.len() {
            let to = (from..affine.len()).find(|k| !affine[*k]).unwrap_or(affine.len());
            if to > from + 1 {
                parts.push(Comparison {
                    operands: comparison.operands[from..to].to_vec(),
                    operators: comparison.operators[from..to - 1].to_vec(),
                    ..comparison.clone()
                });
            }
            from = to + 1;
        }
    }
    parts
}

/// Whether an expression is a sum of multiples and quotients of slots by numbers, and of anything without slots.
fn is_affine(expr: &Expr, slots: &[String]) -> bool {
    fn number(expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Int(_) => true,
            ExprKind::Name(_) => false,
            ExprKind::Neg(inner) => number(inner),
            ExprKind::Binary(_, left, right) => number(left) && number(right),
        }
    }
    fn has_slots(expr: &Expr, slots: &[String]) -> bool {
        match &expr.kind {
            ExprKind::Int(_) => false,
            ExprKind::Name(name) => slots.contains(name),
            ExprKind::Neg(inner) => has_slots(inner, slots),
            ExprKind::Binary(_, left, right) => has_slots(left, slots) || has_slots(right, slots),
        }
    }
    if !has_slots(expr, slots) {
        return true;
    }
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Name(_) => true,
        ExprKind::Neg(inner) => is_affine(inner, slots),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, left, right) => {
            is_affine(left, slots) && is_affine(right, slots)
        }
        ExprKind::Binary(BinaryOp::Mul, left, right) => {
            number(left) && is_affine(right, slots) || number(right) && is_affine(left, slots)
        }
        ExprKind::Binary(BinaryOp::Div | BinaryOp::Mod, left, right) => {
            number(right) && is_affine(left, slots)
        }
    }
}

/// The divisor and the constant of `slot / divisor + constant`.
fn quotient(code: &Code, slot: usize) -> Option<(i128, i128)> {
    let constant = |code: &Code| match linear(code) {
        Some((terms, constant)) if terms.is_empty() => Some(constant),
        _ => None,
    };
    match code {
        Code::Op(BinaryOp::Div, value, by) => match (&**value, &**by) {
            (Code::Slot(found), Code::Const(by @ 1..)) if *found == slot => Some(((*by).into(), 0)),
            _ => None,
        },
        Code::Op(BinaryOp::Add, left, right) => {
            let (of, plus) = match quotient(left, slot) {
                Some(of) => (of, constant(right)?),
                None => (quotient(right, slot)?, constant(left)?),
            };
            Some((of.0, of.1.checked_add(plus)?))
        }
        Code::Op(BinaryOp::Sub, left, right) => {
            let of = quotient(left, slot)?;
            Some((of.0, of.1.checked_sub(constant(right)?)?))
        }
        _ => None,
    }
}

/// An extent from an exclusive bound or, if there is none, from a range.
fn bound_or_range(bound: Option<i128>, range: Interval, name: &str) -> Result<usize, EvalError> {
    let bound = match bound {
        Some(bound) => bound,
        None if range.is_empty() => 0,
        None => match range.finite() {
            Some((_, high)) => i128::from(high) + 1,
            None => return Err(EvalError::Unbounded { iterator: name.into() }),
        },
    };
    usize::try_from(bound.max(0)).map_err(|_| EvalError::Overflow)
}

/// Whether operand `from` of a chain is below (strictly or not) operand `to`, as the operators between them say.
fn below(operators: &[CompareOp], from: usize, to: usize) -> Option<bool> {
    if from == to {
        return None;
    }
    let mut strict = false;
    for operator in &operators[from.min(to)..from.max(to)] {
        match (operator, from < to) {
            (CompareOp::Lt, true) | (CompareOp::Gt, false) => strict = true,
            (CompareOp::Le, true) | (CompareOp::Ge, false) | (CompareOp::Eq, _) => {}
            _ => return None,
        }
    }
    Some(strict)
}
