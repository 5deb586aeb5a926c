//! What is wanted of loops: choices that are made before, for the loops around the stores to a buffer.
//!
//! A plan names loops as their variables are named. What it says is done wherever it can be; what it does not say is chosen.

use std::collections::BTreeMap;

use super::split::{pieces, side_by_side};
use super::{Nest, Tiler};
use crate::ir::*;
use crate::unroll::{self, Instance};

/// What is wanted of the loops around the stores to one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Loops stay in their order, but for those that are unrolled.
    pub ordered: bool,
    /// Loops with the number of iterations that are executed side by side; 1 is none.
    pub unroll: Vec<(String, i64)>,
    /// The loop whose elements, or terms, are to be in the lanes of vectors, where they can be.
    pub lanes: Option<String>,
    /// Loops and sums that are in blocks of so many iterations already.
    pub blocked: Vec<(String, i64)>,
    /// The loops of which the outermost is shared among threads; the outermost of all where there is none.
    pub parallel: Vec<String>,
}

/// Plans by the buffer that is stored to.
pub type Plans = BTreeMap<BufferId, Plan>;

impl Tiler<'_> {
    /// The factor that is wanted for a loop.
    pub(super) fn wanted(&self, buffer: BufferId, var: VarId) -> Option<i64> {
        let plan = self.plans.get(&buffer)?;
        let name = self.function.vars.get(var.0 as usize)?;
        plan.unroll.iter().find(|(other, _)| other == name).map(|(_, factor)| *factor)
    }

    /// Whether elements of a loop may be in lanes: those of another, or the terms of a sum, may be wanted there.
    pub(super) fn may_be_in_lanes(&self, buffer: BufferId, var: VarId) -> bool {
        let wanted = self.plans.get(&buffer).and_then(|plan| plan.lanes.as_ref());
        wanted.is_none_or(|wanted| self.function.vars.get(var.0 as usize) == Some(wanted))
    }

    /// How many iterations at most a loop or sum has that is in blocks.
    pub(super) fn blocked(&self, buffer: BufferId, var: VarId) -> Option<i64> {
        let plan = self.plans.get(&buffer)?;
        let name = self.function.vars.get(var.0 as usize)?;
        plan.blocked.iter().find(|(other, _)| other == name).map(|(_, size)| *size)
    }

    /// Gives sums the factors that are wanted.
    pub(super) fn unroll_sums(&self, body: &mut [Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::For(inner) => self.unroll_sums(&mut inner.body),
                Stmt::Share(inner) => self.unroll_sums(&mut inner.body),
                // Made later.
                Stmt::Partial(_)
                | Stmt::Team(_)
                | Stmt::Call(_)
                | Stmt::While(_)
                | Stmt::CoIter(_)
                | Stmt::Workspace(_)
                | Stmt::Let(_)
                | Stmt::Register(_) => {}
                Stmt::If(inner) => {
                    self.unroll_sums(&mut inner.then);
                    self.unroll_sums(&mut inner.otherwise);
                }
                Stmt::Store(store) if self.plans.contains_key(&store.buffer) => {
                    self.unroll_sums_of(&mut store.value, store.buffer);
                }
                Stmt::Store(_) => {}
            }
        }
    }

    fn unroll_sums_of(&self, value: &mut Value, buffer: BufferId) {
        match value {
            Value::Const(_) | Value::Load(..) | Value::FromIndex(_) => {}
            Value::Add(left, right)
            | Value::Mul(left, right)
            | Value::Div(left, right)
            | Value::Min(left, right)
            | Value::Max(left, right) => {
                self.unroll_sums_of(left, buffer);
                self.unroll_sums_of(right, buffer);
            }
            Value::Truth(inside) => self.unroll_sums_of(inside, buffer),
            Value::Sum(sum) => {
                sum.unroll = self.wanted(buffer, sum.var).or(sum.unroll);
                self.unroll_sums_of(&mut sum.body, buffer);
            }
        }
    }

    /// A loop that is in no nest that can be tiled, in pieces as wanted.
    ///
    /// Before -> after, with a factor of 2: `for i = a to b { s(i) }` ->
    /// `for it = a to b - 1 step 2 { s(it) s(it + 1) } for i = a + 2 * ((b - a) / 2) to b { s(i) }`.
    pub(super) fn unrolled(&mut self, inner: For) -> Vec<Stmt> {
        let wanted = stores_to(&inner.body).and_then(|buffer| self.wanted(buffer, inner.var));
        let factor = wanted.filter(|factor| *factor > 1 && inner.step == 1);
        let Some(factor) = factor.filter(|_| inner.mark != Mark::Unrolled) else {
            return vec![Stmt::For(inner)];
        };
        // Tiles inside of it count.
        let around: Vec<Instance> = (0..factor)
            .map(|at| Instance::from([(inner.var, Index::Var(inner.var) + at)]))
            .collect();
        if inner.mark == Mark::THREADS && !fits(&inner.body, &around) {
            return vec![Stmt::For(inner)];
        }
        let mut result = Vec::new();
        for piece in pieces(&inner.lower, &inner.upper, &[factor, 1]) {
            let (var, size) = match piece.size {
                1 => (inner.var, 1),
                size => (self.fresh(inner.var, "t"), size),
            };
            let start = Index::Var(var);
            let body = match inner.mark {
                Mark::Parallel(_) => side_by_side(inner.var, &start, size, inner.body.clone()),
                // One after the other, in the same order.
                _ => (0..size)
                    .flat_map(|at| {
                        let at = start.clone() + at;
                        let copy = |stmt: &Stmt| stmt.clone().substitute(inner.var, &at);
                        inner.body.iter().map(copy).collect::<Vec<_>>()
                    })
                    .collect(),
            };
            let (lower, upper, step) = (piece.lower, piece.upper, piece.size);
            result.push(Stmt::For(For { var, lower, upper, step, mark: inner.mark, body }));
        }
        result
    }

    /// Whether the outermost loop of a nest is the one to be shared, or none of its loops is.
    pub(super) fn shares_outermost(&self, nest: &Nest) -> bool {
        let Some(plan) = self.plans.get(&nest.store.buffer) else { return true };
        let place = nest.levels.iter().position(|level| self.named(level.var, &plan.parallel));
        place.is_none_or(|place| place == 0)
    }

    /// Makes the loops around the one that is to be shared sequential.
    pub(super) fn share(&self, body: &mut [Stmt]) {
        for stmt in body {
            let Some(buffer) = stores_to(std::slice::from_ref(stmt)) else {
                self.share_inside(stmt);
                continue;
            };
            if let Some(plan) = self.plans.get(&buffer).filter(|plan| !plan.parallel.is_empty()) {
                self.share_as(stmt, &plan.parallel);
            }
        }
    }

    fn share_inside(&self, stmt: &mut Stmt) {
        match stmt {
            Stmt::For(inner) => self.share(&mut inner.body),
            Stmt::Share(inner) => self.share(&mut inner.body),
            // Where nothing is planned.
            Stmt::Partial(_)
            | Stmt::Team(_)
            | Stmt::Call(_)
            | Stmt::While(_)
            | Stmt::CoIter(_)
            | Stmt::Workspace(_)
            | Stmt::Let(_)
            | Stmt::Register(_) => {}
            Stmt::If(inner) => {
                self.share(&mut inner.then);
                self.share(&mut inner.otherwise);
            }
            Stmt::Store(_) => {}
        }
    }

    /// Whether there is such a loop in it.
    fn share_as(&self, stmt: &mut Stmt, names: &[String]) -> bool {
        match stmt {
            Stmt::For(inner) if self.named(inner.var, names) && inner.mark == Mark::THREADS => true,
            Stmt::Share(inner) => self.named(inner.begin, names),
            Stmt::Partial(_)
            | Stmt::Team(_)
            | Stmt::Call(_)
            | Stmt::While(_)
            | Stmt::CoIter(_)
            | Stmt::Workspace(_)
            | Stmt::Let(_)
            | Stmt::Register(_) => false,
            // What is inside of a tile is on one thread.
            Stmt::For(inner) if inner.mark == Mark::Unrolled => false,
            Stmt::For(inner) => {
                let mut found = false;
                inner.body.iter_mut().for_each(|stmt| found |= self.share_as(stmt, names));
                if found && inner.mark == Mark::THREADS {
                    inner.mark = Mark::Sequential;
                }
                found
            }
            Stmt::If(inner) => {
                let mut found = false;
                let all = inner.then.iter_mut().chain(&mut inner.otherwise);
                all.for_each(|stmt| found |= self.share_as(stmt, names));
                found
            }
            Stmt::Store(_) => false,
        }
    }

    /// Whether a loop, or the one that it was cut from, has one of these names.
    fn named(&self, var: VarId, names: &[String]) -> bool {
        let var = self.origins.get(&var).copied().unwrap_or(var);
        self.function.vars.get(var.0 as usize).is_some_and(|name| names.contains(name))
    }
}

