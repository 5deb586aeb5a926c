//! Singleton levels: exactly one coordinate for each position of the level before.
//!
//! ```text
//! pos_bounds(p_{k-1}) -> [p_{k-1}, p_{k-1} + 1)     pos_access(p_k) -> coordinates[p_k]
//! ```

use std::ops::Range;

use dastac_loops::Index;

use super::{
    Arrays, Counts, LevelAssembly, LevelBuffers, LevelCode, LevelKind, LevelStorage, Properties,
    Role,
};
use crate::storage::{Building, Indices, Keys, StorageError};

#[derive(Debug)]
pub(super) struct Singleton;

impl LevelKind for Singleton {
    fn word(&self) -> &'static str {
        "singleton"
    }

    fn letter(&self) -> char {
        'S'
    }

    fn about(&self) -> &'static str {
        "one coordinate for each position of the level before"
    }

    fn properties(&self) -> Properties {
        Properties { full: false, ordered: true, unique: true, branchless: true, compact: true }
    }

    fn arrays(&self) -> &'static [Role] {
        &[Role::Coordinates]
    }

    fn is_flexible(&self) -> bool {
        true
    }

    fn follows_entries(&self) -> bool {
        true
    }
}

impl LevelStorage for Singleton {
    fn positions(&self, counts: Counts) -> Option<u64> {
        Some(counts.above)
    }

    fn build(&self, building: &mut dyn Building) -> Result<Vec<Indices>, StorageError> {
        building.same();
        Ok(vec![building.coordinates()?])
    }

    fn pos_bounds(&self, _arrays: Arrays<'_>, parent: u64) -> Range<u64> {
        parent..parent + 1
    }

    fn pos_access(&self, arrays: Arrays<'_>, _parent: u64, position: u64) -> Option<u64> {
        Some(arrays.data.coordinates()?.get(position))
    }

    fn locate(&self, arrays: Arrays<'_>, parent: u64, coordinate: u64) -> Vec<u64> {
        let found = self.pos_access(arrays, parent, parent) == Some(coordinate);
        Vec::from_iter(found.then_some(parent))
    }

    fn walk<'a>(&self, arrays: Arrays<'a>, keys: &mut dyn Keys<'a>) -> Result<(), StorageError> {
        if let Some(coordinates) = arrays.data.coordinates() {
            keys.attach(coordinates);
        }
        Ok(())
    }
}

impl LevelCode for Singleton {
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

impl LevelAssembly for Singleton {}
