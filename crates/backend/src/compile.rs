//! The stages in order, and what they leave.

use crate::cpu::Cpu;
use crate::emit::{self, Emitted};
use crate::llvm::{Code, TargetMachine};
use crate::mlir::Session;
use crate::{Error, Result};
use dastac_loops::abi::Abi;
use dastac_loops::{Module, passes, verify};
use llvm_sys::target_machine::LLVMCodeGenFileType;
use std::time::{Duration, Instant};

/// How much LLVM optimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OptLevel {
    /// Not at all; for a look at the code as written.
    O0,
    /// A little.
    O1,
    /// More.
    O2,
    /// All that LLVM has.
    #[default]
    O3,
}

/// What to compile for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Put in front of every exported name.
    pub prefix: String,
    /// Whether parallel loops run on several threads; the code then needs OpenMP's library.
    pub parallel: bool,
    /// Whether every access asserts that it stays within its buffer. One that does not says so on standard error and
    /// ends the process with `abort`, whichever thread it is on.
    pub checked: bool,
    /// The CPU.
    pub cpu: Cpu,
    /// How much LLVM optimises.
    pub opt_level: OptLevel,
}

/// A compiled module.
#[derive(Clone, Debug)]
pub struct Compiled {
    module: Module,
    options: Options,
    mlir: String,
    object: Vec<u8>,
    needs_openmp: bool,
    timings: Vec<(&'static str, Duration)>,
}

/// Compiles `module` to object code, after checking its invariants.
pub fn compile(module: &Module, options: &Options) -> Result<Compiled> {
    let mut clock = Clock { last: Instant::now(), timings: Vec::new() };
    // Code would rely on them, down to the promise that a buffer is only read.
    verify(module).map_err(|errors| {
        let list: Vec<_> = errors.iter().map(ToString::to_string).collect();
        Error::Invalid(list.join("; "))
    })?;
    clock.lap("verify");
    let emitted = emit::emit(&threaded(module, options)?, options)?;
    clock.lap("emit");
    let object = run(&emitted, options, Stage::Object, &mut clock)?;
    Ok(Compiled {
        module: module.clone(),
        options: options.clone(),
        mlir: emitted.text,
        object,
        needs_openmp: emitted.threads,
        timings: clock.timings,
    })
}

/// A module with what threads execute as functions and teams.
fn threaded(module: &Module, options: &Options) -> Result<Module> {
    let machine = options.cpu.machine(options.parallel)?;
    let sequence = if options.checked { passes::CHECKED_THREADS } else { passes::THREADS };
    let registry = passes::Registry::of(passes::ALL);
    let invalid = |error: &dyn std::fmt::Display| Error::Invalid(error.to_string());
    let pipeline = passes::Pipeline::of(&registry, &[sequence]).map_err(|error| invalid(&error))?;
    let mut module = module.clone();
    let ran = pipeline.run(&mut module, &passes::Context::of(&machine), &mut ());
    ran.map_err(|error| invalid(&error))?;
    Ok(module)
}

/// Prepares MLIR and LLVM for the first compilation of this process (some 10 ms): for a thread of its own, while
/// another is busy.
pub fn warm_up() {
    crate::llvm::initialize();
    drop(Session::new());
}

impl Compiled {
    /// The module as MLIR, before any pass.
    pub fn mlir(&self) -> &str {
        &self.mlir
    }

    /// The module in MLIR's LLVM dialect. Made on request.
    pub fn mlir_lowered(&self) -> Result<String> {
        self.text(Stage::Lowered)
    }

    /// The optimised LLVM IR. Made on request.
    pub fn llvm_ir(&self) -> Result<String> {
        self.text(Stage::Optimised)
    }

    /// The assembly text. Made on request.
    pub fn assembly(&self) -> Result<String> {
        self.text(Stage::Assembly)
    }

    /// The object file's contents.
    pub fn object(&self) -> &[u8] {
        &self.object
    }

    /// How long each stage took, in order: `verify`, `emit`, `parse`, `lower`, `translate`, `optimise`,
    /// `codegen`.
    pub fn timings(&self) -> &[(&'static str, Duration)] {
        &self.timings
    }

    /// Whether the code calls OpenMP's library: it was compiled for threads and has a parallel loop.
    pub fn needs_openmp(&self) -> bool {
        self.needs_openmp
    }

    /// The module that this was compiled from.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// What callers of the code must know.
    pub fn abi(&self) -> Abi {
        Abi::of(&self.module, &self.options.prefix)
    }

    /// The options that this was compiled with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn text(&self, stage: Stage) -> Result<String> {
        let emitted = emit::emit(&threaded(&self.module, &self.options)?, &self.options)?;
        let mut clock = Clock { last: Instant::now(), timings: Vec::new() };
        let bytes = run(&emitted, &self.options, stage, &mut clock)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Lowered,
    Optimised,
    Assembly,
    Object,
}

struct Clock {
    last: Instant,
    timings: Vec<(&'static str, Duration)>,
}

impl Clock {
    fn lap(&mut self, stage: &'static str) {
        let now = Instant::now();
        self.timings.push((stage, now - self.last));
        self.last = now;
    }
}

fn run(emitted: &Emitted, options: &Options, stop: Stage, clock: &mut Clock) -> Result<Vec<u8>> {
    let spec = options.cpu.spec()?;
    let level = options.opt_level as u8;
    let session = Session::new();
    let mut module = session.parse(emitted)?;
    clock.lap("parse");
    session.lower(&mut module, emitted)?;
    clock.lap("lower");
    if stop == Stage::Lowered {
        return Ok(module.as_operation().to_string().into_bytes());
    }
    let machine = TargetMachine::new(spec, level)?;
    let code = Code::translate(&module, &emitted.exported, &machine)?;
    clock.lap("translate");
    code.optimise(&machine, level)?;
    clock.lap("optimise");
    let kind = match stop {
        Stage::Optimised => return Ok(code.text().into_bytes()),
        Stage::Assembly => LLVMCodeGenFileType::LLVMAssemblyFile,
        _ => LLVMCodeGenFileType::LLVMObjectFile,
    };
    let bytes = code.generate(&machine, kind)?;
    clock.lap("codegen");
    Ok(bytes)
}
