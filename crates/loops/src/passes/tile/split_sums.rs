//! Sums whose ranges vary within a tile are cut: what all iterations have is one sum, of the same range for all.
//!
//! Before -> after: `unroll i = t to t + 4 { A[i] = sum(j = i to N) v }` ->
//! `unroll i = t to t + 4 { A[i] = sum(j = i to t + 3) v + sum(j = t + 3 to N) v }`.

use super::pieces::Side;
use super::walk::{Walk, each_statement};
use crate::ir::*;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_statement(module, context, |walk, stmt| {
        let tile = Tile::of(stmt)?;
        let mut stmt = stmt.clone();
        tile.split(walk, &mut stmt);
        Some(vec![stmt])
    });
}

/// Iterations side by side of one or more loops.
struct Tile(Vec<Side>);

impl Tile {
    /// The tile that a statement is: unrolled loops inside of each other, with nothing but one element inside.
    fn of(stmt: &Stmt) -> Option<Tile> {
        let mut sides = Vec::new();
        let mut body = std::slice::from_ref(stmt);
        while let [Stmt::For(inner)] = body {
            let ([start @ Index::Var(_)], [end]) = (&inner.lower[..], &inner.upper[..]) else {
                return None;
            };
            let count = end.constant_difference(start)?;
            if inner.mark != Mark::Unrolled || inner.step != 1 {
                return None;
            }
            sides.push(Side { var: inner.var, start: start.clone(), count });
            body = &inner.body;
        }
        let stores = body.iter().all(|stmt| matches!(stmt, Stmt::Store(_) | Stmt::If(_)));
        (!sides.is_empty() && stores).then_some(Tile(sides))
    }

    /// Cuts the sums of the element.
    fn split(&self, walk: &Walk<'_>, stmt: &mut Stmt) {
        match stmt {
            Stmt::For(inner) => inner.body.iter_mut().for_each(|stmt| self.split(walk, stmt)),
            Stmt::Store(store) => *store = walk.rimmed(store, &self.0),
            _ => {}
        }
    }
}

impl Walk<'_> {
    /// A store whose sums are cut where their ranges vary within a tile: what all iterations have is one sum, of the
    /// same range for all.
    ///
    /// Before -> after, `i` from `t` in pieces of 4: `sum(j = i to N) v` -> `(sum(j = i to t + 3) v) + (sum(j = t + 3
    /// to N) v)`.
    fn rimmed(&self, store: &Store, tile: &[Side]) -> Store {
        let value = store.value.map_sums(&|sum| {
            self.rimmed_sum(&sum, tile).unwrap_or_else(|| Value::Sum(Box::new(sum)))
        });
        Store { value, ..store.clone() }
    }

    fn rimmed_sum(&self, sum: &Sum, tile: &[Side]) -> Option<Value> {
        if sum.kind != Reduction::Sum || sum.step != 1 || sum.condition.is_some() {
            return None;
        }
        let (mut begin, mut end) = (sum.lower.clone(), sum.upper.clone());
        for side in tile.iter().filter(|side| side.count > 1) {
            (begin, end) = side.common(&begin, &end)?;
        }
        if begin == sum.lower && end == sum.upper {
            return None;
        }
        let first = begin.iter().cloned().reduce(Index::max)?;
        let last = end.iter().cloned().reduce(Index::min)?;
        let part = |lower: Vec<Index>, upper: Vec<Index>| {
            Value::Sum(Box::new(Sum { lower, upper, ..sum.clone() }))
        };
        let mut parts = Vec::new();
        if begin != sum.lower {
            // A bound that lies after the beginning of the common part in all iterations cannot come first.
            let pairs = sum.upper.iter().zip(&end);
            let mut upper: Vec<Index> = pairs
                .filter(|(_, lowest)| !self.known(&first.clone().at_most((*lowest).clone())))
                .map(|(bound, _)| bound.clone())
                .collect();
            upper.push(first.clone());
            parts.push(part(sum.lower.clone(), upper));
        }
        parts.push(part(begin.clone(), end.clone()));
        if end != sum.upper {
            let others = sum.lower.iter().chain(&begin).cloned();
            let lower = self.beyond(last, others);
            parts.push(part(lower, sum.upper.clone()));
        }
        parts.into_iter().reduce(|left, right| left + right)
    }
}
