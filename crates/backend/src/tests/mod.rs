//! Modules built by hand, compiled and run.

mod checked;
mod elementwise;
mod interface;
mod kernels;
mod lanes;
mod native;
mod parallel;
mod partial;
mod random;
mod reductions;
mod scan;
mod share;
mod sparse;
mod workspace;

use crate::CpuTarget;
use dastac_loops::passes::{self, Pipeline, Registry};
use dastac_loops::*;
use dastac_runtime::{Argument, Code, Threads};
use dastac_target::{CodeOptions, Generated, Library, OptLevel, Target, TargetError};

/// What tests ask of the target.
#[derive(Clone, Debug, Default)]
struct Options {
    prefix: String,
    parallel: bool,
    checked: bool,
    /// Whether loops are cut into tiles and vectors.
    tiled: bool,
    cpu: CpuTarget,
    opt_level: OptLevel,
}

impl Options {
    /// Modules of tests stay as they are, unless they ask for tiles.
    fn code(&self) -> CodeOptions {
        let Options { prefix, parallel, checked, tiled, opt_level, .. } = self.clone();
        CodeOptions { prefix, parallel, checked, untiled: !tiled, opt_level }
    }
}

/// Code with what it was made of.
#[derive(Debug)]
struct Compiled {
    module: Module,
    options: Options,
    generated: Generated,
}

/// Compiles a module after the passes that every module goes through.
fn compile(module: &Module, options: &Options) -> Result<Compiled, TargetError> {
    let (mut module, options, code) = (module.clone(), options.clone(), options.code());
    let registry = Registry::of(passes::ALL);
    let pipeline = Pipeline::of(&registry, &options.cpu.sequences(&code)).unwrap();
    // What is not valid is refused by the target.
    if verify(&module).is_ok() {
        let machine = options.cpu.machine(&code);
        pipeline.run(&mut module, &passes::Context::of(&machine), &mut ()).unwrap();
    }
    let generated = options.cpu.generate(&module, &code)?;
    Ok(Compiled { module, options, generated })
}

impl Compiled {
    fn text(&self, stage: &str) -> String {
        self.options.cpu.text(&self.module, &self.options.code(), stage).unwrap()
    }

    fn object(&self) -> &[u8] {
        &self.generated.artifact.code.bytes
    }

    fn needs_openmp(&self) -> bool {
        self.generated.artifact.needs(Library::OpenMp)
    }
}

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
    Code::load(&compiled.generated.artifact).unwrap()
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
