//! What can be computed in the lanes of a vector: terms of a sum, or elements side by side.
//!
//! The terms of a sum can be, where what they load are neighbours for neighbouring values of the sum's variable. Else
//! elements can be, where that holds of the variable of a loop: `A[i] = sum(k) B[N * k + i] * x[k]` loads a vector of
//! `B` for each `k`.

use crate::ir::*;

/// How a load's place moves with a variable: 0, 1 or -1.
fn moves(index: &Index, var: VarId) -> Option<i64> {
    index.constant_stride(var).filter(|stride| (-1..=1).contains(stride))
}

/// Whether the loads of a value are of one element or of neighbours for neighbouring values of a variable, some of them
/// of neighbours, and nothing else mentions it. Pairs count as neighbours where both of their elements are loaded: real
/// and imaginary parts.
fn neighbours(value: &Value, var: VarId) -> bool {
    let (mut possible, mut some) = (true, false);
    let mut pairs: Vec<(BufferId, &Index)> = Vec::new();
    value.visit(&mut |value| match value {
        Value::Load(buffer, index) => match moves(index, var) {
            Some(stride) => some |= stride != 0,
            None if index.constant_stride(var) == Some(2) => pairs.push((*buffer, index)),
            None => possible = false,
        },
        Value::FromIndex(index) => possible &= !index.mentions(var),
        _ => {}
    });
    let is_whole = |(buffer, index): &(BufferId, &Index)| {
        let other = |(other, at): &(BufferId, &Index)| {
            other == buffer && at.constant_difference(index).is_some_and(|by| by.abs() == 1)
        };
        pairs.iter().any(other)
    };
    possible && (some || !pairs.is_empty()) && pairs.iter().all(is_whole)
}

/// Sums of so many terms are written term by term.
pub const FEW_TERMS: u64 = 8;

/// Whether the terms of a sum can be in lanes. Those that are written term by term are not.
pub fn of_terms(sum: &Sum) -> bool {
    let mut inner = false;
    sum.body.visit(&mut |value| inner |= matches!(value, Value::Sum(_)));
    sum.step == 1
        && sum.condition.is_none()
        && !inner
        && !has_few_terms(sum)
        && neighbours(&sum.body, sum.var)
}

/// Whether it is known that a sum has few terms.
fn has_few_terms(sum: &Sum) -> bool {
    let pairs = sum.lower.iter().flat_map(|low| sum.upper.iter().map(move |high| (low, high)));
    let mut lengths = pairs.filter_map(|(low, high)| high.constant_difference(low));
    lengths.any(|length| length <= FEW_TERMS as i64 * sum.step)
}

/// Whether the terms of a sum can be in lanes where elements are gathered: what they load are neighbours, or at places
/// that are computed of neighbours, as are the coordinates of a level's positions.
pub fn of_stored_terms(sum: &Sum) -> bool {
    let (mut possible, mut some) = (sum.step == 1 && sum.condition.is_none(), false);
    sum.body.visit(&mut |value| match value {
        Value::Load(_, index) => match moves(index, sum.var) {
            Some(stride) => some |= stride != 0,
            None => possible &= of_places(index, sum.var),
        },
        Value::FromIndex(index) => possible &= !index.mentions(sum.var),
        Value::Sum(_) => possible = false,
        _ => {}
    });
    possible && some
}

/// Whether the terms of a sum can be in lanes where elements that are no neighbours are loaded one by one: some are
/// neighbours, and nothing but loads tells terms apart.
pub fn of_packed_terms(sum: &Sum) -> bool {
    let (mut possible, mut some) = (sum.step == 1 && sum.condition.is_none(), false);
    sum.body.visit(&mut |value| match value {
        Value::Load(_, index) => some |= moves(index, sum.var).is_some_and(|stride| stride != 0),
        Value::FromIndex(index) => possible &= !index.mentions(sum.var),
        Value::Sum(_) => possible = false,
        _ => {}
    });
    possible && some
}

/// Whether an integer for each of a variable's values can be computed in lanes: of neighbours and of what is the same
/// for all.
fn of_places(index: &Index, var: VarId) -> bool {
    match index {
        Index::Load(_, at) if index.mentions(var) => at.constant_stride(var) == Some(1),
        Index::Add(left, right) | Index::Sub(left, right) | Index::Mul(left, right) => {
            of_places(left, var) && of_places(right, var)
        }
        index => !index.mentions(var),
    }
}

