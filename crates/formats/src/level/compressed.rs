//! Compressed levels: the coordinates that are there, in one array, and where those below each position begin.
//!
//! ```text
//! pos_bounds(p_{k-1}) -> [positions[p_{k-1}], positions[p_{k-1} + 1])     pos_access(p_k) -> coordinates[p_k]
//! ```

use std::ops::Range;

use dastac_loops::Index;

use super::{Arrays, Counts, LevelBuffers, LevelCode, LevelKind, LevelStorage, Properties, Role};
use crate::storage::{Building, Indices, Keys, StorageError, places_of};

#[derive(Debug)]
pub(super) struct Compressed;

impl LevelKind for Compressed {
    fn word(&self) -> &'static str {
        "compressed"
    }

    fn letter(&self) -> char {
        'C'
    }

    fn about(&self) -> &'static str {
        "the coordinates that are there, below each position"
    }

    fn properties(&self) -> Properties {
        Properties { full: false, ordered: true, unique: true, branchless: false, compact: true }
    }

    fn arrays(&self) -> &'static [Role] {
        &[Role::Positions, Role::Coordinates]
    }

    fn is_flexible(&self) -> bool {
        true
    }
}

impl LevelStorage for Compressed {
    fn positions(&self, counts: Counts) -> Option<u64> {
        counts.coordinates
    }

    fn build(&self, building: &mut dyn Building) -> Result<Vec<Indices>, StorageError> {
        building.stored();
        let coordinates = building.coordinates()?;
        Ok(vec![building.positions()?, coordinates])
    }

    fn pos_bounds(&self, arrays: Arrays<'_>, parent: u64) -> Range<u64> {
        let bound = |at: u64| arrays.data.positions().map_or(0, |all| all.get(at));
        bound(parent)..bound(parent + 1)
    }

    fn pos_access(&self, arrays: Arrays<'_>, _parent: u64, position: u64) -> Option<u64> {
        Some(arrays.data.coordinates()?.get(position))
    }

    fn locate(&self, arrays: Arrays<'_>, parent: u64, coordinate: u64) -> Vec<u64> {
        let range = self.pos_bounds(arrays, parent);
        let stored = arrays.data.coordinates();
        stored.map_or_else(Vec::new, |all| places_of(all, range, coordinate, arrays.ordered))
    }

    fn walk(&self, arrays: Arrays<'_>, keys: &mut dyn Keys) -> Result<(), StorageError> {
        match (arrays.data.positions(), arrays.data.coordinates()) {
            (Some(positions), Some(coordinates)) => keys.segments(positions, coordinates),
            _ => Ok(()),
        }
    }
}

impl LevelCode for Compressed {
    fn is_counted(&self) -> bool {
        true
    }

    fn count(&self, above: Index, _extent: &Index, own: Option<Index>) -> Index {
        own.unwrap_or(above)
    }

    fn pos_bounds_code(
        &self,
        level: &LevelBuffers,
        parents: (&Index, &Index),
    ) -> Option<(Index, Index)> {
        let positions = level.array(Role::Positions)?;
        let load = |at: &Index| Index::Load(positions, Box::new(at.clone()));
        Some((load(parents.0), load(parents.1)))
    }
}
