//! Offset levels: the coordinate follows from those of the levels before, and nothing is stored.
//!
//! In `compressed(j - i), dense(i), offset(j)`, matrices by diagonals, the column is the row plus the offset of the
//! diagonal: below each position there is one coordinate, at the same position.
//!
//! ```text
//! coord_bounds() -> [0, n)
//! pos_bounds(p_{k-1}) -> [p_{k-1}, p_{k-1} + 1)     pos_access(p_k) -> i_{k-1} + offset
//! locate(p_{k-1}, i_k) -> p_{k-1}
//! ```
//!
//! The index map of the format says what the coordinate is; its inverse takes the levels before, so no function here
//! computes it.

use std::ops::Range;

use dastac_loops::Index;

use super::{
    Arrays, Counts, LevelAssembly, LevelBuffers, LevelCode, LevelKind, LevelStorage, Located,
    Properties, Role,
};
use crate::storage::{Building, Indices, Keys, StorageError};

#[derive(Debug)]
pub(super) struct Offset;

impl LevelKind for Offset {
    fn word(&self) -> &'static str {
        "offset"
    }

    fn letter(&self) -> char {
        'O'
    }

    fn about(&self) -> &'static str {
        "the coordinate that follows from those of the levels before"
    }

    fn properties(&self) -> Properties {
        Properties { full: false, ordered: true, unique: true, branchless: true, compact: true }
    }

    fn arrays(&self) -> &'static [Role] {
        &[]
    }

    fn is_derived(&self) -> bool {
        true
    }
}

impl LevelStorage for Offset {
    fn positions(&self, counts: Counts) -> Option<u64> {
        Some(counts.above)
    }

    fn build(&self, building: &mut dyn Building) -> Result<Vec<Indices>, StorageError> {
        building.same();
        Ok(Vec::new())
    }

    fn pos_bounds(&self, _arrays: Arrays<'_>, parent: u64) -> Range<u64> {
        parent..parent + 1
    }

    fn pos_access(&self, _arrays: Arrays<'_>, _parent: u64, _position: u64) -> Option<u64> {
        Some(0)
    }

    fn locate(&self, _arrays: Arrays<'_>, parent: u64, _coordinate: u64) -> Vec<u64> {
        vec![parent]
    }

    fn walk<'a>(&self, _arrays: Arrays<'a>, _keys: &mut dyn Keys<'a>) -> Result<(), StorageError> {
        Ok(())
    }
}

impl LevelCode for Offset {
    fn count(&self, above: Index, _extent: &Index, _own: Option<Index>) -> Index {
        above
    }

    fn coord_bounds_code(&self, extent: &Index) -> Option<(Index, Index)> {
        Some((Index::Const(0), extent.clone()))
    }

    fn locate_code(
        &self,
        _level: &LevelBuffers,
        parent: &Index,
        _coordinate: &Index,
        _extent: &Index,
    ) -> Option<Located> {
        Some(Located { position: parent.clone(), condition: None })
    }
}

impl LevelAssembly for Offset {
    fn can_insert(&self) -> bool {
        true
    }
}
