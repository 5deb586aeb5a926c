//! Has sums into short floats add up in 32 bits.
//!
//! A float of 16 bits is only stored: numbers are computed in 32 bits. Where a function joins something to elements of
//! such a type (`A[i] += v`), each addition would round. So what is joined stands in a workspace of 32-bit floats while
//! the function runs, and is rounded once, at its end:
//!
//! `A[i] += B[i]` -> `with A.wide of N { .. A.wide[i] += B[i] .. parallel w = 0 to N { A[w] = A.wide[w] } }`
//!
//! Workspaces of such a type, which nobody sees, become ones of 32-bit floats.

use crate::build::free_name;
use crate::ir::*;

pub(super) fn run(module: &mut Module) {
    widen_workspaces(module);
    for at in 0..module.functions.len() {
        let args = module.functions[at].args.clone();
        for (buffer, mode) in args {
            if module.buffers[buffer.0 as usize].element.is_short_float()
                && joins(&module.functions[at].body, buffer)
            {
                widen(module, at, buffer, mode);
            }
        }
    }
}

/// Gives workspaces that stand for nothing else the type in which numbers are computed.
fn widen_workspaces(module: &mut Module) {
    let mut own = Vec::new();
    for stmt in module.functions.iter().flat_map(|function| &function.body) {
        stmt.visit(&mut |stmt| match stmt {
            Stmt::Workspace(inner) if inner.instead.is_none() => own.push(inner.buffer),
            _ => {}
        });
    }
    for buffer in own {
        let element = &mut module.buffers[buffer.0 as usize].element;
        if element.is_short_float() {
            *element = element.computed();
        }
    }
}

/// Whether something is joined to elements of a buffer.
fn joins(body: &[Stmt], buffer: BufferId) -> bool {
    let mut found = false;
    for stmt in body {
        stmt.visit(&mut |stmt| {
            if let Stmt::Store(store) = stmt {
                found |= store.buffer == buffer && store.mode != StoreMode::Set
            }
        });
    }
    found
}

fn widen(module: &mut Module, function: usize, buffer: BufferId, mode: Mode) {
    let own = module.buffers[buffer.0 as usize].clone();
    let name = free_name(&module.buffers, format!("{}.wide", own.name));
    let wide = module.buffer(name, own.element.computed(), own.size.clone());
    let function = &mut module.functions[function];
    let mut body = std::mem::take(&mut function.body);
    body.iter_mut().for_each(|stmt| replace(stmt, buffer, wide));
    if mode == Mode::InOut {
        body.insert(0, copy(function, &own.size, buffer, wide));
    }
    body.push(copy(function, &own.size, wide, buffer));
    // Elements that the body does not set are copied too.
    let zero = mode == Mode::Out;
    let workspace = Workspace { buffer: wide, size: own.size, zero, instead: None, body };
    function.body = vec![Stmt::Workspace(workspace)];
}

/// `parallel w = 0 to size { to[w] = from[w] }`. Bounds of loops make no selections: where the size makes one, there is
/// a loop for each of its values.
fn copy(function: &mut Function, size: &Index, from: BufferId, to: BufferId) -> Stmt {
    let mut selection = None;
    size.visit(&mut |part| {
        if let Index::Select(condition, then, otherwise) = part {
            selection.get_or_insert((part, condition, then, otherwise));
        }
    });
    if let Some((whole, condition, then, otherwise)) = selection {
        let [then, otherwise] = [then, otherwise]
            .map(|value| vec![copy(function, &with_value(size, whole, value), from, to)]);
        return Stmt::If(If { condition: (**condition).clone(), then, otherwise });
    }
    let var = function.fresh_var("w");
    let element = Value::load(from, Index::Var(var));
    let body = vec![Stmt::set(to, Index::Var(var), element)];
    Stmt::For(For {
        var,
        lower: vec![Index::Const(0)],
        upper: vec![size.clone()],
        step: 1,
        mark: Mark::THREADS,
        body,
    })
}

/// An expression with a value in place of one of its parts.
fn with_value(index: &Index, part: &Index, value: &Index) -> Index {
    if index == part {
        return value.clone();
    }
    match index {
        // What decides, and where an element is loaded, stays.
        Index::Select(condition, then, otherwise) => {
            let inside = |index: &Index| Box::new(with_value(index, part, value));
            Index::Select(condition.clone(), inside(then), inside(otherwise))
        }
        Index::Load(..) => index.clone(),
        _ => index.map_parts(&mut |inside| with_value(inside, part, value)),
    }
}

/// Has a statement load from and store to another buffer.
fn replace(stmt: &mut Stmt, from: BufferId, to: BufferId) {
    stmt.bodies_mut().into_iter().flatten().for_each(|stmt| replace(stmt, from, to));
    if let Stmt::Store(store) = stmt {
        let other = |buffer| if buffer == from { to } else { buffer };
        store.buffer = other(store.buffer);
        store.value = store.value.map_elements(&|buffer, index| (other(buffer), index.clone()));
    }
}

#[cfg(test)]
mod tests {
    use crate::{parse, verify};
    use expect_test::expect;

    #[test]
    fn sums_into_short_floats_are_rounded_once() {
        let text = "module(N)\nbuffer A : f16[N]\nbuffer B : bf16[N]\nbuffer C : f16[N]\n\
            func f(out A, in B, inout C) { for i = 0 to N { A[i] = 0.0 for k = 0 to i { A[i] += B[k] } } \
            for i = 0 to N { C[i] += A[i] } }";
        let mut module = parse(text).unwrap();
        super::run(&mut module);
        verify(&module).unwrap();
        expect![[r#"
            module(N)
            buffer A : f16[N]
            buffer B : bf16[N]
            buffer C : f16[N]
            buffer A.wide : f32[N]
            buffer C.wide : f32[N]
            func f(out A, in B, inout C) {
              with C.wide of N {
                parallel w = 0 to N {
                  C.wide[w] = C[w]
                }
                with A.wide of N zero {
                  for i = 0 to N {
                    A.wide[i] = 0.0
                    for k = 0 to i {
                      A.wide[i] += B[k]
                    }
                  }
                  for i = 0 to N {
                    C.wide[i] += A.wide[i]
                  }
                  parallel w = 0 to N {
                    A[w] = A.wide[w]
                  }
                }
                parallel w = 0 to N {
                  C[w] = C.wide[w]
                }
              }
            }
        "#]]
        .assert_eq(&module.to_string());
    }

    #[test]
    fn sizes_that_make_selections_have_a_loop_for_each_value() {
        let text = "module(N, M)\nbuffer A : bf16[1 + select(N < M, N, select(M < 3, M, 3))]\n\
            func f(inout A) { A[0] += 1.0 }";
        let mut module = parse(text).unwrap();
        super::run(&mut module);
        verify(&module).unwrap();
        let text = module.to_string();
        assert_eq!(text.matches("parallel w").count(), 6, "{text}");
    }

    #[test]
    fn other_types_stay() {
        let text = "module(N)\nbuffer A : f32[N]\nbuffer B : f16[N]\n\
            func f(inout A, out B) { for i = 0 to N { A[i] += 1.0 B[i] = A[i] } }";
        let mut module = parse(text).unwrap();
        let before = module.clone();
        super::run(&mut module);
        assert_eq!(module, before);
    }
}
