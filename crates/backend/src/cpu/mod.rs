//! The processor of this computer, or another one of its kind: the first target.
//!
//! Threads are its only level of parallelism, through OpenMP; it has main memory and stacks. What passes leave is
//! printed as MLIR (`emit`), lowered (`mlir`) and compiled (`llvm`).

mod caches;
mod generate;
mod libmvec;
mod processor;

use dastac_loops::Module;
use dastac_loops::machine::Machine;
use dastac_loops::passes::{
    CHECK_BOUNDS, CHECKED_REGISTERS, CHECKED_THREADS, REGISTERS, ROLL_LOOPS, Sequence, THREADS,
    TILE,
};
use dastac_target::{
    Abi, Artifact, Code, CodeKind, CodeOptions, Generated, Library, Requirements, Stage, Target,
    TargetError, legal,
};

pub(crate) use self::generate::{Clock, Job, Stop};
use crate::Result;
use crate::emit::{IndexWidth, VectorFunctions};

pub use generate::warm_up;
pub use processor::Processor;

/// The target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTarget {
    processor: Processor,
}

impl CpuTarget {
    /// The name of the target.
    pub const NAME: &str = "cpu";

    /// Its texts.
    pub const STAGES: &[Stage] = &[
        Stage { name: "mlir", about: "The computation in MLIR, before any of its passes" },
        Stage { name: "mlir-llvm", about: "The computation in the LLVM dialect of MLIR" },
        Stage { name: "llvm", about: "The computation in LLVM IR, optimised" },
        Stage { name: "asm", about: "The computation in assembly of the processor" },
    ];

    /// The processor that this process runs on.
    pub fn host() -> CpuTarget {
        CpuTarget { processor: Processor::host() }
    }

    /// A processor by LLVM's name, such as `x86-64-v3` or `znver4`. Code for more than the host has cannot be called
    /// here.
    ///
    /// # Errors
    /// A name that LLVM does not know.
    pub fn named(name: &str) -> Result<CpuTarget> {
        CpuTarget::with_features(name, &[])
    }

    /// A processor by LLVM's name, with features to add or leave out, each `+name` or `-name`.
    ///
    /// # Errors
    /// A name or feature that LLVM does not know.
    pub fn with_features(name: &str, features: &[&str]) -> Result<CpuTarget> {
        Ok(CpuTarget { processor: Processor::named(name, features)? })
    }

    fn job<'a>(&'a self, module: &'a Module, options: &'a CodeOptions) -> Job<'a> {
        let machine = self.processor.machine();
        let vectors =
            VectorFunctions { known: machine.vector_functions, bytes: machine.vector_bytes };
        let width = IndexWidth::Bits64;
        Job { spec: &self.processor.spec, module, options, vectors, width }
    }
}

impl Default for CpuTarget {
    fn default() -> CpuTarget {
        CpuTarget::host()
    }
}

impl Target for CpuTarget {
    fn name(&self) -> &str {
        CpuTarget::NAME
    }

    fn machine(&self, options: &CodeOptions) -> Machine {
        self.processor.machine().with_threads(options.parallel)
    }

    fn sequences(&self, options: &CodeOptions) -> Vec<Sequence> {
        let tiles = (!options.untiled).then_some(TILE);
        tiles.into_iter().chain(self.code_sequences(options)).collect()
    }

    fn takes_sizes(&self) -> bool {
        true
    }

    fn code_sequences(&self, options: &CodeOptions) -> Vec<Sequence> {
        match options.checked {
            true => vec![ROLL_LOOPS, CHECKED_THREADS, CHECKED_REGISTERS, CHECK_BOUNDS],
            false => vec![THREADS, REGISTERS],
        }
    }

    fn legalize(&self, module: &Module, options: &CodeOptions) -> Result<()> {
        legal::check(module, &self.machine(options), CpuTarget::NAME)
    }

    fn stages(&self) -> &'static [Stage] {
        CpuTarget::STAGES
    }

    fn text(&self, module: &Module, options: &CodeOptions, stage: &str) -> Result<String> {
        let stop = Stop::at(stage).ok_or_else(|| TargetError::UnknownStage {
            target: CpuTarget::NAME.to_owned(),
            stage: stage.to_owned(),
            known: CpuTarget::STAGES.iter().map(|stage| stage.name).collect::<Vec<_>>().join(", "),
        })?;
        self.legalize(module, options)?;
        self.job(module, options).text(stop)
    }

    fn generate(&self, module: &Module, options: &CodeOptions) -> Result<Generated> {
        let mut clock = Clock::start();
        // Code relies on the invariants of loops, down to the promise that a buffer is only read.
        self.legalize(module, options)?;
        clock.lap("verify");
        let object = self.job(module, options).object(&mut clock)?;
        let libraries = [(object.threads, Library::OpenMp), (object.math, Library::Math)];
        let artifact = Artifact {
            target: CpuTarget::NAME.to_owned(),
            code: Code { kind: CodeKind::Object, bytes: object.bytes },
            abi: Abi::of(module, &options.prefix),
            libraries: libraries
                .into_iter()
                .filter(|(needs, _)| *needs)
                .map(|(_, one)| one)
                .collect(),
            requires: Requirements {
                architecture: std::env::consts::ARCH.to_owned(),
                features: self.processor.features(),
            },
        };
        Ok(Generated { artifact, timings: clock.timings })
    }
}
