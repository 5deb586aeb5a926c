//! Loops and sums with steps, and rows whose sums begin where their remainder says, as loops by steps of 1.
//!
//! Tiles are of neighbouring rows, and sums are cut into blocks of neighbouring terms. So what has strides is counted
//! in strides, and the rows of each remainder become a nest of their own.
//!
//! Before -> after:
//! ```text
//! i = 0 to N step 2 { A[i / 2] = sum(j = 0 to N) B[N * i + j] }
//! ```
//! becomes `is = 0 to (N + 1) / 2 { A[is] = sum(j = 0 to N) B[N * (2 * is) + j] }`, and
//! ```text
//! i = 0 to N { A[i] = sum(j = i % 2 to N step 2) B[p(i / 2) + j / 2] }
//! ```
//! becomes
//! ```text
//! r = 0 to 2 { is = 0 to (N - r + 1) / 2 { A[2 * is + r] = sum(js = 0 to (N - r + 1) / 2) B[p(is) + js] } }
//! ```

use super::nest::{Level, Nest};
use super::pieces::simplified;
use super::walk::{Walk, each_statement};
use crate::ir::*;
use crate::linear::{Facts, reduced};
use crate::passes::Context;

/// Rows have at most so many remainders: each is passed over by itself.
const MOST: i64 = 16;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_statement(module, context, |walk, stmt| {
        let chain = Chain::of(stmt)?;
        let nest = Nest { levels: chain.plain(), first: None, store: chain.store.clone() };
        if nest.is_scheduled(&walk.function.hints) {
            return None;
        }
        chain.by_ones(walk).map(|stmt| vec![stmt])
    });
}

/// Loops with steps, conditions between them, and a store.
#[derive(Clone)]
struct Chain {
    /// With their steps.
    levels: Vec<(Level, i64)>,
    guards: Vec<Condition>,
    store: Store,
}

impl Chain {
    fn of(stmt: &Stmt) -> Option<Chain> {
        let (mut levels, mut guards, mut stmt) = (Vec::new(), Vec::new(), stmt);
        loop {
            let body = match stmt {
                Stmt::For(inner) if inner.mark == Mark::THREADS => {
                    let (lower, upper) = (inner.lower.clone(), inner.upper.clone());
                    levels.push((Level { var: inner.var, lower, upper }, inner.step));
                    &inner.body
                }
                Stmt::If(inner) if inner.otherwise.is_empty() => {
                    guards.extend(inner.condition.clone().conjuncts());
                    &inner.then
                }
                Stmt::Store(store) => {
                    let store = store.clone();
                    let apart = !store.value.loads(store.buffer);
                    return apart.then_some(Chain { levels, guards, store });
                }
                _ => return None,
            };
            let [only] = &body[..] else { return None };
            stmt = only;
        }
    }

    fn plain(&self) -> Vec<Level> {
        self.levels.iter().map(|(level, _)| level.clone()).collect()
    }

    /// The same by steps of 1; `None` where nothing has steps, or where that is not possible.
    fn by_ones(&self, walk: &mut Walk<'_>) -> Option<Stmt> {
        let mut chain = self.clone();
        let mut changed = chain.loops(walk);
        // A loop with steps that begins at the largest of several bounds stays.
        if chain.levels.iter().any(|(_, step)| *step != 1) {
            return None;
        }
        changed |= chain.sums(walk);
        let mut remainders = None;
        if let Some((at, base)) = chain.remainders() {
            let (apart, of) = chain.apart(walk, at, base)?;
            (chain, remainders, changed) = (apart, Some(of), true);
        }
        let within =
            |guard: &Condition| chain.levels.iter().all(|(level, _)| !guard.mentions(level.var));
        if !changed || !chain.guards.iter().all(within) {
            return None;
        }
        let nest = Nest { levels: chain.plain(), first: None, store: chain.store };
        let mut body = nest.statements();
        if !chain.guards.is_empty() {
            body = vec![Stmt::when(Condition::all(chain.guards), body)];
        }
        if let Some((var, base)) = remainders {
            return Some(Stmt::For(For::new(var, 0.into(), base.into(), body)));
        }
        let [only] = <[Stmt; 1]>::try_from(body).ok()?;
        Some(only)
    }

