//! Takes the one term of a sum that an integer in memory chooses.
//!
//! - `sum(k = 0 to M) compare(K[i] == index(k)) * A[k]` -> `sum(k = max(0, K[i]) to min(M, min(K[i], M - 1) + 1)) A[k]`
//! - `sum(k = 0 to M) compare(K[i] + 1.0 == index(k)) * A[k]` -> `sum(k = max(0, min(K[i], ..) + 1) to ..) A[k]`
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

/// `K[i]` of `K[i] == index(k)`, `K[i] + 1` of `K[i] + 1.0 == index(k)`.
fn integer(test: &Value, var: VarId, integers: &[BufferId]) -> Option<Index> {
    let Value::Compare(Compare::Eq, left, right) = test else { return None };
    let element = match (&**left, &**right) {
        (element, Value::FromIndex(Index::Var(own))) if *own == var => element,
        (Value::FromIndex(Index::Var(own)), element) if *own == var => element,
        _ => return None,
    };
    let is_integer = |buffer: BufferId| integers.contains(&buffer);
    let Chosen { buffer, index, offset } = Chosen::of(element, &is_integer)?;
    if index.mentions(var) || offset.mentions(var) {
        return None;
    }
    let element = Index::Load(buffer, Box::new(index));
    // Integers at the ends of their type would wrap around to others that are in no range either.
    match offset {
        Index::Const(0) => Some(element),
        Index::Const(by) if by > 0 => Some(element.min(Index::constant(i64::MAX - by)) + by),
        Index::Const(by) => Some(element.max(Index::constant(i64::MIN - by)) + by),
        _ => None,
    }
}

/// An integer in memory that chooses: `K[i] + offset`.
pub(super) struct Chosen {
    /// The buffer.
    pub(super) buffer: BufferId,
    /// Its place.
    pub(super) index: Index,
    /// What is added to it.
    pub(super) offset: Index,
}

impl Chosen {
    /// The integer that a value is, if it is one of such buffers, with numbers added.
    pub(super) fn of(value: &Value, is_integer: &dyn Fn(BufferId) -> bool) -> Option<Chosen> {
        match value {
            Value::Load(buffer, index) => {
                let chosen =
                    Chosen { buffer: *buffer, index: index.clone(), offset: Index::constant(0) };
                is_integer(*buffer).then_some(chosen)
            }
            Value::Add(left, right) => {
                let (chosen, other) = match Chosen::of(left, is_integer) {
                    Some(chosen) => (chosen, right),
                    None => (Chosen::of(right, is_integer)?, left),
                };
                let added = match &**other {
                    Value::FromIndex(index) => index.clone(),
                    // The same in integers and in floats.
                    Value::Const(by) if by.fract() == 0.0 && by.abs() <= f64::from(i32::MAX) => {
                        Index::constant(*by as i64)
                    }
                    _ => return None,
                };
                Some(Chosen { offset: chosen.offset + added, ..chosen })
            }
            _ => None,
        }
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
                C[i] += sum(k = 0 to M) compare(K[i] + 2.0 == index(k)) * A[k]
                C[i] += sum(k = 0 to M) compare(index(k) == -3.0 + K[i]) * A[k]
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
                C[i] += sum(k = max(0, min(K[i], 9223372036854775805) + 2) to min(M, min(min(K[i], 9223372036854775805) + 2, M - 1) + 1)) A[k]
                C[i] += sum(k = max(0, max(K[i], -9223372036854775805) - 3) to min(M, min(max(K[i], -9223372036854775805) - 3, M - 1) + 1)) A[k]
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
