//! Cuts loops where a quotient by a size changes, so that it is one number in each part.
//!
//! `x((j - 1) % N)` reads around the end of `x`. What it reads there is a part of its own:
//!
//! ```text
//! for j = 0 to M { if N > j - 1 - N * floor(j - 1, N) { y[j] += x[j - 1 - N * floor(j - 1, N)] } }
//! ```
//! becomes
//! ```text
//! if N >= 1 {
//!   for q = floor(-1, N) to floor(M - 2, N) + 1 {
//!     for j = max(0, N * q + 1) to min(M, N * q + 1 + N) { y[j] += x[j - 1 - N * q] }
//!   }
//! }
//! ```
//! The loop over quotients moves out of parallel loops around: `parallel i { for q { parallel j { .. } } }` ->
//! `for q { parallel i { parallel j { .. } } }`, so that these are nests as others are.

use std::collections::BTreeSet;

use crate::ir::*;
use crate::passes::{Context, narrow};

/// More quotients are not looked for in one loop.
const MOST: usize = 3;

/// The pass.
pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    let Module { functions, buffers, .. } = module;
    for function in functions {
        let mut body = std::mem::take(&mut function.body);
        let mut cuts = Cuts { function, quotients: BTreeSet::new(), around: Vec::new() };
        cuts.block(&mut body);
        let changed = !cuts.quotients.is_empty();
        function.body = body;
        if changed {
            narrow::run(function, buffers);
            function.body.iter_mut().for_each(tidy);
        }
    }
}

/// Leaves out bounds that others imply: conditions that have become bounds are often those of a part.
fn tidy(stmt: &mut Stmt) {
    if let Stmt::For(inner) = stmt {
        reduce(&mut inner.lower, 1);
        reduce(&mut inner.upper, -1);
    }
    stmt.bodies_mut().into_iter().flatten().for_each(tidy);
}

/// Leaves out bounds that are at most others (with `sign` -1, at least).
fn reduce(bounds: &mut Vec<Index>, sign: i64) {
    let mut kept: Vec<Index> = Vec::new();
    for bound in bounds.drain(..) {
        let beyond = |one: &Index, other: &Index| {
            one.constant_difference(other).is_some_and(|by| sign * by >= 0)
        };
        if !kept.iter().any(|other| beyond(other, &bound)) {
            kept.retain(|other| !beyond(&bound, other));
            kept.push(bound);
        }
    }
    *bounds = kept;
}

/// What is cut in a function.
struct Cuts<'f> {
    function: &'f mut Function,
    /// The variables of loops over quotients.
    quotients: BTreeSet<VarId>,
    /// Those of the loops around.
    around: Vec<VarId>,
}

impl Cuts<'_> {
    fn block(&mut self, body: &mut [Stmt]) {
        for stmt in body {
            let var = match stmt {
                Stmt::For(inner) => Some(inner.var),
                _ => None,
            };
            self.around.extend(var);
            stmt.bodies_mut().into_iter().for_each(|body| self.block(body));
            if var.is_some() {
                self.around.pop();
            }
            let Stmt::For(inner) = stmt else { continue };
            if let Some(cut) = self.cut(inner, MOST) {
                *stmt = cut;
            } else if let Some(moved) = self.moved(inner) {
                *stmt = moved;
            }
        }
    }

    /// A parallel loop that is inside of the loops over quotients that were in it.
    fn moved(&self, outer: &For) -> Option<Stmt> {
        let [Stmt::If(only)] = &outer.body[..] else { return None };
        let [Stmt::For(over)] = &only.then[..] else { return None };
        let parallel = outer.mark == Mark::THREADS && outer.step == 1;
        let ours = self.quotients.contains(&over.var) && only.otherwise.is_empty();
        if !parallel || !ours || only.condition.mentions(outer.var) {
            return None;
        }
        let first = outer.lower.iter().cloned().reduce(Index::max)?;
        let last = outer.upper.iter().cloned().reduce(Index::min)? - 1;
        let farthest = |bounds: &[Index], least: bool| -> Option<Vec<Index>> {
            let one = |bound| extreme(bound, outer.var, (&first, &last), least);
            bounds.iter().map(one).collect()
        };
        let (lower, upper) = (farthest(&over.lower, true)?, farthest(&over.upper, false)?);
        let inside = For { body: over.body.clone(), ..outer.clone() };
        let inside = self.moved(&inside).unwrap_or(Stmt::For(inside));
        let over = Stmt::For(For { lower, upper, body: vec![inside], ..*over });
        Some(Stmt::when(only.condition.clone(), vec![over]))
    }
}

/// What an integer is at least, or at most, where a variable is between two values.
fn extreme(index: &Index, var: VarId, ends: (&Index, &Index), least: bool) -> Option<Index> {
    if !index.mentions(var) {
        return Some(index.clone());
    }
    let go = |part: &Index, least: bool| extreme(part, var, ends, least);
    Some(match index {
        Index::Var(_) => if least { ends.0 } else { ends.1 }.clone(),
        Index::Add(one, other) => go(one, least)? + go(other, least)?,
        Index::Sub(one, other) => go(one, least)? - go(other, !least)?,
        Index::Quotient(value, size) if !size.mentions(var) => {
            go(value, least)?.quotient((**size).clone())
        }
        Index::Min(one, other) => go(one, least)?.min(go(other, least)?),
        Index::Max(one, other) => go(one, least)?.max(go(other, least)?),
        _ => return None,
    })
}