    /// Has loops with steps counted in steps. Gives whether there were some.
    fn loops(&mut self, walk: &mut Walk<'_>) -> bool {
        let mut changed = false;
        for at in 0..self.levels.len() {
            let (level, step) = self.levels[at].clone();
            let ([lower], true) = (&level.lower[..], step > 1) else { continue };
            let var = walk.fresh(level.var, "s");
            let value = lower.clone() + Index::Const(step) * Index::Var(var);
            let upper = level.upper.iter().map(|end| steps(lower, end, step)).collect();
            self.substitute(level.var, &value);
            self.levels[at] = (Level { var, lower: vec![Index::Const(0)], upper }, 1);
            changed = true;
        }
        changed
    }

    /// The same for sums.
    fn sums(&mut self, walk: &mut Walk<'_>) -> bool {
        let mut stepped = Vec::new();
        self.store.value.visit(&mut |value| {
            if let Value::Sum(sum) = value
                && sum.step > 1
                && sum.lower.len() == 1
            {
                stepped.push(sum.var);
            }
        });
        for old in &stepped {
            let var = walk.fresh(*old, "s");
            self.store.value = self.store.value.map_sums(&|sum| {
                let ([lower], true) = (&sum.lower[..], sum.var == *old && sum.step > 1) else {
                    return Value::Sum(Box::new(sum));
                };
                let value = lower.clone() + Index::Const(sum.step) * Index::Var(var);
                let body = sum.body.substitute(*old, &value).map_indices(&reduced);
                let condition = sum.condition.map(|one| one.substitute(*old, &value));
                Value::Sum(Box::new(Sum {
                    var,
                    lower: vec![Index::Const(0)],
                    upper: sum.upper.iter().map(|end| steps(lower, end, sum.step)).collect(),
                    step: 1,
                    condition: condition.map(|one| one.map_indices(&reduced)),
                    fetch: Vec::new(),
                    body,
                    ..sum
                }))
            });
        }
        !stepped.is_empty()
    }

    /// The first loop on whose remainder sums and conditions depend, and by what it is divided there.
    fn remainders(&self) -> Option<(usize, i64)> {
        let mut ranges = ranges(&self.store.value);
        if ranges.is_empty() {
            return None;
        }
        for guard in &self.guards {
            guard.visit(&mut |index| ranges.push(index.clone()));
        }
        self.levels.iter().enumerate().find_map(|(at, (level, _))| {
            let mut base = 1;
            ranges.iter().for_each(|index| {
                index.visit(&mut |index| {
                    if let Index::FloorDiv(value, by) | Index::Mod(value, by) = index
                        && value.mentions(level.var)
                    {
                        base = common_multiple(base, *by);
                    }
                });
            });
            (2..=MOST).contains(&base).then_some((at, base))
        })
    }

    /// A chain for each remainder of a loop's variable, with the variable for the remainder, if that is all that sums
    /// and conditions depend on.
    fn apart(&self, walk: &mut Walk<'_>, at: usize, base: i64) -> Option<(Chain, (VarId, i64))> {
        let mut chain = self.clone();
        let (level, _) = &self.levels[at];
        let (var, rest) = (walk.fresh(level.var, "s"), walk.fresh(level.var, "r"));
        let value = Index::Const(base) * Index::Var(var) + Index::Var(rest);
        let bound = |bound: &Index| match bound {
            Index::Const(bound) if bound % base == 0 => Index::Const(bound / base),
            bound => reduced(&(bound.clone() - Index::Var(rest) + (base - 1)).floor_div(base)),
        };
        let lower = level.lower.iter().map(bound).collect();
        let upper = level.upper.iter().map(bound).collect();
        chain.substitute(level.var, &value);
        chain.levels[at] = (Level { var, lower, upper }, 1);
        chain.map(&|index| simplified(reduced(&digit(index, rest, base))));
        chain.without_implied((rest, base));
        let plain = |range: &Index| {
            let mut quotients = false;
            range.visit(&mut |index| {
                let divides = matches!(index, Index::FloorDiv(..) | Index::Mod(..));
                quotients |= divides && index.mentions(var);
            });
            // Rows of a block that have the same range are to stay together.
            let of_block = range.constant_stride(var) == Some(base) && !range.mentions(rest);
            !quotients && !of_block
        };
        let (ranges, guards) = (ranges(&chain.store.value), &chain.guards);
        let free = ranges.iter().all(plain) && guards.iter().all(|guard| !guard.mentions(var));
        free.then_some((chain, (rest, base)))
    }

