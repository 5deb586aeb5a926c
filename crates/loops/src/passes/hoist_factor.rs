//! Moves factors and divisors that do not vary out of sums, from the inside out.
//!
//! - `sum(l = 0 to i + 1) a * b(l)` -> `a * (sum(l = 0 to i + 1) b(l))`
//! - `sum(l = 0 to i + 1) b(l) / a` -> `(sum(l = 0 to i + 1) b(l)) / a`
//!
//! A factor that reads an element, or divides, moves only out of a range that enclosing loops and conditions show
//! not to be empty: elsewhere the element might not exist.

use crate::ir::*;
use crate::linear::{Facts, Within, range_conditions};

pub(super) fn run(function: &mut Function, _: &[Buffer]) {
    Hoist { facts: Facts::default() }.block(&mut function.body);
}

struct Hoist {
    facts: Facts,
}

impl Within for Hoist {
    fn facts(&mut self) -> &mut Facts {
        &mut self.facts
    }

    fn block(&mut self, body: &mut [Stmt]) {
        for stmt in body {
            self.inside(stmt);
            if let Stmt::Store(store) = stmt {
                let value = std::mem::replace(&mut store.value, Value::Const(0.0));
                store.value = self.value(value);
            }
        }
    }
}

impl Hoist {
    fn value(&mut self, value: Value) -> Value {
        match value {
            Value::Sum(sum) => self.sum(*sum),
            _ => value.map_parts(&mut |part| self.value(part.clone())),
        }
    }

    fn sum(&mut self, mut sum: Sum) -> Value {
        let nonempty = sum.condition.is_none()
            && range_conditions(&sum.lower, &sum.upper)
                .iter()
                .all(|condition| self.facts.imply(condition));
        let len = self.facts.len();
        self.facts.assume_range(sum.var, &sum.lower, &sum.upper);
        sum.condition.iter().for_each(|condition| self.facts.assume(condition));
        let body = self.value(std::mem::replace(&mut sum.body, Value::Const(0.0)));
        self.facts.truncate(len);
        // The smallest product is not that of the smallest factor.
        if sum.kind != Reduction::Sum {
            return Value::Sum(Box::new(Sum { body, ..sum }));
        }

        let stays = |factor: &Value| factor.mentions(sum.var) || !nonempty && !is_total(factor);
        let (mut factors, mut divisors) = (Vec::new(), Vec::new());
        split(body, &mut factors, &mut divisors);
        let (inside, outside): (Vec<_>, Vec<_>) = factors.into_iter().partition(stays);
        // A divisor might be zero where there is nothing to divide.
        let (inside_divisors, outside_divisors): (Vec<_>, Vec<_>) =
            divisors.into_iter().partition(|divisor| !nonempty || divisor.mentions(sum.var));

        let divide = |left: Value, right: Value| left / right;
        sum.body = inside_divisors.into_iter().fold(Value::product(inside), divide);
        let hoisted = outside.into_iter().chain([Value::Sum(Box::new(sum))]);
        outside_divisors.into_iter().fold(Value::product(hoisted), divide)
    }
}

/// Splits a tree of products and quotients into factors and divisors, in order.
fn split(value: Value, factors: &mut Vec<Value>, divisors: &mut Vec<Value>) {
    match value {
        Value::Mul(left, right) => {
            split(*left, factors, divisors);
            split(*right, factors, divisors);
        }
        Value::Div(left, right) => {
            split(*left, factors, divisors);
            divisors.push(*right);
        }
        value => factors.push(value),
    }
}

/// Whether the value is a finite number wherever it is evaluated.
fn is_total(value: &Value) -> bool {
    let mut total = true;
    value.visit(&mut |value| match value {
        Value::Load(..) | Value::Div(..) | Value::Apply(..) => total = false,
        Value::Const(value) => total &= value.is_finite(),
        // The smallest of no terms is infinite.
        Value::Sum(sum) => total &= sum.kind == Reduction::Sum,
        _ => {}
    });
    value.visit_indices(&mut |index| total &= !matches!(index, Index::ExactDiv(..)));
    total
}

#[cfg(test)]
mod tests {
    use crate::passes::tests::check;

    #[test]
    fn factors_move() {
        expect_test::expect![[r#"
              for i = 0 to N {
                C[i] = A[i] * 2.0 * index(i) * (sum(l = 0 to i + 1) A[l])
                C[i] = A[i] * (sum(l = 0 to i + 1) A[l] * (sum(m = l to i + 1) A[m])) / index(i + 1)
                C[i] = 2.0 * (sum(l = 0 to M) A[i] * B[i * M + l])
                C[i] += 3.0 * (sum(l = 0 to N if l < i) A[i] * A[l])
              }
              for i = 0 to N + M {
                if i < N {
                  C[i] = A[i] * (sum(l = i to N) A[l])
                }
              }
              if 0 < M and 0 < N {
                C[0] = B[0] * (B[0] + 1.0) * (sum(l = 0 to M) B[l])
              }
        "#]]
        .assert_eq(&check(
            &["hoist-factor"],
            "for i = 0 to N {
               C[i] = sum(l = 0 to i + 1) A[i] * (A[l] * 2.0) * index(i)
               C[i] = sum(l = 0 to i + 1) sum(m = l to i + 1) A[i] * A[l] * A[m] / index(i + 1)
               C[i] = sum(l = 0 to M) 2.0 * A[i] * B[i * M + l]
               C[i] += sum(l = 0 to N if l < i) A[i] * A[l] * 3.0
             }
             for i = 0 to N + M { if i < N { C[i] = sum(l = i to N) A[i] * A[l] } }
             if 0 < M and 0 < N { C[0] = sum(l = 0 to M) B[0] * B[l] * (B[0] + 1.0) }",
        ));
    }

    #[test]
    fn a_factor_that_need_not_exist_stays() {
        // A[i] is not read where i >= N, and does not exist for large i.
        expect_test::expect![[r#"
              for i = 0 to N + M {
                s[0] = index(i)
                if N > 0 {
                  C[0] = sum(l = i to N) A[i] * A[l]
                }
              }
        "#]].assert_eq(&check(
            &["hoist-factor"],
            "for i = 0 to N + M { s[0] = index(i) if N > 0 { C[0] = sum(l = i to N) A[i] * A[l] } }",
        ));
    }
}
