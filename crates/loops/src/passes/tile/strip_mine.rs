//! Strip-mining: a loop becomes two, over the quotients and the remainders of its variable.
//!
//! Before -> after, where 16 rows begin at the same column:
//! ```text
//! i = 0 to N { A[i] = sum(j = i - i % 16 to N) B[p(i / 16) + i + j] .. }
//! ```
//! becomes
//! ```text
//! b = 0 to (N + 15) / 16 { w = 0 to min(16, N - 16 * b) {
//!   A[16 * b + w] = sum(j = 16 * b to N) B[p(b) + 16 * b + w + j] ..
//! } }
//! ```
//! so that the sums of one block have the same terms, and indices are polynomials.

use super::few::MANY;
use super::guarded::{Guarded, guarded};
use super::nest::{Level, Nest};
use super::walk::each_statement;
use crate::ir::*;
use crate::linear::Linear;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_statement(module, context, |walk, stmt| {
        let Guarded { guards, nest, .. } = Guarded::of(stmt).filter(|_| walk.statements <= MANY)?;
        if nest.is_scheduled(&walk.function.hints) {
            return None;
        }
        let nest = strip_mined(&nest, &mut walk.function.vars)?;
        Some(guarded(guards, nest.statements()))
    });
}

/// The nest with a loop for the quotient and one for the remainder of its first variable that sums divide, if they
/// divide it by one constant.
fn strip_mined(nest: &Nest, vars: &mut Vec<String>) -> Option<Nest> {
    let Nest { levels, store, .. } = nest;
    let (at, base) = levels.iter().enumerate().find_map(|(at, level)| {
        let mut sums = false;
        store.value.visit(&mut |value| {
            if let Value::Sum(sum) = value {
                let mut bounds = sum.lower.iter().chain(&sum.upper);
                sums |= bounds.any(|bound| base_of(bound, level.var).is_ok_and(|base| base > 1));
            }
        });
        if !sums {
            return None;
        }
        let mut base = base_of(&store.index, level.var);
        store.value.visit_indices(&mut |index| {
            base = match (base, base_of(index, level.var)) {
                (Ok(1), other) | (other, Ok(1)) => other,
                (Ok(one), Ok(other)) if one == other => Ok(one),
                _ => Err(()),
            };
        });
        for bound in levels.iter().flat_map(|level| level.lower.iter().chain(&level.upper)) {
            if base_of(bound, level.var) != Ok(1) {
                base = Err(());
            }
        }
        base.ok().filter(|base| *base > 1).map(|base| (at, base))
    })?;
    let level = &levels[at];
    if level.lower != [Index::Const(0)] {
        return None;
    }
    let name = vars.get(level.var.0 as usize).cloned().unwrap_or_default();
    let mut fresh = |mark: &str| {
        vars.push(format!("{name}{mark}"));
        VarId(vars.len() as u32 - 1)
    };
    let (high, low) = (fresh("h"), fresh("l"));
    let digits = Digits { var: level.var, base, high, low };
    let start = Index::Const(base) * Index::Var(high);
    let mut result: Vec<Level> = Vec::new();
    for (other, inner) in levels.iter().enumerate() {
        let all = |list: &[Index]| list.iter().map(|index| digits.of(index)).collect::<Vec<_>>();
        if other != at {
            let (lower, upper) = (all(&inner.lower), all(&inner.upper));
            result.push(Level { var: inner.var, lower, upper });
            continue;
        }
        let blocks = |bound: &Index| (bound.clone() + (base - 1)).floor_div(base);
        let upper = inner.upper.iter().map(blocks).collect();
        result.push(Level { var: high, lower: vec![Index::Const(0)], upper });
        let mut upper = vec![Index::Const(base)];
        upper.extend(inner.upper.iter().map(|bound| bound.clone() - start.clone()));
        result.push(Level { var: low, lower: vec![Index::Const(0)], upper });
    }
    let index = digits.of(&store.index);
    let value = store.value.map_indices(&|index| digits.of(index));
    let store = Store { index, value, ..store.clone() };
    Some(Nest { levels: result, store, ..nest.clone() })
}

/// The number that a variable is divided by, 1 if there is none; an error if there are several, or if the variable is
/// divided together with others.
fn base_of(index: &Index, var: VarId) -> Result<i64, ()> {
    let mut base = Ok(1);
    index.visit(&mut |index| {
        let (value, by) = match index {
            Index::FloorDiv(value, by) | Index::Mod(value, by) => (value, *by),
            Index::Quotient(value, other) if value.mentions(var) || other.mentions(var) => {
                base = Err(());
                return;
            }
            _ => return,
        };
        if value.mentions(var) {
            let fits =
                **value == Index::Var(var) && by > 1 && base.is_ok_and(|b| b == 1 || b == by);
            base = if fits { Ok(by) } else { Err(()) };
        }
    });
    base
}

struct Digits {
    var: VarId,
    base: i64,
    high: VarId,
    low: VarId,
}

impl Digits {
    fn of(&self, index: &Index) -> Index {
        let index = self.replaced(index);
        Linear::of(&index).map_or(index, |linear| linear.to_index())
    }

    fn replaced(&self, index: &Index) -> Index {
        let go = |index: &Index| self.replaced(index);
        let digit = |index: &Index| *index == Index::Var(self.var);
        match index {
            Index::FloorDiv(value, by) if *by == self.base && digit(value) => Index::Var(self.high),
            Index::Mod(value, by) if *by == self.base && digit(value) => Index::Var(self.low),
            Index::Var(var) if *var == self.var => {
                Index::Const(self.base) * Index::Var(self.high) + Index::Var(self.low)
            }
            Index::Const(_) | Index::Symbol(_) | Index::Var(_) => index.clone(),
            Index::Add(left, right) => go(left) + go(right),
            Index::Sub(left, right) => go(left) - go(right),
            Index::Mul(left, right) => go(left) * go(right),
            Index::Quotient(left, right) => go(left).quotient(go(right)),
            Index::Min(left, right) => go(left).min(go(right)),
            Index::Max(left, right) => go(left).max(go(right)),
            Index::Load(buffer, place) => Index::Load(*buffer, Box::new(go(place))),
            Index::FloorDiv(value, by) => go(value).floor_div(*by),
            Index::Mod(value, by) => go(value).modulo(*by),
            Index::ExactDiv(value, by) => go(value).exact_div(*by),
            Index::Select(condition, then, otherwise) => {
                Index::select(condition.map_indices(&go), go(then), go(otherwise))
            }
            Index::Within(_) => index.map_parts(&mut |part| go(part)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::pieces;

    #[test]
    fn blocks_of_rows() {
        expect_test::expect![[r#"
            parallel ih = 0 to (N + 3) / 4 {
              parallel il = 0 to min(4, N - 4 * ih) {
                parallel k = 0 to M {
                  A[M * (4 * ih + il) + k] = sum(j = 4 * ih to N) B[N * (4 * ih + il) + 3 * ih * ih + j] * C[M * j + k]
                }
              }
            }
        "#]].assert_eq(&pieces(
            "strip-mine",
            "parallel i = 0 to N { if i - i % 4 < N { parallel k = 0 to M {
               A[M * i + k] = sum(j = -1 * (i % 4) + i to N) B[N * i + 3 * (i / 4) * (i / 4) + j] * C[M * j + k] } } }",
        ));
    }
}
