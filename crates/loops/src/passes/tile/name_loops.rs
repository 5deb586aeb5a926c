//! Gives each loop a variable of its own, so that a hint for it applies to no other loop.
//!
//! Before -> after: `parallel i = 0 to M { s } parallel i = M to N { t }`, both of one variable -> the same, of two
//! variables with one name.

use std::collections::BTreeSet;

use crate::hints::Hints;
use crate::ir::*;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    for function in &mut module.functions {
        let mut body = std::mem::take(&mut function.body);
        let mut known = BTreeSet::new();
        body.iter_mut().for_each(|stmt| rename(function, &mut known, stmt));
        function.body = body;
    }
}

fn rename(function: &mut Function, known: &mut BTreeSet<VarId>, stmt: &mut Stmt) {
    if let Stmt::For(inner) = stmt
        && !known.insert(inner.var)
    {
        let var = function.fresh_like(inner.var, "");
        known.insert(var);
        let by = Index::Var(var);
        inner.body.iter_mut().for_each(|stmt| *stmt = stmt.substitute(inner.var, &by));
        inner.var = var;
    }
    stmt.bodies_mut().into_iter().flatten().for_each(|stmt| rename(function, known, stmt));
}

/// Forgets what passes and schedules said about loops: the pass `drop-hints`.
pub(crate) fn drop_hints(module: &mut Module, _: &Context<'_>) {
    module.functions.iter_mut().for_each(|function| function.hints = Hints::default());
}
