//! Statement fusion: statements that store the same elements become one.
//!
//! Before -> after, of a symmetric matrix with a band stored on one side:
//! ```text
//! parallel i = 0 to N { C[i] = 0.0 }
//! parallel i = 0 to N { C[i] += sum(j = i to i + 4) v }
//! parallel i = 1 to N { C[i] += sum(j = max(0, i - 4) to i) w }
//! ```
//! becomes `parallel i = 0 to N { C[i] = sum(j = i to i + 4) v + sum(j = max(0, i - 4) to i) w }`: elements are written
//! once. The second sum is empty for `i = 0`, where it was not before.
//!
//! Statements are fused only if all of them can have the same in the lanes of vectors. A sum that can be cut into
//! blocks is not fused.

use super::few::MANY;
use super::fusion_gain::alike;
use super::guarded::Guarded;
use super::nest::{Level, Nest};
use crate::hints::Hints;
use crate::ir::*;
use crate::linear::Facts;
use crate::passes::Context;
use crate::polynomial::Polynomial;

/// The pass.
pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    for Function { body, hints, .. } in &mut module.functions {
        merge(body, hints, &module.buffers);
    }
}

/// Merges the statements of a block.
fn merge(body: &mut Vec<Stmt>, hints: &Hints, buffers: &[Buffer]) {
    if body.len() > MANY {
        return;
    }
    let mut result: Vec<Stmt> = Vec::new();
    for mut stmt in std::mem::take(body) {
        if let Stmt::If(inner) = &mut stmt {
            merge(&mut inner.then, hints, buffers);
            merge(&mut inner.otherwise, hints, buffers);
        }
        match Guarded::of(&stmt) {
            Some(later) if may_merge(&later, hints, buffers) => {
                if !into_one_of(&mut result, &later) {
                    result.push(stmt);
                }
            }
            _ => result.push(stmt),
        }
    }
    *body = result;
}

fn may_merge(later: &Guarded, hints: &Hints, buffers: &[Buffer]) -> bool {
    let store = &later.nest.store;
    let buffer = buffers.get(store.buffer.0 as usize);
    store.mode == StoreMode::Add
        && buffer.is_some_and(|buffer| buffer.element != Element::I64)
        && !later.nest.is_scheduled(hints)
}

/// Fuses a statement with the last one before it with which that is possible.
fn into_one_of(statements: &mut [Stmt], later: &Guarded) -> bool {
    for stmt in statements.iter_mut().rev() {
        let Some(earlier) = Guarded::of(stmt) else { return false };
        let store = &earlier.nest.store;
        if store.buffer != later.nest.store.buffer {
            return false;
        }
        let mode = store.mode;
        if let Some(nest) = joined(&earlier, later) {
            let body = Nest::wrapped(&nest.levels, vec![Stmt::Store(nest.store)]);
            let guarded = Stmt::when(Condition::all(earlier.guards), body);
            let Stmt::If(If { condition, then, .. }) = &guarded else { return false };
            *stmt = match (condition.as_bool(), &then[..]) {
                (Some(true), [only]) => only.clone(),
                _ => guarded,
            };
            return true;
        }
        // Additions to the same elements may change places.
        if mode == StoreMode::Set {
            return false;
        }
    }
    false
}

/// The nest that two nests become, if they can be fused.
fn joined(earlier: &Guarded, later: &Guarded) -> Option<Nest> {
    let (first, second) = (&earlier.nest, &later.nest);
    if first.levels.len() != second.levels.len() {
        return None;
    }
    let pairs = || second.levels.iter().zip(&first.levels).map(|(from, to)| (from.var, to.var));
    let renamed = |index: &Index| {
        index.rebuild(&|leaf| match leaf {
            Index::Var(var) => {
                let to = pairs().find(|(from, _)| from == var);
                Index::Var(to.map_or(*var, |(_, to)| to))
            }
            leaf => leaf.clone(),
        })
    };
    if !same(&renamed(&second.store.index), &first.store.index) {
        return None;
    }
    let value = second.store.value.rebuild(&|leaf| renamed(leaf));
    let levels = second.levels.iter().zip(&first.levels).map(|(level, to)| Level {
        var: to.var,
        lower: level.lower.iter().map(renamed).collect(),
        upper: level.upper.iter().map(renamed).collect(),
    });
    let levels: Vec<Level> = levels.collect();
    let inside = |facts: &Facts, conditions: &[Condition], value: Option<&Value>| {
        conditions.iter().all(|condition| {
            let mut beyond = facts.clone();
            beyond.assume(&condition.clone().negate());
            facts.imply(condition)
                || value.is_some_and(|value| {
                    matches!(condition, Condition::Compare(..)) && is_zero(value, &beyond)
                })
        })
    };
    // All elements of the later one are elements of the earlier one, and where it is the other way around, it adds
    // nothing.
    let (outer, inner) = (domain(&earlier.guards, &first.levels), domain(&later.guards, &levels));
    if !inside(&known(&inner), &outer, None) || !inside(&known(&outer), &inner, Some(&value)) {
        return None;
    }
    let second = Store { value, index: first.store.index.clone(), ..second.store.clone() };
    if !alike(&first.store, &second, &first.levels) {
        return None;
    }
    let value = first.store.value.clone() + second.value;
    let store = Store { value, ..first.store.clone() };
    Some(Nest { store, ..first.clone() })
}

fn same(left: &Index, right: &Index) -> bool {
    let polynomials = || Polynomial::of(left).zip(Polynomial::of(right));
    left == right || polynomials().is_some_and(|(left, right)| left == right)
}

