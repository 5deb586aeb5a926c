//! Every access asserts that its index lies within the buffer.
//!
//! Before -> after, with `W` of `2 * N` elements:
//! `func f(out A) { with W of 2 * N { write W[i] = $0 .. } }` ->
//! `func f(out A) checked as f { integer A.size = N integer W.size = 2 * N with W of 2 * N { write W[within(i, W,
//! W.size)] = $0 .. } }`.
//!
//! The sizes of arguments are computed where a function begins; calls pass them to private functions. It runs last, on
//! code without vectors: whatever changes accesses would change what is asserted. Vectors are not asserted.

use std::collections::BTreeMap;

use super::pass::{Context, Example, Pass};
use super::pipeline::Sequence;
use crate::ir::*;

/// The passes.
pub(super) const PASSES: &[Pass] = &[
    Pass {
        name: "roll-loops",
        about: "make loops again of those that are unrolled: without vectors, they would be as many copies",
        example: Example {
            before: "unroll k = kt to kt + 64 { A[k] = v }",
            after: "for k = kt to kt + 64 { A[k] = v }",
        },
        run: roll,
    },
    Pass {
        name: "check-bounds",
        about: "assert that every access stays within its buffer",
        example: Example {
            before: "func f(out A) { write A[i] = $0 }",
            after: "func f(out A) checked as f { integer A.size = N write A[within(i, A, A.size)] = $0 }",
        },
        run,
    },
];

/// What code that is to be checked begins with, after tiles.
pub const ROLL_LOOPS: Sequence = Sequence { name: "roll-loops", passes: &["roll-loops"] };

/// What makes checked code of register code.
pub const CHECK_BOUNDS: Sequence = Sequence { name: "check-bounds", passes: &["check-bounds"] };

fn roll(module: &mut Module, _: &Context<'_>) {
    module.functions.iter_mut().for_each(|function| rolled(&mut function.body));
}

fn rolled(body: &mut [Stmt]) {
    for stmt in body {
        if let Stmt::For(inner) = stmt
            && inner.mark == Mark::Unrolled
        {
            inner.mark = Mark::Sequential;
        }
        stmt.bodies_mut().into_iter().for_each(|body| rolled(body));
    }
}

fn run(module: &mut Module, _: &Context<'_>) {
    let owners = owners(module);
    let mut functions = std::mem::take(&mut module.functions);
    for (function, owner) in functions.iter_mut().zip(owners) {
        function.checked = owner;
        let body = std::mem::take(&mut function.body);
        let mut checker = Checker { buffers: &module.buffers, function, sizes: BTreeMap::new() };
        let mut checked = checker.arguments();
        checked.append(&mut checker.block(body));
        function.body = checked;
    }
    module.functions = functions;
}

/// For each function the exported one that it is part of; the first one for a function that is never called.
fn owners(module: &Module) -> Vec<Option<FunctionId>> {
    let first = module.functions.iter().position(|function| function.private.is_none());
    let first = first.map(|first| FunctionId(first as u32));
    let mut owners = vec![first; module.functions.len()];
    for (at, exported) in module.functions.iter().enumerate() {
        let mut open: Vec<usize> = exported.private.is_none().then_some(at).into_iter().collect();
        while let Some(caller) = open.pop() {
            let owner = Some(FunctionId(at as u32));
            if let Some(function) = module.functions.get(caller)
                && std::mem::replace(&mut owners[caller], owner) != owner
            {
                open.extend(called(function));
            }
        }
    }
    owners
}

/// The functions that a function calls.
fn called(function: &Function) -> Vec<usize> {
    let mut found = Vec::new();
    function.body.iter().for_each(|stmt| {
        stmt.visit(&mut |stmt| {
            if let Stmt::Call(call) = stmt {
                found.push(call.function.0 as usize);
            }
        });
    });
    found
}

/// Rewrites one function.
struct Checker<'a> {
    buffers: &'a [Buffer],
    function: &'a mut Function,
    /// The variables for the sizes of buffers here.
    sizes: BTreeMap<BufferId, VarId>,
}

