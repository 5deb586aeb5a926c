//! Adds up what grows with a loop as it grows: cumulative sums, minima, maxima and products.
//!
//! Before -> after:
//!
//! ```text
//! parallel i = 0 to N { C[i] = sum(j = 0 to i + 1) A[j] }
//!
//! with C.so_far of 1 zero { for i = 0 to N { C.so_far[0] += A[i] C[i] = C.so_far[0] } }
//! ```
//!
//! The range of the sum grows by one term with each iteration, at its end or, where iterations then run from the last
//! one to the first, at its beginning, and no term depends on the loop. With a loop between the two there is a sum for
//! each of its iterations:
//!
//! ```text
//! parallel i = 0 to N { parallel j = 0 to M { C[M * i + j] = sum(k = 0 to i + 1) A[M * k + j] } }
//!
//! with C.so_far of M zero { for i = 0 to N {
//!   parallel j = 0 to M { C.so_far[j] += A[M * i + j] }
//!   parallel j = 0 to M { C[M * i + j] = C.so_far[j] }
//! } }
//! ```
//!
//! Sums within the terms may grow with the loop inside, as those of an integral image do, and become the same.
//! Iterations run one after the other, with one addition in place of as many as there are before. On machines with
//! other processors than threads the sums stay: one lane alone would add.

use crate::ir::*;
use crate::passes::Context;

pub(super) fn run(module: &mut Module, context: &Context<'_>) {
    if !context.has_threads_only() {
        return;
    }
    let mut functions = std::mem::take(&mut module.functions);
    for function in &mut functions {
        block(&mut function.body, module);
    }
    module.functions = functions;
}

fn block(body: &mut Vec<Stmt>, module: &mut Module) {
    for stmt in body {
        if let Stmt::For(outer) = stmt
            && let Some(other) = accumulated(outer, module)
        {
            *stmt = other;
        }
        stmt.bodies_mut().into_iter().for_each(|inner| block(inner, module));
    }
}

/// At which end of its range a sum grows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// At its end, with the loop.
    End,
    /// At its beginning, against the loop.
    Begin,
}

/// A sum that grows by one term with each iteration of a loop.
struct Growing {
    sum: Sum,
    /// The value of its variable in the new term.
    next: Index,
    /// Whether the range may not be that far yet.
    guard: Option<Condition>,
    /// What it is before the first iteration, if that is not what a sum of nothing is.
    before: Option<Sum>,
}

/// What a loop is equal to, if sums in what it stores grow with it.
fn accumulated(outer: &For, module: &mut Module) -> Option<Stmt> {
    let ([low], [high]) = (&outer.lower[..], &outer.upper[..]) else { return None };
    let inner = match &outer.body[..] {
        [Stmt::For(inner)] => Some(inner),
        _ => None,
    };
    let stores = inner.map_or(&outer.body, |inner| &inner.body);
    let width = match inner {
        None => Index::Const(1),
        Some(inner) => match (&inner.lower[..], &inner.upper[..], inner.step) {
            ([Index::Const(0)], [width], 1) if !width.mentions(outer.var) => width.clone(),
            _ => return None,
        },
    };
    let all = stores.iter().map(|stmt| match stmt {
        Stmt::Store(store) => Some(store),
        _ => None,
    });
    let all = all.collect::<Option<Vec<&Store>>>()?;
    if outer.step != 1 {
        return None;
    }
    let at = inner.map_or(Index::Const(0), |inner| Index::var(inner.var));
    let targets: Vec<BufferId> = all.iter().map(|store| store.buffer).collect();
    let (mut side, mut found, mut stored) = (None, Vec::new(), Vec::new());
    for store in all {
        let own = module.buffers.get(store.buffer.0 as usize)?;
        let (name, element) = (format!("{}.so_far", own.name), own.element.computed());
        let value = replaced(&store.value, &mut |sum| {
            if targets.iter().any(|target| sum.body.loads(*target)) {
                return None;
            }
            let (own, growing) = growing(sum, outer.var, (low, high))?;
            if *side.get_or_insert(own) != own {
                return None;
            }
            let buffer = module.fresh_buffer(name.clone(), element, width.clone());
            found.push((buffer, element, growing));
            Some(Value::load(buffer, at.clone()))
        });
        stored.push(Stmt::Store(Store { value, ..store.clone() }));
    }
    let around = |body: Vec<Stmt>| match inner {
        None => body,
        Some(inner) => {
            let (lower, upper) = (inner.lower.clone(), inner.upper.clone());
            vec![Stmt::For(For { lower, upper, body, ..*inner })]
        }
    };
    let side = side?;
    let (mut body, mut first) = (Vec::new(), Vec::new());
    for (buffer, element, growing) in &found {
        let Growing { sum, next, guard, before } = growing;
        let mode = sum.kind.mode();
        let value = sum.body.substitute(sum.var, next);
        let add =
            Stmt::Store(Store { buffer: *buffer, index: at.clone(), value, mode, stream: None });
        body.extend(around(match guard {
            Some(guard) => vec![Stmt::when(guard.clone(), vec![add])],
            None => vec![add],
        }));
        let neutral = sum.kind.neutral_in(*element);
        let set = |value| around(vec![Stmt::set(*buffer, at.clone(), value)]);
        match before {
            // Without iterations there is nothing that it may be read of.
            Some(before) => {
                let value = Value::Sum(Box::new(before.clone()));
                first.push(Stmt::when(low.clone().less(high.clone()), set(value)));
            }
            None if neutral == 0.0 => {}
            None => first.extend(set(Value::Const(neutral))),
        }
    }
    body.extend(around(stored));
    let var = outer.var;
    if side == Side::Begin {
        // From the last iteration to the first.
        let back = low.clone() + high.clone() - 1 - Index::var(var);
        body = body.iter().map(|stmt| stmt.substitute(var, &back)).collect();
    }
    let (lower, upper) = (outer.lower.clone(), outer.upper.clone());
    let grown = Stmt::For(For { lower, upper, body, mark: Mark::Sequential, ..*outer });
    first.push(grown);
    let workspaces = found.iter().rev().fold(first, |body, (buffer, ..)| {
        let size = width.clone();
        vec![Stmt::Workspace(Workspace { buffer: *buffer, size, zero: true, instead: None, body })]
    });
    workspaces.into_iter().next()
}

