//! Ragged levels: below each position all coordinates from 0 up to the largest that is there, without an array of them.
//!
//! In `sell(c, sigma)`, each group of `c` rows has so many columns of places as its longest row has entries; in `ell`,
//! the whole matrix has.
//!
//! ```text
//! pos_bounds(p_{k-1}) -> [positions[p_{k-1}], positions[p_{k-1} + 1])     pos_access(p_k) -> p_k - positions[p_{k-1}]
//! locate(p_{k-1}, i_k) -> positions[p_{k-1}] + i_k, where that is less than positions[p_{k-1} + 1]
//! ```

use std::ops::Range;

use dastac_loops::Index;

use super::{
    Arrays, Counts, LevelAssembly, LevelBuffers, LevelCode, LevelKind, LevelStorage, Properties,
    Role,
};
use crate::storage::{Building, Indices, Keys, StorageError};

#[derive(Debug)]
pub(super) struct Ragged;

impl LevelKind for Ragged {
    fn word(&self) -> &'static str {
        "ragged"
    }

    fn letter(&self) -> char {
        'V'
    }

    fn about(&self) -> &'static str {
        "all coordinates up to the largest that is there, below each position"
    }

    fn properties(&self) -> Properties {
        Properties { full: false, ordered: true, unique: true, branchless: false, compact: false }
    }

    fn arrays(&self) -> &'static [Role] {
        &[Role::Positions]
    }
}

impl LevelStorage for Ragged {
    fn positions(&self, counts: Counts) -> Option<u64> {
        counts.end
    }

    fn build(&self, building: &mut dyn Building) -> Result<Vec<Indices>, StorageError> {
        Ok(vec![building.ragged()?])
    }

    fn pos_bounds(&self, arrays: Arrays<'_>, parent: u64) -> Range<u64> {
        let bound = |at: u64| arrays.data.positions().map_or(0, |all| all.get(at));
        bound(parent)..bound(parent + 1)
    }

    fn pos_access(&self, arrays: Arrays<'_>, parent: u64, position: u64) -> Option<u64> {
        position.checked_sub(self.pos_bounds(arrays, parent).start)
    }

    fn locate(&self, arrays: Arrays<'_>, parent: u64, coordinate: u64) -> Vec<u64> {
        let Range { start, end } = self.pos_bounds(arrays, parent);
        let position = start.checked_add(coordinate).filter(|position| *position < end);
        Vec::from_iter(position)
    }

    fn walk<'a>(&self, arrays: Arrays<'a>, keys: &mut dyn Keys<'a>) -> Result<(), StorageError> {
        match arrays.data.positions() {
            Some(positions) => keys.ragged(positions),
            None => Ok(()),
        }
    }
}

impl LevelCode for Ragged {
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

impl LevelAssembly for Ragged {}
