//! Writes a loop module as MLIR.
//!
//! What becomes of what:
//! - a function: a `func.func` over memrefs of one huge static shape. Static, since the bare-pointer calling
//!   convention leaves functions over dynamic shapes unconverted without a word; huge, so that no access lies
//!   outside,
//! - a loop with affine bounds: `affine.for`; with other bounds (or around a variable of such a loop): `scf.for`,
//! - a parallel loop: OpenMP's work-sharing loop in a parallel region (`threads`),
//! - a conjunction of affine comparisons: `affine.if`; other conditions: `arith` and `scf.if`,
//! - register code: one operation each (`registers`, `numbers`, `elementwise`, `memory`),
//! - private functions and calls: functions and calls (`functions`); teams: OpenMP's parallel regions (`threads`),
//! - an asserted index: a comparison, and a call that reports it and ends the process (`checked`),
//! - a subscript: `arith` on `index`, operation for operation as the tree says, so that its producer decides
//!   (Horner form).
//!
//! Invariant: every SSA name is defined once per function; constants stand at its entry, where they are valid
//! symbols of affine maps. Repeated subexpressions are written again each time: the first pass of the
//! pipeline is `cse`.

mod checked;
mod convert;
mod device;
mod device_functions;
mod elementwise;
mod expression;
mod functions;
mod loops;
mod memory;
mod multiply;
mod names;
mod numbers;
mod quotients;
mod registers;
mod scan;
mod statements;
mod threads;
mod vectors;
mod warps;
mod width;
mod workspace;
mod writer;

use self::names::aliases;
use self::writer::{Unit, Writer};
use crate::Result;
use dastac_loops::Module;
use dastac_target::TargetError;

pub(crate) use self::device_functions::is_built_in;
pub(crate) use self::names::is_identifier;
pub(crate) use self::vectors::VectorFunctions;
pub(crate) use self::warps::lanes as lanes_of;
pub(crate) use self::width::IndexWidth;

/// What lanes of a kernel keep in registers.
pub(crate) struct Kept {
    /// Bytes that each lane holds beyond barriers.
    pub held: i64,
    /// Values that are defined between two barriers, of the part with the most of them.
    pub values: usize,
}

/// A module as MLIR text.
pub(crate) struct Emitted {
    /// The text.
    pub text: String,
    /// Exported functions, in the module's order, with their number of buffers.
    pub exported: Vec<(String, usize)>,
    /// Whether loops run on several threads.
    pub threads: bool,
    /// Whether mathematical functions of a library are called.
    pub math: bool,
    /// Bits of integers.
    pub width: IndexWidth,
    /// What each exported function keeps, of kernels.
    pub kept: Vec<Kept>,
}

/// Writes `module`, with `prefix` in front of the names of functions.
pub(crate) fn emit(
    module: &Module,
    prefix: &str,
    vectors: &VectorFunctions,
    width: IndexWidth,
) -> Result<Emitted> {
    let mut unit = Unit::new(prefix, vectors, width);
    let mut exported = Vec::new();
    for function in &module.functions {
        let name = format!("{prefix}{}", function.name);
        if !is_identifier(&name) {
            return Err(TargetError::Name(name));
        }
        if function.private.is_none() {
            exported.push((name.clone(), function.args.len()));
        }
        let mut writer = Writer::new(module, function, name, &mut unit);
        match &function.private {
            Some(private) => writer.private_function(private)?,
            None => writer.function()?,
        }
    }
    if unit.reports_any {
        unit.functions.push_str(checked::DECLARATIONS);
    }
    unit.declarations.values().for_each(|declaration| unit.functions.push_str(declaration));
    if unit.asks_threads {
        unit.functions.push_str(&threads::declarations());
    }
    Ok(Emitted {
        text: format!("{}module {{\n{}}}\n", aliases(module, width.huge()), unit.functions),
        exported,
        threads: unit.parallel,
        math: !unit.declarations.is_empty(),
        width,
        kept: Vec::new(),
    })
}

/// Writes the private functions of a module, each a kernel for a generation of devices (ten times its number). They
/// take integers, symbols and addresses.
pub(crate) fn emit_kernels(module: &Module, prefix: &str, generation: u32) -> Result<Emitted> {
    let width = IndexWidth::Bits64;
    let mut unit = Unit::new(prefix, &VectorFunctions::default(), width);
    unit.generation = generation;
    let mut kept = Vec::new();
    let mut exported = Vec::new();
    for function in &module.functions {
        let Some(private) = &function.private else { continue };
        let name = format!("{prefix}{}", function.name);
        if !is_identifier(&name) {
            return Err(TargetError::Name(name));
        }
        exported.push((name.clone(), function.args.len()));
        unit.lanes = Some(lanes_of(function));
        let mut writer = Writer::new(module, function, name, &mut unit);
        writer.alone = warps::alone(function, module);
        writer.private_function(private)?;
        let values = writer.next - writer.inside.all + writer.inside.most;
        kept.push(Kept { held: writer.held, values });
    }
    unit.declarations.values().for_each(|declaration| unit.functions.push_str(declaration));
    Ok(Emitted {
        text: format!("{}module {{\n{}}}\n", aliases(module, width.huge()), unit.functions),
        exported,
        threads: false,
        kept,
        math: unit.declarations.keys().any(|name| name.starts_with("__nv_")),
        width,
    })
}
