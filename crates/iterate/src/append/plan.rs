//! What is to be assembled, and the buffers that it takes.

use dastac_loops::{BufferId, Element, Index, Module};

use super::super::kernel::{Kernel, Operand};

/// What is to be assembled.
pub(crate) struct Appending {
    pub(super) result: Operand,
    /// The first level that is not full.
    pub(super) first: usize,
    /// The last one: those behind are full.
    pub(super) last: usize,
    /// Where the elements at a coordinate of the last level that is not full stand while they are computed.
    pub(crate) block: BufferId,
    /// How many these are.
    pub(super) size: Index,
    /// The counters.
    pub(crate) at: BufferId,
    /// For each appended level, in order, where the positions below each position of the levels in front begin.
    pub(crate) starts: Vec<BufferId>,
    pub(super) zero: f64,
}

impl Appending {
    /// Adds the buffers that are needed to a module. `result` has a dimension for each level, and `levels` are the
    /// first and the last one that is not full.
    pub(crate) fn new(
        module: &mut Module,
        kernel: &Kernel,
        result: Operand,
        levels: (usize, usize),
    ) -> Appending {
        let (first, last) = levels;
        let extent = |level: usize| result.extents[level].clone();
        let product = |levels: std::ops::Range<usize>| {
            levels.map(extent).fold(Index::Const(1), |product, extent| product * extent)
        };
        let (size, front) = (product(last + 1..result.levels.len()), product(0..first));
        let values = module.buffers[result.values.0 as usize].clone();
        let mut buffer = |what: String, element, size| {
            let mut name = format!("{}.{what}", values.name);
            while module.find_buffer(&name).is_some() {
                name.push('_');
            }
            module.buffer(name, element, size)
        };
        let appended = (first..=last).filter(|at| result.format.levels()[*at].is_appended());
        let starts = appended
            .map(|level| buffer(format!("starts{level}"), Element::I64, front.clone() + 1))
            .collect();
        let block = buffer("block".into(), values.element, size.clone());
        let at = buffer("at".into(), Element::I64, Index::Const((last - first + 2) as i64));
        let zero = kernel.zero;
        Appending { result, first, last, block, size, at, starts, zero }
    }

    pub(super) fn extent(&self, level: usize) -> &Index {
        &self.result.extents[level]
    }

    /// Whether every coordinate of a level is stored.
    pub(super) fn is_full(&self, level: usize) -> bool {
        self.result.format.levels()[level].is_full()
    }

    pub(super) fn is_appended(&self, level: usize) -> bool {
        self.result.format.levels()[level].is_appended()
    }

    /// The levels that coordinates are appended to.
    pub(super) fn appended(&self) -> impl Iterator<Item = usize> + '_ {
        (self.first..=self.last).filter(|level| self.is_appended(*level))
    }

    /// The levels that coordinates are inserted into, and not all are.
    pub(super) fn inserted(&self) -> impl Iterator<Item = usize> + '_ {
        (self.first..=self.last).filter(|level| !self.is_appended(*level) && !self.is_full(*level))
    }

    /// Whether a level outside of the last one asks how many elements were found.
    pub(super) fn counts_elements(&self) -> bool {
        (self.first..self.last).any(|level| !self.is_full(level))
    }

    /// A level's counter.
    pub(super) fn counter(&self, level: usize) -> Index {
        Index::Const((level - self.first) as i64)
    }

    /// The slot behind all counters: whether something is at the current coordinate.
    pub(super) fn found(&self) -> Index {
        Index::Const((self.last - self.first + 1) as i64)
    }

    /// How many positions there are before a level.
    pub(super) fn parents(&self, level: usize) -> Index {
        let levels = self.result.levels[..level].iter().zip(&self.result.extents);
        levels.fold(Index::Const(1), |above, (level, extent)| level.size(above, extent))
    }
}