/// Whether so many iterations, together with loops that are unrolled inside of them, can be side by side.
fn fits(body: &[Stmt], around: &[Instance]) -> bool {
    body.iter().all(|stmt| match stmt {
        Stmt::For(inner) if inner.mark == Mark::Unrolled => {
            unroll::expand(inner, around).is_some_and(|inside| fits(&inner.body, &inside))
        }
        Stmt::For(inner) => fits(&inner.body, around),
        Stmt::Share(inner) => fits(&inner.body, around),
        Stmt::Partial(inner) => fits(&inner.body, around),
        Stmt::Team(_)
        | Stmt::Call(_)
        | Stmt::Register(_)
        | Stmt::While(_)
        | Stmt::CoIter(_)
        | Stmt::Workspace(_)
        | Stmt::Let(_) => false,
        Stmt::If(inner) => fits(&inner.then, around) && fits(&inner.otherwise, around),
        Stmt::Store(_) => true,
    })
}

/// The one buffer that is stored to, if it is one.
fn stores_to(body: &[Stmt]) -> Option<BufferId> {
    let mut found: Option<BufferId> = None;
    for stmt in body {
        let here = match stmt {
            Stmt::For(inner) => stores_to(&inner.body),
            Stmt::Share(inner) => stores_to(&inner.body),
            Stmt::Partial(inner) => Some(inner.buffer),
            Stmt::Team(_)
            | Stmt::Call(_)
            | Stmt::Register(_)
            | Stmt::While(_)
            | Stmt::CoIter(_)
            | Stmt::Workspace(_)
            | Stmt::Let(_) => None,
            Stmt::If(inner) if inner.otherwise.is_empty() => stores_to(&inner.then),
            Stmt::If(inner) => {
                let then = stores_to(&inner.then);
                then.filter(|then| stores_to(&inner.otherwise) == Some(*then))
            }
            Stmt::Store(store) => Some(store.buffer),
        }?;
        if found.is_some_and(|found| found != here) {
            return None;
        }
        found = Some(here);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::{HEAD, SMALL, compare, nest};
    use super::super::*;
    use crate::{parse, verify};
    use proptest::prelude::*;

    fn planned(body: &str, plan: &Plan, shared: bool) -> (Module, Module) {
        let before = parse(&format!("{HEAD}func f(inout A, in B, in C) {{ {body} }}")).unwrap();
        let mut after = before.clone();
        let machine = SMALL.with_threads(shared);
        tile_as_planned(&mut after, &machine, &Plans::from([(BufferId(0), plan.clone())]));
        assert_eq!(verify(&after), Ok(()), "{after}");
        (before, after)
    }

    fn check(body: &str, plan: &Plan) -> String {
        let (before, after) = planned(body, plan, false);
        for symbols in [[0, 0], [1, 1], [2, 5], [5, 2], [7, 9], [9, 0], [0, 9], [9, 9]] {
            compare(&before, &after, &symbols);
        }
        let text = after.to_string();
        let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
        body.lines().map(|line| format!("{}\n", &line[2..])).collect()
    }

    fn factors(list: &[(&str, i64)]) -> Plan {
        let unroll = list.iter().map(|(name, factor)| ((*name).to_owned(), *factor)).collect();
        Plan { unroll, ..Plan::default() }
    }

    const PRODUCT: &str = "parallel i = 0 to N { parallel j = 0 to M { A[i * 10 + j] = sum(x = 0 to M) B[10 * i + x] * C[10 * j + x] } }";

    #[test]
    fn the_factors_that_are_given() {
        expect_test::expect![[r#"
            parallel i = 0 to N {
              parallel jt = 0 to M - 2 step 3 {
                unroll j = jt to jt + 3 {
                  A[i * 10 + j] = sum(x = 0 to M) B[10 * i + x] * C[10 * j + x]
                }
              }
              parallel j = max(0, 3 * (M / 3)) to M {
                A[i * 10 + j] = sum(x = 0 to M) B[10 * i + x] * C[10 * j + x]
              }
            }
        "#]]
        .assert_eq(&check(PRODUCT, &factors(&[("i", 1), ("j", 3)])));
    }

    #[test]
    fn another_loop_is_shared() {
        let plan = Plan {
            parallel: vec!["j".into()],
            blocked: vec![("x".into(), 64)],
            ..factors(&[("i", 2), ("j", 2)])
        };
        let heads: Vec<String> = check(PRODUCT, &plan).lines().take(2).map(Into::into).collect();
        assert_eq!(heads, ["for it = 0 to N - 1 step 2 {", "  parallel jt = 0 to M - 1 step 2 {"]);
    }

    #[test]
    fn loops_that_are_in_no_nest() {
        expect_test::expect![[r#"
            for xt = 0 to M - 1 step 2 {
              parallel it = 0 to N - 2 step 3 {
                unroll i = it to it + 3 {
                  A[i] += B[10 * xt + i] * C[xt]
                }
              }
              parallel i = max(0, 3 * (N / 3)) to N {
                A[i] += B[10 * xt + i] * C[xt]
              }
              parallel it = 0 to N - 2 step 3 {
                unroll i = it to it + 3 {
                  A[i] += B[10 * (xt + 1) + i] * C[xt + 1]
                }
              }
              parallel i = max(0, 3 * (N / 3)) to N {
                A[i] += B[10 * (xt + 1) + i] * C[xt + 1]
              }
            }
            for x = max(0, 2 * (M / 2)) to M {
              parallel it = 0 to N - 2 step 3 {
                unroll i = it to it + 3 {
                  A[i] += B[10 * x + i] * C[x]
                }
              }
              parallel i = max(0, 3 * (N / 3)) to N {
                A[i] += B[10 * x + i] * C[x]
              }
            }
        "#]]
        .assert_eq(&check(
            "for x = 0 to M { parallel i = 0 to N { A[i] += B[10 * x + i] * C[x] } }",
            &factors(&[("x", 2), ("i", 3)]),
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

        #[test]
        fn plans_keep_the_meaning(
            choices in prop::collection::vec(0usize..1000, 40),
            factors in prop::collection::vec(1i64..9, 3),
            given in prop::collection::vec(any::<bool>(), 3),
            ordered: bool,
            whole: bool,
            loop_to_share in 0usize..4,
            loop_in_lanes in 0usize..6,
            shared: bool,
            chains: bool,
        ) {
            let mut choices = choices.into_iter().cycle();
            let body = nest(|n| choices.next().unwrap_or(0) % n);
            let names = ["i", "j", "k"].map(str::to_owned);
            let all = names.iter().cloned().zip(factors).zip(&given);
            let mut plan = Plan {
                ordered,
                unroll: all.filter(|(_, given)| **given).map(|(pair, _)| pair).take(2).collect(),
                blocked: if whole { vec![("x".into(), 64)] } else { Vec::new() },
                lanes: names.get(loop_in_lanes).cloned(),
                parallel: names.get(loop_to_share).cloned().into_iter().collect(),
            };
            if chains {
                plan.unroll.push(("x".into(), 3));
            }
            let (before, after) = planned(&body, &plan, shared);
            // Sums are told as well.
            prop_assert_eq!(after.to_string().contains("unroll 3"), chains);
            for symbols in [[0, 0], [1, 1], [3, 8], [8, 3], [10, 10], [7, 0], [0, 7]] {
                compare(&before, &after, &symbols);
            }
        }
    }
}
