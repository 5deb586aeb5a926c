//! The arrays of dynamic tensors in a module.
//!
//! The values of a tensor in the format that `:F` says are the buffer with the tensor's number; the arrays of its
//! levels come after all tensors' buffers. A tensor that a rule cannot walk in that format has a copy in another one,
//! with a name and values of its own. A result whose elements cannot be appended in the format of `:F` is computed in
//! one of ordered levels instead.

use dastac_formats::Format;
use dastac_iterate::{Operand, Structure};
use dastac_loops::{BufferId, Element, Index, Module};
use dastac_stur::infer::Inferred;
use dastac_stur::program::TensorId;

use crate::SchedError;
use crate::elements::{buffer, extents};
use crate::nest::module_name;

/// A dynamic tensor in a format in which rules read it.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The tensor.
    pub tensor: TensorId,
    /// Its arrays. Its format is that of `:F`, unless this is a copy.
    pub operand: Operand,
    /// The rule that cannot walk it as `:F` says, by its head, if this is a copy for it; of a part, the first rule that
    /// walks it.
    pub converted_for: Option<TensorId>,
    /// Which part of a tensor in a hybrid format it is, if it is not all of it.
    pub part: Option<usize>,
}

/// A tensor with `:F` that a rule computes.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The tensor. The first [`Stored`] of it has its arrays.
    pub tensor: TensorId,
    /// Where its levels come from; of a copied structure they are an operand's buffers.
    pub structure: Structure,
}

/// Adds the arrays of all dynamic inputs' levels; `indices` is the type of positions and coordinates.
pub(crate) fn declare(
    inferred: &Inferred,
    module: &mut Module,
    indices: Element,
) -> Result<Vec<Stored>, SchedError> {
    let mut all = Vec::new();
    for id in inferred.program.tensor_ids() {
        let tensor = inferred.program.tensor(id);
        let Some(storage) = tensor.format.as_ref().filter(|_| tensor.rule().is_none()) else {
            continue;
        };
        let extents = extents(inferred, module, id)?;
        let operand = own(inferred, module, id, (&storage.format, extents), indices);
        all.push(Stored { tensor: id, operand, converted_for: None, part: None });
    }
    Ok(all)
}

/// Adds the arrays of a tensor's levels; its values are the buffer with its number.
pub(super) fn own(
    inferred: &Inferred,
    module: &mut Module,
    tensor: TensorId,
    (format, extents): (&Format, Vec<Index>),
    indices: Element,
) -> Operand {
    let name = module_name(&inferred.program.tensor(tensor).name);
    let values = buffer(tensor);
    let name = free(module, name, Some(values));
    let (levels, count) = Operand::levels(module, &name, (format, &extents), indices);
    module.buffers[values.0 as usize].size = count;
    Operand { format: format.clone(), extents, levels, values }
}

/// Adds the arrays of a copy of a tensor, or of a part of it, in another format.
pub(super) fn copy(
    inferred: &Inferred,
    module: &mut Module,
    (tensor, what): (TensorId, &str),
    (format, extents): (&Format, Vec<Index>),
    indices: Element,
) -> Operand {
    let name = format!("{}.{what}", module_name(&inferred.program.tensor(tensor).name));
    let name = free(module, name, None);
    let types = (inferred.program.tensor(tensor).element, indices);
    Operand::declare(module, &name, (format, extents), types)
}

/// A name that the program's tensors and symbols do not have.
fn free(module: &Module, mut name: String, values: Option<BufferId>) -> String {
    while taken(module, &name, values) {
        name.push('_');
    }
    name
}

/// Whether a name, or one that begins with it and a point, is there already, but for the buffer of the values
/// themselves.
fn taken(module: &Module, name: &str, values: Option<BufferId>) -> bool {
    let clashes = |other: &str| {
        let rest = other.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let buffers = module.buffers.iter().enumerate();
    let mut others = buffers.filter(|(at, _)| values.is_none_or(|own| own.0 as usize != *at));
    others.any(|(_, buffer)| clashes(&buffer.name)) || module.symbols.iter().any(|s| clashes(s))
}
