//! Tensors whose arrays somebody else owns.

use std::borrow::Cow;

use dastac_elements::{Storage, View};

use super::check::Parts;
use super::scan::{self, Numbers, Step};
use super::space::LevelSpace;
use super::{Build, Indices, LevelData, StorageError, Tensor};
use crate::format::Format;

/// Positions or coordinates, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexView<'a> {
    /// In 8 bits.
    U8(&'a [u8]),
    /// In 16 bits.
    U16(&'a [u16]),
    /// In 32 bits.
    U32(&'a [u32]),
    /// In 64 bits, none of them negative.
    I64(&'a [i64]),
}

impl<'a> IndexView<'a> {
    /// How many.
    pub fn len(self) -> usize {
        self.count()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.count() == 0
    }

    /// Bytes of one.
    pub fn width(self) -> u64 {
        match self {
            IndexView::U8(_) => 1,
            IndexView::U16(_) => 2,
            IndexView::U32(_) => 4,
            IndexView::I64(_) => 8,
        }
    }

    /// The numbers in 32 bits, if all fit.
    pub fn narrow(self) -> Option<Cow<'a, [u32]>> {
        match self {
            IndexView::U8(all) => Some(all.iter().map(|at| (*at).into()).collect()),
            IndexView::U16(all) => Some(all.iter().map(|at| (*at).into()).collect()),
            IndexView::U32(all) => Some(Cow::Borrowed(all)),
            IndexView::I64(all) => scan::are_below(all, 1 << 32).then(|| {
                // They are below 2^32.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                all.iter().map(|at| *at as u32).collect()
            }),
        }
    }

    fn to_indices(self) -> Indices {
        match self {
            IndexView::U8(all) => Indices::U8(all.to_vec()),
            IndexView::U16(all) => Indices::U16(all.to_vec()),
            IndexView::U32(all) => Indices::U32(all.to_vec()),
            IndexView::I64(all) => Indices::U64(all.iter().map(|at| at.cast_unsigned()).collect()),
        }
    }
}

impl Numbers for IndexView<'_> {
    fn count(&self) -> usize {
        match self {
            IndexView::U8(all) => all.len(),
            IndexView::U16(all) => all.len(),
            IndexView::U32(all) => all.len(),
            IndexView::I64(all) => all.len(),
        }
    }

    /// A negative number becomes one that no position or coordinate is.
    fn number(&self, at: usize) -> u64 {
        match self {
            IndexView::U8(all) => all[at].into(),
            IndexView::U16(all) => all[at].into(),
            IndexView::U32(all) => all[at].into(),
            IndexView::I64(all) => all[at].cast_unsigned(),
        }
    }

    fn are_below(&self, limit: u64) -> bool {
        match self {
            IndexView::U8(all) => scan::are_below(all, limit),
            IndexView::U16(all) => scan::are_below(all, limit),
            IndexView::U32(all) => scan::are_below(all, limit),
            IndexView::I64(all) => scan::are_below(all, limit),
        }
    }

    fn as_narrow(&self) -> Option<&[u32]> {
        match self {
            IndexView::U32(all) => Some(all),
            IndexView::U8(_) | IndexView::U16(_) | IndexView::I64(_) => None,
        }
    }

    fn steps(&self, step: Step) -> usize {
        match self {
            IndexView::U8(all) => scan::steps(all, step),
            IndexView::U16(all) => scan::steps(all, step),
            IndexView::U32(all) => scan::steps(all, step),
            IndexView::I64(all) => scan::steps(all, step),
        }
    }

    fn width_of_one(&self) -> u64 {
        self.width()
    }
}

/// A tensor in a format, whose arrays are borrowed. The invariants are those of a [`Tensor`].
#[derive(Clone, Debug, PartialEq)]
pub struct TensorView<'a> {
    shape: Vec<u64>,
    format: Format,
    /// Where elements are among the coordinates of the levels.
    pub(super) space: LevelSpace,
    levels: Vec<LevelData<IndexView<'a>>>,
    values: View<'a>,
}

