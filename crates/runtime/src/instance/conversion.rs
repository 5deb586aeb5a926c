//! Results that are another tensor in another format: no code makes them, but a conversion, in the memory of the result
//! of the run before.

use std::sync::Arc;

use dastac_elements::{Element, Storage};
use dastac_formats::storage::{Indices, LevelData, Moved};
use dastac_formats::{StorageError, Tensor, TensorView};

use super::arrays;
use super::state::Instance;
use crate::bound::{Bound, Converted, copying};
use crate::code::Threads;
use crate::error::{Error, Result};
use crate::program::{Stored, Structure, TensorId};

/// What a tensor is converted to.
struct Target<'a> {
    stored: &'a Stored,
    name: &'a str,
    /// The dimension of the result that each dimension of the tensor is.
    dimensions: &'a [usize],
    threads: usize,
    /// Whether positions and coordinates have 64 bits.
    wide: bool,
}

impl Instance<'_> {
    /// Makes a result that is another tensor in another format.
    pub(super) fn convert_result(&mut self, tensor: TensorId) -> Result<()> {
        let executable = Arc::clone(&self.executable);
        let program = executable.program();
        let result = program.results.iter().find(|one| one.tensor == tensor);
        let (Some(Structure::Converted { from, dimensions }), Some(stored)) =
            (result.map(|one| &one.structure), program.stored(tensor).next())
        else {
            return Ok(());
        };
        for one in program.stored(tensor) {
            self.results.copies.remove(&one.values);
        }
        let ids = stored.buffers();
        let mut kept: Vec<Storage> =
            ids.iter().filter_map(|id| self.results.arrays.remove(id)).collect();
        let threads = match self.threads {
            Threads::Any => usize::MAX,
            Threads::Of(threads) => threads,
        };
        let name = &self.facts[tensor.0].name;
        let target = Target { stored, name, dimensions, threads, wide: program.wide };
        let Moved { arrays, values } = match self.bound.get(from).map(Bound::declared) {
            Some(Converted::Lent(view)) => target.of(view, &mut kept),
            Some(Converted::Own { tensor, .. }) => target.of_tensor(tensor, &mut kept),
            None => target.of_tensor(&self.assembled(*from)?, &mut kept),
        }?;
        for count in &stored.counts {
            let first: usize = stored.levels[..count.level].iter().map(Vec::len).sum();
            let kind = stored.format.levels()[count.level].kind;
            let own = arrays[first..].iter().take(kind.arrays().len());
            let level = LevelData::new(kind, own.collect());
            // Levels that are counted have a coordinate at each position.
            let counted = level.coordinates().map_or(0, |all| all.len());
            self.parameters[count.symbol.0 as usize] = i64::try_from(counted).unwrap_or(i64::MAX);
        }
        self.results.arrays.extend(ids.into_iter().zip(arrays.into_iter().chain([values])));
        Ok(())
    }
}

impl Target<'_> {
    fn failed(&self, source: StorageError) -> Error {
        Error::Storage { tensor: self.name.into(), source }
    }

    /// The tensor in the target's format.
    fn of_tensor(&self, tensor: &Tensor, kept: &mut Vec<Storage>) -> Result<Moved> {
        match tensor.as_view() {
            Some(view) => self.of(&view, kept),
            None => {
                let permuted = tensor.permuted(self.dimensions);
                self.sorted(permuted.ok_or_else(|| Error::NotDynamic(self.name.into()))?)
            }
        }
    }

    /// The tensor in the target's format, in memory that is kept where it is long enough.
    fn of(&self, view: &TensorView<'_>, kept: &mut Vec<Storage>) -> Result<Moved> {
        let view = view.permuted(self.dimensions);
        let view = view.ok_or_else(|| Error::NotDynamic(self.name.into()))?;
        if !self.wide {
            let mut failed = None;
            let mut room = |_: &str, element: Element, length: usize| {
                let same = kept.iter().position(|one| one.element() == element);
                let mut array = same.map_or_else(|| Storage::empty(element), |at| kept.remove(at));
                match arrays::fit(&mut array, self.name, length) {
                    Ok(()) => Ok(array),
                    Err(error) => {
                        failed = Some(error);
                        let bytes = length as u128 * element.bytes() as u128;
                        Err(StorageError::Memory { what: self.name.into(), bytes })
                    }
                }
            };
            let moved = view.moved_into(&self.stored.format, self.threads, &mut room);
            match (moved, failed) {
                (_, Some(error)) => return Err(error),
                (Err(error), None) => return Err(self.failed(error)),
                (Ok(Some(moved)), None) => return Ok(moved),
                (Ok(None), None) => {}
            }
        }
        self.sorted(view.to_tensor().map_err(|error| self.failed(error))?)
    }

    /// A tensor in the target's format that takes memory of its own.
    fn sorted(&self, tensor: Tensor) -> Result<Moved> {
        let format = &self.stored.format;
        let found = tensor.convert(format, copying()).map_err(|error| self.failed(error))?;
        let levels = found.levels().iter().flat_map(LevelData::arrays);
        let arrays = levels.map(|array| self.array(array)).collect::<Result<Vec<Storage>>>()?;
        Ok(Moved { arrays, values: found.values().clone() })
    }

    /// Positions or coordinates as elements.
    fn array(&self, array: &Indices) -> Result<Storage> {
        match array {
            Indices::U8(all) => return Ok(Storage::from(all.clone())),
            Indices::U16(all) => return Ok(Storage::from(all.clone())),
            Indices::U32(all) if !self.wide => return Ok(Storage::from(all.clone())),
            Indices::U64(_) if !self.wide => return Err(Error::Wide(self.name.into())),
            Indices::U32(_) | Indices::U64(_) => {}
        }
        let all = array.iter().map(i64::try_from).collect::<std::result::Result<Vec<i64>, _>>();
        Ok(Storage::from(all.map_err(|_| Error::Wide(self.name.into()))?))
    }
}
