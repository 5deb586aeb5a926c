//! What runs on which thread: passes that make private functions, calls and teams of threads.
//!
//! They run after all that decides about loops by their shape, in this order:
//! 1. [`shapes`]: nests that differ in constants and buffers only become calls of one function,
//! 2. [`partial`]: sums in parts become a workspace, a parallel loop and calls,
//! 3. [`choose`]: of parallel loops and partitioned ranges the outermost stay, all others run in order,
//! 4. [`outline`]: what a thread executes becomes a function, in which buffers are known not to overlap,
//! 5. [`spare`]: ranges with little work are executed in one part,
//! 6. [`partition`]: ranges become teams of threads, each of which looks for its part,
//! 7. [`place`]: small workspaces go to the stack.

pub(super) mod choose;
pub(super) mod outline;
pub(super) mod partial;
pub(super) mod partition;
pub(super) mod place;
mod shape;
pub(super) mod shapes;
pub(super) mod spare;
#[cfg(test)]
mod tests;

use crate::ir::*;

/// Calls `rewrite` with each function that there is now, which may add private functions to the module.
fn each_function(module: &mut Module, rewrite: impl Fn(&mut Module, &mut Function)) {
    for at in 0..module.functions.len() {
        let taken = Function::new("", Vec::new());
        let mut function = std::mem::replace(&mut module.functions[at], taken);
        rewrite(module, &mut function);
        module.functions[at] = function;
    }
}

/// Replaces statements, the innermost first, by what `rewrite` makes of them.
fn rewrite_all(body: &mut [Stmt], rewrite: &mut dyn FnMut(&mut Stmt)) {
    for stmt in body {
        stmt.bodies_mut().into_iter().for_each(|body| rewrite_all(body, rewrite));
        rewrite(stmt);
    }
}

/// A name for a private function that no function has.
fn fresh_name(module: &Module, caller: &str, what: &str) -> String {
    let taken = |name: &String| module.functions.iter().any(|known| known.name == *name);
    let names = (module.functions.len()..).map(|number| format!("{caller}__{what}{number}"));
    names.into_iter().find(|name| !taken(name)).unwrap_or_default()
}
