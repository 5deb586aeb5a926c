//! Whether a description that was read from a file speaks of tensors, buffers and symbols that are there.
//!
//! 1. The code's symbols begin with the program's, its buffers with those of the tensors, with their elements.
//! 2. Every id of a tensor, buffer or symbol is in range.
//! 3. A stored tensor has the arrays of its format, whose rank is the tensor's; the tensor has a format.
//! 4. A result is stored.

use dastac_loops::BufferId;
use dastac_loops::abi::Abi;

use super::{Assembled, Program, Stored, Structure, TensorId};

/// What does not hold.
type Contradiction = &'static str;

impl Program {
    /// Whether the description holds together, with the interface of its code: see the [module](self).
    ///
    /// # Errors
    /// What does not hold.
    pub(crate) fn check(&self, abi: &Abi) -> Result<(), Contradiction> {
        let sizes = &self.sizes;
        ensure(abi.symbols.starts_with(&sizes.symbols), "symbols of its code")?;
        ensure(abi.buffers.len() >= sizes.tensors.len(), "buffers of its code")?;
        let elements = sizes.tensors.iter().zip(&abi.buffers);
        let same = elements.into_iter().all(|(tensor, buffer)| tensor.element == buffer.element);
        ensure(same, "elements of its code")?;
        self.stored.iter().try_for_each(|one| self.check_stored(one, abi))?;
        self.results.iter().try_for_each(|one| self.check_result(one, abi))?;
        let counted = self.phases.iter().filter_map(|phase| phase.counts);
        let mut converted = self.phases.iter().flat_map(|phase| &phase.converts);
        ensure(converted.all(|id| self.has(*id)), "phases")?;
        ensure(counted.into_iter().all(|id| self.has(id)), "phases")
    }

    fn has(&self, tensor: TensorId) -> bool {
        tensor.0 < self.sizes.tensors.len()
    }

    fn check_stored(&self, one: &Stored, abi: &Abi) -> Result<(), Contradiction> {
        let tensor = self.sizes.tensors.get(one.tensor.0).ok_or("stored tensors")?;
        ensure(tensor.format.is_some(), "formats of stored tensors")?;
        ensure(one.format.rank() == tensor.extents.len(), "ranks of formats")?;
        ensure(one.buffers().iter().all(|id| is_buffer(abi, *id)), "arrays of stored tensors")?;
        let kinds = one.format.levels().iter().map(|level| level.kind.arrays().len());
        ensure(kinds.eq(one.levels.iter().map(Vec::len)), "levels of stored tensors")?;
        let counted = one.counts.iter().all(|count| {
            count.level < one.levels.len() && (count.symbol.0 as usize) < abi.symbols.len()
        });
        ensure(counted, "numbers of positions")?;
        ensure(one.converted_for.is_none_or(|rule| self.has(rule)), "copies")
    }

    fn check_result(&self, one: &Assembled, abi: &Abi) -> Result<(), Contradiction> {
        ensure(self.stored(one.tensor).next().is_some(), "results")?;
        match &one.structure {
            Structure::Counted { starts, ends } => {
                let mut arrays = starts.iter().chain(ends);
                ensure(arrays.all(|id| is_buffer(abi, *id)), "arrays of results")
            }
            Structure::Converted { from, dimensions } => {
                ensure(self.stored(*from).next().is_some(), "converted tensors")?;
                let rank = self.sizes.tensors[one.tensor.0].extents.len();
                let permuted = (0..rank).all(|dimension| dimensions.contains(&dimension));
                ensure(permuted && dimensions.len() == rank, "converted tensors")
            }
            Structure::Dense | Structure::Copied => Ok(()),
        }
    }
}

fn is_buffer(abi: &Abi, id: BufferId) -> bool {
    abi.buffer(id).is_some()
}

fn ensure(holds: bool, what: Contradiction) -> Result<(), Contradiction> {
    if holds { Ok(()) } else { Err(what) }
}
