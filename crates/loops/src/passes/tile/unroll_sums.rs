//! Sums get the factors that a schedule wants: so many terms are added up on their own.
//!
//! Before -> after: `sum(x = 0 to M hint(unroll 4)) v` -> `sum(x = 0 to M unroll 4) v`.

use super::walk::{Walk, each_function};
use crate::ir::*;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_function(module, context, |walk, body| unroll(walk, body));
}

fn unroll(walk: &Walk<'_>, body: &mut [Stmt]) {
    for stmt in body {
        if let Stmt::Store(store) = stmt {
            store.value = store.value.map_sums(&|sum| {
                let unroll = walk.hint(sum.var).unroll.or(sum.unroll);
                Value::Sum(Box::new(Sum { unroll, ..sum }))
            });
        }
        stmt.bodies_mut().into_iter().for_each(|body| unroll(walk, body));
    }
}
