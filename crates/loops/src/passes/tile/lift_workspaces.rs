//! Allocates memory that all iterations of a loop need once, outside of the loop.
//!
//! Before -> after: `for i = 0 to N { with W of M { s } }` -> `with W of M { for i = 0 to N { s } }`.
//!
//! Workspaces of a known size are on the stack and need no allocation. Workspaces that are zero at first are not moved,
//! nor those of iterations that run at the same time.

use crate::ir::*;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    module.functions.iter_mut().for_each(|function| lift(&mut function.body));
}

/// Moves the workspaces of a function's statements out of loops.
fn lift(body: &mut Vec<Stmt>) {
    let mut all = Vec::new();
    body.iter().for_each(|stmt| {
        stmt.visit(&mut |stmt| {
            if let Stmt::Workspace(one) = stmt {
                all.push(one.buffer);
            }
        })
    });
    // None comes to be inside of another of the same name.
    let alone = |one: &Workspace| all.iter().filter(|other| **other == one.buffer).count() == 1;
    let lifted = out_of(body, &alone);
    wrap(body, lifted);
}

/// Takes the workspaces out of statements that can be around all of them.
fn out_of(body: &mut Vec<Stmt>, alone: &dyn Fn(&Workspace) -> bool) -> Vec<Workspace> {
    let mut lifted = Vec::new();
    let mut result = Vec::with_capacity(body.len());
    for mut stmt in std::mem::take(body) {
        let bound = bound(&stmt);
        let together = together(&stmt);
        for inside in stmt.bodies_mut() {
            let stays =
                |one: &Workspace| together || bound.iter().any(|var| one.size.mentions(*var));
            let (own, others): (Vec<_>, Vec<_>) =
                out_of(inside, alone).into_iter().partition(stays);
            wrap(inside, own);
            lifted.extend(others);
        }
        match stmt {
            Stmt::Workspace(mut one) if alone(&one) && may_move(&one) => {
                result.append(&mut one.body);
                lifted.push(one);
            }
            stmt => result.push(stmt),
        }
    }
    *body = result;
    lifted
}

/// Puts workspaces around statements.
fn wrap(body: &mut Vec<Stmt>, workspaces: Vec<Workspace>) {
    for one in workspaces {
        *body = vec![Stmt::Workspace(Workspace { body: std::mem::take(body), ..one })];
    }
}

fn may_move(one: &Workspace) -> bool {
    !one.zero && one.instead.is_none() && one.size.as_const().is_none()
}

/// The variables that a statement binds for those in it.
fn bound(stmt: &Stmt) -> Vec<VarId> {
    match stmt {
        Stmt::For(inner) => vec![inner.var],
        Stmt::Partitioned(inner) => vec![inner.begin, inner.end],
        Stmt::Partial(inner) => vec![inner.begin, inner.end, inner.shift],
        Stmt::Team(inner) => vec![inner.part, inner.parts],
        Stmt::While(inner) => inner.vars.iter().map(|(var, _)| *var).collect(),
        Stmt::Let(inner) => vec![inner.var],
        Stmt::Scan(inner) => vec![inner.var],
        Stmt::CoIter(_)
        | Stmt::Append(_)
        | Stmt::Call(_)
        | Stmt::Register(_)
        | Stmt::Workspace(_)
        | Stmt::If(_)
        | Stmt::Store(_) => Vec::new(),
    }
}

/// Whether what is in a statement may be executed several times at the same moment, or binds variables of its own.
fn together(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::For(inner) => inner.mark != Mark::Sequential,
        Stmt::Partitioned(_)
        | Stmt::Partial(_)
        | Stmt::Team(_)
        | Stmt::CoIter(_)
        | Stmt::Append(_)
        | Stmt::Register(_) => true,
        Stmt::Call(_)
        | Stmt::While(_)
        | Stmt::Workspace(_)
        | Stmt::Let(_)
        | Stmt::Scan(_)
        | Stmt::If(_)
        | Stmt::Store(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::SMALL;
    use crate::passes::tile;
    use crate::{parse, verify};

    /// What becomes of a function's body.
    fn shown(body: &str) -> String {
        let head = "module(N)\nbuffer A : f64[N]\nbuffer W : i64[N]\nbuffer V : i64[N]\n";
        let mut module = parse(&format!("{head}func f(inout A) {{ {body} }}")).unwrap();
        assert_eq!(verify(&module), Ok(()));
        tile(&mut module, &SMALL);
        assert_eq!(verify(&module), Ok(()), "{module}");
        let text = module.to_string();
        let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
        body.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect()
    }

    #[test]
    fn workspaces_leave_loops_that_do_not_decide_about_them() {
        let inner = "W[0] = index(i) let v = W[0] { A[i] = index(v) }";
        expect_test::expect![[r#"
            while i = 0 if i < N {
              with W of N {
                W[0] = index(i)
                let v = W[0] {
                  A[i] = index(v)
                }
              }
              if i < 3 {
                with W of N {
                  W[0] = index(i)
                  let v = W[0] {
                    A[i] = index(v)
                  }
                }
              }
            } then i + 1
        "#]].assert_eq(&shown(&format!(
            "while i = 0 if i < N {{ with W of N {{ {inner} }} if i < 3 {{ with W of N {{ {inner} }} }} }} then i + 1"
        )));
        expect_test::expect![[r#"
            with W of N {
              while i = 0 if i < N {
                if i < 3 {
                  W[0] = index(i)
                  let v = W[0] {
                    A[i] = index(v)
                  }
                }
                with V of 3 {
                  V[0] = index(i)
                }
              } then i + 1
            }
        "#]].assert_eq(&shown(&format!(
            "while i = 0 if i < N {{ if i < 3 {{ with W of N {{ {inner} }} }} with V of 3 {{ V[0] = index(i) }} }} \
            then i + 1"
        )));
        expect_test::expect![[r#"
            parallel j = 0 to N {
              with W of N {
                for i = j to j + 2 {
                  with V of N + i {
                    W[0] = index(i)
                    let v = W[0] {
                      A[i] = index(v)
                    }
                    V[0] = index(i)
                  }
                }
              }
            }
        "#]].assert_eq(&shown(&format!(
            "parallel j = 0 to N {{ for i = j to j + 2 {{ with W of N {{ {inner} }} with V of N + i {{ V[0] = \
            index(i) }} }} }}"
        )));
        for with in ["V of N zero", "V of i"] {
            let text = format!("for i = 0 to N {{ with {with} {{ V[0] = index(i) }} }}");
            assert!(shown(&text).starts_with("for i"), "{with}");
        }
        let twice =
            "for i = 0 to N { with V of N { V[0] = index(i) } with V of N { V[0] = index(i) } }";
        assert!(shown(twice).starts_with("for i"));
    }
}
