//! The box of level coordinates of a tensor, and where the tensor's elements are in it.

use super::StorageError;
use crate::format::{Format, IndexMap, Indirect};

/// From coordinates of a tensor to those of its levels, which count from 0, and back.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LevelSpace {
    map: IndexMap,
    /// Extents of dimensions, and how many values functions that are computed from entries may have.
    shape: Vec<u64>,
    /// Of each level, the value of its expression at coordinate 0.
    lowest: Vec<i128>,
    extents: Vec<u64>,
    /// The dimension of each level, where levels store dimensions.
    order: Option<Vec<usize>>,
}

impl LevelSpace {
    pub(super) fn new(shape: &[u64], format: &Format) -> Result<LevelSpace, StorageError> {
        if shape.len() != format.rank() {
            return Err(StorageError::Rank { tensor: shape.len(), format: format.rank() });
        }
        let map = format.map().clone();
        let mut shape = shape.to_vec();
        for function in map.functions() {
            let own = |dimension: usize| i128::from(shape[dimension]) - 1;
            let values = function.largest(&own).saturating_add(1).max(0);
            let bits = 128 - values.leading_zeros();
            shape.push(u64::try_from(values).map_err(|_| StorageError::Box { bits })?);
        }
        let largest = |dimension: usize| i128::from(shape[dimension]) - 1;
        let ranges = map.levels().iter().map(|expr| expr.range(&largest));
        let (mut lowest, mut extents) = (Vec::new(), Vec::new());
        for (low, high) in ranges {
            let count = high.saturating_sub(low).saturating_add(1).max(0);
            let bits = 128 - count.leading_zeros();
            extents.push(u64::try_from(count).map_err(|_| StorageError::Box { bits })?);
            lowest.push(low);
        }
        let order = map.order();
        Ok(LevelSpace { map, shape, lowest, extents, order })
    }

    /// How many coordinates a level has.
    pub(super) fn extent(&self, level: usize) -> u64 {
        self.extents[level]
    }

    /// How many dimensions the tensor has.
    pub(super) fn rank(&self) -> usize {
        self.map.rank()
    }

    /// The functions that are computed from entries. Their values follow an element's own coordinates wherever
    /// coordinates of levels are asked for.
    pub(super) fn functions(&self) -> &[Indirect] {
        self.map.functions()
    }

    /// Whether the coordinate of a level follows from an element's own coordinates.
    pub(super) fn is_direct(&self, level: usize) -> bool {
        self.map.levels()[level].dimensions().iter().all(|at| *at < self.rank())
    }

    pub(super) fn extents(&self) -> &[u64] {
        &self.extents
    }

    /// Extents of dimensions, and how many values functions that are computed from entries may have.
    pub(super) fn shape(&self) -> &[u64] {
        &self.shape
    }

    pub(super) fn map(&self) -> &IndexMap {
        &self.map
    }

    /// The dimension of each level, where levels store dimensions.
    pub(super) fn order(&self) -> Option<&[usize]> {
        self.order.as_deref()
    }

    /// Whether a level's coordinate follows from those of the levels before.
    pub(super) fn is_derived(&self, level: usize) -> bool {
        self.map.is_derived(level)
    }

    /// Whether all coordinates of the levels are those of an element: none is padding.
    pub(super) fn is_exact(&self) -> bool {
        self.order.is_some()
    }

    /// The coordinate of an element in a level.
    pub(super) fn coordinate(&self, level: usize, element: &[u64]) -> u64 {
        if let Some(order) = &self.order {
            return element[order[level]];
        }
        let expr = &self.map.levels()[level];
        let value = expr.value(&|dimension| i128::from(element[dimension]));
        // Elements lie in the box, so values are not less than the lowest.
        u64::try_from(value - self.lowest[level]).unwrap_or_default()
    }

    /// The value of a level's expression at a coordinate of the level.
    pub(super) fn value(&self, level: usize, coordinate: u64) -> i128 {
        i128::from(coordinate) + self.lowest[level]
    }

    /// Sets the coordinates of the element that has some coordinates in the levels; gives whether there is one: others
    /// are padding.
    pub(super) fn element(&self, levels: &[u64], element: &mut [u64]) -> bool {
        if let Some(order) = &self.order {
            for (dimension, coordinate) in order.iter().zip(levels) {
                element[*dimension] = *coordinate;
            }
            return true;
        }
        if element.len() < self.shape.len() {
            let mut whole = vec![0; self.shape.len()];
            let found = self.element(levels, &mut whole);
            element.copy_from_slice(&whole[..element.len()]);
            return found;
        }
        let value = |level: usize| i128::from(levels[level]) + self.lowest[level];
        for (at, inverse) in self.map.inverse().iter().enumerate() {
            match u64::try_from(inverse.value(&value)) {
                Ok(coordinate) if coordinate < self.shape[at] => element[at] = coordinate,
                _ => return false,
            }
        }
        let same =
            |at: &usize| self.is_derived(*at) || self.coordinate(*at, element) == levels[*at];
        (0..levels.len()).all(|at| same(&at))
    }
}
