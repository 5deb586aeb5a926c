//! Makes the loops around the one that is distributed among threads sequential, so that it is the outermost parallel
//! loop.
//!
//! Before -> after: `parallel i = 0 to N { parallel j = 0 to M hint(threads) { s } }` -> `for i = 0 to N { parallel j =
//! 0 to M { s } }`.

use super::walk::{Walk, each_function};
use crate::ir::*;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_function(module, context, |walk, body| {
        body.iter_mut().for_each(|stmt| {
            shared(walk, stmt);
        });
    });
}

/// Makes loops around shared ones sequential; whether there is a shared one in the statement.
fn shared(walk: &Walk<'_>, stmt: &mut Stmt) -> bool {
    match stmt {
        Stmt::For(inner) if walk.hint(inner.var).threads && inner.mark == Mark::THREADS => true,
        Stmt::Partitioned(inner) => walk.hint(inner.begin).threads,
        // What is inside of a tile is on one thread.
        Stmt::For(inner) if inner.mark == Mark::Unrolled => false,
        Stmt::For(inner) => {
            let mut found = false;
            inner.body.iter_mut().for_each(|stmt| found |= shared(walk, stmt));
            if found && inner.mark == Mark::THREADS {
                inner.mark = Mark::Sequential;
            }
            found
        }
        Stmt::If(inner) => {
            let mut found = false;
            let all = inner.then.iter_mut().chain(&mut inner.otherwise);
            all.for_each(|stmt| found |= shared(walk, stmt));
            found
        }
        _ => false,
    }
}
