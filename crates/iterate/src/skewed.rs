//! Walks of which one level is the same for all iterations around, while others are parts of their levels: each row of
//! a matrix beside all rows of another one that are stored.
//!
//! Side by side, each part would walk all of that level. Where it has many more positions than the part, each
//! coordinate of the part is searched for in it instead.
//!
//! Before -> after, of `coiter j = 0 to N over p = a[i] to a[i + 1] at A[p] within, q = 0 to n at B[q] within { case p,
//! q { s } }`, in a loop over `i`:
//! ```text
//! if 8 * (a[i + 1] - a[i]) <= n {
//!   for p = a[i] to a[i + 1] {
//!     while low = 0, high = n if low < high {} then .. after { if low < n { if B[low] == A[p] { s } } }
//!   }
//! } else { coiter .. }
//! ```

use std::collections::BTreeSet;

use dastac_loops::{Case, CoIter, Condition, Cursor, Index, Stmt, VarId, While};

/// So many times as many positions are searched: each costs as many steps as it takes to halve them to one.
const MANY: i64 = 8;

/// Which cursors of a walk others are searched for, and the others.
struct Skewed {
    walked: Vec<usize>,
    searched: Vec<usize>,
}

impl Skewed {
    /// `None` where no cursor stays the same around others that do not, or not all of them have to be there.
    fn of(coiter: &CoIter) -> Option<Skewed> {
        let [case] = &coiter.cases[..] else { return None };
        let all: BTreeSet<usize> = case.cursors.iter().copied().collect();
        // Of positions with the same coordinate the first is found, as a walk would find it.
        let plain = |cursor: &Cursor| cursor.width == Index::Const(1) && cursor.step == 1;
        if all.len() != coiter.cursors.len() || !coiter.cursors.iter().all(plain) {
            return None;
        }
        let vars: Vec<BTreeSet<VarId>> = coiter
            .cursors
            .iter()
            .map(|one| one.start.free_vars().into_iter().chain(one.end.free_vars()).collect())
            .collect();
        let same = |at: &usize| {
            vars.iter().any(|other| vars[*at].is_subset(other) && vars[*at].len() < other.len())
        };
        let (searched, walked): (Vec<usize>, Vec<usize>) = all.into_iter().partition(same);
        (!searched.is_empty() && !walked.is_empty()).then_some(Skewed { walked, searched })
    }
}

/// A walk with searches in it, and when it is the faster one.
pub(super) struct Searches {
    pub(super) condition: Condition,
    pub(super) walk: CoIter,
}

/// What a walk may be in place of what it is, if there may be something to gain; `fresh` gives variables like others.
pub(super) fn searches(coiter: &CoIter, fresh: &mut dyn FnMut(VarId) -> VarId) -> Option<Searches> {
    let Skewed { walked, searched } = Skewed::of(coiter)?;
    let length = |at: usize| {
        let cursor = &coiter.cursors[at];
        cursor.end.clone() - cursor.start.clone()
    };
    let first = length(walked[0]) * MANY;
    let condition = Condition::all(searched.iter().map(|at| first.clone().at_most(length(*at))));
    let mut body = coiter.cases[0].body.clone();
    for at in searched.iter().rev() {
        body = vec![found(&coiter.cursors[*at], coiter.var, body, fresh)];
    }
    let cursors: Vec<Cursor> = walked.iter().map(|at| coiter.cursors[*at].clone()).collect();
    let cases = vec![Case { cursors: (0..cursors.len()).collect(), body }];
    Some(Searches { condition, walk: CoIter { cursors, cases, ..coiter.clone() } })
}

/// What is executed at the position of a cursor that has a coordinate, if there is one.
fn found(
    cursor: &Cursor,
    coordinate: VarId,
    body: Vec<Stmt>,
    fresh: &mut dyn FnMut(VarId) -> VarId,
) -> Stmt {
    let (low, high) = (fresh(cursor.position), fresh(cursor.position));
    let middle = (Index::Var(low) + Index::Var(high)).floor_div(2);
    let before = || cursor.at(&middle).less(Index::Var(coordinate));
    let next = vec![
        Index::select(before(), middle.clone() + 1, Index::Var(low)),
        Index::select(before(), Index::Var(high), middle.clone()),
    ];
    let vars = vec![(low, cursor.start.clone()), (high, cursor.end.clone())];
    let condition = Index::Var(low).less(Index::Var(high));
    let body = body.iter().map(|stmt| stmt.substitute(cursor.position, &Index::Var(low)));
    let here = cursor.at(&Index::Var(low)).equal(Index::Var(coordinate));
    let inside = vec![Stmt::when(here, body.collect())];
    let after = vec![Stmt::when(Index::Var(low).less(cursor.end.clone()), inside)];
    Stmt::While(While { vars, condition, body: Vec::new(), next, after })
}
