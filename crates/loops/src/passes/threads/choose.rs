//! Which parallel loops and partitioned ranges run on threads: the outermost, where they have enough iterations.
//!
//! Before -> after: `parallel i = 0 to N { parallel j = 0 to N { A[i * N + j] = 0.0 } }` ->
//! `parallel i = 0 to N { for j = 0 to N { A[i * N + j] = 0.0 } }`;
//! `for i = 0 to N { parallel p = pos[i] to pos[i + 1] { .. } }`, a loop over a few positions for each of many rows ->
//! `for i = 0 to N { for p = pos[i] to pos[i + 1] { .. } }`;
//! on a machine without threads all loops run in order, and `partition a, b = 0 to N { .. }` becomes
//! `if 0 < N { .. }` with `0` for `a` and `N` for `b`.

use crate::ir::*;
use crate::passes::Context;

pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    let threads = context.machine.has_threads();
    // Whether a function is called by a thread of several, or where its work would be too little for them.
    let mut inside = vec![!threads; module.functions.len()];
    loop {
        let mut found = Vec::new();
        for (function, inside) in module.functions.iter().zip(&inside) {
            let place = Place { inside: *inside, ordered: false };
            calls(&function.body, place, &mut found);
        }
        found.retain(|callee| !inside[*callee]);
        if found.is_empty() {
            break;
        }
        found.into_iter().for_each(|callee| inside[callee] = true);
    }
    let inside = inside.into_iter();
    for (function, inside) in module.functions.iter_mut().zip(inside) {
        resolve(&mut function.body, Place { inside, ordered: false });
    }
}

/// What is around statements.
#[derive(Clone, Copy)]
struct Place {
    /// Whether iterations here cannot be shared out: they are part of what a thread does, of a tile, or of something
    /// small.
    inside: bool,
    /// Whether there is a loop around whose iterations follow each other.
    ordered: bool,
}

impl Place {
    /// Whether threads share out the iterations of a loop here.
    fn shares_out(self, inner: &For) -> bool {
        // A loop of many over some positions each is too short.
        inner.mark == Mark::THREADS && !self.inside && !(self.ordered && over_positions(inner))
    }

    /// The place of the bodies of a statement, in their order.
    fn of(self, stmt: &Stmt) -> [Place; 2] {
        let shared_out = Place { inside: true, ..self };
        let both = |place| [place; 2];
        match stmt {
            Stmt::For(inner) if self.shares_out(inner) => both(shared_out),
            Stmt::For(inner) if inner.mark == Mark::Unrolled => both(shared_out),
            Stmt::For(inner) => {
                both(Place { inside: self.inside || over_positions(inner), ordered: true })
            }
            // What comes after the loop is executed once.
            Stmt::While(_) => [Place { inside: true, ordered: true }, self],
            Stmt::Partitioned(_) | Stmt::Team(_) | Stmt::CoIter(_) => both(shared_out),
            Stmt::Scan(_) => both(Place { inside: true, ordered: true }),
            Stmt::Partial(_) => [shared_out, self],
            Stmt::Append(_) | Stmt::Workspace(_) | Stmt::Let(_) | Stmt::If(_) => both(self),
            Stmt::Call(_) | Stmt::Register(_) | Stmt::Store(_) => both(self),
        }
    }
}

/// Collects the functions that are called where iterations cannot be shared out.
fn calls(body: &[Stmt], place: Place, found: &mut Vec<usize>) {
    for stmt in body {
        if let Stmt::Call(call) = stmt
            && place.inside
        {
            found.push(call.function.0 as usize);
        }
        let places = place.of(stmt);
        let last = places.len() - 1;
        for (at, body) in stmt.bodies().into_iter().enumerate() {
            calls(body, places[at.min(last)], found);
        }
    }
}

fn resolve(body: &mut [Stmt], place: Place) {
    for stmt in body {
        let places = place.of(stmt);
        let last = places.len() - 1;
        for (at, body) in stmt.bodies_mut().into_iter().enumerate() {
            resolve(body, places[at.min(last)]);
        }
        match stmt {
            Stmt::For(inner) if inner.mark == Mark::THREADS && !place.shares_out(inner) => {
                inner.mark = Mark::Sequential;
            }
            Stmt::Partitioned(partitioned) if place.inside => *stmt = whole(partitioned),
            _ => {}
        }
    }
}

/// A range as one part.
fn whole(partitioned: &PartitionedRange) -> Stmt {
    let (lower, upper) = partitioned.ends();
    let body = partitioned.body.iter();
    let body = body
        .map(|stmt| stmt.substitute(partitioned.begin, &lower).substitute(partitioned.end, &upper));
    Stmt::when(lower.clone().less(upper.clone()), body.collect())
}

/// Whether the range of a loop is read from memory: positions of a level.
fn over_positions(inner: &For) -> bool {
    inner.lower.iter().chain(&inner.upper).any(Index::has_loads)
}
