//! Takes the one term of a sum that an integer in memory chooses.
//!
//! - `sum(k = 0 to M) compare(K[i] == index(k)) * A[k]` -> `sum(k = max(0, K[i]) to min(M, min(K[i], M - 1) + 1)) A[k]`
//! - `sum(k = 0 to M) compare(K[i] + 1.0 == index(k)) * A[k]` -> `sum(k = max(0, min(K[i], ..) + 1) to ..) A[k]`
//! - `max(k = 0 to M) select(compare(K[i] == index(k)), A[k], -inf)` -> `max(k = ..) A[k]`
//! - `sum(k = 0 to M) compare(min(K[i], 7.0) == index(k)) * A[k]` -> the same sum over `max(0, min(K[i], 7)) to ..`
//! - `sum(k = 0 to M) compare(K[i] <= index(k)) * A[k]` -> `sum(k = max(0, K[i]) to M) A[k]`
//! - `sum(k = 0 to M) A[k] * (sum(e = 0 to N) compare(K[e] == index(k)))` -> `sum(e = 0 to N) (sum(k = ..) A[k])`
//!
//! The sum has one term, or none where the integer is outside of its range. What is not chosen is no longer multiplied
//! with 0, so that it may be infinite. Where more is computed of integers, the test stays in the one term that is left.

use super::nearest::nearest;
use crate::ir::*;
use std::collections::{BTreeSet, HashMap};

pub(super) fn run(function: &mut Function, buffers: &[Buffer]) {
    let read = function.args.iter().filter(|(_, mode)| *mode == Mode::In);
    let integers = read.filter(|(id, _)| {
        buffers.get(id.0 as usize).is_some_and(|buffer| buffer.element.is_integer())
    });
    let integers: Integers =
        integers.filter_map(|(id, _)| Some((*id, buffers.get(id.0 as usize)?.element))).collect();
    if !integers.is_empty() {
        block(&mut function.body, &integers);
    }
}

/// The buffers of integers that a function reads and nothing writes.
type Integers = HashMap<BufferId, Element>;

fn block(body: &mut [Stmt], integers: &Integers) {
    for stmt in body {
        stmt.bodies_mut().into_iter().for_each(|body| block(body, integers));
        if let Stmt::Store(store) = stmt {
            let value = std::mem::replace(&mut store.value, Value::Const(0.0));
            store.value = picked(value, integers);
        }
    }
}

fn picked(value: Value, integers: &Integers) -> Value {
    let mut value = value.map_parts(&mut |part| picked(part.clone(), integers));
    if let Value::Sum(sum) = &value
        && let Some(other) = exchanged(sum, integers)
    {
        return picked(other, integers);
    }
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
        if sum.step == 1 && sum.unroll.is_none() && sum.fetch.is_empty() {
            while ranged(sum, integers) {}
            narrowed(sum, integers);
        }
    }
    value
}

/// Leaves the terms that are on one side of an integer, without the test.
fn ranged(sum: &mut Sum, integers: &Integers) -> bool {
    let var = sum.var;
    let find = |test: &Value| side(test, var, integers);
    let found = match (&sum.body, sum.kind) {
        (Value::Select(parts), kind) if parts[2] == Value::Const(kind.neutral()) => {
            without_test(&parts[0], &find).map(|(side, rest)| match rest {
                Some(rest) => {
                    let parts = [rest, parts[1].clone(), parts[2].clone()];
                    (side, Value::Select(Box::new(parts)))
                }
                None => (side, parts[1].clone()),
            })
        }
        (body, Reduction::Sum) => {
            without_test(body, &find).map(|(side, rest)| (side, rest.unwrap_or(Value::Const(1.0))))
        }
        _ => None,
    };
    let (Some((side, body)), Some(last)) = (found, sum.upper.first().cloned()) else {
        return false;
    };
    match side {
        Side::From(index) => sum.lower.push(index),
        Side::After(index) => sum.lower.push(index.min(Index::constant(FAR)) + 1),
        Side::Below(index) => sum.upper.push(index),
        Side::UpTo(index) => sum.upper.push(index.min(last - Index::constant(1)) + 1),
    }
    sum.body = body;
    true
}

/// Where a test of a variable holds.
enum Side {
    From(Index),
    After(Index),
    Below(Index),
    UpTo(Index),
}

