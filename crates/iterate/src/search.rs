//! Levels whose subscripts are known when their turn comes: they are searched for one coordinate.

use dastac_loops::{Case, CoIter, Cursor, For, Index, Stmt};

use super::builder::Builder;
use super::kernel::IterateError;
use super::level::{Sparse, SubscriptRole};
use super::state::{At, State};
use super::walks::{Over, Walk};

/// A level that is searched for a coordinate.
pub(super) struct Found {
    pub(super) level: Sparse,
    pub(super) value: Index,
}

impl Builder<'_> {
    /// A factor whose next level is a sparse one that no loop to come walks.
    pub(super) fn known_level(&self, state: &State) -> Option<usize> {
        let factors = &self.kernel.products[state.product].factors;
        (0..factors.len()).find(|at| {
            let operand = &self.kernel.operands[factors[*at].operand];
            let level = state.places[*at].level;
            let walked = operand.levels.get(level).is_some_and(|level| !level.kind.can_locate());
            walked && {
                let subscript = &factors[*at].subscripts[level];
                subscript.terms().iter().all(|(iterator, _)| self.is_known(*iterator))
            }
        })
    }

    /// That level, searched for the value of its subscript.
    pub(super) fn search(&mut self, state: &State, factor: usize) -> Option<Found> {
        let own = &self.kernel.products[state.product].factors[factor];
        let operand = &self.kernel.operands[own.operand];
        let value = self.value(&own.subscripts[state.places[factor].level])?;
        let positions = self.positions(state, factor)?;
        let position = self.function.fresh_var("p");
        let place = positions.coordinate(&Index::Var(position));
        let (start, end) = (positions.start, positions.end);
        let kind = operand.format.levels()[state.places[factor].level];
        let cursor = Cursor {
            position,
            start,
            end,
            place,
            step: 1,
            width: Index::Const(1),
            repeats: !kind.unique,
            above: false,
            below: false,
        };
        let level = Sparse {
            cursor,
            role: SubscriptRole::Resolves,
            users: vec![(state.product, factor)],
            ranged: Vec::new(),
            name: (own.operand, state.places[factor].level),
            ordered: kind.ordered,
            unique: kind.unique,
            reversed: false,
            near: Index::Const(0),
        };
        Some(Found { level, value })
    }

    /// A level whose subscript is known is searched for it.
    pub(super) fn find(
        &mut self,
        depth: usize,
        state: &State,
        factor: usize,
    ) -> Result<Vec<Stmt>, IterateError> {
        let Some(Found { level, value }) = self.search(state, factor) else {
            return Ok(Vec::new());
        };
        let cursor = &level.cursor;
        self.walks.insert(cursor.position, Walk::new(None, Over::Search, [level.name.0]));
        if !level.ordered || level.is_single() {
            if !level.unique {
                self.goal.out_of_order(depth);
            }
            let position = match level.is_single() {
                true => cursor.start.clone(),
                false => Index::Var(cursor.position),
            };
            let test = cursor.at(&position).equal(value.clone());
            let state = level.found(state.clone(), &At::Position(position), &value);
            let body = vec![Stmt::when(test, self.loops(depth, vec![state])?)];
            let (start, end) = (cursor.start.clone(), cursor.end.clone());
            return Ok(match level.is_single() {
                true => body,
                false => vec![Stmt::For(For::new(cursor.position, start, end, body))],
            });
        }
        let position = Index::Var(cursor.position);
        let end = cursor.repeats.then(|| self.function.fresh_var("end"));
        let at = match end {
            Some(end) => level.segment(&position, &Index::Var(end)),
            None => At::Position(position),
        };
        let mut body = self.loops(depth, vec![level.found(state.clone(), &at, &value)])?;
        if let Some(end) = end {
            body = vec![self.until_other_place(&level, end, body)];
        }
        let var = self.function.fresh_var("at");
        let (lower, upper) = (value.clone(), value + 1);
        let cases = vec![Case { cursors: vec![0], body }];
        Ok(vec![Stmt::CoIter(CoIter { var, lower, upper, cursors: vec![level.cursor], cases })])
    }
}
