//! Rules that read dynamic tensors: their loops walk levels of tensors whose pattern is known only when they are read.
//!
//! [`rule`] makes a kernel of [`dastac_sparse::iterate`] of a rule, whose other tensors stay in their packed layouts. A read that contradicts the order of loops is
//! of a copy of the tensor in another format, which whoever binds the tensor makes ([`Stored`]).

mod linear;
mod operands;
mod ranges;
mod rule;
#[cfg(test)]
mod tests;

pub use operands::Stored;
pub(crate) use operands::declare;

use dastac_layout::{Layout, LayoutError};
use dastac_loops::{Element, Function, Module};
use dastac_sparse::iterate::{Factor, IterateError, Kernel, Walking, fill};
use dastac_stur::format::{Format, Kind, Level};
use dastac_stur::infer::{Inferred, InferredRule};
use dastac_stur::program::TensorId;
use dastac_stur::{Diagnostic, program::Rule};

use crate::SchedError;
use rule::Translation;

/// What rules that read dynamic tensors are made of.
pub(crate) struct Dynamic<'a> {
    pub inferred: &'a Inferred,
    pub layouts: &'a [Layout],
    /// The type of positions and coordinates.
    pub indices: Element,
    /// How subscripts of several iterators go over sparse levels.
    pub walking: Walking,
}

impl Dynamic<'_> {
    /// Fills a function without statements with those of a rule. Gives whether they set all of its head; else they add to it.
    pub(crate) fn rule(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        function: &mut Function,
    ) -> Result<bool, SchedError> {
        let Dynamic { inferred, layouts, indices, walking } = *self;
        let first = |id: TensorId| {
            stored.iter().find(|one| one.tensor == id).map(|one| one.operand.clone())
        };
        let translation = Translation::new(inferred, layouts, module, rule)?;
        let (kernel, tensors) = translation.kernel(&first)?;
        let mut kernel = Kernel { walking, ..kernel };
        // Each time one more operand follows the wanted order, or is searched.
        for _ in 0..=2 * tensors.len() {
            let mut filled = function.clone();
            let buffers = module.buffers.len();
            let error = match fill(&mut filled, module, &kernel) {
                Ok(set) => {
                    *function = filled;
                    return Ok(set);
                }
                Err(error) => error,
            };
            module.buffers.truncate(buffers); // without its workspaces
            let Some((operand, format)) = cheapest(&kernel, &error) else {
                if search(&mut kernel, &error) {
                    continue;
                }
                return Err(refused(inferred, rule, &tensors, &error));
            };
            let tensor = tensors[operand];
            let known = |one: &&Stored| one.tensor == tensor && one.operand.format == format;
            let copy = match stored.iter().find(known) {
                Some(known) => known.operand.clone(),
                None => {
                    let operand = operands::copy(inferred, module, tensor, &format, indices)?;
                    let converted_for = Some(rule.head);
                    stored.push(Stored { tensor, operand: operand.clone(), converted_for });
                    operand
                }
            };
            kernel.operands[operand] = copy;
        }
        Err(SchedError::Ast("of a rule whose tensors no order walks".into()))
    }
}

/// The operand whose conversion costs least to mend an error, and its format then. Of a contradiction: one alone if that is enough, of the lowest rank, the
/// last of these. Nothing where no conversion helps.
fn cheapest(kernel: &Kernel, error: &IterateError) -> Option<(usize, Format)> {
    let operands = match error {
        IterateError::Cycle { operands } => operands,
        IterateError::Level { operand, .. } if has_position(kernel, *operand) => return None,
        IterateError::Level { operand, .. } => {
            let format = ordered(&kernel.operands[*operand].format);
            return Some((*operand, format))
                .filter(|(_, new)| *new != kernel.operands[*operand].format);
        }
        IterateError::Cursors(_)
        | IterateError::Result { .. }
        | IterateError::Workspace
        | IterateError::Width(_) => return None,
    };
    let mut best: Option<(bool, usize, usize, Format)> = None;
    // A position in a copy is another one.
    for &operand in operands.iter().filter(|operand| !has_position(kernel, **operand)) {
        let own = &kernel.operands[operand].format;
        let format = reordered(kernel, operand);
        if format == *own {
            continue;
        }
        let mut changed = kernel.clone();
        changed.operands[operand].format = format.clone();
        let open = dastac_sparse::iterate::order(&changed).is_err();
        let better = best
            .as_ref()
            .is_none_or(|(was_open, rank, ..)| (open, format.rank()) <= (*was_open, *rank));
        if better {
            best = Some((open, format.rank(), operand, format));
        }
    }
    best.map(|(.., operand, format)| (operand, format))
}

