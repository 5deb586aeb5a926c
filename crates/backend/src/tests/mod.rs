//! Modules built by hand, compiled and run.

mod checked;
mod interface;
mod kernels;
mod lanes;
mod native;
mod parallel;
mod partial;
mod random;
mod reductions;
mod share;
mod sparse;
mod workspace;

use crate::{Compiled, Cpu, Options, compile};
use dastac_loops::*;
use dastac_runtime::{Argument, Code, Threads};

/// A module with one function, under construction.
struct Build {
    module: Module,
    function: Function,
}

impl Build {
    fn new(name: &str) -> Build {
        Build { module: Module::default(), function: Function::new(name, Vec::new()) }
    }

    fn symbol(&mut self, name: &str) -> Index {
        Index::Symbol(self.module.symbol(name))
    }

    fn buffer(
        &mut self,
        name: &str,
        element: Element,
        mode: Mode,
        size: impl Into<Index>,
    ) -> BufferId {
        let id = self.module.buffer(name, element, size.into());
        self.function.args.push((id, mode));
        id
    }

    fn var(&mut self, name: &str) -> VarId {
        self.function.fresh_var(name)
    }

    fn finish(mut self, body: Vec<Stmt>) -> Module {
        self.function.body = body;
        self.module.functions.push(self.function);
        self.module
    }
}

fn v(var: VarId) -> Index {
    Index::Var(var)
}

fn c(value: i64) -> Index {
    Index::Const(value)
}

/// Compiled for one thread, loaded.
fn jit(module: &Module) -> Code {
    load(&compiled(module, false))
}

/// Loaded into this process.
fn load(compiled: &Compiled) -> Code {
    Code::load(compiled.abi(), compiled.object()).unwrap()
}

fn compiled(module: &Module, parallel: bool) -> Compiled {
    let options = Options { parallel, ..Options::default() };
    compile(module, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Numbers that differ from each other and are exact in binary.
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|at| ((at * 37 + 11) % 101) as f64 / 8.0 - 5.0).collect()
}

/// Calls the one function of `module`, the last buffer being the output of `length` elements, at first -1.
fn run(module: &Module, params: &[i64], inputs: &[&[f64]], length: usize) -> Vec<f64> {
    let mut out = vec![-1.0; length];
    let mut buffers: Vec<_> = inputs.iter().map(|slice| Argument::read(slice)).collect();
    buffers.push(Argument::write(&mut out));
    jit(module).call(&module.functions[0].name, params, &mut buffers).unwrap();
    out
}