/// `K[i]` and later of `K[i] <= index(k)`.
fn side(test: &Value, var: VarId, integers: &Integers) -> Option<Side> {
    let Value::Compare(operator, left, right) = test else { return None };
    let is_var = |value: &Value| matches!(value, Value::FromIndex(Index::Var(own)) if *own == var);
    let (number, is_left) = match (is_var(left), is_var(right)) {
        (false, true) => (left, true),
        (true, false) => (right, false),
        _ => return None,
    };
    let chosen = Chosen::of(number, &|buffer| integers.contains_key(&buffer))?;
    // A sum of 64 bits may wrap around to the other side.
    let is_long = integers.get(&chosen.buffer) == Some(&Element::I64);
    let wraps = is_long && chosen.offset != Index::constant(0);
    let number = chosen.place(var).filter(|_| !wraps)?;
    match (operator, is_left) {
        (Compare::Le, true) | (Compare::Ge, false) => Some(Side::From(number)),
        (Compare::Lt, true) | (Compare::Gt, false) => Some(Side::After(number)),
        (Compare::Gt, true) | (Compare::Lt, false) => Some(Side::Below(number)),
        (Compare::Ge, true) | (Compare::Le, false) => Some(Side::UpTo(number)),
        _ => None,
    }
}

/// The sums over the terms of sums inside of one that choose its own terms, around the one.
///
/// Before -> after: `sum(k) sum(c) A[k, c] * (sum(e) B[e, c] * compare(K[e] == index(k)))` -> `sum(e) (sum(k)
/// compare(K[e] == index(k)) * (sum(c) A[k, c] * B[e, c]))`.
fn exchanged(sum: &Sum, integers: &Integers) -> Option<Value> {
    if !is_plain(sum) || sum.step != 1 {
        return None;
    }
    let mut path = Vec::new();
    let test = within(&sum.body, &|test| integer(test, sum.var, integers).is_some(), &mut path)?;
    // Those of which the test, or the range of one that moves, depends.
    let (mut moved, mut needed) = (Vec::new(), test.free_vars());
    for inner in path.iter().rev() {
        if needed.contains(&inner.var) {
            needed.extend(range_vars(inner));
            moved.push(*inner);
        }
    }
    let vars: Vec<VarId> = moved.iter().map(|inner| inner.var).collect();
    let of_own = moved.iter().any(|inner| range_vars(inner).contains(&sum.var));
    if path.is_empty() || of_own {
        return None;
    }
    let body = without(&sum.body, test, &vars)?;
    let body = body.map_or_else(|| test.clone(), |body| test.clone() * body);
    let again = body.summed_vars();
    if vars.iter().any(|var| again.contains(var)) {
        return None;
    }
    let own = Value::Sum(Box::new(Sum { body, ..sum.clone() }));
    let around = |body: Value, inner: &&Sum| Value::Sum(Box::new(Sum { body, ..(*inner).clone() }));
    Some(moved.iter().fold(own, around))
}

/// Whether a sum adds up, and nothing was decided about how.
fn is_plain(sum: &Sum) -> bool {
    sum.kind == Reduction::Sum && sum.unroll.is_none() && sum.fetch.is_empty()
}

/// The variables of a sum's range.
fn range_vars(sum: &Sum) -> BTreeSet<VarId> {
    let bounds = sum.lower.iter().chain(&sum.upper).flat_map(Index::free_vars);
    let condition = sum.condition.iter().flat_map(Condition::free_vars);
    bounds.chain(condition).collect()
}

/// A factor of a product, or of the sums that are its factors; these are kept, outermost first.
fn within<'a>(
    value: &'a Value,
    is_wanted: &dyn Fn(&Value) -> bool,
    path: &mut Vec<&'a Sum>,
) -> Option<&'a Value> {
    match value {
        value if is_wanted(value) => Some(value),
        Value::Mul(left, right) => match within(left, is_wanted, path) {
            Some(found) => Some(found),
            None => within(right, is_wanted, path),
        },
        Value::Div(left, _) => within(left, is_wanted, path),
        Value::Sum(sum) if is_plain(sum) => {
            path.push(sum);
            let found = within(&sum.body, is_wanted, path);
            if found.is_none() {
                path.pop();
            }
            found
        }
        _ => None,
    }
}

