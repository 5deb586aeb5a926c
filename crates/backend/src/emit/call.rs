//! Private functions, their calls, and teams of threads.
//!
//! Before -> after: `private func f(symbol N, index i, in A) { body }` ->
//! `func.func private @f(%i: index, %N: index, %A: !f64s {llvm.noalias, llvm.readonly}) { body }`;
//! `call f(3) on B` -> `func.call @f(3, %N, %B)`;
//! `team t in n { body }` -> `omp.parallel { t = omp_get_thread_num()  n = omp_get_num_threads()  body }`.
//!
//! Checked code passes the size of each buffer behind it.

use super::{Ssa, Variable, Writer, line, memref, sanitized};
use crate::Result;
use dastac_loops::{Call, Module, Private, Stmt, Team};

/// OpenMP's number of a thread among those that a parallel region has, and how many it has.
const THIS_THREAD: &str = "omp_get_thread_num";
const THREADS: &str = "omp_get_num_threads";

/// What a module with teams declares.
pub(super) fn declarations() -> String {
    let declare = |name: &str| format!("  func.func private @{name}() -> i32\n");
    [THIS_THREAD, THREADS].map(declare).concat()
}

/// For each function the exported one that it is part of, whose name users know.
pub(super) fn owners(module: &Module) -> Vec<&str> {
    let mut owners: Vec<&str> = module.functions.iter().map(|known| &known.name[..]).collect();
    for exported in module.functions.iter().filter(|known| known.private.is_none()) {
        let mut open = vec![exported];
        while let Some(caller) = open.pop() {
            let mut calls = Vec::new();
            caller.body.iter().for_each(|stmt| {
                stmt.visit(&mut |stmt| calls.extend(call_of(stmt)));
            });
            for callee in calls.into_iter().map(|call| call.function.0 as usize) {
                if let Some(known) = module.functions.get(callee)
                    && owners[callee] != exported.name
                {
                    owners[callee] = &exported.name;
                    open.push(known);
                }
            }
        }
    }
    owners
}

fn call_of(stmt: &Stmt) -> Option<&Call> {
    if let Stmt::Call(call) = stmt { Some(call) } else { None }
}

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
            if self.checked {
                let size = Ssa(format!("%size{}", buffer.0));
                parameters.push(format!("{size}: index"));
                self.sizes.insert(buffer, size);
            }
        }
        self.stmts(&self.function.body)?;
        if private.uneven {
            self.unit.uneven.insert(self.name.clone());
        }
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
            if let Some(size) = self.sizes.get(buffer) {
                operands.push(size.to_string());
                types.push("index".to_owned());
            }
        }
        let name = format!("{}{}", self.unit.prefix, callee.name);
        let (operands, types) = (operands.join(", "), types.join(", "));
        line!(self, "func.call @{name}({operands}) : ({types}) -> ()");
        Ok(())
    }

    pub(super) fn team(&mut self, team: &Team) -> Result<()> {
        self.unit.parallel = true;
        self.unit.asks_threads = true;
        line!(self, "omp.parallel {{");
        self.block(|writer| {
            let numbers = [THIS_THREAD, THREADS].map(|function| {
                let number = writer.define(format_args!("func.call @{function}() : () -> i32"));
                writer.define(format_args!("arith.index_cast {number} : i32 to index"))
            });
            writer.bind_all(&[team.part, team.parts], &numbers);
            writer.stmts(&team.body)?;
            [team.part, team.parts].iter().for_each(|var| drop(writer.vars.remove(var)));
            line!(writer, "omp.terminator");
            Ok(())
        })?;
        line!(self, "}}");
        Ok(())
    }
}
