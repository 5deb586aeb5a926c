//! The order in which factors are multiplied, and what instances differ in.
//!
//! Before -> after, with `i` and `k` unrolled: `B[x, i] * B[x, j] * B[x, k]` -> `(B[x, j] * B[x, i]) * B[x, k]` where
//! there are no more `i` than `k`: factors of fewest instances first, so that little is multiplied in each instance.
//! What divides such factors divides those that do not vary more: `A[p] * X[k] / s[p]` -> `(A[p] / s[p]) * X[k]`. A
//! number alone is none of them: rows of `x[i] - m[j] / s` are the same where `x` is, whether they are vectors or not,
//! so that no reciprocal of `s` is rounded in some of them.

use std::collections::BTreeSet;

use super::Lowering;
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

impl Lowering<'_> {
    /// Regroups products by what their factors vary with, as they are computed here.
    pub(super) fn associated(&self, value: &Value, instances: &[Instance]) -> Value {
        associate(value, instances, self.lanes.as_ref().map(|lanes| lanes.var))
    }
}

/// Regroups products by what their factors vary with; `lane` is the variable of which vectors have several values.
fn associate(value: &Value, instances: &[Instance], lane: Option<VarId>) -> Value {
    let go = |value: &Value| associate(value, instances, lane);
    match value {
        Value::Sum(_) => value.clone(),
        Value::Mul(..) if instances.len() > 1 => {
            product(factors(value, instances, None, &go)).unwrap_or(Value::Const(1.0))
        }
        Value::Div(dividend, divisor) if matches!(**dividend, Value::Mul(..)) => {
            let divisor = go(divisor);
            let most = projections(instances, &divisor.free_vars()).len();
            let lane = lane.filter(|lane| !divisor.mentions(*lane));
            let varies_more = |factor: &Factor| {
                most < factor.count || lane.is_some_and(|lane| factor.product.mentions(lane))
            };
            let (many, few): (Vec<Factor>, Vec<Factor>) =
                factors(dividend, instances, lane, &go).into_iter().partition(varies_more);
            let divided = |dividend| Value::Div(Box::new(dividend), Box::new(divisor.clone()));
            match (product(few), product(many)) {
                (Some(few), Some(many)) if !matches!(few, Value::Const(_)) => {
                    Value::Mul(Box::new(divided(few)), Box::new(many))
                }
                _ => Value::Div(Box::new(go(dividend)), Box::new(divisor)),
            }
        }
        _ => value.map_parts(&mut |part| go(part)),
    }
}

/// The product of some factors, those of fewest instances first.
fn product(mut factors: Vec<Factor>) -> Option<Value> {
    factors.sort_by_key(|factor| factor.count);
    let products = factors.into_iter().map(|factor| factor.product);
    products.reduce(|left, right| Value::Mul(Box::new(left), Box::new(right)))
}

fn factors(
    value: &Value,
    instances: &[Instance],
    lane: Option<VarId>,
    go: &dyn Fn(&Value) -> Value,
) -> Vec<Factor> {
    let mut all = Vec::new();
    flatten(value, &mut all);
    let mut factors: Vec<Factor> = Vec::new();
    for factor in all {
        let factor = go(factor);
        let vars = factor.free_vars();
        let mut varies: BTreeSet<VarId> =
            instances.iter().flat_map(|instance| project(instance, &vars).into_keys()).collect();
        let count = projections(instances, &varies).len();
        varies.extend(lane.filter(|lane| vars.contains(lane)));
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
