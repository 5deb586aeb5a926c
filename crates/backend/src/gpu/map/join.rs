//! Stores to the same elements, one after the other, as one.
//!
//! Before -> after: `parallel i = 0 to N { y[i] = 0.0 } parallel i = 0 to N { y[i] += 2.0 * x[i] }` ->
//! `parallel i = 0 to N { y[i] = 2.0 * x[i] }`: each loop would read and write all of `y` in the memory of the device.
//!
//! Only where both have the same ranges, at most one has a sum (lanes share one), and neither loads what is stored.

use dastac_loops::{For, Index, Stmt, Store, StoreMode, Value};

/// The statements with such stores joined.
pub(super) fn joined(stmts: &[Stmt]) -> Vec<Stmt> {
    let mut all: Vec<Stmt> = Vec::new();
    for stmt in stmts {
        let one = all.last().and_then(|last| both(last, stmt));
        match one {
            Some(one) => *all.last_mut().expect("there is a last one") = one,
            None => all.push(stmt.clone()),
        }
    }
    all
}

/// Two nests, or the stores in them, as one.
fn both(first: &Stmt, second: &Stmt) -> Option<Stmt> {
    match (first, second) {
        (Stmt::For(one), Stmt::For(other)) => {
            let ([inner], [other_inner]) = (&one.body[..], &other.body[..]) else { return None };
            let (step, mark) = (one.step == other.step, one.mark == other.mark);
            let same = one.lower == other.lower && one.upper == other.upper;
            if !(same && step && mark && one.mark.is_parallel()) {
                return None;
            }
            let other_inner = other_inner.substitute(other.var, &Index::Var(one.var));
            let body = vec![both(inner, &other_inner)?];
            Some(Stmt::For(For { body, ..one.clone() }))
        }
        (Stmt::Store(one), Stmt::Store(other)) => store(one, other).map(Stmt::Store),
        _ => None,
    }
}

fn store(one: &Store, other: &Store) -> Option<Store> {
    let same = one.buffer == other.buffer && one.index == other.index;
    let added = matches!(one.mode, StoreMode::Set | StoreMode::Add) && other.mode == StoreMode::Add;
    let (mut sums, mut loads) = (0, false);
    for value in [&one.value, &other.value] {
        value.visit(&mut |value| match value {
            Value::Sum(_) => sums += 1,
            Value::Load(buffer, _) => loads |= *buffer == one.buffer,
            _ => {}
        });
    }
    if !same || !added || loads || sums > 1 {
        return None;
    }
    let value = match &one.value {
        Value::Const(0.0) => other.value.clone(),
        value => value.clone() + other.value.clone(),
    };
    Some(Store { value, ..one.clone() })
}
