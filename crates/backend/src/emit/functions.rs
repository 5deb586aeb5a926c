//! Functions and calls of private ones.
//!
//! Before -> after: `func f(in A) { body }` -> `func.func @f(%params: !i64s {..}, %b0_A: !f64s {..}) { body }`, which
//! loads the symbols first;
//! `private func f(symbol N, index i, in A) { body }` ->
//! `func.func private @f(%i: index, %N: index, %A: !f64s {llvm.noalias, llvm.readonly}) { body }`;
//! `call f(3) on B` -> `func.call @f(3, %N, %B)`.

use super::names::{memref, sanitized};
use super::writer::{Ssa, Variable, Writer, line};
use crate::Result;
use dastac_loops::{BufferId, Call, Mode, Private, SymbolId};
use std::fmt::Write;

/// The attribute of functions that are not copied to where they are called.
const NOINLINE: &str = " attributes {passthrough = [\"noinline\"]}";

impl Writer<'_, '_> {
    /// The whole function, exported.
    pub(super) fn function(&mut self) -> Result<()> {
        let mut arguments = vec!["%params: !i64s {llvm.noalias, llvm.readonly}".to_owned()];
        for &(buffer, mode) in &self.function.args {
            arguments.push(self.buffer_argument(buffer, mode)?);
        }
        for (at, name) in self.module.symbols.iter().enumerate() {
            let position = self.index_constant(at as i64);
            let value = self.fresh();
            line!(self, "{value} = memref.load %params[{position}] : !i64s");
            let symbol = Ssa(format!("%s{at}_{}", sanitized(name)));
            line!(self, "{symbol} = arith.index_cast {value} : i64 to index");
            self.symbols.insert(SymbolId(at as u32), symbol);
        }
        self.stmts(&self.function.body)?;
        self.finish("", &arguments, "");
        Ok(())
    }

    /// Appends the function to the unit.
    fn finish(&mut self, visibility: &str, arguments: &[String], attributes: &str) {
        let out = &mut self.unit.functions;
        let name = &self.name;
        let _ = writeln!(
            out,
            "  func.func {visibility}@{name}({}){attributes} {{",
            arguments.join(", ")
        );
        for (text, constant) in &self.constants {
            let _ = writeln!(out, "    {constant} = arith.constant {text}");
        }
        out.push_str(&self.entry);
        out.push_str(&self.body);
        out.push_str("    return\n  }\n");
    }

    /// An argument of the function that stands for a buffer.
    fn buffer_argument(&mut self, id: BufferId, mode: Mode) -> Result<String> {
        let Some(buffer) = self.module.buffers.get(id.0 as usize) else {
            return Err(self.invalid(format_args!("buffer {} does not exist", id.0)));
        };
        let name = Ssa(format!("%b{}_{}", id.0, sanitized(&buffer.name)));
        let readonly = if mode == Mode::In { ", llvm.readonly" } else { "" };
        let text = format!("{name}: {} {{llvm.noalias{readonly}}}", memref(buffer.element));
        self.buffers.insert(id, name);
        Ok(text)
    }

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
        let inline = if private.inline || self.unit.lanes.is_some() { "" } else { NOINLINE };
        let visibility = if self.unit.lanes.is_some() { "" } else { "private " };
        self.finish(visibility, &parameters, inline);
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