fn has_position(kernel: &Kernel, operand: usize) -> bool {
    let mut factors = kernel.products.iter().flat_map(|product| &product.factors);
    factors.any(|factor| factor.operand == operand && factor.position.is_some())
}

/// Has the last tensor of a contradiction searched that is not yet. Gives whether there is one.
fn search(kernel: &mut Kernel, error: &IterateError) -> bool {
    let IterateError::Cycle { operands } = error else { return false };
    let mut found = false;
    let mut factors: Vec<&mut Factor> =
        kernel.products.iter_mut().flat_map(|product| &mut product.factors).collect();
    let open = |factor: &&mut Factor| operands.contains(&factor.operand) && !factor.searched;
    let last = factors.iter().filter(|factor| open(factor)).map(|factor| factor.operand).max();
    for factor in factors.iter_mut().filter(|factor| Some(factor.operand) == last) {
        (factor.searched, found) = (true, true);
    }
    found
}

/// A format whose levels' coordinates grow: dense ones stay, all others are compressed.
fn ordered(format: &Format) -> Format {
    let levels = format.levels().iter().map(|level| match level.kind {
        Kind::Dense => *level,
        Kind::Compressed | Kind::Singleton => Level::COMPRESSED,
    });
    Format::new(levels.collect(), format.order().to_vec()).unwrap_or_else(|_| format.clone())
}

/// The format of an operand with its levels in the wanted order of loops.
fn reordered(kernel: &Kernel, operand: usize) -> Format {
    let own = &kernel.operands[operand].format;
    let factors = kernel.products.iter().flat_map(|product| &product.factors);
    let subscripts = factors.filter(|factor| factor.operand == operand).map(|f| &f.subscripts);
    let Some(subscripts) = subscripts.into_iter().next() else { return own.clone() };
    let depth = |dimension: &usize| {
        let terms = subscripts[*dimension].terms().iter();
        terms.filter_map(|(at, _)| kernel.order.iter().position(|other| other == at)).max()
    };
    let mut order = own.order().to_vec();
    order.sort_by_key(depth);
    let levels: Vec<Level> = own.levels().to_vec();
    Format::new(levels, order).unwrap_or_else(|_| own.clone())
}

/// Why a rule is not compiled, as a diagnostic.
fn refused(
    inferred: &Inferred,
    rule: &InferredRule,
    tensors: &[TensorId],
    error: &IterateError,
) -> SchedError {
    let program = &inferred.program;
    let name = |operand: &usize| program.tensor(tensors[*operand]).name.as_str();
    let Rule { span, .. } = program.rules[rule.rule.0];
    let (what, label, hint) = match error {
        IterateError::Cycle { operands } => {
            let names: Vec<&str> = operands.iter().map(name).collect();
            let what = format!("walking {} together", names.join(", "));
            (
                what,
                "no order of the loops follows their levels".to_string(),
                "compute a part of the product in a rule of its own",
            )
        }
        IterateError::Level { operand, level } => {
            let what = format!("walking level {} of `{}`", level + 1, name(operand));
            (
                what,
                "its coordinates are not ordered and unique".into(),
                "choose another format in `:F`, such as csr or csf; files are converted when they are read",
            )
        }
        IterateError::Cursors(count) => {
            let what = format!("{count} sparse levels in one loop");
            (what, format!("{error}"), "compute a part of the sum in a rule of its own")
        }
        IterateError::Result { .. } => {
            let what = "assembling the result".to_string();
            (what, format!("{error}"), "choose dense and compressed levels in its `:F`")
        }
        IterateError::Workspace | IterateError::Width(_) => {
            let what = "assembling the result".to_string();
            (
                what,
                format!("{error}"),
                "leave its `:F` out: dense results can be stored to in any order",
            )
        }
    };
    let error = Diagnostic::unsupported(what, span, label).hint(hint);
    LayoutError::Program(vec![error]).into()
}
