//! Partitioned ranges as teams of threads, each of which finds a part of equal work by bisection.
//!
//! Before -> after: `partition a, b = 0 to N step 4 by w(b) { call f(a, b) on A }` ->
//! ```text
//! if 0 < N {
//!   team t in n {
//!     while low = 0, high = (N + 3) / 4 if low < high { }
//!     then (the half in which w(4 * x) * n reaches w(N) * t) after {
//!       while low_1 = 0, .. (the same for t + 1) after {
//!         call f(select(t == 0, 0, min(4 * low, N)), select(n <= t + 1, N, min(4 * low_1, N))) on A
//! }}}}
//! ```
//!
//! The work before a point is an expression, so no part is handed out at run time, and a thread computes the same
//! elements in each call. Parts meet whatever the expression gives, even a number that does not grow: for the end of a
//! part and the begin of the next one, two threads ask the same questions. All there is belongs to a part.

use crate::ir::*;
use crate::passes::Context;

pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    for function in &mut module.functions {
        let mut body = std::mem::take(&mut function.body);
        rewrite(&mut body, function, &[]);
        function.body = body;
    }
}

/// Turns the ranges of a block into teams; `known` are the conditions that hold there.
fn rewrite(body: &mut [Stmt], function: &mut Function, known: &[Condition]) {
    for stmt in body {
        let mut inside = known.to_vec();
        if let Stmt::If(inner) = stmt {
            inside.push(inner.condition.clone());
        }
        for (at, body) in stmt.bodies_mut().into_iter().enumerate() {
            // The condition of an `if` holds in the first of its two blocks.
            rewrite(body, function, if at == 0 { &inside } else { known });
        }
        if let Stmt::Partitioned(partitioned) = stmt {
            *stmt = guarded(partitioned, function, known);
        }
    }
}

/// The team of a range that has something in it. Where that is known already, nothing asks again.
fn guarded(partitioned: &PartitionedRange, function: &mut Function, known: &[Condition]) -> Stmt {
    let (lower, upper) = partitioned.ends();
    let some = lower.less(upper);
    let team = Stmt::Team(team(partitioned, function));
    if known.contains(&some) { team } else { Stmt::when(some, vec![team]) }
}

fn team(partitioned: &PartitionedRange, function: &mut Function) -> Team {
    let (lower, upper) = partitioned.ends();
    let [part, parts] = ["part", "parts"].map(|name| function.fresh_var(name));
    let [low, high] = [(); 2].map(|()| ["low", "high"].map(|name| function.fresh_var(name)));
    let after = Index::Var(part) + 1;
    let searches = [
        Search { partitioned, vars: low, at: Index::Var(part), parts },
        Search { partitioned, vars: high, at: after.clone(), parts },
    ];
    let [begin, end] = [&searches[0], &searches[1]].map(Search::found);
    let begin = Index::select(Index::Var(part).equal(0.into()), lower.clone(), begin);
    let end = Index::select(Index::Var(parts).at_most(after), upper.clone(), end);
    let body = partitioned.body.iter();
    let body = body
        .map(|stmt| stmt.substitute(partitioned.begin, &begin).substitute(partitioned.end, &end));
    let [first, second] = searches;
    let body = vec![first.around(vec![second.around(body.collect())])];
    Team { part, parts, body }
}

/// A search for the first multiple of the step before which there are at least `at / parts` of the work.
struct Search<'a> {
    partitioned: &'a PartitionedRange,
    /// Between which numbers of steps it is.
    vars: [VarId; 2],
    at: Index,
    parts: VarId,
}

impl Search<'_> {
    /// The loop, and what is executed where it has found the place.
    fn around(&self, after: Vec<Stmt>) -> Stmt {
        let (lower, upper) = self.partitioned.ends();
        let [low, high] = self.vars.map(Index::Var);
        let step = self.partitioned.step;
        let units = (upper.clone() - lower.clone() + (step - 1)).floor_div(step);
        let middle = (low.clone() + high.clone()).floor_div(2);
        let total = self.work(upper).max(0.into());
        let here = self.work(lower + middle.clone() * step);
        let enough = (total * self.at.clone()).at_most(here * Index::Var(self.parts));
        Stmt::While(While {
            vars: vec![(self.vars[0], 0.into()), (self.vars[1], units)],
            condition: low.clone().less(high.clone()),
            body: Vec::new(),
            next: vec![
                Index::select(enough.clone(), low, middle.clone() + 1),
                Index::select(enough, middle, high),
            ],
            after,
        })
    }

    /// The place, after the loop.
    fn found(&self) -> Index {
        let (lower, upper) = self.partitioned.ends();
        (lower + Index::Var(self.vars[0]) * self.partitioned.step).min(upper)
    }

    /// The work between the begin of the range and a place.
    fn work(&self, end: Index) -> Index {
        match &self.partitioned.work {
            Some(work) => work.substitute(self.partitioned.end, &end),
            None => end - self.partitioned.ends().0,
        }
    }
}
