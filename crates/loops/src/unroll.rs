//! The iterations of unrolled loops, as the values of their variables.
//!
//! Before -> after, `unroll i = b to b + 2 { unroll j = i to b + 2 { .. } }`: `(i, j)` is `(b, b)`, `(b, b + 1)`,
//! `(b + 1, b + 1)`.

use std::collections::BTreeMap;

use crate::ir::*;
use crate::linear::{Linear, flatten_max, flatten_min};

/// One iteration of the unrolled loops around a place: what each of their variables is, in variables of other loops and
/// symbols.
pub type Instance = BTreeMap<VarId, Index>;

/// More iterations than this are not executed side by side.
pub const MAX_INSTANCES: usize = 512;

/// An expression at an instance. Where neighbouring instances differ by a constant, so do the expressions, which end
/// with it: what comes before is computed once for all of them.
pub fn at(index: &Index, instance: &Instance) -> Index {
    if instance.is_empty() {
        return index.clone();
    }
    let mut beyond = 0i64;
    let mut starts = Instance::new();
    for (var, value) in instance {
        if let Index::Add(start, by) = value
            && let Index::Const(by) = **by
            && let Some(stride) = index.constant_stride(*var).filter(|stride| *stride != 0)
            && let Some(sum) = stride.checked_mul(by).and_then(|by| beyond.checked_add(by))
        {
            beyond = sum;
            starts.insert(*var, (**start).clone());
        }
    }
    let start = index.rebuild(&|leaf| match leaf {
        Index::Var(var) => {
            let value = starts.get(var).or_else(|| instance.get(var));
            value.cloned().unwrap_or_else(|| leaf.clone())
        }
        leaf => leaf.clone(),
    });
    start + beyond
}

/// A condition at an instance.
pub fn holds_at(condition: &Condition, instance: &Instance) -> Condition {
    if instance.is_empty() {
        return condition.clone();
    }
    condition.rebuild(&|leaf| at(leaf, instance))
}

/// The instances inside of an unrolled loop, given those around it, in order; `None` where their number is not known,
/// or is too large.
pub fn expand(inner: &For, around: &[Instance]) -> Option<Vec<Instance>> {
    let mut instances = Vec::new();
    for instance in around {
        let (first, trips) = values(&inner.lower, &inner.upper, inner.step, instance)?;
        if instances.len() + trips > MAX_INSTANCES {
            return None;
        }
        for trip in 0..trips {
            let offset = i64::try_from(trip).ok()?.checked_mul(inner.step)?;
            let mut instance = instance.clone();
            instance.insert(inner.var, first.clone() + offset);
            instances.push(instance);
        }
    }
    Some(instances)
}

/// The first value of a range at an instance, and how many it has, if that is a constant.
pub fn values(
    lower: &[Index],
    upper: &[Index],
    step: i64,
    instance: &Instance,
) -> Option<(Index, usize)> {
    let (mut lowers, mut uppers) = (Vec::new(), Vec::new());
    lower.iter().for_each(|bound| flatten_max(&at(bound, instance), &mut lowers));
    upper.iter().for_each(|bound| flatten_min(&at(bound, instance), &mut uppers));
    let simple = |bound: &Index| Linear::of(bound).map(|linear| linear.to_index());
    // One of the bounds must be the extreme one, whatever the variables are.
    let extreme = |list: &[Index], beyond: &dyn Fn(i64) -> bool| -> Option<Index> {
        let best = list.iter().find(|bound| {
            list.iter().all(|other| other.constant_difference(bound).is_some_and(beyond))
        })?;
        simple(best)
    };
    let first = extreme(&lowers, &|difference| difference <= 0)?;
    let last = extreme(&uppers, &|difference| difference >= 0)?;
    let length = last.constant_difference(&first)?;
    let trips = if length <= 0 { 0 } else { (length - 1) / step.max(1) + 1 };
    Some((first, usize::try_from(trips).ok()?))
}

#[cfg(test)]
mod tests {
    use crate::{Module, Stmt, parse};

    fn instances(body: &str) -> String {
        let text = format!(
            "module(N)\nbuffer A : f64[N]\nfunc f(inout A) {{ for b = 0 to N {{ {body} }} }}"
        );
        let module: Module = parse(&text).unwrap();
        let Stmt::For(outer) = &module.functions[0].body[0] else { panic!() };
        let mut around = vec![super::Instance::new()];
        let mut stmt = &outer.body[0];
        while let Stmt::For(inner) = stmt {
            match super::expand(inner, &around) {
                Some(inside) => around = inside,
                None => return "unknown".to_owned(),
            }
            stmt = &inner.body[0];
        }
        let show = |instance: &super::Instance| {
            instance.values().map(|index| index.to_string()).collect::<Vec<_>>().join(" ")
        };
        around.iter().map(show).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn rectangles_and_triangles() {
        let store = "{ A[0] = 1.0 }";
        let of = |heads: &str| instances(&format!("{heads} {store}"));
        assert_eq!(of("unroll i = b to b + 2"), "v0; v0 + 1");
        assert_eq!(
            instances(&format!("unroll i = b to b + 3 step 2 {{ unroll j = 0 to 2 {store} }}")),
            "v0 0; v0 1; v0 + 2 0; v0 + 2 1"
        );
        assert_eq!(
            instances(&format!("unroll i = b to b + 2 {{ unroll j = i to b + 2 {store} }}")),
            "v0 v0; v0 v0 + 1; v0 + 1 v0 + 1"
        );
        assert_eq!(of("unroll i = max(b, b + 1) to min(b + 2, b + 7)"), "v0 + 1");
        assert_eq!(of("unroll i = b + 2 to b"), "");
        assert_eq!(of("unroll i = b to N"), "unknown");
        assert_eq!(of("unroll i = 0 to 1000"), "unknown");
        assert_eq!(of("unroll i = max(b, 3) to b + 2"), "unknown");
    }
}