    /// Drops conditions that hold in all iterations.
    fn without_implied(&mut self, (rest, base): (VarId, i64)) {
        let mut facts = Facts::default();
        facts.assume_range(rest, &[Index::Const(0)], &[Index::Const(base)]);
        for (level, _) in &self.levels {
            facts.assume_range(level.var, &level.lower, &level.upper);
        }
        self.guards.retain(|guard| !facts.imply(guard));
    }

    fn substitute(&mut self, var: VarId, by: &Index) {
        self.map(&|index| reduced(&index.substitute(var, by)));
    }

    /// Rewrites all integer expressions.
    fn map(&mut self, go: &dyn Fn(&Index) -> Index) {
        for (level, _) in &mut self.levels {
            for bound in level.lower.iter_mut().chain(&mut level.upper) {
                *bound = go(bound);
            }
        }
        for guard in &mut self.guards {
            *guard = guard.map_indices(go);
        }
        self.store.index = go(&self.store.index);
        self.store.value = self.store.value.map_indices(go);
    }
}

/// The bounds of all sums.
fn ranges(value: &Value) -> Vec<Index> {
    let mut ranges: Vec<Index> = Vec::new();
    value.visit(&mut |value| {
        if let Value::Sum(sum) = value {
            ranges.extend(sum.lower.iter().chain(&sum.upper).cloned());
        }
    });
    ranges
}

/// How many steps there are from one bound to another.
fn steps(lower: &Index, upper: &Index, step: i64) -> Index {
    reduced(&(upper.clone() - lower.clone() + (step - 1)).floor_div(step))
}

fn common_multiple(left: i64, right: i64) -> i64 {
    let (mut one, mut other) = (left, right);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    left.saturating_mul(right / one)
}

/// An expression with what is known of a remainder by a number.
fn digit(index: &Index, rest: VarId, base: i64) -> Index {
    let index = index.map_parts(&mut |part| digit(part, rest, base));
    match &index {
        Index::FloorDiv(value, by) if **value == Index::Var(rest) && *by >= base => Index::Const(0),
        Index::Mod(value, by) if **value == Index::Var(rest) && *by >= base => Index::Var(rest),
        _ => index,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::pieces;

    #[test]
    fn steps_are_counted() {
        expect_test::expect![[r#"
            parallel is = 0 to (N + 1) / 3 {
              parallel k = 0 to M {
                A[10 * (3 * is + 1) + k] = sum(j = 0 to N) B[N * is + j] * C[M * j + k]
              }
            }
        "#]]
        .assert_eq(&pieces(
            "strides",
            "parallel i = 1 to N step 3 { parallel k = 0 to M { \
             A[10 * i + k] = sum(j = 0 to N) B[N * (i / 3) + j] * C[M * j + k] } }",
        ));
        expect_test::expect![[r#"
            for ir = 0 to 2 {
              if ir < M {
                parallel is = 0 to (N - ir + 1) / 2 {
                  parallel k = 0 to M {
                    A[20 * is + 10 * ir + k] = sum(js = 0 to (N - ir + 1) / 2) B[N * (is + 0) + js + is + ir] * C[M * (ir + 2 * js) + k]
                  }
                }
              }
            }
        "#]].assert_eq(&pieces(
            "strides",
            "parallel i = 0 to N { if i % 2 < M { parallel k = 0 to M { A[10 * i + k] = \
             sum(j = i % 2 to N step 2) B[N * (i / 2) + (i + j) / 2] * C[M * j + k] } } }",
        ));
        // A triangle of strides.
        let text = pieces(
            "strides",
            "parallel i = 0 to N { if i % 4 < i + 1 { \
             A[i] = sum(j = i % 4 to i + 1 step 4) B[10 * i + j] * C[j] } }",
        );
        assert!(text.contains("sum(js = 0 to is + 1)") && !text.contains("if"), "{text}");
        // Not all steps can be counted.
        let begins = "parallel i = max(M, 2) to N step 2 { A[i] = sum(j = 0 to N step 2) B[10 * i + j] * C[j] }";
        assert!(!pieces("strides", begins).contains("is"));
        // Rows of a quotient stay together.
        let other = "parallel i = 0 to N { A[i] = sum(j = i - i % 4 to N) B[10 * i + j] }";
        assert!(!pieces("strides", other).contains("is"));
    }
}
