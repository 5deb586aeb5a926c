//! Small workspaces on the stack.
//!
//! Before -> after: `buffer W : f64[1]` of `with W of 16 { .. }` -> `buffer W : f64[1] in stack`.
//!
//! A buffer goes there where all workspaces that it stands for have few elements, as many each time. Memory of the main
//! space is asked for, which takes longer, and given back.

use std::collections::BTreeSet;

use crate::ir::*;
use crate::passes::Context;

/// Workspaces of at most so many bytes are on the stack.
const SMALL: i64 = 1 << 12;

pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    let (mut small, mut large) = (BTreeSet::new(), BTreeSet::new());
    for function in &module.functions {
        function.body.iter().for_each(|stmt| {
            stmt.visit(&mut |stmt| {
                if let Stmt::Workspace(inner) = stmt {
                    let list = if is_small(module, inner) { &mut small } else { &mut large };
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

fn is_small(module: &Module, inner: &Workspace) -> bool {
    let element = module.buffers.get(inner.buffer.0 as usize).map(|buffer| buffer.element);
    let bytes = element.map_or(1, |element| element.bytes() as i64);
    // What another buffer may stand for is not always there.
    inner.instead.is_none() && inner.size.as_const().is_some_and(|count| count <= SMALL / bytes)
}
