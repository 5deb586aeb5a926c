//! How much work iterations are, and where ranges are cut into parts of equal work.
//!
//! Ranges of structured loops are counted exactly, by Simpson's rule, which is exact for polynomials up to the third
//! degree; those over stored elements by their positions.

use dastac_loops::{Index, VarId};

use crate::host::{Facts, Values};
use crate::outline::{Outline, loads_by, mentions};

/// Iterations of a loop that are counted one by one at most, where what is stored decides about their work.
const COUNTED: i64 = 512;

/// Iterations that a loop is taken for whose range only the machine knows.
const UNKNOWN: f64 = 8.0;

/// A loop whose iterations are shared out.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// Its variable.
    pub var: VarId,
    /// Its first value.
    pub first: i64,
    /// Behind the last value.
    pub last: i64,
    /// Its step.
    pub step: i64,
    /// What is inside.
    pub body: &'a [Outline],
}

impl Range<'_> {
    /// How many iterations there are.
    pub fn iterations(&self) -> usize {
        let length = self.last.saturating_sub(self.first).max(0);
        usize::try_from((length + self.step - 1) / self.step).unwrap_or(0)
    }

    /// Where the parts begin, and where the last one ends: values of the variable.
    pub fn parts(&self, facts: &Facts<'_>, parts: usize) -> Vec<i64> {
        let count = self.iterations();
        let mut values = Values::new();
        let mut before = Vec::with_capacity(count + 1);
        before.push(0.0);
        let same = !mentions(self.body, self.var);
        let mut sum = 0.0;
        for at in 0..count {
            if !same || at == 0 {
                values.clear();
                values.push((self.var, self.first + at as i64 * self.step));
            }
            sum += 1.0 + if same { 0.0 } else { of(self.body, facts, &mut values) };
            before.push(sum);
        }
        let cut = |part: usize| {
            let wanted = sum * part as f64 / parts as f64;
            let after = before.partition_point(|work| *work < wanted);
            // The nearer one of the two iterations around.
            let nearer =
                after > 0 && wanted - before[after - 1] < before[after.min(count)] - wanted;
            if nearer { after - 1 } else { after.min(count) }
        };
        let value = |iteration: usize| self.first + iteration as i64 * self.step;
        let inner = (1..parts).map(|part| value(cut(part)));
        let ends = [value(count).min(self.last.max(self.first))];
        [self.first].into_iter().chain(inner).chain(ends).collect()
    }
}

/// The work of statements, in elements.
fn of(outline: &[Outline], facts: &Facts<'_>, values: &mut Values) -> f64 {
    outline.iter().map(|one| of_one(one, facts, values)).sum()
}

fn of_one(one: &Outline, facts: &Facts<'_>, values: &mut Values) -> f64 {
    match one {
        Outline::Work { cost, .. } => f64::from(*cost),
        Outline::Unknown { body, .. } => UNKNOWN * of(body, facts, values),
        Outline::If { condition, then, otherwise } => {
            match facts.with(values, |env| condition.eval_in(env)) {
                Ok(true) => of(then, facts, values),
                Ok(false) => of(otherwise, facts, values),
                Err(_) => of(then, facts, values).max(of(otherwise, facts, values)),
            }
        }
        Outline::Let { var, buffer, index, body } => {
            let load = Index::Load(*buffer, Box::new(index.clone()));
            let Ok(value) = facts.eval(&load, values) else { return 1.0 + of(body, facts, values) };
            values.push((*var, value));
            let inside = of(body, facts, values);
            values.pop();
            1.0 + inside
        }
        Outline::Loop { var, lower, upper, step, body } => {
            let Ok((first, last)) = facts.range(lower, upper, values) else {
                return UNKNOWN * (1.0 + of(body, facts, values));
            };
            let count = ((last - first).max(0) + step - 1) / step;
            if count == 0 {
                return 0.0;
            }
            let mut at = |iteration: i64| {
                values.push((*var, first + iteration * step));
                let inside = 1.0 + of(body, facts, values);
                values.pop();
                inside
            };
            if !mentions(body, *var) {
                return count as f64 * at(0);
            }
            if loads_by(body, *var) {
                // Of many, evenly spread ones are counted.
                let stride = (count / COUNTED).max(1);
                let counted = (count + stride - 1) / stride;
                let sum: f64 = (0..counted).map(|place| at(place * stride)).sum();
                return sum * count as f64 / counted as f64;
            }
            count as f64 * (at(0) + 4.0 * at((count - 1) / 2) + at(count - 1)) / 6.0
        }
    }
}
