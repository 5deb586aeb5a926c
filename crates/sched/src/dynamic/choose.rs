//! In which formats a rule reads its tensors: before its loops are made, what stands in their way is found, and a copy
//! of a tensor in another format, or a search in it, takes it away.
//!
//! Before -> after, `C(i, k) := A(i, j) * B(j, k)` in rows, `B` in columns: the loops `i, j, k` walk `B` against its
//! levels -> `B` is read from a copy in rows.

use dastac_formats::{Format, Level};
use dastac_iterate::{Factor, IterateError, Kernel, Operand, Product};
use dastac_layout::LayoutError;
use dastac_loops::Module;
use dastac_stur::infer::{Inferred, InferredRule};
use dastac_stur::{Diagnostic, program::Rule};

use super::gather::{contradicts, outside_of_pairs, walks};
use super::operands::{self, Stored};
use super::walked::{Dynamic, Walked};
use crate::SchedError;

impl Dynamic<'_> {
    /// Has copies, or searches, stand in a kernel for what `obstacle` says is in the way, until nothing is.
    pub(super) fn choose(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        walked: &mut Walked,
        obstacle: &dyn Fn(&Module, &Kernel) -> Option<IterateError>,
    ) -> Result<(), SchedError> {
        // Each time one more operand follows the wanted order, has its levels ordered, or is searched.
        let mut left = 2 * walked.tensors.len();
        while let Some(error) = obstacle(module, &walked.kernel) {
            match cheapest(walked, &error).filter(|_| left > 0) {
                Some((operand, format)) => {
                    let copy = self.stored_as(module, stored, rule, walked, (operand, format));
                    walked.kernel.operands[operand] = copy;
                }
                None if left > 0 && search(&mut walked.kernel, &error) => {}
                None => return Err(refused(self.inferred, rule, walked, &error)),
            }
            left -= 1;
        }
        Ok(())
    }

    /// Has copies stand for all tensors whose levels are not in the wanted order of loops. Where several meet in a sum,
    /// a loop that came earlier for the sake of one of them would go over all that the others do not have.
    pub(super) fn follow(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        walked: &mut Walked,
        which: &dyn Fn(&Kernel, usize) -> bool,
    ) {
        for operand in 0..walked.tensors.len() {
            if !which(&walked.kernel, operand) {
                continue;
            }
            let own = walked.kernel.operands[operand].format.clone();
            let wanted = walked.kernel.order.len();
            if own.order().is_none()
                || has_position(&walked.kernel, operand)
                || !contradicts(&walked.kernel, operand, wanted)
            {
                continue;
            }
            let format = reordered(&walked.kernel, operand);
            if format != own {
                let copy = self.stored_as(module, stored, rule, walked, (operand, format));
                walked.kernel.operands[operand] = copy;
            }
        }
    }

    /// Has sums outside of the loops over columns where sparse tensors meet in them, and reads tensors in that order.
    ///
    /// Before -> after, `C(i, j) := A(i, k) * B(j, k)` with `C` dense: for each `i` and `j` a walk over `k` that both
    /// have -> for each `i`, all `k` of its row of `A` and all `j` of that column of `B`.
    pub(super) fn with_sums_outside(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        walked: &mut Walked,
    ) {
        let definition = &self.inferred.program.rules[rule.rule.0];
        let asked = definition.has_order();
        if let Some(order) = outside_of_pairs(&walked.kernel).filter(|_| !asked) {
            walked.kernel.order = order;
            self.follow(module, stored, rule, walked, &|_, _| true);
        }
    }

    /// Has the elements that a tensor does not store inside of loops over the head, if they count too and are reduced:
    /// how many there are in a row or column is known, while loops over the head inside of others go to each of them.
    ///
    /// Before -> after, `y(j) := max(i) A(i, j)` of `A` in rows: all `j` for each `i` -> a copy of `A` in columns.
    /// `D(i, j) := (A(i, k) - B(j, k))^2` with a dense `B`: all `k` for each `i` and `j` -> all `j` for each `i` and
    /// `k`.
    pub(super) fn with_gaps_inside(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        walked: &mut Walked,
    ) {
        let definition = &self.inferred.program.rules[rule.rule.0];
        let kernel = &walked.kernel;
        let others = || (0..kernel.iterators.len()).filter(|at| !kernel.head.contains(at));
        let counts = |product: &Product| {
            !product.absent.is_empty() && others().any(|at| product.mentions(at))
        };
        let asked = definition.has_order();
        if asked || !kernel.products.iter().any(counts) {
            return;
        }
        // Loops that only dense tensors vary with are inside of all others: what is added there are whole rows.
        let products = || kernel.products.iter();
        let dense = |at: &usize| {
            products().any(|product| product.mentions(*at))
                && !products().any(|product| walks(kernel, product, *at))
        };
        let (inner, outer): (Vec<usize>, Vec<usize>) = kernel.head.iter().copied().partition(dense);
        walked.kernel.order = outer.into_iter().chain(others()).chain(inner).collect();
        self.follow(module, stored, rule, walked, &|kernel, operand| {
            let mut absent = kernel.products.iter().flat_map(|product| &product.absent);
            absent.any(|factor| factor.operand == operand)
        });
    }

    /// The arrays of a tensor in a format: those of a copy that is there already, or of a new one.
    pub(super) fn stored_as(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        walked: &Walked,
        (operand, format): (usize, Format),
    ) -> Operand {
        let tensor = walked.tensors[operand];
        let known = |one: &&Stored| {
            one.tensor == tensor && one.part.is_none() && one.operand.format == format
        };
        if let Some(known) = stored.iter().find(known) {
            return known.operand.clone();
        }
        let dimensions = (&format, walked.kernel.operands[operand].extents.clone());
        let copy = (tensor, "copy");
        let operand = operands::copy(self.inferred, module, copy, dimensions, self.indices);
        let converted_for = Some(rule.head);
        stored.push(Stored { tensor, operand: operand.clone(), converted_for, part: None });
        operand
    }
}