/// Whether what a store computes for neighbouring values of a variable can be in lanes: it has sums, none of which can
/// have its terms in lanes, and whose bounds move by a constant with the variable; or it has none, and sets neighbours.
pub fn of_elements(store: &Store, var: VarId) -> bool {
    let (mut sums, mut possible) = (false, true);
    store.value.visit(&mut |value| {
        if let Value::Sum(sum) = value {
            sums = true;
            let constant = |bound: &Index| bound.constant_stride(var).is_some();
            possible &= sum.condition.is_none() && !of_terms(sum);
            possible &= sum.lower.iter().chain(&sum.upper).all(constant);
        }
    });
    let sets = store.mode == StoreMode::Set && store.index.constant_stride(var) == Some(1);
    (sums || sets) && possible && !store.value.loads(store.buffer) && neighbours(&store.value, var)
}

/// Whether what a store without sums sets or adds to can be computed in blocks: neighbouring values of `var` are in
/// lanes, those of `by` side by side, and loads of neighbours for the values of `by` are transposed.
pub fn of_blocks(store: &Store, var: VarId, by: VarId) -> bool {
    let (mut possible, mut some) = (true, false);
    store.value.visit(&mut |value| match value {
        Value::Load(_, index) if moves(index, var).is_none() => {
            some = true;
            possible &= moves(index, by).is_some_and(|stride| stride != 0);
        }
        Value::FromIndex(index) => possible &= !index.mentions(var),
        Value::Sum(_) => possible = false,
        _ => {}
    });
    let neighbours = store.index.constant_stride(var) == Some(1);
    neighbours && possible && some && !store.value.loads(store.buffer)
}

/// Whether a store copies elements from any places to neighbours for neighbouring values of a variable: they can be
/// loaded one by one into lanes.
pub fn of_copies(store: &Store, var: VarId) -> bool {
    let (mut copies, mut some) = (true, false);
    store.value.visit(&mut |value| match value {
        Value::Load(_, index) => some |= index.mentions(var),
        Value::Const(_) | Value::Mul(..) => {}
        _ => copies = false,
    });
    let sets = store.mode == StoreMode::Set && store.index.constant_stride(var) == Some(1);
    sets && copies && some && !store.value.loads(store.buffer)
}

/// Whether a store sets other elements for other values of a variable to functions of elements at any places, which can
/// be loaded one by one into lanes, and stored one by one: that costs less than a function does.
pub fn of_calls(store: &Store, var: VarId) -> bool {
    let mut possible = store.value.has_calls();
    store.value.visit(&mut |value| match value {
        Value::Sum(_) => possible = false,
        Value::FromIndex(index) => possible &= !index.mentions(var),
        _ => {}
    });
    let apart = store.index.constant_stride(var).is_some_and(|stride| stride != 0);
    let varies = || {
        let mut varies = false;
        store.value.visit(&mut |value| {
            if let Value::Load(_, index) = value {
                varies |= index.mentions(var);
            }
        });
        varies
    };
    apart && possible && varies() && !store.value.loads(store.buffer)
}

