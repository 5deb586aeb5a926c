//! One loop of an iterator: over all of a range, over the positions of a level that is alone, or over the coordinates
//! where several levels meet.

use std::collections::{BTreeMap, BTreeSet};

use dastac_loops::{Case, CoIter, Condition, For, Index, Mark, Stmt, VarId};

use super::builder::{Builder, Range};
use super::kernel::{IterateError, Walking};
use super::level::{Sparse, SubscriptRole};
use super::state::{At, State};
use super::walks::{Over, Walk};
use super::workspace::runs::with_runs;

impl Builder<'_> {
    /// A loop over all of a range.
    pub(super) fn over_range(
        &mut self,
        depth: usize,
        iterator: usize,
        range: &Range,
        states: Vec<State>,
    ) -> Result<Vec<Stmt>, IterateError> {
        let var = self.iterator_var(iterator);
        self.walks.insert(var, Walk::new(Some(iterator), Over::Range, []));
        let known = self.facts.len();
        self.facts.assume_range(var, &range.lower, &range.upper);
        let mut mark = self.mark(iterator, &states);
        let around = (self.sequential, self.parallel);
        match mark {
            Mark::Sequential => self.sequential += 1,
            _ => self.parallel += 1,
        }
        let body = self.inside(depth, iterator, Index::Var(var), states);
        (self.sequential, self.parallel) = around;
        self.facts.truncate(known);
        let body = body?;
        if body.iter().any(is_shared) {
            mark = Mark::Sequential;
        }
        let (lower, upper) = (range.lower.clone(), range.upper.clone());
        Ok(vec![self.repeated(For { var, lower, upper, step: 1, mark, body })])
    }

    /// A loop over the positions of a level that is alone, each for itself.
    pub(super) fn over_positions(
        &mut self,
        depth: usize,
        iterator: usize,
        range: &Range,
        states: Vec<State>,
        level: &Sparse,
    ) -> Result<Vec<Stmt>, IterateError> {
        let (cursor, single) = (&level.cursor, level.is_single());
        let position = match single {
            true => cursor.start.clone(),
            false => Index::Var(cursor.position),
        };
        let place = cursor.at(&position);
        let value = place.clone().floor_div(cursor.step);
        let mut tests = Vec::new();
        if cursor.step != 1 {
            tests.push(place.modulo(cursor.step).equal(Index::Const(0)));
        }
        if !cursor.above {
            tests.push(range.first().at_most(value.clone()));
        }
        if !cursor.below {
            tests.push(value.clone().less(range.end()));
        }
        let known = self.facts.len();
        self.facts.assume(&range.first().at_most(value.clone()));
        self.facts.assume(&value.clone().less(range.end()));
        let at = At::Position(level.position(&position));
        let mark = self.mark(iterator, &states);
        let states = states.into_iter().map(|state| level.found(state, &at, &value)).collect();
        self.sequential += 1;
        let body = self.inside(depth, iterator, value, states);
        self.sequential -= 1;
        self.facts.truncate(known);
        let mut body = body?;
        if !tests.is_empty() {
            body = vec![Stmt::when(Condition::all(tests.clone()), body)];
        }
        if single {
            return Ok(body);
        }
        if !level.ordered || !level.unique {
            self.goal.out_of_order(depth);
        }
        // Elements that are beside those of a level are at different positions.
        self.walks.insert(cursor.position, level.walk(iterator));
        let distinct = level.unique || self.goal.factor().is_some();
        let mark = if distinct { mark } else { Mark::Sequential };
        let (lower, upper) = (vec![cursor.start.clone()], vec![cursor.end.clone()]);
        let inner = For { var: cursor.position, lower, upper, step: 1, mark, body };
        // What windows leave out is not known to be in a row.
        let whole = level.ordered && level.unique && tests.is_empty() && cursor.step == 1;
        if whole && self.goal.is_dense() {
            let place = cursor.at(&Index::Var(cursor.position));
            return Ok(vec![with_runs(&mut self.function, inner, &place)]);
        }
        Ok(vec![self.repeated(inner)])
    }

    /// A walk over the coordinates where levels are.
    pub(super) fn walk(
        &mut self,
        depth: usize,
        iterator: usize,
        range: &Range,
        (states, sets): (&[State], &[BTreeSet<usize>]),
        (sparse, points): (&[Sparse], BTreeSet<BTreeSet<usize>>),
    ) -> Result<Vec<Stmt>, IterateError> {
        let mut points: Vec<BTreeSet<usize>> = points.into_iter().collect();
        points.sort_by_key(|point| std::cmp::Reverse(point.len()));
        let every = self.kernel.walking == Walking::Search
            && sparse.iter().any(|level| level.role == SubscriptRole::Reduces);
        if every && points.iter().all(|point| !point.is_empty()) {
            points.push(BTreeSet::new());
        }
        let var = self.iterator_var(iterator);
        let all = points.iter().any(|point| point.is_empty());
        self.walked(iterator, var, all, sparse);
        let known = self.facts.len();
        self.facts.assume_range(var, &range.lower, &range.upper);
        self.sequential += 1;
        let cases = self.cases(depth, iterator, var, (states, sets), (sparse, &points));
        self.sequential -= 1;
        self.facts.truncate(known);
        let cursors = sparse.iter().map(|one| one.cursor.clone()).collect();
        let (lower, upper, cases) = (range.first(), range.end(), cases?);
        Ok(vec![Stmt::CoIter(CoIter { var, lower, upper, cursors, cases })])
    }

    /// Keeps what the loops of a walk will go over, `all` coordinates or those where levels are.
    fn walked(&mut self, iterator: usize, var: VarId, all: bool, sparse: &[Sparse]) {
        let reducing = sparse.iter().filter(|one| one.role == SubscriptRole::Reduces);
        let over = if all { Over::Range } else { Over::Subsections };
        let operands = reducing.map(|one| one.name.0);
        self.walks.insert(var, Walk::new(Some(iterator), over, operands));
        for one in sparse.iter().filter(|one| !one.users.is_empty()) {
            self.walks.insert(one.cursor.position, one.walk(iterator));
        }
    }

    /// What a walk does at the points of its lattice.
    fn cases(
        &mut self,
        depth: usize,
        iterator: usize,
        var: VarId,
        (states, sets): (&[State], &[BTreeSet<usize>]),
        (sparse, points): (&[Sparse], &[BTreeSet<usize>]),
    ) -> Result<Vec<Case>, IterateError> {
        let mut cases = Vec::new();
        for point in points {
            // Where positions repeat, those of the coordinate are a segment.
            let mut ends = Vec::new();
            let mut found: BTreeMap<usize, At> = BTreeMap::new();
            for at in point {
                let level = &sparse[*at];
                let position = Index::Var(level.cursor.position);
                let place = match level.cursor.repeats && level.role == SubscriptRole::Resolves {
                    true => {
                        let end = self.function.fresh_var("end");
                        ends.push((*at, end));
                        level.segment(&position, &Index::Var(end))
                    }
                    false => At::Position(level.position(&position)),
                };
                found.insert(*at, place);
            }
            let inside = states.iter().zip(sets).filter(|(_, set)| set.is_subset(point));
            let inside = inside.filter_map(|(state, _)| {
                let state = self.without_forbidden(state.clone(), sparse, point)?;
                Some(found.iter().fold(state, |state, (at, place)| {
                    sparse[*at].found(state, place, &Index::Var(var))
                }))
            });
            let inside: Vec<State> = inside.collect();
            let mut body = match inside.is_empty() {
                true => Vec::new(),
                false => self.inside(depth, iterator, Index::Var(var), inside)?,
            };
            for (at, end) in ends.into_iter().rev() {
                body = vec![self.until_other_place(&sparse[at], end, body)];
            }
            cases.push(Case { cursors: point.iter().copied().collect(), body });
        }
        Ok(cases)
    }

    /// Statements with a variable for the end of the positions that have the place of a cursor's.
    pub(super) fn until_other_place(
        &mut self,
        level: &Sparse,
        end: VarId,
        after: Vec<Stmt>,
    ) -> Stmt {
        let cursor = &level.cursor;
        let position = Index::Var(cursor.position);
        let same = cursor.at(&Index::Var(end)).equal(cursor.at(&position));
        self.pass_over((end, position + 1), cursor.end.clone(), same, after)
    }
}

/// Whether there is a range in parts.
fn is_shared(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.visit(&mut |stmt| found |= matches!(stmt, Stmt::Partitioned(_)));
    found
}
