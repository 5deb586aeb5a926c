//! Before -> after: `parallel(blocks) b = 0 to n { with S of 256 { parallel(lanes) t = 0 to 256 { s } } }`, `S` in
//! shared memory -> `parallel b = 0 to n { with S of 256 { for t = 0 to 256 { s } } }`, `S` in main memory.
//!
//! Products that lanes compute together are loops around stores of sums; what lanes fetch is there at once.
//!
//! The end of a loop over lanes is a barrier, so one lane may do all of its work before the next one begins.

use dastac_loops::{Context, Function, Mark, Module, ParallelLevel, RegisterStmt, Space, Stmt};

pub(super) fn run(module: &mut Module, _: &Context<'_>) {
    for buffer in module.buffers.iter_mut().filter(|buffer| buffer.space == Space::Shared) {
        buffer.space = Space::Main;
    }
    for function in &mut module.functions {
        let mut body = std::mem::take(&mut function.body);
        marks(&mut body, function);
        function.body = body;
    }
}

fn marks(body: &mut Vec<Stmt>, function: &mut Function) {
    body.retain(|stmt| !matches!(stmt, Stmt::Register(RegisterStmt::Arrive(_))));
    for stmt in body {
        if let Stmt::Register(RegisterStmt::Multiply(inner)) = stmt {
            *stmt = inner.loops(["r", "c", "e", "l"].map(|name| function.fresh_var(name)));
        }
        if let Stmt::Register(RegisterStmt::Fetch(fetch)) = stmt {
            *stmt = Stmt::set(fetch.buffer, fetch.at.clone(), fetch.value());
        }
        if let Stmt::For(inner) = stmt {
            inner.mark = match inner.mark {
                Mark::Parallel(ParallelLevel::Blocks) => Mark::THREADS,
                Mark::Parallel(ParallelLevel::Lanes) => Mark::Sequential,
                mark => mark,
            };
        }
        stmt.bodies_mut().into_iter().for_each(|body| marks(body, function));
    }
}
