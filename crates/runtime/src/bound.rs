//! Tensors with formats as arguments: their arrays, in every format in which code walks them.

use dastac_elements::{Element, Storage, View};
use dastac_formats::format::{Definitions, default_names, read_hybrid};
use dastac_formats::storage::{IndexView, Indices, LevelData};
use dastac_formats::{Build, Duplicates, Format, StorageError, Tensor, TensorView};
use dastac_loops::{BufferId, SymbolId};

use crate::argument::Argument;
use crate::error::{Error, Result};
use crate::memory::available_memory;
use crate::program::{Part, Stored, TensorId};

/// A tensor that a run reads.
#[derive(Debug)]
pub(crate) struct Bound<'a> {
    /// The tensor in each format in which code reads it; the declared format comes first.
    copies: Vec<Converted<'a>>,
}

/// A tensor in one format.
#[derive(Debug)]
pub(crate) enum Converted<'a> {
    /// The arrays stand in memory of the run time.
    Own {
        /// The tensor.
        tensor: Tensor,
        /// Copies of its arrays of positions and coordinates with 64 bits, if the code takes such.
        wide: Option<Vec<Storage>>,
    },
    /// The arrays stand in the caller's memory, with indices as wide as the code takes them.
    Lent(TensorView<'a>),
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
    /// Whether it is a part of the tensor.
    pub is_part: bool,
}

/// How tensors are built of entries: in the memory that there is.
pub fn build() -> Build {
    Build { duplicates: Duplicates::Sum, memory: available_memory(), ..Build::default() }
}

/// How copies are built that are computed with: of all elements that are stored, zeros of blocks too.
pub(crate) fn copying() -> Build {
    Build { padding: None, ..build() }
}

