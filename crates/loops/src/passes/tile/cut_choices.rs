//! Gives the sides of a choice loops of their own, where it depends on what outer loops are at.
//!
//! Before -> after:
//! ```text
//! parallel i = 0 to N { parallel j = 0 to N { if i >= 1 { A[N * i + j] = 1.0 } else { A[j] = 2.0 } } }
//! ```
//! becomes
//! ```text
//! parallel i = max(0, 1) to N { parallel j = 0 to N { A[N * i + j] = 1.0 } }
//! parallel i = 0 to min(N, 1) { parallel j = 0 to N { A[j] = 2.0 } }
//! ```

use crate::ir::*;
use crate::linear::bounds_of;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    module.functions.iter_mut().for_each(|function| block(&mut function.body));
}

fn block(body: &mut Vec<Stmt>) {
    for mut stmt in std::mem::take(body) {
        stmt.bodies_mut().into_iter().for_each(block);
        match stmt {
            Stmt::For(inner) => match choice(&inner) {
                Some(only) if !only.condition.mentions(inner.var) => {
                    let loops = |body: &[Stmt]| {
                        vec![Stmt::For(For { body: body.to_vec(), ..inner.clone() })]
                    };
                    body.push(Stmt::If(If {
                        condition: only.condition.clone(),
                        then: loops(&only.then),
                        otherwise: loops(&only.otherwise),
                    }));
                }
                Some(only) => match sides(&inner, only) {
                    Some(loops) => body.extend(loops),
                    None => body.push(Stmt::For(inner)),
                },
                None => body.push(Stmt::For(inner)),
            },
            other => body.push(other),
        }
    }
}

/// The choice that all of a loop is.
fn choice(inner: &For) -> Option<&If> {
    let [Stmt::If(only)] = &inner.body[..] else { return None };
    let plain = !only.otherwise.is_empty() && !only.condition.has_loads();
    (plain && inner.step == 1).then_some(only)
}

/// A loop for each side of a choice between independent iterations.
fn sides(inner: &For, only: &If) -> Option<Vec<Stmt>> {
    let Condition::Compare(op, left, right) = &only.condition else { return None };
    if inner.mark != Mark::THREADS {
        return None;
    }
    let mut loops = Vec::new();
    for (op, body) in [(*op, &only.then), (op.negate(), &only.otherwise)] {
        let parts = if op == Compare::Ne { vec![Compare::Lt, Compare::Gt] } else { vec![op] };
        for op in parts {
            let condition = Condition::Compare(op, left.clone(), right.clone());
            let (lowers, uppers) = bounds_of(&condition, inner.var)?;
            let (mut lower, mut upper) = (inner.lower.clone(), inner.upper.clone());
            lower.extend(lowers);
            upper.extend(uppers);
            loops.push(Stmt::For(For { lower, upper, body: body.clone(), ..*inner }));
        }
    }
    Some(loops)
}

#[cfg(test)]
mod tests {
    use super::super::tests::pieces;

    #[test]
    fn sides_have_loops() {
        expect_test::expect![[r#"
            parallel i = max(0, 1) to N {
              parallel j = 0 to N {
                A[N * i + j] = 1.0
              }
            }
            parallel i = 0 to min(N, 1) {
              parallel j = 0 to N {
                A[j] = 2.0
              }
            }
            parallel i = max(0, M) to min(N, M + 1) {
              A[i] = 3.0
            }
            parallel i = 0 to min(N, M) {
              A[i] = 4.0
            }
            parallel i = max(0, M + 1) to N {
              A[i] = 4.0
            }
            for i = 0 to N {
              if i == M {
                A[i] = 5.0
              } else {
                A[i] = 6.0
              }
            }
        "#]].assert_eq(&pieces(
            "cut-choices",
            "parallel i = 0 to N { parallel j = 0 to N { if i >= 1 { A[N * i + j] = 1.0 } else { A[j] = 2.0 } } } \
             parallel i = 0 to N { if i == M { A[i] = 3.0 } else { A[i] = 4.0 } } \
             for i = 0 to N { if i == M { A[i] = 5.0 } else { A[i] = 6.0 } }",
        ));
    }
}
