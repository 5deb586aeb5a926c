//! Loop nests with conditions between their loops.

use super::nest::{Level, Nest};
use crate::ir::*;
use crate::linear::{Facts, Linear, bounds_of};

/// A nest with a condition around it.
pub(super) struct Guarded {
    pub(super) guards: Vec<Condition>,
    pub(super) nest: Nest,
    /// Whether conditions stood between its loops.
    pub(super) moved: bool,
}

impl Guarded {
    /// Conditions between the loops of a nest become ranges or guards.
    pub(super) fn of(stmt: &Stmt) -> Option<Guarded> {
        let (mut guards, mut levels): (Vec<_>, Vec<Level>) = (Vec::new(), Vec::new());
        let (mut stmt, mut moved, mut facts) = (stmt, false, Facts::default());
        loop {
            let body = match stmt {
                Stmt::For(inner) if inner.mark == Mark::THREADS && inner.step == 1 => {
                    let (lower, upper) = (inner.lower.clone(), inner.upper.clone());
                    facts.assume_range(inner.var, &lower, &upper);
                    levels.push(Level { var: inner.var, lower, upper });
                    &inner.body
                }
                Stmt::If(inner) if inner.otherwise.is_empty() => {
                    moved |= !levels.is_empty();
                    for condition in inner.condition.clone().conjuncts() {
                        if facts.imply(&condition) {
                            continue;
                        }
                        let condition = canonical(condition);
                        facts.assume(&condition);
                        let mut inside = levels.iter_mut().rev();
                        match inside.find(|level| condition.mentions(level.var)) {
                            Some(level) => {
                                let (lower, upper) = bounds_of(&condition, level.var)?;
                                level.lower.extend(lower);
                                level.upper.extend(upper);
                            }
                            None => guards.push(condition),
                        }
                    }
                    &inner.then
                }
                _ => break,
            };
            let [only] = &body[..] else { return None };
            stmt = only;
        }
        let Stmt::Store(store) = stmt else { return None };
        if levels.is_empty() || store.value.loads(store.buffer) || !adds(store) {
            return None;
        }
        let nest = Nest { levels, first: None, store: store.clone() };
        Some(Guarded { guards, nest, moved })
    }
}

/// Statements where conditions hold.
pub(super) fn guarded(guards: Vec<Condition>, body: Vec<Stmt>) -> Vec<Stmt> {
    match guards.is_empty() || body.is_empty() {
        true => body,
        false => vec![Stmt::when(Condition::all(guards), body)],
    }
}

/// Whether a store only adds: it has no minima and maxima, so sums can be cut and parts of them may be empty.
fn adds(store: &Store) -> bool {
    let mut adds = matches!(store.mode, StoreMode::Set | StoreMode::Add);
    store.value.visit(&mut |value| match value {
        Value::Sum(sum) => adds &= sum.kind == Reduction::Sum,
        Value::Min(..) | Value::Max(..) | Value::Truth(_) => adds = false,
        Value::Apply(..) | Value::Select(_) | Value::Compare(..) | Value::Cast(..) => {
            adds &= !value.has_sums();
        }
        _ => {}
    });
    adds
}

/// A comparison without the variables that stand on both sides: `i - k < i + k` -> `-2 * k < 0`.
pub(super) fn canonical(condition: Condition) -> Condition {
    let Condition::Compare(op, left, right) = &condition else { return condition };
    let Some(difference) = Linear::difference(left, right, 0) else { return condition };
    let difference = difference.to_index();
    let left = &difference.free_vars();
    match condition.free_vars().iter().all(|var| left.contains(var)) {
        true => condition,
        false => Condition::compare(*op, difference, Index::Const(0)),
    }
}