impl<'a> Bound<'a> {
    /// A tensor in all formats of `stored`, which are those of the tensor `name`; where the code takes indices of 64
    /// bits, `wide`.
    pub(crate) fn new(
        name: &str,
        tensor: Tensor,
        element: Element,
        stored: &[&Stored],
        wide: bool,
    ) -> Result<Bound<'a>> {
        let failed = |source| Error::Storage { tensor: name.into(), source };
        let mut tensor = tensor.cast(element).map_err(failed)?;
        let (first, others) = stored.split_first().ok_or_else(|| Error::NotDynamic(name.into()))?;
        if *tensor.format() != first.format {
            tensor = tensor.convert(&first.format, build()).map_err(failed)?;
        }
        let mut copies = converted(name, &tensor, others, wide)?;
        copies.insert(0, Converted::new(name, tensor, wide)?);
        Ok(Bound { copies })
    }

    /// A tensor in the caller's memory, which must have the declared format and the width that the code takes. Copies
    /// in other formats are made as for all tensors.
    pub(crate) fn lent(
        name: &str,
        view: TensorView<'a>,
        element: Element,
        stored: &[&Stored],
        wide: bool,
    ) -> Result<Bound<'a>> {
        let (first, others) = stored.split_first().ok_or_else(|| Error::NotDynamic(name.into()))?;
        if *view.format() != first.format {
            let (expected, found) = (first.format.to_string(), view.format().to_string());
            return Err(Error::Format { tensor: name.into(), expected, found });
        }
        let (buffer, found) = (name.to_owned(), view.values().element());
        if found != element {
            return Err(Error::ElementType { buffer, expected: element, found });
        }
        let mut indices = view.levels().iter().flat_map(LevelData::arrays);
        let narrow = |array: &&IndexView<'_>| matches!(array, IndexView::U8(_) | IndexView::U16(_));
        let other = |array: &&IndexView<'_>| matches!(array, IndexView::I64(_)) != wide;
        if let Some(other) = indices.find(|array| !narrow(array) && other(array)) {
            let (expected, found) = (if wide { 64 } else { 32 }, 8 * other.width());
            return Err(Error::IndexWidth { tensor: name.into(), expected, found });
        }
        let mut copies = Vec::new();
        if others.iter().all(|one| one.part.is_none()) {
            for one in others {
                let copy = view.convert(&one.format, copying());
                let copy = copy.map_err(|source| not_copied(name, one, source))?;
                copies.push(Converted::new(name, copy, wide)?);
            }
        } else {
            let own = view.to_tensor();
            let own = own.map_err(|source| Error::Storage { tensor: name.into(), source })?;
            copies = converted(name, &own, others, wide)?;
        }
        copies.insert(0, Converted::Lent(view));
        Ok(Bound { copies })
    }

    /// The tensor in the declared format; `None` if its arrays are the caller's.
    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        match &self.copies[0] {
            Converted::Own { tensor, .. } => Some(tensor),
            Converted::Lent(_) => None,
        }
    }

    /// The tensor in the declared format, in whosever memory.
    pub(crate) fn declared(&self) -> &Converted<'a> {
        &self.copies[0]
    }

    /// How many values are stored.
    pub(crate) fn stored(&self) -> usize {
        self.copies[0].values().len()
    }

    /// Bytes of all its arrays, in all formats.
    pub(crate) fn bytes(&self) -> u64 {
        self.copies.iter().map(Converted::bytes).sum()
    }

    /// What it was converted to for rules that do not walk it as it is declared.
    pub(crate) fn conversions(&self, stored: &[&Stored]) -> Vec<Conversion> {
        let from = self.copies[0].format();
        self.copies
            .iter()
            .zip(stored)
            .filter_map(|(copy, one)| copy.conversion(one, from))
            .collect()
    }

    /// Its arrays with the buffers that they are.
    pub(crate) fn arguments(&self, stored: &[&Stored]) -> Vec<(BufferId, Argument<'_>)> {
        self.copies.iter().zip(stored).flat_map(|(copy, one)| copy.arguments(one)).collect()
    }

    /// Numbers of positions, by symbol.
    pub(crate) fn counts(&self, stored: &[&Stored]) -> Vec<(SymbolId, i64)> {
        self.copies.iter().zip(stored).flat_map(|(copy, one)| copy.counts(one)).collect()
    }

    /// A copy of the arrays of a level that begin with a buffer, if they are this tensor's.
    pub(crate) fn level(&self, stored: &[&Stored], first: BufferId) -> Option<LevelData> {
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

/// A tensor in the formats of copies.
fn converted<'a>(
    name: &str,
    tensor: &Tensor,
    copies: &[&Stored],
    wide: bool,
) -> Result<Vec<Converted<'a>>> {
    let mut parts: Vec<Option<Tensor>> = Vec::new();
    if let Some(part) = copies.iter().find_map(|one| one.part.as_ref()) {
        parts = divided(name, tensor, part)?.into_iter().map(Some).collect();
    }
    let convert = |one: &&Stored| {
        let part = one.part.as_ref().and_then(|part| parts.get_mut(part.number)?.take());
        let copy = match part {
            Some(part) => part,
            None => tensor
                .convert(&one.format, copying())
                .map_err(|source| not_copied(name, one, source))?,
        };
        Converted::new(name, copy, wide)
    };
    copies.iter().map(convert).collect()
}

/// Why there is no copy of a tensor in the format in which a rule reads it.
fn not_copied(name: &str, copy: &Stored, source: StorageError) -> Error {
    Error::Copy { tensor: name.into(), format: copy.format.to_string(), source: source.into() }
}

/// The parts of a tensor in a hybrid format.
fn divided(name: &str, tensor: &Tensor, part: &Part) -> Result<Vec<Tensor>> {
    let names = default_names(tensor.shape().len());
    let hybrid = read_hybrid(&part.hybrid, &names, &Definitions::default())
        .map_err(|error| Error::Hybrid { tensor: name.into(), error: error.to_string() })?;
    let parts = tensor.decompose(&hybrid, copying());
    parts.map_err(|source| Error::Storage { tensor: name.into(), source })
}