/// The variables among `vars` of which neighbouring values can be in lanes, first those whose elements are neighbours
/// where they are stored.
pub fn choices(store: &Store, vars: impl Iterator<Item = VarId>) -> Vec<VarId> {
    let mut vars: Vec<VarId> = vars.filter(|var| of_elements(store, *var)).collect();
    vars.sort_by_key(|var| store.index.constant_stride(*var) != Some(1));
    vars
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn terms_and_elements() {
        let of = |sum: &str| {
            let text = format!(
                "module(N)\nbuffer A : f64[N]\nbuffer B : f64[N]\n\
                func f(out A, in B) {{ for i = 0 to N {{ A[i] = {sum} }} }}"
            );
            let module = parse(&text).unwrap();
            let Stmt::For(outer) = &module.functions[0].body[0] else { panic!() };
            let Stmt::Store(store) = &outer.body[0] else { panic!() };
            let mut terms = false;
            store.value.visit(&mut |value| {
                if let Value::Sum(sum) = value {
                    terms |= of_terms(sum);
                }
            });
            (terms, of_elements(store, outer.var))
        };
        assert_eq!(of("sum(k = 0 to N) B[k] * B[N * i + k]"), (true, false));
        assert_eq!(of("sum(k = 0 to N) B[k] * B[N * k + i]"), (false, true));
        assert_eq!(of("sum(k = i to N) B[3 - k] * B[5]"), (true, false));
        // Terms that are few leave the lanes to elements.
        assert_eq!(of("sum(k = 0 to 3) B[k] * B[i + k]"), (false, true));
        assert_eq!(of("sum(k = max(0, 2 - i) to min(N, 5)) B[k] * B[i + k]"), (false, true));
        assert_eq!(of("sum(k = 2 to 11) B[k] * B[i + k]"), (true, false));
        assert_eq!(of("2.0 * (sum(k = 0 to i) B[N * k - i])"), (false, true));
        assert_eq!(of("sum(k = 0 to i / 2) B[N * k + i]"), (false, false));
        assert_eq!(of("sum(k = 0 to N if k < i) B[N * k + i]"), (false, false));
        assert_eq!(of("sum(k = 0 to N) B[N * k + i] * index(i)"), (false, false));
        assert_eq!(of("sum(k = 0 to N) B[N * k + 2 * i]"), (false, false));
        assert_eq!(of("sum(l = 0 to N) sum(k = 0 to N) B[N * k + i + l]"), (false, true));
        assert_eq!(of("B[i]"), (false, true));
        assert_eq!(of("B[2 * i]"), (false, false));
        // Both elements of pairs.
        assert_eq!(of("sum(k = 0 to N) B[2 * k] * B[2 * k + 1]"), (true, false));
        assert_eq!(
            of("sum(k = 0 to N) B[(N * i + k) * 2 + 1] * B[(N * i + k) * 2]"),
            (true, false)
        );
        assert_eq!(of("sum(k = 0 to N) B[2 * k] * B[2 * k + 2]"), (false, false));
        assert_eq!(of("B[2 * i] * B[2 * i + 1] * B[i]"), (false, true));
    }

    #[test]
    fn blocks() {
        let of = |value: &str| {
            let text = format!(
                "module(N)\nbuffer A : f64[N * N]\nbuffer B : f64[N * N]\nfunc f(out A, in B) {{ \
                 for i = 0 to N {{ for j = 0 to N {{ A[N * i + j] = {value} }} }} }}"
            );
            let module = parse(&text).unwrap();
            let Stmt::For(outer) = &module.functions[0].body[0] else { panic!() };
            let Stmt::For(inner) = &outer.body[0] else { panic!() };
            let Stmt::Store(store) = &inner.body[0] else { panic!() };
            of_blocks(store, inner.var, outer.var)
        };
        assert!(of("B[N * j + i]"));
        assert!(of("B[N * j - i] * sqrt(B[N * i + j]) + B[i]"));
        assert!(of("B[exact((j + 1) * j, 2) + i]"));
        assert!(!of("B[N * i + j]"));
        assert!(!of("B[N * j + 2 * i]"));
        assert!(!of("B[N * j + i] * index(j)"));
        assert!(!of("sum(k = 0 to N) B[N * j + i]"));
        assert!(!of("B[N * j + i] * A[i]"));
    }

    #[test]
    fn stored_terms() {
        let of = |term: &str| {
            let text = format!(
                "module(N)\nbuffer y : f64[N]\nbuffer v : f64[N]\nbuffer pos : u32[N]\nbuffer crd : u32[N]\n\
                 func f(out y, in v, in pos, in crd) {{ for i = 0 to N {{ y[i] = sum(p = pos[i] to pos[i + 1]) {term} \
                 }} }}"
            );
            let module = parse(&text).unwrap();
            let Stmt::For(outer) = &module.functions[0].body[0] else { panic!() };
            let Stmt::Store(Store { value: Value::Sum(sum), .. }) = &outer.body[0] else {
                panic!()
            };
            of_stored_terms(sum)
        };
        assert!(of("v[p] * v[crd[p]]"));
        assert!(of("v[p] * v[N * crd[p + 1] + i] * v[i] * index(i)"));
        assert!(of("v[p]"));
        assert!(!of("v[crd[p]]")); // nothing else that is there in lanes
        assert!(!of("v[p] * v[crd[2 * p]]"));
        assert!(!of("v[p] * v[crd[crd[p]]]"));
        assert!(!of("v[p] * v[N * p]"));
        assert!(!of("v[p] * index(p)"));
        assert!(!of("v[p] * (sum(q = 0 to 2) v[p + q])"));
    }
}
