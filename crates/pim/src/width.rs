//! Whether all integers of a program fit 32 bits, at sizes and data that are known: by intervals.

use std::collections::BTreeMap;

use dastac_loops::{BufferId, Condition, Index, VarId};

use crate::host::Facts;
use crate::outline::Outline;

/// Numbers whose sums and differences fit as well.
const MOST: i64 = 1 << 30;

/// The smallest and the largest value of an expression.
type Interval = (i64, i64);

/// What is known of variables and of the elements of buffers.
struct Known<'a> {
    symbols: &'a [i64],
    elements: BTreeMap<BufferId, Interval>,
    vars: BTreeMap<VarId, Interval>,
}

/// Whether every integer that an outline needs fits, and everything that it is computed of.
pub fn is_narrow(outline: &[Outline], facts: &Facts<'_>, around: &[(VarId, Interval)]) -> bool {
    let loaded = crate::outline::loaded(outline);
    let elements = loaded.into_iter().filter_map(|id| {
        let buffer = facts.buffers.get(&id)?;
        Some((id, buffer.extremes().unwrap_or((0, 0))))
    });
    let elements = elements.collect();
    let vars = around.iter().copied().collect();
    Known { symbols: facts.symbols, elements, vars }.all(outline).is_some()
}

impl Known<'_> {
    /// Nothing if something may not fit.
    fn all(&mut self, outline: &[Outline]) -> Option<()> {
        outline.iter().try_for_each(|one| self.one(one))
    }

    fn one(&mut self, one: &Outline) -> Option<()> {
        match one {
            Outline::Work { indices, .. } => {
                indices.iter().try_for_each(|index| self.of(index).map(drop))
            }
            Outline::Unknown { .. } => None,
            Outline::If { condition, then, otherwise } => {
                self.condition(condition)?;
                self.all(then)?;
                self.all(otherwise)
            }
            Outline::Let { var, buffer, index, body } => {
                self.of(index)?;
                let values = *self.elements.get(buffer)?;
                self.under(*var, values, body)
            }
            Outline::Loop { var, lower, upper, step, body } => {
                let all = |list: &[Index]| -> Option<Vec<Interval>> {
                    list.iter().map(|index| self.of(index)).collect()
                };
                let (lower, upper) = (all(lower)?, all(upper)?);
                let first = lower.iter().map(|one| one.0).max()?;
                let last = upper.iter().map(|one| one.1).min()? - 1;
                // A loop's variable is compared once behind its end.
                fits((first.min(last), last.max(first).checked_add(*step)?))?;
                if last < first {
                    return Some(());
                }
                self.under(*var, (first, last), body)
            }
        }
    }

    fn under(&mut self, var: VarId, values: Interval, body: &[Outline]) -> Option<()> {
        self.vars.insert(var, fits(values)?);
        let inside = self.all(body);
        self.vars.remove(&var);
        inside
    }

    fn condition(&self, condition: &Condition) -> Option<()> {
        match condition {
            Condition::Compare(_, left, right) => {
                self.of(left)?;
                self.of(right).map(drop)
            }
            Condition::And(list) | Condition::Or(list) => {
                list.iter().try_for_each(|one| self.condition(one))
            }
        }
    }

    fn of(&self, index: &Index) -> Option<Interval> {
        let two = |left: &Index, right: &Index| Some((self.of(left)?, self.of(right)?));
        let found = match index {
            Index::Const(value) => (*value, *value),
            Index::Symbol(symbol) => {
                let value = *self.symbols.get(symbol.0 as usize)?;
                (value, value)
            }
            Index::Var(var) => *self.vars.get(var)?,
            Index::Add(left, right) => {
                let (left, right) = two(left, right)?;
                (left.0 + right.0, left.1 + right.1)
            }
            Index::Sub(left, right) => {
                let (left, right) = two(left, right)?;
                (left.0 - right.1, left.1 - right.0)
            }
            Index::Mul(left, right) => {
                let (left, right) = two(left, right)?;
                corners(left, right, |a, b| a * b)
            }
            Index::FloorDiv(value, by) | Index::ExactDiv(value, by) => {
                let (least, most) = self.of(value)?;
                (least.div_euclid((*by).max(1)), most.div_euclid((*by).max(1)))
            }
            Index::Mod(value, by) => {
                self.of(value)?;
                (0, by - 1)
            }
            Index::Quotient(left, right) => {
                let (left, right) = two(left, right)?;
                corners(left, (right.0.max(1), right.1.max(1)), i64::div_euclid)
            }
            Index::Min(left, right) => {
                let (left, right) = two(left, right)?;
                (left.0.min(right.0), left.1.min(right.1))
            }
            Index::Max(left, right) => {
                let (left, right) = two(left, right)?;
                (left.0.max(right.0), left.1.max(right.1))
            }
            Index::Load(buffer, at) => {
                self.of(at)?;
                *self.elements.get(buffer)?
            }
            Index::Select(condition, then, otherwise) => {
                self.condition(condition)?;
                let (left, right) = two(then, otherwise)?;
                (left.0.min(right.0), left.1.max(right.1))
            }
            Index::Within(_) => return None,
        };
        fits(found)
    }
}

fn fits(interval: Interval) -> Option<Interval> {
    (interval.0 > -MOST && interval.1 < MOST).then_some(interval)
}

/// The extremes of a function that is monotone in each of its numbers.
fn corners(left: Interval, right: Interval, of: impl Fn(i64, i64) -> i64) -> Interval {
    let all = [(left.0, right.0), (left.0, right.1), (left.1, right.0), (left.1, right.1)];
    let all = all.map(|(a, b)| of(a, b));
    (all.into_iter().min().unwrap_or(0), all.into_iter().max().unwrap_or(0))
}