impl Converted<'_> {
    /// A tensor in the width that code takes.
    pub(crate) fn new<'a>(name: &str, tensor: Tensor, wide: bool) -> Result<Converted<'a>> {
        if !wide && is_wide(&tensor) {
            return Err(Error::Wide(name.into()));
        }
        let widened = |array: &Indices| -> Result<Storage> {
            match array {
                Indices::U8(all) => return Ok(Storage::from(all.clone())),
                Indices::U16(all) => return Ok(Storage::from(all.clone())),
                Indices::U32(_) | Indices::U64(_) => {}
            }
            let all = array.iter().map(i64::try_from).collect::<std::result::Result<Vec<_>, _>>();
            Ok(Storage::from(all.map_err(|_| Error::Wide(name.into()))?))
        };
        let wide = match wide {
            true => Some(indices(&tensor).map(widened).collect::<Result<_>>()?),
            false => None,
        };
        Ok(Converted::Own { tensor, wide })
    }

    fn format(&self) -> &Format {
        match self {
            Converted::Own { tensor, .. } => tensor.format(),
            Converted::Lent(view) => view.format(),
        }
    }

    fn values(&self) -> View<'_> {
        match self {
            Converted::Own { tensor, .. } => tensor.values().view(),
            Converted::Lent(view) => view.values(),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Converted::Own { tensor, .. } => tensor.bytes(),
            Converted::Lent(view) => view.bytes(),
        }
    }

    /// How many positions a level has, if its arrays say so.
    fn counted(&self, level: usize) -> Option<u64> {
        match self {
            Converted::Own { tensor, .. } => tensor.levels().get(level)?.counted(),
            Converted::Lent(view) => view.levels().get(level)?.counted(),
        }
    }

    /// What it was converted for, and from.
    pub(crate) fn conversion(&self, stored: &Stored, from: &Format) -> Option<Conversion> {
        Some(Conversion {
            tensor: stored.tensor,
            rule: stored.converted_for?,
            from: from.to_string(),
            to: stored.format.to_string(),
            bytes: self.bytes(),
            is_part: stored.part.is_some(),
        })
    }

    /// Its arrays with the buffers that they are.
    pub(crate) fn arguments(&self, stored: &Stored) -> Vec<(BufferId, Argument<'_>)> {
        stored.buffers().into_iter().zip(self.arrays()).collect()
    }

    /// Numbers of positions, by symbol.
    pub(crate) fn counts(&self, stored: &Stored) -> Vec<(SymbolId, i64)> {
        let counts = stored.counts.iter().filter_map(|count| {
            let positions = self.counted(count.level)?;
            Some((count.symbol, i64::try_from(positions).unwrap_or(i64::MAX)))
        });
        counts.collect()
    }

    /// A copy of the arrays of a level that begin with a buffer, if they are this tensor's.
    pub(crate) fn level(&self, stored: &Stored, first: BufferId) -> Option<LevelData> {
        let at = stored.levels.iter().position(|buffers| buffers.first() == Some(&first))?;
        match self {
            Converted::Own { tensor, .. } => tensor.levels().get(at).cloned(),
            Converted::Lent(view) => view.levels().get(at).map(LevelData::to_owned_arrays),
        }
    }

    fn arrays(&self) -> Vec<Argument<'_>> {
        let mut arrays: Vec<Argument<'_>> = match self {
            Converted::Own { wide: Some(wide), .. } => {
                wide.iter().map(|array| array.view().into()).collect()
            }
            Converted::Own { tensor, wide: None } => indices(tensor)
                .filter_map(|array| match array {
                    Indices::U8(array) => Some(Argument::read(array)),
                    Indices::U16(array) => Some(Argument::read(array)),
                    Indices::U32(array) => Some(Argument::read(array)),
                    Indices::U64(_) => None, // not without `wide`
                })
                .collect(),
            Converted::Lent(view) => {
                let arrays = view.levels().iter().flat_map(LevelData::arrays);
                arrays.map(|array| lent(*array)).collect()
            }
        };
        arrays.push(self.values().into());
        arrays
    }
}

fn lent(array: IndexView<'_>) -> Argument<'_> {
    match array {
        IndexView::U8(all) => Argument::read(all),
        IndexView::U16(all) => Argument::read(all),
        IndexView::U32(all) => Argument::read(all),
        IndexView::I64(all) => Argument::read(all),
    }
}
