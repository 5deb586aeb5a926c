//! A target that is not the host, without a change anywhere outside of this folder: cores with scratchpads, each with
//! lanes, as processors in memory or the multiprocessors of a GPU have them.
//!
//! - [`TwoLevel`]: the target: its machine, its sequence, what it refuses, its artifact.
//! - [`map`]: its pass, which maps parallel loops to cores and lanes and workspaces to scratchpads.
//! - [`emit`]: its code, C-like text.
//! - [`simulate`]: that text on this computer, through a C compiler.
//! - [`tests`]: kernels on the interpreter before and after the passes, and as code.

mod emit;
mod map;
mod simulate;
mod tests;

use dastac_loops::machine::{Machine, Memory, Processors};
use dastac_loops::passes::{Pass, SIMPLIFY, Sequence};
use dastac_loops::{Element, Module, ParallelLevel, Space};
use dastac_target::{
    Abi, Artifact, Code, CodeKind, CodeOptions, Generated, Illegal, Requirements, Stage, Target,
    TargetError, legal,
};

/// The target.
#[derive(Debug)]
struct TwoLevel {
    cores: i64,
    lanes: i64,
    scratchpad: i64,
}

/// A small one, so that loops do not fit it evenly.
const SMALL: TwoLevel = TwoLevel { cores: 3, lanes: 4, scratchpad: 256 };

const PASSES: &[Pass] = &[map::MAP_LEVELS];

impl Target for TwoLevel {
    fn name(&self) -> &str {
        "two-level"
    }

    fn machine(&self, _: &CodeOptions) -> Machine {
        let level = |level, count| Processors { level, count: Some(count) };
        Machine {
            vector_bytes: 4 * self.lanes,
            memories: vec![Memory {
                space: Space::Scratchpad,
                bytes: self.scratchpad,
                level: ParallelLevel::Cores,
            }],
            levels: vec![
                level(ParallelLevel::Cores, self.cores),
                level(ParallelLevel::Lanes, self.lanes),
            ],
            ..Machine::PLAIN
        }
    }

    fn passes(&self) -> &'static [Pass] {
        PASSES
    }

    fn sequences(&self, _: &CodeOptions) -> Vec<Sequence> {
        vec![SIMPLIFY, Sequence { name: "two-level", passes: &["map-levels"] }]
    }

    fn legalize(&self, module: &Module, options: &CodeOptions) -> Result<(), TargetError> {
        legal::check(module, &self.machine(options), self.name())?;
        // Its cores compute with 32 bits.
        let wide = module.buffers.iter().filter(|buffer| buffer.element == Element::F64);
        let mut reasons: Vec<Illegal> = wide
            .map(|buffer| Illegal::Element { buffer: buffer.name.clone(), element: buffer.element })
            .collect();
        reasons.extend(emit::emit(module).err());
        legal::refuse(reasons, self.name())
    }

    fn stages(&self) -> &'static [Stage] {
        &[Stage { name: "c", about: "C-like text" }]
    }

    fn text(
        &self,
        module: &Module,
        options: &CodeOptions,
        stage: &str,
    ) -> Result<String, TargetError> {
        self.legalize(module, options)?;
        match (stage, emit::emit(module)) {
            ("c", Ok(text)) => Ok(text),
            ("c", Err(reason)) => {
                Err(TargetError::Illegal { target: self.name().to_owned(), reasons: vec![reason] })
            }
            _ => Err(TargetError::UnknownStage {
                target: self.name().to_owned(),
                stage: stage.to_owned(),
                known: "c".to_owned(),
            }),
        }
    }

    fn generate(&self, module: &Module, options: &CodeOptions) -> Result<Generated, TargetError> {
        let text = self.text(module, options, "c")?;
        let artifact = Artifact {
            target: self.name().to_owned(),
            code: Code { kind: CodeKind::Text, bytes: text.into_bytes() },
            abi: Abi::of(module, &options.prefix),
            libraries: Vec::new(),
            requires: Requirements { architecture: self.name().to_owned(), features: Vec::new() },
        };
        Ok(Generated { artifact, timings: Vec::new() })
    }
}
