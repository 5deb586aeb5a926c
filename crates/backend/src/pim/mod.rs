//! Cores inside of memory as a target: a machine that is simulated ([`dastac_pim`]), with real code.
//!
//! Outermost parallel loops become programs whose iterations the threads of all cores share out (`launches`); a host
//! decides where they are cut when it knows sizes and what is stored, by their outline (`outline`). All is printed as
//! MLIR and compiled for 32-bit RISC-V, then linked (`generate`).

mod generate;
mod launches;
mod outline;

use dastac_loops::machine::Machine;
use dastac_loops::machine::Processors;
use dastac_loops::passes::Sequence;
use dastac_loops::{Module, ParallelLevel};
use dastac_pim::Profile;
use dastac_pim::plan::Configuration;
use dastac_target::{
    Abi, Artifact, Code, CodeKind, CodeOptions, Generated, Requirements, Stage, Target,
    TargetError, legal,
};

use crate::Result;
use crate::cpu::{Clock, Stop};

/// What is done with loops before they are cut into programs: the outermost parallel ones stay.
const CORES: Sequence =
    Sequence { name: "cores", passes: &["expand-partial-sums", "choose-threads"] };

/// The target.
#[derive(Clone, Debug, PartialEq)]
pub struct PimTarget {
    machine: Configuration,
}

impl PimTarget {
    /// The name of the target.
    pub const NAME: &str = "pim";

    /// Its texts.
    pub const STAGES: &[Stage] = &[
        Stage { name: "programs", about: "The programs of cores inside of memory, as loops" },
        Stage { name: "mlir", about: "The computation in MLIR, before any of its passes" },
        Stage { name: "mlir-llvm", about: "The computation in the LLVM dialect of MLIR" },
        Stage { name: "llvm", about: "The computation in LLVM IR, optimised" },
        Stage { name: "asm", about: "The computation in assembly of the processor" },
    ];

    /// So many cores, or all, of a machine by its name, each with so many threads, or all.
    ///
    /// # Errors
    /// A name that no machine has; more cores or threads than it has.
    pub fn new(profile: &str, cores: Option<usize>, threads: Option<usize>) -> Result<PimTarget> {
        let profile =
            Profile::named(profile).map_err(|error| TargetError::Machine(error.to_string()))?;
        let (cores, threads) =
            (cores.unwrap_or(64.min(profile.cores)), threads.unwrap_or(profile.threads));
        let limits = [(cores, profile.cores, "cores"), (threads, profile.threads, "threads")];
        for (wanted, most, what) in limits {
            if wanted == 0 || wanted > most {
                let name = &profile.name;
                let text = format!("`{name}` has 1 to {most} {what}, not {wanted}");
                return Err(TargetError::Machine(text));
            }
        }
        Ok(PimTarget { machine: Configuration { profile, cores, threads } })
    }
}

impl Target for PimTarget {
    fn name(&self) -> &str {
        PimTarget::NAME
    }

    fn machine(&self, _: &CodeOptions) -> Machine {
        let level = Processors { level: ParallelLevel::Threads, count: None };
        Machine { vector_bytes: 0, stack: generate::STACK, levels: vec![level], ..Machine::PLAIN }
    }

    fn sequences(&self, _: &CodeOptions) -> Vec<Sequence> {
        vec![CORES]
    }

    fn code_sequences(&self, _: &CodeOptions) -> Vec<Sequence> {
        vec![CORES]
    }

    fn legalize(&self, module: &Module, options: &CodeOptions) -> Result<()> {
        legal::check(module, &self.machine(options), PimTarget::NAME)
    }

    fn stages(&self) -> &'static [Stage] {
        PimTarget::STAGES
    }

    fn text(&self, module: &Module, options: &CodeOptions, stage: &str) -> Result<String> {
        self.legalize(module, options)?;
        if stage == "programs" {
            return Ok(generate::programs(module, options).to_string());
        }
        let stop = Stop::at(stage).ok_or_else(|| TargetError::UnknownStage {
            target: PimTarget::NAME.to_owned(),
            stage: stage.to_owned(),
            known: PimTarget::STAGES.iter().map(|stage| stage.name).collect::<Vec<_>>().join(", "),
        })?;
        generate::text(module, options, stop)
    }

    fn generate(&self, module: &Module, options: &CodeOptions) -> Result<Generated> {
        let mut clock = Clock::start();
        self.legalize(module, options)?;
        clock.lap("verify");
        let bytes = generate::executable(module, options, &self.machine, &mut clock)?;
        let artifact = Artifact {
            target: PimTarget::NAME.to_owned(),
            code: Code { kind: CodeKind::Cores, bytes },
            abi: Abi::of(module, &options.prefix),
            libraries: Vec::new(),
            requires: Requirements::default(),
        };
        Ok(Generated { artifact, timings: clock.timings })
    }
}
