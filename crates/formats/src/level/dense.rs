//! Dense levels: every coordinate is there, and nothing is stored.
//!
//! ```text
//! coord_bounds() -> [0, n)
//! pos_bounds(p_{k-1}) -> [p_{k-1} * n, (p_{k-1} + 1) * n)     pos_access(p_k) -> p_k % n
//! locate(p_{k-1}, i_k) -> p_{k-1} * n + i_k
//! ```

use std::ops::Range;

use dastac_loops::Index;

use super::{
    Arrays, Counts, LevelAssembly, LevelBuffers, LevelCode, LevelKind, LevelStorage, Located,
    Properties, Role,
};
use crate::storage::{Building, Indices, Keys, StorageError};

#[derive(Debug)]
pub(super) struct Dense;

impl LevelKind for Dense {
    fn word(&self) -> &'static str {
        "dense"
    }

    fn letter(&self) -> char {
        'D'
    }

    fn about(&self) -> &'static str {
        "all coordinates; none is written down"
    }

    fn properties(&self) -> Properties {
        Properties { full: true, ordered: true, unique: true, branchless: false, compact: true }
    }

    fn arrays(&self) -> &'static [Role] {
        &[]
    }
}

impl LevelStorage for Dense {
    fn positions(&self, counts: Counts) -> Option<u64> {
        counts.above.checked_mul(counts.extent)
    }

    fn build(&self, building: &mut dyn Building) -> Result<Vec<Indices>, StorageError> {
        building.full()?;
        Ok(Vec::new())
    }

    fn pos_bounds(&self, arrays: Arrays<'_>, parent: u64) -> Range<u64> {
        parent * arrays.extent..(parent + 1) * arrays.extent
    }

    fn pos_access(&self, arrays: Arrays<'_>, parent: u64, position: u64) -> Option<u64> {
        Some(position - parent * arrays.extent)
    }

    fn locate(&self, arrays: Arrays<'_>, parent: u64, coordinate: u64) -> Vec<u64> {
        vec![parent * arrays.extent + coordinate]
    }

    fn walk<'a>(&self, arrays: Arrays<'a>, keys: &mut dyn Keys<'a>) -> Result<(), StorageError> {
        keys.full(arrays.extent)
    }
}

impl LevelCode for Dense {
    fn count(&self, above: Index, extent: &Index, _own: Option<Index>) -> Index {
        above * extent.clone()
    }

    fn coord_bounds_code(&self, extent: &Index) -> Option<(Index, Index)> {
        Some((Index::Const(0), extent.clone()))
    }

    fn locate_code(
        &self,
        _level: &LevelBuffers,
        parent: &Index,
        coordinate: &Index,
        extent: &Index,
    ) -> Option<Located> {
        let position = parent.clone() * extent.clone() + coordinate.clone();
        Some(Located { position, condition: None })
    }
}

impl LevelAssembly for Dense {
    fn can_insert(&self) -> bool {
        true
    }
}
