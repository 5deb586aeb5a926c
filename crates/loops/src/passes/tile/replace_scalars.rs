//! Scalar replacement: loops over stored elements accumulate in a register, not in memory.
//!
//! Such a loop cannot become a [`Sum`] if the number of its terms is not known, or if only some of its statements have
//! terms. If it accumulated in memory, each term would wait until the one before it was stored and loaded again.
//!
//! Before -> after:
//! ```text
//! while p = a if p < b and crd[p] < i + R { y[i] += v[p] * f[crd[p] - i] } then p + 1
//! ```
//! becomes
//! ```text
//! with held of 1 zero {
//!   with any of 1 zero {
//!     while p = a if p < b and crd[p] < i + R { held[0] += v[p] * f[crd[p] - i]  any[0] = index(1) } then p + 1
//!     let some = any[0] { if some == 1 { y[i] += held[0] } }
//!   }
//! }
//! ```
//! An element that gets no terms is not accessed, because it may not exist. LLVM makes registers of workspaces of one
//! element.

use std::collections::BTreeSet;

use super::walk::{Walk, each_function};
use crate::ir::*;
use crate::linear::only_value;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_function(module, context, |walk, body| walk.hold(body));
}

/// What a loop joins to one element.
struct Joined {
    buffer: BufferId,
    element: Element,
    index: Index,
    kind: Reduction,
}

impl Walk<'_> {
    /// Has loops over stored elements hold what they join.
    fn hold(&mut self, body: &mut Vec<Stmt>) {
        for stmt in body {
            let tile = matches!(stmt, Stmt::For(inner) if inner.mark == Mark::Unrolled);
            match joined(stmt, self.buffers) {
                Some(joined) => self.held(stmt, joined),
                None if tile => {}
                None => stmt.bodies_mut().into_iter().for_each(|body| self.hold(body)),
            }
        }
    }

    fn held(&mut self, stmt: &mut Stmt, joined: Joined) {
        let one = Index::Const(1);
        let held = self.workspace("held".into(), joined.element, one.clone());
        let any = self.workspace("any".into(), Element::I64, one.clone());
        let (Some(held), Some(any)) = (held, any) else { return };
        let first = Index::Const(0);
        redirect(stmt, joined.buffer, &[held, any]);
        let some = self.function.fresh_var("some");
        let Joined { buffer, index, kind, .. } = joined;
        let (value, mode) = (Value::load(held, first.clone()), kind.mode());
        let join = Stmt::Store(Store { buffer, index, value, mode, stream: None });
        let test = Stmt::when(Index::Var(some).equal(one.clone()), vec![join]);
        let last = Let { var: some, buffer: any, index: first.clone(), body: vec![test] };
        let mut body = Vec::new();
        let neutral = kind.neutral_in(joined.element);
        let zero = neutral == 0.0;
        if !zero {
            body.push(Stmt::set(held, first, Value::constant(neutral)));
        }
        body.extend([
            std::mem::replace(stmt, Stmt::when(Condition::TRUE, Vec::new())),
            Stmt::Let(last),
        ]);
        let with = |buffer, zero, body| {
            Stmt::Workspace(Workspace { buffer, size: one.clone(), zero, instead: None, body })
        };
        *stmt = with(held, zero, vec![with(any, true, body)]);
    }
}

/// Has the stores to a buffer go to the first element of a workspace, and says in another that there was one.
fn redirect(stmt: &mut Stmt, from: BufferId, [held, any]: &[BufferId; 2]) {
    for body in stmt.bodies_mut() {
        let mut result = Vec::with_capacity(body.len());
        for mut stmt in std::mem::take(body) {
            match &mut stmt {
                Stmt::Store(store) if store.buffer == from => {
                    (store.buffer, store.index, store.stream) = (*held, Index::Const(0), None);
                    let there = Value::from_index(Index::Const(1));
                    result.extend([stmt, Stmt::set(*any, Index::Const(0), there)]);
                }
                _ => {
                    redirect(&mut stmt, from, &[*held, *any]);
                    result.push(stmt);
                }
            }
        }
        *body = result;
    }
}

/// What is in a loop.
#[derive(Default)]
struct Inside<'s> {
    stores: Vec<&'s Store>,
    /// Variables that it binds.
    bound: BTreeSet<VarId>,
    /// Buffers of which it reads elements, or that stand for memory only inside of it.
    others: BTreeSet<BufferId>,
    /// Whether it is over stored elements.
    stored: bool,
    /// Whether there are loops whose iterations may be executed in another order.
    unordered: bool,
}