/// A value with others in place of sums that are not within sums.
fn replaced(value: &Value, by: &mut dyn FnMut(&Sum) -> Option<Value>) -> Value {
    match value {
        Value::Sum(sum) => by(sum).unwrap_or_else(|| value.clone()),
        _ => value.map_parts(&mut |part| replaced(part, by)),
    }
}

/// How a sum grows with a loop from `low` to `high`.
fn growing(sum: &Sum, var: VarId, (low, high): (&Index, &Index)) -> Option<(Side, Growing)> {
    let ([lower], [upper]) = (&sum.lower[..], &sum.upper[..]) else { return None };
    let (lower, upper) = (lower.clone(), upper.clone());
    if sum.step != 1 || sum.condition.is_some() || sum.body.mentions(var) {
        return None;
    }
    // What it fetches for terms to come may depend on the loop.
    let sum = Sum { fetch: Vec::new(), ..sum.clone() };
    let grows = |bound: &Index| {
        let by_one = bound.stride(var).and_then(|stride| stride.as_const()) == Some(1);
        by_one.then(|| bound.substitute(var, &Index::Const(0)))
    };
    let range = |lower: Index, upper: Index| {
        let known = upper.constant_difference(&lower);
        let before = Sum { lower: vec![lower], upper: vec![upper], ..sum.clone() };
        known.is_none_or(|known| known > 0).then_some(before)
    };
    let is_there = |less: &Index, more: &Index| {
        more.constant_difference(less).is_some_and(|difference| difference > 0)
    };
    let own = Index::var(var);
    if !lower.mentions(var) {
        let end = grows(&upper)?;
        let next = own + end.clone() - 1;
        let first = low.clone() + end - 1;
        let guard =
            (!is_there(&lower, &(first.clone() + 1))).then(|| lower.clone().at_most(next.clone()));
        let before = range(lower.clone(), first);
        return Some((Side::End, Growing { sum, next, guard, before }));
    }
    if upper.mentions(var) {
        return None;
    }
    let begin = grows(&lower)?;
    let next = own + begin.clone();
    let last = high.clone() + begin;
    let guard = (!is_there(&(last.clone() - 1), &upper)).then(|| next.clone().less(upper.clone()));
    let before = range(last, upper.clone());
    Some((Side::Begin, Growing { sum, next, guard, before }))
}

#[cfg(test)]
mod tests {
    use crate::interp::Data;
    use crate::machine::{Machine, Processors};
    use crate::passes::tests::{body_of, compare};
    use crate::passes::{Context, find};
    use crate::{ParallelLevel, parse, verify};

