//! Tensors with formats as arguments: their arrays, in every format in which code walks them.

use dastac_elements::{Element, Storage};
use dastac_formats::storage::{Indices, LevelData};
use dastac_formats::{Build, Duplicates, Format, Tensor};
use dastac_loops::{BufferId, SymbolId};

use crate::argument::Argument;
use crate::error::{Error, Result};
use crate::memory::available_memory;
use crate::program::{Stored, TensorId};

/// A tensor that a run reads.
#[derive(Debug)]
pub(crate) struct Bound {
    /// In each format in which it is read, the declared one first.
    copies: Vec<Converted>,
}

/// A tensor in one format.
#[derive(Debug)]
pub(crate) struct Converted {
    pub(crate) tensor: Tensor,
    /// Its arrays of positions and coordinates, by level, if the code takes wider ones.
    wide: Option<Vec<Storage>>,
}

/// A copy that code reads in place of a tensor, since its levels contradict the order of loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The tensor.
    pub tensor: TensorId,
    /// The head of the rule.
    pub rule: TensorId,
    /// The declared format.
    pub from: String,
    /// The copy's.
    pub to: String,
    /// Its bytes.
    pub bytes: u64,
}

/// How tensors are built of entries: in the memory that there is.
pub fn build() -> Build {
    Build { duplicates: Duplicates::Sum, memory: available_memory(), ..Build::default() }
}

/// How copies are built that are computed with: of all elements that are stored, zeros of blocks too.
pub(crate) fn copying() -> Build {
    Build { padding: None, ..build() }
}

impl Bound {
    /// A tensor in all formats of `stored`, which are those of the tensor `name`; where the code takes indices of 64
    /// bits, `wide`.
    pub(crate) fn new(
        name: &str,
        tensor: Tensor,
        element: Element,
        stored: &[&Stored],
        wide: bool,
    ) -> Result<Bound> {
        let failed = |source| Error::Storage { tensor: name.into(), source };
        let mut tensor = tensor.cast(element).map_err(failed)?;
        let mut copies = Vec::new();
        for (at, one) in stored.iter().enumerate() {
            if at == 0 && *tensor.format() != one.format {
                tensor = tensor.convert(&one.format, build()).map_err(failed)?;
            } else if at > 0 {
                let copy = tensor.convert(&one.format, copying()).map_err(failed)?;
                copies.push(Converted::new(name, copy, wide)?);
            }
        }
        copies.insert(0, Converted::new(name, tensor, wide)?);
        Ok(Bound { copies })
    }

    /// The tensor in the declared format.
    pub(crate) fn tensor(&self) -> &Tensor {
        &self.copies[0].tensor
    }

    /// Bytes of all its arrays, in all formats.
    pub(crate) fn bytes(&self) -> u64 {
        self.copies.iter().map(|copy| copy.tensor.bytes()).sum()
    }

    /// What it was converted to for rules that do not walk it as it is declared.
    pub(crate) fn conversions(&self, stored: &[&Stored]) -> Vec<Conversion> {
        let from = self.tensor().format();
        self.copies
            .iter()
            .zip(stored)
            .filter_map(|(copy, one)| copy.conversion(one, from))
            .collect()
    }

    /// Its arrays with the buffers that they are.
    pub(crate) fn arguments<'a>(&'a self, stored: &[&Stored]) -> Vec<(BufferId, Argument<'a>)> {
        self.copies.iter().zip(stored).flat_map(|(copy, one)| copy.arguments(one)).collect()
    }

    /// Numbers of positions, by symbol.
    pub(crate) fn counts(&self, stored: &[&Stored]) -> Vec<(SymbolId, i64)> {
        self.copies.iter().zip(stored).flat_map(|(copy, one)| copy.counts(one)).collect()
    }

    /// The arrays of a level that begin with a buffer, if they are this tensor's.
    pub(crate) fn level(&self, stored: &[&Stored], first: BufferId) -> Option<&LevelData> {
        let mut copies = self.copies.iter().zip(stored);
        copies.find_map(|(copy, one)| copy.level(one, first))
    }
}

/// The arrays of all levels, in the order in which a stored tensor's buffers are declared.
fn indices(tensor: &Tensor) -> impl Iterator<Item = &Indices> {
    tensor.levels().iter().flat_map(LevelData::arrays)
}

/// Whether a tensor has positions or coordinates beyond 32 bits.
pub fn is_wide(tensor: &Tensor) -> bool {
    indices(tensor).any(|array| matches!(array, Indices::U64(_)))
}

impl Converted {
    /// A tensor in the width that code takes.
    pub(crate) fn new(name: &str, tensor: Tensor, wide: bool) -> Result<Converted> {
        if !wide && is_wide(&tensor) {
            return Err(Error::Wide(name.into()));
        }
        let widened = |array: &Indices| -> Result<Storage> {
            let all = array.iter().map(i64::try_from).collect::<std::result::Result<Vec<_>, _>>();
            Ok(Storage::from(all.map_err(|_| Error::Wide(name.into()))?))
        };
        let wide = match wide {
            true => Some(indices(&tensor).map(widened).collect::<Result<_>>()?),
            false => None,
        };
        Ok(Converted { tensor, wide })
    }

    /// What it was converted for, and from.
    pub(crate) fn conversion(&self, stored: &Stored, from: &Format) -> Option<Conversion> {
        Some(Conversion {
            tensor: stored.tensor,
            rule: stored.converted_for?,
            from: from.to_string(),
            to: stored.format.to_string(),
            bytes: self.tensor.bytes(),
        })
    }

    /// Its arrays with the buffers that they are.
    pub(crate) fn arguments(&self, stored: &Stored) -> Vec<(BufferId, Argument<'_>)> {
        stored.buffers().into_iter().zip(self.arrays()).collect()
    }

    /// Numbers of positions, by symbol.
    pub(crate) fn counts(&self, stored: &Stored) -> Vec<(SymbolId, i64)> {
        let counts = stored.counts.iter().filter_map(|count| {
            let positions = self.tensor.levels()[count.level].coordinates()?.len();
            Some((count.symbol, i64::try_from(positions).unwrap_or(i64::MAX)))
        });
        counts.collect()
    }

    /// The arrays of a level that begin with a buffer, if they are this tensor's.
    pub(crate) fn level(&self, stored: &Stored, first: BufferId) -> Option<&LevelData> {
        let mut levels = stored.levels.iter().zip(self.tensor.levels());
        levels.find_map(|(buffers, data)| (buffers.first() == Some(&first)).then_some(data))
    }

    fn arrays(&self) -> Vec<Argument<'_>> {
        let mut arrays: Vec<Argument<'_>> = match &self.wide {
            Some(wide) => wide.iter().map(|array| array.view().into()).collect(),
            None => indices(&self.tensor)
                .filter_map(|array| match array {
                    Indices::U32(array) => Some(Argument::read(array)),
                    Indices::U64(_) => None, // not without `wide`
                })
                .collect(),
        };
        arrays.push(self.tensor.values().view().into());
        arrays
    }
}
