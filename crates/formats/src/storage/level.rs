//! The arrays of one level of a tensor in memory.

use super::Indices;
use crate::level::{Kind, Role};

/// The arrays of a level: owned, or [borrowed](super::IndexView).
#[derive(Clone, Debug, PartialEq)]
pub struct LevelData<A = Indices> {
    kind: Kind,
    arrays: Vec<A>,
}

impl LevelData {
    /// A level that stores nothing.
    pub fn dense() -> LevelData {
        LevelData::new(Kind::DENSE, Vec::new())
    }

    /// The coordinates that are there, and where those below each position begin.
    pub fn compressed(positions: Indices, coordinates: Indices) -> LevelData {
        LevelData::new(Kind::COMPRESSED, vec![positions, coordinates])
    }

    /// One coordinate for each position.
    pub fn singleton(coordinates: Indices) -> LevelData {
        LevelData::new(Kind::SINGLETON, vec![coordinates])
    }

    /// How many positions the level has, of one whose arrays say so.
    pub fn counted(&self) -> Option<u64> {
        let coordinates = self.coordinates().map(|all| all.len() as u64);
        coordinates.or_else(|| self.positions()?.iter().last())
    }

    #[cfg(test)]
    pub(super) fn arrays_mut(&mut self) -> &mut [Indices] {
        &mut self.arrays
    }
}

impl<A> LevelData<A> {
    /// A level's arrays, in the order of [`crate::level::LevelKind::arrays`].
    pub fn new(kind: Kind, arrays: Vec<A>) -> LevelData<A> {
        LevelData { kind, arrays }
    }

    /// The kind of level that these are the arrays of.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The arrays, in the order of [`crate::level::LevelKind::arrays`].
    pub fn arrays(&self) -> &[A] {
        &self.arrays
    }

    /// The array with a role, if the level has it.
    pub fn array(&self, role: Role) -> Option<&A> {
        let at = self.kind.arrays().iter().position(|own| *own == role)?;
        self.arrays.get(at)
    }

    /// Where the positions below each position of the level before begin.
    pub fn positions(&self) -> Option<&A> {
        self.array(Role::Positions)
    }

    /// The coordinate at each position.
    pub fn coordinates(&self) -> Option<&A> {
        self.array(Role::Coordinates)
    }

    /// Which positions have their coordinate stored.
    pub fn present(&self) -> Option<&A> {
        self.array(Role::Present)
    }
}
