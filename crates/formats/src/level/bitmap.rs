//! Bitmap levels: every coordinate has a position, and an array says which of them are stored.
//!
//! Walking one is a loop over all coordinates with a test; the position of a coordinate is known without a search.
//!
//! ```text
//! coord_bounds() -> [0, n)
//! insert_coord(p_k): present[p_k] = 1
//! pos_bounds(p_{k-1}) -> [p_{k-1} * n, (p_{k-1} + 1) * n)     pos_access(p_k) -> p_k % n, where present[p_k] is 1
//! locate(p_{k-1}, i_k) -> p_{k-1} * n + i_k, where present[p_{k-1} * n + i_k] is 1
//! ```

use std::borrow::Cow;
use std::ops::Range;

use dastac_loops::{Function, Index, Stmt, Value};

use super::assembly::filled;
use super::{
    Arrays, Counts, LevelAssembly, LevelBuffers, LevelCode, LevelKind, LevelStorage, Located,
    Properties, Role,
};
use crate::storage::{Building, Indices, Keys, StorageError};

#[derive(Debug)]
pub(super) struct Bitmap;

impl LevelKind for Bitmap {
    fn word(&self) -> &'static str {
        "bitmap"
    }

    fn letter(&self) -> char {
        'B'
    }

    fn about(&self) -> &'static str {
        "all coordinates, and which of them are there"
    }

    fn properties(&self) -> Properties {
        Properties { full: false, ordered: true, unique: true, branchless: false, compact: false }
    }

    fn arrays(&self) -> &'static [Role] {
        &[Role::Present]
    }
}

impl LevelStorage for Bitmap {
    fn positions(&self, counts: Counts) -> Option<u64> {
        counts.above.checked_mul(counts.extent)
    }

    fn build(&self, building: &mut dyn Building) -> Result<Vec<Indices>, StorageError> {
        building.full()?;
        Ok(vec![building.present()?])
    }

    fn pos_bounds(&self, arrays: Arrays<'_>, parent: u64) -> Range<u64> {
        parent * arrays.extent..(parent + 1) * arrays.extent
    }

    fn pos_access(&self, arrays: Arrays<'_>, parent: u64, position: u64) -> Option<u64> {
        let present = arrays.data.present()?.get(position) > 0;
        present.then(|| position - parent * arrays.extent)
    }

    fn locate(&self, arrays: Arrays<'_>, parent: u64, coordinate: u64) -> Vec<u64> {
        let position = parent * arrays.extent + coordinate;
        Vec::from_iter(self.pos_access(arrays, parent, position).map(|_| position))
    }

    fn walk<'a>(&self, arrays: Arrays<'a>, keys: &mut dyn Keys<'a>) -> Result<(), StorageError> {
        keys.full(arrays.extent)?;
        if let Some(present) = arrays.data.present() {
            keys.keep(Cow::Borrowed(present));
        }
        Ok(())
    }
}

impl LevelCode for Bitmap {
    fn count(&self, above: Index, extent: &Index, _own: Option<Index>) -> Index {
        above * extent.clone()
    }

    fn coord_bounds_code(&self, extent: &Index) -> Option<(Index, Index)> {
        Some((Index::Const(0), extent.clone()))
    }

    fn locate_code(
        &self,
        level: &LevelBuffers,
        parent: &Index,
        coordinate: &Index,
        extent: &Index,
    ) -> Option<Located> {
        let position = parent.clone() * extent.clone() + coordinate.clone();
        let present = Index::Load(level.array(Role::Present)?, Box::new(position.clone()));
        Some(Located { position, condition: Some(Index::Const(1).at_most(present)) })
    }
}

impl LevelAssembly for Bitmap {
    fn can_insert(&self) -> bool {
        true
    }

    fn insert_init(
        &self,
        level: &LevelBuffers,
        positions: &Index,
        function: &mut Function,
    ) -> Vec<Stmt> {
        let present = level.array(Role::Present);
        Vec::from_iter(present.map(|array| filled(function, array, positions.clone(), 0)))
    }

    fn insert_coord(&self, level: &LevelBuffers, position: &Index) -> Vec<Stmt> {
        let one = || Value::FromIndex(Index::Const(1));
        let present = level.array(Role::Present);
        Vec::from_iter(present.map(|array| Stmt::set(array, position.clone(), one())))
    }
}