/// The operand whose conversion costs least to mend an error, and its format then. Of a contradiction: one alone if
/// that is enough, of the lowest rank, the last of these. Nothing where no conversion helps.
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

/// Whether a kernel asks where elements of an operand are among all of the tensor's.
pub(super) fn has_position(kernel: &Kernel, operand: usize) -> bool {
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

/// An operand that keeps the outermost loops from the order in which they append elements, and a format in which it
/// does not.
fn scattering(kernel: &Kernel, appended: usize) -> Option<(usize, Format)> {
    let all = (0..kernel.operands.len()).filter(|at| !has_position(kernel, *at));
    let mapped = |at: &usize| kernel.operands[*at].format.order().is_none();
    if let Some(operand) = all.clone().find(mapped) {
        return Some((operand, reordered(kernel, operand)));
    }
    let new = |(operand, format): &(usize, Format)| {
        *format != kernel.operands[*operand].format.in_any_width()
    };
    let moves = |operand: &usize| contradicts(kernel, *operand, appended);
    let moved = all.clone().filter(moves).map(|at| (at, reordered(kernel, at)));
    let sorted = all.map(|at| (at, ordered(&kernel.operands[at].format)));
    moved.chain(sorted).find(new)
}

/// A format whose levels' coordinates grow: dense ones stay, all others are compressed.
pub(super) fn ordered(format: &Format) -> Format {
    let Some(order) = format.order() else { return Format::csf(format.rank()) };
    let levels = format.levels().iter().map(|level| match level.is_full() {
        true => *level,
        false => Level::COMPRESSED,
    });
    Format::new(levels.collect(), order).unwrap_or_else(|_| format.clone())
}

/// The format of an operand with its levels in the wanted order of loops, for just the same elements: where a dense
/// level came to the end, it would store elements that the operand does not, unless all of its dimension are stored in
/// the operand's blocks.
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
    let mut levels: Vec<Level> = own.in_any_width().levels().to_vec();
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
pub(super) fn refused(
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
                "elements of `{}` are appended in the order ({}) of its levels: compute what comes to them otherwise \
                in a rule of its own, or leave its `:F` out",
                program.tensor(rule.head).name,
                order()
            );
            ("a result in a format whose loops scatter".into(), format!("{error}"), hint)
        }
    };
    let error = Diagnostic::unsupported(what, span, label).hint(hint);
    LayoutError::Program(vec![error]).into()
}
