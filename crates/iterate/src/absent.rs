//! Products at points where elements are *not* stored: `exp(A(i, j))` is 1 there.
//!
//! A walk that has a cursor of the tensor knows where it has no position: the points of its lattice tell apart where
//! the cursor is and where it is not. What no walk knows is searched for where all iterators have values.

use std::collections::BTreeSet;

use dastac_formats::level::Role;
use dastac_loops::{If, Index, Stmt, Value, VarId, While};
use dastac_stur::semiring::Semiring;

use super::builder::{Builder, Range};
use super::kernel::{Factor, IterateError, Product};
use super::level::{Sparse, SubscriptRole};
use super::state::{At, State};

/// A cursor whose gaps are all points of a state.
struct Gap {
    cursor: usize,
    /// The number of the element that is not stored there.
    absent: usize,
    /// Whether the first of them decides; else all are the same.
    first: bool,
}

/// More than any coordinate.
const MOST: f64 = (1u64 << 53) as f64 - 1.0;

/// Whether a product is an iterator, or more than each of its values: `where(m(i) = 0, j, inf)`.
fn grows(product: &Product, iterator: VarId) -> bool {
    let [Value::Select(parts)] = &product.values[..] else { return false };
    let [test, value, Value::Const(other)] = &**parts else { return false };
    product.coefficient == 1.0
        && !test.mentions(iterator)
        && *value == Value::FromIndex(Index::Var(iterator))
        && *other >= MOST
}

