//! Takes the one term of a sum that an integer in memory chooses.
//!
//! - `sum(k = 0 to M) compare(K[i] == index(k)) * A[k]` -> `sum(k = max(0, K[i]) to min(M, min(K[i], M - 1) + 1)) A[k]`
//! - `max(k = 0 to M) select(compare(K[i] == index(k)), A[k], -inf)` -> `max(k = ..) A[k]`
//!
//! The sum has one term, or none where the integer is outside of its range. What is not chosen is no longer multiplied
//! with 0, so that it may be infinite.

use crate::ir::*;

pub(super) fn run(function: &mut Function, buffers: &[Buffer]) {
    let read = function.args.iter().filter(|(_, mode)| *mode == Mode::In);
    let integers = read.filter(|(id, _)| {
        buffers.get(id.0 as usize).is_some_and(|buffer| buffer.element.is_integer())
    });
    let integers: Vec<BufferId> = integers.map(|(id, _)| *id).collect();
    if !integers.is_empty() {
        block(&mut function.body, &integers);
    }
}

fn block(body: &mut [Stmt], integers: &[BufferId]) {
    for stmt in body {
        stmt.bodies_mut().into_iter().for_each(|body| block(body, integers));
        if let Stmt::Store(store) = stmt {
            let value = std::mem::replace(&mut store.value, Value::Const(0.0));
            store.value = picked(value, integers);
        }
    }
}

fn picked(value: Value, integers: &[BufferId]) -> Value {
    let mut value = value.map_parts(&mut |part| picked(part.clone(), integers));
    if let Value::Sum(sum) = &mut value {
        while sum.step == 1 && sum.unroll.is_none() && sum.fetch.is_empty() {
            let Some((chosen, body)) = choice(sum, integers) else { break };
            let Some(last) = sum.upper.first().cloned() else { break };
            // One more than an integer may be beyond 64 bits, but not than one that is less than the end.
            let end = chosen.clone().min(last - Index::constant(1)) + Index::constant(1);
            sum.lower.push(chosen);
            sum.upper.push(end);
            sum.body = body;
        }
    }
    value
}

/// The integer that chooses a term of a sum, and the term without the test.
fn choice(sum: &Sum, integers: &[BufferId]) -> Option<(Index, Value)> {
    match (&sum.body, sum.kind) {
        (Value::Select(parts), kind) => {
            let [test, chosen, other] = &**parts;
            let neutral = match kind {
                Reduction::Sum => 0.0,
                Reduction::Product => 1.0,
                Reduction::Min => f64::INFINITY,
                Reduction::Max => f64::NEG_INFINITY,
            };
            let is_neutral = matches!(other, Value::Const(value) if *value == neutral);
            let chosen_by = integer(test, sum.var, integers).filter(|_| is_neutral)?;
            Some((chosen_by, chosen.clone()))
        }
        (body, Reduction::Sum) => {
            let (index, rest) = without_test(body, sum.var, integers)?;
            Some((index, rest.unwrap_or(Value::Const(1.0))))
        }
        _ => None,
    }
}

/// The integer of the first test among the factors of a product, and the product without it.
fn without_test(body: &Value, var: VarId, integers: &[BufferId]) -> Option<(Index, Option<Value>)> {
    if let Some(index) = integer(body, var, integers) {
        return Some((index, None));
    }
    match body {
        Value::Mul(left, right) => {
            if let Some((index, rest)) = without_test(left, var, integers) {
                let product = |rest: Value| Value::Mul(Box::new(rest), right.clone());
                return Some((index, Some(rest.map_or_else(|| (**right).clone(), product))));
            }
            let (index, rest) = without_test(right, var, integers)?;
            let product = |rest: Value| Value::Mul(left.clone(), Box::new(rest));
            Some((index, Some(rest.map_or_else(|| (**left).clone(), product))))
        }
        Value::Div(left, right) => {
            let (index, rest) = without_test(left, var, integers)?;
            let rest = rest.unwrap_or(Value::Const(1.0));
            Some((index, Some(Value::Div(Box::new(rest), right.clone()))))
        }
        _ => None,
    }
}

/// `K[i]` of `K[i] == index(k)`.
fn integer(test: &Value, var: VarId, integers: &[BufferId]) -> Option<Index> {
    let Value::Compare(Compare::Eq, left, right) = test else { return None };
    let element = match (&**left, &**right) {
        (element, Value::FromIndex(Index::Var(own))) if *own == var => element,
        (Value::FromIndex(Index::Var(own)), element) if *own == var => element,
        _ => return None,
    };
    match element {
        Value::Load(buffer, index) if integers.contains(buffer) && !index.mentions(var) => {
            Some(Index::Load(*buffer, Box::new(index.clone())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::interp::Data;
    use crate::machine::Machine;
    use crate::passes::tests::compare;
    use crate::passes::{Context, find};
    use crate::{parse, verify};

    #[test]
    fn terms_are_picked() {
        let before = parse(
            "module(N, M)
            buffer A : f64[M]
            buffer K : i64[N]
            buffer C : f64[N]
            func f(in A, in K, out C) {
              for i = 0 to N {
                C[i] = 2.0 * (sum(k = 0 to M) A[k] * compare(K[i] == index(k)) / 4.0)
                C[i] += sum(k = 1 to M) compare(index(k) == K[i])
                C[i] += sum(k = 1 to M) compare(K[k - 1] == index(k))
                C[i] max= max(k = 0 to M) select(compare(K[i] == index(k)), A[k], -9.0)
                C[i] max= max(k = 0 to M) select(compare(K[i] == index(k)), A[k], -inf)
              }
            }",
        )
        .unwrap();
        let mut after = before.clone();
        (find("pick").unwrap().run)(&mut after, &Context::of(&Machine::PLAIN));
        assert_eq!(verify(&after), Ok(()), "{after}");
        let text = after.to_string();
        expect_test::expect![[r#"
              for i = 0 to N {
                C[i] = 2.0 * (sum(k = max(0, K[i]) to min(M, min(K[i], M - 1) + 1)) A[k] / 4.0)
                C[i] += sum(k = max(1, K[i]) to min(M, min(K[i], M - 1) + 1)) 1.0
                C[i] += sum(k = 1 to M) compare(K[k - 1] == index(k))
                C[i] max= max(k = 0 to M) select(compare(K[i] == index(k)), A[k], -9.0)
                C[i] max= max(k = max(0, K[i]) to min(M, min(K[i], M - 1) + 1)) A[k]
              }
            }
        "#]]
        .assert_eq(&text[text.find("  for").unwrap()..]);
        for chosen in [[0, 3, 2], [-5, 4, i64::MAX], [i64::MIN, 1, 1]] {
            let a = Data::Float(vec![1.0, 2.0, 4.0, 8.0]);
            let data = [a, Data::Int(chosen.to_vec()), Data::Float(vec![0.0; 3])];
            compare(&before, &after, &[3, 4], &data).unwrap();
        }
    }
}
