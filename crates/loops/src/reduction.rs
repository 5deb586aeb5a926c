//! A loop that accumulates into one element, as a sum.
//!
//! Before -> after: `for l = 0 to Q { if l <= i { A[i] += v(l) } }` -> `A[i] += sum(l = 0 to min(Q, i + 1)) v(l)`.
//!
//! The element must not vary with `l`, and `v` must not read the buffer. Since the element may not exist where nothing
//! is added to it, the new statement is executed only where the range is not empty: `if 0 < min(Q, i + 1) { .. }`.

use crate::ir::*;
use crate::linear::range_conditions;
use crate::range::narrow;

/// What a loop that accumulates into one element is equal to.
pub(crate) struct Accumulation {
    /// The store of the sum.
    pub(crate) store: Store,
    /// Conditions of the loop that do not vary with it.
    pub(crate) invariant: Vec<Condition>,
    /// When the sum has a term; not known where a condition on its terms is no bound on them.
    pub(crate) has_terms: Option<Vec<Condition>>,
}

/// The sum that a loop is, executed where it has a term; the loop itself if it is not known to be one.
pub fn sum_of(inner: For, buffers: &[Buffer]) -> Stmt {
    let Some(found) = accumulation(&inner, buffers) else { return Stmt::For(inner) };
    let Accumulation { store, invariant: mut guards, has_terms: Some(has_terms) } = found else {
        return Stmt::For(inner);
    };
    guards.extend(has_terms);
    guarded(store, guards)
}

/// A store where conditions hold.
pub(crate) fn guarded(store: Store, guards: Vec<Condition>) -> Stmt {
    match guards.is_empty() {
        true => Stmt::Store(store),
        false => Stmt::when(Condition::all(guards), vec![Stmt::Store(store)]),
    }
}

/// What a loop is equal to, if it accumulates into one element.
pub(crate) fn accumulation(inner: &For, buffers: &[Buffer]) -> Option<Accumulation> {
    let (condition, store) = only_store(inner)?;
    let element = buffers.get(store.buffer.0 as usize)?.element;
    let kind = store.mode.reduction()?;
    if inner.mark != Mark::Sequential
        || element.is_integer() && store.is_index()
        || store.index.mentions(inner.var)
        || store.value.loads(store.buffer)
    {
        return None;
    }
    let bounds = (&inner.lower[..], &inner.upper[..]);
    let narrowed = narrow((inner.var, inner.step), bounds, condition);
    let has_terms =
        narrowed.rest.is_empty().then(|| range_conditions(&narrowed.lower, &narrowed.upper));
    let sum = Sum {
        kind,
        var: inner.var,
        lower: narrowed.lower,
        upper: narrowed.upper,
        step: inner.step,
        unroll: None,
        fetch: Vec::new(),
        condition: (!narrowed.rest.is_empty()).then(|| Condition::all(narrowed.rest)),
        body: store.value.clone(),
    };
    let value = Value::Sum(Box::new(sum));
    let stream = store.stream.clone().filter(|stream| !stream.mentions(inner.var));
    let store = Store { value, stream, ..store.clone() };
    Some(Accumulation { store, invariant: narrowed.invariant, has_terms })
}

/// The one store that a loop executes, and when.
fn only_store(inner: &For) -> Option<(Condition, &Store)> {
    match &inner.body[..] {
        [Stmt::Store(store)] => Some((Condition::TRUE, store)),
        [Stmt::If(only)] if only.otherwise.is_empty() => match &only.then[..] {
            [Stmt::Store(store)] => Some((only.condition.clone(), store)),
            _ => None,
        },
        _ => None,
    }
}
