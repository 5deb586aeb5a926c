//! Functions of many statements are noted: what makes one statement into much code leaves them alone.
//!
//! Such functions come from structures of many pieces. Back ends make one function of statements that differ in numbers
//! only, which they cannot where passes treat each in its own way.
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
