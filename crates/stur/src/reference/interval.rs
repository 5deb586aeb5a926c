//! Ranges of iterators: interval propagation over comparisons with concrete symbols. If a range stays infinite, the
//! other iterators are eliminated from the linear comparisons (Fourier and Motzkin).
//!
//! Invariant: narrowing never removes a point that satisfies all relations; it may keep points that do not.

use crate::ast::{BinaryOp, CompareOp};

use super::code::{Code, Relation};

/// An infinite bound, far beyond all 64-bit values.
const INFINITE: i128 = 1 << 96;
/// Propagation stops after so many rounds, even if bounds still change.
const MAX_ROUNDS: usize = 64;

/// All integers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub low: i128,
    pub high: i128,
}

impl Interval {
    pub const ALL: Interval = Interval { low: -INFINITE, high: INFINITE };

    pub fn new(low: i64, high: i64) -> Self {
        Interval { low: low.into(), high: high.into() }
    }

    fn point(value: i64) -> Self {
        Interval::new(value, value)
    }

    pub fn is_empty(self) -> bool {
        self.low > self.high
    }

    /// As 64-bit bounds; `None` if one is infinite or too large for sums of them.
    pub fn finite(self) -> Option<(i64, i64)> {
        let bound = |b: i128| (b.abs() < 1 << 62).then(|| i64::try_from(b).ok()).flatten();
        Some((bound(self.low)?, bound(self.high)?))
    }

    fn of(low: i128, high: i128) -> Self {
        Interval { low: low.clamp(-INFINITE, INFINITE), high: high.clamp(-INFINITE, INFINITE) }
    }

    fn add(self, other: Interval) -> Interval {
        let endless = |a: i128, b: i128| a.abs() >= INFINITE || b.abs() >= INFINITE;
        let low = if endless(self.low, other.low) { -INFINITE } else { self.low + other.low };
        let high = if endless(self.high, other.high) { INFINITE } else { self.high + other.high };
        Interval::of(low, high)
    }

    fn neg(self) -> Interval {
        Interval { low: -self.high, high: -self.low }
    }

    fn mul(self, other: Interval) -> Interval {
        let corners = [
            self.low.saturating_mul(other.low),
            self.low.saturating_mul(other.high),
            self.high.saturating_mul(other.low),
            self.high.saturating_mul(other.high),
        ];
        let low = corners.iter().min().copied().unwrap_or(-INFINITE);
        let high = corners.iter().max().copied().unwrap_or(INFINITE);
        Interval::of(low, high)
    }

    fn intersect(self, other: Interval) -> Interval {
        Interval { low: self.low.max(other.low), high: self.high.min(other.high) }
    }
}

/// `constant + sum of coefficient * slot`. `None` if a code is not linear.
pub(crate) fn linear(code: &Code) -> Option<(Vec<(usize, i128)>, i128)> {
    fn collect(code: &Code, factor: i128, terms: &mut Vec<(usize, i128)>) -> Option<i128> {
        match code {
            Code::Const(value) => i128::from(*value).checked_mul(factor),
            Code::Slot(slot) => {
                match terms.iter_mut().find(|(other, _)| other == slot) {
                    Some((_, coefficient)) => *coefficient = coefficient.checked_add(factor)?,
                    None => terms.push((*slot, factor)),
                }
                Some(0)
            }
            Code::Neg(inner) => collect(inner, factor.checked_neg()?, terms),
            Code::Op(BinaryOp::Add, left, right) => {
                collect(left, factor, terms)?.checked_add(collect(right, factor, terms)?)
            }
            Code::Op(BinaryOp::Sub, left, right) => collect(left, factor, terms)?
                .checked_add(collect(right, factor.checked_neg()?, terms)?),
            Code::Op(BinaryOp::Mul, left, right) => match (&**left, &**right) {
                (Code::Const(c), other) | (other, Code::Const(c)) => {
                    collect(other, factor.checked_mul((*c).into())?, terms)
                }
                _ => None,
            },
            Code::Op(..) | Code::Element(..) => None,
        }
    }
    let mut terms = Vec::new();
    let constant = collect(code, 1, &mut terms)?;
    terms.retain(|(_, coefficient)| *coefficient != 0);
    let small = |v: &i128| v.abs() < INFINITE;
    (terms.iter().all(|(_, c)| small(c)) && small(&constant)).then_some((terms, constant))
}

