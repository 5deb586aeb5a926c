//! Before -> after: `for n = N to N + 1 { parallel(blocks) b = 0 to (n + 255) / 256 { .. A[i] = 0.0 .. } }` ->
//! `for n = N to N + 1 { call f__kernel1(n) on A }` with `private func f__kernel1(index n, inout A) { parallel(blocks)
//! b = 0 to (n + 255) / 256 { .. } }`.
//!
//! Small workspaces of lanes go to the stack.

use std::collections::{BTreeMap, BTreeSet};

use dastac_loops::passes::Context;
use dastac_loops::rename::Uses;
use dastac_loops::{
    BufferId, Call, Function, FunctionId, Index, Mark, Mode, Module, ParallelLevel, Private,
    RegisterStmt, Space, Stmt, Value, VarId,
};

pub(super) fn run(module: &mut Module, context: &Context<'_>) {
    for at in 0..module.functions.len() {
        let taken = Function::new("", Vec::new());
        let mut function = std::mem::replace(&mut module.functions[at], taken);
        let mut body = std::mem::take(&mut function.body);
        outline(&mut body, &function, module);
        function.body = body;
        module.functions[at] = function;
    }
    place(module, context.machine.stack);
}

fn outline(body: &mut [Stmt], caller: &Function, module: &mut Module) {
    for stmt in body {
        match stmt {
            Stmt::For(inner) if inner.mark == Mark::Parallel(ParallelLevel::Blocks) => {
                *stmt = kernel(stmt.clone(), caller, module);
            }
            stmt => stmt.bodies_mut().into_iter().for_each(|body| outline(body, caller, module)),
        }
    }
}

/// Adds a function of a statement to the module, and gives its call.
fn kernel(stmt: Stmt, caller: &Function, module: &mut Module) -> Stmt {
    let body = [stmt];
    let uses = Uses::of(&body, &module.functions);
    let mut numbers: BTreeMap<VarId, VarId> = BTreeMap::new();
    let mut vars = Vec::new();
    for var in uses.vars.iter().copied().chain(bound(&body)) {
        numbers.entry(var).or_insert_with(|| {
            vars.push(caller.vars.get(var.0 as usize).cloned().unwrap_or_default());
            VarId(vars.len() as u32 - 1)
        });
    }
    let renamed = |var: VarId| numbers.get(&var).copied().unwrap_or(var);
    let private = Private {
        symbols: uses.symbols.iter().copied().collect(),
        integers: uses.vars.iter().map(|var| renamed(*var)).collect(),
        inline: false,
    };
    let written = written(&body);
    let mode = |buffer: &BufferId| match written.contains(buffer) {
        true => Mode::InOut,
        false => Mode::In,
    };
    let args = uses.buffers.iter().map(|buffer| (*buffer, mode(buffer))).collect();
    let mut function = Function::new("", args);
    function.private = Some(private);
    function.vars = vars;
    function.body = body.iter().map(|stmt| stmt.rename(&renamed)).collect();
    // The host may choose the same kernel in several places.
    let same = module.functions.iter().position(|known| {
        function.name = known.name.clone();
        function == *known
    });
    let at = same.unwrap_or_else(|| {
        let names = (1..).map(|number| format!("{}__kernel{number}", caller.name));
        let name = names.into_iter().find(|name| module.find_function(name).is_none());
        function.name = name.unwrap_or_default();
        module.functions.push(function);
        module.functions.len() - 1
    });
    Stmt::Call(Call {
        function: FunctionId(at as u32),
        integers: uses.vars.into_iter().map(Index::Var).collect(),
        buffers: uses.buffers.into_iter().collect(),
    })
}

/// All variables that statements bind, those of sums too.
fn bound(body: &[Stmt]) -> Vec<VarId> {
    let mut vars = Vec::new();
    for stmt in body {
        stmt.visit(&mut |stmt| vars.extend(stmt.binds()));
        stmt.visit_values(&mut |value: &Value| vars.extend(value.binds()));
    }
    vars
}

/// Buffers that are written to.
fn written(body: &[Stmt]) -> BTreeSet<BufferId> {
    let mut found = BTreeSet::new();
    for stmt in body {
        stmt.visit(&mut |stmt| match stmt {
            Stmt::Store(store) => drop(found.insert(store.buffer)),
            Stmt::Scan(inner) => drop(found.insert(inner.buffer)),
            Stmt::Register(RegisterStmt::Fetch(fetch)) => drop(found.insert(fetch.buffer)),
            _ => {}
        });
    }
    found
}

/// Puts buffers on the stack of which all workspaces are small ones of lanes.
fn place(module: &mut Module, most: i64) {
    let (mut small, mut large) = (BTreeSet::new(), BTreeSet::new());
    for function in &module.functions {
        for stmt in &function.body {
            stmt.visit(&mut |stmt| {
                let Stmt::Workspace(inner) = stmt else { return };
                let bytes = module.buffers[inner.buffer.0 as usize].element.bytes() as i64;
                let size = inner.size.as_const().filter(|size| *size <= most / bytes);
                let fits = function.private.is_some() && inner.instead.is_none() && size.is_some();
                if fits {
                    small.insert(inner.buffer)
                } else {
                    large.insert(inner.buffer)
                };
            });
        }
    }
    for id in small.difference(&large) {
        let buffer = &mut module.buffers[id.0 as usize];
        if buffer.space == Space::Main {
            buffer.space = Space::Stack;
        }
    }
}
