//! Dynamically sparse tensors of a run: their arrays as arguments of a kernel, in every format in which it walks them.

use dastac_elements::Storage;
use dastac_formats::level::LevelBuffers;
use dastac_formats::storage::{Indices, LevelData};
use dastac_formats::{Build, Duplicates, Entries, Format, Tensor};
use dastac_loops::{BufferId, SymbolId};
use dastac_runtime::Argument;
use dastac_sched::Stored;
use dastac_stur::TensorId;
use dastac_stur::program::Element;
use rand::Rng;

use crate::Error;
use crate::run::{available_memory, check_memory};

/// A tensor that a run reads.
#[derive(Debug)]
pub struct Bound {
    /// In each format in which it is read, that of `:F` first.
    copies: Vec<Copy>,
}

/// A tensor in one format.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) tensor: Tensor,
    /// Its arrays of positions and coordinates, by level, if the kernel takes wider ones.
    wide: Option<Vec<Vec<i64>>>,
}

/// A copy that a kernel reads in place of a tensor, since its levels contradict the order of loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The tensor.
    pub tensor: TensorId,
    /// The head of the rule.
    pub rule: TensorId,
    /// The format that `:F` says.
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
    /// A tensor in all formats of `stored`, which are those of the tensor `name`; where the kernel takes indices of 64
    /// bits, `wide`.
    pub(crate) fn new(
        name: &str,
        tensor: Tensor,
        element: Element,
        stored: &[&Stored],
        wide: bool,
    ) -> Result<Bound, Error> {
        let failed = |source| Error::Storage { tensor: name.into(), source };
        let mut tensor = tensor.cast(element).map_err(failed)?;
        let mut copies = Vec::new();
        for (at, one) in stored.iter().enumerate() {
            let format = &one.operand.format;
            if at == 0 && tensor.format() != format {
                tensor = tensor.convert(format, build()).map_err(failed)?;
            } else if at > 0 {
                copies.push(Copy::new(
                    name,
                    tensor.convert(format, copying()).map_err(failed)?,
                    wide,
                )?);
            }
        }
        copies.insert(0, Copy::new(name, tensor, wide)?);
        Ok(Bound { copies })
    }

    /// The tensor in the format that `:F` says.
    pub fn tensor(&self) -> &Tensor {
        &self.copies[0].tensor
    }

    /// Bytes of all its arrays, in all formats.
    pub fn bytes(&self) -> u64 {
        self.copies.iter().map(|copy| copy.tensor.bytes()).sum()
    }

    /// What it was converted to for rules that do not walk it as `:F` says.
    pub(crate) fn conversions(&self, stored: &[&Stored]) -> Vec<Conversion> {
        let copies = self.copies.iter().zip(stored);
        let from = self.tensor().format();
        copies.filter_map(|(copy, one)| copy.conversion(one, from)).collect()
    }

    /// Its arrays with the buffers that they are.
    pub(crate) fn arguments<'a>(&'a self, stored: &[&Stored]) -> Vec<(BufferId, Argument<'a>)> {
        let copies = self.copies.iter().zip(stored);
        copies.flat_map(|(copy, one)| copy.arguments(one)).collect()
    }

    /// Numbers of positions, by symbol.
    pub(crate) fn counts(&self, stored: &[&Stored]) -> Vec<(SymbolId, i64)> {
        let copies = self.copies.iter().zip(stored);
        copies.flat_map(|(copy, one)| copy.counts(one)).collect()
    }

    /// The arrays of a level that begin with a buffer, if they are this tensor's.
    pub(crate) fn level(&self, stored: &[&Stored], first: BufferId) -> Option<&LevelData> {
        let mut copies = self.copies.iter().zip(stored);
        copies.find_map(|(copy, one)| copy.level(one, first))
    }
}

/// The arrays of all levels, in the order in which an operand's buffers are declared.
fn indices(tensor: &Tensor) -> impl Iterator<Item = &Indices> {
    tensor.levels().iter().flat_map(LevelData::arrays)
}

/// The first array of a level.
pub(crate) fn first_of(level: &LevelBuffers) -> Option<BufferId> {
    level.arrays.first().copied()
}

/// Whether a tensor has positions or coordinates beyond 32 bits.
pub fn is_wide(tensor: &Tensor) -> bool {
    indices(tensor).any(|array| matches!(array, Indices::U64(_)))
}

impl Copy {
    /// What it was converted for, and from.
    pub(crate) fn conversion(&self, stored: &Stored, from: &Format) -> Option<Conversion> {
        Some(Conversion {
            tensor: stored.tensor,
            rule: stored.converted_for?,
            from: from.to_string(),
            to: stored.operand.format.to_string(),
            bytes: self.tensor.bytes(),
        })
    }

