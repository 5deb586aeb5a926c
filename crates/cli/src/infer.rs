//! `dastac infer`.

use std::fmt::Write;

use dastac::elements::Element;
use dastac::stur::infer::{InferError, Inferred, Redundancy, declarations};
use dastac::stur::sets::Extent;
use dastac::stur::{Role, TensorId};

use super::args::InferArgs;
use super::check::analyse;
use super::failure::Failure;
use super::output::stdout;
use super::progress::Progress;
use super::source::Source;
use super::{Outcome, Result, Terminal};

/// Shows the structure of every tensor.
pub fn infer(terminal: &Terminal, args: &InferArgs) -> Result<Outcome> {
    let source = Source::of(&args.file)?;
    let progress = Progress::new(terminal.interactive);
    let analysis = analyse(terminal, &source, &progress)?;
    progress.stage("printing sets");
    let notation = if args.isl { Notation::WithIsl } else { Notation::Stur };
    let text = structures(&analysis.inferred, &source, notation)?;
    drop(progress);
    stdout(text.as_bytes())?;
    Ok(Outcome::Done)
}

/// Input, output or intermediate.
pub fn role(role: Role) -> &'static str {
    match role {
        Role::Input => "input",
        Role::Output(_) => "output",
        Role::Intermediate(_) => "intermediate",
    }
}

/// How sets are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// As STUR.
    Stur,
    /// As STUR, and in isl's notation in comments.
    WithIsl,
}

/// The structure of every tensor, as STUR with comments.
pub fn structures(inferred: &Inferred, source: &Source, notation: Notation) -> Result<String> {
    let mut parts = Vec::new();
    for id in inferred.program.tensor_ids() {
        let part =
            structure(inferred, id, notation).map_err(|error| Failure::of(error.into(), source))?;
        parts.push(part);
    }
    Ok(parts.join("\n"))
}

fn structure(
    inferred: &Inferred,
    id: TensorId,
    notation: Notation,
) -> std::result::Result<String, InferError> {
    let structured = &inferred.tensors[id.0];
    let sets = &inferred.sets;
    let mut text = structure_of(inferred, id)?;
    if notation == Notation::Stur {
        return Ok(text);
    }
    let _ = writeln!(text, "# isl: {}", structured.unique);
    for piece in &structured.redundancy {
        match piece {
            Redundancy::Affine { map, coefficient } => {
                let times = if coefficient.is_one() {
                    String::new()
                } else {
                    format!("{} times ", coefficient.to_stur(&|symbol| sets.names.symbol(symbol)))
                };
                let _ = writeln!(text, "# isl: {times}{map}");
            }
            Redundancy::Sorted { domain, .. } => {
                let _ = writeln!(text, "# isl, the redundant elements: {domain}");
            }
        }
    }
    Ok(text)
}

/// What is known of a tensor, as STUR.
pub fn structure_of(inferred: &Inferred, id: TensorId) -> std::result::Result<String, InferError> {
    let tensor = inferred.program.tensor(id);
    let structured = &inferred.tensors[id.0];
    let mut text = String::new();
    let extents: Vec<String> = structured.extents.iter().map(Extent::to_string).collect();
    let shape = if extents.is_empty() { "a scalar".into() } else { extents.join(" x ") };
    let element = match tensor.element {
        Element::F64 => String::new(),
        element => format!(", {}", element.name()),
    };
    let _ = writeln!(text, "# {}: {}, {shape}{element}", tensor.name, role(tensor.role));
    for line in declarations(inferred, id)? {
        let _ = writeln!(text, "{line}");
    }
    Ok(text)
}
