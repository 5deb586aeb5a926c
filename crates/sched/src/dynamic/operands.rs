//! The arrays of dynamic tensors in a module.
//!
//! The values of a tensor in the format that `:F` says are the buffer with the tensor's number; the arrays of its levels come after all tensors' buffers.
//! A tensor that a rule cannot walk in that format has a copy in another one, with a name and values of its own.

use dastac_loops::{BufferId, Element, Module};
use dastac_sparse::iterate::{LevelBuffers, Operand};
use dastac_stur::format::Format;
use dastac_stur::infer::Inferred;
use dastac_stur::program::TensorId;

use crate::SchedError;
use crate::kernel::{buffer, element, extents};
use crate::nest::module_name;

/// A dynamic tensor in a format in which rules read it.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The tensor.
    pub tensor: TensorId,
    /// Its arrays. Its format is that of `:F`, unless this is a copy.
    pub operand: Operand,
    /// The rule that cannot walk it as `:F` says, by its head, if this is a copy for it.
    pub converted_for: Option<TensorId>,
}

impl Stored {
    /// The symbols for numbers of positions, and the number of the level that each is of.
    pub fn counts(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.operand.levels.iter().enumerate().filter_map(|(at, level)| match level {
            LevelBuffers::Compressed { count, .. } => Some((at, count.0 as usize)),
            LevelBuffers::Dense | LevelBuffers::Singleton { .. } => None,
        })
    }
}

/// Adds the arrays of all dynamic tensors' levels; `indices` is the type of positions and coordinates.
pub(crate) fn declare(
    inferred: &Inferred,
    module: &mut Module,
    indices: Element,
) -> Result<Vec<Stored>, SchedError> {
    let mut all = Vec::new();
    for id in inferred.program.tensor_ids() {
        let Some(storage) = &inferred.program.tensor(id).format else { continue };
        let name = module_name(&inferred.program.tensor(id).name);
        let values = Some(buffer(id));
        let operand = arrays(inferred, module, id, (&name, &storage.format), values, indices)?;
        all.push(Stored { tensor: id, operand, converted_for: None });
    }
    Ok(all)
}

/// Adds the arrays of a copy of a tensor in another format.
pub(super) fn copy(
    inferred: &Inferred,
    module: &mut Module,
    tensor: TensorId,
    format: &Format,
    indices: Element,
) -> Result<Operand, SchedError> {
    let name = format!("{}.copy", module_name(&inferred.program.tensor(tensor).name));
    arrays(inferred, module, tensor, (&name, format), None, indices)
}

fn arrays(
    inferred: &Inferred,
    module: &mut Module,
    tensor: TensorId,
    (name, format): (&str, &Format),
    values: Option<BufferId>,
    indices: Element,
) -> Result<Operand, SchedError> {
    let extents = extents(inferred, module, tensor)?;
    let mut free = name.to_string();
    while taken(module, &free, values) {
        free.push('_'); // the program has tensors or symbols of such names
    }
    let (levels, count) = Operand::levels(module, &free, (format, &extents), indices);
    let values = match values {
        Some(values) => {
            module.buffers[values.0 as usize].size = count;
            values
        }
        None => {
            let of = element(inferred.program.tensor(tensor).element);
            module.buffer(free, of, count)
        }
    };
    Ok(Operand { format: format.clone(), extents, levels, values })
}

/// Whether a name, or one that begins with it and a point, is there already, but for the buffer of the values themselves.
fn taken(module: &Module, name: &str, values: Option<BufferId>) -> bool {
    let clashes = |other: &str| {
        let rest = other.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let buffers = module.buffers.iter().enumerate();
    let mut others = buffers.filter(|(at, _)| values.is_none_or(|own| own.0 as usize != *at));
    others.any(|(_, buffer)| clashes(&buffer.name)) || module.symbols.iter().any(|s| clashes(s))
}
