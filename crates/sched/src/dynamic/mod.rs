//! Rules that read dynamic tensors: their loops walk levels of tensors whose pattern is known only when they are read.
//!
//! [`rule`] makes a kernel of [`dastac_iterate`] of a rule, whose other tensors stay in their packed layouts. A read that contradicts the order of loops is
//! of a copy of the tensor in another format, which whoever binds the tensor makes ([`Stored`]).

mod linear;
mod operands;
mod ranges;
mod rule;
#[cfg(test)]
mod tests;

pub(crate) use operands::declare;
pub use operands::{Assembled, Stored};

use dastac_formats::{Format, Level};
use dastac_iterate::{
    Assembly, Factor, IterateError, Kernel, Operand, Walking, Walks, appending, assembly, fill,
    is_appended, pattern_of,
};
use dastac_layout::{Layout, LayoutError};
use dastac_loops::{Element, Function, Index, Module};
use dastac_stur::infer::{Inferred, InferredRule};
use dastac_stur::program::TensorId;
use dastac_stur::{Diagnostic, program::Rule};

use crate::SchedError;
use crate::elements::{buffer, extents};
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

/// A rule that reads dynamic tensors, or makes one.
#[derive(Clone, Debug)]
pub struct Walked {
    /// Its head.
    pub head: TensorId,
    /// What is computed.
    pub kernel: Kernel,
    /// Which tensors the kernel's operands are.
    pub tensors: Vec<TensorId>,
    /// What its loops go over.
    pub walks: Walks,
    /// So many of its loops append elements of the result.
    appended: usize,
    /// Whether loops over its ranges come to all elements of the head that are stored.
    covered: bool,
}

impl Walked {
    /// The tensors of which copies are read.
    pub(crate) fn copied(&self) -> Vec<TensorId> {
        let operands = self.kernel.operands.iter().zip(&self.tensors);
        let copies = operands.filter(|(operand, id)| operand.values != buffer(**id));
        copies.map(|(_, id)| *id).collect()
    }
}

impl Dynamic<'_> {
    /// Fills a function without statements with those of a rule. Gives whether they set all of its head, else they add to it.
    pub(crate) fn rule(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        function: &mut Function,
    ) -> Result<(bool, Walked), SchedError> {
        let mut walked = self.walked(module, stored, rule)?;
        let before = function.clone();
        let filled = self.mended(module, stored, rule, &mut walked, &mut |module, kernel| {
            *function = before.clone();
            fill(function, module, kernel)
        })?;
        walked.walks = filled.walks;
        Ok((filled.whole && walked.covered, walked))
    }

    /// The statements of a rule whose head has a format, for functions that begin with the variables of `function`, which gets theirs.
    pub(crate) fn result(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        (function, declared): (&mut Function, &Format),
    ) -> Result<(Assembly, Walked), SchedError> {
        let Dynamic { inferred, indices, .. } = *self;
        let extents = extents(inferred, module, rule.head)?;
        let mut walked = self.walked(module, stored, rule)?;
        let in_order = declared.order().is_some();
        let appended = match in_order && declared.levels().iter().all(is_appended) {
            true => declared.clone(),
            false => ordered(declared),
        };
        let formats = [declared, &appended];
        if patterned(&walked.kernel, formats, &extents).is_none() {
            walked.kernel.order = appending(&walked.kernel, &appended);
            let last = appended.levels().iter().rposition(|level| !level.is_full());
            walked.appended = last.map_or(0, |last| last + 1);
        }
        let before = function.clone();
        let attempt = &mut |module: &mut Module, kernel: &Kernel| {
            *function = before.clone();
            let operand = match patterned(kernel, formats, &extents) {
                Some(operand) => Operand { values: buffer(rule.head), ..operand.clone() },
                None => {
                    let dimensions = (&appended, extents.clone());
                    operands::own(inferred, module, rule.head, dimensions, indices)
                }
            };
            assembly(function, module, kernel, &operand).map(|assembly| (assembly, operand))
        };
        let (assembly, operand) = self.mended(module, stored, rule, &mut walked, attempt)?;
        stored.push(Stored { tensor: rule.head, operand, converted_for: None });
        walked.walks = assembly.walks.clone();
        Ok((assembly, walked))
    }

    /// A rule's kernel, its tensors in the formats in which they are there.
    fn walked(
        &self,
        module: &Module,
        stored: &[Stored],
        rule: &InferredRule,
    ) -> Result<Walked, SchedError> {
        let first = |id: TensorId| {
            stored.iter().find(|one| one.tensor == id).map(|one| one.operand.clone())
        };
        let translation = Translation::new(self.inferred, self.layouts, module, rule)?;
        let covered = translation.covers_head()?;
        let (kernel, tensors) = translation.kernel(&first)?;
        let kernel = Kernel { walking: self.walking, ..kernel };
        Ok(Walked { head: rule.head, kernel, tensors, walks: Walks::new(), appended: 0, covered })
    }

    /// What `attempt` makes of a kernel in which copies stand for the operands that are in the way.
    fn mended<T>(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        walked: &mut Walked,
        attempt: &mut dyn FnMut(&mut Module, &Kernel) -> Result<T, IterateError>,
    ) -> Result<T, SchedError> {
        let Dynamic { inferred, indices, .. } = *self;
        // Each time one more operand follows the wanted order, has its levels ordered, or is searched.
        for _ in 0..=2 * walked.tensors.len() {
            let (buffers, symbols) = (module.buffers.len(), module.symbols.len());
            let error = match attempt(module, &walked.kernel) {
                Ok(made) => return Ok(made),
                Err(error) => error,
            };
            // Without what it added.
            module.buffers.truncate(buffers);
            module.symbols.truncate(symbols);
            let Some((operand, format)) = cheapest(walked, &error) else {
                if search(&mut walked.kernel, &error) {
                    continue;
                }
                return Err(refused(inferred, rule, walked, &error));
            };
            let tensor = walked.tensors[operand];
            let known = |one: &&Stored| one.tensor == tensor && one.operand.format == format;
            let copy = match stored.iter().find(known) {
                Some(known) => known.operand.clone(),
                None => {
                    let extents = walked.kernel.operands[operand].extents.clone();
                    let dimensions = (&format, extents);
                    let operand = operands::copy(inferred, module, tensor, dimensions, indices);
                    let converted_for = Some(rule.head);
                    stored.push(Stored { tensor, operand: operand.clone(), converted_for });
                    operand
                }
            };
            walked.kernel.operands[operand] = copy;
        }
        Err(crate::Unsupported::NoOrder.into())
    }
}