impl<'s> Inside<'s> {
    fn of(stmt: &'s Stmt) -> Inside<'s> {
        let mut inside = Inside::default();
        stmt.visit(&mut |stmt| inside.add(stmt));
        stmt.visit_values(&mut |value| {
            if let Value::Load(buffer, _) = value {
                inside.others.insert(*buffer);
            }
        });
        inside
    }

    fn add(&mut self, stmt: &'s Stmt) {
        match stmt {
            Stmt::For(inner) => {
                self.bound.insert(inner.var);
                self.stored |= inner.lower.iter().chain(&inner.upper).any(Index::has_loads);
                self.unordered |= inner.mark != Mark::Sequential;
            }
            Stmt::While(inner) => {
                self.bound.extend(inner.vars.iter().map(|(var, _)| *var));
                self.stored = true;
            }
            Stmt::Let(inner) => {
                self.bound.insert(inner.var);
                self.others.insert(inner.buffer);
            }
            Stmt::Scan(inner) => {
                self.bound.insert(inner.var);
                self.others.insert(inner.buffer);
                self.stored = true;
            }
            Stmt::Workspace(inner) => {
                self.others.insert(inner.buffer);
                self.others.extend(inner.instead.iter().map(|(other, _)| *other));
            }
            Stmt::Store(store) => self.stores.push(store),
            Stmt::If(_) => {}
            Stmt::Partitioned(_)
            | Stmt::Partial(_)
            | Stmt::Team(_)
            | Stmt::Call(_)
            | Stmt::Register(_)
            | Stmt::CoIter(_)
            | Stmt::Append(_) => {
                self.unordered = true;
            }
        }
    }

    /// Whether a store is one of those that join something to the same element, with which nothing else is done.
    fn joins(&self, store: &Store) -> bool {
        let mut same = self.stores.iter().filter(|other| other.buffer == store.buffer);
        store.mode.reduction().is_some()
            && same.all(|other| other.index == store.index && other.mode == store.mode)
            && !self.others.contains(&store.buffer)
            && store.index.free_vars().is_disjoint(&self.bound)
    }
}

/// The element to which a loop over stored elements joins its terms.
fn joined(stmt: &Stmt, buffers: &[Buffer]) -> Option<Joined> {
    match stmt {
        Stmt::While(_) => {}
        Stmt::For(inner) if only_value(&inner.lower, &inner.upper, inner.step).is_none() => {}
        _ => return None,
    }
    let inside = Inside::of(stmt);
    if !inside.stored || inside.unordered {
        return None;
    }
    inside.stores.iter().find_map(|store| {
        let element = buffers.get(store.buffer.0 as usize)?.element;
        let kind =
            store.mode.reduction().filter(|_| !element.is_integer() && inside.joins(store))?;
        Some(Joined { buffer: store.buffer, element, index: store.index.clone(), kind })
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::SMALL;
    use crate::interp::{Data, InterpError, run_steps};
    use crate::passes::tile;
    use crate::random::{self, Style};
    use crate::*;
    use proptest::prelude::*;

    const HEAD: &str = "module(N, M)\nbuffer y : f64[N]\nbuffer z : f64[N]\nbuffer v : f64[M]\n\
                        buffer pos : u32[N + 1]\nbuffer crd : u32[M]\n";

    /// What becomes of a function's body, which computes what it did; numbers are the same bit by bit where nothing is
    /// added.
    fn check(body: &str) -> String {
        let text = format!("{HEAD}func f(inout y, inout z, in v, in pos, in crd) {{ {body} }}");
        let before = parse(&text).unwrap();
        let mut after = before.clone();
        tile(&mut after, &SMALL);
        assert_eq!([verify(&before), verify(&after)], [Ok(()), Ok(())], "{after}");
        let pos = [0, 3, 3, 4, 4, 4, 6];
        let run = |module: &Module| {
            let mut data = [
                Data::Float(vec![1.0, -0.0, 2.0, f64::NAN, 0.0, 3.0]),
                Data::Float(vec![5.0; 6]),
                Data::Float(vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0]),
                Data::Int(pos.to_vec()),
                Data::Int(vec![0, 2, 5, 1, 3, 4]),
            ];
            run_steps(module, "f", &[6, 6], &mut data, 10_000).unwrap();
            let bits = |data: &Data| -> Vec<u64> {
                data.as_float().unwrap().iter().map(|number| number.to_bits()).collect()
            };
            [bits(&data[0]), bits(&data[1])]
        };
        assert_eq!(run(&before), run(&after), "{after}");
        let text = after.to_string();
        let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
        body.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect()
    }

    fn is_held(body: &str) -> bool {
        check(body).contains("held")
    }

    #[test]
    fn walks_hold_their_sums() {
        expect_test::expect![[r#"
            for i = 0 to N {
              with held of 1 zero {
                with any of 1 zero {
                  while p = pos[i] if p < pos[i + 1] and crd[p] < 4 {
                    held[0] += v[p] * v[crd[p]]
                    any[0] = index(1)
                  } then p + 1
                  let some = any[0] {
                    if some == 1 {
                      y[i] += held[0]
                    }
                  }
                }
              }
            }
        "#]].assert_eq(&check(
            "for i = 0 to N {
               while p = pos[i] if p < pos[i + 1] and crd[p] < 4 { y[i] += v[p] * v[crd[p]] } then p + 1
             }",
        ));
    }

    #[test]
    fn nests_hold_what_is_joined_under_conditions() {
        expect_test::expect![[r#"
            for i = 0 to N {
              with held of 1 {
                with any of 1 zero {
                  held[0] = -inf
                  for j = i to N {
                    for p = pos[j] to pos[j + 1] {
                      if crd[p] < 4 {
                        held[0] max= v[p]
                        any[0] = index(1)
                        z[crd[p]] += v[p]
                      } else {
                        held[0] max= 2.0 * v[p]
                        any[0] = index(1)
                      }
                    }
                  }
                  let some = any[0] {
                    if some == 1 {
                      y[i] max= held[0]
                    }
                  }
                }
              }
            }
        "#]]
        .assert_eq(&check(
            "for i = 0 to N {
               for j = i to N {
                 for p = pos[j] to pos[j + 1] {
                   if crd[p] < 4 { y[i] max= v[p] z[crd[p]] += v[p] } else { y[i] max= 2.0 * v[p] }
                 }
               }
             }",
        ));
    }

    #[test]
    fn elements_without_terms_may_not_exist() {
        assert!(!is_held("while p = pos[1] if p < pos[2] { y[N + p] += v[p] } then p + 1"));
        assert!(is_held("while p = pos[1] if p < pos[2] { y[N + 7] += v[p] } then p + 1"));
    }

    #[test]
    fn others_stay_in_memory() {
        let walk = |body: &str| {
            format!(
                "for i = 0 to N {{ while p = pos[i] if p < pos[i + 1] {{ {body} }} then p + 1 }}"
            )
        };
        for body in [
            "y[p] += v[p]",                // another element each time
            "y[crd[p]] += v[p]",           // so too
            "y[i] = v[p]",                 // not joined
            "y[i] += v[p] y[i] max= v[p]", // joined in two ways
            "y[i] += v[p] y[0] += v[p]",   // perhaps the same element
            "y[i] += v[p] z[p] = y[i]",    // read in between
            "y[i] += v[p] * y[p]",         // so too
        ] {
            assert!(!is_held(&walk(body)), "{body}");
        }
        assert!(is_held(&walk("y[i] += v[p] y[i] += 2.0 z[p] = v[p]")));
        // Loops over all of a range are sums, or nests that are cut into tiles.
        assert!(!is_held("for i = 0 to N { for j = 0 to i { y[i] += v[j] z[j] += v[i] } }"));
        // One time only.
        assert!(!is_held(
            "for i = 0 to N { for p = pos[i] to pos[i] + 1 { if p < M { y[i] += v[p] } } }"
        ));
    }

    /// Loops with conditions in place of counted ones.
    fn as_whiles(stmt: &mut Stmt) {
        stmt.bodies_mut().into_iter().flatten().for_each(as_whiles);
        let Stmt::For(inner) = stmt else { return };
        let (lower, upper) = (inner.lower.clone(), inner.upper.clone());
        let var = Index::Var(inner.var);
        let (Some(lower), Some(upper)) =
            (lower.into_iter().reduce(Index::max), upper.into_iter().reduce(Index::min))
        else {
            return;
        };
        *stmt = Stmt::While(While {
            vars: vec![(inner.var, lower)],
            condition: var.clone().less(upper),
            body: std::mem::take(&mut inner.body),
            next: vec![var + inner.step],
            after: Vec::new(),
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

        #[test]
        fn random_programs_keep_their_meaning(seed: u64) {
            let mut before = random::module(seed, Style::Runnable);
            before.functions[0].body.iter_mut().for_each(as_whiles);
            let mut after = before.clone();
            tile(&mut after, &SMALL);
            prop_assert_eq!(verify(&after), Ok(()), "{}", after);
            for symbols in [[4, 3], [0, 2]] {
                let run = |module: &Module| {
                    let ramp = |seed: i64| Data::Float((0..16).map(|x| ((x * 5 + seed) % 7 - 3) as f64).collect());
                    let mut data = [ramp(1), ramp(2), ramp(3)];
                    run_steps(module, "f", &symbols, &mut data, 200_000).map(|()| data)
                };
                let expected = match run(&before) {
                    Err(InterpError::Steps(_)) => continue,
                    expected => expected.map_err(|error| TestCaseError::fail(format!("{error}\n{before}")))?,
                };
                let found = run(&after).map_err(|error| TestCaseError::fail(format!("{error}\n{after}")))?;
                let floats = |data: &[Data]| -> Vec<f64> {
                    data.iter().flat_map(|data| data.as_float().unwrap().iter().copied()).collect()
                };
                for (x, y) in floats(&expected).iter().zip(&floats(&found)) {
                    // Larger values are not exact in any order.
                    let close = !x.is_finite() || x.abs() > 1e9 || (x - y).abs() <= 1e-6 * x.abs().max(1.0);
                    prop_assert!(close, "{}\n{}\n{}\n{}", x, y, before, after);
                }
            }
        }
    }
}