    /// What the pass makes of statements, which agrees with them at several sizes.
    fn accumulated(body: &str) -> String {
        let before = parse(&format!(
            "module(N, M)
            buffer A : f64[N]
            buffer B : f64[N * M]
            buffer C : f64[N]
            buffer D : f64[N * M]
            func f(in A, in B, inout C, inout D) {{ {body} }}"
        ))
        .unwrap();
        let mut after = before.clone();
        (find("accumulate").unwrap().run)(&mut after, &Context::of(&Machine::PLAIN));
        assert_eq!(verify(&after), Ok(()), "{after}");
        let floats = |count: i64, by: i64| {
            Data::Float((0..count).map(|x| ((x * by + 1) % 7 - 3) as f64).collect())
        };
        for [n, m] in [[0, 0], [1, 1], [2, 5], [7, 3], [5, 0]] {
            let data = [floats(n, 2), floats(n * m, 3), floats(n, 1), floats(n * m, 5)];
            compare(&before, &after, &[n, m], &data).unwrap();
        }
        body_of(&after)
    }

    #[test]
    fn sums_grow_with_loops() {
        expect_test::expect![[r#"
            with C.so_far of 1 zero {
              for i = 0 to N {
                C.so_far[0] += A[i] / 2.0
                C[i] = C.so_far[0]
              }
            }
        "#]]
        .assert_eq(&accumulated("parallel i = 0 to N { C[i] = sum(j = 0 to i + 1) A[j] / 2.0 }"));
    }

    #[test]
    fn minima_before_and_sums_behind() {
        expect_test::expect![[r#"
            with C.so_far of 1 zero {
              C.so_far[0] = inf
              for i = 0 to N {
                if 0 <= i - 1 {
                  C.so_far[0] min= A[i - 1]
                }
                C[i] += C.so_far[0]
              }
            }
            with C.so_far_ of 1 zero {
              for i = 0 to N {
                C.so_far_[0] += A[N - 1 - i]
                C[N - 1 - i] = C.so_far_[0] / 4.0
              }
            }
            with C.so_far_2 of 1 zero {
              C.so_far_2[0] = 1.0
              for i = 0 to N {
                if 2 <= i {
                  C.so_far_2[0] *= A[i]
                }
                C[i] = C.so_far_2[0]
              }
            }
        "#]]
        .assert_eq(&accumulated(
            "parallel i = 0 to N { C[i] += min(j = 0 to i) A[j] }
            for i = 0 to N { C[i] = (sum(j = i to N) A[j]) / 4.0 }
            for i = 0 to N { C[i] = product(j = 2 to i + 1) A[j] }",
        ));
    }

    #[test]
    fn rows_and_pictures() {
        expect_test::expect![[r#"
            with D.so_far of M zero {
              for i = 0 to N {
                with D.so_far.so_far of 1 zero {
                  for j = 0 to M {
                    D.so_far.so_far[0] += B[M * i + j]
                    D.so_far[j] += D.so_far.so_far[0]
                  }
                }
                parallel j = 0 to M {
                  D[M * i + j] = D.so_far[j]
                }
              }
            }
        "#]]
        .assert_eq(&accumulated(
            "parallel i = 0 to N { parallel j = 0 to M {
                D[M * i + j] = sum(p = 0 to i + 1) sum(q = 0 to j + 1) B[M * p + q]
            } }",
        ));
    }

    #[test]
    fn what_does_not_grow_stays() {
        for body in [
            "parallel i = 0 to N { C[i] = sum(j = 0 to i + 1) A[j] * A[i] }",
            "parallel i = 0 to N { C[i] = sum(j = 0 to i + i) A[j] }",
            "for i = 0 to N { C[i] = sum(j = 0 to i + 1) C[j] }",
            "parallel i = 0 to N { C[i] = sum(j = max(0, i - 1) to i + 1) A[j] }",
            "parallel i = 0 to N { C[i] = sum(j = 0 to i + 1 if j != 2) A[j] }",
        ] {
            let module = parse(&format!(
                "module(N)\nbuffer A : f64[N]\nbuffer C : f64[N]\nfunc f(in A, inout C) {{ {body} }}"
            ))
            .unwrap();
            let mut after = module.clone();
            (find("accumulate").unwrap().run)(&mut after, &Context::of(&Machine::PLAIN));
            assert_eq!(after, module, "{after}");
        }
    }

    #[test]
    fn lanes_and_blocks_add_by_themselves() {
        let module = parse(
            "module(N)\nbuffer A : f64[N]\nbuffer C : f64[N]\nfunc f(in A, inout C) {
            parallel i = 0 to N { C[i] = sum(j = 0 to i + 1) A[j] } }",
        )
        .unwrap();
        let levels = vec![Processors { level: ParallelLevel::Blocks, count: None }];
        let machine = Machine { levels, ..Machine::PLAIN };
        let mut after = module.clone();
        (find("accumulate").unwrap().run)(&mut after, &Context::of(&machine));
        assert_eq!(after, module);
    }
}