/// Shrinks the ranges of the slots to what each relation by itself allows, until nothing changes.
pub(crate) fn narrow(ranges: &mut [Interval], relations: &[Relation]) {
    let differences: Vec<_> = relations
        .iter()
        .map(|relation| {
            let left = Box::new(relation.left.clone());
            linear(&Code::Op(BinaryOp::Sub, left, Box::new(relation.right.clone())))
        })
        .collect();
    for _ in 0..MAX_ROUNDS {
        let before = ranges.to_vec();
        for (relation, difference) in relations.iter().zip(&differences) {
            match difference {
                Some((terms, constant)) => {
                    narrow_linear(ranges, terms, *constant, relation.operator)
                }
                None => narrow_tree(ranges, relation),
            }
        }
        if ranges.iter().any(|range| range.is_empty()) {
            ranges.fill(Interval { low: 0, high: -1 });
            return;
        }
        if ranges == before {
            break;
        }
    }
    for slot in 0..ranges.len() {
        if ranges[slot].finite().is_none() {
            ranges[slot] = ranges[slot].intersect(projected(ranges, relations, &differences, slot));
        }
    }
    if ranges.iter().any(|range| range.is_empty()) {
        ranges.fill(Interval { low: 0, high: -1 });
    }
}

/// Inequalities that elimination may make.
const MAX_INEQUALITIES: usize = 1000;

/// `sum of coefficient * slot + constant >= 0`
#[derive(Clone, PartialEq)]
struct Inequality {
    coefficients: Vec<i128>,
    constant: i128,
}

type Difference = Option<(Vec<(usize, i128)>, i128)>;

/// The range of a slot that follows from the linear relations and the finite ranges together. It is infinite if finding
/// it takes too many inequalities.
fn projected(
    ranges: &[Interval],
    relations: &[Relation],
    differences: &[Difference],
    slot: usize,
) -> Interval {
    let mut system: Vec<Inequality> = Vec::new();
    let mut add = |terms: &[(usize, i128)], constant: i128, factor: i128| -> Option<()> {
        let mut coefficients = vec![0; ranges.len()];
        for (slot, coefficient) in terms {
            coefficients[*slot] = coefficient.checked_mul(factor)?;
        }
        system.push(Inequality { coefficients, constant: constant.checked_mul(factor)? });
        Some(())
    };
    for (relation, difference) in relations.iter().zip(differences) {
        let Some((terms, constant)) = difference else { continue };
        let Interval { low, high } = allowed(relation.operator);
        // low <= difference <= high
        if low > -INFINITE && add(terms, *constant - low, 1).is_none() {
            return Interval::ALL;
        }
        if high < INFINITE && add(terms, *constant - high, -1).is_none() {
            return Interval::ALL;
        }
    }
    for (k, range) in ranges.iter().enumerate() {
        if range.low > -INFINITE && add(&[(k, 1)], -range.low, 1).is_none() {
            return Interval::ALL;
        }
        if range.high < INFINITE && add(&[(k, 1)], -range.high, -1).is_none() {
            return Interval::ALL;
        }
    }
    for other in (0..ranges.len()).filter(|other| *other != slot) {
        match eliminated(&system, other) {
            Some(rest) => system = rest,
            None => return Interval::ALL,
        }
    }
    let mut range = Interval::ALL;
    for Inequality { coefficients, constant } in &system {
        // a * x + c >= 0
        let bound = Interval { low: -*constant, high: INFINITE };
        if coefficients[slot] != 0 {
            range = range.intersect(divided(bound, coefficients[slot]));
        } else if *constant < 0 {
            return Interval { low: 0, high: -1 };
        }
    }
    range
}

/// The inequalities after eliminating a slot: each one that bounds it from below is combined with each one that bounds
/// it from above.
fn eliminated(system: &[Inequality], slot: usize) -> Option<Vec<Inequality>> {
    let (mut rest, mut lower, mut upper) = (Vec::new(), Vec::new(), Vec::new());
    for inequality in system {
        match inequality.coefficients[slot] {
            0 => rest.push(inequality.clone()),
            1.. => lower.push(inequality),
            _ => upper.push(inequality),
        }
    }
    for low in &lower {
        for high in &upper {
            let (a, b) = (low.coefficients[slot], -high.coefficients[slot]);
            let sum = |x: i128, y: i128| x.checked_mul(b)?.checked_add(y.checked_mul(a)?);
            let coefficients = low.coefficients.iter().zip(&high.coefficients);
            let coefficients: Option<Vec<i128>> = coefficients.map(|(x, y)| sum(*x, *y)).collect();
            let new = Inequality {
                coefficients: coefficients?,
                constant: sum(low.constant, high.constant)?,
            };
            if !rest.contains(&new) {
                rest.push(new);
            }
            if rest.len() > MAX_INEQUALITIES {
                return None;
            }
        }
    }
    Some(rest)
}