/// The operand whose pattern a result has, in one of some formats, if it has one's.
fn patterned<'k>(
    kernel: &'k Kernel,
    formats: [&Format; 2],
    extents: &[Index],
) -> Option<&'k Operand> {
    let factor = formats.into_iter().find_map(|format| pattern_of(kernel, format, extents))?;
    Some(&kernel.operands[kernel.products[0].factors[factor].operand])
}

/// The operand whose conversion costs least to mend an error, and its format then. Of a contradiction: one alone if that is enough, of the lowest rank, the
/// last of these. Nothing where no conversion helps.
fn cheapest(walked: &Walked, error: &IterateError) -> Option<(usize, Format)> {
    let kernel = &walked.kernel;
    let operands = match error {
        IterateError::Cycle { operands } => operands,
        IterateError::Level { operand, .. } if has_position(kernel, *operand) => return None,
        IterateError::Level { operand, .. } => {
            let format = ordered(&kernel.operands[*operand].format);
            return Some((*operand, format))
                .filter(|(_, new)| *new != kernel.operands[*operand].format);
        }
        IterateError::Map { operand } if has_position(kernel, *operand) => return None,
        IterateError::Map { operand } => return Some((*operand, reordered(kernel, *operand))),
        IterateError::Workspace => return scattering(kernel, walked.appended),
        IterateError::Cursors(_) | IterateError::Result { .. } => return None,
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
        let open = dastac_iterate::order(&changed).is_err();
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
    let mut factors: Vec<&mut Factor> =
        kernel.products.iter_mut().flat_map(|product| &mut product.factors).collect();
    let open = |factor: &&mut Factor| operands.contains(&factor.operand) && !factor.searched;
    let last = factors.iter().filter(|factor| open(factor)).map(|factor| factor.operand).max();
    for factor in factors.iter_mut().filter(|factor| Some(factor.operand) == last) {
        factor.searched = true;
    }
    last.is_some()
}

/// An operand that keeps the outermost loops from the order in which they append elements, and a format in which it does not.
fn scattering(kernel: &Kernel, appended: usize) -> Option<(usize, Format)> {
    let contradicts = |operand: &usize| {
        let mut alone = kernel.clone();
        for (at, other) in alone.operands.iter_mut().enumerate() {
            if at != *operand {
                other.format = Format::dense(other.format.rank());
            }
        }
        let order = dastac_iterate::order(&alone);
        order.map_or(true, |order| order[..appended] != kernel.order[..appended])
    };
    let all = (0..kernel.operands.len()).filter(|at| !has_position(kernel, *at));
    let mapped = |at: &usize| kernel.operands[*at].format.order().is_none();
    if let Some(operand) = all.clone().find(mapped) {
        return Some((operand, reordered(kernel, operand)));
    }
    let new = |(operand, format): &(usize, Format)| *format != kernel.operands[*operand].format;
    let moved = all.clone().filter(contradicts).map(|at| (at, reordered(kernel, at)));
    let sorted = all.map(|at| (at, ordered(&kernel.operands[at].format)));
    moved.chain(sorted).find(new)
}

/// A format whose levels' coordinates grow: dense ones stay, all others are compressed.
fn ordered(format: &Format) -> Format {
    let Some(order) = format.order() else { return Format::csf(format.rank()) };
    let levels = format.levels().iter().map(|level| match level.is_full() {
        true => *level,
        false => Level::COMPRESSED,
    });
    Format::new(levels.collect(), order).unwrap_or_else(|_| format.clone())
}

/// The format of an operand with its levels in the wanted order of loops, for just the same elements: where a dense level came to the end, it would store elements that
/// the operand does not, unless all of its dimension are stored in the operand's blocks.
fn reordered(kernel: &Kernel, operand: usize) -> Format {
    let own = &kernel.operands[operand].format;
    let factors = kernel.products.iter().flat_map(|product| &product.factors);
    let subscripts = factors.filter(|factor| factor.operand == operand).map(|f| &f.subscripts);
    let Some(subscripts) = subscripts.into_iter().next() else { return own.clone() };
    let depth = |dimension: &usize| {
        let terms = subscripts[*dimension].terms().iter();
        terms.filter_map(|(at, _)| kernel.order.iter().position(|other| other == at)).max()
    };
    let Some(stored) = own.order() else { return in_order_of_loops(own, &depth) };
    let mut order = stored.clone();
    order.sort_by_key(depth);
    let mut levels: Vec<Level> = own.levels().to_vec();
    let blocks = &stored[own.rank() - own.block_levels()..];
    let dense = |(level, _): &(&mut Level, &usize)| level.is_full();
    let mut last = levels.iter_mut().zip(&order).rev().take_while(dense);
    if let Some((level, _)) = last.find(|(_, dimension)| !blocks.contains(dimension)) {
        *level = Level::COMPRESSED;
    }
    Format::new(levels, order).unwrap_or_else(|_| own.clone())
}

/// All levels compressed, in the order of loops: what stands in place of a format whose levels do not store dimensions.
fn in_order_of_loops(format: &Format, depth: &dyn Fn(&usize) -> Option<usize>) -> Format {
    let mut order: Vec<usize> = (0..format.rank()).collect();
    order.sort_by_key(depth);
    let plain = Format::csf(format.rank());
    plain.with_order(order).unwrap_or(plain)
}

/// Why a rule is not compiled, as a diagnostic.
fn refused(
    inferred: &Inferred,
    rule: &InferredRule,
    Walked { kernel, tensors, appended, .. }: &Walked,
    error: &IterateError,
) -> SchedError {
    let program = &inferred.program;
    let name = |operand: &usize| program.tensor(tensors[*operand]).name.as_str();
    let Rule { span, .. } = program.rules[rule.rule.0];
    let order = || {
        let names = kernel.order[..*appended].iter().map(|at| kernel.iterators[*at].0.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let (what, label, hint) = match error {
        IterateError::Cycle { operands } => {
            let names: Vec<&str> = operands.iter().map(name).collect();
            let what = format!("walking {} together", names.join(", "));
            (
                what,
                "no order of the loops follows their levels".to_string(),
                "compute a part of the product in a rule of its own".to_string(),
            )
        }
        IterateError::Level { operand, level } => {
            let what = format!("walking level {} of `{}`", level + 1, name(operand));
            (
                what,
                "its coordinates are not ordered and unique".into(),
                "choose another format in `:F`, such as csr or csf; files are converted when they are read".into(),
            )
        }
        IterateError::Map { operand } => {
            let what = format!("walking `{}` along its index map", name(operand));
            let hint = "give the tensor a format whose levels store dimensions in its `:F`";
            (what, format!("{error}"), hint.into())
        }
        IterateError::Cursors(count) => {
            let what = format!("{count} sparse levels in one loop");
            let hint = "compute a part of the sum in a rule of its own";
            (what, format!("{error}"), hint.into())
        }
        IterateError::Result { .. } => {
            let hint = "choose dense and compressed levels in its `:F`";
            ("assembling the result".into(), format!("{error}"), hint.into())
        }
        IterateError::Workspace => {
            let hint = format!(
                "elements of `{}` are appended in the order ({}) of its levels: compute what comes to them otherwise in a rule of its own, or leave its `:F` out",
                program.tensor(rule.head).name,
                order()
            );
            ("a result in a format whose loops scatter".into(), format!("{error}"), hint)
        }
    };
    let error = Diagnostic::unsupported(what, span, label).hint(hint);
    LayoutError::Program(vec![error]).into()
}
