//! Padded levels: at most one coordinate for each position of the level before.
//!
//! The coordinate follows from those of the levels before and from functions that are computed from entries: in `ell`,
//! the column from the row and its entry's number in the row. Where there is no entry, the array has the extent `n`,
//! which is no coordinate. So whatever walks the level only has to see that coordinates are in the level's extent.
//!
//! ```text
//! pos_bounds(p_{k-1}) -> [p_{k-1}, p_{k-1} + 1)     pos_access(p_k) -> coordinates[p_k], where that is less than n
//! ```

use std::ops::Range;

use dastac_loops::Index;

use super::{
    Arrays, Counts, LevelAssembly, LevelBuffers, LevelCode, LevelKind, LevelStorage, Properties,
    Role,
};
use crate::storage::{Building, Indices, Keys, StorageError};

#[derive(Debug)]
pub(super) struct Padded;

impl LevelKind for Padded {
    fn word(&self) -> &'static str {
        "padded"
    }

    fn letter(&self) -> char {
        'P'
    }

    fn about(&self) -> &'static str {
        "one coordinate for each position of the level before, or none"
    }

    fn properties(&self) -> Properties {
        Properties { full: false, ordered: true, unique: true, branchless: false, compact: false }
    }

    fn arrays(&self) -> &'static [Role] {
        &[Role::Coordinates]
    }

    fn is_found(&self) -> bool {
        true
    }
}

impl LevelStorage for Padded {
    fn positions(&self, counts: Counts) -> Option<u64> {
        Some(counts.above)
    }

    fn build(&self, building: &mut dyn Building) -> Result<Vec<Indices>, StorageError> {
        building.same();
        Ok(vec![building.padded()?])
    }

    fn pos_bounds(&self, _arrays: Arrays<'_>, parent: u64) -> Range<u64> {
        parent..parent + 1
    }

    fn pos_access(&self, arrays: Arrays<'_>, _parent: u64, position: u64) -> Option<u64> {
        let coordinate = arrays.data.coordinates()?.get(position);
        (coordinate < arrays.extent).then_some(coordinate)
    }

    fn locate(&self, arrays: Arrays<'_>, parent: u64, coordinate: u64) -> Vec<u64> {
        let found = self.pos_access(arrays, parent, parent) == Some(coordinate);
        Vec::from_iter(found.then_some(parent))
    }

    fn walk<'a>(&self, arrays: Arrays<'a>, keys: &mut dyn Keys<'a>) -> Result<(), StorageError> {
        if let Some(coordinates) = arrays.data.coordinates() {
            keys.attach_below(coordinates, arrays.extent);
        }
        Ok(())
    }
}

impl LevelCode for Padded {
    fn count(&self, above: Index, _extent: &Index, _own: Option<Index>) -> Index {
        above
    }

    fn pos_bounds_code(
        &self,
        _level: &LevelBuffers,
        parents: (&Index, &Index),
    ) -> Option<(Index, Index)> {
        Some((parents.0.clone(), parents.1.clone()))
    }
}

impl LevelAssembly for Padded {}
