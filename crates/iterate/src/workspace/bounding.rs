//! How many elements there are at most: loops that count them, without asking which of them are the same.
//!
//! Before -> after, of `C(i, k) := A(i, j) * B(j, k)`:
//! `for i { at[0] = 0  for j in A(i) { for k in B(j) { mark[k] = 1 .. } }  scan k in mark { at[0] += 1 } .. }` ->
//! `for i { at[0] = 0  for j in A(i) { at[0] += |B(j)| } .. }`.

use std::collections::BTreeSet;

use dastac_loops::{BufferId, For, Index, Stmt, StoreMode, Value};

/// Where an element is counted.
pub(super) enum Place<'a> {
    /// Always there.
    One(Index),
    /// As the index of its mark says.
    Of(&'a dyn Fn(&Index) -> Index),
}

pub(super) struct Bounding<'a> {
    /// Where elements are counted.
    pub(super) counter: (BufferId, Place<'a>),
    /// A store to it stands for an element.
    pub(super) mark: BufferId,
    /// Where the numbers of elements of rows go, and how many a row has at most.
    pub(super) rows: Option<(BufferId, &'a Index)>,
    /// Memory that is opened inside, which loops need.
    pub(super) own: BTreeSet<BufferId>,
}

impl Bounding<'_> {
    pub(super) fn bounded(&self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut result: Vec<Stmt> = Vec::new();
        for mut stmt in body {
            match &mut stmt {
                Stmt::Store(store) if store.buffer == self.mark => {
                    let place = match &self.counter.1 {
                        Place::One(place) => place.clone(),
                        Place::Of(place) => place(&store.index),
                    };
                    let one = Value::FromIndex(Index::Const(1));
                    result.push(Stmt::add(self.counter.0, place, one));
                    continue;
                }
                Stmt::Store(store)
                    if let Some((_, extent)) =
                        self.rows.filter(|(starts, _)| *starts == store.buffer) =>
                {
                    if let (StoreMode::Set, Value::FromIndex(count @ Index::Var(_))) =
                        (store.mode, &mut store.value)
                    {
                        *count = count.clone().min(extent.clone());
                    }
                }
                // Other marks, and values, are none of this function's arrays. What windows begin with is.
                Stmt::Store(store) if !self.own.contains(&store.buffer) => continue,
                Stmt::Scan(_) => continue,
                _ => {}
            }
            let (mut some, mut empty) = (false, true);
            for inside in stmt.bodies_mut() {
                some = true;
                *inside = self.bounded(std::mem::take(inside));
                empty &= inside.is_empty();
            }
            if some && empty {
                continue;
            }
            match &stmt {
                Stmt::For(inner) => result.push(self.at_once(inner).unwrap_or(stmt)),
                // Both ways add the same.
                Stmt::If(inner) if inner.then == inner.otherwise => {
                    result.extend(inner.then.iter().cloned());
                }
                _ => result.push(stmt),
            }
        }
        result
    }

    /// What a loop adds to a counter, if it does nothing but add the same number each time.
    fn at_once(&self, inner: &For) -> Option<Stmt> {
        let [Stmt::Store(store)] = &inner.body[..] else { return None };
        let Value::FromIndex(each) = &store.value else { return None };
        let own = store.buffer == self.counter.0 && store.mode == StoreMode::Add;
        let varies = each.mentions(inner.var) || store.index.mentions(inner.var);
        if !own || inner.step != 1 || varies {
            return None;
        }
        let (lower, upper) = inner.ends();
        let count = (upper - lower).max(Index::Const(0)) * each.clone();
        Some(Stmt::add(store.buffer, store.index.clone(), Value::FromIndex(count)))
    }
}

/// The buffers that statements have to themselves.
pub(super) fn opened(body: &[Stmt]) -> BTreeSet<BufferId> {
    let mut own = BTreeSet::new();
    for stmt in body {
        stmt.visit(&mut |stmt| {
            if let Stmt::Workspace(inner) = stmt {
                own.insert(inner.buffer);
            }
        });
    }
    own
}
