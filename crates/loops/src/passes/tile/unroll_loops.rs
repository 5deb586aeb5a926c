//! Loops that are in no nest that is tiled, in pieces of so many iterations as a schedule wants.
//!
//! Before -> after, with a factor of 2: `for i = a to b hint(unroll 2) { s(i) }` ->
//! `for it = a to b - 1 step 2 { s(it) s(it + 1) } for i = a + 2 * ((b - a) / 2) to b { s(i) }`.

use super::pieces::{Side, pieces};
use super::walk::{Walk, each_function};
use crate::ir::*;
use crate::passes::Context;
use crate::unroll::{self, Instance};

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_function(module, context, unroll);
}

fn unroll(walk: &mut Walk<'_>, body: &mut Vec<Stmt>) {
    let mut result = Vec::with_capacity(body.len());
    for mut stmt in std::mem::take(body) {
        // Partial sums are never scheduled.
        if !matches!(stmt, Stmt::Partial(_)) {
            stmt.bodies_mut().into_iter().for_each(|body| unroll(walk, body));
        }
        match stmt {
            Stmt::For(inner) => result.extend(walk.unrolled(inner)),
            stmt => result.push(stmt),
        }
    }
    *body = result;
}

impl Walk<'_> {
    fn unrolled(&mut self, inner: For) -> Vec<Stmt> {
        let wanted = self.hint(inner.var).unroll.filter(|_| stores_to(&inner.body).is_some());
        let factor = wanted.filter(|factor| *factor > 1 && inner.step == 1);
        let Some(factor) = factor.filter(|_| inner.mark != Mark::Unrolled) else {
            return vec![Stmt::For(inner)];
        };
        // Tiles inside of it count.
        let around: Vec<Instance> = (0..factor)
            .map(|at| Instance::from([(inner.var, Index::Var(inner.var) + at)]))
            .collect();
        if matches!(inner.mark, Mark::Parallel(_)) && !fits(&inner.body, &around) {
            return vec![Stmt::For(inner)];
        }
        self.function.hints.update(inner.var, |hint| hint.unroll = None);
        let mut result = Vec::new();
        for piece in pieces(&inner.lower, &inner.upper, &[factor, 1]) {
            let (var, size) = match piece.size {
                1 => (inner.var, 1),
                size => (self.fresh(inner.var, "t"), size),
            };
            let start = Index::Var(var);
            let body = match inner.mark {
                Mark::Parallel(_) => {
                    let side = Side { var: inner.var, start: start.clone(), count: size };
                    side.execute(inner.body.clone())
                }
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
}

/// Whether so many iterations, together with loops that are unrolled inside of them, can be side by side.
fn fits(body: &[Stmt], around: &[Instance]) -> bool {
    body.iter().all(|stmt| match stmt {
        Stmt::For(inner) if inner.mark == Mark::Unrolled => {
            unroll::expand(inner, around).is_some_and(|inside| fits(&inner.body, &inside))
        }
        Stmt::For(inner) => fits(&inner.body, around),
        Stmt::Partitioned(inner) => fits(&inner.body, around),
        Stmt::Partial(inner) => fits(&inner.body, around),
        Stmt::If(inner) => fits(&inner.then, around) && fits(&inner.otherwise, around),
        Stmt::Store(_) => true,
        _ => false,
    })
}

/// The one buffer that is stored to, if it is one.
fn stores_to(body: &[Stmt]) -> Option<BufferId> {
    let mut found: Option<BufferId> = None;
    for stmt in body {
        let here = match stmt {
            Stmt::For(inner) => stores_to(&inner.body),
            Stmt::Partitioned(inner) => stores_to(&inner.body),
            Stmt::Partial(inner) => Some(inner.buffer),
            Stmt::If(inner) if inner.otherwise.is_empty() => stores_to(&inner.then),
            Stmt::If(inner) => {
                let then = stores_to(&inner.then);
                then.filter(|then| stores_to(&inner.otherwise) == Some(*then))
            }
            Stmt::Store(store) => Some(store.buffer),
            _ => None,
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
    use crate::passes::tile;
    use crate::*;
    use proptest::prelude::*;

    /// What is wanted of loops, by their names.
    #[derive(Clone, Debug, Default)]
    struct Plan {
        ordered: bool,
        unroll: Vec<(String, i64)>,
        lanes: Option<String>,
        blocked: Vec<(String, i64)>,
        parallel: Vec<String>,
    }

    impl Plan {
        fn note(&self, function: &mut Function) {
            for (at, name) in function.vars.iter().enumerate() {
                let of = |list: &[(String, i64)]| {
                    list.iter().find(|(other, _)| other == name).map(|(_, number)| *number)
                };
                function.hints.update(VarId(at as u32), |hint| {
                    *hint = Hint {
                        scheduled: true,
                        ordered: self.ordered,
                        unroll: of(&self.unroll),
                        vectorize: self.lanes.as_ref().map(|lanes| lanes == name),
                        block: of(&self.blocked),
                        threads: self.parallel.contains(name),
                        ..Hint::default()
                    };
                });
            }
        }
    }

    fn planned(body: &str, plan: &Plan, shared: bool) -> (Module, Module) {
        let before = parse(&format!("{HEAD}func f(inout A, in B, in C) {{ {body} }}")).unwrap();
        let mut after = before.clone();
        let machine = SMALL.with_threads(shared);
        plan.note(&mut after.functions[0]);
        tile(&mut after, &machine);
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

    const PRODUCT: &str = "parallel i = 0 to N { parallel j = 0 to M { A[i * 10 + j] = sum(x = 0 to M) B[10 * i + x] \
        * C[10 * j + x] } }";

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
