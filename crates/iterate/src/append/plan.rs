//! What is to be assembled, and the buffers that it takes.

use dastac_loops::{Append, BufferId, Element, Index, Mark, Module, Stmt};

use super::super::kernel::{Kernel, Operand};
use dastac_formats::format::Level;
use dastac_formats::level::Role;

/// What is to be assembled.
#[derive(Clone)]
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
    /// If rows stand one behind the other, whatever was counted.
    pub(crate) reserved: Option<Reserved>,
    /// If no full level is in front, and all that is appended is in one loop: how many iterations it has. What each
    /// appends is counted by itself, so that they can run at the same time.
    pub(crate) iterations: Option<Iterations>,
    pub(super) zero: f64,
}

/// The iterations of the loop around all that is appended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Iterations {
    /// How many there are.
    pub(crate) count: Index,
    /// The loop's upper bound, which may be read from memory.
    pub(crate) upper: Index,
}

/// What is known of rows that are appended one behind the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserved {
    /// One element: where the next row of a part begins.
    pub(crate) next: BufferId,
    /// Where each row ends.
    pub(crate) ends: BufferId,
}

impl Appending {
    /// Whether rows of the result may be appended one behind the other, to be moved together afterwards: its second
    /// level is appended to, all others are full, and statements come to the rows in one loop.
    pub(crate) fn can_reserve(&self, body: &[Stmt]) -> bool {
        let in_order = match body {
            [Stmt::For(inner)] if inner.mark.is_parallel() => match &inner.body[..] {
                [Stmt::Append(append)] => append.coordinate == Index::Var(inner.var),
                _ => false,
            },
            [_] => true,
            _ => false,
        };
        in_order && self.has_rows()
    }

    /// Whether its second level is appended to, and all others are full.
    pub(crate) fn has_rows(&self) -> bool {
        let kind = self.result.format.levels()[self.last].kind;
        self.first == 1 && self.last == 1 && kind == Level::COMPRESSED.kind
    }

    /// Where the elements of a row are counted, if one level is appended to.
    pub(crate) fn row_counter(&self) -> (BufferId, Index) {
        (self.at, self.counter(self.last))
    }

    /// Adds the buffers of rows that are appended one behind the other.
    pub(crate) fn reserve(&mut self, module: &mut Module) {
        let name = module.buffers[self.result.values.0 as usize].name.clone();
        let size = module.buffers[self.starts[0].0 as usize].size.clone() - 1;
        let mut fresh =
            |what: &str, size| module.fresh_buffer(format!("{name}.{what}"), Element::I64, size);
        let next = fresh("next", Index::Const(1));
        let ends = fresh("ends", size);
        self.reserved = Some(Reserved { next, ends });
    }

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
            module.fresh_buffer(format!("{}.{what}", values.name), element, size)
        };
        let appended = (first..=last).filter(|at| result.format.levels()[*at].is_appended());
        let starts = appended
            .map(|level| buffer(format!("starts{level}"), Element::I64, front.clone() + 1))
            .collect();
        let block = buffer("block".into(), values.element, size.clone());
        let at = buffer("at".into(), Element::I64, Index::Const((last - first + 2) as i64));
        let zero = kernel.zero;
        let (reserved, iterations) = (None, None);
        Appending { result, first, last, block, size, at, starts, reserved, iterations, zero }
    }

    /// Has what each iteration of the outermost loop appends be counted by itself, if no full level is in front and one
    /// loop is around all statements: over the coordinates or the positions of an operand's first level, which takes as
    /// much memory as their counts.
    pub(crate) fn count_iterations(
        &mut self,
        module: &mut Module,
        kernel: &Kernel,
        body: &mut [Stmt],
    ) {
        let [Stmt::For(outer)] = body else { return };
        let inside = matches!(outer.body[..], [Stmt::Append(Append { level: 0, .. })]);
        if self.first > 0 || outer.step != 1 || !inside || self.starts.is_empty() {
            return;
        }
        let range = (&outer.lower[..], &outer.upper[..]);
        let ([lower], [upper]) = range else { return };
        let Some(count) = iterations(module, kernel, (lower, upper)) else { return };
        for starts in &self.starts {
            module.buffers[starts.0 as usize].size = count.clone() + 1;
        }
        outer.mark = Mark::THREADS;
        self.iterations = Some(Iterations { count, upper: upper.clone() });
    }

    /// Has what each iteration of the loop around all that is appended be counted by itself, if no full level is in
    /// front: there are so many.
    pub(crate) fn count_chunks(&mut self, module: &mut Module, count: Index) {
        if self.first > 0 {
            return;
        }
        for starts in &self.starts {
            module.buffers[starts.0 as usize].size = count.clone() + 1;
        }
        self.iterations = Some(Iterations { upper: count.clone(), count });
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

/// How many iterations a loop has from `lower` to `upper`, if it is over the first level of an operand.
fn iterations(module: &Module, kernel: &Kernel, (lower, upper): (&Index, &Index)) -> Option<Index> {
    let mut first = kernel.operands.iter().filter_map(|one| Some((one, one.levels.first()?)));
    match (lower, upper) {
        (Index::Const(0), upper) => {
            let is_over = |one: &Operand| {
                let full = one.format.levels().first().is_some_and(|level| level.is_full());
                full && one.on_levels().extents.first() == Some(upper)
            };
            first.find(|(one, _)| is_over(one)).map(|_| upper.clone().max(Index::Const(0)))
        }
        // The positions of the first level begin with 0.
        (Index::Load(from, begin), Index::Load(to, end))
            if from == to && (&**begin, &**end) == (&Index::Const(0), &Index::Const(1)) =>
        {
            let (_, own) = first.find(|(_, level)| level.array(Role::Positions) == Some(*from))?;
            let coordinates = own.array(Role::Coordinates)?;
            Some(module.buffers[coordinates.0 as usize].size.clone())
        }
        _ => None,
    }
}
