//! Private functions and their calls.
//!
//! Before -> after: `private func f(symbol N, index i, in A) { body }` ->
//! `func.func private @f(%i: index, %N: index, %A: !f64s {llvm.noalias, llvm.readonly}) { body }`;
//! `call f(3) on B` -> `func.call @f(3, %N, %B)`.

use super::{Ssa, Variable, Writer, line, memref, sanitized};
use crate::Result;
use dastac_loops::{Call, Private};

impl Writer<'_, '_> {
    /// A function that only others of the module call.
    pub(super) fn private_function(&mut self, private: &Private) -> Result<()> {
        let mut parameters = Vec::new();
        for &var in &private.integers {
            let named = self.function.vars.get(var.0 as usize).map_or("", String::as_str);
            let name = Ssa(format!("%{}_v{}", sanitized(named), var.0));
            parameters.push(format!("{name}: index"));
            self.vars.insert(var, Variable { name, affine: true });
        }
        for &symbol in &private.symbols {
            let named = self.module.symbols.get(symbol.0 as usize).map_or("", String::as_str);
            let name = Ssa(format!("%s{}_{}", symbol.0, sanitized(named)));
            parameters.push(format!("{name}: index"));
            self.symbols.insert(symbol, name);
        }
        for &(buffer, mode) in &self.function.args {
            parameters.push(self.buffer_argument(buffer, mode)?);
        }
        self.stmts(&self.function.body)?;
        let inline = if private.inline { "" } else { super::NOINLINE };
        self.finish("private ", &parameters, inline);
        Ok(())
    }

    pub(super) fn call_function(&mut self, call: &Call) -> Result<()> {
        let Some(callee) = self.module.functions.get(call.function.0 as usize) else {
            return Err(self.invalid(format_args!("function {} does not exist", call.function.0)));
        };
        let (mut operands, mut types) = (Vec::new(), Vec::new());
        for integer in &call.integers {
            operands.push(self.index(integer)?.to_string());
        }
        for symbol in callee.private.iter().flat_map(|private| &private.symbols) {
            operands.push(self.symbol(*symbol)?.to_string());
        }
        types.resize(operands.len(), "index".to_owned());
        for buffer in &call.buffers {
            let (name, element) = self.buffer(*buffer)?;
            operands.push(name.to_string());
            types.push(memref(element));
        }
        let name = format!("{}{}", self.unit.prefix, callee.name);
        let (operands, types) = (operands.join(", "), types.join(", "));
        line!(self, "func.call @{name}({operands}) : ({types}) -> ()");
        Ok(())
    }
}
