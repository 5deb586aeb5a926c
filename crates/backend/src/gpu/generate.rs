//! Kernels as PTX, through MLIR and LLVM.

use std::time::Duration;

use dastac_loops::Module;
use dastac_target::launch::{DeviceCode, Grid};
use dastac_target::{CodeOptions, TargetError};
use llvm_sys::target_machine::LLVMCodeGenFileType;

use super::{library, plan};
use crate::Result;
use crate::cpu::Clock;
use crate::emit::{self, Emitted, Kept};
use crate::llvm::{Code, KernelEntry, Spec, TargetMachine};
use crate::mlir::Session;

/// A description that cannot be written.
pub(super) fn not_written(error: serde_json::Error) -> TargetError {
    TargetError::Generator { tool: "JSON", stage: "write a plan", message: error.to_string() }
}

/// The kernels in MLIR.
pub(super) fn mlir(module: &Module, options: &CodeOptions, generation: u32) -> Result<String> {
    Ok(emit::emit_kernels(module, &options.prefix, generation)?.text)
}

/// Blocks that a multiprocessor is to have at the same time: more of them hide how long memory takes, and leave fewer
/// registers for each lane (64 of 4 blocks). The bounds are those at which no example has values in memory, but for
/// tiles.
fn blocks(kept: &Kept) -> u32 {
    match kept {
        // Tiles of matrices: their 128 registers are enough, as measured.
        Kept { held: 129.., .. } => 2,
        Kept { values: 601.., .. } => 1,
        Kept { values: 181.., .. } => 2,
        _ => 4,
    }
}

/// How long each step took.
pub(super) type Timings = Vec<(&'static str, Duration)>;

/// The kernels in PTX for a generation.
pub(super) fn ptx(module: &Module, options: &CodeOptions, generation: u32) -> Result<String> {
    let emitted = emit::emit_kernels(module, &options.prefix, generation)?;
    let grid = plan::grid(module, &options.prefix)?;
    translated(&emitted, &grid, options, generation, &mut Clock::start())
}

/// The plan with the code for some generations, as JSON, and how long it took. Each generation has a thread of its own;
/// the times are those of the one that took longest.
pub(super) fn grid(
    module: &Module,
    options: &CodeOptions,
    generations: &[u32],
) -> Result<(Vec<u8>, Timings)> {
    let mut grid = plan::grid(module, &options.prefix)?;
    let code = |generation: u32| {
        let mut clock = Clock::start();
        let emitted = emit::emit_kernels(module, &options.prefix, generation)?;
        clock.lap("emit");
        let text = translated(&emitted, &grid, options, generation, &mut clock)?;
        Ok((DeviceCode { generation, text }, clock.timings))
    };
    let all: Vec<Result<(DeviceCode, Timings)>> = std::thread::scope(|scope| {
        let others = generations.iter().skip(1).map(|generation| scope.spawn(|| code(*generation)));
        let others: Vec<_> = others.collect();
        let first = generations.first().map(|generation| code(*generation));
        let others = others.into_iter().map(|one| match one.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        first.into_iter().chain(others).collect()
    });
    let mut timings = Timings::new();
    for one in all {
        let (code, taken) = one?;
        grid.codes.push(code);
        let total = |timings: &Timings| timings.iter().map(|(_, time)| *time).sum::<Duration>();
        if total(&taken) > total(&timings) {
            timings = taken;
        }
    }
    let bytes = serde_json::to_vec(&grid).map_err(not_written)?;
    Ok((bytes, timings))
}

fn translated(
    emitted: &Emitted,
    grid: &Grid,
    options: &CodeOptions,
    generation: u32,
    clock: &mut Clock,
) -> Result<String> {
    let level = options.opt_level as u8;
    let session = Session::new();
    let mut module = session.parse(emitted)?;
    clock.lap("parse");
    session.lower_for_device(&mut module)?;
    clock.lap("lower");
    // The first version of PTX that drivers of the generation read.
    let features = if generation >= 90 { "+ptx80" } else { "+ptx70" };
    let machine = TargetMachine::new(
        Spec {
            triple: "nvptx64-nvidia-cuda".to_owned(),
            cpu: format!("sm_{generation}"),
            features: features.to_owned(),
            embedded: false,
        },
        level,
    )?;
    let entries: Vec<KernelEntry<'_>> = grid
        .kernels
        .iter()
        .zip(&emitted.kept)
        .map(|(kernel, kept)| KernelEntry {
            name: &kernel.name,
            lanes: kernel.lanes,
            blocks: blocks(kept),
        })
        .collect();
    let code = Code::kernels(&module, &entries, &machine)?;
    if emitted.math
        && let Some(place) = library::place()
    {
        code.add_library(&place)?;
    }
    clock.lap("translate");
    code.optimise(&machine, level)?;
    clock.lap("optimise");
    let text = code.generate(&machine, LLVMCodeGenFileType::LLVMAssemblyFile)?;
    clock.lap("codegen");
    Ok(String::from_utf8_lossy(&text).into_owned())
}
