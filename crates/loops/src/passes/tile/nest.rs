//! Loop nests: independent loops, each the only statement of the one around it, around the store of one element.

use crate::hints::Hints;
use crate::ir::*;
use crate::linear::{flatten_max, flatten_min};

/// The range of a loop by steps of 1 whose iterations are independent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) var: VarId,
    pub(super) lower: Vec<Index>,
    pub(super) upper: Vec<Index>,
}

impl Level {
    /// Adds what the range says of its variable, bound by bound.
    pub(super) fn conditions(&self, list: &mut Vec<Condition>) {
        let (mut lowers, mut uppers) = (Vec::new(), Vec::new());
        self.lower.iter().for_each(|bound| flatten_max(bound, &mut lowers));
        self.upper.iter().for_each(|bound| flatten_min(bound, &mut uppers));
        let var = || Index::Var(self.var);
        list.extend(lowers.into_iter().map(|low| low.at_most(var())));
        list.extend(uppers.into_iter().map(|high| var().less(high)));
    }
}

/// Independent loops, each alone in the one around it, and a store in the innermost.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Nest {
    pub(super) levels: Vec<Level>,
    /// Where this holds, the element is set to zero before the store adds to it.
    pub(super) first: Option<Condition>,
    pub(super) store: Store,
}

impl Nest {
    /// The nest that a statement is. Its store may follow one that sets the element to zero.
    pub(super) fn of(stmt: &Stmt) -> Option<Nest> {
        let mut levels = Vec::new();
        let mut body = std::slice::from_ref(stmt);
        while let [Stmt::For(inner)] = body {
            if inner.mark != Mark::THREADS || inner.step != 1 {
                return None;
            }
            let (lower, upper) = (inner.lower.clone(), inner.upper.clone());
            levels.push(Level { var: inner.var, lower, upper });
            body = &inner.body;
        }
        let (first, store) = match body {
            [Stmt::Store(store)] => (None, store),
            [Stmt::If(zero), Stmt::Store(store)] => (Some(first_of(zero, store)?), store),
            _ => return None,
        };
        // What is read must not depend on the order of what is written.
        if store.value.loads(store.buffer) {
            return None;
        }
        Some(Nest { levels, first, store: store.clone() })
    }

    /// The nest that a statement is, if it stores to each element at once.
    pub(super) fn plain(stmt: &Stmt) -> Option<Nest> {
        Nest::of(stmt).filter(|nest| nest.first.is_none())
    }

    /// The statements that the nest is.
    pub(super) fn statements(&self) -> Vec<Stmt> {
        Nest::wrapped(&self.levels, self.element(&self.store))
    }

    /// What is executed for an element.
    pub(super) fn element(&self, store: &Store) -> Vec<Stmt> {
        let zero = || Stmt::set(store.buffer, store.index.clone(), Value::Const(0.0));
        let first = self.first.iter().map(|first| Stmt::when(first.clone(), vec![zero()]));
        first.chain([Stmt::Store(store.clone())]).collect()
    }

    /// Loops around statements.
    pub(super) fn wrapped(levels: &[Level], body: Vec<Stmt>) -> Vec<Stmt> {
        levels.iter().rev().fold(body, |body, level| {
            let (lower, upper) = (level.lower.clone(), level.upper.clone());
            let (var, mark) = (level.var, Mark::THREADS);
            vec![Stmt::For(For { var, lower, upper, step: 1, mark, body })]
        })
    }

    /// Whether the program says how it is to be executed.
    pub(super) fn is_scheduled(&self, hints: &Hints) -> bool {
        let mut scheduled = self.levels.iter().any(|level| hints.get(level.var).scheduled);
        self.store.value.visit(&mut |value| {
            if let Value::Sum(sum) = value {
                scheduled |= hints.get(sum.var).scheduled;
            }
        });
        scheduled
    }

    /// Whether an index in a sum is not linear in the sum's variable.
    pub(super) fn is_curved(&self) -> bool {
        let mut curved = false;
        self.store.value.visit(&mut |value| {
            let Value::Sum(sum) = value else { return };
            sum.body.visit(&mut |value| {
                curved |= matches!(value, Value::Load(_, index) if index.stride(sum.var).is_none());
            });
        });
        curved
    }

    /// The loop whose elements are in lanes, and their number.
    pub(super) fn lanes(&self, hints: &Hints) -> Option<(VarId, i64)> {
        self.levels.iter().find_map(|level| Some((level.var, hints.get(level.var).lanes?)))
    }

    /// The factors of the innermost loops that are cut into tiles, the outer of them first: two at most.
    pub(super) fn factors(&self, hints: &Hints) -> Vec<i64> {
        let tiles = self.levels.iter().rev().map_while(|level| hints.get(level.var).tile);
        let mut factors: Vec<i64> = tiles.take(2).collect();
        factors.reverse();
        factors
    }

    /// Whether it is the whole of one part of a range: what one thread does.
    pub(super) fn is_part(&self) -> bool {
        let bounds = self.levels.first().map(|level| (&level.lower[..], &level.upper[..]));
        matches!(bounds, Some(([Index::Var(_)], [Index::Var(_)])))
    }

    /// Whether its outermost loop is where a tiled nest begins.
    pub(super) fn begins(&self, hints: &Hints) -> bool {
        self.levels.first().is_some_and(|level| hints.get(level.var).nest)
    }
}

/// Where an element is set to zero before a store adds to it.
fn first_of(zero: &If, store: &Store) -> Option<Condition> {
    let [Stmt::Store(set)] = &zero.then[..] else { return None };
    let same = set.buffer == store.buffer && set.index == store.index;
    let is_zero = set.mode == StoreMode::Set && set.value == Value::Const(0.0);
    let adds = store.mode == StoreMode::Add && zero.otherwise.is_empty();
    (same && is_zero && adds).then(|| zero.condition.clone())
}
