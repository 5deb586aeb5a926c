//! Rows whose coordinates follow one another, as those of bands do: what they add to a dense workspace is in a row too.
//!
//! Before -> after:
//! ```text
//! for p = s to e { W[crd[p]] += v[p]  mark[crd[p]] = 1  mark64[crd[p] / 64] = 1 }
//! ```
//! ```text
//! if s + 8 <= e and crd[e - 1] - crd[s] == e - 1 - s {
//!   for p = s to e { W[crd[s] + p - s] += v[p] }
//!   for p = s to e { mark[crd[s] + p - s] = 1 }
//!   for g = crd[s] / 64 to crd[e - 1] / 64 + 1 { mark64[g] = 1 }
//! } else { .. }
//! ```

use dastac_loops::{Condition, For, Function, If, Index, Mark, Stmt, Store, Value};

/// Shorter rows are not looked at.
const LEAST: i64 = if cfg!(test) { 2 } else { 8 };

/// A loop over all positions of a row, whose coordinates ascend and are those of `place`, with another way where they
/// follow one another.
pub(crate) fn with_runs(function: &mut Function, inner: For, place: &Index) -> Stmt {
    match in_a_row(function, &inner, place) {
        None => Stmt::For(inner),
        Some((condition, then)) => {
            Stmt::If(If { condition, then, otherwise: vec![Stmt::For(inner)] })
        }
    }
}

fn in_a_row(function: &mut Function, inner: &For, place: &Index) -> Option<(Condition, Vec<Stmt>)> {
    let ([start], [end], 1) = (&inner.lower[..], &inner.upper[..], inner.step) else {
        return None;
    };
    // The coordinate that is stored, of which the place is a multiple of 1.
    let mut loads = Vec::new();
    place.visit(&mut |index| {
        if matches!(index, Index::Load(_, at) if **at == Index::Var(inner.var)) {
            loads.push(index.clone());
        }
    });
    let [stored] = &loads[..] else { return None };
    let any = function.fresh_var("any");
    let stride = replaced(place, stored, &Index::Var(any)).constant_stride(any);
    stride.filter(|stride| *stride == 1)?;
    let place = stored;
    let at = |position: &Index| place.substitute(inner.var, position);
    let (first, last) = (at(start), at(&(end.clone() - 1)));
    let long = (start.clone() + LEAST).at_most(end.clone());
    let run = (last.clone() - first.clone()).equal(end.clone() - 1 - start.clone());
    let mut then = Vec::new();
    for stmt in &inner.body {
        let Stmt::Store(store) = stmt else { return None };
        then.push(match &store.index {
            Index::FloorDiv(key, group) if !store.value.mentions(inner.var) => {
                let key_at = |coordinate: &Index| replaced(key, place, coordinate);
                let var = function.fresh_var("group");
                // Keys of neighbours are neighbours.
                let one = Index::Var(var);
                key_at(&one).constant_stride(var).filter(|stride| *stride == 1)?;
                let bound = |coordinate: &Index| key_at(coordinate).floor_div(*group);
                let body = vec![Stmt::Store(Store { index: one, ..store.clone() })];
                Stmt::For(For {
                    var,
                    lower: vec![bound(&first)],
                    upper: vec![bound(&last) + 1],
                    step: 1,
                    mark: Mark::Sequential,
                    body,
                })
            }
            index => {
                let var = function.fresh_var("p");
                let here = Index::Var(var);
                let coordinate = first.clone() + (here.clone() - start.clone());
                let moved = |index: &Index| {
                    replaced(index, place, &coordinate).substitute(inner.var, &here)
                };
                let value: Value = store.value.rebuild(&|leaf| match leaf {
                    Index::Var(own) if *own == inner.var => here.clone(),
                    leaf => leaf.clone(),
                });
                let body = vec![Stmt::Store(Store { index: moved(index), value, ..store.clone() })];
                Stmt::For(For { var, mark: Mark::Sequential, body, ..inner.clone() })
            }
        });
    }
    Some((long.and(run), then))
}

/// An index with an expression in place of another.
fn replaced(index: &Index, old: &Index, new: &Index) -> Index {
    if index == old {
        return new.clone();
    }
    index.map_parts(&mut |part| replaced(part, old, new))
}