/// The range of `left - right`.
fn allowed(operator: CompareOp) -> Interval {
    match operator {
        CompareOp::Eq => Interval { low: 0, high: 0 },
        CompareOp::Ne => Interval::ALL,
        CompareOp::Lt => Interval { low: -INFINITE, high: -1 },
        CompareOp::Le => Interval { low: -INFINITE, high: 0 },
        CompareOp::Gt => Interval { low: 1, high: INFINITE },
        CompareOp::Ge => Interval { low: 0, high: INFINITE },
    }
}

fn narrow_linear(
    ranges: &mut [Interval],
    terms: &[(usize, i128)],
    constant: i128,
    operator: CompareOp,
) {
    let constant = Interval { low: constant, high: constant };
    if terms.is_empty()
        && operator != CompareOp::Ne
        && constant.intersect(allowed(operator)).is_empty()
    {
        ranges.fill(Interval { low: 0, high: -1 });
        return;
    }
    for (k, (slot, coefficient)) in terms.iter().enumerate() {
        let mut rest = constant;
        for (other, (slot, coefficient)) in terms.iter().enumerate() {
            if other != k {
                let factor = Interval { low: *coefficient, high: *coefficient };
                rest = rest.add(ranges[*slot].mul(factor));
            }
        }
        let scaled = allowed(operator).add(rest.neg());
        ranges[*slot] = ranges[*slot].intersect(divided(scaled, *coefficient));
    }
}

/// All integers whose multiple by `factor` (not 0) lies in a range.
fn divided(range: Interval, factor: i128) -> Interval {
    let (range, factor) = if factor < 0 { (range.neg(), -factor) } else { (range, factor) };
    let low = if range.low <= -INFINITE { -INFINITE } else { -(-range.low).div_euclid(factor) };
    let high = if range.high >= INFINITE { INFINITE } else { range.high.div_euclid(factor) };
    Interval { low, high }
}

/// The values that a code may have.
pub(crate) fn forward(code: &Code, ranges: &[Interval]) -> Interval {
    match code {
        Code::Const(value) => Interval::point(*value),
        Code::Slot(slot) => ranges[*slot],
        Code::Element(integers, _) => Interval::new(integers.range.0, integers.range.1),
        Code::Neg(inner) => forward(inner, ranges).neg(),
        Code::Op(op, left, right) => {
            let (a, b) = (forward(left, ranges), forward(right, ranges));
            match (op, &**right) {
                (BinaryOp::Add, _) => a.add(b),
                (BinaryOp::Sub, _) => a.add(b.neg()),
                (BinaryOp::Mul, _) => a.mul(b),
                (BinaryOp::Div, Code::Const(c @ 1..)) => {
                    let c = i128::from(*c);
                    let low = if a.low <= -INFINITE { -INFINITE } else { a.low.div_euclid(c) };
                    let high = if a.high >= INFINITE { INFINITE } else { a.high.div_euclid(c) };
                    Interval { low, high }
                }
                (BinaryOp::Mod, Code::Const(c @ 1..)) => Interval::new(0, c - 1),
                (BinaryOp::Div | BinaryOp::Mod, _) => Interval::ALL,
            }
        }
    }
}

fn narrow_tree(ranges: &mut [Interval], relation: &Relation) {
    let left = forward(&relation.left, ranges);
    let right = forward(&relation.right, ranges);
    let allowed = allowed(relation.operator);
    backward(&relation.left, right.add(allowed), ranges);
    backward(&relation.right, left.add(allowed.neg()), ranges);
}

