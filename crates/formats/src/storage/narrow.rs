//! Arrays in the widths that a format says: coordinates in 8 or 16 bits where a level asks for them, bits of bitmaps in
//! 8, everything else in 32 bits if that is enough, and in 64 if not.

use rayon::prelude::*;

use super::index::with_indices;
use super::space::LevelSpace;
use super::{Index, Indices, LevelData, StorageError, Tensor, build::describe};
use crate::format::Format;
use crate::level::{Level, Role, Width};

/// In what width the array of a level with this role must be; nothing where that follows from what stands there.
pub(super) fn width_of(level: Level, role: Role) -> Option<Width> {
    match role {
        Role::Positions => None,
        Role::Coordinates => level.width,
        Role::Present => Some(Width::Bits8),
    }
}

/// Whether the coordinates of all levels fit the widths that a format says.
///
/// # Errors
/// The first level whose coordinates may be too large.
pub(super) fn fits(shape: &[u64], format: &Format) -> Result<(), StorageError> {
    let space = LevelSpace::new(shape, format)?;
    for (at, level) in format.levels().iter().enumerate() {
        let Some(width) = level.width else { continue };
        // What is padded has the extent in place of a coordinate.
        let padded = u64::from(level.kind.is_found());
        let largest = (space.extent(at) + padded).saturating_sub(1);
        if largest > width.largest() {
            return Err(StorageError::Width { level: describe(at, shape), largest, width });
        }
    }
    Ok(())
}

/// The same numbers in a width, if all fit.
fn narrowed(array: &Indices, width: Width) -> Option<Indices> {
    fn all<I: Index, T: TryFrom<u64> + Send>(array: &[I]) -> Option<Vec<T>> {
        array.par_iter().with_min_len(1 << 14).map(|at| T::try_from(at.widen()).ok()).collect()
    }
    Some(match width {
        Width::Bits8 => Indices::U8(with_indices!(array, own => all(own))?),
        Width::Bits16 => Indices::U16(with_indices!(array, own => all(own))?),
    })
}

/// The same numbers in 32 bits, or in 64 if one needs them.
fn widened(array: &Indices) -> Indices {
    match array {
        Indices::U8(all) => Indices::U32(all.iter().map(|at| (*at).into()).collect()),
        Indices::U16(all) => Indices::U32(all.iter().map(|at| (*at).into()).collect()),
        Indices::U32(_) | Indices::U64(_) => array.clone(),
    }
}

/// Arrays of all levels of a format in the widths that it says, as far as their numbers fit.
pub(super) fn fitted(levels: Vec<LevelData>, format: &Format) -> Vec<LevelData> {
    let one = |(data, level): (LevelData, &Level)| {
        let own = |(array, role): (&Indices, &Role)| match width_of(*level, *role) {
            Some(width) if array.width() != width.bytes() => narrowed(array, width),
            None if array.width() < 4 => Some(widened(array)),
            _ => None,
        };
        let roles = data.kind().arrays();
        let changed: Vec<Option<Indices>> = data.arrays().iter().zip(roles).map(own).collect();
        if changed.iter().all(Option::is_none) || data.arrays().len() != roles.len() {
            return data;
        }
        let arrays = changed.into_iter().zip(data.arrays());
        let arrays = arrays.map(|(changed, own)| changed.unwrap_or_else(|| own.clone()));
        LevelData::new(data.kind(), arrays.collect())
    };
    levels.into_iter().zip(format.levels()).map(one).collect()
}

impl Tensor {
    /// The same tensor in a format that differs from its own in widths alone, which its coordinates fit.
    pub(super) fn in_widths_of(self, format: &Format) -> Tensor {
        let levels = fitted(self.levels, format);
        Tensor { levels, format: format.clone(), ..self }
    }
}
