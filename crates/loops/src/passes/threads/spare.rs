//! Ranges with little work, which are not worth waking threads.
//!
//! Before -> after: `partition a, b = 0 to N by w(b) { call f(a, b) on A }` ->
//! `if 0 < N { if w(N) < 16384 { call f(0, N) on A } else { partition a, b = 0 to N by w(b) { call f(a, b) on A } } }`.

use super::functions::rewrite_all;
use crate::ir::*;
use crate::passes::Context;

pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    for function in &mut module.functions {
        rewrite_all(&mut function.body, &mut |stmt| {
            if let Stmt::Partitioned(partitioned) = stmt
                && let [Stmt::Call(call)] = &partitioned.body[..]
                && let Some(work) = &partitioned.work
            {
                let (lower, upper) = partitioned.ends();
                let enough = context.machine.wake;
                let little = work.substitute(partitioned.end, &upper).less(enough.into());
                let call = Stmt::Call(call.clone());
                let call =
                    call.substitute(partitioned.begin, &lower).substitute(partitioned.end, &upper);
                // Where there is nothing to do there is nothing to load either.
                let some = lower.less(upper);
                let (then, otherwise) = (vec![call], vec![Stmt::Partitioned(partitioned.clone())]);
                let choice = Stmt::If(If { condition: little, then, otherwise });
                *stmt = Stmt::when(some, vec![choice]);
            }
        });
    }
}