impl Builder<'_> {
    /// The cursors that walk what a state must not find, with the numbers of these elements among its product's.
    pub(super) fn forbidden(&self, state: &State, sparse: &[Sparse]) -> Vec<(usize, usize)> {
        let absent = self.kernel.products[state.product].absent.iter().enumerate();
        let open = absent.filter(|(at, _)| !state.absent.contains(at));
        let found = open.filter_map(|(at, factor)| {
            let cursor = sparse.iter().position(|level| self.walks_to(level, factor))?;
            Some((cursor, at))
        });
        found.collect()
    }

    /// Whether a level is walked on the way to this element, so that it is not stored where the level has no position.
    fn walks_to(&self, level: &Sparse, factor: &Factor) -> bool {
        let values = |operand: usize| self.kernel.operands[operand].values;
        level.role == SubscriptRole::Resolves
            && level.users.iter().any(|(product, at)| {
                let user = &self.kernel.products[*product].factors[*at];
                values(user.operand) == values(factor.operand)
                    && user.subscripts == factor.subscripts
            })
    }

    /// A state at a point of a lattice: nothing if an element is stored that must not be.
    pub(super) fn without_forbidden(
        &self,
        mut state: State,
        sparse: &[Sparse],
        point: &BTreeSet<usize>,
    ) -> Option<State> {
        for (cursor, absent) in self.forbidden(&state, sparse) {
            let (operand, level) = sparse[cursor].name;
            let mut below = self.kernel.operands[operand].format.levels()[level + 1..].iter();
            match point.contains(&cursor) {
                false => {
                    state.absent.insert(absent);
                }
                true if below.all(|level| level.is_full()) => return None,
                true => {}
            }
        }
        Some(state)
    }

    /// Products that have the same value at all coordinates of a range that a level does *not* store: it is added if
    /// the level has fewer positions than the range has coordinates, once where that is enough, else times the
    /// difference.
    ///
    /// They are taken out of `states`. Before -> after, `y(i) := max(j) A(i, j)`: a walk over all `j` -> `if A.pos1[i +
    /// 1] - A.pos1[i] < M { y[i] max= 0 }`, and the row's positions; `y(i) := sum(j) (A(i, j) - m(i))^2`: `y[i] += (M -
    /// (A.pos1[i + 1] - A.pos1[i])) * m[i]^2`, and these.
    pub(super) fn in_gaps(
        &mut self,
        iterator: usize,
        range: &Range,
        states: &mut Vec<State>,
        sparse: &[Sparse],
    ) -> Result<Vec<Stmt>, IterateError> {
        let mut body = Vec::new();
        let mut others = Vec::new();
        for mut state in std::mem::take(states) {
            match self.gap(iterator, &state, sparse) {
                Some(Gap { cursor, absent, first: true }) => {
                    state.absent.insert(absent);
                    body.push(self.in_first_gap(iterator, range, &state, &sparse[cursor]));
                }
                Some(Gap { cursor, absent, first: false }) => {
                    let cursor = &sparse[cursor].cursor;
                    let stored = cursor.end.clone() - cursor.start.clone();
                    let all = range.end() - range.first();
                    let some = stored.clone().less(all.clone());
                    state.absent.insert(absent);
                    let once = self.adds_once(state.product);
                    let times = (!once).then(|| all - stored);
                    body.push(Stmt::when(some, self.store_times(&state, times)));
                }
                None => others.push(state),
            }
        }
        *states = others;
        Ok(body)
    }

    /// The least coordinate of a range that a level does not store, at which a product is added.
    ///
    /// Before -> after, in `min(j) where(A(i, j) = m(i), j, inf)`: a walk over all `j` -> a search for the first one
    /// whose position is not that of the row's begin plus `j`.
    fn in_first_gap(
        &mut self,
        iterator: usize,
        range: &Range,
        state: &State,
        level: &Sparse,
    ) -> Stmt {
        let [low, high] = ["low", "high"].map(|name| self.function.fresh_var(name));
        let cursor = &level.cursor;
        let middle = (Index::Var(low) + Index::Var(high)).floor_div(2);
        let place = cursor.place.rebuild(&|leaf| match leaf {
            Index::Var(var) if *var == cursor.position => middle.clone(),
            other => other.clone(),
        });
        let start = cursor.start.clone();
        let before = (place + start.clone()).equal(middle.clone() + range.first());
        let next = vec![
            Index::select(before.clone(), middle.clone() + 1, Index::Var(low)),
            Index::select(before, Index::Var(high), middle),
        ];
        let condition = Index::Var(low).less(Index::Var(high));
        let vars = vec![(low, start.clone()), (high, cursor.end.clone())];
        let least = Index::Var(low) - start + range.first();
        self.values.insert(iterator, least.clone());
        let body = self.store(state);
        self.values.remove(&iterator);
        let after = vec![Stmt::when(least.less(range.end()), body)];
        Stmt::While(While { vars, condition, body: Vec::new(), next, after })
    }

    /// The cursor whose gaps are all points of a state.
    fn gap(&self, iterator: usize, state: &State, sparse: &[Sparse]) -> Option<Gap> {
        let product = &self.kernel.products[state.product];
        let var = VarId(u32::try_from(iterator).ok()?);
        let factors = product.factors.iter().zip(&state.places);
        let mut factors = factors.map(|(factor, place)| {
            let is_same = factor.subscripts.iter().all(|linear| linear.coefficient(iterator) == 0);
            factor.position.is_none() && is_same && matches!(place.at, At::Position(_))
        });
        let same = (self.adds_once(state.product) || self.kernel.semiring == Semiring::SumTimes)
            && product.values.iter().all(|value| !value.mentions(var));
        let first = !same && self.kernel.semiring == Semiring::Min && grows(product, var);
        let constant = (same || first)
            && factors.all(|is_same| is_same)
            && product.tests.iter().all(|test| !test.mentions(var))
            && product.defined.is_empty();
        let mut others = (0..self.kernel.iterators.len()).filter(|other| *other != iterator);
        let wanted = |other: &usize| product.mentions(*other) || self.kernel.head.contains(other);
        let last = others.all(|other| !wanted(&other) || self.is_known(other));
        let conditions = self.conditions[state.product].iter().enumerate();
        let mut open = conditions.filter(|(at, condition)| {
            condition.coefficient(iterator) != 0 && !state.tested.contains(at)
        });
        let added = constant && last && !self.goal.appends() && open.next().is_none();
        if !added || self.kernel.head.contains(&iterator) {
            return None;
        }
        let [(cursor, absent)] = self.forbidden(state, sparse)[..] else { return None };
        let level = &sparse[cursor];
        let (operand, at) = level.name;
        let mut below = self.kernel.operands[operand].format.levels()[at + 1..].iter();
        let all = level.cursor.above && level.cursor.below && level.cursor.step == 1;
        let left = product.absent.len() - state.absent.len();
        let plain = all && level.unique && level.cursor.width == Index::Const(1);
        let ascends = level.ordered && !level.reversed;
        (plain && left == 1 && (ascends || !first) && below.all(|level| level.is_full()))
            .then_some(Gap { cursor, absent, first })
    }

    /// Whether adding a product's value several times is adding it once.
    fn adds_once(&self, product: usize) -> bool {
        let product = &self.kernel.products[product];
        let of_all = [Semiring::SumTimes, Semiring::Prod];
        if !of_all.contains(&self.kernel.semiring) {
            return true;
        }
        let number =
            product.values.iter().try_fold(product.coefficient, |number, value| match value {
                Value::Const(value) => Some(number * value),
                _ => None,
            });
        number.is_some_and(|number| self.kernel.semiring.is_idempotent(number))
            && product.factors.is_empty()
            && product.tests.is_empty()
    }

    /// What is done at a state's point unless elements are stored that must not be.
    pub(super) fn unless_stored(&mut self, state: &State) -> Result<Vec<Stmt>, IterateError> {
        let mut body = self.store(state);
        let absent = &self.kernel.products[state.product].absent;
        for (_, factor) in absent.iter().enumerate().filter(|(at, _)| !state.absent.contains(at)) {
            body = self.unless(factor, 0, (Index::Const(0), false), body)?;
        }
        Ok(body)
    }

    /// Statements unless an element is stored below a position of the level before, which is negative where it may be
    /// `missing` and is.
    fn unless(
        &mut self,
        factor: &Factor,
        level: usize,
        (above, missing): (Index, bool),
        body: Vec<Stmt>,
    ) -> Result<Vec<Stmt>, IterateError> {
        let operand = &self.kernel.operands[factor.operand];
        let Some(own) = operand.levels.get(level) else {
            return Ok(match missing {
                true => vec![Stmt::when(above.less(Index::Const(0)), body)],
                false => Vec::new(),
            });
        };
        let kind = operand.format.levels()[level];
        let refused = || IterateError::Level { operand: factor.operand, level };
        let value = self.value(&factor.subscripts[level]).ok_or_else(refused)?;
        if own.kind.can_locate() {
            let extent = &operand.extents[level];
            let within =
                Index::Const(0).at_most(value.clone()).and(value.clone().less(extent.clone()));
            let located = own.locate(&above, &value, extent).ok_or_else(refused)?;
            let marked = located.condition.is_some();
            // Below what is missing positions are negative too. What is marked is read only where there is a mark.
            let missing_below = missing && !marked;
            let below = (located.position, missing_below);
            let mut then = self.unless(factor, level + 1, below, body.clone())?;
            let either =
                |condition, then| vec![Stmt::If(If { condition, then, otherwise: body.clone() })];
            if let Some(stored) = located.condition {
                then = either(stored, then);
            }
            if missing && marked {
                then = either(Index::Const(0).at_most(above), then);
            }
            return Ok(match self.facts.imply(&within) {
                true => then,
                false => either(within, then),
            });
        }
        if !kind.ordered || !kind.unique {
            return Err(refused());
        }
        let bounds = match missing {
            true => {
                let [start, end] = [above.clone(), above + 1].map(|at| at.max(Index::Const(0)));
                own.pos_bounds_of((&start, &end))
            }
            false => own.pos_bounds(&above),
        };
        let (start, end) = bounds.ok_or_else(refused)?;
        let coordinates = own.array(Role::Coordinates).ok_or_else(refused)?;
        let [low, high, found] = ["low", "high", "found"].map(|name| self.function.fresh_var(name));
        let at = |position: Index| Index::Load(coordinates, Box::new(position));
        let middle = (Index::Var(low) + Index::Var(high)).floor_div(2);
        let before = at(middle.clone()).less(value.clone());
        let same = at(middle.clone()).equal(value);
        let next = vec![
            Index::select(before.clone(), middle.clone() + 1, Index::Var(low)),
            Index::select(before, Index::Var(high), middle.clone()),
            Index::select(same, middle, Index::Var(found)),
        ];
        let after = self.unless(factor, level + 1, (Index::Var(found), true), body)?;
        let condition = Index::Var(low).less(Index::Var(high));
        let vars = vec![(low, start), (high, end), (found, Index::Const(-1))];
        Ok(vec![Stmt::While(While { vars, condition, body: Vec::new(), next, after })])
    }
}
