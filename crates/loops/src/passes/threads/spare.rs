//! Ranges and loops with little work, which are not worth waking threads.
//!
//! Before -> after: `partition a, b = 0 to N by w(b) { call f(a, b) on A }` ->
//! `if 0 < N { if w(N) < 16384 { call f(0, N) on A } else { partition a, b = 0 to N by w(b) { call f(a, b) on A } } }`;
//! `parallel i = 0 to N { call f(i) on A }` ->
//! `if max(N, 0) * 2 < 16384 { for i = 0 to N { call f(i) on A } } else { parallel i = 0 to N { call f(i) on A } }`,
//! where `f` loads and stores two elements.
//!
//! In tiles and vectors as many elements are loaded in less time, so that more of them are needed.
//!
//! Whether there is enough work is estimated from the statements; what the range itself says of its work counts where
//! they are too involved. Without either, threads are woken.

use super::estimate::Estimate;
use super::functions::rewrite_all;
use crate::ir::*;
use crate::passes::Context;

pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    for at in 0..module.functions.len() {
        let mut body = std::mem::take(&mut module.functions[at].body);
        let estimate =
            Estimate { module, machine: context.machine, args: &module.functions[at].args };
        rewrite_all(&mut body, &mut |stmt| match stmt {
            Stmt::Partitioned(partitioned) => {
                if let Some(spared) = range(partitioned, &estimate) {
                    *stmt = spared;
                }
            }
            Stmt::For(inner) if inner.mark == Mark::THREADS => {
                if let Some(spared) = counted(inner, &estimate) {
                    *stmt = spared;
                }
            }
            _ => {}
        });
        module.functions[at].body = body;
    }
}

/// A range that is executed in one part if it is little work.
fn range(range: &PartitionedRange, estimate: &Estimate<'_>) -> Option<Stmt> {
    let [Stmt::Call(call)] = &range.body[..] else { return None };
    let enough = enough(&range.body, estimate);
    let (lower, upper) = range.ends();
    let call = Stmt::Call(call.clone());
    let call = call.substitute(range.begin, &lower).substitute(range.end, &upper);
    let said = range.work.as_ref().map(|work| work.substitute(range.end, &upper));
    let seen = estimate.of_block(std::slice::from_ref(&call));
    let little: Vec<Condition> =
        said.into_iter().chain(seen).map(|work| work.less(enough.into())).collect();
    if little.is_empty() {
        return None;
    }
    let otherwise = vec![Stmt::Partitioned(range.clone())];
    let choice = If { condition: Condition::all(little), then: vec![call], otherwise };
    // Where there is nothing to do there is nothing to load either.
    Some(Stmt::when(lower.less(upper), vec![Stmt::If(choice)]))
}

/// A parallel loop that is executed in order if it is little work.
fn counted(inner: &For, estimate: &Estimate<'_>) -> Option<Stmt> {
    let enough = enough(&inner.body, estimate);
    let work = estimate.of_loop(inner)?;
    let in_order = Stmt::For(For { mark: Mark::Sequential, ..inner.clone() });
    match work.as_const() {
        Some(work) => (work < enough).then_some(in_order),
        None => Some(Stmt::If(If {
            condition: work.less(enough.into()),
            then: vec![in_order],
            otherwise: vec![Stmt::For(inner.clone())],
        })),
    }
}

/// The elements that statements load at least where it is worth waking threads. What is unrolled is computed in
/// vectors, which load more elements in the same time: half as many more as they have lanes, since caches do not keep
/// up.
fn enough(body: &[Stmt], estimate: &Estimate<'_>) -> i64 {
    let Estimate { module, machine, .. } = estimate;
    match is_unrolled(module, body) {
        true => machine.wake * (machine.lanes(8) / 2).max(1),
        false => machine.wake,
    }
}

/// Whether statements, or functions that they call, have tiles.
fn is_unrolled(module: &Module, body: &[Stmt]) -> bool {
    body.iter().any(|stmt| {
        let mut found = false;
        stmt.visit(&mut |stmt| {
            found |= match stmt {
                Stmt::For(inner) => inner.mark == Mark::Unrolled,
                Stmt::Call(call) => {
                    let callee = module.functions.get(call.function.0 as usize);
                    callee.is_some_and(|callee| is_unrolled(module, &callee.body))
                }
                _ => false,
            };
        });
        found
    })
}
