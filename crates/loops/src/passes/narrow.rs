//! Turns conditions into loop bounds, or moves them out of loops.
//!
//! - `for i = 0 to N { if i < M { S } }` -> `for i = 0 to min(N, M) { S }`
//! - `for i = 0 to N { if M > 2 { S } }` -> `if M > 2 { for i = 0 to N { S } }`
//! - `sum(l = 0 to N if l <= i) v` -> `sum(l = 0 to min(N, i + 1)) v`

use crate::ir::*;
use crate::range::{narrow, settled};

pub(super) fn run(function: &mut Function, _: &[Buffer]) {
    block(&mut function.body);
}

fn block(body: &mut [Stmt]) {
    for stmt in body {
        stmt.bodies_mut().into_iter().for_each(|body| block(body));
        match stmt {
            Stmt::For(inner) => {
                if let Some(moved) = conditional_body(inner) {
                    *stmt = moved;
                }
            }
            Stmt::Store(store) => value(&mut store.value),
            _ => {}
        }
    }
}

fn conditional_body(inner: &mut For) -> Option<Stmt> {
    let [Stmt::If(only)] = &mut inner.body[..] else { return None };
    if !only.otherwise.is_empty() {
        return None;
    }
    let (range, bounds) = ((inner.var, inner.step), (&inner.lower[..], &inner.upper[..]));
    let narrowed = narrow(range, bounds, settled(only.condition.clone(), inner.var));
    let mut body = std::mem::take(&mut only.then);
    if !narrowed.rest.is_empty() {
        body = vec![Stmt::when(Condition::all(narrowed.rest), body)];
    }
    let (lower, upper) = (narrowed.lower, narrowed.upper);
    let stmt = Stmt::For(For { lower, upper, body, ..*inner });
    Some(match narrowed.invariant.is_empty() {
        true => stmt,
        false => Stmt::when(Condition::all(narrowed.invariant), vec![stmt]),
    })
}

fn value(value_: &mut Value) {
    match value_ {
        Value::Const(_) | Value::Load(..) | Value::FromIndex(_) => {}
        Value::Add(left, right)
        | Value::Mul(left, right)
        | Value::Div(left, right)
        | Value::Min(left, right)
        | Value::Max(left, right)
        | Value::Compare(_, left, right) => {
            value(left);
            value(right);
        }
        Value::Truth(inside) | Value::Cast(_, inside) => value(inside),
        Value::Apply(_, of) => of.iter_mut().for_each(value),
        Value::Select(parts) => parts.iter_mut().for_each(value),
        Value::Sum(sum) => {
            value(&mut sum.body);
            if let Some(condition) = sum.condition.take() {
                // All but bounds stays in its place, so that what reads memory may do so there.
                let bounds = (&sum.lower[..], &sum.upper[..]);
                let all = condition.clone().conjuncts();
                let narrowed = narrow((sum.var, sum.step), bounds, condition);
                let stays = |part: &Condition| {
                    narrowed.invariant.contains(part) || narrowed.rest.contains(part)
                };
                let rest = all.into_iter().filter(stays).collect::<Vec<_>>();
                sum.condition = (!rest.is_empty()).then(|| Condition::all(rest));
                (sum.lower, sum.upper) = (narrowed.lower, narrowed.upper);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interp::Data;
    use crate::machine::Machine;
    use crate::passes::tests::{check, compare};
    use crate::passes::{Context, find};
    use crate::{parse, verify};

    #[test]
    fn conditions_move() {
        expect_test::expect![[r#"
            if M > 2 {
              for i = 0 to min(N, M) {
                if i % 2 == 0 {
                  C[i] += 1.0
                }
              }
            }
            for i = 0 to min(N, (M - 1) / 2 + 1) step 2 {
              if 1 <= i {
                C[i] += 2.0
              }
            }
            if M > 1 {
              for i = 0 to N {
                for j = max(0, (i + 1) / 2) to min(N, i) {
                  A[i * N + j] = 3.0
                }
              }
            }
            for i = 0 to N {
              if i == M {
                C[i] = 4.0
              }
              if i == N {
                C[0] = 1.0
              }
            }
            for i = 0 to N {
              if i < 2 {
                C[i] += 1.0
              } else {
                C[i] += 2.0
              }
            }
            for i = 0 to N {
              C[i] = sum(l = 0 to min(N, i + 1) if M < 9 and (l < 1 or l > 2)) C[l]
            }
            if 0 < M {
              for i = 0 to N {
                C[i] += 5.0
              }
            }
        "#]].assert_eq(&check(
            &["narrow"],
            "for i = 0 to N { if i < M and M > 2 and i % 2 == 0 { C[i] += 1.0 } }
             for i = 0 to N step 2 { if 1 <= i and 2 * i < M { C[i] += 2.0 } }
             for i = 0 to N { for j = 0 to N { if M > 1 and 2 * j >= i and j + 1 <= i { A[i * N + j] = 3.0 } } }
             for i = 0 to N { if i == M { C[i] = 4.0 } if i == N { C[0] = 1.0 } }
             for i = 0 to N { if i < 2 { C[i] += 1.0 } else { C[i] += 2.0 } }
             for i = 0 to N { C[i] = sum(l = 0 to N if l <= i and M < 9 and (l < 1 or l > 2)) C[l] }
             for i = 0 to N { if 1 - i < M - i + 1 { C[i] += 5.0 } }",
        ));
    }

    #[test]
    fn what_is_read_may_be_there_in_the_loop_only() {
        let text = "module(N, M)\nbuffer C : f64[N]\nbuffer p : u32[2]\nfunc f(inout C, in p) {
            for i = 0 to N { if N < 3 and p[N - 1] == 5 { C[i] += 1.0 } }
            for i = 0 to N { if i < M and p[0] == 5 { C[i] += 2.0 } }
            for i = 0 to N { if i % 2 == 1 and p[0] == 5 { C[i] += 3.0 } }
            for i = 0 to N { if i < p[0] { C[i] += 4.0 } }
            for i = 0 to N { C[i] += sum(l = 0 to N if l <= i and p[0] == 5) C[l] }
        }";
        let before = parse(text).unwrap();
        let mut after = before.clone();
        (find("narrow").unwrap().run)(&mut after, &Context::of(&Machine::PLAIN));
        verify(&after).unwrap();
        for (n, m) in [(0, 0), (1, 3), (2, 1), (5, 2)] {
            let numbers = (0..n).map(|k| k as f64 - 1.0).collect();
            let data = [Data::Float(numbers), Data::Int(vec![5, 6])];
            compare(&before, &after, &[n, m], &data).unwrap();
        }
        expect_test::expect![[r#"
            module(N, M)
            buffer C : f64[N]
            buffer p : u32[2]
            func f(inout C, in p) {
              if 0 < N and N < 3 and p[N - 1] == 5 {
                for i = 0 to N {
                  C[i] += 1.0
                }
              }
              if 0 < N and 0 < M and p[0] == 5 {
                for i = 0 to min(N, M) {
                  C[i] += 2.0
                }
              }
              for i = 0 to N {
                if i % 2 == 1 and p[0] == 5 {
                  C[i] += 3.0
                }
              }
              for i = 0 to N {
                if i < p[0] {
                  C[i] += 4.0
                }
              }
              for i = 0 to N {
                C[i] += sum(l = 0 to min(N, i + 1) if p[0] == 5) C[l]
              }
            }
        "#]]
        .assert_eq(&after.to_string());
    }
}
