//! What passes about threads do with functions and statements.

use crate::ir::*;

/// Calls `rewrite` with each function that there is now, which may add private functions to the module.
pub(super) fn each_function(module: &mut Module, rewrite: impl Fn(&mut Module, &mut Function)) {
    for at in 0..module.functions.len() {
        let taken = Function::new("", Vec::new());
        let mut function = std::mem::replace(&mut module.functions[at], taken);
        rewrite(module, &mut function);
        module.functions[at] = function;
    }
}

/// Replaces statements, the innermost first, by what `rewrite` makes of them.
pub(super) fn rewrite_all(body: &mut [Stmt], rewrite: &mut dyn FnMut(&mut Stmt)) {
    for stmt in body {
        stmt.bodies_mut().into_iter().for_each(|body| rewrite_all(body, rewrite));
        rewrite(stmt);
    }
}

/// A name for a private function that no function has.
pub(super) fn fresh_name(module: &Module, caller: &str, what: &str) -> String {
    let taken = |name: &String| module.functions.iter().any(|known| known.name == *name);
    let names = (module.functions.len()..).map(|number| format!("{caller}__{what}{number}"));
    names.into_iter().find(|name| !taken(name)).unwrap_or_default()
}
