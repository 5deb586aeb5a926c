//! The order in which factors are multiplied, and what instances differ in.
//!
//! Before -> after, with `i` and `k` unrolled: `B[x, i] * B[x, j] * B[x, k]` -> `(B[x, j] * B[x, i]) * B[x, k]` where
//! there are no more `i` than `k`: factors of fewest instances first, so that little is multiplied in each instance.
//! What divides such factors divides those that do not vary more: `A[p] * X[k] / s[p]` -> `(A[p] / s[p]) * X[k]`.

use std::collections::BTreeSet;

use crate::ir::*;
use crate::unroll::Instance;

/// What of an instance matters to an expression with these variables.
pub(super) fn project(instance: &Instance, vars: &BTreeSet<VarId>) -> Instance {
    let matters = instance.iter().filter(|(var, _)| vars.contains(var));
    matters.map(|(var, index)| (*var, index.clone())).collect()
}

/// The instances that an expression with these variables tells apart.
pub(super) fn projections(instances: &[Instance], vars: &BTreeSet<VarId>) -> Vec<Instance> {
    let mut distinct: Vec<Instance> = Vec::new();
    for instance in instances {
        let key = project(instance, vars);
        if !distinct.contains(&key) {
            distinct.push(key);
        }
    }
    distinct
}

/// Factors that vary with the same variables, as one product.
struct Factor {
    /// Number of instances that it differs in.
    count: usize,
    varies: Vec<VarId>,
    product: Value,
}

/// Regroups products by what their factors vary with.
pub(super) fn associate(value: &Value, instances: &[Instance]) -> Value {
    if instances.len() < 2 {
        return value.clone();
    }
    match value {
        Value::Sum(_) => value.clone(),
        Value::Mul(..) => product(factors(value, instances)).unwrap_or(Value::Const(1.0)),
        Value::Div(dividend, divisor) if matches!(**dividend, Value::Mul(..)) => {
            let divisor = associate(divisor, instances);
            let most = projections(instances, &divisor.free_vars()).len();
            let (few, many): (Vec<Factor>, Vec<Factor>) =
                factors(dividend, instances).into_iter().partition(|factor| factor.count <= most);
            let divided = |dividend| Value::Div(Box::new(dividend), Box::new(divisor.clone()));
            match (product(few), product(many)) {
                (Some(few), Some(many)) => Value::Mul(Box::new(divided(few)), Box::new(many)),
                (few, many) => divided(few.or(many).unwrap_or(Value::Const(1.0))),
            }
        }
        _ => value.map_parts(&mut |part| associate(part, instances)),
    }
}

/// The product of some factors, those of fewest instances first.
fn product(mut factors: Vec<Factor>) -> Option<Value> {
    factors.sort_by_key(|factor| factor.count);
    let products = factors.into_iter().map(|factor| factor.product);
    products.reduce(|left, right| Value::Mul(Box::new(left), Box::new(right)))
}

fn factors(value: &Value, instances: &[Instance]) -> Vec<Factor> {
    let mut all = Vec::new();
    flatten(value, &mut all);
    let mut factors: Vec<Factor> = Vec::new();
    for factor in all {
        let factor = associate(factor, instances);
        let vars = factor.free_vars();
        let varies: BTreeSet<VarId> =
            instances.iter().flat_map(|instance| project(instance, &vars).into_keys()).collect();
        let count = projections(instances, &varies).len();
        let varies = Vec::from_iter(varies);
        match factors.iter_mut().find(|known| known.varies == varies) {
            Some(known) => {
                let so_far = std::mem::replace(&mut known.product, Value::Const(1.0));
                known.product = Value::Mul(Box::new(so_far), Box::new(factor));
            }
            None => factors.push(Factor { count, varies, product: factor }),
        }
    }
    factors
}

fn flatten<'v>(value: &'v Value, factors: &mut Vec<&'v Value>) {
    match value {
        Value::Mul(left, right) => {
            flatten(left, factors);
            flatten(right, factors);
        }
        value => factors.push(value),
    }
}
