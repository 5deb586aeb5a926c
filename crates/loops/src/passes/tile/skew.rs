//! Skewing: sums over columns become sums over diagonals.
//!
//! A band may be stored by diagonals: neighbours in memory are neighbours on a diagonal, and the index is not linear in
//! the column. With `j = i + d` the index is linear in `i` for each `d`, so that elements can be in the lanes of
//! vectors while the sum runs over diagonals.
//!
//! Before -> after, with `p(d)` for what does not vary with `i`: `A[i] = sum(j = max(0, i - M) to i) B[i * j + ..] *
//! C[j]` -> `A[i] = sum(d = max(-1 * i, -1 * M) to 0) B[p(d) + i] * C[i + d]`. Anti-diagonals are `j = d - i`.

use super::nest::Level;
use super::selections::{in_order, written_outside};
use crate::ir::*;
use crate::lanes;
use crate::linear::Linear;

/// The same store with sums along diagonals; `None` if its terms or elements can be in lanes already, or cannot be in
/// lanes after skewing either.
pub(super) fn along_diagonals(
    levels: &[Level],
    store: &Store,
    vars: &mut Vec<String>,
) -> Option<Store> {
    let order = in_order(levels, store);
    let outside = |value: &Value| value.map_loads(&|index| written_outside(index, &order));
    let plain = Store { value: outside(&store.value), ..store.clone() };
    let mut terms = false;
    plain.value.visit(&mut |value| {
        if let Value::Sum(sum) = value {
            terms |= lanes::of_terms(sum);
        }
    });
    let level_vars = || levels.iter().rev().map(|level| level.var);
    if terms || !lanes::choices(&plain, level_vars()).is_empty() {
        return None;
    }
    level_vars().find_map(|level| {
        let known = vars.len();
        let value = skewed(&store.value, level, vars);
        let Some(value) = value.filter(|_| vars.len() > known) else {
            vars.truncate(known);
            return None;
        };
        let store = Store { value, ..store.clone() };
        let possible = lanes::of_elements(&store, level);
        if !possible {
            vars.truncate(known);
        }
        possible.then_some(store)
    })
}

/// A value whose sums move with a level as lanes do, each as it is or along diagonals.
fn skewed(value: &Value, level: VarId, vars: &mut Vec<String>) -> Option<Value> {
    if let Value::Sum(sum) = value {
        return Some(Value::Sum(Box::new(skewed_sum(sum, level, vars)?)));
    }
    value.try_map_parts(&mut |part| skewed(part, level, vars))
}

fn skewed_sum(sum: &Sum, level: VarId, vars: &mut Vec<String>) -> Option<Sum> {
    let mut inner = false;
    sum.body.visit(&mut |value| inner |= matches!(value, Value::Sum(_)));
    if inner || sum.step != 1 || sum.condition.is_some() {
        return None;
    }
    let moves = |body: &Value| {
        let mut possible = true;
        body.visit(&mut |value| {
            if let Value::Load(_, index) = value {
                let stride = index.constant_stride(level);
                possible &= stride.is_some_and(|stride| (-1..=1).contains(&stride));
            }
        });
        possible
    };
    let normal =
        |body: &Value, var: VarId| body.map_loads(&|index| written_outside(index, &[level, var]));
    let plain = normal(&sum.body, sum.var);
    if moves(&plain) {
        return Some(Sum { body: plain, ..sum.clone() });
    }
    let diagonal = VarId(u32::try_from(vars.len()).ok()?);
    let (i, d) = (Index::Var(level), Index::Var(diagonal));
    let simple = |index: Index| Linear::of(&index).map(|linear| linear.to_index());
    let all = |list: &[Index], f: &dyn Fn(&Index) -> Option<Index>| {
        list.iter().map(f).collect::<Option<Vec<_>>>()
    };
    for opposite in [false, true] {
        let column = if opposite { d.clone() - i.clone() } else { i.clone() + d.clone() };
        let body = normal(&sum.body.substitute(sum.var, &column), diagonal);
        if !moves(&body) {
            continue;
        }
        let shift = |bound: &Index| match opposite {
            true => simple(bound.clone() + i.clone()),
            false => simple(bound.clone() - i.clone()),
        };
        let (lower, upper) = (all(&sum.lower, &shift)?, all(&sum.upper, &shift)?);
        let name = vars.get(sum.var.0 as usize).cloned().unwrap_or_default();
        vars.push(format!("{name}d"));
        return Some(Sum { var: diagonal, lower, upper, body, ..sum.clone() });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::pieces;

    #[test]
    fn a_band_by_diagonals() {
        // `N * d + i - d * (d - 1) / 2` of the diagonal `d = j - i`.
        expect_test::expect![[r#"
            parallel i = 0 to N {
              A[i] = sum(jd = 0 to min(N - i, M)) B[exact((-1 * jd + 1) * jd, 2) + (i + N * jd)] * C[i + jd]
            }
        "#]].assert_eq(&pieces(
            "split-index-sets",
            "parallel i = 0 to N { A[i] = sum(j = i to min(N, i + M))
               B[-1 * N * i + (N + i) * j + exact((-1 * i + 1) * i + (-1 * j + 1) * j, 2)] * C[j] }",
        ));
    }

    #[test]
    fn both_sides() {
        expect_test::expect![[r#"
            parallel i = 0 to N {
              A[i] = sum(jd = max(-1 * i, -1 * M) to min(M + 1, 0)) B[exact((jd + 1) * jd, 2) + (N * N + i + N * jd)] * C[i + jd] + sum(jd = max(-1 * M, 0) to min(N - i, M + 1)) B[exact((-1 * jd + 1) * jd, 2) + (i + N * jd)] * C[i + jd]
            }
        "#]].assert_eq(&pieces(
            "split-index-sets",
            "parallel i = 0 to N { A[i] = sum(j = max(0, i - M) to min(N, i + M + 1))
               B[select(j >= i, -1 * N * i + (N + i) * j + exact((-1 * i + 1) * i + (-1 * j + 1) * j, 2),
                 N * N + -1 * N * i + (N + -1 * i) * j + exact((i + 1) * i + (j + 1) * j, 2))] * C[j] }",
        ));
    }

    #[test]
    fn anti_diagonals() {
        expect_test::expect![[r#"
            parallel i = 0 to N {
              A[i] = sum(jd = i to N) B[i + jd * jd] * C[-1 * i + jd]
            }
        "#]]
        .assert_eq(&pieces(
            "split-index-sets",
            "parallel i = 0 to N { A[i] = sum(j = 0 to N - i) B[(i + j) * (i + j) + i] * C[j] }",
        ));
    }
}