/// A product without a factor, and with the bodies of sums around that in place of those over some variables; nothing
/// where the factor is not in it.
fn without(value: &Value, factor: &Value, vars: &[VarId]) -> Option<Option<Value>> {
    if std::ptr::eq(value, factor) {
        return Some(None);
    }
    match value {
        Value::Mul(left, right) => {
            let other = |rest: Option<Value>, other: &Value, first: bool| match (rest, first) {
                (None, _) => other.clone(),
                (Some(rest), true) => rest * other.clone(),
                (Some(rest), false) => other.clone() * rest,
            };
            Some(Some(match without(left, factor, vars) {
                Some(rest) => other(rest, right, true),
                None => other(without(right, factor, vars)?, left, false),
            }))
        }
        Value::Div(left, right) => {
            let rest = without(left, factor, vars)?.unwrap_or(Value::Const(1.0));
            Some(Some(Value::Div(Box::new(rest), right.clone())))
        }
        Value::Sum(sum) => {
            let rest = without(&sum.body, factor, vars)?;
            if vars.contains(&sum.var) {
                return Some(rest);
            }
            let body = rest.unwrap_or(Value::Const(1.0));
            Some(Some(Value::Sum(Box::new(Sum { body, ..(**sum).clone() }))))
        }
        _ => None,
    }
}

/// Leaves the one term whose test can hold, with the test.
fn narrowed(sum: &mut Sum, integers: &Integers) {
    let (condition, is_neutral) = match (&sum.body, sum.kind) {
        (Value::Select(parts), kind) => (&parts[0], parts[2] == Value::Const(kind.neutral())),
        (body, kind) => (body, kind == Reduction::Sum),
    };
    let mut tests = Vec::new();
    if is_neutral {
        factors(condition, &mut tests);
    }
    let element = |id: BufferId| integers.get(&id).copied();
    let near = tests.iter().find_map(|test| only(test, sum.var, &element));
    let (Some(near), Some(last)) = (near, sum.upper.first().cloned()) else { return };
    if !sum.lower.contains(&near) {
        sum.upper.push(near.clone().min(last - Index::constant(1)) + Index::constant(1));
        sum.lower.push(near);
    }
}

/// The factors of a product.
fn factors<'a>(value: &'a Value, all: &mut Vec<&'a Value>) {
    match value {
        Value::Mul(left, right) => {
            factors(left, all);
            factors(right, all);
        }
        Value::Div(left, _) => factors(left, all),
        Value::Truth(inside) => factors(inside, all),
        value => all.push(value),
    }
}

/// The only integer that a variable can be where a test of what is computed of integers holds: `min(K[i], 7)` of
/// `min(K[i], 7.0) == index(k)`.
pub(super) fn only(
    test: &Value,
    var: VarId,
    element: &dyn Fn(BufferId) -> Option<Element>,
) -> Option<Index> {
    let Value::Compare(Compare::Eq, left, right) = test else { return None };
    let (number, place) = match (&**left, &**right) {
        (Value::FromIndex(place), number) if place.mentions(var) => (number, place),
        (number, Value::FromIndex(place)) if place.mentions(var) => (number, place),
        _ => return None,
    };
    let start = Value::FromIndex(place.substitute(var, &Index::constant(0)));
    let number = match (place, place.constant_stride(var)?) {
        (Index::Var(_), _) => number.clone(),
        (_, 1) => number.clone() + Value::Const(-1.0) * start,
        (_, -1) => start + Value::Const(-1.0) * number.clone(),
        _ => return None,
    };
    nearest(&number, element).filter(|_| !number.mentions(var))
}

/// The integer that chooses a term of a sum, and the term without the test.
fn choice(sum: &Sum, integers: &Integers) -> Option<(Index, Value)> {
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
            let find = |test: &Value| integer(test, sum.var, integers);
            let (index, rest) = without_test(body, &find)?;
            Some((index, rest.unwrap_or(Value::Const(1.0))))
        }
        _ => None,
    }
}

/// What is found of the first test among the factors of a product, and the product without it.
pub(super) fn without_test<T>(
    body: &Value,
    find: &dyn Fn(&Value) -> Option<T>,
) -> Option<(T, Option<Value>)> {
    if let Some(found) = find(body) {
        return Some((found, None));
    }
    match body {
        Value::Mul(left, right) => {
            if let Some((found, rest)) = without_test(left, find) {
                let product = |rest: Value| Value::Mul(Box::new(rest), right.clone());
                return Some((found, Some(rest.map_or_else(|| (**right).clone(), product))));
            }
            let (found, rest) = without_test(right, find)?;
            let product = |rest: Value| Value::Mul(left.clone(), Box::new(rest));
            Some((found, Some(rest.map_or_else(|| (**left).clone(), product))))
        }
        Value::Div(left, right) => {
            let (found, rest) = without_test(left, find)?;
            let rest = rest.unwrap_or(Value::Const(1.0));
            Some((found, Some(Value::Div(Box::new(rest), right.clone()))))
        }
        _ => None,
    }
}

