//! NVIDIA's GPUs: grids of blocks of lanes, and a host that starts kernels on them.
//!
//! - [`CudaTarget`]: kernels as PTX, which the driver of the device translates, and what the host does for them.
//! - [`GridTarget`]: the same kernels on this computer's processor, to test them where there is no device.
//! - `map`: the passes that make kernels of parallel loops. `plan`: what is left for the host, as plain data.
//! - `generate`: kernels as PTX.

mod generate;
pub(crate) mod library;
mod map;
mod plan;

use dastac_loops::machine::{Machine, Memory, Processors};
use dastac_loops::passes::{CHECKED_REGISTERS, CHECKED_THREADS, Pass, REGISTERS, Sequence};
use dastac_loops::{Module, ParallelLevel, Space};
use dastac_target::{
    Abi, Artifact, Code, CodeKind, CodeOptions, Generated, Requirements, Stage, Target,
    TargetError, legal,
};

use crate::Result;
use crate::cpu::CpuTarget;

/// Kernels for NVIDIA's devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaTarget {
    /// The generations that code is made for, ten times their numbers, the oldest first.
    generations: Vec<u32>,
}

/// Generations of devices that code is made for: 8.0 (A100) and 9.0 (H100, H200).
const GENERATIONS: [u32; 2] = [80, 90];

impl CudaTarget {
    /// The name of the target.
    pub const NAME: &str = "cuda";

    /// Its texts.
    pub const STAGES: &[Stage] = &[
        Stage { name: "kernels", about: "The kernels of a GPU in MLIR" },
        Stage { name: "ptx", about: "The kernels of a GPU in PTX" },
        Stage { name: "launches", about: "What the host does for kernels of a GPU, as JSON" },
    ];

    /// Code for all generations that are known.
    pub fn new() -> CudaTarget {
        CudaTarget { generations: GENERATIONS.to_vec() }
    }

    /// Code for one generation and later ones: `sm_80` or `sm_90`.
    ///
    /// # Errors
    /// A name that is none of these.
    pub fn named(name: &str) -> Result<CudaTarget> {
        let known = GENERATIONS.into_iter().find(|one| format!("sm_{one}") == name);
        match known {
            Some(generation) => Ok(CudaTarget { generations: vec![generation] }),
            None => Err(TargetError::UnknownCpu {
                name: name.to_owned(),
                known: GENERATIONS.map(|one| format!("sm_{one}")).join(", "),
            }),
        }
    }
}

impl Default for CudaTarget {
    fn default() -> CudaTarget {
        CudaTarget::new()
    }
}

/// What passes know of a device.
fn machine() -> Machine {
    let level = |level, count| Processors { level, count };
    Machine {
        vector_bytes: 0,
        registers: 255,
        fuses: true,
        memories: vec![Memory {
            space: Space::Shared,
            bytes: 48 << 10,
            level: ParallelLevel::Blocks,
        }],
        levels: vec![
            level(ParallelLevel::Blocks, None),
            level(ParallelLevel::Lanes, Some(map::LANES)),
        ],
        stack: 1 << 10,
        ..Machine::PLAIN
    }
}

impl Target for CudaTarget {
    fn name(&self) -> &str {
        CudaTarget::NAME
    }

    fn machine(&self, _: &CodeOptions) -> Machine {
        machine()
    }

    fn passes(&self) -> &'static [Pass] {
        map::PASSES
    }

    fn sequences(&self, options: &CodeOptions) -> Vec<Sequence> {
        [map::MAP].into_iter().chain(self.code_sequences(options)).collect()
    }

    fn code_sequences(&self, _: &CodeOptions) -> Vec<Sequence> {
        vec![CHECKED_REGISTERS]
    }

    fn legalize(&self, module: &Module, _: &CodeOptions) -> Result<()> {
        legal::check(module, &machine(), CudaTarget::NAME)?;
        legal::refuse(library::missing(module), CudaTarget::NAME)
    }

    fn stages(&self) -> &'static [Stage] {
        CudaTarget::STAGES
    }

    fn text(&self, module: &Module, options: &CodeOptions, stage: &str) -> Result<String> {
        self.legalize(module, options)?;
        let newest = self.generations.last().copied().unwrap_or(GENERATIONS[0]);
        match stage {
            "kernels" => generate::mlir(module, options, newest),
            "ptx" => generate::ptx(module, options, newest),
            "launches" => {
                let grid = plan::grid(module, &options.prefix)?;
                serde_json::to_string_pretty(&grid).map_err(generate::not_written)
            }
            _ => Err(TargetError::UnknownStage {
                target: CudaTarget::NAME.to_owned(),
                stage: stage.to_owned(),
                known: CudaTarget::STAGES.iter().map(|one| one.name).collect::<Vec<_>>().join(", "),
            }),
        }
    }

    fn generate(&self, module: &Module, options: &CodeOptions) -> Result<Generated> {
        self.legalize(module, options)?;
        let (bytes, timings) = generate::grid(module, options, &self.generations)?;
        let oldest = self.generations.first().copied().unwrap_or(GENERATIONS[0]);
        let artifact = Artifact {
            target: CudaTarget::NAME.to_owned(),
            code: Code { kind: CodeKind::Cuda, bytes },
            abi: Abi::of(module, &options.prefix),
            libraries: Vec::new(),
            requires: Requirements { architecture: format!("sm_{oldest}"), features: Vec::new() },
        };
        Ok(Generated { artifact, timings })
    }
}

/// Kernels as [`CudaTarget`] has them, on this computer's processor: blocks on threads, lanes one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GridTarget {
    cpu: CpuTarget,
}

impl GridTarget {
    /// The name of the target.
    pub const NAME: &str = "grid";
}

impl Target for GridTarget {
    fn name(&self) -> &str {
        GridTarget::NAME
    }

    fn machine(&self, options: &CodeOptions) -> Machine {
        self.cpu.machine(options)
    }

    fn passes(&self) -> &'static [Pass] {
        map::PASSES
    }

    fn sequences(&self, _: &CodeOptions) -> Vec<Sequence> {
        vec![map::MAP, map::EMULATE, CHECKED_THREADS, REGISTERS]
    }

    fn legalize(&self, module: &Module, options: &CodeOptions) -> Result<()> {
        self.cpu.legalize(module, options)
    }

    fn stages(&self) -> &'static [Stage] {
        &[]
    }

    fn text(&self, module: &Module, options: &CodeOptions, stage: &str) -> Result<String> {
        self.cpu.text(module, options, stage)
    }

    fn generate(&self, module: &Module, options: &CodeOptions) -> Result<Generated> {
        self.cpu.generate(module, options)
    }
}