impl Checker<'_> {
    /// A variable for the size of a buffer.
    fn size(&mut self, buffer: BufferId) -> VarId {
        let name = self.buffers.get(buffer.0 as usize).map_or("", |buffer| &buffer.name);
        let var = self.function.fresh_var(format!("{name}.size"));
        self.sizes.insert(buffer, var);
        var
    }

    /// The sizes of the function's arguments: its own integers if it is private, else computed at its begin.
    fn arguments(&mut self) -> Vec<Stmt> {
        let args: Vec<BufferId> = self.function.args.iter().map(|(buffer, _)| *buffer).collect();
        let sizes: Vec<VarId> = args.iter().map(|buffer| self.size(*buffer)).collect();
        if let Some(private) = &mut self.function.private {
            private.integers.extend(sizes);
            return Vec::new();
        }
        let size = |buffer: BufferId| self.buffers.get(buffer.0 as usize).map(|known| &known.size);
        let sizes = args.into_iter().zip(sizes);
        let sizes = sizes.filter_map(|(buffer, var)| Some(integer(var, size(buffer)?.clone())));
        sizes.collect()
    }

    fn block(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut checked = Vec::new();
        for mut stmt in body {
            if let Stmt::Workspace(inner) = &stmt {
                checked.extend(self.workspace(inner));
            }
            if let Stmt::Partial(inner) = &stmt {
                let size = self.checked(&inner.extent) * inner.parts;
                checked.push(integer(self.size(inner.workspace), size));
            }
            self.expressions(&mut stmt);
            self.access(&mut stmt);
            for inside in stmt.bodies_mut() {
                *inside = self.block(std::mem::take(inside));
            }
            checked.push(match stmt {
                Stmt::Scan(scan) => self.scan(scan),
                stmt => stmt,
            });
        }
        checked
    }

    /// A scan whose range, unless it is empty, is asserted to be inside of the buffer.
    fn scan(&self, scan: Scan) -> Stmt {
        let some = scan.lower.clone().less(scan.upper.clone());
        let lower = self.within(scan.buffer, &scan.lower);
        let upper = self.within(scan.buffer, &(scan.upper.clone() - 1)) + 1;
        Stmt::when(some, vec![Stmt::Scan(Scan { lower, upper, ..scan })])
    }

    /// The size of a workspace, which may be that of what stands for it.
    fn workspace(&mut self, inner: &Workspace) -> Option<Stmt> {
        let mut size = self.checked(&inner.size).max(0.into());
        if let Some((other, condition)) = &inner.instead {
            let others = Index::Var(*self.sizes.get(other)?);
            let condition = condition.map_sides(&mut |side| self.checked(side));
            size = Index::select(condition, others, size);
        }
        Some(integer(self.size(inner.buffer), size))
    }

    /// An expression whose own accesses are asserted.
    fn checked(&self, index: &Index) -> Index {
        match index {
            Index::Load(buffer, place) => {
                Index::Load(*buffer, Box::new(self.within(*buffer, &self.checked(place))))
            }
            index => index.map_parts(&mut |part| self.checked(part)),
        }
    }

    /// A place in a buffer, asserted to be one.
    fn within(&self, buffer: BufferId, index: &Index) -> Index {
        let index = index.clone();
        match self.sizes.get(&buffer) {
            Some(size) => {
                Index::Within(Box::new(Within { index, buffer, size: Index::Var(*size) }))
            }
            None => index,
        }
    }

    /// Asserts what the expressions of a statement load.
    fn expressions(&self, stmt: &mut Stmt) {
        stmt.map_indices(&mut |index| self.checked(index));
        if let Stmt::Store(store) = stmt {
            store.value = store.value.map_elements(&|buffer, index| {
                let place = self.within(buffer, index);
                (buffer, place)
            });
        }
    }

    /// Asserts what a statement itself accesses, and passes the sizes of buffers on.
    fn access(&self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Store(store) => store.index = self.within(store.buffer, &store.index),
            Stmt::Let(inner) => inner.index = self.within(inner.buffer, &inner.index),
            Stmt::Call(call) => {
                let sizes = call.buffers.iter().filter_map(|buffer| self.sizes.get(buffer));
                call.integers.extend(sizes.map(|size| Index::Var(*size)));
            }
            Stmt::Register(RegisterStmt::Define(register, Operation::Load(load)))
                if self.is_scalar(*register) =>
            {
                load.index = self.within(load.buffer, &load.index);
            }
            Stmt::Register(RegisterStmt::Write(write)) if self.is_scalar(write.value) => {
                write.index = self.within(write.buffer, &write.index);
            }
            _ => {}
        }
    }

    fn is_scalar(&self, register: RegId) -> bool {
        self.function.registers.get(register.0 as usize).is_some_and(|ty| ty.lanes == 1)
    }
}

