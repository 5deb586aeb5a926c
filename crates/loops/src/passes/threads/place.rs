//! Small workspaces on the stack.
//!
//! Before -> after: `buffer W : f64[1]` of `with W of 16 { .. }` -> `buffer W : f64[1] in stack`.
//!
//! A buffer goes there where all workspaces that it stands for have few elements, as many each time. Memory of the main
//! space is asked for, which takes longer, and given back.

use std::collections::BTreeSet;

use crate::ir::*;
use crate::passes::Context;

pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    let most = context.machine.stack;

    let (mut small, mut large) = (BTreeSet::new(), BTreeSet::new());
    for function in &module.functions {
        function.body.iter().for_each(|stmt| {
            stmt.visit(&mut |stmt| {
                if let Stmt::Workspace(inner) = stmt {
                    let list = if fits(module, inner, most) { &mut small } else { &mut large };
                    list.insert(inner.buffer);
                }
            });
        });
    }
    for id in small.difference(&large) {
        if let Some(buffer) = module.buffers.get_mut(id.0 as usize)
            && buffer.space == Space::Main
        {
            buffer.space = Space::Stack;
        }
    }
}

/// Whether a workspace has as many elements each time, of at most so many bytes.
fn fits(module: &Module, inner: &Workspace, most: i64) -> bool {
    let element = module.buffers.get(inner.buffer.0 as usize).map(|buffer| buffer.element);
    let bytes = element.map_or(1, |element| element.bytes() as i64);
    // What another buffer may stand for is not always there.
    inner.instead.is_none() && inner.size.as_const().is_some_and(|count| count <= most / bytes)
}
