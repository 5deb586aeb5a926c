//! Rims of tiles: the elements that only some rows of a tile have.

use super::nest::{Level, Nest};
use super::pieces::Side;
use super::walk::Walk;
use crate::ir::*;
use crate::unroll::{self, Instance};

impl Walk<'_> {
    /// `begin` as an upper bound, together with the range's own where these may lie before it.
    pub(super) fn clipped(&self, begin: &[Index], upper: &[Index], rows: &Side) -> Vec<Index> {
        let Some(begin) = begin.iter().cloned().reduce(Index::max) else { return upper.to_vec() };
        let mut list = Vec::new();
        for bound in upper {
            let lowest = rows.extreme(bound, false);
            let known = lowest.is_some_and(|lowest| self.known(&begin.clone().at_most(lowest)));
            if !known {
                list.push(bound.clone());
            }
        }
        list.push(begin);
        list
    }

    /// The elements of a nest that not all rows have, at columns of these ranges: side by side if they are few, else
    /// row by row.
    pub(super) fn rim(&self, rows: &Side, columns: Level, nest: &Nest) -> Vec<Stmt> {
        let value = &nest.store.value;
        let Level { var, lower, upper } = columns;
        let free = !value.mentions_in_ranges(rows.var) && !value.mentions_in_ranges(var);
        let body = nest.element(&nest.store);
        let inner = For { var, lower, upper, step: 1, mark: Mark::Unrolled, body };
        let instance = |at| Instance::from([(rows.var, rows.start.clone() + at)]);
        let around: Vec<Instance> = (0..rows.count).map(instance).collect();
        let few = unroll::expand(&inner, &around)
            .is_some_and(|all| !all.is_empty() && all.len() <= self.machine.registers as usize);
        if few && free {
            return rows.execute(vec![Stmt::For(inner)]);
        }
        // Row by row: nothing is gained side by side.
        let body = vec![Stmt::For(For { mark: Mark::THREADS, ..inner })];
        let (first, last) = (rows.start.clone(), rows.start.clone() + rows.count);
        vec![Stmt::For(For::new(rows.var, first, last, body).parallel())]
    }
}
