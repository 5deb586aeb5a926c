//! `dastac infer`.

use std::fmt::Write;

use dastac::stur::infer::{InferError, Inferred, Redundancy, map_to_stur, set_to_stur};
use dastac::stur::sets::Extent;
use dastac::stur::{Role, TensorId};

use super::args::FileArgs;
use super::check::analyse;
use super::failure::Failure;
use super::output::stdout;
use super::progress::Progress;
use super::source::Source;
use super::{Outcome, Result, Terminal};

/// Shows the structure of every tensor.
pub fn infer(terminal: &Terminal, args: &FileArgs) -> Result<Outcome> {
    let source = Source::read(&args.file)?;
    let progress = Progress::new(terminal.interactive);
    let analysis = analyse(terminal, &source, &progress)?;
    progress.stage("printing sets");
    let text = structures(&analysis.inferred, &source)?;
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

/// The structure of every tensor, as STUR with comments.
pub fn structures(inferred: &Inferred, source: &Source) -> Result<String> {
    let mut parts = Vec::new();
    for id in inferred.program.tensor_ids() {
        let part = structure(inferred, id).map_err(|error| Failure::of(error.into(), source))?;
        parts.push(part);
    }
    Ok(parts.join("\n"))
}

fn structure(inferred: &Inferred, id: TensorId) -> std::result::Result<String, InferError> {
    let tensor = inferred.program.tensor(id);
    let structured = &inferred.tensors[id.0];
    let (name, sets, iterators) = (&tensor.name, &inferred.sets, &structured.iterators);
    let mut text = String::new();
    let extents: Vec<String> = structured.extents.iter().map(Extent::to_string).collect();
    let shape = if extents.is_empty() { "a scalar".into() } else { extents.join(" x ") };
    let _ = writeln!(text, "# {name}: {}, {shape}", role(tensor.role));
    let head = iterators.join(", ");
    if tensor.rank > 0 {
        let _ =
            writeln!(text, "{name}:D({head}) := {}", box_to_stur(iterators, &structured.extents));
        let unique = set_to_stur(sets, &structured.unique, iterators)?;
        let _ = writeln!(text, "{name}:U({head}) := {unique}");
    }
    let _ = writeln!(text, "# isl: {}", structured.unique);
    let mut pieces = Vec::new();
    let mut comments = String::new();
    for piece in &structured.redundancy {
        match piece {
            Redundancy::Affine { map, coefficient } => {
                pieces.push(map_to_stur(sets, map, coefficient, iterators)?);
                let times = if coefficient.is_one() {
                    String::new()
                } else {
                    format!("{} times ", coefficient.to_stur(&|symbol| sets.names.symbol(symbol)))
                };
                let _ = writeln!(comments, "# isl: {times}{map}");
            }
            Redundancy::Sorted { domain, classes } => {
                for class in classes {
                    let names: Vec<&str> = class.iter().map(|&k| iterators[k].as_str()).collect();
                    let names = names.join(", ");
                    let _ = writeln!(
                        comments,
                        "# {name} is symmetric in ({names}): an element equals the one whose subscripts there are in ascending order"
                    );
                }
                let _ = writeln!(comments, "# isl, the redundant elements: {domain}");
            }
        }
    }
    if !pieces.is_empty() {
        let targets: Vec<String> =
            iterators.iter().map(|iterator| format!("{iterator}p")).collect();
        let _ =
            writeln!(text, "{name}:R({head}, {}) := {}", targets.join(", "), pieces.join(" + "));
    }
    Ok(text + &comments)
}

/// The box: one product for each combination of regions.
fn box_to_stur(iterators: &[String], extents: &[Extent]) -> String {
    let mut products = vec![Vec::new()];
    for (iterator, extent) in iterators.iter().zip(extents) {
        let regions = extent.regions.iter().map(|bounds| {
            let bounds = bounds
                .iter()
                .map(|bound| format!("(0 <= {iterator} < {})", stur(&bound.to_string())));
            bounds.collect::<Vec<_>>().join(" * ")
        });
        let regions: Vec<String> = regions.collect();
        products = products
            .iter()
            .flat_map(|product: &Vec<String>| {
                regions.iter().map(|region| product.iter().chain([region]).cloned().collect())
            })
            .collect();
    }
    products.iter().map(|product| product.join(" * ")).collect::<Vec<_>>().join(" + ")
}

/// Floors are written `(a / b)` in STUR.
fn stur(affine: &str) -> String {
    affine.replace("floor(", "(")
}