/// `K[i]` of `K[i] == index(k)`, `K[i] + 1` of `K[i] + 1.0 == index(k)`.
fn integer(test: &Value, var: VarId, integers: &Integers) -> Option<Index> {
    let Value::Compare(Compare::Eq, left, right) = test else { return None };
    let element = match (&**left, &**right) {
        (element, Value::FromIndex(Index::Var(own))) if *own == var => element,
        (Value::FromIndex(Index::Var(own)), element) if *own == var => element,
        _ => return None,
    };
    Chosen::of(element, &|buffer| integers.contains_key(&buffer))?.place(var)
}

/// A sum of variables, sizes and small integers: the same in integers and in floats.
fn whole(value: &Value) -> Option<Index> {
    match value {
        Value::FromIndex(index) => Some(index.clone()),
        Value::Const(by) if by.fract() == 0.0 && by.abs() <= f64::from(i32::MAX) => {
            Some(Index::constant(*by as i64))
        }
        Value::Add(left, right) => Some(whole(left)? + whole(right)?),
        _ => None,
    }
}

/// No place in a tensor, nor its sum with a variable or a size.
const FAR: i64 = 1 << 62;

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
                let added = whole(other)?;
                Some(Chosen { offset: chosen.offset + added, ..chosen })
            }
            _ => None,
        }
    }

    /// The integer as an expression, if the variable does not say which it is.
    fn place(self, var: VarId) -> Option<Index> {
        let Chosen { buffer, index, offset } = self;
        if index.mentions(var) || offset.mentions(var) {
            return None;
        }
        let element = Index::Load(buffer, Box::new(index));
        // Integers at the ends of their type would wrap around to others that are in no range either.
        Some(match offset {
            Index::Const(0) => element,
            Index::Const(by) if by > 0 => element.min(Index::constant(i64::MAX - by)) + by,
            Index::Const(by) => element.max(Index::constant(i64::MIN - by)) + by,
            // Variables and sizes are smaller.
            by => element.max(Index::constant(-FAR)).min(Index::constant(FAR)) + by,
        })
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
            buffer L : i32[N]
            buffer C : f64[N]
            func f(in A, in K, in L, out C) {
              for i = 0 to N {
                C[i] = 2.0 * (sum(k = 0 to M) A[k] * compare(K[i] == index(k)) / 4.0)
                C[i] += sum(k = 1 to M) compare(index(k) == K[i])
                C[i] += sum(k = 1 to M) compare(K[k - 1] == index(k))
                C[i] += sum(k = 0 to M) compare(K[i] + 2.0 == index(k)) * A[k]
                C[i] += sum(k = 0 to M) compare(index(k) == -3.0 + K[i]) * A[k]
                C[i] max= max(k = 0 to M) select(compare(K[i] == index(k)), A[k], -9.0)
                C[i] max= max(k = 0 to M) select(compare(K[i] == index(k)), A[k], -inf)
                C[i] += sum(k = 0 to M) A[k] * (sum(e = 0 to N if e != i) compare(K[e] == index(k)) * C[i]) / 2.0
                C[i] += sum(k = 0 to M) A[k] * (sum(e = 0 to 2) compare(K[i] + index(e) == index(k)))
                C[i] += sum(k = 0 to M) A[k] * compare(K[i] <= index(k)) * compare(index(k) < K[max(i - 1, 0)])
                C[i] += sum(k = 0 to M) compare(index(k) <= L[i] + 1.0)
                C[i] max= max(k = 0 to M) select(compare(index(k) > K[i]), A[k], -inf)
                C[i] min= min(k = 0 to M) select(compare(index(k) >= L[i]) * compare(A[k] < 3.0), A[k], inf)
                C[i] += sum(k = 0 to M) compare(index(k) <= K[i] + 1.0)
                C[i] += sum(k = 0 to M) sum(c = 0 to 3) A[k] * C[c] * (sum(e = 0 to 3) A[e] * compare(K[e] == index(k)))
                C[i] += sum(k = 0 to M) A[k] / 2.0 * (sum(c = 1 to 3) sum(e = 0 to c if e != i) compare(K[e] + (index(i) + -1.0) == index(k)) * C[c])
                C[i] += sum(k = 0 to M) sum(c = 0 to 3) A[k] * A[c] * compare(K[i] == index(k))
                C[i] += sum(k = 0 to M) A[k] * (sum(e = 0 to min(k, 3)) compare(K[e] == index(k)))
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
                C[i] += sum(e = 0 to N if e != i) sum(k = max(0, K[e]) to min(M, min(K[e], M - 1) + 1)) A[k] * C[i] / 2.0
                C[i] += sum(e = 0 to 2) sum(k = max(0, min(max(K[i], -4611686018427387904), 4611686018427387904) + e) to min(M, min(min(max(K[i], -4611686018427387904), 4611686018427387904) + e, M - 1) + 1)) A[k]
                C[i] += sum(k = max(0, K[i]) to min(M, K[max(i - 1, 0)])) A[k]
                C[i] += sum(k = 0 to min(M, min(min(L[i], 9223372036854775806) + 1, M - 1) + 1)) 1.0
                C[i] max= max(k = max(0, min(K[i], 4611686018427387904) + 1) to M) A[k]
                C[i] min= min(k = max(0, L[i]) to M) select(compare(A[k] < 3.0), A[k], inf)
                C[i] += sum(k = 0 to M) compare(index(k) <= K[i] + 1.0)
                C[i] += sum(e = 0 to 3) sum(k = max(0, K[e]) to min(M, min(K[e], M - 1) + 1)) sum(c = 0 to 3) A[k] * C[c] * A[e]
                C[i] += sum(c = 1 to 3) sum(e = 0 to c if e != i) sum(k = max(0, min(max(K[e], -4611686018427387904), 4611686018427387904) + (i - 1)) to min(M, min(min(max(K[e], -4611686018427387904), 4611686018427387904) + (i - 1), M - 1) + 1)) A[k] / 2.0 * C[c]
                C[i] += sum(k = max(0, K[i]) to min(M, min(K[i], M - 1) + 1)) sum(c = 0 to 3) A[k] * A[c]
                C[i] += sum(k = 0 to M) A[k] * (sum(e = 0 to min(k, 3)) compare(K[e] == index(k)))
              }
            }
        "#]]
        .assert_eq(&text[text.find("  for").unwrap()..]);
        for chosen in [[0, 3, 2], [-5, 4, i64::MAX], [i64::MIN, 1, 1]] {
            let a = Data::Float(vec![1.0, 2.0, 4.0, 8.0]);
            let data = [
                a,
                Data::Int(chosen.to_vec()),
                Data::Int(vec![1, -7, 3]),
                Data::Float(vec![0.0; 3]),
            ];
            compare(&before, &after, &[3, 4], &data).unwrap();
        }
    }

    #[test]
    fn terms_whose_test_can_hold_are_left() {
        let sums = [
            "sum(k = 0 to M) A[k] * compare(min(K[i], index(M) + -1.0) == index(k))",
            "sum(k = 0 to M) A[k] * compare(mod(K[i], index(M)) == index(k))",
            "sum(k = 0 to M) A[k] * compare(mod(K[i], 3.0) == index(k))",
            "sum(k = 0 to M) A[k] * compare(K[i] / 2.0 == index(k))",
            "sum(k = 0 to M) A[k] * compare(floor(K[i] / 2.0) == index(k))",
            "sum(k = 0 to M) A[k] * compare(floor_divide(K[i], index(N)) == index(k))",
            "sum(k = 0 to M) A[k] * compare(index(k + 1) == max(K[i], -3.0) / 4.0)",
            "max(k = 0 to M) select(compare(abs(L[i]) == index(k)), A[k], -inf)",
            "sum(k = 0 to M) A[k] * compare(L[i] * -2.0 == index(i - k))",
            "sum(k = 1 to M) compare(index(M) + -1.0 * L[i] == index(k)) / A[k]",
            "sum(k = 0 to M) A[k] * compare(L[i] * index(N) + L[N - 1 - i] == index(k))",
        ];
        let mut texts = Vec::new();
        for sum in sums {
            let before = parse(&format!(
                "module(N, M)
                buffer A : f64[M]
                buffer K : i64[N]
                buffer L : i32[N]
                buffer C : f64[N]
                func f(in A, in K, in L, out C) {{ for i = 0 to N {{ C[i] = {sum} }} }}"
            ));
            let before = before.unwrap();
            let mut after = before.clone();
            (find("pick").unwrap().run)(&mut after, &Context::of(&Machine::PLAIN));
            assert_eq!(verify(&after), Ok(()), "{after}");
            let text = after.to_string();
            texts.push(
                text[text.find("= 0 to N").unwrap()..].lines().nth(1).unwrap().trim().to_string(),
            );
            for m in [0, 1, 4, 7] {
                for chosen in [
                    [0, 3, 2],
                    [-5, 4, i64::MAX - 99],
                    [i64::MIN + 99, 1, 6],
                    [i64::MIN + 98, -4, 5],
                ] {
                    let a = Data::Float((0..m).map(|k| f64::from(1 << k)).collect());
                    let small = chosen.iter().map(|one| (*one).clamp(-9, 9)).collect();
                    let zeros = Data::Float(vec![0.0; 3]);
                    let data = [a, Data::Int(chosen.to_vec()), Data::Int(small), zeros];
                    compare(&before, &after, &[3, m.into()], &data).unwrap();
                }
            }
        }
        expect_test::expect![[r#"
            C[i] = sum(k = max(0, min(K[i], M - 1)) to min(M, min(min(K[i], M - 1), M - 1) + 1)) A[k] * compare(min(K[i], index(M) + -1.0) == index(k))
            C[i] = sum(k = max(0, max(K[i], 0) - max(M, 1) * floor(max(K[i], 0), max(M, 1)) + (min(K[i], 0) + max(M, 1) - max(M, 1) * (floor(min(K[i], 0), max(M, 1)) + 1))) to min(M, min(max(K[i], 0) - max(M, 1) * floor(max(K[i], 0), max(M, 1)) + (min(K[i], 0) + max(M, 1) - max(M, 1) * (floor(min(K[i], 0), max(M, 1)) + 1)), M - 1) + 1)) A[k] * compare(mod(K[i], index(M)) == index(k))
            C[i] = sum(k = max(0, K[i] % 3) to min(M, min(K[i] % 3, M - 1) + 1)) A[k] * compare(mod(K[i], 3.0) == index(k))
            C[i] = sum(k = max(0, K[i] / 2) to min(M, min(K[i] / 2, M - 1) + 1)) A[k] * compare(K[i] / 2.0 == index(k))
            C[i] = sum(k = max(0, K[i] / 2) to min(M, min(K[i] / 2, M - 1) + 1)) A[k] * compare(floor(K[i] / 2.0) == index(k))
            C[i] = sum(k = max(0, floor(K[i], max(N, 1))) to min(M, min(floor(K[i], max(N, 1)), M - 1) + 1)) A[k] * compare(floor_divide(K[i], index(N)) == index(k))
            C[i] = sum(k = max(0, max(K[i], -3) / 4 - 1) to min(M, min(max(K[i], -3) / 4 - 1, M - 1) + 1)) A[k] * compare(index(k + 1) == max(K[i], -3.0) / 4.0)
            C[i] = max(k = max(0, -1 * L[i], L[i]) to min(M, min(max(-1 * L[i], L[i]), M - 1) + 1)) select(compare(abs(L[i]) == index(k)), A[k], -inf)
            C[i] = sum(k = max(0, i + 2 * L[i]) to min(M, min(i + 2 * L[i], M - 1) + 1)) A[k] * compare(L[i] * -2.0 == index(i - k))
            C[i] = sum(k = max(1, M + -1 * L[i]) to min(M, min(M + -1 * L[i], M - 1) + 1)) compare(index(M) + -1.0 * L[i] == index(k)) / A[k]
            C[i] = sum(k = max(0, N * max(min(L[i], floor(4611686018427387904, max(N, 1))), -1 * floor(4611686018427387904, max(N, 1))) + L[N - 1 - i]) to min(M, min(N * max(min(L[i], floor(4611686018427387904, max(N, 1))), -1 * floor(4611686018427387904, max(N, 1))) + L[N - 1 - i], M - 1) + 1)) A[k] * compare(L[i] * index(N) + L[N - 1 - i] == index(k))"#]].assert_eq(&texts.join("\n"));
    }
}