    /// Its arrays with the buffers that they are.
    pub(crate) fn arguments(&self, stored: &Stored) -> Vec<(BufferId, Argument<'_>)> {
        stored.operand.buffers().into_iter().zip(self.arrays()).collect()
    }

    /// Numbers of positions, by symbol.
    pub(crate) fn counts(&self, stored: &Stored) -> Vec<(SymbolId, i64)> {
        let counts = stored.operand.counts().filter_map(|(level, symbol)| {
            let coordinates = self.tensor.levels()[level].coordinates()?;
            Some((symbol, i64::try_from(coordinates.len()).unwrap_or(i64::MAX)))
        });
        counts.collect()
    }

    /// The arrays of a level that begin with a buffer, if they are this tensor's.
    pub(crate) fn level(&self, stored: &Stored, first: BufferId) -> Option<&LevelData> {
        let mut levels = stored.operand.levels.iter().zip(self.tensor.levels());
        levels.find_map(|(buffers, data)| (first_of(buffers) == Some(first)).then_some(data))
    }

    /// A tensor in the width that a kernel takes.
    pub(crate) fn new(name: &str, tensor: Tensor, wide: bool) -> Result<Copy, Error> {
        if !wide && is_wide(&tensor) {
            return Err(Error::Wide(name.into()));
        }
        let widened = |array: &Indices| {
            let wide =
                array.iter().map(|at| i64::try_from(at).map_err(|_| Error::Wide(name.into())));
            wide.collect::<Result<Vec<i64>, Error>>()
        };
        let wide = match wide {
            true => Some(indices(&tensor).map(widened).collect::<Result<_, _>>()?),
            false => None,
        };
        Ok(Copy { tensor, wide })
    }

    fn arrays(&self) -> Vec<Argument<'_>> {
        let mut arrays: Vec<Argument<'_>> = match &self.wide {
            Some(wide) => wide.iter().map(|array| Argument::read(array)).collect(),
            None => indices(&self.tensor)
                .filter_map(|array| match array {
                    Indices::U32(array) => Some(Argument::read(array)),
                    Indices::U64(_) => None, // not without `wide`
                })
                .collect(),
        };
        arrays.push(Argument::In(self.tensor.values().view()));
        arrays
    }
}

/// So many elements are looked at one by one; of larger boxes, entries are thrown.
const MAX_CELLS: u128 = 1 << 24;

/// A tensor with about `density` of its elements at random places, as the values of
/// [`crate::run::Runner::random_inputs`] are.
pub fn random(
    name: &str,
    shape: &[u64],
    (element, density): (Element, f64),
    rng: &mut impl Rng,
) -> Result<Entries, Error> {
    let cells = shape.iter().fold(1u128, |all, extent| all.saturating_mul(u128::from(*extent)));
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let wanted = (cells as f64 * density).round() as u128;
    let bytes = wanted.saturating_mul(8 * (shape.len() as u128 + 1));
    check_memory(&format!("the random entries of `{name}`"), bytes)?;
    let mut coordinates = Vec::new();
    let mut values = Vec::new();
    let density = density.clamp(0.0, 1.0);
    if cells <= MAX_CELLS {
        let mut at = vec![0; shape.len()];
        for _ in 0..cells {
            if rng.random_bool(density) {
                coordinates.extend(&at);
                values.push(stored(element, rng));
            }
            for (place, extent) in at.iter_mut().zip(shape).rev() {
                *place += 1;
                if *place < *extent {
                    break;
                }
                *place = 0;
            }
        }
    } else {
        for _ in 0..wanted {
            coordinates.extend(shape.iter().map(|extent| rng.random_range(0..*extent)));
            values.push(stored(element, rng));
        }
    }
    let failed = |source| Error::Storage { tensor: name.into(), source };
    Entries::new(shape.to_vec(), coordinates, Storage::from(values)).map_err(failed)
}

/// An element that is not 0.
fn stored(element: Element, rng: &mut impl Rng) -> f64 {
    if element == Element::Bool { 1.0 } else { sample(element, rng) }
}

/// An element of a type: a number that is not near 0, a small integer, or a truth value.
pub(crate) fn sample(element: Element, rng: &mut impl Rng) -> f64 {
    match element.is_float() {
        true => magnitude(rng),
        false => element.sample(rng.random(), rng.random()),
    }
}

/// A number of either sign that is not near 0.
pub fn magnitude(rng: &mut impl Rng) -> f64 {
    let magnitude: f64 = rng.random_range(0.25..1.0);
    if rng.random() { magnitude } else { -magnitude }
}
