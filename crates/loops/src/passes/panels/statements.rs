//! Puts blocks in the place of statements, beside the statements as they were.

use super::blocks::blocks;
use super::contraction::contraction;
use super::worth;
use crate::ir::*;
use crate::machine::Machine;

/// A function of more statements shares code between them.
const STATEMENTS: usize = 32;

pub(super) fn run(module: &mut Module, machine: &Machine) {
    if machine.vector_bytes <= 8 {
        return;
    }
    for at in 0..module.functions.len() {
        let empty = Function::new("", Vec::new());
        let mut function = std::mem::replace(&mut module.functions[at], empty);
        let mut body = std::mem::take(&mut function.body);
        block(&mut body, module, &mut function, machine);
        function.body = body;
        module.functions[at] = function;
    }
}

/// Rewrites the statements of a block.
fn block(body: &mut Vec<Stmt>, module: &mut Module, function: &mut Function, machine: &Machine) {
    if body.len() > STATEMENTS {
        return;
    }
    let mut result = Vec::new();
    let mut at = 0;
    while at < body.len() {
        if let Some((contraction, count)) = contraction(&body[at..], module, function)
            && let Some(condition) = worth::condition(&contraction)
            && condition.as_bool() != Some(false)
            && let Some(blocks) = blocks(contraction, module, function, machine)
        {
            let otherwise = body[at..at + count].to_vec();
            result.push(Stmt::If(If { condition, then: blocks, otherwise }));
            at += count;
            continue;
        }
        let mut stmt = std::mem::replace(&mut body[at], Stmt::when(true.into(), Vec::new()));
        if let Stmt::If(inner) = &mut stmt {
            block(&mut inner.then, module, function, machine);
            block(&mut inner.otherwise, module, function, machine);
        }
        result.push(stmt);
        at += 1;
    }
    *body = result;
}