/// The conditions that define the elements of a nest.
fn domain(guards: &[Condition], levels: &[Level]) -> Vec<Condition> {
    let mut conditions = guards.to_vec();
    levels.iter().for_each(|level| level.conditions(&mut conditions));
    conditions
}

fn known(conditions: &[Condition]) -> Facts {
    let mut facts = Facts::default();
    conditions.iter().for_each(|condition| facts.assume(condition));
    facts
}

/// Whether a value has no terms.
fn is_zero(value: &Value, facts: &Facts) -> bool {
    match value {
        Value::Const(value) => *value == 0.0,
        Value::Add(left, right) => is_zero(left, facts) && is_zero(right, facts),
        Value::Sum(sum) => sum.lower.iter().any(|low| {
            sum.upper.iter().any(|high| facts.imply(&high.clone().at_most(low.clone())))
        }),
        // A factor may be infinite.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{HEAD, SMALL, compare};
    use super::*;
    use crate::passes::tile;
    use crate::{parse, verify};
    use proptest::prelude::*;

    /// What becomes of a function's body; it computes the same, in tiles too.
    fn check(body: &str) -> String {
        let before = parse(&format!("{HEAD}func f(inout A, in B, in C) {{ {body} }}")).unwrap();
        assert_eq!(verify(&before), Ok(()), "{before}");
        let mut after = before.clone();
        run(&mut after, &Context::of(&SMALL));
        assert_eq!(verify(&after), Ok(()), "{after}");
        let mut tiled = before.clone();
        tile(&mut tiled, &SMALL);
        for symbols in [[0, 0], [1, 1], [2, 5], [5, 2], [7, 9], [9, 0], [0, 9], [10, 3], [10, 10]] {
            compare(&before, &after, &symbols);
            compare(&before, &tiled, &symbols);
        }
        let text = after.to_string();
        let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
        body.lines().map(|line| format!("{}\n", &line[2..])).collect()
    }

    #[test]
    fn both_halves_of_a_band() {
        expect_test::expect![[r#"
            parallel i = 0 to N {
              parallel k = 0 to M {
                A[M * i + k] = sum(j = i to min(N, i + 3)) B[3 * i + j] * C[M * j + k] + sum(j = max(0, i - 2) to i) B[3 * j + i] * C[M * j + k]
              }
            }
        "#]].assert_eq(&check(
            "parallel i = 0 to N { parallel k = 0 to M { A[M * i + k] = 0.0 } }
             parallel i = 0 to N { parallel k = 0 to M { A[M * i + k] += sum(j = i to min(N, i + 3)) B[3 * i + j] * C[M * j + k] } }
             parallel i = 1 to N { parallel k = 0 to M { A[M * i + k] += sum(j = max(0, i - 2) to i) B[3 * j + i] * C[M * j + k] } }",
        ));
    }

    #[test]
    fn rows_and_columns() {
        // One half has terms in lanes, the other elements.
        expect_test::expect![[r#"
            parallel i = 0 to N {
              A[i] = sum(j = i to N) B[10 * i + j] * C[j]
            }
            parallel i = 1 to N {
              A[i] += sum(j = 0 to i) B[10 * j + i] * C[j]
            }
        "#]]
        .assert_eq(&check(
            "parallel i = 0 to N { A[i] = 0.0 }
             parallel i = 0 to N { A[i] += sum(j = i to N) B[10 * i + j] * C[j] }
             parallel i = 1 to N { A[i] += sum(j = 0 to i) B[10 * j + i] * C[j] }",
        ));
    }

    #[test]
    fn what_stays() {
        expect_test::expect![[r#"
            parallel i = 0 to N {
              A[i] = 0.0
            }
            parallel i = 1 to N {
              A[i] += C[i]
            }
            if M > 2 {
              parallel i = 1 to N {
                A[i] += B[i]
              }
            }
        "#]]
        .assert_eq(&check(
            "parallel i = 0 to N { A[i] = 0.0 }
             parallel i = 1 to N { A[i] += C[i] }
             if M > 2 { parallel i = 1 to N { A[i] += B[i] } }",
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

        #[test]
        fn together_they_do_the_same(choices in prop::collection::vec(0usize..1000, 60)) {
            let mut choices = choices.into_iter().cycle();
            let mut choose = |n: usize| choices.next().unwrap_or(0) % n;
            let mut body = String::new();
            for at in 0..4 {
                let low = ["0", "0", "1", "M"][choose(4)];
                let high = ["N", "N", "min(N, M)", "min(10, N + 1)"][choose(4)];
                let guard = ["", "", "if N > 2 ", "if M > 0 "][choose(4)];
                let place = ["i", "i", "10 * i + 1"][choose(3)];
                let first = ["i", "0", "max(0, i - 3)", "1"][choose(4)];
                let last = ["N", "i", "min(N, i + 3)", "M"][choose(4)];
                let value = match choose(5) {
                    0 => "B[i] * C[i]".to_owned(),
                    1 => "0.0".to_owned(),
                    _ => format!(
                        "sum(j = {first} to {last}) B[{} * i + {} * j] * C[j]",
                        choose(10), choose(10)
                    ),
                };
                let mode = if at == 0 { ["=", "+="][choose(2)] } else { "+=" };
                let value = if at == 0 && choose(2) == 0 { "0.0".to_owned() } else { value };
                let nest = format!("parallel i = {low} to {high} {{ A[{place}] {mode} {value} }}");
                body.push_str(&match guard {
                    "" => nest,
                    guard => format!("{guard} {{ {nest} }} "),
                });
            }
            check(&body);
        }
    }
}