/// Shrinks the slots in a code whose value must lie in `target`.
fn backward(code: &Code, target: Interval, ranges: &mut [Interval]) {
    match code {
        Code::Const(_) | Code::Element(..) => {}
        Code::Slot(slot) => ranges[*slot] = ranges[*slot].intersect(target),
        Code::Neg(inner) => backward(inner, target.neg(), ranges),
        Code::Op(op, left, right) => {
            let (a, b) = (forward(left, ranges), forward(right, ranges));
            match (op, &**left, &**right) {
                (BinaryOp::Add, ..) => {
                    backward(left, target.add(b.neg()), ranges);
                    backward(right, target.add(a.neg()), ranges);
                }
                (BinaryOp::Sub, ..) => {
                    backward(left, target.add(b), ranges);
                    backward(right, a.add(target.neg()), ranges);
                }
                (BinaryOp::Mul, Code::Const(c), other) | (BinaryOp::Mul, other, Code::Const(c))
                    if *c != 0 =>
                {
                    backward(other, divided(target, (*c).into()), ranges);
                }
                (BinaryOp::Div, _, Code::Const(c @ 1..)) => {
                    let c = i128::from(*c);
                    let low = if target.low <= -INFINITE { -INFINITE } else { target.low * c };
                    let high =
                        if target.high >= INFINITE { INFINITE } else { target.high * c + (c - 1) };
                    backward(left, Interval::of(low, high), ranges);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(k: usize) -> Box<Code> {
        Box::new(Code::Slot(k))
    }

    fn int(value: i64) -> Box<Code> {
        Box::new(Code::Const(value))
    }

    fn relation(left: &Code, operator: CompareOp, right: &Code) -> Relation {
        Relation { left: left.clone(), operator, right: right.clone() }
    }

    #[test]
    fn linear_bounds_meet() {
        // 0 <= i, i <= j, 2j < 9, k = i - j
        let mut ranges = vec![Interval::ALL; 3];
        let relations = [
            relation(&int(0), CompareOp::Le, &slot(0)),
            relation(&slot(0), CompareOp::Le, &slot(1)),
            relation(&Code::Op(BinaryOp::Mul, int(2), slot(1)), CompareOp::Lt, &int(9)),
            relation(&slot(2), CompareOp::Eq, &Code::Op(BinaryOp::Sub, slot(0), slot(1))),
        ];
        narrow(&mut ranges, &relations);
        assert_eq!(ranges, [Interval::new(0, 4), Interval::new(0, 4), Interval::new(-4, 4)]);
    }

    #[test]
    fn quotients_and_products_bound_their_operands() {
        // 0 <= i / 4 < 3; s = i * i
        let mut ranges = vec![Interval::ALL; 2];
        let quotient = Code::Op(BinaryOp::Div, slot(0), int(4));
        let relations = [
            relation(&int(0), CompareOp::Le, &quotient),
            relation(&quotient, CompareOp::Lt, &int(3)),
            relation(&slot(1), CompareOp::Eq, &Code::Op(BinaryOp::Mul, slot(0), slot(0))),
        ];
        narrow(&mut ranges, &relations);
        assert_eq!(ranges, [Interval::new(0, 11), Interval::new(0, 121)]);
    }

    #[test]
    fn bounds_in_combination() {
        // 0 <= i + j < 5, 0 <= i - j < 5: 0 <= 2i < 9, -4 <= 2j < 5
        let sum = Code::Op(BinaryOp::Add, slot(0), slot(1));
        let difference = Code::Op(BinaryOp::Sub, slot(0), slot(1));
        let relations: Vec<Relation> = [sum, difference]
            .iter()
            .flat_map(|code| {
                [relation(code, CompareOp::Ge, &int(0)), relation(code, CompareOp::Lt, &int(5))]
            })
            .collect();
        let mut ranges = vec![Interval::ALL; 2];
        narrow(&mut ranges, &relations);
        assert_eq!(ranges, [Interval::new(0, 4), Interval::new(-2, 2)]);
        // One of them alone bounds nothing.
        let mut ranges = vec![Interval::ALL; 2];
        narrow(&mut ranges, &relations[..2]);
        assert_eq!(ranges, [Interval::ALL; 2]);
    }

    #[test]
    fn contradictions_are_empty_and_freedom_is_infinite() {
        let mut ranges = vec![Interval::ALL; 2];
        narrow(&mut ranges, &[relation(&slot(0), CompareOp::Lt, &int(0))]);
        assert_eq!((ranges[0].high, ranges[1].finite()), (-1, None));
        narrow(&mut ranges, &[relation(&slot(0), CompareOp::Ge, &int(0))]);
        assert!(ranges.iter().all(|range| range.is_empty()));
    }
}
