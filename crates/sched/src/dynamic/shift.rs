//! Loops over the values of iterators, where a kernel's begin at 0: `k' = 0 to 3 - L` with `k' + L` in its body -> `k =
//! L to 3` with `k`.
//!
//! Without levels, no position depends on where a loop begins, and what is executed is read as the program names it.

use dastac_loops::{For, Function, Index, Stmt, Sum, Value, VarId};

/// Where the iterators begin, by name.
pub(super) type Lowers = Vec<(String, Index)>;

/// Has the loops of a function run over the values of iterators.
pub(super) fn back(function: &mut Function, lowers: &Lowers) {
    let lower = |var: VarId| {
        let name = function.vars.get(var.0 as usize)?;
        let found = lowers.iter().find(|(own, lower)| own == name && lower.as_const() != Some(0));
        found.map(|(_, lower)| lower.clone())
    };
    let vars = (0..function.vars.len()).filter_map(|at| u32::try_from(at).ok().map(VarId));
    let shifted: Vec<(VarId, Index)> =
        vars.filter_map(|var| lower(var).map(|lower| (var, lower))).collect();
    let mut body = std::mem::take(&mut function.body);
    for (var, lower) in &shifted {
        let value = Index::Var(*var) - lower.clone();
        body.iter_mut().for_each(|stmt| *stmt = stmt.substitute(*var, &value));
        body.iter_mut().for_each(|stmt| ranges(stmt, *var, lower));
    }
    function.body = body;
}

/// Has the loops and sums over a variable begin later.
fn ranges(stmt: &mut Stmt, var: VarId, by: &Index) {
    match stmt {
        Stmt::For(For { var: own, lower, upper, .. }) if *own == var => {
            lower.iter_mut().chain(upper).for_each(|bound| *bound = bound.clone() + by.clone());
        }
        Stmt::Store(store) => {
            store.value = sums(&store.value, var, by);
        }
        _ => {}
    }
    for body in stmt.bodies_mut() {
        body.iter_mut().for_each(|stmt| ranges(stmt, var, by));
    }
}

fn sums(value: &Value, var: VarId, by: &Index) -> Value {
    let mut value = value.map_parts(&mut |part| sums(part, var, by));
    if let Value::Sum(sum) = &mut value
        && sum.var == var
    {
        let Sum { lower, upper, .. } = &mut **sum;
        lower.iter_mut().chain(upper).for_each(|bound| *bound = bound.clone() + by.clone());
    }
    value
}
