//! Bodies of parallel loops and of partitioned ranges as private functions.
//!
//! Before -> after: `parallel i = 0 to N { for j = i to N { A[j] += B[i] } }` ->
//! `parallel i = 0 to N hint(guided) { call f__body1(i) on A, B }` with
//! `private func f__body1(symbol N, index i, inout A, in B) { for j = i to N { A[j] += B[i] } }`.
//!
//! The loop is guided since its iterations differ in work: a bound inside mentions `i`.
//!
//! What threads execute is passed through a structure in memory otherwise, where the promise that buffers do not
//! overlap is lost, and with it most vectorisation; as parameters of a function the buffers keep it.

use std::collections::BTreeMap;

use super::functions::{each_function, fresh_name, rewrite_all};
use crate::ir::*;
use crate::passes::Context;
use crate::rename::Uses;

pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    each_function(module, |module, function| {
        let mut body = std::mem::take(&mut function.body);
        rewrite_all(&mut body, &mut |stmt| {
            let vars = match stmt {
                Stmt::For(inner) if inner.mark == Mark::THREADS => {
                    let guided = is_uneven(inner);
                    function.hints.update(inner.var, |hint| hint.guided = guided);
                    vec![inner.var]
                }
                Stmt::Partitioned(inner) => vec![inner.begin, inner.end],
                _ => return,
            };
            for body in stmt.bodies_mut() {
                // A loop of threads is around nothing but calls: code generation takes no branches there.
                if !matches!(body[..], [Stmt::Call(_)]) {
                    let outlined = Outlined { body: std::mem::take(body), vars: &vars };
                    *body = vec![outlined.call(module, function)];
                }
            }
        });
        function.body = body;
    });
}

/// Statements that become a function: without register code, whose registers would stay behind.
pub(super) struct Outlined<'a> {
    /// The statements.
    pub body: Vec<Stmt>,
    /// Variables that are passed, used or not.
    pub vars: &'a [VarId],
}

impl Outlined<'_> {
    /// Adds the function to the module, and gives the call that stands for the statements where they were.
    pub fn call(self, module: &mut Module, caller: &Function) -> Stmt {
        let mut uses = Uses::of(&self.body, &module.functions);
        uses.vars.extend(self.vars);
        let mut numbers: BTreeMap<VarId, VarId> = BTreeMap::new();
        let mut vars = Vec::new();
        for var in uses.vars.iter().copied().chain(bound(&self.body)) {
            numbers.entry(var).or_insert_with(|| {
                vars.push(caller.vars.get(var.0 as usize).cloned().unwrap_or_default());
                VarId(vars.len() as u32 - 1)
            });
        }
        let renamed = |var: VarId| numbers.get(&var).copied().unwrap_or(var);
        // A body with a loop is worth a call, and inlined it would be copied for every case that LLVM tells apart; one
        // without may vectorise over the parallel loop itself.
        let inline = !has_loop(&self.body);
        let private = Private {
            symbols: uses.symbols.into_iter().collect(),
            integers: uses.vars.iter().map(|var| renamed(*var)).collect(),
            inline,
        };
        let mode = |buffer: BufferId| {
            let known = caller.args.iter().find(|(known, _)| *known == buffer);
            // A workspace is no argument of its caller.
            known.map_or(Mode::InOut, |(_, mode)| *mode)
        };
        let args = uses.buffers.iter().map(|buffer| (*buffer, mode(*buffer))).collect();
        let mut function = Function::new(fresh_name(module, &caller.name, "body"), args);
        function.private = Some(private);
        function.vars = vars;
        function.body = self.body.iter().map(|stmt| stmt.rename(&renamed)).collect();
        module.functions.push(function);
        Stmt::Call(Call {
            function: FunctionId(module.functions.len() as u32 - 1),
            integers: uses.vars.into_iter().map(Index::Var).collect(),
            buffers: uses.buffers.into_iter().collect(),
        })
    }
}

/// All variables that statements bind, those of sums too, in the order of the text.
fn bound(body: &[Stmt]) -> Vec<VarId> {
    let mut vars = Vec::new();
    for stmt in body {
        stmt.visit(&mut |stmt| {
            vars.extend(stmt.binds());
            if let Stmt::Store(store) = stmt {
                store.value.visit(&mut |value| vars.extend(value.binds()));
            }
        });
    }
    vars
}

/// Whether there is a loop or a sum inside.
pub(super) fn has_loop(body: &[Stmt]) -> bool {
    let mut found = false;
    for stmt in body {
        stmt.visit(&mut |stmt| {
            found |= match stmt {
                Stmt::For(_) | Stmt::Partitioned(_) | Stmt::Partial(_) | Stmt::Team(_) => true,
                Stmt::While(_) | Stmt::CoIter(_) | Stmt::Call(_) | Stmt::Register(_) => true,
                Stmt::Scan(_) => true,
                Stmt::Workspace(_) | Stmt::Let(_) | Stmt::If(_) => false,
                Stmt::Append(_) | Stmt::Store(_) => false,
            }
        });
        stmt.visit_values(&mut |value| found |= matches!(value, Value::Sum(_)));
    }
    found
}

/// Whether iterations differ in work: a bound or condition inside mentions the variable.
fn is_uneven(parallel: &For) -> bool {
    let mentions = |bound: &Index| bound.mentions(parallel.var);
    let mut found = false;
    for stmt in &parallel.body {
        stmt.visit(&mut |stmt| match stmt {
            Stmt::For(inner) => found |= inner.lower.iter().chain(&inner.upper).any(mentions),
            Stmt::If(inner) => found |= inner.condition.mentions(parallel.var),
            Stmt::While(_) | Stmt::Let(_) | Stmt::Scan(_) => found = true,
            Stmt::Workspace(inner) => found |= inner.size.mentions(parallel.var),
            Stmt::Partitioned(_) | Stmt::Partial(_) | Stmt::Team(_) | Stmt::Call(_) => {}
            Stmt::CoIter(_) | Stmt::Append(_) | Stmt::Register(_) | Stmt::Store(_) => {}
        });
        stmt.visit_values(&mut |value| found |= value.mentions_in_ranges(parallel.var));
    }
    found
}
