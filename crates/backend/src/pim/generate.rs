//! From launches to a linked program, with integers of 32 and of 64 bits.

use dastac_loops::Module;
use dastac_loops::machine::Machine;
use dastac_loops::passes::{self, Context};
use dastac_pim::plan::{Configuration, Plan};
use dastac_pim::{Image, PLAN, WIDE, link};
use dastac_target::{CodeOptions, TargetError};

use super::launches::{self, Launches};
use crate::Result;
use crate::cpu::{Clock, Job, Stop};
use crate::emit::{IndexWidth, VectorFunctions};
use crate::llvm::Spec;

/// Bytes of the largest workspace on the stack of a thread.
pub const STACK: i64 = 128;

/// What all cores are compiled for.
pub fn spec() -> Spec {
    Spec {
        triple: "riscv32-unknown-elf".to_owned(),
        cpu: "generic-rv32".to_owned(),
        features: "+m,+f,-c,-relax".to_owned(),
        embedded: true,
    }
}

/// What a user may see on the way to code, of the program with 32-bit integers.
pub fn text(module: &Module, options: &CodeOptions, stop: Stop) -> Result<String> {
    let Launches { mut programs, .. } = launches::of(module, &options.prefix);
    in_registers(&mut programs);
    job(&spec(), &programs, options, IndexWidth::Bits32).text(stop)
}

/// The loops of all programs.
pub fn programs(module: &Module, options: &CodeOptions) -> Module {
    launches::of(module, &options.prefix).programs
}

/// The executable.
pub fn executable(
    module: &Module,
    options: &CodeOptions,
    machine: &Configuration,
    clock: &mut Clock,
) -> Result<Vec<u8>> {
    let Launches { mut programs, functions } = launches::of(module, &options.prefix);
    let buffers = programs.buffers.clone();
    in_registers(&mut programs);
    let plan = Plan { machine: machine.clone(), buffers, functions };
    let plan = serde_json::to_vec(&plan).map_err(|error| failed("describe", error.to_string()))?;
    let spec = spec();
    let mut image = |width: IndexWidth| -> Result<Image> {
        let object = job(&spec, &programs, options, width).object(clock)?;
        let image = link(&object.bytes, width == IndexWidth::Bits64)
            .map_err(|error| failed("link", error.to_string()));
        clock.lap("link");
        image
    };
    let wide = image(IndexWidth::Bits64)?.to_elf();
    let mut narrow = image(IndexWidth::Bits32)?;
    narrow.notes = [(PLAN.to_owned(), plan), (WIDE.to_owned(), wide)].into_iter().collect();
    Ok(narrow.to_elf())
}

fn job<'a>(
    spec: &'a Spec,
    module: &'a Module,
    options: &'a CodeOptions,
    width: IndexWidth,
) -> Job<'a> {
    let vectors = VectorFunctions { known: Vec::new(), bytes: 0 };
    Job { spec, module, options, vectors, width }
}

/// Register code without lanes, and small workspaces on stacks.
fn in_registers(module: &mut Module) {
    // What is parallel inside of a program runs in order.
    if let Some(pass) = passes::find("choose-threads") {
        (pass.run)(module, &Context::of(&Machine::PLAIN));
    }
    let machine = Machine {
        vector_bytes: 0,
        stack: STACK,
        // Nothing runs side by side in a pipeline that threads share.
        chains: 1,
        scalar_chains: 1,
        ..Machine::PLAIN
    };
    for name in ["place-workspaces", "scalar-registers"] {
        if let Some(pass) = passes::find(name) {
            (pass.run)(module, &Context::of(&machine));
        }
    }
}

fn failed(stage: &'static str, message: String) -> TargetError {
    TargetError::Generator { tool: "the linker", stage, message }
}