impl<'a> TensorView<'a> {
    /// A tensor of arrays that stand elsewhere; they are checked as those of [`Tensor::from_parts`].
    ///
    /// # Errors
    /// Arrays that are no tensor of the format, with what does not hold.
    pub fn from_parts(
        shape: Vec<u64>,
        format: Format,
        levels: Vec<LevelData<IndexView<'a>>>,
        values: View<'a>,
    ) -> Result<TensorView<'a>, StorageError> {
        let space = LevelSpace::new(&shape, &format)?;
        let parts = Parts { format: &format, space: &space, levels: &levels, values: values.len() };
        parts.check()?;
        Ok(TensorView { shape, format, space, levels, values })
    }

    /// A tensor of arrays that are known to be those of one.
    pub(super) fn known(
        shape: Vec<u64>,
        format: Format,
        levels: Vec<LevelData<IndexView<'a>>>,
        values: View<'a>,
    ) -> Result<TensorView<'a>, StorageError> {
        let space = LevelSpace::new(&shape, &format)?;
        Ok(TensorView { shape, format, space, levels, values })
    }

    /// Extents, by dimension.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// How it is stored.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The arrays of its levels.
    pub fn levels(&self) -> &[LevelData<IndexView<'a>>] {
        &self.levels
    }

    /// Its values, by position of the last level.
    pub fn values(&self) -> View<'a> {
        self.values
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> u64 {
        let arrays = self.levels.iter().flat_map(LevelData::arrays);
        let levels = arrays.map(|array| array.count() as u64 * array.width());
        levels.sum::<u64>() + self.values.bytes().len() as u64
    }

    /// The same tensor in another format, as [`Tensor::convert`] makes it; nothing is copied before.
    ///
    /// # Errors
    /// As [`Tensor::convert`].
    pub fn convert(&self, format: &Format, build: Build) -> Result<Tensor, StorageError> {
        if let (None, None) = (self.format.plain(), format.plain())
            && let Some(found) = self.converted(format, build)?
        {
            return Ok(found);
        }
        self.to_tensor()?.convert(format, build)
    }

    /// The same arrays as a tensor with its dimensions in another order: dimension `d` of this one is dimension
    /// `dimensions[d]` of that one. `None` if these are no permutation, or if levels store anything else than
    /// dimensions.
    pub fn permuted(&self, dimensions: &[usize]) -> Option<TensorView<'a>> {
        let (shape, format, space) = permuted(&self.shape, &self.format, dimensions)?;
        Some(TensorView { shape, format, space, levels: self.levels.clone(), values: self.values })
    }

    /// A copy that owns its arrays.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn to_tensor(&self) -> Result<Tensor, StorageError> {
        let bytes = u128::from(self.bytes());
        let values = Storage::copy_of(self.values);
        let values = values.map_err(|_| StorageError::Memory { what: "the copy".into(), bytes })?;
        let levels = self.levels.iter().map(LevelData::to_owned_arrays).collect();
        Tensor::from_parts(self.shape.clone(), self.format.clone(), levels, values)
    }
}

/// Extents, format and space of a tensor with its dimensions in another order.
fn permuted(
    shape: &[u64],
    format: &Format,
    dimensions: &[usize],
) -> Option<(Vec<u64>, Format, LevelSpace)> {
    let order = format.order().filter(|order| order.len() == dimensions.len())?;
    let order = order.into_iter().map(|own| dimensions[own]).collect();
    let format = format.with_order(order).ok()?;
    let mut extents = shape.to_vec();
    for (extent, to) in shape.iter().zip(dimensions) {
        extents[*to] = *extent;
    }
    let space = LevelSpace::new(&extents, &format).ok()?;
    Some((extents, format, space))
}

impl Tensor {
    /// A copy with its dimensions in another order: see [`TensorView::permuted`].
    pub fn permuted(&self, dimensions: &[usize]) -> Option<Tensor> {
        let (shape, format, space) = permuted(&self.shape, &self.format, dimensions)?;
        Some(Tensor { shape, format, space, ..self.clone() })
    }

    /// The same tensor, borrowed, if none of its positions and coordinates has 64 bits.
    pub fn as_view(&self) -> Option<TensorView<'_>> {
        let narrow = |array: &'_ Indices| match array {
            Indices::U8(_) | Indices::U16(_) | Indices::U32(_) => true,
            Indices::U64(_) => false,
        };
        if !self.levels.iter().flat_map(LevelData::arrays).all(narrow) {
            return None;
        }
        let levels = self.levels.iter().map(|level| {
            let arrays = level.arrays().iter().filter_map(|array| match array {
                Indices::U8(all) => Some(IndexView::U8(all)),
                Indices::U16(all) => Some(IndexView::U16(all)),
                Indices::U32(all) => Some(IndexView::U32(all)),
                Indices::U64(_) => None,
            });
            LevelData::new(level.kind(), arrays.collect())
        });
        Some(TensorView {
            shape: self.shape.clone(),
            format: self.format.clone(),
            space: self.space.clone(),
            levels: levels.collect(),
            values: self.values.view(),
        })
    }
}

impl LevelData<IndexView<'_>> {
    /// How many positions the level has, of one whose arrays say so.
    pub fn counted(&self) -> Option<u64> {
        let coordinates = self.coordinates().map(|all| all.count() as u64);
        let last =
            || self.positions().and_then(|all| Some(all.number(all.count().checked_sub(1)?)));
        coordinates.or_else(last)
    }

    /// A copy that owns its arrays.
    pub fn to_owned_arrays(&self) -> LevelData {
        let arrays = self.arrays().iter().map(|array| array.to_indices());
        LevelData::new(self.kind(), arrays.collect())
    }
}
