//! Several parallel loops inside each other as one range of numbers.
//!
//! Before -> after: `parallel i = 0 to M { parallel j = i to N { s } }` -> numbers `g` of the box of `i` and `j`, of
//! which `i = g / n` and `j = g - n * i`, where `n = N - 0` is the extent of the box in `j`; `s` is executed where `j`
//! is in its range.

use dastac_loops::{Condition, For, Function, Index, Mark, Stmt, VarId};

/// A loop of a nest whose iterations are independent.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub var: VarId,
    pub lower: Vec<Index>,
    pub upper: Vec<Index>,
    pub step: i64,
    /// The smallest value that the variable has in the box, an expression of what is known outside of the nest.
    pub low: Index,
    /// The exclusive end of the values in the box.
    high: Index,
    /// The variable for the number of its values in the box.
    pub extent: VarId,
}

impl Axis {
    /// The largest value of the variable, if it has the same values at all points of the axes around.
    pub fn last(&self) -> Option<Index> {
        let whole = self.lower == [self.low.clone()] && self.upper == [self.high.clone()];
        whole.then(|| self.high.clone() - 1)
    }

    /// The smallest value of the variable and how many it may have, if it has each of them.
    pub fn range(&self) -> Option<(Index, Index)> {
        let all = self.step == 1;
        all.then(|| (self.low.clone(), self.high.clone() - self.low.clone()))
    }
}

/// Nested loops as the points of a box.
#[derive(Clone, Debug, Default)]
pub(super) struct Points {
    /// The loops, outermost first.
    pub axes: Vec<Axis>,
    /// What holds at the points that are executed, beside the ranges of the loops.
    pub guards: Vec<Condition>,
}

impl Points {
    /// The loop as one more axis, or nothing where its range has no box.
    pub fn add(&mut self, inner: &For, function: &mut Function) -> Option<()> {
        let low = self.extreme(&inner.lower, Index::max, false)?;
        let high = self.extreme(&inner.upper, Index::min, true)?;
        let varies = |index: &Index| self.axes.iter().any(|axis| index.mentions(axis.var));
        if inner.step != 1 && (inner.lower.len() > 1 || inner.lower.iter().any(varies)) {
            return None;
        }
        let extent = function.fresh_like(inner.var, ".count");
        self.axes.push(Axis {
            var: inner.var,
            lower: inner.lower.clone(),
            upper: inner.upper.clone(),
            step: inner.step,
            low,
            high,
            extent,
        });
        Some(())
    }

    /// The smallest value of the largest bound, or the largest value of the smallest one, in the box of the axes so
    /// far. Bounds that are not linear in them are left out: the box may be larger than it must be.
    pub fn extreme(
        &self,
        bounds: &[Index],
        join: fn(Index, Index) -> Index,
        largest: bool,
    ) -> Option<Index> {
        let found = bounds.iter().filter_map(|bound| self.eliminated(bound, largest));
        found.reduce(join)
    }

    fn eliminated(&self, bound: &Index, largest: bool) -> Option<Index> {
        self.axes.iter().rev().try_fold(bound.clone(), |bound, axis| {
            if !bound.mentions(axis.var) {
                return Some(bound);
            }
            // A bound that is itself a minimum or maximum has its extreme where its parts have theirs.
            if let Index::Min(left, right) | Index::Max(left, right) = &bound {
                let parts = [left, right].map(|part| self.eliminated(part, largest));
                let [Some(left), Some(right)] = parts else { return None };
                return Some(match bound {
                    Index::Min(..) => left.min(right),
                    _ => left.max(right),
                });
            }
            let grows = bound.constant_stride(axis.var)? > 0;
            let by = if grows == largest { axis.high.clone() - 1 } else { axis.low.clone() };
            Some(bound.substitute(axis.var, &by))
        })
    }

    /// The number of points of the box.
    pub fn count(&self) -> Index {
        let extents = self.axes.iter().map(|axis| Index::Var(axis.extent));
        extents.reduce(|left, right| left * right).unwrap_or(Index::Const(1))
    }

    /// The statements with the extents of the box known inside.
    pub fn around(&self, body: Vec<Stmt>) -> Vec<Stmt> {
        self.axes.iter().rev().fold(body, |body, axis| {
            let length = axis.high.clone() - axis.low.clone() + (axis.step - 1);
            vec![bind(axis.extent, length.floor_div(axis.step).max(Index::Const(0)), body)]
        })
    }

    /// The statements of the point with a number, where there is such a point.
    pub fn at(&self, number: Index, body: Vec<Stmt>, function: &mut Function) -> Vec<Stmt> {
        let guards = Condition::all(self.guards.iter().cloned());
        let body = match guards.as_bool() {
            Some(true) => body,
            _ => vec![Stmt::when(guards, body)],
        };
        let mut rest = number;
        let mut heads = Vec::new();
        for (at, axis) in self.axes.iter().enumerate() {
            let inner = self.axes[at + 1..].iter().map(|axis| Index::Var(axis.extent));
            let place = match inner.reduce(|left, right| left * right) {
                None => rest.clone(),
                Some(inner) => {
                    let place = function.fresh_like(axis.var, ".place");
                    heads.push((place, rest.clone().quotient(inner.clone())));
                    rest = rest - Index::Var(place) * inner;
                    Index::Var(place)
                }
            };
            let value = axis.low.clone() + place * axis.step;
            heads.push((axis.var, value));
        }
        heads.into_iter().rev().fold(body, |body, (var, value)| {
            let end = value.clone() + 1;
            let (mut lower, mut upper) = (vec![value], vec![end]);
            if let Some(axis) = self.axes.iter().find(|axis| axis.var == var) {
                // What holds everywhere in the box need not be asked for.
                let missing = |bound: &&Index| **bound != axis.low;
                lower.extend(axis.lower.iter().filter(missing).cloned());
                upper.extend(axis.upper.iter().filter(|bound| **bound != axis.high).cloned());
            }
            vec![Stmt::For(For { var, lower, upper, step: 1, mark: Mark::Sequential, body })]
        })
    }
}

/// `for var = value to value + 1 { body }`: a name for a value.
pub(super) fn bind(var: VarId, value: Index, body: Vec<Stmt>) -> Stmt {
    Stmt::for_range(var, value.clone(), value + 1, body)
}
