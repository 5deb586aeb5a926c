//! Marks functions of many statements, so that passes that turn one statement into much code leave them alone.
//!
//! Such functions come from structures with many pieces. Statements that differ only in numbers later become one
//! function (pass `share-shapes`), which is not possible if passes have changed each of them differently.
//!
//! Before -> after: `func f(..) { .. }` of more than 6 statements -> `func f(..) hint(compact) { .. }`.

use crate::ir::*;
use crate::passes::Context;

/// Functions of more statements are compact.
const MOST: usize = 6;

/// The pass.
pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    for function in &mut module.functions {
        function.hints.compact |= function.body.len() > MOST;
    }
}