fn integer(var: VarId, index: Index) -> Stmt {
    Stmt::Register(RegisterStmt::Integer(Integer { var, index, wraps: false }))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::interp::{Data, InterpError, run};
    use crate::machine::Machine;
    use crate::passes::{Context, find};
    use crate::{Element, Module, parse, verify};

    const HEAD: &str = "module(N)\nbuffer A : f64[N]\nbuffer x : i64[N]\nbuffer W : f64[0]\n\
        buffer V : u8[0]\n";

    fn checked(functions: &str) -> Module {
        let mut module = parse(&format!("{HEAD}{functions}")).unwrap();
        assert_eq!(verify(&module), Ok(()));
        (find("check-bounds").unwrap().run)(&mut module, &Context::of(&Machine::PLAIN));
        assert_eq!(verify(&module), Ok(()), "{module}");
        let again = parse(&module.to_string()).unwrap();
        assert_eq!(again, module.canonical(), "{module}");
        module
    }

    #[test]
    fn every_access_is_asserted() {
        let module = checked(
            "func f(inout A, in x) {
               for i = 0 to x[0] {
                 with W of N or A if i < 2 { $0 : f64 = load W[x[i]] write A[i + 1] = $0 }
                 call g(i) on A, x
               }
             }
             private func g(symbol N, index i, inout A, in x) {
               while p = i if p < N and x[p] < 3 { A[p] += 1.0 } then p + 1
             }",
        );
        let text = module.to_string();
        expect![[r#"
            func f(inout A, in x) checked as f {
              integer A.size = N
              integer x.size = N
              for i = 0 to x[within(0, x, x.size)] {
                integer W.size = select(i < 2, A.size, max(N, 0))
                with W of N or A if i < 2 {
                  $0 : f64 = load W[within(x[within(i, x, x.size)], W, W.size)]
                  write A[within(i + 1, A, A.size)] = $0
                }
                call g(i, A.size, x.size) on A, x
              }
            }
            private func g(symbol N, index i, index A.size, index x.size, inout A, in x) checked as f {
              while p = i if p < N and x[within(p, x, x.size)] < 3 {
                A[within(p, A, A.size)] += 1.0
              } then p + 1
            }
        "#]]
        .assert_eq(&text[text.find("func f").unwrap()..]);
    }

    #[test]
    fn scans_of_something_are_inside() {
        let module =
            checked("func f(in x) { with V of N zero { scan k in V[x[0] .. x[1] + 1] { } } }");
        let text = module.to_string();
        expect![[r#"
            func f(in x) checked as f {
              integer x.size = N
              integer V.size = max(N, 0)
              with V of N zero {
                if x[within(0, x, x.size)] < x[within(1, x, x.size)] + 1 {
                  scan k in V[within(x[within(0, x, x.size)], V, V.size) .. within(x[within(1, x, x.size)], V, V.size) + 1] {
                  }
                }
              }
            }
        "#]].assert_eq(&text[text.find("func f").unwrap()..]);
    }

    #[test]
    fn the_interpreter_reports_what_is_outside() {
        let module = checked("func f(out A, in x) { for i = 0 to N { A[x[i]] = 1.0 } }");
        let mut data = [Data::zeros(Element::F64, 2), Data::Int(vec![1, 2])];
        let error = run(&module, "f", &[2], &mut data);
        let (buffer, index, size) = ("A".to_owned(), 2, 2);
        assert_eq!(error, Err(InterpError::Bounds { buffer, index, size }));
    }
}