/// A quotient by a size, of a loop's variable and what is the same for all of the loop's iterations.
struct Found {
    quotient: Index,
    size: Index,
    /// What is added to the variable, or what it is subtracted from.
    rest: Index,
    falls: bool,
}

/// The first quotient in a loop that its variable, and else only variables around it, move by steps of one.
fn found(inner: &For, around: &[VarId]) -> Option<Found> {
    if inner.step != 1 || !matches!(inner.mark, Mark::Sequential | Mark::THREADS) {
        return None;
    }
    let mut result = None;
    let known = |var: &VarId| *var == inner.var || around.contains(var);
    let mut look = |index: &Index| {
        index.visit(&mut |part| {
            let Index::Quotient(value, size) = part else { return };
            let is_size = size.free_vars().is_empty() && !size.has_loads();
            let is_plain = !value.has_loads() && !value.has_selections();
            if result.is_some() || !is_size || !is_plain || !value.free_vars().iter().all(known) {
                return;
            }
            let Some(by @ (1 | -1)) = value.constant_stride(inner.var) else { return };
            result = Some(Found {
                quotient: part.clone(),
                size: (**size).clone(),
                rest: value.substitute(inner.var, &Index::Const(0)),
                falls: by < 0,
            });
        });
    };
    // Not those in bounds of loops, which are computed once for all of their iterations.
    let mut own = |stmt: &Stmt| match stmt {
        Stmt::Store(store) => {
            look(&store.index);
            store.value.visit_indices(&mut look);
        }
        Stmt::If(only) => only.condition.visit(&mut look),
        _ => {}
    };
    inner.body.iter().for_each(|stmt| stmt.visit(&mut own));
    result
}

impl Cuts<'_> {
    /// A loop over the values of a quotient around one in which it has one value.
    fn cut(&mut self, inner: &For, left: usize) -> Option<Stmt> {
        let left = left.checked_sub(1)?;
        let Found { quotient, size, rest, falls } = found(inner, &self.around)?;
        let first = inner.lower.iter().cloned().reduce(Index::max)?;
        let end = inner.upper.iter().cloned().reduce(Index::min)?;
        let var = self.function.fresh_like(inner.var, "q");
        self.quotients.insert(var);
        let here = Index::Var(var);
        let at = |value: Index| match falls {
            false => (value + rest.clone()).quotient(size.clone()),
            true => Index::Const(0) - (rest.clone() - value).quotient(size.clone()),
        };
        // The first value of the variable at which the quotient is what the loop around says, and that behind the last.
        let begin = match falls {
            false => size.clone() * here.clone() - rest.clone(),
            true => rest.clone() + size.clone() * here.clone() - size.clone() + 1,
        };
        let mut part = For {
            lower: inner.lower.iter().cloned().chain([begin.clone()]).collect(),
            upper: inner.upper.iter().cloned().chain([begin + size.clone()]).collect(),
            body: inner.body.clone(),
            ..*inner
        };
        let signed = |value: Index| if falls { Index::Const(0) - value } else { value };
        let multiple = Index::Mul(Box::new(size.clone()), Box::new(quotient.clone()));
        replace(&mut part.body, &multiple, &signed(size.clone() * here.clone()));
        replace(&mut part.body, &quotient, &signed(here));
        let part = self.cut(&part, left).unwrap_or(Stmt::For(part));
        let over = For {
            var,
            lower: vec![at(first)],
            upper: vec![at(end - 1) + 1],
            step: 1,
            mark: Mark::Sequential,
            body: vec![part],
        };
        Some(Stmt::when(Index::Const(1).at_most(size), vec![Stmt::For(over)]))
    }
}

fn replace(body: &mut [Stmt], part: &Index, by: &Index) {
    for stmt in body {
        stmt.map_indices(&mut |index| index.replace(part, by));
        stmt.bodies_mut().into_iter().for_each(|body| replace(body, part, by));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::pieces;

    #[test]
    fn quotients_are_numbers_in_parts() {
        expect_test::expect![[r#"
            if N >= 1 {
              if 1 <= N {
                for jq = floor(-1, N) to floor(N - 2, N) + 1 {
                  parallel i = 0 to M {
                    parallel j = max(0, N * jq + 1) to min(N, N * jq + 1 + N) {
                      A[N * i + j] = B[N * i + (j - 1 - N * jq)]
                    }
                  }
                }
              }
              if 1 <= N {
                for i = 0 to N {
                  for jq = 0 - floor(i, N) to 0 - floor(i - (M - 1), N) + 1 {
                    for j = max(0, i + N * jq - N + 1) to min(M, i + N * jq - N + 1 + N) {
                      A[i] += B[i - j - (0 - N * jq)]
                    }
                  }
                }
              }
              for i = 0 to M {
                A[i] = B[floor(2 * i, N)]
              }
            }
        "#]].assert_eq(&pieces(
            "cut-multiples",
            "if N >= 1 { parallel i = 0 to M { parallel j = 0 to N { if N > j - 1 - N * floor(j - 1, N) and \
               j - 1 - N * floor(j - 1, N) >= 0 { A[N * i + j] = B[N * i + (j - 1 - N * floor(j - 1, N))] } } } \
             for i = 0 to N { for j = 0 to M { if N > i - j - N * floor(i - j, N) { \
               A[i] += B[i - j - N * floor(i - j, N)] } } } \
             for i = 0 to M { A[i] = B[floor(2 * i, N)] } }",
        ));
    }
}
