//! The steps from loops to machine code, in order, and how long each takes.

use std::time::{Duration, Instant};

use dastac_loops::Module;
use dastac_target::CodeOptions;
use llvm_sys::target_machine::LLVMCodeGenFileType;

use crate::Result;
use crate::emit::{self, Emitted, IndexWidth, VectorFunctions};
use crate::llvm::{self, Code, Spec, TargetMachine};
use crate::mlir::Session;

/// Where the steps end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// MLIR as it is printed.
    Mlir,
    /// MLIR's LLVM dialect.
    Lowered,
    /// Optimised LLVM IR.
    Optimised,
    /// Assembly.
    Assembly,
    /// An object file.
    Object,
}

impl Stop {
    /// Where a text of that name is.
    pub fn at(stage: &str) -> Option<Stop> {
        match stage {
            "mlir" => Some(Stop::Mlir),
            "mlir-llvm" => Some(Stop::Lowered),
            "llvm" => Some(Stop::Optimised),
            "asm" => Some(Stop::Assembly),
            _ => None,
        }
    }
}

/// Prepares MLIR and LLVM for the first compilation of this process (some 10 ms): for a thread of its own, while
/// another is busy.
pub fn warm_up() {
    llvm::initialize();
    drop(Session::new());
}

/// What is compiled.
pub struct Job<'a> {
    /// For which processor.
    pub spec: &'a Spec,
    /// The loops, after all passes.
    pub module: &'a Module,
    /// What the user asked for.
    pub options: &'a CodeOptions,
    /// The functions of vectors that it may call.
    pub vectors: VectorFunctions,
    /// Bits of its integers.
    pub width: IndexWidth,
}

/// An object file's contents.
pub struct Object {
    /// The contents.
    pub bytes: Vec<u8>,
    /// Whether it calls OpenMP's library.
    pub threads: bool,
    /// Whether it calls mathematical functions.
    pub math: bool,
}

impl Job<'_> {
    /// The object file.
    pub fn object(&self, clock: &mut Clock) -> Result<Object> {
        let emitted = emit::emit(self.module, &self.options.prefix, &self.vectors, self.width)?;
        clock.lap("emit");
        let bytes = self.run(&emitted, Stop::Object, clock)?;
        Ok(Object { bytes, threads: emitted.threads, math: emitted.math })
    }

    /// The text on the way to it.
    pub fn text(&self, stop: Stop) -> Result<String> {
        let emitted = emit::emit(self.module, &self.options.prefix, &self.vectors, self.width)?;
        if stop == Stop::Mlir {
            return Ok(emitted.text);
        }
        let bytes = self.run(&emitted, stop, &mut Clock::start())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn run(&self, emitted: &Emitted, stop: Stop, clock: &mut Clock) -> Result<Vec<u8>> {
        let level = self.options.opt_level as u8;
        let session = Session::new();
        let mut module = session.parse(emitted)?;
        clock.lap("parse");
        session.lower(&mut module, emitted)?;
        clock.lap("lower");
        if stop == Stop::Lowered {
            return Ok(module.as_operation().to_string().into_bytes());
        }
        let machine = TargetMachine::new(self.spec.clone(), level)?;
        let code = Code::translate(&module, &emitted.exported, &machine)?;
        clock.lap("translate");
        code.optimise(&machine, level)?;
        clock.lap("optimise");
        let kind = match stop {
            Stop::Optimised => return Ok(code.text().into_bytes()),
            Stop::Assembly => LLVMCodeGenFileType::LLVMAssemblyFile,
            _ => LLVMCodeGenFileType::LLVMObjectFile,
        };
        let bytes = code.generate(&machine, kind)?;
        clock.lap("codegen");
        Ok(bytes)
    }
}

/// Times steps.
pub struct Clock {
    last: Instant,
    /// How long each took.
    pub timings: Vec<(&'static str, Duration)>,
}

impl Clock {
    /// The first step begins.
    pub fn start() -> Clock {
        Clock { last: Instant::now(), timings: Vec::new() }
    }

    /// A step ends, and the next one begins.
    pub fn lap(&mut self, step: &'static str) {
        let now = Instant::now();
        // Code may be made several times, for integers of several widths.
        match self.timings.iter_mut().find(|known| known.0 == step) {
            Some(known) => known.1 += now - self.last,
            None => self.timings.push((step, now - self.last)),
        }
        self.last = now;
    }
}
