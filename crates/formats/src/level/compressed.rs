//! Compressed levels: the coordinates that are there, in one array, and where those below each position begin.
//!
//! ```text
//! pos_bounds(p_{k-1}) -> [positions[p_{k-1}], positions[p_{k-1} + 1])     pos_access(p_k) -> coordinates[p_k]
//! append_coord(p_k, i_k): coordinates[p_k] = i_k
//! append_edges(p_{k-1}, begin_k, end_k): positions[p_{k-1} + 1] = end_k - begin_k
//! ```

use std::ops::Range;

use dastac_loops::{Function, Index, Stmt, Value};

use super::assembly::{filled, lengths_to_ends};
use super::{
    Arrays, Counts, LevelAssembly, LevelBuffers, LevelCode, LevelKind, LevelStorage, Properties,
    Role,
};
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

    fn walk<'a>(&self, arrays: Arrays<'a>, keys: &mut dyn Keys<'a>) -> Result<(), StorageError> {
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

/// Positions are stored as lengths first, and added up at the end: not every position of the level before need be
/// visited.
impl LevelAssembly for Compressed {
    fn can_append(&self) -> bool {
        true
    }

    fn append_init(
        &self,
        level: &LevelBuffers,
        parents: &Index,
        function: &mut Function,
    ) -> Vec<Stmt> {
        let positions = level.array(Role::Positions);
        Vec::from_iter(positions.map(|array| filled(function, array, parents.clone() + 1, 0)))
    }

    fn append_coord(
        &self,
        level: &LevelBuffers,
        position: &Index,
        coordinate: &Index,
    ) -> Vec<Stmt> {
        let coordinate = Value::FromIndex(coordinate.clone());
        let coordinates = level.array(Role::Coordinates);
        Vec::from_iter(coordinates.map(|array| Stmt::set(array, position.clone(), coordinate)))
    }

    fn append_edges(
        &self,
        level: &LevelBuffers,
        parent: &Index,
        edges: (&Index, &Index),
    ) -> Vec<Stmt> {
        let Some(positions) = level.array(Role::Positions) else { return Vec::new() };
        let (begin, end) = edges;
        let length = Value::FromIndex(end.clone() - begin.clone());
        let store = Stmt::set(positions, parent.clone() + 1, length);
        vec![Stmt::when(begin.clone().less(end.clone()), vec![store])]
    }

    fn append_finalize(
        &self,
        level: &LevelBuffers,
        parents: &Index,
        function: &mut Function,
    ) -> Vec<Stmt> {
        let positions = level.array(Role::Positions);
        Vec::from_iter(positions.map(|array| lengths_to_ends(function, array, parents.clone())))
    }

    fn append_begin(&self, level: &LevelBuffers, parent: &Index, begin: &Index) -> Vec<Stmt> {
        let begin = Value::FromIndex(begin.clone());
        let positions = level.array(Role::Positions);
        Vec::from_iter(positions.map(|array| Stmt::set(array, parent.clone(), begin)))
    }
}
